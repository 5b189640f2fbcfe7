"""Giving parts to experts: a plan is shown first, then stored whole, k assignments an item.

The plan itself (which unit, which part, whose slot) is arithmetic and stands in `protocol.assignment`; this
file reads what is to be assigned and writes the rows.
"""

from collections.abc import Iterator, Sequence

from django.db import IntegrityError
from django.db.models import Max, QuerySet

from annotation.models import (
    Assignment,
    Campaign,
    Design,
    Item,
    Membership,
    Part,
    PartUnit,
    Round,
    User,
)
from annotation.protocol.assignment import Plan, PlanUnit, draw_sample, plan
from annotation.protocol.sentences import say
from annotation.services.campaign_state import refuse_closed
from annotation.services.campaigns import check_seed, main_round
from annotation.services.carry_over import CarryPlan, CarryWish, plan_carry_over, store_carry_over
from annotation.services.completion import Completion, incomplete_items, plan_completion
from annotation.services.dry_runs import refuse_before_the_gate
from annotation.services.errors import Refused
from annotation.services.late_items import late_items
from annotation.services.later import USUAL_SHARE, give_out_later, plan_later
from annotation.services.later_plans import LaterPlan
from annotation.services.layout import (
    CHUNK,
    IN_UNIT,
    UnitRows,
    last_place,
    share_of,
    store_in_chunks,
    unit_rows,
)
from annotation.services.people import add_member, audit, check_experts, check_name, find_or_create_experts
from annotation.services.planner import renew_counts
from annotation.services.turns import turn


def unassigned_units(round_: Round) -> list[UnitRows]:
    """The campaign's units that nobody has been given in this round, in the order of import.

    A unit with judgements from elsewhere is in none of the plan's parts; what it lacks is given out by itself.
    """
    return unit_rows(_unassigned_items(round_).order_by("unit__position", *IN_UNIT))


def _unassigned_items(round_: Round) -> QuerySet[Item]:
    return (
        Item.objects.active()
        .filter(campaign=round_.campaign)
        .exclude(unit__in=PartUnit.objects.filter(round=round_).values("unit"))
        .exclude(unit__in=round_.assignments.filter(withdrawn_at__isnull=True).values("unit"))
    )


def what_waits(round_: Round) -> dict[str, QuerySet[Item]]:
    """Everything that could be given out in this round now: to be counted."""
    return {
        "unassigned": _unassigned_items(round_),
        "late": late_items(round_),
        "begun": incomplete_items(round_),
    }


def plan_parts(
    campaign: Campaign,
    *,
    experts: Sequence[str],
    design: str,
    seed: int,
    parts: int | None = None,
    sample: int | None = None,
    quotas: Sequence[int] | None = None,
    overlap: int | None = None,
    carry: CarryPlan | None = None,
) -> Plan:
    """What `assign_parts` would store, or its refusal. Creates nobody, stores nothing. Without units where all are
    given out, and without what is carried over.

    `sample` gives out so many of all the campaign's units, drawn by the seed, as far as they have no experts yet.
    """
    check_seed(seed)
    round_ = main_round(campaign)
    if not Item.objects.active().filter(campaign=campaign).exists():
        raise Refused(say("This campaign has no items yet; import them first."))
    planned = plan(
        design,
        experts=experts,
        units=[PlanUnit(unit.key, unit.n_items) for unit in _new_units(round_, carry)],
        parts=parts,
        k=round_.k,
        seed=seed,
        sample=None if sample is None else draw_sample(_unit_keys(campaign), sample, seed=seed),
        quotas=quotas,
        overlap=overlap,
    )
    for name in planned.loads:
        check_name(name)
    completion = plan_completion(
        round_, list(planned.loads), planned.loads, sample=planned.sample, carry=carry
    )
    if any(part.unit_keys for part in planned.parts) or completion.n_items:
        check_experts(campaign, list(planned.loads))
    return planned


