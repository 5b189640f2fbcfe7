"""Laying out what an expert gets: which items on which screen, in which order, and when each screen comes up.

Parts of the main round and the other rounds alike are laid out here. Order is drawn from the campaign's seed, so
nothing but the arguments decides it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Max, QuerySet

from annotation.models import Assignment, Campaign, Item, Part, PartUnit, Round, User
from annotation.protocol.orders import context_order, run_order, unit_order

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


IN_UNIT = ("context__number", "context", "position")


def unit_rows(items: QuerySet[Item]) -> list[UnitRows]:
    contexts: dict[tuple[int, str, str], dict[int | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for unit, key, relation, context, item in items.values_list(
        "unit", "unit__key", "relation", "context", "pk"
    ).iterator(CHUNK):
        contexts[unit, key, relation][context].append(item)
    return [
        UnitRows(*unit, tuple(tuple(found) for found in by_context.values()))
        for unit, by_context in contexts.items()
    ]


@dataclass
class Place:
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


def last_place(round_: Round, expert: User) -> Place:
    """Over all rounds of the campaign: a position names one screen of an expert, whichever round it is in."""
    given = Assignment.objects.filter(round__campaign=round_.campaign_id, expert=expert)
    last = given.aggregate(position=Max("position"), queue=Max("queue"))
    return Place(last["position"] or 0, last["queue"] or 0)


def after_part(part: Part, expert: User) -> Place:
    """A new screen at the end of a part that somebody has, behind what they put off."""
    mine = Assignment.objects.filter(part=part, expert=expert)
    return Place(
        position=last_place(part.round, expert).position + 1,
        queue=(mine.aggregate(last=Max("queue"))["last"] or 0) + 1,
    )


def share_of(
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


def store_in_chunks(
    model: type[Assignment] | type[PartUnit], rows: Iterator[Assignment] | Iterator[PartUnit]
) -> None:
    iterator = iter(rows)
    while chunk := list(islice(iterator, CHUNK)):
        model._default_manager.bulk_create(chunk)  # type: ignore[arg-type]
