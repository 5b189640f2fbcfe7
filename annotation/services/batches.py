"""Batches: what was given out of the main round at a time, closed so that its items can be discussed and settled.

Each confirmed design is a batch. Closed, its answers are frozen: all its parts count as handed in, by everybody, and
none of them is given back. What was not answered by then is withdrawn, so that nobody is asked for it any more; an
answer to it that arrives later is kept aside like every answer that comes too late. Opened again, which is possible as
long as nobody has seen another's answers in it, it stands as it stood.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    Arbitration,
    Assignment,
    AuditEntry,
    Campaign,
    Design,
    HandIn,
    Item,
    Part,
    Round,
    Thread,
    User,
)
from annotation.services.campaign_state import refuse_closed
from annotation.services.errors import NotYours, Refused
from annotation.services.people import audit
from annotation.services.turns import turn

CLOSED, OPENED_AGAIN = "batch closed", "batch opened again"
REASON_LENGTH = 500
REPEATED = Q(round__kind=Round.Kind.REPEAT)  # in the parts of a batch, and none of its items


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch and how far it is. People go by pseudonym.

    Hidden repeats stand in its parts and are counted apart: `n_items`, `given` and `answered` are those of the main
    round. `missing` says how many answers are to come from whom, repeats included, since closing takes these as well.
    """

    pk: int
    number: int
    parts: Sequence[int]  # their indexes
    n_items: int
    given: int
    answered: int
    repeats_given: int
    repeats_answered: int
    missing: Mapping[str, int]
    not_handed_in: Sequence[str]
    opened: int  # items opened to discussion
    decided: int  # items on which an arbiter decided
    closed_at: datetime | None
    reason: str  # why it was closed without all answers
    missed: Mapping[str, int]  # the answers it was closed without

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def may_reopen(self) -> bool:
        return self.closed_at is not None and not (self.opened or self.decided)


def batches_of(campaign: Campaign) -> list[Batch]:
    """Every batch, the first one first. Eight queries, whatever the campaign's size."""
    designs = list(_designs(campaign).order_by("pk"))
    names = dict(campaign.memberships.values_list("user", "pseudonym"))
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in (
        _rows(campaign)
        .values("part__design", "expert")
        .annotate(
            given=Count("pk", filter=~REPEATED),
            answered=Count("answered_at", filter=~REPEATED),
            repeats_given=Count("pk", filter=REPEATED),
            repeats_answered=Count("answered_at", filter=REPEATED),
            missing=Count("pk", filter=Q(answered_at__isnull=True)),
        )
    ):
        rows[row["part__design"]].append(row)
    items = _by_design(_rows(campaign).exclude(REPEATED), "item")
    not_handed_in = _not_handed_in(campaign, names)
    parts: dict[int, list[int]] = defaultdict(list)
    for of_design, index in Part.objects.filter(design__in=designs).values_list("design", "index"):
        parts[of_design].append(index)
    opened = _by_design(
        _rows(campaign).filter(item__thread__opened_at__gte=F("part__design__closed_at")), "item"
    )
    decided = _by_design(_rows(campaign).filter(item__arbitrations__isnull=False), "item")
    closings = _closings(campaign)
    return [
        Batch(
            pk=design.pk,
            number=number,
            parts=parts[design.pk],
            n_items=items.get(design.pk, 0),
            **{
                name: sum(row[name] for row in rows[design.pk])
                for name in ("given", "answered", "repeats_given", "repeats_answered")
            },
            missing={
                names.get(row["expert"], "–"): row["missing"] for row in rows[design.pk] if row["missing"]
            },
            not_handed_in=sorted(not_handed_in[design.pk]),
            opened=opened.get(design.pk, 0),
            decided=decided.get(design.pk, 0),
            closed_at=design.closed_at,
            reason=closings.get(design.pk, {}).get("reason", "") if design.closed_at else "",
            missed=closings.get(design.pk, {}).get("missing", {}) if design.closed_at else {},
        )
        for number, design in enumerate(designs, start=1)
    ]


def _designs(campaign: Campaign) -> Any:
    return Design.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN)


def _rows(campaign: Campaign) -> Any:
    return Assignment.objects.filter(
        part__design__in=_designs(campaign), withdrawn_at__isnull=True, item__retired_at__isnull=True
    ).order_by()


