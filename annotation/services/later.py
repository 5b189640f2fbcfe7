"""Items that came after their units had experts, such as another system's translations: a later batch of judging.

They go to the experts of their units, each in the slot they have there, whoever is named; where it was judged elsewhere
or its expert has left, to another one who was never given the unit. Of an item that came with judgements from elsewhere
only the missing slots are given out, never to who judged it. A share of what these experts judged before comes
again beside it, unmarked, among the new screens: so a shift between the batches shows.
Repeats stand in a round of their own, as all hidden repeats do (`repeats`).

Which items came late is told by the times of their import and of their part; nothing is stored beside that. What takes
the verdict on an alike translation (`carry_over`) is given to nobody.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    HandIn,
    Item,
    Membership,
    Part,
    PartUnit,
    Round,
    User,
)
from annotation.protocol.chance import fingerprint
from annotation.protocol.sentences import Sentence, listed, say
from annotation.services.carried import carried_items
from annotation.services.carry_over import CarryPlan
from annotation.services.errors import Refused
from annotation.services.layout import (
    CHUNK,
    IN_UNIT,
    POSTPONED,
    Place,
    UnitRows,
    last_place,
    share_of,
    store_in_chunks,
    unit_rows,
)
from annotation.services.mixed_repeats import Among, NewScreen, among_new
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.repeat_draws import last_draw
from annotation.services.repeat_screens import copies, originals_of
from annotation.services.rounds import FIRST_DRAWN

GIVEN_OUT = "late items given out"  # the audit entry
USUAL_SHARE: float = 5  # per cent of what an expert judged before that comes again beside a later batch

_Rows = list[Assignment]  # of one screen


def late_items(round_: Round) -> QuerySet[Item]:
    """Items that came later into units which have their experts already, such as another system's translations.

    Not into units of a closed batch, whose experts judge nothing in it any more; these are `too_late`.
    """
    return _came_later(round_, closed=False)


def waiting_items(round_: Round) -> QuerySet[Item]:
    """Those of the late items that were not there yet when their units were given out: nothing went wrong with them."""
    placed = PartUnit.objects.filter(
        round=round_, unit=OuterRef("unit"), part__design__created_at__lt=OuterRef("batch__published_at")
    )
    return late_items(round_).filter(Exists(placed))


def too_late(round_: Round) -> QuerySet[Item]:
    """Items that came into units of closed batches: they can be given out once the batch is open again."""
    return _came_later(round_, closed=True)


def _came_later(round_: Round, *, closed: bool) -> QuerySet[Item]:
    """Items of such units that nobody was given here: judged nowhere, or elsewhere by fewer than k."""
    placed = PartUnit.objects.filter(round=round_, part__design__closed_at__isnull=not closed)
    given = round_.assignments.filter(Q(part__isnull=False) | Q(withdrawn_at__isnull=False))
    elsewhere = round_.assignments.order_by().values("item").annotate(n_given=Count("pk"))
    return (
        Item.objects.active()
        .filter(unit__in=placed.values("unit"))
        .exclude(pk__in=given.values("item"))
        .exclude(pk__in=elsewhere.filter(n_given__gte=round_.k).values("item"))
        .exclude(pk__in=carried_items())
        .order_by("unit__position", *IN_UNIT)
    )


def judged_later(campaign: Campaign) -> dict[int, int]:
    """Of items in parts that came after their part was given out: in which later batch they are judged, from 1.

    What came in before the same giving out is one batch. A corrected text is judged in place of the one before and
    makes no batch. One query, two where something came late.
    """
    corrected = Item.objects.filter(campaign=campaign, retired_why=Item.Retired.REPLACED)
    rows = (
        Assignment.objects.filter(
            round__campaign=campaign,
            round__kind=Round.Kind.MAIN,
            withdrawn_at__isnull=True,
            item__context__isnull=False,  # a triple's unit holds one item, so that none can come later
            item__retired_at__isnull=True,
            item__batch__published_at__gt=F("part__design__created_at"),
        )
        .exclude(item__position__in=corrected.values("position"))
        .order_by()
        .values_list("item", "item__batch__published_at")
        .distinct()
    )
    came = {item: published for item, published in rows if published is not None}
    if not came:
        return {}
    given = given_out_at(campaign)
    return {item: batch_number(published, given) for item, published in came.items()}


def given_out_at(campaign: Campaign) -> list[datetime]:
    """When items that came late were given out, the first time first."""
    entries = AuditEntry.objects.filter(campaign=campaign, action=GIVEN_OUT)
    return list(entries.order_by("at").values_list("at", flat=True))


def batch_number(moment: datetime, given: Sequence[datetime]) -> int:
    """The later batch of what came, or of repeats that were drawn, at this moment: given out at the next of these."""
    return 1 + bisect_left(given, moment)


def later_draws(campaign: Campaign) -> QuerySet[Round]:
    """The rounds of repeats that were mixed into later batches."""
    return campaign.rounds.filter(
        kind=Round.Kind.REPEAT, number__gte=FIRST_DRAWN, settings__has_key="later_items"
    )


# Planning ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PartShare:
    """What one expert is given in one of their parts: new items of units that they have there."""

    part: Part
    slot: int
    units: tuple[UnitRows, ...]
    screens: tuple[_Rows, ...]  # in the expert's own drawn order, not stored and without a place

    @property
    def n_items(self) -> int:
        return sum(unit.n_items for unit in self.units)

    @property
    def new_screens(self) -> list[NewScreen]:
        context = {
            item: (unit.pk, number)
            for unit in self.units
            for number, items in enumerate(unit.contexts)
            for item in items
        }
        return [
            NewScreen(
                self.part.pk,
                tuple(sorted(Counter(context[row.item_id] for row in rows).values(), reverse=True)),
            )
            for rows in self.screens
        ]


@dataclass(frozen=True, kw_only=True)
class LaterShare:
    """What one expert is given: new items, part by part, and what comes again among them."""

    expert: User
    name: str  # the pseudonym
    parts: tuple[PartShare, ...]
    among: Among = field(default_factory=Among)

    @property
    def n_items(self) -> int:
        return sum(share.n_items for share in self.parts)

    @property
    def n_again(self) -> int:
        """Units that come again."""
        return len(self.among.repeats)

    @property
    def n_items_again(self) -> int:
        return sum(len(screen.assignments) for screen, _before in self.among.repeats)


@dataclass(frozen=True, kw_only=True)
class LaterPlan:
    """A later batch before it is given out: `again` per cent of what its experts judged before come beside it."""

    again: float
    seed: int
    n_units: int = 0
    n_items: int = 0
    shares: tuple[LaterShare, ...] = ()
    absent: tuple[str, ...] = ()  # who has left, so that others take their places

    @property
    def n_again(self) -> int:
        return sum(share.n_again for share in self.shares)

    @property
    def n_asked(self) -> int:
        """Screens that the share comes to; as many come again, or as many as there are."""
        return sum(share.among.asked for share in self.shares)

    @property
    def n_items_again(self) -> int:
        """Judgements that are asked for a second time."""
        return sum(share.n_items_again for share in self.shares)

    @property
    def judged(self) -> int:
        """Screens that its experts judged before."""
        return sum(share.among.judged for share in self.shares)

    @property
    def distance(self) -> int:
        """Units between an original and its repeat, at least, over all experts."""
        return min((share.among.distance for share in self.shares if share.n_again), default=0)

    @cached_property
    def hash(self) -> str:
        """Equal only for plans that give the same to the same people in the same order."""
        return fingerprint(
            {
                "again": self.again,
                "seed": self.seed,
                "shares": [
                    {
                        "expert": share.expert.username_folded,
                        "parts": [
                            [one.part.index, one.slot, [[unit.key, unit.n_items] for unit in one.units]]
                            for one in share.parts
                        ],
                        "again": [
                            [screen.key, screen.position, list(screen.assignments), at]
                            for screen, at in share.among.repeats
                        ],
                    }
                    for share in self.shares
                ],
            }
        )

    def as_json(self) -> dict[str, Any]:
        """What `assign_parts --json` tells of it."""
        return {
            "n_items": self.n_items,
            "n_units": self.n_units,
            "again_percent": self.again,
            "seed": self.seed,
            "n_asked": self.n_asked,
            "n_again": self.n_again,
            "n_items_again": self.n_items_again,
            "distance": self.distance,
            "absent": list(self.absent),
            "shares": {
                share.expert.username: {
                    "n_items": share.n_items,
                    "n_again": share.n_again,
                    "n_items_again": share.n_items_again,
                }
                for share in self.shares
            },
            "hash": self.hash if self.n_items else None,
        }


def plan_later(
    round_: Round, *, again: float = USUAL_SHARE, seed: int, carry: CarryPlan | None = None
) -> LaterPlan:
    """What would be given out beside new parts, but for what `carry` takes; stores nothing. A fixed number of queries.

    Refused where the share is no share.
    """
    if not 0 <= again <= 100:
        raise Refused(say("Name a share of earlier items between 0 and 100 %."), options=("again",))
    late = unit_rows(late_items(round_))
    if carry is not None:
        late = carry.without(late)
    if not late:
        return LaterPlan(again=again, seed=seed)
    people = _People.of(round_)
    seated = _seats(round_, late, people)
    shares = _shares(round_, seated, people)
    coming = {share.expert.pk: [new for one in share.parts for new in one.new_screens] for share in shares}
    among = among_new(round_, coming, percent=again, seed=seed)
    return LaterPlan(
        again=again,
        seed=seed,
        n_units=len(late),
        n_items=sum(unit.n_items for unit in late),
        shares=tuple(replace(share, among=among.get(share.expert.pk, Among())) for share in shares),
        absent=tuple(sorted({people.name(expert) for _rows, seats in seated for expert in seats.absent})),
    )


@dataclass(frozen=True)
class _People:
    """Everybody by account with their name here, and the experts who are here, in the order in which they joined."""

    names: Mapping[int, str]
    here: Mapping[int, User]

    @classmethod
    def of(cls, round_: Round) -> "_People":
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
class _Seats:
    """Who is given new items of a unit: by slot, who; and who would have been, and has left."""

    part: int
    of_slot: Mapping[int, int]
    absent: frozenset[int]


@dataclass(frozen=True)
class _Filled:
    """What items have from elsewhere: the slots that are taken, and who judged them."""

    slots: frozenset[int] = frozenset()
    judges: frozenset[int] = frozenset()


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


def _seats(round_: Round, late: Sequence[UnitRows], people: _People) -> list[tuple[UnitRows, _Seats]]:
    """Units, or what is alike in them, and in each slot that is not filled who was given the unit last, or another who
    is here; refused where nobody is. Three queries.
    """
    placed = PartUnit.objects.filter(round=round_, unit__in=_units_of(round_)).order_by()
    part_of = dict(placed.values_list("unit", "part"))
    held: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    ever: dict[int, set[int]] = defaultdict(set)  # by unit, who was given any of it
    in_parts: set[int] = set()
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
        ever[unit].add(expert)
        if in_part:
            in_parts.add(expert)
        if standing:
            held[unit][slot].append(expert)
    given = {expert for experts in ever.values() for expert in experts}
    # Who came in with a file of judgements only need not be able to judge here.
    free = [expert for expert in people.here if expert in in_parts or expert not in given]
    load: Counter[int] = Counter()
    found = []
    for unit, filled in _alike(round_, late):
        of_unit = held[unit.pk]
        open_slots = {*range(1, round_.k + 1), *of_unit} - filled.slots
        slots = {slot: [one for one in of_unit[slot] if one not in filled.judges] for slot in open_slots}
        others = [one for slot in sorted(filled.slots) for one in of_unit[slot] if one not in filled.judges]
        taken: dict[int, int] = {}
        for slot in sorted(slots, key=lambda one: (len(slots[one]), one)):
            able = [
                one for one in (*slots[slot], *others) if one in people.here and one not in taken.values()
            ]
            able = able or sorted(
                (one for one in free if one not in ever[unit.pk] and one not in taken.values()),
                key=lambda one: load[one],
            )
            if not able:
                raise Refused(_nobody(slots.values(), people))
            taken[slot] = able[0]
            load[able[0]] += unit.n_items
        gone = {experts[0] for experts in slots.values() if experts} - people.here.keys()
        found.append((unit, _Seats(part_of[unit.pk], taken, frozenset(gone))))
    return found


def _nobody(held: Iterable[Sequence[int]], people: _People) -> Sentence:
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


def _shares(round_: Round, seated: Sequence[tuple[UnitRows, _Seats]], people: _People) -> list[LaterShare]:
    """By expert, part and slot, in the order in which people joined and parts were made."""
    found: dict[tuple[int, int, int], list[UnitRows]] = defaultdict(list)
    for one, seats in seated:
        for slot, expert in seats.of_slot.items():
            found[expert, seats.part, slot].append(one)
    parts = round_.parts.in_bulk()
    return [
        LaterShare(
            expert=people.here[expert],
            name=people.name(expert),
            parts=tuple(
                _part_share(
                    round_, parts[part], found[expert, part, slot], slot=slot, expert=people.here[expert]
                )
                for _expert, part, slot in places
            ),
        )
        for expert, places in groupby(sorted(found), key=lambda place: place[0])
    ]


def _part_share(
    round_: Round, part: Part, units: Sequence[UnitRows], *, slot: int, expert: User
) -> PartShare:
    rows = share_of(round_, part, units, slot=slot, expert=expert)
    screens = tuple(list(found) for _at, found in groupby(rows, key=lambda row: row.position))
    return PartShare(part=part, slot=slot, units=tuple(units), screens=screens)


def _units_of(round_: Round) -> QuerySet[Item, int]:
    return late_items(round_).order_by().values_list("unit", flat=True)


# Storing -----------------------------------------------------------------------------------------------------------


def give_out_later(round_: Round, planned: LaterPlan, *, by: User | None) -> None:
    """Store a plan inside the caller's turn: a unit's new translations together on screens at the end of its part,
    and what comes again among them.
    """
    if not planned.n_items:
        return
    repeats = _open_repeats(round_, planned) if planned.n_again else None
    for share in planned.shares:
        _store(round_, repeats, share)
    renew_counts(Assignment)
    detail = {
        "items": planned.n_items,
        "units": planned.n_units,
        "loads": {share.name: share.n_items for share in planned.shares},
        "percent": planned.again,
        "drawn": {share.name: share.n_again for share in planned.shares},
        "distance": planned.distance,
        "seed": planned.seed,
        "hash": planned.hash,
    }
    audit(round_.campaign, by, GIVEN_OUT, detail)


def _open_repeats(main: Round, planned: LaterPlan) -> Round:
    return Round.objects.create(
        campaign=main.campaign,
        kind=Round.Kind.REPEAT,
        number=max(last_draw(main.campaign) + 1, FIRST_DRAWN),
        k=main.k,
        state=main.state,
        closed_at=main.closed_at,
        guideline_id=main.guideline_id,  # the experts go by the same version all over their list
        settings={
            "percent": planned.again,
            "seed": planned.seed,
            "distance": planned.distance,
            "drawn": {share.name: share.n_again for share in planned.shares},
            "later_items": planned.n_items,
        },
    )


def _store(round_: Round, repeats: Round | None, share: LaterShare) -> None:
    originals = originals_of(screen for screen, _before in share.among.repeats)
    begun = 0
    for one in share.parts:
        screens = list(one.screens)
        coming = [
            (before - begun, screen)
            for screen, before in share.among.repeats
            if begun <= before < begun + len(screens)
        ]
        begun += len(screens)
        if repeats is not None:
            for before, screen in reversed(coming):
                again = copies(repeats, screen, originals, expert=share.expert, part=one.part.pk)
                screens.insert(before, list(again))
        place = _behind(round_, one.part, share.expert, n_screens=len(screens))
        store_in_chunks(Assignment, place.put(_numbered(screens)))
        HandIn.objects.filter(part=one.part, expert=share.expert).delete()  # there is work in it again


def _numbered(screens: Sequence[_Rows]) -> Iterator[Assignment]:
    for number, rows in enumerate(screens):
        for row in rows:
            row.position = number
            yield row


def _behind(round_: Round, part: Part, expert: User, *, n_screens: int) -> Place:
    """At the end of the part; of many screens behind everything, where the part has no room for them in the queue."""
    mine = Assignment.objects.filter(round__campaign=round_.campaign_id, expert=expert)
    last = last_place(round_, expert)
    end: int | None = mine.filter(part=part).aggregate(last=Max("queue"))["last"]
    if end is None:  # somebody who takes another's place
        return last
    waiting = mine.filter(queue__gt=end, answered_at__isnull=True, withdrawn_at__isnull=True)
    following: int | None = waiting.aggregate(first=Min("queue"))["first"]
    if following is not None and end + n_screens + POSTPONED // 2 >= following:  # what is put off needs room
        return last
    return Place(position=last.position, queue=end + 1 - POSTPONED)
