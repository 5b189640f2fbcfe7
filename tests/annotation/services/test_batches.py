"""Batches: closed, frozen, opened again."""

from pathlib import Path
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Design, HandIn, Part, Surplus
from annotation.services.access import create_token
from annotation.services.answers import save_answers
from annotation.services.batches import batches_of, close_batch, reopen_batch
from annotation.services.discussion import open_thread
from annotation.services.errors import KeptAside, NotYours, Refused
from annotation.services.hand_ins import give_back
from annotation.services.items import restore, withdraw
from annotation.services.late_items import late_items, too_late
from annotation.services.overview import overview
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens
from annotation.services.seat import hand_in
from annotation.services.sheets import Answer, Sheet
from annotation.services.verify import verify
from tests.factories import (
    Cast,
    make_assignment,
    make_cast,
    make_context_item,
    make_judged,
    make_member,
    make_repeat,
    make_user,
    save_label,
)
from tests.material import answer_open, compounds, load_rows, new_campaign
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def row_of(cast: Cast, position: int, slot: int) -> Assignment:
    return Assignment.objects.get(item__position=position, slot=slot, round__kind="main")


def send(row: Assignment, label: str = "often") -> None:
    answer = Answer(assignment=row.pk, revision=row.revision, label=label)
    sheet = Sheet(screen=row.pk, client_key=uuid4(), answers=(answer,))
    save_answers(sheet, slug="main", expert_id=row.expert_id)


def test_it_freezes_every_answer_whoever_has_handed_in(cast: Cast) -> None:
    design = make_judged(cast, ("1", "1"), ("1", "0"))
    hand_in(cast.campaign, expert_id=cast.ada.pk, index=0)

    (before,) = batches_of(cast.campaign)
    assert (before.number, before.n_items, before.given, before.answered) == (1, 2, 4, 4)
    assert (before.complete, before.missing, before.not_handed_in) == (True, {}, ["A2"])
    close_batch(cast.campaign, design.pk, by=cast.mei)

    for slot in (1, 2):
        with pytest.raises(Refused, match="The batch of this part is closed: all its answers are frozen"):
            send(row_of(cast, 1, slot))
    (after,) = batches_of(cast.campaign)
    assert after.closed_at is not None
    assert (after.missed, after.reason, after.may_reopen) == ({}, "", True)
    assert verify(cast.campaign) == []
    with pytest.raises(Refused, match="closed batch"):
        give_back(cast.campaign, index=0, member=cast.campaign.memberships.get(user=cast.ada).pk, by=cast.mei)
    entry = AuditEntry.objects.get(action="batch closed")
    assert entry.detail["not_handed_in"] == ["A2"]


def test_hidden_repeats_are_no_items_and_are_waited_for_all_the_same(cast: Cast) -> None:
    design = make_judged(cast, ("1", "1"), ("1", "0"))
    row = row_of(cast, 1, 1)
    repeat = make_repeat(row, position=90)

    (before,) = batches_of(cast.campaign)
    save_label(repeat, "1")
    (after,) = batches_of(cast.campaign)

    for batch in (before, after):
        assert (batch.n_items, batch.given, batch.answered) == (2, 4, 4)
    assert (before.repeats_given, before.repeats_answered) == (1, 0)
    assert (before.missing, before.complete) == ({"A1": 1}, False)
    assert (after.repeats_given, after.repeats_answered) == (1, 1)
    assert (after.missing, after.complete) == ({}, True)
    page = text_of(client_of(cast.mei).get("/campaigns/main/batches/"))
    assert "2 4 / 4 hidden repeats: 1 / 1" in page
    headers = {"Authorization": f"Bearer {create_token(cast.mei, 'program')[1]}"}
    (told,) = Client().get("/api/v1/campaigns/main/batches/", headers=headers).json()["results"]
    assert (told["items"], told["given"], told["answered"]) == (2, 4, 4)
    assert told["repeats"] == {"given": 1, "answered": 1}
    assert design.closed_at is None


def test_a_part_of_which_everything_was_given_away_is_waited_for_by_nobody(cast: Cast) -> None:
    """A3's only part was emptied by moves, once before anything was handed in and once with another hand-in there."""
    design = make_judged(cast, ("1", "1"), ("1", "0"))
    dan = make_user("dan")
    make_member(cast.campaign, dan, "expert", "A3")
    part = design.parts.get()
    for position in (1, 2):
        item = row_of(cast, position, 1).item
        make_assignment(item, dan, part=part, slot=3, withdrawn_at=timezone.now(), position=90 + position)
    for person in (cast.ada, cast.lin):
        hand_in(cast.campaign, expert_id=person.pk, index=0)

    (before,) = batches_of(cast.campaign)
    close_batch(cast.campaign, design.pk, by=cast.mei)

    assert before.not_handed_in == []
    assert AuditEntry.objects.get(action="batch closed").detail["not_handed_in"] == []


