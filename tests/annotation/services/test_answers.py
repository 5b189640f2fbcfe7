"""Saving answers over a whole campaign: nothing lost, nothing doubled, nothing that grows with its size."""

import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Annotation, Assignment, Campaign, Item, Round, User
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services.answers import NOTE_LIMIT, save_answers
from annotation.services.errors import KeyReused, NotYours, Refused, Stale
from annotation.services.items import withdraw
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens, progress, screen_at
from annotation.services.seat import hand_in
from annotation.services.sheets import Answer, Sheet
from annotation.services.verify import verify
from tests.factories import make_user, seat_number
from tests.material import (
    answer_everything,
    compounds,
    load_rows,
    new_campaign,
    run,
    save,
    sheet,
    triples,
)

pytestmark = pytest.mark.django_db


def judging(folder: Path, *, protocol: str = "triple", n: int = 10, experts: str = "ada bo") -> Campaign:
    """n units given to every expert."""
    names = experts.split()
    campaign = new_campaign(protocol, k=len(names))
    load_rows(campaign, triples(n) if protocol == "triple" else compounds(n), folder)
    assign_parts(campaign, experts=names, design="cyclic", seed=1)
    return campaign


def person(name: str) -> User:
    return User.objects.get(username=name)


def rows_of(name: str) -> list[Assignment]:
    return list(Assignment.objects.filter(expert__username=name).order_by("position", "row"))


# Who has done what (c15, c20)


def test_it_counts_an_item_as_done_for_each_person_apart(tmp_path: Path) -> None:
    campaign = judging(tmp_path)
    for row in rows_of("ada"):
        save(sheet([row]), row.expert_id)
    assert progress(campaign, expert_id=person("ada").pk)["done"] == 10
    assert len(next_screens(campaign, expert_id=person("bo").pk, count=50)) == 10
    assert progress(campaign, expert_id=person("bo").pk)["done"] == 0
    judged = Assignment.objects.filter(answered_at__isnull=False).count()
    assert (judged, Assignment.objects.count()) == (10, 20)
    assert finalize(campaign).unlabelled == {"incomplete": 10}


def test_it_counts_progress_from_the_rows_whatever_was_changed(tmp_path: Path) -> None:
    campaign = judging(tmp_path)
    answer_everything(campaign, "1")
    first = rows_of("ada")[0]
    for label in ("0", "0.5", "1"):  # revised three times
        first.refresh_from_db()
        save(sheet([first], label), first.expert_id)
    again = rows_of("bo")[1]
    save(sheet([again], "", cannot_judge=cause_of(campaign)), again.expert_id)  # undone, and done again
    again.refresh_from_db()
    save(sheet([again], "1"), again.expert_id)
    withdraw(campaign, Item.objects.get(position=5).pk, reason="nonsense", by=make_user("mei"))
    standing = [progress(campaign, expert_id=person(name).pk) for name in ("ada", "bo")]
    assert [(found["done"], found["total"]) for found in standing] == [(9, 9), (9, 9)]
    fresh = Assignment.objects.filter(
        answered_at__isnull=False, withdrawn_at__isnull=True, item__retired_at__isnull=True
    )
    assert fresh.count() == 2 * Item.objects.active().count() == 18
    assert verify(campaign) == []


def cause_of(campaign: Campaign) -> str:
    return get_protocol(campaign.protocol).cannot_judge_causes[0].code


# The lowest value, and no value (c21)


def test_it_takes_zero_for_an_answer(tmp_path: Path) -> None:
    campaign = judging(tmp_path, n=3, experts="ada")
    first, second, third = rows_of("ada")
    save(sheet([first], "0"), first.expert_id)
    save(sheet([second], "", cannot_judge=cause_of(campaign)), second.expert_id)
    assert progress(campaign, expert_id=first.expert_id)["done"] == 2
    shown = screen_at(campaign, expert_id=first.expert_id, position=first.position)
    assert shown is not None
    assert shown["rows"][0]["answer"]["label"] == get_protocol("triple").answer("0").key
    shown = screen_at(campaign, expert_id=first.expert_id, position=third.position)
    assert shown is not None
    assert shown["rows"][0]["answer"] is None
    exported = run("export", campaign.slug, "--what", "annotations", "--format", "jsonl").out
    assert exported.count('"label": "0"') == 1
    figures = run("report", campaign.slug, "--kind", "agreement", "--json").document
    assert figures["distribution"] == {"0": 1, "0.5": 0, "1": 0}


def test_it_takes_incorrect_for_an_answer_of_one_context(tmp_path: Path) -> None:
    campaign = judging(tmp_path, protocol="compound", n=1, experts="ada")
    rows = rows_of("ada")
    save(sheet([rows[1]], "0"), rows[1].expert_id)
    (screen,) = next_screens(campaign, expert_id=rows[0].expert_id)  # not done: four contexts are open
    assert [row["answer"] and row["answer"]["label"] for row in screen["rows"]] == [
        None,
        "wrong",
        None,
        None,
        None,
    ]
    assert progress(campaign, expert_id=rows[0].expert_id)["done"] == 0


