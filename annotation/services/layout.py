"""Laying out what an expert gets: which items on which screen, in which order, and when each screen comes up.

Parts of the main round and the other rounds alike are laid out here. Order is drawn from the campaign's seed, so
nothing but the arguments decides it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
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

    @property
    def n_variants(self) -> int:
        """How many screens it takes where each holds one translation of a context."""
        return max((len(items) for items in self.contexts), default=0)


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

    Side by side, each unit is one screen. Alone, a screen holds one translation of each context, so that a unit takes
    as many screens as one of its contexts has distinct translations; `_spread` says how far apart they lie.
    """
    campaign = round_.campaign
    for screen, (unit, items) in enumerate(_screens(campaign, units, expert=expert)):
        for row, item in enumerate(items, start=1):
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


def _screens(
    campaign: Campaign, units: Sequence[UnitRows], *, expert: User
) -> Iterator[tuple[UnitRows, Iterator[int]]]:
    """Which unit and which items stand on each screen."""
    ordered = _in_order(campaign, units, expert=expert)
    # Read anew: it may have been changed before the caller had its turn.
    display = Campaign.objects.values_list("display", flat=True).get(pk=campaign.pk)
    if display == Campaign.Display.SIDE_BY_SIDE:
        for unit in ordered:
            contexts = _contexts(unit, seed=campaign.seed, expert=expert)
            yield unit, (item for items in contexts for item in items)
        return
    for unit, variant in _spread(ordered):
        contexts = _contexts(unit, seed=campaign.seed, expert=expert)
        yield unit, (items[variant] for items in contexts if len(items) > variant)


def _in_order(campaign: Campaign, units: Sequence[UnitRows], *, expert: User) -> list[UnitRows]:
    """The units in the expert's own drawn order: fully shuffled, or in runs of one relation."""
    name = expert.username_folded
    order = unit_order([unit.key for unit in units], seed=campaign.seed, expert=name)
    if campaign.order == Campaign.Order.RUNS:
        relations = [unit.relation for unit in units]
        order = run_order(relations, order, length=RUN_LENGTH, seed=campaign.seed, expert=name)
    return [units[index] for index in order]


def _spread(units: Sequence[UnitRows]) -> Iterator[tuple[UnitRows, int]]:
    """Each unit as often as it has variants, and these as far apart as the list allows.

    Units with as many variants go round in one order, and each such group fills the whole list evenly. So between one
    variant of a unit and its next lie all other units of its group, and of every other group of n units with m
    variants at least n·m ÷ v screens, rounded down, where v is how many variants the unit has: in all about the length
    of the list ÷ v. Units with few variants stand anywhere among those with many.
    """
    groups: dict[int, list[UnitRows]] = defaultdict(list)
    for unit in units:
        groups[unit.n_variants].append(unit)
    for _place, unit, variant in merge(
        *(_evenly(groups[n_variants], n_variants) for n_variants in sorted(groups)),
        key=lambda screen: screen[0],
    ):
        yield unit, variant


def _evenly(units: Sequence[UnitRows], n_variants: int) -> Iterator[tuple[float, UnitRows, int]]:
    """All units, then all again with their next variant …, each with its place between 0 and 1."""
    n_screens = len(units) * n_variants
    for screen in range(n_screens):
        variant, index = divmod(screen, len(units))
        yield (2 * screen + 1) / (2 * n_screens), units[index], variant


def _contexts(unit: UnitRows, *, seed: int, expert: User) -> Iterator[list[int]]:
    """The items of each context; contexts and translations in the expert's own drawn order."""
    name = expert.username_folded
    for context in context_order(len(unit.contexts), seed=seed, expert=name, unit_key=unit.key):
        items = unit.contexts[context]
        order = context_order(len(items), seed=seed, expert=name, unit_key=f"{unit.key}\n{context}")
        yield [items[index] for index in order]


def given_out(campaign: Campaign) -> QuerySet[Assignment]:
    """What stands on the screens of open rounds."""
    rounds = Round.objects.filter(campaign=campaign, state=Round.State.OPEN)
    return Assignment.objects.filter(round__in=rounds, part__isnull=False, withdrawn_at__isnull=True)


def lay_out_anew(campaign: Campaign) -> None:
    """Put what is given out in open rounds on screens anew, as the campaign's display has it by now.

    For rounds in which nobody has judged anything. Rows keep their parts, slots and numbers; their screens come behind
    the places that were theirs, which withdrawn rows may still hold.
    """
    shares: dict[tuple[int, int], list[Assignment]] = defaultdict(list)
    for row in given_out(campaign).order_by("expert", "queue", "row"):
        if row.part_id is not None:
            shares[row.expert_id, row.part_id].append(row)
    people = User.objects.in_bulk({expert for expert, _part in shares})
    parts = Part.objects.select_related("round__campaign").in_bulk({part for _expert, part in shares})
    for (expert, part_id), rows in shares.items():
        part = parts[part_id]
        items = Item.objects.filter(pk__in=[row.item_id for row in rows])
        units = unit_rows(items.order_by("unit__position", *IN_UNIT))
        laid = share_of(part.round, part, units, slot=1, expert=people[expert])
        places = {row.item_id: row for row in last_place(part.round, people[expert]).put(laid)}
        for row in rows:
            place = places[row.item_id]
            row.position, row.row, row.queue, row.postponed_at = place.position, place.row, place.queue, None
        Assignment.objects.bulk_update(rows, ["position", "row", "queue", "postponed_at"], batch_size=CHUNK)


def store_in_chunks(
    model: type[Assignment] | type[PartUnit], rows: Iterator[Assignment] | Iterator[PartUnit]
) -> None:
    iterator = iter(rows)
    while chunk := list(islice(iterator, CHUNK)):
        model._default_manager.bulk_create(chunk)  # type: ignore[arg-type]