def plan_carrying(campaign: Campaign, wish: CarryWish, *, seed: int, sample: int | None = None) -> CarryPlan:
    """What `assign_parts` would carry over of what it gives out, or its refusal; stores nothing."""
    check_seed(seed)
    round_ = main_round(campaign)
    drawn = None if sample is None else draw_sample(_unit_keys(campaign), sample, seed=seed)
    new = [unit for unit in unassigned_units(round_) if drawn is None or unit.key in drawn]
    begun = incomplete_items(round_).values_list("pk", "unit__key")
    to_give = {item for unit in new for items in unit.contexts for item in items}
    to_give |= {item for item, key in begun if drawn is None or key in drawn}
    to_give |= set(late_items(round_).values_list("pk", flat=True))
    return plan_carry_over(round_, wish, to_give=to_give, seed=seed)


def _new_units(round_: Round, carry: CarryPlan | None) -> list[UnitRows]:
    units = unassigned_units(round_)
    return units if carry is None else carry.without(units)


def _unit_keys(campaign: Campaign) -> list[str]:
    items = Item.objects.active().filter(campaign=campaign).order_by("unit__position")
    return list(dict.fromkeys(items.values_list("unit__key", flat=True).iterator(CHUNK)))


def assign_parts(
    campaign: Campaign,
    *,
    experts: Sequence[str],
    design: str,
    seed: int,
    parts: int | None = None,
    sample: int | None = None,
    quotas: Sequence[int] | None = None,
    overlap: int | None = None,
    again: float = USUAL_SHARE,
    carry_over: CarryWish | None = None,
    by: User | None = None,
    confirmed_hash: str | None = None,
) -> Plan:
    """Store the plan: parts, their units and all k assignments of every item, in one transaction.

    Late items go to the experts of their units, whoever is named, and `again` per cent of what these judged before
    come again among them. With `carry_over`, translations that render their compound like another one take its verdict
    and are given to nobody. Where all units are given out, nothing else is stored and nobody is created.
    `confirmed_hash` is what the manager was shown (see `confirmation`); if the campaign has changed since, nothing is
    stored.
    """
    try:
        with turn(campaign):
            round_ = main_round(campaign)
            refuse_closed(campaign)
            refuse_before_the_gate(campaign)
            carry = (
                None if carry_over is None else plan_carrying(campaign, carry_over, seed=seed, sample=sample)
            )
            later = plan_later(round_, again=again, seed=seed, carry=carry)
            planned = plan_parts(
                campaign,
                experts=experts,
                design=design,
                seed=seed,
                parts=parts,
                sample=sample,
                quotas=quotas,
                overlap=overlap,
                carry=carry,
            )
            if confirmed_hash is not None:
                _refuse_another(confirmed_hash, confirmation(planned, later, carry))
            give_out_later(round_, later, by=by)
            if carry is not None:
                store_carry_over(round_, carry, by=by)
            if _give_out(round_, planned, by, carry):
                _record(campaign, planned, sample=sample, quotas=quotas, by=by)
    except IntegrityError:
        raise Refused(
            say("Somebody else assigned these units at the same moment; look at the new plan.")
        ) from None
    return planned


def confirmation(planned: Plan, later: LaterPlan, carry: CarryPlan | None = None) -> str:
    """What a manager confirms: the hash of the plan, and those of the later batch and of what is carried over where
    there is any.
    """
    late = f".{later.hash}" if later.n_items else ""
    return planned.hash + late + (f".{carry.hash}" if carry is not None else "")


def _refuse_another(confirmed: str, now: str) -> None:
    """Refuse a plan that is not the one which was confirmed."""
    if confirmed != now:
        raise Refused(
            say(
                "The campaign changed since this plan was shown: items were added, or "
                "somebody else assigned them. Look at the new plan and confirm it again."
            )
        )


def _record(
    campaign: Campaign, planned: Plan, *, sample: int | None, quotas: Sequence[int] | None, by: User | None
) -> None:
    more = {"sample": sample, "quotas": quotas and list(quotas), "overlap": planned.overlap}
    asked = {name: value for name, value in more.items() if value is not None}
    detail = {"design": planned.design, "seed": planned.seed, **asked, "hash": planned.hash}
    audit(campaign, by, "parts assigned", detail)


