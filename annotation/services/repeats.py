"""Hidden repeats: a share of what each expert has judged is given to the same expert again, unmarked.

A repeat stands in a round of its own, in the slot that its expert has in the main round, and in the *part* in which it
comes up: so it is counted, named, postponed and handed in like the units around it, and nothing that the expert gets
tells it from them. Its number on the expert's list and its place in the queue are made free by moving what comes later,
beyond the screens that a page may hold already. Until its part is handed in, its original is in none of the lists in
which the expert looks back (`screens.own_record`).

A sitting is what the judging page says it is; answers that came by program without one are told apart by time: a pause
of half an hour ends a sitting.

Drawn rounds count from 2: the first holds the repeats that were imported.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, F, Max, Min, Q, QuerySet, Value, When
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Annotation, Assignment, Campaign, Membership, Round, Thread, User
from annotation.protocol.chance import chance
from annotation.protocol.orders import context_order
from annotation.protocol.repeats import (
    AHEAD,
    DISTANCE,
    Original,
    Repeat,
    place_repeats,
    rows_to_repeat,
    wanted_of,
)
from annotation.services.campaign_state import refuse_closed
from annotation.services.campaigns import check_seed, main_round
from annotation.services.effective import AGAIN
from annotation.services.errors import NotYours, Refused
from annotation.services.layout import CHUNK, store_in_chunks
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.rounds import FIRST_DRAWN, described
from annotation.services.turns import turn

PAUSE = timedelta(minutes=30)  # that ends a sitting of answers that name none
_HALVED = (0, 1, 2, 3, 16)  # how often a distance is halved where it is too long; the last leaves none
_ELSEWHERE = 1_000_000_000  # positions that nobody has, for the moment in which they move


@dataclass(frozen=True, kw_only=True)
class RepeatShare:
    """What one expert would be given again. `old_enough`: judged in sittings that are over, and never repeated yet."""

    member: Membership
    answered: int
    open: int
    old_enough: int
    spots: "tuple[_Spot, ...]"

    @property
    def n(self) -> int:
        return len(self.spots)

    @property
    def lacks(self) -> str:
        """What stands against any repeat: nothing `judged`, nothing `old` enough, too few `open` units, or too little
        `distance` between the two. "" where there is one.
        """
        if self.n:
            return ""
        if not self.answered:
            return "judged"
        if not self.old_enough:
            return "old"
        return "open" if self.open <= AHEAD else "distance"


@dataclass(frozen=True, kw_only=True)
class RepeatPlan:
    """Who would get how much again. `after` is the number of the last draw there was, 0 without one."""

    percent: float
    seed: int
    shares: tuple[RepeatShare, ...]
    after: int

    @property
    def n(self) -> int:
        return sum(share.n for share in self.shares)


def plan_repeats(campaign: Campaign, *, percent: float, seed: int) -> RepeatPlan:
    """What a draw would store now; stores nothing. Eight queries, whatever the campaign's size.

    Raises Refused where the campaign or its main round is closed, or the share is none.
    """
    refuse_closed(campaign)
    check_seed(seed)
    if not 0 < percent <= 100:
        raise Refused(_("Name a share between 0 and 100 %."))
    round_ = main_round(campaign)
    if round_.state != Round.State.OPEN:
        raise Refused(_("The main round is closed: there is nothing among which a repeat could come up."))
    found = _Standing.of(round_)
    shares = tuple(_share_of(member, found, percent=percent, seed=seed) for member in _experts(campaign))
    return RepeatPlan(percent=percent, seed=seed, shares=shares, after=last_draw(campaign))


def draw_repeats(
    campaign: Campaign, *, percent: float, seed: int, by: User | None, after: int | None = None
) -> Round:
    """Store a plan: the round, the repeats, and room for them, in one transaction.

    `after` is the last draw that the manager saw: of two who confirm at once the second is refused. Raises Refused also
    where nothing can be drawn.
    """
    with turn(campaign):
        main = main_round(campaign)
        planned = plan_repeats(campaign, percent=percent, seed=seed)
        if after is not None and after != planned.after:
            raise Refused(
                _("Repeats were drawn since this was shown. Look at what would be drawn now, and confirm it.")
            )
        if not planned.n:
            raise Refused(
                _(
                    "No unit can be given again: a repeat comes at least %(distance)d units and a sitting after its "
                    "original, and behind the next %(ahead)d open units of its expert. Now: %(people)s."
                )
                % {"distance": DISTANCE, "ahead": AHEAD, "people": _people(planned)}
            )
        round_ = _open(main, planned)
        rounds = list(campaign.rounds.values_list("pk", flat=True))
        for share in planned.shares:
            if share.n:
                _make_room(share, rounds=rounds)
                store_in_chunks(Assignment, _rows(round_, share))
        renew_counts(Assignment)
        audit(campaign, by, "round opened", {**described(round_), **round_.settings})
    return round_


def _people(planned: RepeatPlan) -> str:
    """Expert by expert, what there is."""
    return _("; ").join(
        _("%(name)s judged %(answered)d, of these old enough %(old)d, open %(open)d")
        % {
            "name": share.member.pseudonym,
            "answered": share.answered,
            "old": share.old_enough,
            "open": share.open,
        }
        for share in planned.shares
    )


def take_out(campaign: Campaign, number: int, *, by: User | None) -> int:
    """Withdraw the repeats of a draw that are not judged yet; returns how many units. What was judged stays."""
    round_ = drawn_rounds(campaign).filter(number=number).first()
    if round_ is None:
        raise NotYours(_("There is no such draw in this campaign."))
    with turn(campaign):
        rows = round_.assignments.filter(answered_at__isnull=True, withdrawn_at__isnull=True)
        units = rows.values("expert", "unit").distinct().count()
        if units:
            rows.update(withdrawn_at=timezone.now())
            audit(campaign, by, "repeats taken out", {**described(round_), "units": units})
    return units


@dataclass(frozen=True, kw_only=True)
class DrawLine:
    """One expert's repeats in a draw, in units: those that are still to come and those judged."""

    member: Membership
    given: int
    answered: int


