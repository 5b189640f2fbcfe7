"""The hand-written statements: the same outcome on both databases, and few of them."""

import re
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    Acknowledgement,
    Annotation,
    Assignment,
    Campaign,
    Guideline,
    HandIn,
    Part,
    Round,
    Surplus,
    User,
)
from annotation.models.round import Design
from annotation.protocol.errors import ProtocolError
from annotation.services.answers import save_answers
from annotation.services.errors import KeptAside, KeyReused, NotAcknowledged, NotYours, Refused, Stale
from annotation.services.screens import next_screens
from annotation.services.sheets import Answer, Sheet
from tests.factories import (
    Cast,
    make_assignment,
    make_cast,
    make_compound,
    make_guideline,
    make_repeat,
    make_triple,
    seat_number,
)

pytestmark = pytest.mark.django_db

# SQLite: the rows, an update per row, one insert, what comes next, and the transaction around the writing.
# PostgreSQL: all in one, but for an expert's first sheet, when it is not known where they stand.
FIRST, STATEMENTS = (2, 1) if connection.vendor == "postgresql" else (6, 6)


def with_part(cast: Cast) -> Part:
    round_ = cast.campaign.rounds.get()
    design = Design.objects.create(round=round_, name="cyclic", seed=1, hash="0" * 64, plan={})
    return Part.objects.create(round=round_, design=design, index=0)


def triples(n: int) -> tuple[Cast, list[Assignment]]:
    cast = make_cast()
    part = with_part(cast)
    items = [make_triple(cast.campaign, position) for position in range(1, n + 1)]
    rows = [make_assignment(item, cast.ada, part=part) for item in items]
    for item in items:
        make_assignment(item, cast.lin, slot=2, part=part)
    return cast, rows


def sheet(
    *rows: Assignment,
    label: str = "1",
    key: uuid.UUID | None = None,
    revision: int = 0,
    guideline: int | None = None,
    **fields: Any,
) -> Sheet:
    return Sheet(
        screen=rows[0].pk,
        client_key=key or uuid.uuid4(),
        answers=tuple(
            Answer(assignment=row.pk, revision=revision, label=label, note="𠮷", **fields) for row in rows
        ),
        guideline=guideline,
    )


def five_rows(**unit: Any) -> tuple[Cast, list[Assignment]]:
    """Ada's rows of one compound."""
    cast = make_cast(protocol="compound", k=1)
    part = with_part(cast)
    items = make_compound(cast.campaign, 1, **unit)
    rows = [
        make_assignment(item, cast.ada, part=part, position=1, row=n, queue=1) for n, item in enumerate(items)
    ]
    return cast, rows


def save(cast: Cast, given: Sheet, **more: Any) -> Any:
    return save_answers(given, slug=cast.campaign.slug, expert_id=cast.ada.pk, **more)


def test_it_saves_and_gives_what_comes_next() -> None:
    cast, rows = triples(3)
    judged = save(cast, sheet(rows[0]), after=rows[0].queue, count=5)
    assert [(one.assignment, one.revision) for one in judged.saved] == [(seat_number(rows[0]), 1)]
    assert [screen["position"] for screen in judged.screens] == [2, 3]
    rows[0].refresh_from_db()
    assert (rows[0].label, rows[0].revision) == ("1", 1)
    assert Annotation.objects.get().note == "𠮷"


def test_it_never_gives_the_screen_just_answered_again() -> None:
    cast, rows = triples(2)
    assert [screen["position"] for screen in save(cast, sheet(rows[0]), after=0, count=5).screens] == [2]


def test_it_gives_the_same_screens_as_the_page_reads() -> None:
    cast, rows = triples(4)
    judged = save(cast, sheet(rows[0]), after=rows[0].queue, count=2)
    assert judged.screens == next_screens(cast.campaign, expert_id=cast.ada.pk, count=2)


def test_it_saves_five_rows_or_none() -> None:
    cast, rows = five_rows()
    save(cast, sheet(rows[4]))
    with pytest.raises(Stale) as stale:
        save(cast, sheet(*rows, label="0"))
    assert Annotation.objects.count() == 1
    assert Assignment.objects.filter(revision=0).count() == 4
    assert [row["revision"] for row in stale.value.current] == [0, 0, 0, 0, 1]


def test_a_twin_gets_the_same_reply_and_stores_nothing() -> None:
    cast, rows = triples(2)
    given = sheet(rows[0])
    first = save(cast, given, after=rows[0].queue, count=1)
    assert save(cast, given, after=rows[0].queue, count=1) == first
    assert Annotation.objects.count() == 1


