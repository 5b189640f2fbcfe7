"""What hidden repeats are drawn from: everybody's screens of the main round, and in which sitting each was judged.

A sitting is what the judging page says it is; answers that came by program without one are told apart by time: a pause
of half an hour ends a sitting.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, F, Max, Min, Q, Value, When
from django.utils import timezone

from annotation.models import Annotation, Assignment, Round, User
from annotation.protocol.orders import context_order
from annotation.services.layout import CHUNK

PAUSE = timedelta(minutes=30)  # that ends a sitting of answers that name none
_COLUMNS = (
    "expert", "position", "queue", "part", "unit", "unit__key", "unit__type", "item__relation", "postponed_at",
    "answered_at", "pk", "item__context",
)  # fmt: skip


@dataclass
class Screen:
    """One screen of an expert in the main round."""

    position: int
    queue: int
    part: int
    unit: int
    key: str
    group: str
    postponed: bool = False
    last: datetime | None = None  # None while a row is open
    assignments: tuple[int, ...] = ()
    contexts: tuple[int | None, ...] = ()  # of these


@dataclass(frozen=True)
class Standing:
    """What is known of everybody: their screens, the sitting of each answer, which sittings are over, past repeats."""

    screens: Mapping[int, list[Screen]]
    sitting: Mapping[int, str]  # of an assignment's current answer
    over: Mapping[int, set[str]]  # by expert
    repeated: set[tuple[int, int]]  # expert and unit

    @classmethod
    def of(cls, round_: Round) -> "Standing":
        current = Annotation.objects.filter(
            assignment__round=round_, revision=F("assignment__revision"), assignment__part__isnull=False
        )
        sittings = _Sittings.of(round_.campaign_id)
        sitting = {
            assignment: session or sittings.unnamed.get(answer, "")
            for assignment, session, answer in current.order_by()
            .values_list("assignment", "session", "pk")
            .iterator(CHUNK)
        }
        repeats = Assignment.objects.filter(
            round__campaign=round_.campaign_id, round__kind=Round.Kind.REPEAT
        ).filter(Q(withdrawn_at__isnull=True) | Q(answered_at__isnull=False))
        return cls(
            _screens(round_),
            sitting,
            sittings.over,
            set(repeats.order_by().values_list("expert", "unit").distinct()),
        )

    def judged(self, expert: int) -> list[Screen]:
        """The expert's screens that are wholly judged, the latest first."""
        mine = self.screens.get(expert, [])
        dated = [(one.last, one.position, one) for one in mine if one.last is not None]
        return [one for _last, _position, one in sorted(dated, key=lambda row: row[:2], reverse=True)]

    def coming(self, expert: int) -> list[Screen]:
        """The expert's open screens in the order in which they come up."""
        mine = self.screens.get(expert, [])
        return sorted((one for one in mine if one.last is None), key=lambda one: one.queue)

    def old_enough(self, screen: Screen, expert: int) -> bool:
        """Whether it was judged in sittings that are over, and its unit never repeated yet."""
        if (expert, screen.unit) in self.repeated:
            return False
        over = self.over.get(expert, set())
        return all(self.sitting.get(row) in over for row in screen.assignments)


def _screens(round_: Round) -> dict[int, list[Screen]]:
    """By expert, in the order of their list."""
    rows = (
        round_.assignments.filter(withdrawn_at__isnull=True, part__isnull=False)
        .order_by("expert", "position", "row")
        .values_list(*_COLUMNS)
    )
    found: dict[int, list[Screen]] = defaultdict(list)
    for (
        expert,
        position,
        queue,
        part,
        unit,
        key,
        type_,
        relation,
        postponed,
        at,
        pk,
        context,
    ) in rows.iterator(CHUNK):
        mine = found[expert]
        if not mine or mine[-1].position != position:
            mine.append(Screen(position, queue, part, unit, key, type_ or relation, last=at))
        screen = mine[-1]
        screen.postponed |= postponed is not None
        screen.last = None if at is None or screen.last is None else max(screen.last, at)
        screen.assignments += (pk,)
        screen.contexts += (context,)
    return found


@dataclass(frozen=True)
class _Sittings:
    """Sittings by answer, where the answer names none itself, and by expert those that are over: what is judged from
    now on is in a later one.
    """

    unnamed: Mapping[int, str]
    over: Mapping[int, set[str]]

    @classmethod
    def of(cls, campaign: int) -> "_Sittings":
        """One query: a row for each sitting, and for each answer that names none."""
        rows = (
            Annotation.objects.filter(assignment__round__campaign=campaign)
            .exclude(source=Annotation.Source.IMPORT)
            .annotate(answer=Case(When(session="", then=F("pk")), default=Value(0)))
            .values("assignment__expert", "session", "answer")
            .annotate(first=Min("created_at"), last=Max("created_at"))
            .order_by("assignment__expert", "first", "answer")
            .values_list("assignment__expert", "session", "answer", "first", "last")
        )
        known: dict[int, dict[str, tuple[datetime, datetime]]] = defaultdict(dict)
        unnamed: dict[int, str] = {}
        running: dict[int, str] = {}  # by expert: the latest sitting without a name
        for expert, session, answer, first, last in rows.iterator(CHUNK):
            mine = known[expert]
            if session:
                mine[session] = (first, last)
                continue
            name = running.get(expert, "")
            if not name or first - mine[name][1] >= PAUSE:
                name = running[expert] = f"#{answer}"
            unnamed[answer] = name
            mine[name] = (mine.get(name, (first, last))[0], last)
        return cls(unnamed, {expert: _over(sittings) for expert, sittings in known.items()})


def _over(sittings: Mapping[str, tuple[datetime, datetime]]) -> set[str]:
    """Those that ended before the latest began; one without a name once the pause is long enough to end it."""
    began = max(sittings.values(), key=lambda ends: ends[1])[0]
    paused = timezone.now() - PAUSE
    return {
        name
        for name, (_first, last) in sittings.items()
        if last < began or (name.startswith("#") and last <= paused)
    }


def originals_of(screens: Iterable[Screen]) -> dict[int, Assignment]:
    """The rows of these screens. One query."""
    return Assignment.objects.in_bulk([row for screen in screens for row in screen.assignments])


def copies(
    round_: Round, screen: Screen, originals: Mapping[int, Assignment], *, expert: User, part: int
) -> Iterator[Assignment]:
    """A judged screen once more, in an order of its own, in the slots that its rows had; it has no place yet."""
    order = context_order(
        len(screen.assignments),
        seed=round_.campaign.seed,
        expert=expert.username_folded,
        unit_key=screen.key,
        round_number=round_.number,
    )
    for row, index in enumerate(order, start=1):
        original = originals[screen.assignments[index]]
        yield Assignment(
            round=round_,
            part_id=part,
            unit_id=original.unit_id,
            item_id=original.item_id,
            expert=expert,
            slot=original.slot,
            position=0,
            row=row,
            queue=0,
        )
