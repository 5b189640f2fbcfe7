"""Moving open units of the main round from one expert to others: planned first, then stored whole.

Only units that their expert has not begun move, out of batches that are not closed. The expert's assignments are
withdrawn and new ones stand in the same part and slot, so an item keeps exactly k experts. An answer that still
arrives from the browser of who gave a unit away is kept as surplus and does not count. Who gives everything away
leaves: their hidden repeats that are still to come are nobody else's and are withdrawn.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Min, QuerySet
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
from annotation.services.layout import IN_UNIT, last_place, share_of, store_in_chunks, unit_rows
from annotation.services.open_repeats import open_repeats_by_expert, withdraw_open_repeats
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.turns import turn

MOVED = "units moved"  # the audit entry


def open_by_expert(round_: Round, members: Sequence[Membership]) -> dict[int, int]:
    """By membership: how many units somebody has not begun; one query."""
    units = (
        _in_open_batches(round_)
        .order_by()
        .values_list("expert", "unit")
        .annotate(answered=Count("answered_at"))
        .filter(answered=0)
    )
    counted = Counter(expert for expert, _unit, _answered in units)
    return {member.pk: counted[member.user_id] for member in members}


def planned_moves(campaign: Campaign, *, giver: int, takers: Sequence[int], n: int | None = None) -> Moves:
    """What `move_units` would store; people go by their pseudonyms. Stores nothing.

    `giver` and `takers` are memberships; `n` units move, the last to come up, or all. Eight queries, whatever the size.
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
    repeats = open_repeats_by_expert(campaign).get(experts[giver].user_id, 0) if n is None else 0
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
        rows = _take_away(round_, people[moves.giver].user_id, [move.key for move in moves.moves])
        to = {move.key: people[move.to].user for move in moves.moves}
        _give(round_, rows, to)
        if n is None and withdraw_open_repeats(campaign, people[moves.giver].user_id) != moves.repeats:
            raise Refused(_changed())
        renew_counts(Assignment)
        _write_down(round_, moves, people, rows, by)
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


def _not_begun(round_: Round, expert: int) -> list[tuple[int, str, int]]:
    """Unit, key and number of items, in the order they come up."""
    rows = (
        _in_open_batches(round_)
        .filter(expert=expert)
        .order_by()
        .values_list("unit", "unit__key")
        .annotate(n=Count("id"), answered=Count("answered_at"), first=Min("queue"))
        .filter(answered=0)
        .order_by("first")
    )
    return [(unit, key, n) for unit, key, n, _answered, _first in rows]


def _open_units(round_: Round, expert: int, called: Mapping[int, str]) -> list[OpenUnit]:
    found = _not_begun(round_, expert)
    others: dict[int, list[str]] = defaultdict(list)
    barred: dict[int, set[str]] = defaultdict(set)
    given = Assignment.objects.filter(
        round=round_, unit__in=_standing(round_).filter(expert=expert).values("unit")
    ).exclude(expert=expert)
    rows = given.order_by("slot", "id").values_list("unit", "expert", "withdrawn_at")
    for unit, other, withdrawn_at in rows:
        name = called.get(other, f"#{other}")  # somebody who is no expert here any more
        barred[unit].add(name)
        if withdrawn_at is None and name not in others[unit]:
            others[unit].append(name)
    return [OpenUnit(key, n, tuple(others[unit]), frozenset(barred[unit])) for unit, key, n in found]


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


def _take_away(round_: Round, expert: int, keys: Sequence[str]) -> list[Assignment]:
    """The rows of these units, withdrawn. Refused where one was answered, moved or withdrawn meanwhile."""
    wanted = _standing(round_).filter(expert=expert, unit__key__in=keys).select_related("unit")
    rows = list(wanted)
    taken = _standing(round_).filter(pk__in=[row.pk for row in rows], answered_at__isnull=True)
    if taken.update(withdrawn_at=timezone.now()) != len(rows):
        raise Refused(_changed())
    return rows


def _changed() -> str:
    return say(
        "Some of these units were answered or moved since this was shown; look at the moves as they are now."
    )


def _give(round_: Round, rows: Sequence[Assignment], to: Mapping[str, User]) -> None:
    """The same places to others: part by part, at the end of what each has."""
    shares: dict[tuple[int, int], list[Assignment]] = defaultdict(list)
    people: dict[int, User] = {}
    for row in rows:
        taker = to[row.unit.key]
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
    rows: Sequence[Assignment],
    by: User | None,
) -> None:
    items: dict[str, int] = defaultdict(int)
    to = {move.key: move.to for move in moves.moves}
    for row in rows:
        items[str(people[moves.giver].pk)] -= 1
        items[str(people[to[row.unit.key]].pk)] += 1
    entry: dict[str, Any] = {"at": timezone.now().isoformat(), "items": dict(items), "hash": moves.hash}
    round_.settings = {**round_.settings, "moves": [*round_.settings.get("moves", []), entry]}
    round_.save(update_fields=["settings"])
    audit(round_.campaign, by, MOVED, moves.as_json())
