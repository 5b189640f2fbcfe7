"""Moving open units of the main round from one expert to others: planned first, then stored whole.

Only units that their expert has not begun move, out of batches that are not closed; of a unit that was begun, the
items of a later batch move together, where none of them was judged. The expert's assignments are withdrawn and new ones
stand in the same part and slot, so an item keeps exactly k experts. An answer that still arrives from the browser of
who gave a unit away is kept as surplus and does not count. Who gives everything away leaves: their hidden repeats that
are still to come are nobody else's and are withdrawn, unless other work stays with them.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, Max, Min, QuerySet, Value, When
from django.utils import timezone

from annotation.models import (
    Annotation,
    Assignment,
    AuditEntry,
    Campaign,
    HandIn,
    Item,
    Membership,
    Part,
    Round,
    User,
)
from annotation.protocol.moves import Moves, OpenUnit, plan_moves
from annotation.protocol.sentences import say
from annotation.services.campaign_state import refuse_closed
from annotation.services.campaigns import main_round
from annotation.services.errors import NotYours, Refused
from annotation.services.later_batches import given_out_at
from annotation.services.layout import CHUNK, IN_UNIT, last_place, share_of, store_in_chunks, unit_rows
from annotation.services.open_repeats import open_repeats_by_expert, withdraw_open_repeats
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.turns import turn

MOVED = "units moved"  # the audit entry


def open_by_expert(round_: Round, members: Sequence[Membership]) -> dict[int, int]:
    """By membership: how many units somebody has not begun; two queries."""
    counted = Counter(one.expert for one in _not_begun(round_))
    return {member.pk: counted[member.user_id] for member in members}


def planned_moves(campaign: Campaign, *, giver: int, takers: Sequence[int], n: int | None = None) -> Moves:
    """What `move_units` would store; people go by their pseudonyms. Stores nothing.

    `giver` and `takers` are memberships; `n` units move, the last to come up, or all. Ten queries, whatever the size.
    Raises NotYours for who is no expert here, Refused for a closed campaign or account or where nothing is open,
    ProtocolError for takers and numbers that cannot be.
    """
    refuse_closed(campaign)
    round_ = main_round(campaign)
    experts = _experts(campaign)
    if giver not in experts or not set(takers) <= experts.keys():
        raise NotYours(say("There is no such expert in this campaign."))
    for taker in takers:
        if not experts[taker].user.is_active:
            raise Refused(
                say("The account of {name} is closed; name somebody else.", name=experts[taker].pseudonym)
            )
    called = {member.user_id: member.pseudonym for member in experts.values()}
    units = _open_units(round_, experts[giver].user_id, called)
    # Who keeps units is slow, not gone, and goes on with their repeats.
    still_open = _standing(round_).filter(expert=experts[giver].user_id, answered_at__isnull=True).count()
    keeps = n is not None or still_open > sum(unit.n_items for unit in units)
    repeats = 0 if keeps else open_repeats_by_expert(campaign).get(experts[giver].user_id, 0)
    if not units and not repeats:
        raise Refused(
            say(
                "{name} has no unit that was not begun; there is nothing to move.",
                name=experts[giver].pseudonym,
            )
        )
    return plan_moves(
        units,
        giver=experts[giver].pseudonym,
        takers=[experts[taker].pseudonym for taker in takers],
        loads=_loads(round_, called),
        pairs=_pairs(round_, called),
        n=n,
        repeats=repeats,
    )


def move_units(
    campaign: Campaign,
    *,
    giver: int,
    takers: Sequence[int],
    n: int | None = None,
    confirmed_hash: str,
    by: User | None,
) -> Moves:
    """Store the moves that were shown, in one transaction; nothing where they would be others by now.

    Raises what `planned_moves` does, and Refused where units were answered, moved or withdrawn since.
    """
    with turn(campaign):
        round_ = main_round(campaign)
        moves = planned_moves(campaign, giver=giver, takers=takers, n=n)
        if moves.hash != confirmed_hash:
            raise Refused(_changed())
        experts = _experts(campaign)
        people = {member.pseudonym: member for member in experts.values()}
        rows = _take_away(round_, people[moves.giver].user_id, {move.key: move.to for move in moves.moves})
        _give(round_, [(row, people[to].user) for row, to in rows])
        if moves.repeats and withdraw_open_repeats(campaign, people[moves.giver].user_id) != moves.repeats:
            raise Refused(_changed())
        renew_counts(Assignment)
        _write_down(round_, moves, people, [to for _row, to in rows], by)
    return moves


def moved_items(round_: Round) -> Mapping[int, int]:
    """By membership: how many items came (or went, below 0) by moves since the parts were given."""
    net: dict[int, int] = defaultdict(int)
    for entry in round_.settings.get("moves", []):
        for member, n_items in entry["items"].items():
            net[int(member)] += n_items
    return net


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What moves changed of a campaign's design. `left`: pseudonyms of those who gave away all that they had not
    judged, and judged nothing of the main round after it.
    """

    units: int
    left: Sequence[str]