def _give_out(round_: Round, planned: Plan, by: User | None, carry: CarryPlan | None) -> bool:
    """Store what the plan gives to whom, new parts and what completes units; False where that is nothing."""
    completion = plan_completion(
        round_, list(planned.loads), planned.loads, sample=planned.sample, carry=carry
    )
    new_parts = any(part.unit_keys for part in planned.parts)
    if not (new_parts or completion.n_items):
        return False
    people = dict(zip(planned.loads, find_or_create_experts(list(planned.loads), by), strict=True))
    for person in people.values():
        add_member(round_.campaign, person, Membership.Role.EXPERT, by=by)
    if new_parts:
        _store(round_, planned, people=people, by=by, carry=carry)
    if completion.n_items:
        _store_completion(round_, planned, completion, people=people, by=by)
    renew_counts(PartUnit, Assignment)
    return True


def next_index(round_: Round) -> int:
    """The index that the next part of this round gets: parts are numbered on from batch to batch."""
    last: int | None = round_.parts.aggregate(last=Max("index"))["last"]
    return 0 if last is None else last + 1


def _store(
    round_: Round, planned: Plan, *, people: dict[str, User], by: User | None, carry: CarryPlan | None
) -> None:
    units = {unit.key: unit for unit in _new_units(round_, carry)}
    design = Design.objects.create(
        round=round_,
        name=planned.design,
        seed=planned.seed,
        hash=planned.hash,
        plan=planned.as_json(),
        created_by=by,
    )
    first = next_index(round_)
    parts = Part.objects.bulk_create(
        Part(round=round_, design=design, index=first + part.index) for part in planned.filled
    )
    store_in_chunks(
        PartUnit,
        (
            PartUnit(round=round_, part=row, unit_id=units[key].pk)
            for row, part in zip(parts, planned.filled, strict=True)
            for key in part.unit_keys
        ),
    )
    places = {name: last_place(round_, person) for name, person in people.items()}
    for row, part in zip(parts, planned.filled, strict=True):
        for slot, name in enumerate(part.experts, start=1):
            share = [units[key] for key in part.unit_keys]
            rows = share_of(round_, row, share, slot=slot, expert=people[name])
            store_in_chunks(Assignment, places[name].put(rows))


def _store_completion(
    round_: Round, planned: Plan, completion: Completion, *, people: dict[str, User], by: User | None
) -> None:
    """One part of all units that were begun elsewhere; everybody gets the items that lack them."""
    items = Item.objects.filter(pk__in=completion.places).order_by("unit__position", *IN_UNIT)
    units = unit_rows(items)
    design = Design.objects.create(
        round=round_,
        name=planned.design,
        seed=planned.seed,
        hash=planned.hash,
        plan={"completes": completion.n_items, "loads": dict(completion.loads), **planned.sample_json()},
        created_by=by,
    )
    part = Part.objects.create(round=round_, design=design, index=next_index(round_))
    store_in_chunks(PartUnit, (PartUnit(round=round_, part=part, unit_id=unit.pk) for unit in units))
    for name, person in people.items():
        mine = [left for unit in units if (left := _only_of(unit, completion, name)).n_items]
        rows = share_of(round_, part, mine, slot=1, expert=person)
        store_in_chunks(Assignment, last_place(round_, person).put(_in_slots(rows, completion, name)))


def _only_of(unit: UnitRows, completion: Completion, name: str) -> UnitRows:
    """The items of a unit on which this person fills a place."""
    contexts = (tuple(item for item in items if completion.slot(item, name)) for items in unit.contexts)
    return UnitRows(unit.pk, unit.key, unit.relation, tuple(items for items in contexts if items))


def _in_slots(rows: Iterator[Assignment], completion: Completion, name: str) -> Iterator[Assignment]:
    for row in rows:
        row.slot = completion.slot(row.item_id, name) or row.slot
        yield row
