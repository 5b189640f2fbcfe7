"""Who is given late items: the experts of their units, each in the slot they have there.

Where a slot was judged elsewhere or its expert has left, it goes to another one who was never given the unit. Of an
item that came with judgements from elsewhere only the missing slots are given out, never to who judged it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Max, Q, QuerySet

from annotation.models import Item, Membership, PartUnit, Round, User
from annotation.protocol.sentences import Sentence, listed, say
from annotation.services.errors import Refused
from annotation.services.late_items import late_items
from annotation.services.layout import CHUNK, UnitRows


@dataclass(frozen=True)
class People:
    """Everybody by account with their name here, and the experts who are here, in the order in which they joined."""

    names: Mapping[int, str]
    here: Mapping[int, User]

    @classmethod
    def of(cls, round_: Round) -> "People":
        members = list(round_.campaign.memberships.select_related("user").order_by("pk"))
        return cls(
            {member.user_id: member.pseudonym for member in members},
            {
                member.user_id: member.user
                for member in members
                if member.role == Membership.Role.EXPERT and member.user.is_active
            },
        )

    def name(self, expert: int) -> str:
        return self.names.get(expert, "–")


@dataclass(frozen=True)
class Seats:
    """Who is given new items of a unit: by slot, who; and who would have been, and has left."""

    part: int
    of_slot: Mapping[int, int]
    absent: frozenset[int]


@dataclass(frozen=True)
class _Filled:
    """What items have from elsewhere: the slots that are taken, and who judged them."""

    slots: frozenset[int] = frozenset()
    judges: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _Held:
    """Who was given what of a round: by unit and slot who holds it, the latest first; by unit who was ever given any of
    it; and who has a part.
    """

    in_slot: defaultdict[int, defaultdict[int, list[int]]]
    ever: defaultdict[int, set[int]]
    in_parts: set[int]

    @classmethod
    def of(cls, round_: Round) -> "_Held":
        found = cls(defaultdict(lambda: defaultdict(list)), defaultdict(set), set())
        rows = (
            round_.assignments.order_by()
            .values_list("unit", "slot", "expert")
            .annotate(
                standing=Count("pk", filter=Q(withdrawn_at__isnull=True, part__isnull=False)),
                in_part=Count("part"),
                last=Max("pk"),
            )
            .order_by("-last")
        )
        for unit, slot, expert, standing, in_part, _last in rows.iterator(CHUNK):
            found.ever[unit].add(expert)
            if in_part:
                found.in_parts.add(expert)
            if standing:
                found.in_slot[unit][slot].append(expert)
        return found

    def free(self, people: People) -> list[int]:
        """Who may take a place: not who came in with a file of judgements only and need not be able to judge here."""
        given = {expert for experts in self.ever.values() for expert in experts}
        return [expert for expert in people.here if expert in self.in_parts or expert not in given]


def find_seats(round_: Round, late: Sequence[UnitRows], people: People) -> list[tuple[UnitRows, Seats]]:
    """Units, or what is alike in them, and in each slot that is not filled who was given the unit last, or another who
    is here; refused where nobody is. Three queries.
    """
    placed = PartUnit.objects.filter(round=round_, unit__in=_units_of(round_)).order_by()
    part_of = dict(placed.values_list("unit", "part"))
    held = _Held.of(round_)
    free = held.free(people)
    load: Counter[int] = Counter()
    found = []
    for unit, filled in _alike(round_, late):
        of_unit = held.in_slot[unit.pk]
        open_slots = {*range(1, round_.k + 1), *of_unit} - filled.slots
        slots = {slot: [one for one in of_unit[slot] if one not in filled.judges] for slot in open_slots}
        others = [one for slot in sorted(filled.slots) for one in of_unit[slot] if one not in filled.judges]
        unseen = sorted((one for one in free if one not in held.ever[unit.pk]), key=lambda one: load[one])
        taken = _takers(slots, [*(one for one in others if one in people.here), *unseen], people)
        load.update(dict.fromkeys(taken.values(), unit.n_items))
        gone = {experts[0] for experts in slots.values() if experts} - people.here.keys()
        found.append((unit, Seats(part_of[unit.pk], taken, frozenset(gone))))
    return found


def _takers(held: Mapping[int, Sequence[int]], others: Sequence[int], people: People) -> dict[int, int]:
    """By slot, who holds it and is here, or the first of the others; slots that few hold choose first."""
    taken: dict[int, int] = {}
    for slot in sorted(held, key=lambda one: (len(held[one]), one)):
        able = [*(one for one in held[slot] if one in people.here), *others]
        taker = next((one for one in able if one not in taken.values()), None)
        if taker is None:
            raise Refused(_nobody(held.values(), people))
        taken[slot] = taker
    return taken


def _alike(round_: Round, late: Sequence[UnitRows]) -> list[tuple[UnitRows, _Filled]]:
    """The units, each divided into items that lack the same slots and were judged by the same people. One query."""
    slots: dict[int, set[int]] = defaultdict(set)
    judges: dict[int, set[int]] = defaultdict(set)
    rows = round_.assignments.filter(item__in=late_items(round_).order_by().values("pk"))
    for item, slot, expert in rows.order_by().values_list("item", "slot", "expert"):
        slots[item].add(slot)
        judges[item].add(expert)
    found = []
    for unit in late:
        filled = {
            item: _Filled(frozenset(slots.get(item, ())), frozenset(judges.get(item, ())))
            for items in unit.contexts
            for item in items
        }
        for one in dict.fromkeys(filled.values()):
            contexts = (tuple(item for item in items if filled[item] == one) for items in unit.contexts)
            found.append((replace(unit, contexts=tuple(filter(None, contexts))), one))
    return found


def _nobody(held: Iterable[Sequence[int]], people: People) -> Sentence:
    gone = sorted({people.name(one) for experts in held for one in experts if one not in people.here})
    if gone:
        return say(
            "New items came into units of {names}, who left, and nobody here can take their places: every expert was "
            "given these units before. Add an expert, or open the account again.",
            names=listed(gone),
        )
    return say(
        "New items came into units that were judged elsewhere in part, and nobody here can take these places: every "
        "expert was given these units before. Add an expert."
    )


def _units_of(round_: Round) -> QuerySet[Item, int]:
    return late_items(round_).order_by().values_list("unit", flat=True)