def test_a_hand_in_of_an_emptied_part_does_not_stand_for_another(cast: Cast) -> None:
    design = make_judged(cast, ("1", "1"))
    emptied = Part.objects.create(round=design.round, design=design, index=7)
    HandIn.objects.create(part=emptied, expert=cast.ada)

    (batch,) = batches_of(cast.campaign)

    assert batch.not_handed_in == ["A1", "A2"]


def test_who_judged_nothing_of_a_part_that_is_theirs_is_named_at_the_closing(cast: Cast) -> None:
    design = make_judged(cast, ("1", None))

    close_batch(cast.campaign, design.pk, by=cast.mei, reason="it is late")

    assert AuditEntry.objects.get(action="batch closed").detail["not_handed_in"] == ["A1", "A2"]


def test_it_names_what_is_missing_and_closes_without_it_only_for_a_reason(cast: Cast) -> None:
    design = make_judged(cast, ("1", "1"), ("1", None), (None, None))

    with pytest.raises(Refused, match=r"A1 1, A2 2"):
        close_batch(cast.campaign, design.pk, by=cast.mei)
    assert not HandIn.objects.exists()
    assert row_of(cast, 3, 1).withdrawn_at is None
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="A2 has left")

    (batch,) = batches_of(cast.campaign)
    assert (batch.missed, batch.reason) == ({"A1": 1, "A2": 2}, "A2 has left")
    assert next_screens(cast.campaign, expert_id=cast.lin.pk) == []  # nobody is asked any more
    assert [violation.rule for violation in verify(cast.campaign)] == []


def test_an_answer_that_comes_after_the_closing_is_kept_aside(cast: Cast) -> None:
    design = make_judged(cast, ("1", None))
    late = row_of(cast, 1, 2)
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="time is up")

    with pytest.raises(KeptAside):
        send(late, "rarely")

    assert Surplus.objects.get().answer["label"] == "0"
    late.refresh_from_db()
    assert (late.revision, late.label) == (0, "")


def test_an_answer_that_comes_between_the_look_and_the_closing_counts(cast: Cast) -> None:
    design = make_judged(cast, ("1", None))
    assert batches_of(cast.campaign)[0].missing == {"A2": 1}
    send(row_of(cast, 1, 2))

    close_batch(cast.campaign, design.pk, by=cast.mei)

    assert batches_of(cast.campaign)[0].answered == 2
    assert not Surplus.objects.exists()


def test_closed_twice_it_is_closed_once(cast: Cast) -> None:
    design = make_judged(cast, ("1", "1"))
    first = close_batch(cast.campaign, design.pk, by=cast.mei)

    second = close_batch(cast.campaign, design.pk, by=cast.mei, reason="again")

    assert first.closed_at == second.closed_at
    assert AuditEntry.objects.filter(action="batch closed").count() == 1


def test_opened_again_it_stands_as_it_stood(cast: Cast) -> None:
    design = make_judged(cast, ("1", "1"), (None, "1"))
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="by mistake")

    reopen_batch(cast.campaign, design.pk, by=cast.mei)

    assert not HandIn.objects.exists()
    assert batches_of(cast.campaign)[0].missing == {"A1": 1}
    send(row_of(cast, 2, 1))
    assert batches_of(cast.campaign)[0].complete
    assert verify(cast.campaign) == []


def test_opened_again_who_had_handed_in_by_themselves_still_has(cast: Cast) -> None:
    design = make_judged(cast, ("1", "1"))
    hand_in(cast.campaign, expert_id=cast.ada.pk, index=0)
    close_batch(cast.campaign, design.pk, by=cast.mei)

    reopen_batch(cast.campaign, design.pk, by=cast.mei)

    assert [hand_in.expert for hand_in in HandIn.objects.all()] == [cast.ada]


def test_it_stays_closed_once_an_item_was_opened_to_discussion(cast: Cast) -> None:
    design = make_judged(cast, ("1", "0"))
    close_batch(cast.campaign, design.pk, by=cast.mei)
    open_thread(cast.campaign, row_of(cast, 1, 1).item_id, by=cast.mei)

    with pytest.raises(Refused, match="opened to discussion"):
        reopen_batch(cast.campaign, design.pk, by=cast.mei)
    assert not batches_of(cast.campaign)[0].may_reopen