@dataclass(frozen=True, kw_only=True)
class Draw:
    """A draw as it stands."""

    round: Round
    lines: tuple[DrawLine, ...]

    @property
    def given(self) -> int:
        return sum(line.given for line in self.lines)

    @property
    def answered(self) -> int:
        return sum(line.answered for line in self.lines)


def draws_of(campaign: Campaign) -> list[Draw]:
    """Every draw, the latest first. Three queries."""
    members = {member.user_id: member for member in campaign.memberships.all()}
    rows = (
        Assignment.objects.filter(round__in=drawn_rounds(campaign), withdrawn_at__isnull=True)
        .order_by()
        .values("round", "expert")
        .annotate(
            given=Count("unit", distinct=True),
            open=Count("unit", filter=Q(answered_at__isnull=True), distinct=True),
        )
    )
    lines: dict[int, list[DrawLine]] = defaultdict(list)
    for row in rows:
        if row["expert"] in members:
            lines[row["round"]].append(
                DrawLine(
                    member=members[row["expert"]], given=row["given"], answered=row["given"] - row["open"]
                )
            )
    return [
        Draw(round=round_, lines=tuple(sorted(lines[round_.pk], key=lambda line: line.member.pk)))
        for round_ in drawn_rounds(campaign).order_by("-number")
    ]


def drawn_rounds(campaign: Campaign) -> QuerySet[Round]:
    """Rounds of repeats that were drawn here, not imported."""
    return campaign.rounds.filter(kind=Round.Kind.REPEAT, number__gte=FIRST_DRAWN)


# Planning --------------------------------------------------------------------------------------------------------


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
class _Spot:
    """A repeat: the screen that comes again, and the open one in front of which it does."""

    original: Screen
    before: Screen


_COLUMNS = (
    "expert", "position", "queue", "part", "unit", "unit__key", "unit__type", "item__relation", "postponed_at",
    "answered_at", "pk", "item__context",
)  # fmt: skip


@dataclass(frozen=True)
class _Standing:
    """What is known of everybody: their screens, the sitting of each answer, which sittings are over, past repeats."""

    screens: Mapping[int, list[Screen]]
    sitting: Mapping[int, str]  # of an assignment's current answer
    over: Mapping[int, set[str]]  # by expert
    repeated: set[tuple[int, int]]  # expert and unit

    @classmethod
    def of(cls, round_: Round) -> "_Standing":
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


def _experts(campaign: Campaign) -> list[Membership]:
    return list(
        campaign.memberships.filter(role=Membership.Role.EXPERT, user__is_active=True)
        .select_related("user")
        .order_by("pk")
    )


