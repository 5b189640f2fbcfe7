"""Giving parts to experts: a plan is shown first, then stored whole, k assignments an item.

The plan itself (which unit, which part, whose slot) is arithmetic and stands in `protocol.assignment`; this
file reads what is to be assigned and writes the rows.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet

from annotation.models import (
    Assignment,
    Campaign,
    Design,
    HandIn,
    Item,
    Membership,
    Part,
    PartUnit,
    Round,
    User,
)
from annotation.protocol.assignment import (
    Plan,
    PlanUnit,
    context_order,
    draw_sample,
    plan,
    run_order,
    unit_order,
)
from annotation.protocol.sentences import say
from annotation.services.campaigns import check_seed, main_round
from annotation.services.completion import Completion, plan_completion
from annotation.services.errors import Refused
from annotation.services.people import add_member, audit, check_experts, check_name, find_or_create_experts
from annotation.services.planner import renew_counts

CHUNK = 2000
RUN_LENGTH = 20  # triples of one relation in a row, where the campaign asks for runs
POSTPONED = 1000  # places kept free at the end of each part for what an expert postpones


@dataclass(frozen=True)
class UnitRows:
    """A unit that is not assigned yet: its items, context by context."""

    pk: int
    key: str
    relation: str  # of a triple; compounds have none
    contexts: tuple[tuple[int, ...], ...]  # the items of each context; a triple is one context with one item

    @property
    def n_items(self) -> int:
        return sum(len(items) for items in self.contexts)


def unassigned_units(round_: Round) -> list[UnitRows]:
    """The campaign's units that nobody has been given in this round, in the order of import.

    A unit with judgements from elsewhere is in none of the plan's parts; what it lacks is given out by itself.
    """
    items = (
        Item.objects.active()
        .filter(campaign=round_.campaign)
        .exclude(unit__in=PartUnit.objects.filter(round=round_).values("unit"))
        .exclude(unit__in=round_.assignments.filter(withdrawn_at__isnull=True).values("unit"))
        .order_by("unit__position", *_IN_UNIT)
    )
    return _unit_rows(items)


def late_items(round_: Round) -> QuerySet[Item]:
    """Items that came later into units which have their experts already, such as another system's translations."""
    return (
        Item.objects.active()
        .filter(unit__in=PartUnit.objects.filter(round=round_).values("unit"))
        .exclude(pk__in=round_.assignments.values("item"))
        .order_by("unit__position", *_IN_UNIT)
    )


_IN_UNIT = ("context__number", "context", "position")