def _not_handed_in(campaign: Campaign, names: Mapping[int, str]) -> dict[int, set[str]]:
    """By batch, whose hand-in of a part is waited for. A part of which somebody gave everything away is not theirs."""
    handed_in = HandIn.objects.filter(part=OuterRef("part"), expert=OuterRef("expert"))
    waited_for = _rows(campaign).filter(~Exists(handed_in)).values_list("part__design", "expert").distinct()
    found: dict[int, set[str]] = defaultdict(set)
    for design, expert in waited_for:
        found[design].add(names.get(expert, "–"))
    return found


def _by_design(rows: Any, what: str) -> dict[int, int]:
    return dict(rows.values_list("part__design").annotate(n=Count(what, distinct=True)))


def _closings(campaign: Campaign) -> dict[int, dict[str, Any]]:
    entries = AuditEntry.objects.filter(campaign=campaign, action=CLOSED).order_by("pk")
    return {entry.detail["design"]: entry.detail for entry in entries}


def close_batch(campaign: Campaign, pk: int, *, by: User | None, reason: str = "") -> Design:
    """Freeze a batch's answers. Closed already, it stays as it is.

    Raises NotYours; Refused where answers are missing and no reason says why it is closed without them.
    """
    reason = reason.strip()
    if len(reason) > REASON_LENGTH:
        raise Refused(_("Give the reason in at most %(limit)d characters.") % {"limit": REASON_LENGTH})
    with turn(campaign):
        design = _batch_of(campaign, pk)
        if design.closed_at is not None:
            return design
        # Whoever is being waited for has answered before this moment.
        list(_unanswered(design).select_for_update().values_list("pk", flat=True))
        now = timezone.now()
        missing = _withdraw_unanswered(design, now)
        if missing and not reason:
            raise Refused(
                _(
                    "Answers are still to come: %(missing)s. Wait for them, or say why the batch is closed without."
                )
                % {"missing": ", ".join(f"{name} {n}" for name, n in missing.items())}
            )
        Design.objects.filter(pk=pk).update(closed_at=now)
        waited_for = _hand_in_everything(design, now)
        design.closed_at = now
        detail = {"design": pk, "batch": _number(design), "missing": missing, "not_handed_in": waited_for}
        audit(campaign, by, CLOSED, {**detail, "reason": reason})
    return design


def _withdraw_unanswered(design: Design, now: datetime) -> dict[str, int]:
    """By pseudonym, how many answers were still to come. An answer that is being saved at this moment counts if it is
    stored before its row is taken away, and is kept aside if it is not: the row decides.
    """
    _unanswered(design).update(withdrawn_at=now)
    taken = Assignment.objects.filter(part__design=design, withdrawn_at=now, item__retired_at__isnull=True)
    names = dict(design.round.campaign.memberships.values_list("user", "pseudonym"))
    counts = taken.order_by().values_list("expert").annotate(n=Count("pk"))
    return dict(sorted((names.get(expert, "–"), n) for expert, n in counts))


def _unanswered(design: Design) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        part__in=_parts(design), withdrawn_at__isnull=True, answered_at__isnull=True
    )


def _parts(design: Design) -> QuerySet[Part]:
    return Part.objects.filter(design=design)


def _hand_in_everything(design: Design, now: datetime) -> list[str]:
    """Who had not handed in what was theirs, by pseudonym. These hand-ins bear the moment of the closing.

    A part of which an expert gave everything away before is handed in for them too, and waited for by nobody.
    """
    pairs = set(Assignment.objects.filter(part__design=design).values_list("part", "expert").distinct())
    there = HandIn.objects.filter(part__in=_parts(design))
    known = {(part, expert): pk for pk, part, expert in there.values_list("pk", "part", "expert")}
    new = sorted(pairs - known.keys())
    HandIn.objects.bulk_create(
        (HandIn(part_id=part, expert_id=expert) for part, expert in new),
        ignore_conflicts=True,  # handed in at this very moment
    )
    there.exclude(pk__in=known.values()).update(at=now)
    names = dict(design.round.campaign.memberships.values_list("user", "pseudonym"))
    theirs = set(
        Assignment.objects.filter(
            Q(withdrawn_at__isnull=True) | Q(withdrawn_at=now),
            part__design=design,
            item__retired_at__isnull=True,
        )
        .order_by()
        .values_list("part", "expert")
        .distinct()
    )
    return sorted({names.get(expert, "–") for part, expert in new if (part, expert) in theirs})