def _share_of(member: Membership, found: _Standing, *, percent: float, seed: int) -> RepeatShare:
    screens = found.screens.get(member.user_id, [])
    latest_first = _answered(screens)
    coming = _coming(screens)
    of_key: dict[str, Screen] = {}  # of a unit's several screens one comes again
    originals = []
    for since, screen in enumerate(latest_first):
        if screen.key not in of_key and _old_enough(screen, member.user_id, found):
            of_key[screen.key] = screen
            originals.append(Original(screen.key, screen.group, since))
    repeats = place_repeats(
        originals,
        _places(coming),
        n=wanted_of(len(latest_first), percent=percent),
        seed=seed,
        distance=DISTANCE,
        ahead=AHEAD,
    )
    return RepeatShare(
        member=member,
        answered=len(latest_first),
        open=len(coming),
        old_enough=len(originals),
        spots=tuple(_Spot(of_key[one.key], coming[one.before]) for one in repeats),
    )


@dataclass(frozen=True)
class NewScreen:
    """A screen that nobody has seen yet: its part, and how many rows each of its contexts has."""

    part: int
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Among:
    """Repeats among screens that nobody has seen yet: each original, and the new screen in front of which it comes.

    Of an original there are only as many rows as a new screen has, since more would tell it from new ones. `judged`:
    screens there were to draw from; `asked`: how many of them were wanted. `distance`: units between each original and
    its repeat, at least.
    """

    judged: int = 0
    asked: int = 0
    distance: int = 0
    repeats: tuple[tuple[Screen, int], ...] = ()


def among_new(
    round_: Round, coming: Mapping[int, Sequence[NewScreen]], *, percent: float, seed: int
) -> dict[int, Among]:
    """For each expert with `coming` new screens, a share of what they have judged, drawn to come among these.

    Repeats come as late as others where there is room for all of them; else the distance is halved until there is,
    and at last what was judged in the sitting that goes on is taken too. Of a unit that was judged on several screens
    one is drawn; none that was talked about or judged again since, which no longer tells how its expert judges alone.
    Each has the rows of a new screen that is drawn for it, and stands in its unit's part where new screens do. Five
    queries.
    """
    found = _Standing.of(round_)
    seen = _seen_again(round_)
    return {
        expert: _among(expert, screens, found, seen, percent=percent, seed=seed)
        for expert, screens in coming.items()
    }


def _seen_again(round_: Round) -> set[int]:
    """Units that were opened to discussion, or judged again after one or under new guidelines."""
    talked = Thread.objects.filter(item__campaign=round_.campaign_id)
    again = Assignment.objects.filter(round__campaign=round_.campaign_id, round__kind__in=AGAIN)
    return {*talked.values_list("item__unit", flat=True), *again.order_by().values_list("unit", flat=True)}


def _among(
    expert: int,
    coming: Sequence[NewScreen],
    found: _Standing,
    seen: Collection[int],
    *,
    percent: float,
    seed: int,
) -> Among:
    latest_first = _answered(found.screens.get(expert, []))
    of_unit: dict[str, list[tuple[int, Screen]]] = defaultdict(list)
    for since, screen in enumerate(latest_first):
        if (expert, screen.unit) not in found.repeated and screen.unit not in seen:
            of_unit[screen.key].append((since, screen))
    if not coming:
        return Among(judged=len(latest_first))
    drawn = {key: _one_of(screens, coming, key=key, seed=seed) for key, screens in of_unit.items()}
    asked = wanted_of(len(latest_first), percent=percent) if percent else 0
    wanted = min(asked, len(drawn))
    old = {key: one for key, one in drawn.items() if _old_enough(one[1], expert, found)}
    places: dict[int, list[int]] = defaultdict(list)  # of a part, where it has new screens
    for place, new in enumerate(coming):
        places[new.part].append(place)
    distance = 0
    repeats: tuple[Repeat, ...] = ()
    for pool, distance in ((pool, DISTANCE >> halved) for pool in (old, drawn) for halved in _HALVED):
        originals = [
            Original(key, screen.group, since, places.get(screen.part))
            for key, (since, screen) in pool.items()
        ]
        repeats = place_repeats(
            originals, range(len(coming)), n=wanted, seed=seed, distance=distance, ahead=0
        )
        if len(repeats) == wanted:
            break
    return Among(
        judged=len(latest_first),
        asked=asked,
        distance=distance,
        repeats=tuple((drawn[one.key][1], one.before) for one in repeats),
    )


