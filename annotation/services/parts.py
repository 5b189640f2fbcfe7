"""Giving parts to experts: a plan is shown first, then stored whole, k assignments an item.

The plan itself (which unit, which part, whose slot) is arithmetic and stands in `protocol.assignment`; this
file reads what is to be assigned and writes the rows.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import IntegrityError, transaction
from django.db.models import Max

from annotation.models import Assignment, Campaign, Design, Item, Membership, Part, PartUnit, Round, User
from annotation.protocol.assignment import Plan, PlanUnit, context_order, plan, unit_order
from annotation.services.campaigns import main_round
from annotation.services.errors import Refused
from annotation.services.people import add_member, audit, find_or_create_experts

CHUNK = 2000
POSTPONED = 1000  # places kept free at the end of each part for what an expert postpones


@dataclass(frozen=True)
class UnitRows:
    """A unit that is not assigned yet: its items, context by context."""

    pk: int
    key: str
    contexts: tuple[tuple[int, ...], ...]  # the items of each context; a triple is one context with one item

    @property
    def n_items(self) -> int:
        return sum(len(items) for items in self.contexts)


def unassigned_units(round_: Round) -> list[UnitRows]:
    """The campaign's units without a part in this round, in the order of import."""
    items = (
        Item.objects.active()
        .filter(campaign=round_.campaign)
        .exclude(unit__in=PartUnit.objects.filter(round=round_).values("unit"))
        .order_by("unit__position", "context__number", "context", "position")
        .values_list("unit", "unit__key", "context", "pk")
    )
    contexts: dict[tuple[int, str], dict[int | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for unit, key, context, item in items.iterator(CHUNK):
        contexts[unit, key][context].append(item)
    return [
        UnitRows(unit, key, tuple(tuple(found) for found in by_context.values()))
        for (unit, key), by_context in contexts.items()
    ]


def plan_parts(
    campaign: Campaign, *, experts: Sequence[str], design: str, seed: int, parts: int | None = None
) -> Plan:
    """What `assign_parts` would store. Creates nobody, stores nothing."""
    round_ = main_round(campaign)
    units = unassigned_units(round_)
    if not units:
        raise Refused(
            "Every unit of this campaign has been given to experts already; there is nothing to assign."
        )
    return plan(
        design,
        experts=experts,
        units=[PlanUnit(unit.key, unit.n_items) for unit in units],
        parts=parts,
        k=round_.k,
        seed=seed,
    )


def assign_parts(
    campaign: Campaign,
    *,
    experts: Sequence[str],
    design: str,
    seed: int,
    parts: int | None = None,
    by: User | None = None,
    confirmed_hash: str | None = None,
) -> Plan:
    """Store the plan: parts, their units and all k assignments of every item, in one transaction.

    `confirmed_hash` is what the manager was shown; if the campaign has changed since, nothing is stored.
    """
    try:
        with transaction.atomic():
            # The round's row is written first: two managers who confirm at once queue up here.
            round_ = main_round(campaign)
            Round.objects.filter(pk=round_.pk).update(state=round_.state)
            _extend(round_)
            planned = plan_parts(campaign, experts=experts, design=design, seed=seed, parts=parts)
            if confirmed_hash is not None and confirmed_hash != planned.hash:
                raise Refused(
                    "The campaign changed since this plan was shown: items were added, or somebody else assigned "
                    "them. Look at the new plan and confirm it again."
                )
            people = dict(zip(planned.loads, find_or_create_experts(list(planned.loads), by), strict=True))
            for person in people.values():
                add_member(campaign, person, Membership.Role.EXPERT, by=by)
            _store(round_, planned, people=people, by=by)
            audit(campaign, by, "parts assigned", {"design": design, "seed": seed, "hash": planned.hash})
    except IntegrityError:
        raise Refused(
            "Somebody else assigned these units at the same moment; look at the new plan."
        ) from None
    return planned


def _extend(round_: Round) -> None:
    """Items that came later into units which have their experts already go to the same experts."""
    late = (
        Item.objects.active()
        .filter(unit__in=PartUnit.objects.filter(round=round_).values("unit"))
        .exclude(pk__in=Assignment.objects.filter(round=round_).values("item"))
        .order_by("position")
    )
    for item in late:
        shares = Assignment.objects.filter(round=round_, unit=item.unit_id, withdrawn_at__isnull=True)
        for slot, expert, part in set(shares.values_list("slot", "expert", "part")):
            mine = Assignment.objects.filter(round=round_, expert=expert)
            Assignment.objects.create(
                round=round_,
                part_id=part,
                unit_id=item.unit_id,
                item=item,
                expert_id=expert,
                slot=slot,
                position=mine.aggregate(last=Max("position"))["last"] + 1,
                queue=mine.filter(part=part).aggregate(last=Max("queue"))["last"] + 1,
            )


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
    last = round_.assignments.filter(expert=expert).aggregate(position=Max("position"), queue=Max("queue"))
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
        for index in unit_order(
            [unit.key for unit in shown], seed=seed + variant, expert=expert.username_folded
        ):
            unit = shown[index]
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