def reopen_batch(campaign: Campaign, pk: int, *, by: User | None) -> Design:
    """Undo the closing: who had not handed in goes on judging. Open already, it stays as it is.

    Raises NotYours; Refused in a closed campaign, and once an item in it was opened to discussion or decided, for good.
    """
    with turn(campaign):
        design = _batch_of(campaign, pk)
        if design.closed_at is None:
            return design
        refuse_closed(campaign)
        in_it = Item.objects.filter(assignments__part__design=design)
        seen = Thread.objects.filter(item__in=in_it, opened_at__gte=design.closed_at)
        if seen.exists() or Arbitration.objects.filter(item__in=in_it).exists():
            raise Refused(
                _("Items of this batch were opened to discussion or decided: its answers stay as they are.")
            )
        again = Assignment.objects.filter(item__in=in_it, round__kind=Round.Kind.REJUDGEMENT)
        if again.exists():
            raise Refused(
                _("Items of this batch were given out to be judged again: its answers stay as they are.")
            )
        frozen = Assignment.objects.filter(part__in=_parts(design), withdrawn_at=design.closed_at)
        frozen = frozen.exclude(pk__in=list(frozen.filter(_drawn_since()).values_list("pk", flat=True)))
        # With an item that was withdrawn since, its row is withdrawn, and comes back with it.
        frozen.update(
            withdrawn_at=Subquery(Item.objects.filter(pk=OuterRef("item")).values("retired_at")[:1])
        )
        HandIn.objects.filter(part__in=_parts(design), at=design.closed_at).delete()
        Design.objects.filter(pk=pk).update(closed_at=None)
        design.closed_at = None
        audit(campaign, by, OPENED_AGAIN, {"design": pk, "batch": _number(design)})
    return design


def _drawn_since() -> Q:
    """Repeats of which the expert got the unit in another draw by now: it comes again once only."""
    other = Assignment.objects.filter(
        Q(withdrawn_at__isnull=True) | Q(answered_at__isnull=False),
        round__campaign=OuterRef("round__campaign"),
        round__kind=Round.Kind.REPEAT,
        expert=OuterRef("expert"),
        unit=OuterRef("unit"),
    ).exclude(round=OuterRef("round"))
    return REPEATED & Q(Exists(other))


def reopenable(designs: Collection[int]) -> set[int]:
    """Which of these closed batches `reopen_batch` would open again; one query, none for none."""
    if not designs:
        return set()
    in_it = Assignment.objects.filter(part__design=OuterRef("pk"))
    again = Assignment.objects.filter(item=OuterRef("item"), round__kind=Round.Kind.REJUDGEMENT)
    found = Design.objects.filter(
        ~Exists(in_it.filter(item__thread__opened_at__gte=OuterRef("closed_at"))),
        ~Exists(in_it.filter(item__arbitrations__isnull=False)),
        ~Exists(in_it.filter(Exists(again))),
        pk__in=designs,
        closed_at__isnull=False,
        round__campaign__closed_at__isnull=True,
    )
    return set(found.values_list("pk", flat=True))


def _batch_of(campaign: Campaign, pk: int) -> Design:
    """The batch as it stands in the campaign's turn."""
    found: Design | None = _designs(campaign).filter(pk=pk).select_related("round__campaign").first()
    if found is None:
        raise NotYours(_("There is no such batch in this campaign."))
    return found


def _number(design: Design) -> int:
    return int(_designs(design.round.campaign).filter(pk__lte=design.pk).count())


def batch_of_part(part: Part) -> tuple[int, datetime | None]:
    """The number of the batch that a part of the main round belongs to, and when it was closed."""
    design = Design.objects.select_related("round__campaign").get(pk=part.design_id)
    return _number(design), design.closed_at


def refuse_frozen(items: Sequence[int], why: str) -> None:
    """Refuse, for this reason, what would take the independent answers away from one of these items.

    That nobody answered until its batch was closed, or that the item is withdrawn, makes no difference: an item of a
    closed batch is asked for no more, whatever its text.
    """
    if Assignment.objects.filter(is_frozen(), item__in=items).exists():
        raise Refused(why)


def is_frozen() -> Q:
    """Of assignments: whether their item keeps the independent answers of the main round that it has."""
    shut = Q(part__design__closed_at__isnull=False) | Q(item__thread__isnull=False)
    return shut & Q(round__kind=Round.Kind.MAIN)