def moved_of(campaign: Campaign) -> Moved:
    """Taken from the record of the moves and the answers since. Three queries, one where nothing was moved."""
    entries = AuditEntry.objects.filter(campaign=campaign, action=MOVED).order_by("pk")
    last: dict[str, datetime] = {}  # by who gave
    units = 0
    for at, detail in entries.values_list("at", "detail"):
        units += detail["units"]
        last[detail["from"]] = at
    if not last:
        return Moved(units=0, left=())
    main = Assignment.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN).order_by()
    open_still = set(
        main.filter(withdrawn_at__isnull=True, answered_at__isnull=True).values_list("expert", flat=True)
    )
    judged = main.filter(annotations__revision=1).exclude(annotations__source=Annotation.Source.IMPORT)
    last_judged = dict(judged.values_list("expert").annotate(at=Max("annotations__created_at")))
    givers = campaign.memberships.filter(pseudonym__in=last).values_list("user", "pseudonym")
    return Moved(
        units=units,
        left=sorted(
            name
            for user, name in givers
            if user not in open_still and (user not in last_judged or last_judged[user] < last[name])
        ),
    )


def _experts(campaign: Campaign) -> dict[int, Membership]:
    members = campaign.memberships.filter(role=Membership.Role.EXPERT).select_related("user").order_by("id")
    return {member.pk: member for member in members}


def _standing(round_: Round) -> QuerySet[Assignment]:
    return Assignment.objects.filter(round=round_, withdrawn_at__isnull=True)


def _in_open_batches(round_: Round) -> QuerySet[Assignment]:
    return _standing(round_).filter(part__isnull=False, part__design__closed_at__isnull=True)


@dataclass(frozen=True)
class _NotBegun:
    """A unit that its expert has not begun; or, where `batch` names a later one, its items of this batch."""

    expert: int
    unit: int
    unit_key: str
    batch: int | None
    n_items: int
    first: int  # the queue number of its first screen

    @property
    def key(self) -> str:
        return self.unit_key if self.batch is None else f"{self.unit_key}\n{self.batch}"


def _batch(round_: Round) -> Case:
    """The later batch in which a row's item came, 0 for what was there when the part was given out. One query."""
    published = "item__batch__published_at__lte"
    given = given_out_at(round_.campaign)
    return Case(
        When(**{published: F("part__design__created_at")}, then=Value(0)),
        *(When(**{published: at}, then=Value(number)) for number, at in enumerate(given, start=1)),
        default=Value(len(given) + 1),
    )


def _not_begun(round_: Round, expert: int | None = None) -> list[_NotBegun]:
    """What one expert, or anybody, has not begun, in the order in which it comes up. Two queries."""
    rows = _in_open_batches(round_)
    if expert is not None:
        rows = rows.filter(expert=expert)
    counted = (
        rows.order_by()
        .annotate(later=_batch(round_))
        .values_list("expert", "unit", "unit__key", "later")
        .annotate(n=Count("id"), answered=Count("answered_at"), first=Min("queue"))
    )
    of_unit: dict[tuple[int, int, str], list[tuple[int, int, int, int]]] = defaultdict(list)
    for of, unit, key, *batch in counted.iterator(CHUNK):
        of_unit[of, unit, key].append((batch[0], batch[1], batch[2], batch[3]))
    found = []
    for unit_of, batches in of_unit.items():
        if not any(answered for _later, _n, answered, _first in batches):
            n_items, first = sum(n for _later, n, *_rest in batches), min(one[3] for one in batches)
            found.append(_NotBegun(*unit_of, None, n_items, first))
            continue
        found += [
            _NotBegun(*unit_of, later, n, first)
            for later, n, answered, first in batches
            if later and not answered
        ]
    return sorted(found, key=lambda one: (one.first, one.key))