def test_a_key_used_for_other_answers_is_refused() -> None:
    cast, rows = triples(1)
    given = sheet(rows[0])
    save(cast, given)
    with pytest.raises(KeyReused):
        save(cast, sheet(rows[0], label="0", key=given.client_key, revision=1))


def test_only_ones_own_rows_in_ones_own_campaign_are_found() -> None:
    cast, rows = triples(1)
    for slug, expert in ((cast.campaign.slug, cast.lin), ("other", cast.ada), (cast.campaign.slug, cast.mei)):
        with pytest.raises(NotYours):
            save_answers(sheet(rows[0]), slug=slug, expert_id=expert.pk)


def test_an_account_that_is_not_admitted_saves_nothing() -> None:
    cast, rows = triples(1)
    with pytest.raises(NotYours):
        save(cast, sheet(rows[0]), admit=lambda place: False)
    cast.ada.is_active = False
    cast.ada.save()
    with pytest.raises(NotYours):
        save(cast, sheet(rows[0]))
    assert not Annotation.objects.exists()


@pytest.mark.parametrize("change", ["password", "account", "membership", "settings", "guideline"])
def test_what_is_known_of_an_earlier_sheet_must_still_hold(change: str) -> None:
    cast, rows = triples(2)
    save(cast, sheet(rows[0]), admit=lambda place: place.password == cast.ada.password)
    campaign, round_ = cast.campaign, cast.campaign.rounds.get()
    match change:
        case "password":
            User.objects.filter(pk=cast.ada.pk).update(password="another")
        case "account":
            User.objects.filter(pk=cast.ada.pk).update(is_active=False)
        case "membership":
            campaign.memberships.filter(user=cast.ada).update(role="viewer")
        case "settings":
            Campaign.objects.filter(pk=campaign.pk).update(zero_detail=True)
        case "guideline":
            newer = Guideline.objects.create(campaign=campaign, version=99)
            Round.objects.filter(pk=round_.pk).update(guideline=newer)
            Acknowledgement.objects.create(guideline=newer, user=cast.ada)
            save(cast, sheet(rows[1], guideline=newer.pk))
            assert Annotation.objects.get(assignment=rows[1]).guideline == newer
            return
    with pytest.raises(ProtocolError if change == "settings" else NotYours):
        save(cast, sheet(rows[1], label="0"), admit=lambda place: place.password == cast.ada.password)
    assert Annotation.objects.count() == 1


def test_an_answer_keeps_the_guideline_it_was_given_under() -> None:
    """It may arrive much later; a version that is not this campaign's, or not in force yet, is not believed."""
    cast, rows = triples(5)
    first = cast.campaign.guidelines.get()
    second, third = (Guideline.objects.create(campaign=cast.campaign, version=n) for n in (2, 3))
    cast.campaign.rounds.update(guideline=second)
    Acknowledgement.objects.create(guideline=second, user=cast.ada)
    elsewhere = Guideline.objects.exclude(campaign=cast.campaign).get()

    said = [None, first.pk, second.pk, third.pk, elsewhere.pk]
    for row, guideline in zip(rows, said, strict=True):
        save(cast, sheet(row, guideline=guideline))

    stored = Annotation.objects.order_by("assignment").values_list("guideline", flat=True)
    assert list(stored) == [second.pk, first.pk, second.pk, second.pk, second.pk]


def test_an_answer_is_never_stored_under_a_guideline_its_author_does_not_know() -> None:
    """Whatever it says, and however its place was last known: the acknowledgement is looked for when it matters."""
    cast, rows = triples(5)
    first = cast.campaign.guidelines.get()
    save(cast, sheet(rows[0], guideline=first.pk))
    second = make_guideline(cast.campaign)
    save(cast, sheet(rows[1]))
    save(cast, sheet(rows[2], guideline=second.pk))
    Acknowledgement.objects.create(guideline=second, user=cast.lin)  # another's is not theirs
    save(cast, sheet(rows[3], guideline=second.pk))
    Acknowledgement.objects.create(guideline=second, user=cast.ada)
    save(cast, sheet(rows[4], guideline=second.pk))

    stored = Annotation.objects.order_by("assignment").values_list("guideline", flat=True)
    assert list(stored) == [first.pk] * 4 + [second.pk]