def _one_of(
    screens: Sequence[tuple[int, Screen]], coming: Sequence[NewScreen], *, key: str, seed: int
) -> tuple[int, Screen]:
    """One of a unit's screens that holds as many rows as a new screen drawn by chance, cut down to these."""
    drawn = int.from_bytes(chance("shape", seed, key), "big") % len(coming)
    shape = coming[drawn].shape
    cut = []
    for since, screen in screens:
        rows = rows_to_repeat(screen.contexts, shape, seed=seed, key=key)
        less = replace(
            screen,
            assignments=tuple(screen.assignments[row] for row in rows),
            contexts=tuple(screen.contexts[row] for row in rows),
        )
        cut.append((since, less))
    return min(cut, key=lambda one: (-len(one[1].assignments), chance("again", seed, key, one[1].position)))


def _old_enough(screen: Screen, expert: int, found: _Standing) -> bool:
    if (expert, screen.unit) in found.repeated:
        return False
    over = found.over.get(expert, set())
    return all(found.sitting.get(row) in over for row in screen.assignments)


def _answered(screens: Sequence[Screen]) -> list[Screen]:
    """Those that are wholly judged, the latest first."""
    dated = [(one.last, one.position, one) for one in screens if one.last is not None]
    return [one for _last, _position, one in sorted(dated, key=lambda row: row[:2], reverse=True)]


def _coming(screens: Sequence[Screen]) -> list[Screen]:
    """The open ones in the order in which they come up."""
    return sorted((one for one in screens if one.last is None), key=lambda one: one.queue)


def _places(coming: Sequence[Screen]) -> list[int]:
    """In front of which open screens a repeat may stand: where the list and the queue go the same way.

    What was postponed stands early in the list and late in the queue; room made there would renumber screens that the
    expert's page may hold.
    """
    highest = max((one.position for one in coming[:AHEAD]), default=0)
    places = []
    for index, screen in enumerate(coming[AHEAD:], start=AHEAD):
        if not screen.postponed and screen.position > highest:
            highest = screen.position
            places.append(index)
    return places


def last_draw(campaign: Campaign) -> int:
    """The number of the last draw there was, 0 without one."""
    return drawn_rounds(campaign).aggregate(last=Max("number"))["last"] or 0


# Storing ---------------------------------------------------------------------------------------------------------


def _open(main: Round, planned: RepeatPlan) -> Round:
    return Round.objects.create(
        campaign_id=main.campaign_id,
        kind=Round.Kind.REPEAT,
        number=max(planned.after + 1, FIRST_DRAWN),
        k=main.k,
        guideline_id=main.guideline_id,  # the experts go by the same version all over their list
        settings={
            "percent": planned.percent,
            "seed": planned.seed,
            "distance": DISTANCE,
            "drawn": {share.member.pseudonym: share.n for share in planned.shares},
        },
    )


def _rows(round_: Round, share: RepeatShare) -> Iterator[Assignment]:
    """One expert's repeats, the rows of each in an order of their own."""
    originals = originals_of(spot.original for spot in share.spots)
    for earlier, spot in enumerate(share.spots):  # so many repeats stand in front of this one
        for row in copies(round_, spot.original, originals, expert=share.member.user, part=spot.before.part):
            row.position, row.queue = spot.before.position + earlier, spot.before.queue + earlier
            yield row


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


def _make_room(share: RepeatShare, *, rounds: Sequence[int]) -> None:
    """Move what comes from each spot on by one place more, in all rounds; nothing changes its order.

    Positions are unique while they move, too: they go far away first, and back in one step.
    """
    before = [spot.before for spot in share.spots]
    mine = Assignment.objects.filter(round__in=rounds, expert=share.member.user)
    queue = _steps("queue", [screen.queue for screen in before])
    position = _steps("position", [screen.position for screen in before], also=_ELSEWHERE)
    late = Q(queue__gte=before[0].queue) | Q(position__gte=before[0].position)
    mine.filter(late).update(queue=F("queue") + queue, position=F("position") + position)
    mine.filter(position__gte=_ELSEWHERE).update(position=F("position") - Value(_ELSEWHERE))


def _steps(name: str, thresholds: Sequence[int], *, also: int = 0) -> Any:
    """How many of the ascending thresholds a row has reached, as an expression."""
    reached = {at: number for number, at in enumerate(thresholds, start=1)}
    return Case(
        *(
            When(**{f"{name}__gte": at}, then=Value(number + also))
            for at, number in sorted(reached.items(), reverse=True)
        ),
        default=Value(0),
    )