def test_a_restored_item_does_not_ask_for_what_the_batch_was_closed_without(cast: Cast) -> None:
    design = make_judged(cast, ("1", None), ("1", "1"))
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="A2 has left")
    item = row_of(cast, 1, 1).item_id
    withdraw(cast.campaign, item, reason="broken", by=cast.mei)

    restore(cast.campaign, item, by=cast.mei)

    assert row_of(cast, 1, 1).withdrawn_at is None
    assert row_of(cast, 1, 2).withdrawn_at is not None
    assert verify(cast.campaign) == []


def test_verify_finds_a_hand_in_that_is_missing_and_an_answer_that_was_changed_later(cast: Cast) -> None:
    design = make_judged(cast, ("1", "0"))
    close_batch(cast.campaign, design.pk, by=cast.mei)
    row = row_of(cast, 1, 1)
    open_thread(cast.campaign, row.item_id, by=cast.mei)
    HandIn.objects.filter(expert=cast.ada).delete()
    save_label(row, "0")

    found = [
        violation.where
        for violation in verify(cast.campaign)
        if violation.rule == "frozen answers stay frozen"
    ]

    assert len(found) == 2
    assert "can be changed" in found[0]
    assert "after the item was opened" in found[1]


def test_it_knows_no_batch_of_another_campaign_or_round(cast: Cast) -> None:
    other = make_judged(cast, ("1", "1"))
    Design.objects.filter(pk=other.pk).update(
        round=cast.campaign.rounds.create(kind="dry_run", k=2, guideline=cast.campaign.guidelines.get())
    )

    with pytest.raises(NotYours):
        close_batch(cast.campaign, other.pk, by=cast.mei)


@pytest.mark.parametrize("batches", [1, 4])
def test_it_costs_the_same_for_few_and_for_many(
    cast: Cast, batches: int, django_assert_num_queries: object
) -> None:
    for _ in range(batches):
        design = make_judged(cast, ("1", "1"), ("1", "0"))
    close_batch(cast.campaign, design.pk, by=cast.mei)

    with django_assert_num_queries(9):  # type: ignore[operator]
        assert len(batches_of(cast.campaign)) == batches


def test_late_items_do_not_come_into_a_closed_batch() -> None:
    cast = make_cast(protocol="compound")
    design = make_judged(cast, ("1", "1"))
    round_ = cast.campaign.rounds.get(kind="main")
    make_context_item(row_of(cast, 1, 1).unit, 2, position=9)
    assert (late_items(round_).count(), too_late(round_).count()) == (1, 0)
    assert overview(cast.campaign).items.unassigned == 1

    close_batch(cast.campaign, design.pk, by=cast.mei)

    assert (late_items(round_).count(), too_late(round_).count()) == (0, 1)
    assert overview(cast.campaign).items.unassigned == 0, "what nobody can give out is no next step"


def test_opened_again_a_repeat_that_was_drawn_again_since_stays_away(tmp_path: Path) -> None:
    """The units of a closed batch come again beside another one; nobody is asked for them a third time."""
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(6), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_open(campaign)
    later = [row | {"translation": f"later {place}"} for place, row in enumerate(compounds(6))]
    load_rows(campaign, later, tmp_path, system="later")
    assign_parts(campaign, experts=["ada"], design="single", seed=1, again=50)
    (first, *_others) = batches_of(campaign)
    close_batch(campaign, first.pk, by=None, reason="time is up")
    more = compounds(12)[30:]
    load_rows(campaign, more, tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=2)
    answer_open(campaign)
    load_rows(campaign, [row | {"translation": "later"} for row in more], tmp_path, system="later")
    assign_parts(campaign, experts=["ada"], design="single", seed=3, again=50)
    drawn = waiting_repeats()

    reopen_batch(campaign, first.pk, by=None)

    now = waiting_repeats()
    assert set(now) >= set(drawn)
    assert len(now) > len(drawn)  # what was not drawn again comes back
    assert len(now) == len(set(now))
    assert "nobody waits twice for one repeat" not in {one.rule for one in verify(campaign)}


def waiting_repeats() -> list[tuple[int, int]]:
    rows = Assignment.objects.filter(round__kind="repeat", withdrawn_at=None, answered_at=None)
    return list(rows.values_list("expert", "item"))