def test_who_came_under_a_version_need_not_acknowledge_it() -> None:
    cast, rows = triples(2)
    second = make_guideline(cast.campaign)
    cast.campaign.memberships.filter(user=cast.ada).update(joined_at=timezone.now())
    save(cast, sheet(rows[0]))
    make_guideline(cast.campaign)
    save(cast, sheet(rows[1]))
    assert {one.guideline for one in Annotation.objects.all()} == {second}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("touched_by", [2, [1, 2]])
def test_what_is_judged_again_for_a_change_waits_for_its_acknowledgement(
    *, known: bool, touched_by: object
) -> None:
    """Also for a page that was opened under the version before; a later version is as good."""
    cast, rows = triples(3)
    first, round_ = cast.campaign.guidelines.get(), cast.campaign.rounds.get()
    second = make_guideline(cast.campaign)
    Round.objects.filter(pk=round_.pk).update(kind="rejudgement", settings={"touched_by": touched_by})
    if known:  # the place, and what it knew
        Acknowledgement.objects.create(guideline=second, user=cast.ada)
        save(cast, sheet(rows[0], guideline=second.pk))
    for said in (first.pk, *([] if known else [None, second.pk])):
        with pytest.raises(NotAcknowledged, match="guidelines/change"):
            save(cast, sheet(rows[1], guideline=said))
    assert Annotation.objects.count() == known

    make_guideline(cast.campaign)
    Acknowledgement.objects.get_or_create(guideline=second, user=cast.ada)
    save(cast, sheet(rows[1], guideline=second.pk))
    save(cast, sheet(rows[2]))
    assert {one.guideline for one in Annotation.objects.all()} == {second}


def test_an_atom_is_one_of_the_compounds() -> None:
    cast, rows = five_rows(atoms=[["ADJ", "lazy", 0, 4], ["N", "dog", 5, 8]])
    for row in (rows[0], rows[1]):  # the place not known yet, and known
        with pytest.raises(ProtocolError, match="this compound has 2"):
            save(cast, sheet(row, label="0", atoms=(0, 2)))
        save(cast, sheet(row, label="0", atoms=(0, 1)))
    with pytest.raises(ProtocolError, match="this compound has 2"):
        save(cast, sheet(rows[0], rows[2], label="0", atoms=(10**30,)))
    assert list(Annotation.objects.values_list("atoms", flat=True)) == [[0, 1], [0, 1]]


def test_reasons_and_atoms_stand_beside_wrong_and_nothing_else() -> None:
    cast, rows = five_rows(atoms=[["N", "dog", 0, 3]])
    for why in ({"reasons": ("missing",)}, {"atoms": (0,)}):
        for answer in ({"label": "1"}, {"label": "", "cannot_judge": "other"}):
            with pytest.raises(ProtocolError, match="beside no other answer"):
                save(cast, sheet(rows[0], **answer, **why))  # type: ignore[arg-type]
    with pytest.raises(ProtocolError, match="beside the score of a triple"):
        save(cast, sheet(rows[0], problem="other"))
    assert not Annotation.objects.exists()
    save(cast, sheet(rows[0], label="0", reasons=("漏译", "modifier attached wrongly"), atoms=(0,)))
    assert Annotation.objects.get().reasons == ["missing", "modifier"]


def test_a_triple_has_no_reasons() -> None:
    cast, rows = triples(1)
    for why in ({"reasons": ("missing",)}, {"atoms": (0,)}):
        with pytest.raises(ProtocolError, match="beside no other answer"):
            save(cast, sheet(rows[0], label="0", **why))


@pytest.mark.parametrize(
    ("label", "detail", "stored"),
    [
        ("never", "", "never"), ("从不", "", "never"), ("从不成立", "", "never"), ("很少", "", "rarely"),
        ("含义不明", "", "ambiguous"), ("不成立", "", "invalid"), ("不成立（不合语法、关系不符）", "", "invalid"),
        ("0", "从不", "never"), ("0", "Invalid", "invalid"), ("rarely", "never", "never"),
    ],
)  # fmt: skip
def test_a_third_answer_is_named_by_its_detail_in_both_languages(
    label: str, detail: str, stored: str
) -> None:
    cast, rows = triples(1)
    Campaign.objects.filter(pk=cast.campaign.pk).update(zero_detail=True)

    save(cast, sheet(rows[0], label=label, detail=detail))

    found = Annotation.objects.get()
    assert (found.label, found.detail) == ("0", stored)


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize(
    ("label", "detail", "sentence"),
    [
        ("1", "never", "it stands beside no other answer"),
        ("sometimes", "invalid", "it stands beside no other answer"),
        ("invalid", "never", "The label says “invalid” and the detail “never”"),
        ("从不", "rarely", "The label says “never” and the detail “rarely”"),
    ],
)
def test_a_detail_that_contradicts_the_answer_is_refused(
    label: str, detail: str, sentence: str, asks: bool
) -> None:
    cast, rows = triples(1)
    Campaign.objects.filter(pk=cast.campaign.pk).update(zero_detail=asks)
    with pytest.raises(ProtocolError, match=sentence):
        save(cast, sheet(rows[0], label=label, detail=detail))
    assert not Annotation.objects.exists()


