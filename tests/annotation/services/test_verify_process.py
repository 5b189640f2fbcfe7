"""Checking how a campaign's process went: each planted fault is found by its rule, and by name of its place."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    Annotation,
    Arbitration,
    Assignment,
    Campaign,
    Design,
    FinalLabel,
    Gold,
    Guideline,
    HandIn,
    Item,
    Part,
    PartUnit,
    Round,
    Thread,
    Unit,
)
from annotation.services import verify as verify_module
from annotation.services.batches import close_batch
from annotation.services.labels import finalize
from annotation.services.people import add_person
from annotation.services.resolution import open_resolution
from annotation.services.verify import verify
from annotation.templatetags.manage import CHECK_WORDS
from tests.annotation.services.test_carry_over import PLANTS as CARRIED
from tests.annotation.services.test_verify import FAULTS
from tests.factories import (
    Cast,
    make_assignment,
    make_cast,
    make_judged,
    make_part,
    make_triple,
    save_label,
)

pytestmark = pytest.mark.django_db

Plant = Callable[[Cast, Design], None]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def design(cast: Cast) -> Design:
    """Three triples for Ada and Lin, two of them judged by both."""
    made = make_judged(cast, ("1", "0"), ("1", "1"), ("0.5", None))
    assert verify(cast.campaign) == []
    return made


def item(position: int) -> Item:
    return Item.objects.get(campaign__slug="main", position=position)


def row(position: int, slot: int) -> Assignment:
    return Assignment.objects.get(round__kind=Round.Kind.MAIN, item=item(position), slot=slot)


def rows(**where: object) -> QuerySet[Assignment]:
    return Assignment.objects.filter(round__campaign__slug="main", **where)


def main(cast: Cast) -> Round:
    return cast.campaign.rounds.get(kind=Round.Kind.MAIN)


def other_guideline() -> Guideline:
    return Guideline.objects.get(campaign__slug="other")


def retire(position: int, why: Item.Retired) -> None:
    Item.objects.filter(pk=item(position).pk).update(retired_at=timezone.now(), retired_why=why)


def another_round(cast: Cast, kind: Round.Kind, **fields: object) -> Round:
    values = {"k": 1, "guideline": cast.campaign.guidelines.get(), **fields}
    return Round.objects.create(campaign=cast.campaign, kind=kind, **values)


def given_in(round_: Round, one: Item, *, index: int = 10_000) -> dict[str, Any]:
    """A part of the round with this item in it."""
    part = make_part(round_, index)
    PartUnit.objects.create(round=round_, part=part, unit=one.unit)
    return {"round": round_, "part": part}


def resolved(cast: Cast, design: Design) -> Round:
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="late")
    round_ = open_resolution(cast.campaign, by=cast.mei)
    assert verify(cast.campaign) == []
    return round_


# Items


def ask_for_a_withdrawn_item(cast: Cast, design: Design) -> None:
    retire(3, Item.Retired.WITHDRAWN)


def ask_for_a_replaced_item(cast: Cast, design: Design) -> None:
    retire(3, Item.Retired.REPLACED)


def replace_an_item_by_nothing(cast: Cast, design: Design) -> None:
    retire(3, Item.Retired.REPLACED)
    Assignment.objects.filter(item__position=3).update(withdrawn_at=timezone.now())


def set_aside_what_main_judges(cast: Cast, design: Design) -> None:
    retire(3, Item.Retired.SET_ASIDE)


def set_aside_without_a_dry_run(cast: Cast, design: Design) -> None:
    make_triple(cast.campaign, 77, retired_at=timezone.now(), retired_why=Item.Retired.SET_ASIDE)


def leave_gold_on_a_replaced_item(cast: Cast, design: Design) -> None:
    Gold.objects.create(item=item(3), label="1")
    replace_an_item_by_nothing(cast, design)


def label_what_was_withdrawn(cast: Cast, design: Design) -> None:
    finalize(cast.campaign)
    rows(item__position=1).update(withdrawn_at=timezone.now())
    retire(1, Item.Retired.WITHDRAWN)
    FinalLabel.objects.filter(item__position=1).update(computed_at=timezone.now())


def label_in_a_version_to_come(cast: Cast, design: Design) -> None:
    finalize(cast.campaign)
    FinalLabel.objects.filter(item__position=1).update(version=99)


# Answers


def leave_a_row_open_in_a_closed_batch(cast: Cast, design: Design) -> None:
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="late")
    assert verify(cast.campaign) == []
    Assignment.objects.filter(item__position=3).update(withdrawn_at=None)


def leave_a_repeat_open_in_a_closed_batch(cast: Cast, design: Design) -> None:
    draw = another_round(cast, Round.Kind.REPEAT, number=2, k=2)
    again = make_assignment(item(1), cast.lin, slot=2, round=draw, part=row(1, 2).part, position=50, queue=50)
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="late")
    assert verify(cast.campaign) == []
    Assignment.objects.filter(pk=again.pk).update(withdrawn_at=None)


def hand_in_what_is_open(cast: Cast, design: Design) -> None:
    HandIn.objects.create(part=design.parts.get(), expert=cast.lin)


def answer_after_the_closing(cast: Cast, design: Design) -> None:
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="late")
    save_label(row(1, 1), "0")


def answer_after_the_hand_in(cast: Cast, design: Design) -> None:
    HandIn.objects.create(part=design.parts.get(), expert=cast.ada)
    save_label(row(1, 1), "0")


def answer_what_was_withdrawn(cast: Cast, design: Design) -> None:
    rows(item__position=1).update(withdrawn_at=timezone.now())
    retire(1, Item.Retired.WITHDRAWN)
    save_label(row(1, 1), "0")


def answer_by_another_scale(cast: Cast, design: Design) -> None:
    save_label(row(1, 1), "9")


def know_a_label_that_is_none(cast: Cast, design: Design) -> None:
    Gold.objects.create(item=item(1), label="x")


def decide_what_is_no_label(cast: Cast, design: Design) -> None:
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="late")
    Arbitration.objects.create(item=item(1), label="0.5", reason="so", by=cast.mei)


# Discussion and judging again


def discuss_in_an_open_batch(cast: Cast, design: Design) -> None:
    Thread.objects.create(item=item(1))


def decide_in_an_open_batch(cast: Cast, design: Design) -> None:
    Arbitration.objects.create(item=item(1), label="1", reason="so", by=cast.mei)


def discuss_in_an_open_dry_run(cast: Cast, design: Design) -> None:
    round_ = another_round(cast, Round.Kind.DRY_RUN)
    one = make_triple(cast.campaign, 50)
    make_assignment(one, cast.ada, position=90, queue=9000, **given_in(round_, one))
    assert verify(cast.campaign) == []
    Thread.objects.create(item=one)


def resolve_in_swapped_slots(cast: Cast, design: Design) -> None:
    one, two = resolved(cast, design).assignments.order_by("slot")
    for pk, slot in ((one.pk, 9), (two.pk, 1), (one.pk, 2)):
        Assignment.objects.filter(pk=pk).update(slot=slot)


def resolve_what_nobody_discusses(cast: Cast, design: Design) -> None:
    resolved(cast, design)
    Thread.objects.all().delete()


def check_what_one_has_judged(cast: Cast, design: Design) -> None:
    round_ = another_round(cast, Round.Kind.SPOT_CHECK)
    make_assignment(item(1), cast.ada, position=60, queue=60, **given_in(round_, item(1)))


# Who and where


def put_two_units_on_one_screen(cast: Cast, design: Design) -> None:
    Assignment.objects.filter(expert=cast.ada, item__position=2).update(position=1, row=2)


def put_another_round_on_the_same_screen(cast: Cast, design: Design) -> None:
    round_ = another_round(cast, Round.Kind.SPOT_CHECK)
    one = make_triple(cast.campaign, 50)
    make_assignment(one, cast.ada, position=1, queue=9000, **given_in(round_, one))


def put_two_screens_in_one_place(cast: Cast, design: Design) -> None:
    make_judged(cast, (None, None))
    Assignment.objects.filter(expert=cast.lin, answered_at__isnull=True).update(queue=7)


def give_items_to_who_is_no_member(cast: Cast, design: Design) -> None:
    cast.campaign.memberships.filter(user=cast.lin).delete()


def give_items_to_a_viewer(cast: Cast, design: Design) -> None:
    cast.campaign.memberships.filter(user=cast.lin).update(role="viewer")


def hand_in_for_a_stranger(cast: Cast, design: Design) -> None:
    HandIn.objects.create(part=design.parts.get(), expert=cast.otto)


def lose_every_manager(cast: Cast, design: Design) -> None:
    add_person(cast.campaign, "nia", "manager", by=None)
    cast.campaign.memberships.filter(role="manager").delete()


def name_another_unit(cast: Cast, design: Design) -> None:
    unit = Unit.objects.get(campaign=cast.campaign, key="t2")
    Assignment.objects.filter(pk=row(1, 1).pk).update(unit=unit)


def name_another_campaigns_item(cast: Cast, design: Design) -> None:
    one = make_triple(Campaign.objects.get(slug="other"), 1)
    Assignment.objects.filter(pk=row(1, 1).pk).update(item=one)


def name_another_rounds_part(cast: Cast, design: Design) -> None:
    part: Part = make_part(Round.objects.get(campaign__slug="other"), 5)
    Assignment.objects.filter(pk=row(1, 1).pk).update(part=part)


def record_moves_that_nobody_made(cast: Cast, design: Design) -> None:
    giver, taker = (str(cast.campaign.memberships.get(user=one).pk) for one in (cast.lin, cast.ada))
    entry = {"at": "2026-01-01", "items": {giver: -1, taker: 1}, "hash": ""}
    Round.objects.filter(pk=main(cast).pk).update(settings={"moves": [entry]})


def record_moves_to_nobody(cast: Cast, design: Design) -> None:
    giver = str(cast.campaign.memberships.get(user=cast.lin).pk)
    rows(item__position=3, slot=2).update(withdrawn_at=timezone.now())
    entry = {"at": "2026-01-01", "items": {giver: -1}, "hash": ""}
    Round.objects.filter(pk=main(cast).pk).update(settings={"moves": [entry]})


# Rounds and guidelines


def judge_by_another_campaigns_guidelines(cast: Cast, design: Design) -> None:
    Annotation.objects.filter(assignment=row(1, 1)).update(guideline=other_guideline())


def open_a_round_under_another_campaigns_guidelines(cast: Cast, design: Design) -> None:
    cast.campaign.rounds.update(guideline=other_guideline())


def leave_a_round_under_an_older_version(cast: Cast, design: Design) -> None:
    Guideline.objects.create(campaign=cast.campaign, version=2, text_en="x", text_zh="x")


def leave_a_round_open_in_a_closed_campaign(cast: Cast, design: Design) -> None:
    Campaign.objects.filter(pk=cast.campaign.pk).update(closed_at=timezone.now())


def archive_what_is_open(cast: Cast, design: Design) -> None:
    Campaign.objects.filter(pk=cast.campaign.pk).update(archived_at=timezone.now())


def close_main_and_leave_repeats_open(cast: Cast, design: Design) -> None:
    another_round(cast, Round.Kind.REPEAT, number=2, k=2)
    Round.objects.filter(pk=main(cast).pk).update(state=Round.State.CLOSED, closed_at=timezone.now())


def close_a_round_at_no_moment(cast: Cast, design: Design) -> None:
    Round.objects.filter(pk=main(cast).pk).update(state=Round.State.CLOSED)


def ask_for_another_k(cast: Cast, design: Design) -> None:
    Campaign.objects.filter(pk=cast.campaign.pk).update(annotators_per_item=3)


PLANTS: list[tuple[str, Plant, str]] = [
    ("withdrawn items rest", ask_for_a_withdrawn_item, "the item at position 3 is withdrawn, and slot 1"),
    ("withdrawn items rest", ask_for_a_replaced_item, "the item at position 3 is replaced, and slot 1"),
    ("replaced items have a successor", replace_an_item_by_nothing, "position 3 was replaced"),
    ("set-aside items stay out", set_aside_what_main_judges, "slot 1 of it stands in the main round"),
    (
        "set-aside items stay out",
        set_aside_without_a_dry_run,
        "position 77 is set aside, and its unit is in no",
    ),
    ("gold stands on texts that stand", leave_gold_on_a_replaced_item, "gold item at position 3"),
    ("final labels are of items that count", label_what_was_withdrawn, "position 1 got a final label"),
    ("final labels follow their rule", label_in_a_version_to_come, "position 1 is of a version"),
    (
        "nothing is open in what is handed in",
        leave_a_row_open_in_a_closed_batch,
        "slot 2 of the item at position 3",
    ),
    ("nothing is open in what is handed in", leave_a_repeat_open_in_a_closed_batch, "1 in the repeat round"),
    ("nothing is open in what is handed in", hand_in_what_is_open, "give the part back"),
    (
        "frozen answers stay frozen",
        answer_after_the_closing,
        "slot 1 of the item at position 1 was saved after its b",
    ),
    (
        "frozen answers stay frozen",
        answer_after_the_hand_in,
        "position 1 was saved after its part was handed in",
    ),
    ("frozen answers stay frozen", answer_what_was_withdrawn, "position 1 was saved after it was withdrawn"),
    ("answers are the protocol's", answer_by_another_scale, "slot 1 of the item at position 1"),
    ("answers are the protocol's", know_a_label_that_is_none, "the label known of the item at position 1"),
    (
        "answers are the protocol's",
        decide_what_is_no_label,
        "what an arbiter decided on the item at position 1",
    ),
    ("discussion waits for judging", discuss_in_an_open_batch, "position 1 is open to discussion while"),
    ("discussion waits for judging", decide_in_an_open_batch, "decided on the item at position 1 while"),
    ("discussion waits for judging", discuss_in_an_open_dry_run, "position 50 is open to discussion while"),
    ("items are judged again in their slots", resolve_in_swapped_slots, "slot 1 of the item at position 1"),
    (
        "items are judged again in their slots",
        resolve_what_nobody_discusses,
        "position 1 is resolved without",
    ),
    (
        "checkers have not judged",
        check_what_one_has_judged,
        "the item at position 1 to somebody who has judged it",
    ),
    ("one screen in one place", put_two_units_on_one_screen, "screen 1 of A1 holds several units"),
    ("one screen in one place", put_another_round_on_the_same_screen, "screen 1 of A1 holds several units"),
    ("one screen in one place", put_two_screens_in_one_place, "screens 3 and 4 of A2"),
    ("experts take part", give_items_to_who_is_no_member, "somebody was given 3 items"),
    ("experts take part", give_items_to_a_viewer, "A2 was given 3 items"),
    ("experts take part", hand_in_for_a_stranger, "handed in by somebody"),
    ("somebody manages", lose_every_manager, "nobody manages"),
    (
        "assignments stand in their place",
        name_another_unit,
        "slot 1 of the item at position 1 in the main round",
    ),
    ("assignments stand in their place", name_another_campaigns_item, "names another unit or campaign"),
    ("assignments stand in their place", name_another_rounds_part, "is in a part of another round"),
    ("moves add up", record_moves_that_nobody_made, "more items of one expert"),
    ("moves add up", record_moves_to_nobody, "move 1 of the main round gives other items"),
    (
        "guidelines are the campaign's",
        judge_by_another_campaigns_guidelines,
        "slot 1 of the item at position 1",
    ),
    (
        "guidelines are the campaign's",
        open_a_round_under_another_campaigns_guidelines,
        "main round 1 goes by",
    ),
    (
        "guidelines are the campaign's",
        leave_a_round_under_an_older_version,
        "under version 1 of the guidelines",
    ),
    (
        "rounds end together",
        leave_a_round_open_in_a_closed_campaign,
        "main round 1 is open in a closed campaign",
    ),
    ("rounds end together", archive_what_is_open, "archived and not closed"),
    ("rounds end together", close_main_and_leave_repeats_open, "repeat round 2 is open, and the main"),
    ("rounds end together", close_a_round_at_no_moment, "main round 1 is closed, and the moment"),
    ("rounds end together", ask_for_another_k, "2 experts per item, the campaign 3"),
]


@pytest.mark.parametrize(
    ("rule", "plant", "where"), PLANTS, ids=[plant.__name__ for _rule, plant, _where in PLANTS]
)
def test_it_finds(rule: str, plant: Plant, where: str, cast: Cast, design: Design) -> None:
    plant(cast, design)
    found = verify(Campaign.objects.get(slug="main"))
    assert [one for one in found if one.rule == rule and where in one.where], found


def test_every_check_has_a_fault_that_it_finds_and_words_for_people() -> None:
    planted = {rule for rule, _plant in FAULTS} | {rule for rule, _plant, _where in PLANTS}
    planted |= {rule for _plant, rule, _said in CARRIED if rule}
    assert planted == set(verify_module.CHECKS) == set(CHECK_WORDS)


def test_it_asks_as_often_whatever_the_campaigns_size(cast: Cast) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert verify(cast.campaign) == []
        return len(queries)

    design = make_judged(cast, ("1", "0"), ("1", "1"), ("0.5", None))
    few = asked()
    for _ in range(3):
        make_judged(cast, ("1", "1"), ("1", "0"), (None, None))
    resolved(cast, design)
    assert asked() == few


def test_a_hand_in_before_the_last_answer_is_no_fault_once_the_part_was_given_back(
    cast: Cast, design: Design
) -> None:
    handed_in = HandIn.objects.create(part=design.parts.get(), expert=cast.ada)
    HandIn.objects.filter(pk=handed_in.pk).update(at=timezone.now() - timedelta(days=1))
    handed_in.delete()
    save_label(row(1, 1), "0")
    assert verify(cast.campaign) == []