# Saving


def test_it_stores_the_five_contexts_of_a_screen_together(tmp_path: Path) -> None:
    campaign = judging(tmp_path, protocol="compound", n=2, experts="ada")
    rows = rows_of("ada")[:5]
    saved = save(sheet(rows, "1"), rows[0].expert_id)
    assert {(one.assignment, one.revision) for one in saved} == {(seat_number(row), 1) for row in rows}
    assert Annotation.objects.count() == 5
    assert len(set(Annotation.objects.values_list("client_key", flat=True))) == 1
    assert [screen["id"] for screen in next_screens(campaign, expert_id=rows[0].expert_id, count=9)] == [
        seat_number(rows_of("ada")[5])
    ]


@pytest.mark.parametrize(
    ("label", "fields", "sentence"),
    [
        ("", {}, "one of the two"),
        ("1", {"cannot_judge": "?"}, "one of the two"),
        ("2", {}, "not an answer of this scale"),
        ("", {"cannot_judge": "no such cause"}, "is not one of the choices"),
        ("1", {"problem": "no such cause"}, "is not one of the choices"),
        ("1", {"note": "长" * (NOTE_LIMIT + 1)}, "at most 500 characters"),
        ("1", {"note": "a\0b"}, "U\\+0000"),
        ("0", {"detail": "no such detail"}, "no such detail"),
        ("0", {"reasons": ("no such reason",)}, "no such reason"),
    ],
)
def test_it_refuses_what_is_no_answer_and_stores_nothing(
    label: str, fields: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    judging(tmp_path, n=1)
    (row,) = rows_of("ada")
    with pytest.raises(ProtocolError, match=sentence):
        save(sheet([row], label, **fields), row.expert_id)
    row.refresh_from_db()
    assert (row.revision, row.label, row.answered_at) == (0, "", None)


def test_it_refuses_the_whole_screen_where_one_row_is_no_answer(tmp_path: Path) -> None:
    judging(tmp_path, protocol="compound", n=1, experts="ada")
    rows = rows_of("ada")
    answers = [
        Answer(assignment=row.pk, revision=0, label="0.5" if n == 4 else "1") for n, row in enumerate(rows)
    ]
    with pytest.raises(ProtocolError):
        save(Sheet(screen=rows[0].pk, client_key=uuid.uuid4(), answers=tuple(answers)), rows[0].expert_id)
    assert not Annotation.objects.exists()


def test_it_keeps_a_note_of_five_hundred_rare_characters(tmp_path: Path) -> None:
    judging(tmp_path, n=1)
    (row,) = rows_of("ada")
    note = "𠮷" * NOTE_LIMIT
    save(sheet([row], note=note), row.expert_id)
    assert Annotation.objects.get().note == note


def test_it_answers_the_same_request_alike_even_after_handing_in(tmp_path: Path) -> None:
    campaign = judging(tmp_path, n=2, experts="ada")
    given = [sheet([row]) for row in rows_of("ada")]
    first = [save(one, person("ada").pk) for one in given]
    hand_in(campaign, expert_id=person("ada").pk, index=0)
    assert [save(one, person("ada").pk) for one in given] == first
    with pytest.raises(KeyReused):
        save(sheet([rows_of("ada")[0]], "0", key=given[0].client_key), person("ada").pk)
    with pytest.raises(Refused, match="handed in"):
        save(sheet([rows_of("ada")[0]], "0"), person("ada").pk)
    assert Annotation.objects.count() == 2


def test_it_refuses_everything_once_the_round_is_closed(tmp_path: Path) -> None:
    campaign = judging(tmp_path, n=1)
    (row,) = rows_of("ada")
    Round.objects.update(state=Round.State.CLOSED)
    with pytest.raises(Refused, match="This round is closed"):
        save(sheet([row]), row.expert_id)
    assert next_screens(campaign, expert_id=row.expert_id) == []


def test_it_shows_what_is_stored_to_who_is_late(tmp_path: Path) -> None:
    judging(tmp_path, n=1)
    (row,) = rows_of("ada")
    save(sheet([row], "0.5"), row.expert_id)
    with pytest.raises(Stale) as late:
        save(sheet([row], "1"), row.expert_id)
    assert late.value.current == [
        {
            "assignment": seat_number(row),
            "revision": 1,
            "label": get_protocol("triple").answer("0.5").key,
            "cannot_judge": None,
        }
    ]
    with pytest.raises(Stale):
        save(
            Sheet(
                screen=row.pk,
                client_key=uuid.uuid4(),
                answers=(Answer(assignment=row.pk, revision=7, label="1"),),
            ),
            row.expert_id,
        )
    assert Annotation.objects.count() == 1


def test_it_touches_only_ones_own_rows_of_one_unit(tmp_path: Path) -> None:
    judging(tmp_path, n=2)
    mine, other = rows_of("ada")
    theirs = rows_of("bo")[0]
    mixed = [
        sheet([theirs]),
        sheet([mine, theirs]),
        sheet([mine, other]),  # two units
        Sheet(
            screen=other.pk,
            client_key=uuid.uuid4(),
            answers=(Answer(assignment=mine.pk, revision=0, label="1"),),
        ),
    ]
    for given in mixed:
        with pytest.raises(NotYours) as refused:
            save(given, mine.expert_id)
        assert refused.value.message == "There is no such unit among your work."
    assert not Annotation.objects.exists()


# In the database itself (c16)


@pytest.mark.django_db(transaction=True)
def test_the_database_holds_one_answer_for_a_person_and_a_revision(tmp_path: Path) -> None:
    campaign = judging(tmp_path, n=1)
    row = rows_of("ada")[0]
    guideline = campaign.rounds.get().guideline
    barrier = threading.Barrier(2)
    failed: list[str] = []

    def insert() -> None:
        barrier.wait()
        try:
            with transaction.atomic():
                Annotation.objects.create(
                    assignment=row, revision=1, client_key=uuid.uuid4(), digest="", label="1",
                    guideline=guideline, source="api", created_at=timezone.now(),
                )  # fmt: skip
        except IntegrityError as error:
            failed.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=insert) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failed) == 1
    assert Annotation.objects.count() == 1
    with pytest.raises(IntegrityError), transaction.atomic():  # nor a second assignment of the same item
        Assignment.objects.create(
            round=row.round, unit=row.unit, item=row.item, expert=row.expert, slot=3, position=9, queue=9
        )
    with pytest.raises(IntegrityError), transaction.atomic():  # nor two people in one slot
        Assignment.objects.create(
            round=row.round,
            unit=row.unit,
            item=row.item,
            expert=make_user("eve"),
            slot=1,
            position=1,
            queue=1,
        )