def test_a_compound_has_no_detail() -> None:
    cast, rows = five_rows()
    for label in ("1", "0"):
        with pytest.raises(ProtocolError, match="a compound has none"):
            save(cast, sheet(*rows, label=label, detail="never"))


def test_an_atom_or_reason_named_twice_is_stored_once_in_the_order_given() -> None:
    cast, rows = five_rows(atoms=[["ADJ", "lazy", 0, 4], ["N", "dog", 5, 8]])
    reasons = ("modifier", "missing", "修饰关系错", "missing")
    save(cast, sheet(rows[0], label="0", reasons=reasons, atoms=(1, 0, 1)))
    found = Annotation.objects.get()
    assert (found.reasons, found.atoms) == (["modifier", "missing"], [1, 0])


def test_what_was_handed_in_closed_or_withdrawn_is_refused() -> None:
    cast, rows = triples(1)
    row = rows[0]
    assert row.part is not None
    hand_in = HandIn.objects.create(part=row.part, expert=cast.ada)
    with pytest.raises(Refused, match="handed in"):
        save(cast, sheet(row))
    hand_in.delete()
    cast.campaign.rounds.update(state="closed")
    with pytest.raises(Refused, match="closed"):
        save(cast, sheet(row))
    cast.campaign.rounds.update(state="open")


def test_an_answer_to_a_row_that_was_taken_away_is_kept_and_not_counted() -> None:
    cast, rows = triples(1)
    Assignment.objects.filter(pk=rows[0].pk).update(withdrawn_at="2026-01-01T00:00Z")
    given = sheet(rows[0])
    for _again in range(2):
        with pytest.raises(KeptAside, match="does not count"):
            save(cast, given)
    assert Surplus.objects.get().answer["label"] == "1"
    rows[0].refresh_from_db()
    assert (rows[0].revision, Annotation.objects.count()) == (0, 0)


def test_the_other_rows_of_the_screen_are_saved() -> None:
    cast, rows = five_rows()
    Assignment.objects.filter(pk=rows[2].pk).update(withdrawn_at="2026-01-01T00:00Z")
    given = sheet(*rows)
    first = save(cast, given)
    assert [one.assignment for one in first.saved] == [seat_number(row) for row in rows if row is not rows[2]]
    assert save(cast, given) == first
    assert (Annotation.objects.count(), Surplus.objects.count()) == (4, 1)


@pytest.mark.parametrize("n", [3, 60])
def test_the_statements_are_few_and_the_same_for_any_size(n: int, django_assert_num_queries: Any) -> None:
    cast, rows = triples(n)
    with django_assert_num_queries(FIRST):
        save(cast, sheet(rows[0]), after=rows[0].queue, count=1)
    for row in rows[1 : n // 2]:
        save(cast, sheet(row))
    row = rows[n // 2]
    with django_assert_num_queries(STATEMENTS):
        save(cast, sheet(row), after=row.queue, count=1)


def test_a_hidden_repeat_costs_what_the_units_around_it_cost() -> None:
    """How long a reply takes would tell it otherwise."""
    cast, rows = triples(4)
    repeat = make_repeat(rows[0], position=90)
    save(cast, sheet(rows[0]), after=0, count=1)
    statements = []
    for row in (rows[1], repeat, rows[2], rows[3]):
        with CaptureQueriesContext(connection) as queries:
            save(cast, sheet(row), after=0, count=1)
        statements.append([re.sub(r"[0-9a-f]+", "#", query["sql"]) for query in queries])
    assert statements == [statements[0]] * 4
    assert Annotation.objects.count() == 5


def test_an_original_and_its_repeat_are_not_saved_together() -> None:
    """They are of one unit and of two screens."""
    cast, rows = triples(2)
    repeat = make_repeat(rows[0], position=90)
    for _known in (False, True):
        with pytest.raises(NotYours):
            save(cast, sheet(rows[0], repeat))
        save(cast, sheet(rows[1], key=uuid.UUID(int=7)))
    assert Annotation.objects.get().assignment == rows[1]
