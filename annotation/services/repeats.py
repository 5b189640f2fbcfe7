"""Hidden repeats: a share of what each expert has judged is given to the same expert again, unmarked.

A repeat stands in a round of its own, in the slot that its expert has in the main round, and in the *part* in which it
comes up: so it is counted, named, postponed and handed in like the units around it, and nothing that the expert gets
tells it from them. Its number on the expert's list and its place in the queue are made free by moving what comes later,
beyond the screens that a page may hold already. Until its part is handed in, its original is in none of the lists in
which the expert looks back (`screens.own_record`).

Drawn rounds count from 2: the first holds the repeats that were imported.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, Q, Value, When
from django.utils.translation import gettext as _

from annotation.models import Assignment, Campaign, Membership, Round, User
from annotation.protocol.repeats import AHEAD, DISTANCE, Original, place_repeats, wanted_of
from annotation.services.campaign_state import refuse_closed
from annotation.services.campaigns import check_seed, main_round
from annotation.services.errors import Refused
from annotation.services.layout import store_in_chunks
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.repeat_draws import last_draw
from annotation.services.repeat_screens import Screen, Standing, copies, originals_of
from annotation.services.rounds import FIRST_DRAWN, described
from annotation.services.turns import turn

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
    found = Standing.of(round_)
    shares = tuple(_share_of(member, found, percent=percent, seed=seed) for member in _experts(campaign))
    return RepeatPlan(percent=percent, seed=seed, shares=shares, after=last_draw(campaign))


def has_open_units(campaign: Campaign) -> bool:
    """Whether anybody has a unit of the main round still to judge, before which a repeat could come up."""
    return Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        answered_at__isnull=True,
        withdrawn_at__isnull=True,
        item__retired_at__isnull=True,
    ).exists()


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


# Planning ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Spot:
    """A repeat: the screen that comes again, and the open one in front of which it does."""

    original: Screen
    before: Screen


def _experts(campaign: Campaign) -> list[Membership]:
    return list(
        campaign.memberships.filter(role=Membership.Role.EXPERT, user__is_active=True)
        .select_related("user")
        .order_by("pk")
    )


def _share_of(member: Membership, found: Standing, *, percent: float, seed: int) -> RepeatShare:
    latest_first = found.judged(member.user_id)
    coming = found.coming(member.user_id)
    of_key: dict[str, Screen] = {}  # of a unit's several screens one comes again
    originals = []
    for since, screen in enumerate(latest_first):
        if screen.key not in of_key and found.old_enough(screen, member.user_id):
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


# Storing -----------------------------------------------------------------------------------------------------------


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