@pytest.mark.django_db(transaction=True)
def test_it_stores_one_of_many_answers_given_at_once(tmp_path: Path) -> None:
    judging(tmp_path, n=1)
    row = rows_of("ada")[0]
    key = uuid.uuid4()
    given = [sheet([row], key=key)] * 3 + [sheet([row], "0") for _ in range(3)]
    barrier = threading.Barrier(len(given))
    said: list[str] = []

    def send(one: Sheet) -> None:
        barrier.wait()
        try:
            saved = save_answers(one, slug="main", expert_id=row.expert_id).saved
            said.append(f"saved {saved[0].revision}")
        except Stale:
            said.append("stale")
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(one,)) for one in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Annotation.objects.count() == 1
    twins = Annotation.objects.filter(client_key=key).count()
    # Either the three twins were acknowledged alike and the others are stale, or one of the others was first.
    assert sorted(said) == (["saved 1"] * 3 + ["stale"] * 3 if twins else ["saved 1"] + ["stale"] * 5)
    assert verify(Campaign.objects.get()) == []


# Nothing grows


def statements(row: Assignment, *, rows: int = 1) -> int:
    mine = list(
        Assignment.objects.filter(expert=row.expert, position=row.position)
        .order_by("row")
        .select_related("expert")
    )
    assert len(mine) == rows
    given = sheet(mine)
    with CaptureQueriesContext(connection) as found:
        judged = save_answers(given, slug="main", expert_id=row.expert_id, after=row.queue, count=5)
    assert judged.screens
    return len(found)


@pytest.mark.parametrize("protocol", ["triple", "compound"])
def test_it_takes_as_many_statements_in_a_large_campaign_as_in_a_small_one(
    protocol: str, tmp_path: Path
) -> None:
    campaign = judging(tmp_path, protocol=protocol, n=10, experts="ada")
    rows = 5 if protocol == "compound" else 1
    statements(rows_of("ada")[0], rows=rows)  # an expert's first sheet may take one more
    first = statements(rows_of("ada")[rows], rows=rows)
    load_rows(campaign, triples(1000) if protocol == "triple" else compounds(200), tmp_path)
    assign_parts(campaign, experts=["ada"], design="cyclic", seed=1)
    assert statements(rows_of("ada")[2 * rows], rows=rows) == first
    for row in rows_of("ada")[3 * rows :: rows][:6]:  # a history, with revisions
        mine = Assignment.objects.filter(position=row.position)
        for label in ("1", "0", "1"):
            save(sheet(mine.all(), label), row.expert_id)
    open_row = Assignment.objects.filter(answered_at__isnull=True).order_by("queue")[0]
    assert statements(open_row, rows=rows) == first
