"""Giving out items that came after their units had experts, such as another system's translations: a later batch.

They go to the experts of their units (`later_seats`), whoever is named. A share of what these experts judged before
comes again beside it, unmarked, among the new screens: so a shift between the batches shows.
Repeats stand in a round of their own, as all hidden repeats do (`repeats`). What takes the verdict on an alike
translation (`carry_over`) is given to nobody.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from django.db.models import Max, Min

from annotation.models import Assignment, HandIn, Part, Round, User
from annotation.protocol.sentences import say
from annotation.services.carry_over import CarryPlan
from annotation.services.errors import Refused
from annotation.services.late_items import late_items
from annotation.services.later_batches import record_batch
from annotation.services.later_plans import LaterPlan, LaterShare, PartShare, Rows
from annotation.services.later_seats import People, Seats, find_seats
from annotation.services.layout import (
    POSTPONED,
    Place,
    UnitRows,
    last_place,
    share_of,
    store_in_chunks,
    unit_rows,
)
from annotation.services.mixed_repeats import Among, among_new
from annotation.services.planner import renew_counts
from annotation.services.repeat_draws import last_draw
from annotation.services.repeat_screens import copies, originals_of
from annotation.services.rounds import FIRST_DRAWN

USUAL_SHARE: float = 5  # per cent of what an expert judged before that comes again beside a later batch


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
    people = People.of(round_)
    seated = find_seats(round_, late, people)
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


def _shares(round_: Round, seated: Sequence[tuple[UnitRows, Seats]], people: People) -> list[LaterShare]:
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
    record_batch(round_, planned, by=by)


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


def _numbered(screens: Sequence[Rows]) -> Iterator[Assignment]:
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
