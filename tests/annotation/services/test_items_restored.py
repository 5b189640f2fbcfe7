"""Restoring an item whose unit, part, batch or repeats went on while it was withdrawn."""

import pytest

from annotation.models import Assignment, HandIn, ImportBatch, Item, PartUnit, Round, User
from annotation.services.batches import close_batch, reopen_batch
from annotation.services.discussion import open_thread
from annotation.services.errors import Refused
from annotation.services.items import restore, still_to_give, withdraw
from annotation.services.moves import move_units, planned_moves
from annotation.services.repeat_draws import take_out
from annotation.services.screens import next_screens
from annotation.services.seat import hand_in
from annotation.services.verify import verify
from tests.factories import (
    Cast,
    make_assignment,
    make_cast,
    make_compound,
    make_judged,
    make_member,
    make_part,
    make_triple,
    make_user,
    save_label,
    signed_in,
)
from tests.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def first(cast: Cast) -> Item:
    return Item.objects.get(campaign=cast.campaign, position=1)


def standing(item: Item) -> list[tuple[int, str]]:
    rows = item.assignments.filter(withdrawn_at__isnull=True).order_by("slot")
    return list(rows.values_list("slot", "expert__username"))


def back(cast: Cast, item: Item) -> None:
    restore(cast.campaign, item.pk, by=cast.mei)


def away(cast: Cast, item: Item) -> None:
    withdraw(cast.campaign, item.pk, reason="hm", by=cast.mei)


def move(cast: Cast, giver: User, taker: User) -> None:
    members = cast.campaign.memberships
    names = {"giver": members.get(user=giver).pk, "takers": [members.get(user=taker).pk]}
    planned = planned_moves(cast.campaign, **names)  # type: ignore[arg-type]
    move_units(cast.campaign, **names, confirmed_hash=planned.hash, by=cast.mei)  # type: ignore[arg-type]


def third(cast: Cast) -> User:
    cy = make_user("cy")
    make_member(cast.campaign, cy, "expert", "A3")
    return cy


def test_an_open_place_is_withdrawn_with_the_batch_that_was_closed_meanwhile(cast: Cast) -> None:
    design = make_judged(cast, ("1", None), ("1", "0"))
    away(cast, first(cast))
    close_batch(cast.campaign, design.pk, by=cast.mei)
    back(cast, first(cast))
    design.refresh_from_db()
    row = Assignment.objects.get(item=first(cast), expert=cast.lin)
    assert row.withdrawn_at == design.closed_at
    assert standing(first(cast)) == [(1, "ada")]
    assert next_screens(cast.campaign, expert_id=cast.lin.pk, count=3) == []
    assert verify(cast.campaign) == []
    reopen_batch(cast.campaign, design.pk, by=cast.mei)
    assert standing(first(cast)) == [(1, "ada"), (2, "lin")]
    assert verify(cast.campaign) == []


def test_a_part_that_was_handed_in_meanwhile_opens_again(cast: Cast) -> None:
    design = make_judged(cast, ("1", None), ("1", "0"))
    away(cast, first(cast))
    hand_in(cast.campaign, expert_id=cast.lin.pk, index=design.parts.get().index)
    hand_in(cast.campaign, expert_id=cast.ada.pk, index=design.parts.get().index)
    back(cast, first(cast))
    assert [one.expert for one in HandIn.objects.all()] == [cast.ada]
    assert len(next_screens(cast.campaign, expert_id=cast.lin.pk, count=3)) == 1
    assert verify(cast.campaign) == []


def test_who_gave_the_item_away_before_a_closing_does_not_get_it_back(cast: Cast) -> None:
    cy = third(cast)
    design = make_judged(cast, ("1", None), ("1", "1"))
    move(cast, cast.lin, cy)
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="late")
    away(cast, first(cast))
    back(cast, first(cast))
    assert standing(first(cast)) == [(1, "ada")]
    assert verify(cast.campaign) == []