def _unit_rows(items: QuerySet[Item]) -> list[UnitRows]:
    contexts: dict[tuple[int, str, str], dict[int | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for unit, key, relation, context, item in items.values_list(
        "unit", "unit__key", "relation", "context", "pk"
    ).iterator(CHUNK):
        contexts[unit, key, relation][context].append(item)
    return [
        UnitRows(*unit, tuple(tuple(found) for found in by_context.values()))
        for unit, by_context in contexts.items()
    ]


def plan_parts(
    campaign: Campaign,
    *,
    experts: Sequence[str],
    design: str,
    seed: int,
    parts: int | None = None,
    sample: int | None = None,
) -> Plan:
    """What `assign_parts` would store, or its refusal. Creates nobody, stores nothing. Without units where all are
    given out.

    `sample` gives out so many of all the campaign's units, drawn by the seed, as far as they have no experts yet.
    """
    check_seed(seed)
    round_ = main_round(campaign)
    if not Item.objects.active().filter(campaign=campaign).exists():
        raise Refused(say("This campaign has no items yet; import them first."))
    planned = plan(
        design,
        experts=experts,
        units=[PlanUnit(unit.key, unit.n_items) for unit in unassigned_units(round_)],
        parts=parts,
        k=round_.k,
        seed=seed,
        sample=None if sample is None else draw_sample(_unit_keys(campaign), sample, seed=seed),
    )
    for name in planned.loads:
        check_name(name)
    completion = plan_completion(round_, list(planned.loads), planned.loads, sample=planned.sample)
    if any(part.unit_keys for part in planned.parts) or completion.n_items:
        check_experts(campaign, list(planned.loads))
    return planned


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
    by: User | None = None,
    confirmed_hash: str | None = None,
) -> Plan:
    """Store the plan: parts, their units and all k assignments of every item, in one transaction.

    Late items go to the experts of their units, whoever is named. Where all units are given out, nothing else is
    stored and nobody is created. `confirmed_hash` is what the manager was shown; if the campaign has changed
    since, nothing is stored.
    """
    try:
        with transaction.atomic():
            # The round's row is written first: two managers who confirm at once queue up here.
            round_ = main_round(campaign)
            Round.objects.filter(pk=round_.pk).update(state=round_.state)
            _extend(round_)
            planned = plan_parts(
                campaign, experts=experts, design=design, seed=seed, parts=parts, sample=sample
            )
            if confirmed_hash is not None and confirmed_hash != planned.hash:
                raise Refused(
                    say(
                        "The campaign changed since this plan was shown: items were added, or "
                        "somebody else assigned them. Look at the new plan and confirm it again."
                    )
                )
            completion = plan_completion(round_, list(planned.loads), planned.loads, sample=planned.sample)
            new_parts = any(part.unit_keys for part in planned.parts)
            if new_parts or completion.n_items:
                people = dict(
                    zip(planned.loads, find_or_create_experts(list(planned.loads), by), strict=True)
                )
                for person in people.values():
                    add_member(campaign, person, Membership.Role.EXPERT, by=by)
                if new_parts:
                    _store(round_, planned, people=people, by=by)
                if completion.n_items:
                    _store_completion(round_, planned, completion, people=people, by=by)
                renew_counts(PartUnit, Assignment)
                asked = {"design": design, "seed": seed, **({} if sample is None else {"sample": sample})}
                audit(campaign, by, "parts assigned", {**asked, "hash": planned.hash})
    except IntegrityError:
        raise Refused(
            say("Somebody else assigned these units at the same moment; look at the new plan.")
        ) from None
    return planned


def _extend(round_: Round) -> None:
    """Give late items to the experts of their units, a unit's translations together on screens at the part's end."""
    late = _unit_rows(late_items(round_))
    if not late:
        return
    experts_of = _experts_by_unit(round_)
    shares: dict[tuple[int, int, int], list[UnitRows]] = defaultdict(list)
    for unit in late:
        for share in experts_of[unit.pk]:
            shares[share].append(unit)
    people = User.objects.in_bulk({expert for _part, _slot, expert in shares})
    parts = round_.parts.in_bulk()
    for (part, slot, expert), units in shares.items():
        mine = round_.assignments.filter(expert=expert)
        place = _Place(
            position=_last_place(round_, people[expert]).position,
            queue=mine.filter(part=part).aggregate(last=Max("queue"))["last"] + 1 - POSTPONED,
        )
        rows = _share(round_, parts[part], units, slot=slot, expert=people[expert])
        _in_chunks(Assignment, place.put(rows))
        HandIn.objects.filter(part=part, expert=expert).delete()  # there is work in it again


def _experts_by_unit(round_: Round) -> dict[int, list[tuple[int, int, int]]]:
    """For each unit its part, slots and experts."""
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    given = round_.assignments.filter(withdrawn_at__isnull=True, part__isnull=False).order_by("part", "slot")
    for unit, *share in given.values_list("unit", "part", "slot", "expert").distinct():
        found[unit].append((share[0], share[1], share[2]))
    return found


def _store(round_: Round, planned: Plan, *, people: dict[str, User], by: User | None) -> None:
    units = {unit.key: unit for unit in unassigned_units(round_)}
    design = Design.objects.create(
        round=round_,
        name=planned.design,
        seed=planned.seed,
        hash=planned.hash,
        plan=planned.as_json(),
        created_by=by,
    )
    first = (round_.parts.aggregate(last=Max("index"))["last"] or 0) + 1 if round_.parts.exists() else 0
    parts = Part.objects.bulk_create(
        Part(round=round_, design=design, index=first + part.index) for part in planned.parts
    )
    _in_chunks(
        PartUnit,
        (
            PartUnit(round=round_, part=row, unit_id=units[key].pk)
            for row, part in zip(parts, planned.parts, strict=True)
            for key in part.unit_keys
        ),
    )
    places = {name: _last_place(round_, person) for name, person in people.items()}
    for row, part in zip(parts, planned.parts, strict=True):
        for slot, name in enumerate(part.experts, start=1):
            share = [units[key] for key in part.unit_keys]
            rows = _share(round_, row, share, slot=slot, expert=people[name])
            _in_chunks(Assignment, places[name].put(rows))


def _store_completion(
    round_: Round, planned: Plan, completion: Completion, *, people: dict[str, User], by: User | None
) -> None:
    """One part of all units that were begun elsewhere; everybody gets the items that lack them."""
    items = Item.objects.filter(pk__in=completion.places).order_by("unit__position", *_IN_UNIT)
    units = _unit_rows(items)
    design = Design.objects.create(
        round=round_,
        name=planned.design,
        seed=planned.seed,
        hash=planned.hash,
        plan={"completes": completion.n_items, "loads": dict(completion.loads), **planned.sample_json()},
        created_by=by,
    )
    last = round_.parts.aggregate(last=Max("index"))["last"]
    part = Part.objects.create(round=round_, design=design, index=0 if last is None else last + 1)
    _in_chunks(PartUnit, (PartUnit(round=round_, part=part, unit_id=unit.pk) for unit in units))
    for name, person in people.items():
        mine = [left for unit in units if (left := _only_of(unit, completion, name)).n_items]
        rows = _share(round_, part, mine, slot=1, expert=person)
        _in_chunks(Assignment, _last_place(round_, person).put(_in_slots(rows, completion, name)))


def _only_of(unit: UnitRows, completion: Completion, name: str) -> UnitRows:
    """The items of a unit on which this person fills a place."""
    contexts = (tuple(item for item in items if completion.slot(item, name)) for items in unit.contexts)
    return UnitRows(unit.pk, unit.key, unit.relation, tuple(items for items in contexts if items))


def _in_slots(rows: Iterator[Assignment], completion: Completion, name: str) -> Iterator[Assignment]:
    for row in rows:
        row.slot = completion.slot(row.item_id, name) or row.slot
        yield row


@dataclass
class _Place:
    """Where an expert's next screen stands in their order, and when it comes up."""

    position: int
    queue: int

    def put(self, rows: Iterator[Assignment]) -> Iterator[Assignment]:
        """Give a part's rows their places: `position` comes in counting screens from 0 in this part."""
        start, base = self.position + 1, self.queue + POSTPONED
        for row in rows:
            row.queue = base + row.position
            row.position += start
            self.position, self.queue = row.position, row.queue
            yield row


def _last_place(round_: Round, expert: User) -> _Place:
    """Over all rounds of the campaign: a position names one screen of an expert, whichever round it is in."""
    given = Assignment.objects.filter(round__campaign=round_.campaign_id, expert=expert)
    last = given.aggregate(position=Max("position"), queue=Max("queue"))
    return _Place(last["position"] or 0, last["queue"] or 0)


def _share(
    round_: Round, part: Part, units: Sequence[UnitRows], *, slot: int, expert: User
) -> Iterator[Assignment]:
    """One expert's assignments in one part, screen by screen in their own order.

    Where several systems translated a context differently, each screen holds one translation per context; all
    units come once before the second translations begin, so that the variants of a unit lie far apart.
    """
    seed = round_.campaign.seed
    screen = 0
    for variant in range(max((len(items) for unit in units for items in unit.contexts), default=0)):
        shown = [unit for unit in units if any(len(items) > variant for items in unit.contexts)]
        for unit in _in_order(round_.campaign, shown, seed=seed + variant, expert=expert):
            for row, item in enumerate(_screen_items(unit, variant, seed=seed, expert=expert), start=1):
                yield Assignment(
                    round=round_,
                    part=part,
                    unit_id=unit.pk,
                    item_id=item,
                    expert=expert,
                    slot=slot,
                    position=screen,
                    row=row,
                    queue=0,
                )
            screen += 1


def _in_order(
    campaign: Campaign, units: Sequence[UnitRows], *, seed: int, expert: User
) -> Iterator[UnitRows]:
    """The units in the expert's own drawn order: fully shuffled, or in runs of one relation."""
    name = expert.username_folded
    order = unit_order([unit.key for unit in units], seed=seed, expert=name)
    if campaign.order == Campaign.Order.RUNS:
        relations = [unit.relation for unit in units]
        order = run_order(relations, order, length=RUN_LENGTH, seed=seed, expert=name)
    return (units[index] for index in order)


def _screen_items(unit: UnitRows, variant: int, *, seed: int, expert: User) -> Iterator[int]:
    """The items on one screen, contexts and translations in the expert's own drawn order."""
    name = expert.username_folded
    for context in context_order(len(unit.contexts), seed=seed, expert=name, unit_key=unit.key):
        items = unit.contexts[context]
        if len(items) > variant:
            order = context_order(len(items), seed=seed, expert=name, unit_key=f"{unit.key}\n{context}")
            yield items[order[variant]]


def _in_chunks(
    model: type[Assignment] | type[PartUnit], rows: Iterator[Assignment] | Iterator[PartUnit]
) -> None:
    iterator = iter(rows)
    while chunk := list(islice(iterator, CHUNK)):
        model._default_manager.bulk_create(chunk)  # type: ignore[arg-type]
