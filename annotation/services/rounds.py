"""Rounds beside the main one: opened with all their assignments, closed, opened again, named for people.

A dry run, a resolution, a re-judgement, a spot check and drawn repeats differ in what they give to whom; that is
decided by the service of each kind. How a round is stored is the same for all and stands here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Max, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Campaign, Design, Guideline, Item, Part, PartUnit, Round, User
from annotation.services.campaign_state import refuse_closed
from annotation.services.errors import Refused
from annotation.services.layout import IN_UNIT, UnitRows, last_place, share_of, store_in_chunks, unit_rows
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.turns import turn

FIRST_INDEX = 10_000  # of parts beside the main round's, so that an index names one part of the campaign
PART_SIZE = 100  # items up to which shares make one part together
FIRST_DRAWN = 2  # number of a round of drawn repeats; the first holds those that were imported


@dataclass(frozen=True, kw_only=True)
class Share:
    """Some items and who judges each of them, slot 1 first."""

    items: Sequence[int]
    experts: Sequence[User]


def open_round(
    campaign: Campaign,
    kind: Round.Kind,
    *,
    shares: Sequence[Share],
    settings: dict[str, Any],
    by: User | None,
    due_on: date | None = None,
) -> Round:
    """Store a round with its parts and all assignments of it, in one transaction.

    It gets the next number of its kind and the guidelines in force. All shares have as many experts; a unit stands in
    one share. Small shares make one part together, so that nobody hands in three parts of two items. Raises Refused
    where there is nothing to judge or a round of this kind is still open.
    """
    given = [share for share in shares if share.items]
    if not given:
        raise Refused(_("There is nothing to judge in such a round."))
    (k,) = {len(share.experts) for share in given}
    with turn(campaign):
        refuse_closed(campaign)
        of_kind = campaign.rounds.filter(kind=kind)
        if of_kind.filter(state=Round.State.OPEN).exists():
            raise Refused(_("A round of this kind is open; close it before you open another."))
        round_ = Round.objects.create(
            campaign=campaign,
            kind=kind,
            number=(of_kind.aggregate(last=Max("number"))["last"] or 0) + 1,
            k=k,
            guideline=latest_guideline(campaign),
            settings=settings,
            due_on=due_on,
        )
        design = Design.objects.create(
            round=round_, name=kind, seed=settings.get("seed", campaign.seed), hash="", plan={}, created_by=by
        )
        for together in _parts(given):
            _store(round_, design, together)
        renew_counts(PartUnit, Assignment)
        audit(campaign, by, "round opened", {**described(round_), "items": sum(len(s.items) for s in given)})
    return round_


def _parts(shares: Sequence[Share]) -> list[list[Share]]:
    """The shares part by part, in their order; none is torn."""
    parts: list[list[Share]] = []
    room = 0
    for share in shares:
        if len(share.items) > room:
            parts.append([])
            room = PART_SIZE
        parts[-1].append(share)
        room -= len(share.items)
    return parts


def _store(round_: Round, design: Design, shares: Sequence[Share]) -> None:
    """One part of these shares. Everybody gets their own units of it, in one order, each in the slot of its share."""
    items = Item.objects.order_by("unit__position", *IN_UNIT)
    units = [unit_rows(items.filter(pk__in=share.items)) for share in shares]
    part = Part.objects.create(round=round_, design=design, index=_next_index(round_.campaign))
    all_units = (unit for found in units for unit in found)
    store_in_chunks(PartUnit, (PartUnit(round=round_, part=part, unit_id=unit.pk) for unit in all_units))
    for expert in dict.fromkeys(expert for share in shares for expert in share.experts):
        slots: dict[int, int] = {}
        mine: list[UnitRows] = []
        for share, found in zip(shares, units, strict=True):
            if expert in share.experts:
                mine += found
                slots |= dict.fromkeys((unit.pk for unit in found), share.experts.index(expert) + 1)
        rows = share_of(round_, part, mine, slot=1, expert=expert)
        store_in_chunks(Assignment, last_place(round_, expert).put(_in_slots(rows, slots)))


def _in_slots(rows: Iterator[Assignment], slots: Mapping[int, int]) -> Iterator[Assignment]:
    """Each row in the slot of its unit."""
    for row in rows:
        row.slot = slots[row.unit_id]
        yield row


def _next_index(campaign: Campaign) -> int:
    parts = Part.objects.filter(round__campaign=campaign, index__gte=FIRST_INDEX)
    last: int | None = parts.aggregate(last=Max("index"))["last"]
    return FIRST_INDEX if last is None else last + 1


def close_round(round_: Round, *, outcome: dict[str, Any], by: User | None) -> Round:
    """Nobody judges in it any more; how it ended is kept. Closed already, it stays as it is."""
    with turn(round_.campaign_id):
        closed = Round.objects.filter(pk=round_.pk, state=Round.State.OPEN).update(
            state=Round.State.CLOSED, closed_at=timezone.now(), outcome=outcome
        )
        round_.refresh_from_db()
        if closed:
            _repeats_beside(round_).update(state=Round.State.CLOSED, closed_at=round_.closed_at)
            audit(round_.campaign, by, "round closed", {**described(round_), **outcome})
    return round_


def reopen_round(round_: Round, *, by: User | None) -> Round:
    """Undo the closing: its open items can be judged again, under the guidelines in force."""
    with turn(round_.campaign_id):
        refuse_closed(round_.campaign)
        opened = Round.objects.filter(pk=round_.pk, state=Round.State.CLOSED).update(
            state=Round.State.OPEN,
            closed_at=None,
            outcome=None,
            guideline=latest_guideline(round_.campaign),
        )
        round_.refresh_from_db()
        if opened:
            _repeats_beside(round_).update(state=Round.State.OPEN, closed_at=None, guideline=round_.guideline)
            audit(round_.campaign, by, "round opened again", described(round_))
    return round_


def _repeats_beside(round_: Round) -> QuerySet[Round]:
    """Hidden repeats stand among the units of the main round and share its state, or they could be told from them."""
    rounds = round_.campaign.rounds
    if round_.kind != Round.Kind.MAIN:
        return rounds.none()
    return rounds.filter(kind=Round.Kind.REPEAT, number__gte=FIRST_DRAWN)


def described(round_: Round) -> dict[str, Any]:
    """How a round is named in records."""
    return {"round": round_.kind, "number": round_.number}


def round_of(campaign: Campaign, kind: str, number: int) -> Round | None:
    """The round of that kind and number, if there is one."""
    return campaign.rounds.filter(kind=kind, number=number).first()


def latest_guideline(campaign: Campaign) -> Guideline:
    """The newest version; what is opened now is judged by it."""
    return campaign.guidelines.order_by("-version")[0]