def _open_units(round_: Round, expert: int, called: Mapping[int, str]) -> list[OpenUnit]:
    found = _not_begun(round_, expert)
    others: dict[tuple[int, int | None], list[str]] = defaultdict(list)
    barred: dict[tuple[int, int | None], set[str]] = defaultdict(set)
    given = Assignment.objects.filter(
        round=round_, unit__in=_standing(round_).filter(expert=expert).values("unit")
    ).exclude(expert=expert)
    rows = given.annotate(later=_batch(round_)).order_by("slot", "id")
    for unit, later, other, withdrawn_at in rows.values_list("unit", "later", "expert", "withdrawn_at"):
        name = called.get(other, f"#{other}")  # somebody who is no expert here any more
        for batch in (None, later):
            barred[unit, batch].add(name)
            if withdrawn_at is None and name not in others[unit, batch]:
                others[unit, batch].append(name)
    return [
        OpenUnit(
            one.key, one.n_items, tuple(others[one.unit, one.batch]), frozenset(barred[one.unit, one.batch])
        )
        for one in found
    ]


def _loads(round_: Round, called: Mapping[int, str]) -> dict[str, int]:
    counted = _standing(round_).order_by().values_list("expert").annotate(n=Count("id"))
    return {called[expert]: n for expert, n in counted if expert in called}


def _pairs(round_: Round, called: Mapping[int, str]) -> dict[tuple[str, str], int]:
    """Items that two people share, by the pair of their names in order."""
    both = (
        _standing(round_)
        .filter(
            item__assignments__round=round_,
            item__assignments__withdrawn_at__isnull=True,
            item__assignments__expert__gt=F("expert"),
        )
        .order_by()
        .values_list("expert", "item__assignments__expert")
        .annotate(n=Count("id"))
    )
    found: dict[tuple[str, str], int] = {}
    for a, b, n in both:
        if a in called and b in called:
            first, second = sorted((called[a], called[b]))
            found[first, second] = n
    return found


def _take_away(round_: Round, expert: int, to: Mapping[str, str]) -> list[tuple[Assignment, str]]:
    """The rows of these units, withdrawn, and who takes them. Refused where one was answered, moved or withdrawn
    meanwhile.
    """
    open_now = {one.key: one for one in _not_begun(round_, expert)}
    if not to.keys() <= open_now.keys():
        raise Refused(_changed())
    taker = {(open_now[key].unit, open_now[key].batch): name for key, name in to.items()}
    units = {unit for unit, _later in taker}
    rows: list[tuple[Assignment, str]] = []
    for row in _standing(round_).filter(expert=expert, unit__in=units).annotate(later=_batch(round_)):
        name = taker.get((row.unit_id, None)) or taker.get((row.unit_id, row.later))
        if name is not None:
            rows.append((row, name))
    taken = _standing(round_).filter(pk__in=[row.pk for row, _name in rows], answered_at__isnull=True)
    if taken.update(withdrawn_at=timezone.now()) != len(rows):
        raise Refused(_changed())
    return rows


def _changed() -> str:
    return say(
        "Some of these units were answered or moved since this was shown; look at the moves as they are now."
    )


def _give(round_: Round, rows: Sequence[tuple[Assignment, User]]) -> None:
    """The same places to others: part by part, at the end of what each has."""
    shares: dict[tuple[int, int], list[Assignment]] = defaultdict(list)
    people: dict[int, User] = {}
    for row, taker in rows:
        people[taker.pk] = taker
        assert row.part_id is not None  # only units of parts are open
        shares[row.part_id, taker.pk].append(row)
    parts = Part.objects.in_bulk({part for part, _taker in shares})
    for (part, taker_id), share in sorted(shares.items()):
        slots = {row.item_id: row.slot for row in share}
        units = unit_rows(Item.objects.filter(pk__in=slots).order_by("unit__position", *IN_UNIT))
        given = share_of(round_, parts[part], units, slot=1, expert=people[taker_id])
        placed = list(last_place(round_, people[taker_id]).put(given))
        for one in placed:
            one.slot = slots[one.item_id]
        store_in_chunks(Assignment, iter(placed))
        HandIn.objects.filter(part=part, expert=taker_id).delete()  # there is work in it again


def _write_down(
    round_: Round,
    moves: Moves,
    people: Mapping[str, Membership],
    takers: Sequence[str],
    by: User | None,
) -> None:
    items: dict[str, int] = defaultdict(int)
    for taker in takers:  # of each item
        items[str(people[moves.giver].pk)] -= 1
        items[str(people[taker].pk)] += 1
    entry: dict[str, Any] = {"at": timezone.now().isoformat(), "items": dict(items), "hash": moves.hash}
    round_.settings = {**round_.settings, "moves": [*round_.settings.get("moves", []), entry]}
    round_.save(update_fields=["settings"])
    audit(round_.campaign, by, MOVED, moves.as_json())