@pytest.mark.parametrize("withdrawn_first", [True, False])
def test_repeats_that_were_taken_out_stay_out(cast: Cast, withdrawn_first: bool) -> None:
    make_judged(cast, ("1", "0"), (None, None))
    main = cast.campaign.rounds.get(kind=Round.Kind.MAIN)
    draw = Round.objects.create(
        campaign=cast.campaign, kind=Round.Kind.REPEAT, number=2, k=2, guideline=main.guideline
    )
    original = Assignment.objects.get(item=first(cast), expert=cast.lin)
    again = make_assignment(
        first(cast), cast.lin, slot=2, round=draw, part=original.part, position=50, queue=50
    )
    if withdrawn_first:
        away(cast, first(cast))
    take_out(cast.campaign, 2, by=cast.mei)
    back(cast, first(cast))
    again.refresh_from_db()
    assert again.withdrawn_at is not None
    assert standing(first(cast)) == [(1, "ada"), (2, "lin")]


def test_a_repeat_that_was_judged_comes_back_with_its_item(cast: Cast) -> None:
    make_judged(cast, ("1", "0"), (None, None))
    main = cast.campaign.rounds.get(kind=Round.Kind.MAIN)
    draw = Round.objects.create(
        campaign=cast.campaign, kind=Round.Kind.REPEAT, number=2, k=2, guideline=main.guideline
    )
    part = Assignment.objects.get(item=first(cast), expert=cast.lin).part
    save_label(make_assignment(first(cast), cast.lin, slot=2, round=draw, part=part, position=50), "0")
    away(cast, first(cast))
    back(cast, first(cast))
    assert draw.assignments.filter(withdrawn_at__isnull=True).count() == 1


@pytest.mark.parametrize("closed", [False, True])
def test_an_open_place_goes_to_who_holds_the_unit_by_now(closed: bool) -> None:
    cast = make_cast(protocol="compound")
    cy = third(cast)
    one, two = make_compound(cast.campaign, 1, contexts=2)
    main = cast.campaign.rounds.get(kind=Round.Kind.MAIN)
    part = make_part(main)
    PartUnit.objects.create(round=main, part=part, unit=one.unit)
    for item in (one, two):
        for slot, expert in enumerate((cast.ada, cast.lin), start=1):
            make_assignment(item, expert, slot=slot, part=part)
    away(cast, one)
    move(cast, cast.lin, cy)
    if closed:
        close_batch(cast.campaign, part.design_id, by=cast.mei, reason="late")
        back(cast, one)
        assert verify(cast.campaign) == []
        reopen_batch(cast.campaign, part.design_id, by=cast.mei)
    else:
        back(cast, one)
    assert standing(one) == standing(two) == [(1, "ada"), (2, "cy")]
    assert verify(cast.campaign) == []
    places = Assignment.objects.filter(expert=cy, withdrawn_at__isnull=True)
    assert len(set(places.values_list("position", "row"))) == len(set(places.values_list("queue"))) == 2


def test_withdrawn_between_two_closings_it_stands_as_the_batch_does(cast: Cast) -> None:
    design = make_judged(cast, ("1", None), ("1", "1"))
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="late")
    away(cast, first(cast))
    reopen_batch(cast.campaign, design.pk, by=cast.mei)
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="later")
    back(cast, first(cast))
    design.refresh_from_db()
    assert Assignment.objects.get(item=first(cast), expert=cast.lin).withdrawn_at == design.closed_at
    open_thread(cast.campaign, Item.objects.get(position=2).pk, by=cast.mei)
    assert verify(cast.campaign) == []
    with pytest.raises(Refused):
        reopen_batch(cast.campaign, design.pk, by=cast.mei)


@pytest.mark.parametrize("closed", [False, True])
def test_it_says_how_an_item_gets_experts_whose_unit_was_given_out_without_it(
    cast: Cast, closed: bool
) -> None:
    design = make_judged(cast, ("1", "0"), ("1", "1"))
    item = make_triple(cast.campaign, 9)
    ImportBatch.objects.filter(pk=item.batch_id).update(
        published_at=design.created_at
    )  # it was there already
    away(cast, item)
    PartUnit.objects.create(round=design.round, part=design.parts.get(), unit=item.unit)
    if closed:
        close_batch(cast.campaign, design.pk, by=cast.mei)
    shown = signed_in(cast.mei).post(f"/campaigns/main/items/{item.pk}/restore/", follow=True)
    item.refresh_from_db()
    assert still_to_give(item) in text_of(shown)
    assert ("open the batch again" in still_to_give(item)) == closed
    (violation,) = verify(cast.campaign)
    assert violation.where.startswith("item at position 9 has 0 experts in the main round, not 2; ")
    assert "give out parts" in violation.where
    assert ("open the batch again" in violation.where) == closed
    assert still_to_give(first(cast)) == ""
