"""A person's data: all that is theirs, nothing of anybody else's, and no mark they must not see."""

import json
from uuid import uuid4

import pytest

from annotation.models import AuditEntry, Comment, HandIn, Question, Round, Thread, TimeEntry
from annotation.services.access import create_invitation, create_token
from annotation.services.personal_data import export_for, personal_data
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_member,
    make_part,
    make_triple,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def worked(cast: Cast) -> None:
    """Ada and Lin judged a triple; each asked, talked, and has hours."""
    item = make_triple(
        cast.campaign, 1, item_class="cs_head", split="secretsplit", imported_label="0.5", tail="PersonX rest"
    )
    part = make_part(cast.campaign.rounds.get())
    thread = Thread.objects.create(item=item)
    for slot, (user, word) in enumerate(((cast.ada, "adas"), (cast.lin, "lins")), start=1):
        make_annotation(
            make_assignment(item, user, slot=slot, part=part),
            "1" if user == cast.ada else "0",
            note=f"{word} note",
            seconds=30.0,
        )
        Question.objects.create(
            campaign=cast.campaign, unit=item.unit, asked_by=user, client_key=uuid4(), text=f"{word} question"
        )
        Comment.objects.create(thread=thread, author=user, client_key=uuid4(), text=f"{word} comment")
        TimeEntry.objects.create(
            campaign=cast.campaign, user=user, kind="correction", seconds=60.0, day="2026-01-02",
            reason=f"{word} reason", client_key=uuid4(),
        )  # fmt: skip


def test_it_holds_what_is_theirs_and_nothing_of_anybody_else(cast: Cast) -> None:
    worked(cast)
    _invitation, url = create_invitation(cast.ada, cast.mei)
    _token, raw = create_token(cast.ada, "laptop")

    text = json.dumps(personal_data(cast.ada))

    for theirs in (
        "adas note",
        "adas question",
        "adas comment",
        "adas reason",
        "laptop",
        '"A1"',
        "PersonX rest",
    ):
        assert theirs in text
    for others in (
        "lins",
        'lin"',
        "cs_head",
        "secretsplit",
        "0.5",
        raw,
        url.split("/")[-2],
        cast.ada.password,
    ):
        assert others not in text


def test_an_answer_of_a_hidden_repeat_looks_like_any_other(cast: Cast) -> None:
    worked(cast)
    item = cast.campaign.items.get()
    repeats = Round.objects.create(
        campaign=cast.campaign,
        kind=Round.Kind.REPEAT,
        number=2,
        k=1,
        guideline=cast.campaign.guidelines.get(),
    )
    part = item.assignments.get(expert=cast.ada).part  # repeats stand in the parts of the main round
    again = make_assignment(item, cast.ada, round=repeats, part=part, position=300, queue=300)

    (before,) = personal_data(cast.ada)["campaigns"]
    make_annotation(again, "0")
    (judged,) = personal_data(cast.ada)["campaigns"]
    assert before["answers"] == []  # the original is out of sight until the part is handed in
    assert len(judged["answers"]) == 1

    HandIn.objects.create(part=part, expert=cast.ada)  # type: ignore[misc]
    (after,) = personal_data(cast.ada)["campaigns"]
    assert [(one["round"], one["number"], one["part"]) for one in after["answers"]] == [("main", 1, 2)] * 2
    assert "repeat" not in json.dumps(after)


def test_a_manager_who_exports_it_is_written_down(cast: Cast) -> None:
    export_for(cast.campaign.memberships.get(user=cast.ada), cast.mei)

    entry = AuditEntry.objects.get(action="personal data exported")
    assert (entry.actor, entry.detail) == (cast.mei, {"pseudonym": "A1"})


def test_somebody_in_two_campaigns_gets_both(cast: Cast) -> None:
    other = cast.otto.memberships.get().campaign
    make_member(other, cast.ada, "viewer", "V1")

    found = personal_data(cast.ada)["campaigns"]

    assert {(one["campaign"], one["role"]) for one in found} == {("main", "expert"), ("other", "viewer")}
