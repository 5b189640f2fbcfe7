"""Units that came with some judgements from elsewhere: who gives the missing ones, so that each item has exactly k.

They cannot stand in a plan of parts, where k experts judge all of a part: here one item may lack its first judge and
another its second. They make one part of their own; nobody judges an item twice, and loads stay even.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Q, QuerySet

from annotation.models import Assignment, Item, PartUnit, Round
from annotation.protocol.assignment import Sample
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_name
from annotation.services.carried import carried_items
from annotation.services.carry_over import CarryPlan
from annotation.services.errors import Refused


@dataclass(frozen=True)
class Completion:
    """Which missing place of which item goes to whom: by item, slot → name; and how many items that makes."""

    places: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    loads: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_items(self) -> int:
        return len(self.places)

    def slot(self, item: int, name: str) -> int | None:
        """The place of this person on the item."""
        return next((slot for slot, who in self.places[item].items() if who == name), None)

    def as_json(self) -> dict[str, object]:
        return {"n_items": self.n_items, "loads": dict(self.loads)}


def incomplete_items(round_: Round) -> QuerySet[Item]:
    """Items with fewer than k experts in units that were judged elsewhere and are in no part."""
    given = Q(assignments__round=round_, assignments__withdrawn_at__isnull=True)
    begun = round_.assignments.filter(withdrawn_at__isnull=True, part__isnull=True)
    return (
        Item.objects.active()
        .filter(campaign=round_.campaign_id, unit__in=begun.values("unit"))
        .exclude(unit__in=PartUnit.objects.filter(round=round_).values("unit"))
        .exclude(pk__in=carried_items())
        .annotate(n_given=Count("assignments", filter=given))
        .filter(n_given__lt=round_.k)
    )


def plan_completion(
    round_: Round,
    names: Sequence[str],
    loads: Mapping[str, int],
    *,
    sample: Sample | None = None,
    carry: CarryPlan | None = None,
) -> Completion:
    """Every missing place to the person with the least work who has not judged the item; units stay together.

    `loads` is what the plan of parts gives to each. Of a sample only its units are completed, and nothing of `carry`.
    Raises Refused where too few people are named.
    """
    lacking = incomplete_items(round_).order_by("unit__position", "position")
    left_out = frozenset() if carry is None else carry.items
    items = [
        (item, unit)
        for item, unit, key in lacking.values_list("pk", "unit", "unit__key")
        if (sample is None or key in sample) and item not in left_out
    ]
    if not items:
        return Completion()
    judges, taken = _judges(round_, [item for item, _unit in items])
    load = {name: loads.get(name, 0) for name in names}
    places: dict[int, dict[int, str]] = {}
    for of_unit in _by_unit(items):
        order = sorted(names, key=lambda name: load[name])  # the first named of equals
        for item in of_unit:
            missing = [slot for slot in range(1, round_.k + 1) if slot not in taken[item]]
            free = [name for name in order if fold_name(name) not in judges[item]]
            if len(free) < len(missing):
                raise Refused(_too_few(len(missing) - len(free)))
            places[item] = dict(zip(missing, free, strict=False))
            for name in places[item].values():
                load[name] += 1
    added = {name: load[name] - loads.get(name, 0) for name in names}
    return Completion(places, added)


def _judges(round_: Round, items: Sequence[int]) -> tuple[dict[int, set[str]], dict[int, set[int]]]:
    """By item: who was ever given it, and which slots are filled."""
    judges: dict[int, set[str]] = defaultdict(set)
    taken: dict[int, set[int]] = defaultdict(set)
    rows = Assignment.objects.filter(round=round_, item__in=items)
    for item, slot, name, gone in rows.values_list("item", "slot", "expert__username_folded", "withdrawn_at"):
        judges[item].add(name)
        if gone is None:
            taken[item].add(slot)
    return judges, taken


def _by_unit(items: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    units: dict[int, list[int]] = defaultdict(list)
    for item, unit in items:
        units[unit].append(item)
    yield from units.values()


def _too_few(lacking: int) -> str:
    return say(
        "Some items were judged elsewhere and lack experts, and those named have judged them already: name {n} more.",
        n=lacking,
    )
