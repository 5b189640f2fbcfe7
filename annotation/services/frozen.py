"""Items whose independent answers are all in and change no more: what may be opened, resolved, judged again.

An answer of the main round is frozen with its batch (a confirmed design; `batches` closes it), one from a file since
it was stored, one of a dry run with its round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery

from annotation.models import Arbitration, Assignment, Campaign, Item, Round, Thread
from annotation.models.item import in_play

FROZEN_IN_MAIN = Q(round__kind=Round.Kind.MAIN) & (
    Q(part__isnull=True) | Q(part__design__closed_at__isnull=False)
)
FROZEN = FROZEN_IN_MAIN | Q(round__kind=Round.Kind.DRY_RUN, round__state=Round.State.CLOSED)
OPEN_BATCH = Q(round__kind=Round.Kind.MAIN, part__isnull=False, part__design__closed_at__isnull=True)
PAIR = 2  # answers of a dry run that are worth a word: its experts need not all have taken part


def frozen_answers() -> QuerySet[Assignment]:
    """Independent answers that change no more; those of experts who may talk about the item once it is opened."""
    return Assignment.objects.filter(FROZEN, withdrawn_at__isnull=True, answered_at__isnull=False)


def still_to_come(item: str = "pk") -> Exists:
    """Whether somebody has yet to judge the item without knowing of others' answers, or may still change theirs."""
    given = Assignment.objects.filter(item=OuterRef(item), withdrawn_at__isnull=True)
    unanswered = Q(answered_at__isnull=True, round__state=Round.State.OPEN)
    return Exists(given.filter(unanswered & ~Q(round__kind=Round.Kind.RESOLUTION) | OPEN_BATCH))


def openable_items(campaign: Campaign) -> QuerySet[Item]:
    """Items that may be opened to discussion, opened already or not: of a closed batch with all its answers, or of a
    dry run that is over; and nobody is still to judge them on their own.
    """
    return (
        Item.objects.published()
        .filter(in_play(), campaign=campaign)
        .annotate(n_main=_count(Round.Kind.MAIN), n_dry=_count(Round.Kind.DRY_RUN))
        .filter(Q(n_main__gte=campaign.annotators_per_item) | Q(n_dry__gte=PAIR))
        .exclude(still_to_come())
    )


def complete_items(campaign: Campaign) -> QuerySet[Item]:
    """Items of closed batches with all their answers, whatever else of them is still to be judged."""
    open_batch = Assignment.objects.filter(OPEN_BATCH, item=OuterRef("pk"), withdrawn_at__isnull=True)
    return (
        Item.objects.active()
        .filter(campaign=campaign)
        .annotate(n_main=_count(Round.Kind.MAIN))
        .filter(~Exists(open_batch), n_main__gte=campaign.annotators_per_item)
    )


def _count(kind: str) -> Subquery:
    rows = (
        frozen_answers()
        .filter(item=OuterRef("pk"), round__kind=kind)
        .order_by()
        .values("item")
        .annotate(n=Count("pk"))
        .values("n")
    )
    return Subquery(rows)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far an item is on its way. `thread` is the discussion it was opened to."""

    batch_closed: bool
    openable: bool
    thread: int | None
    resolved: bool
    decided: str  # an arbiter's label


def standings(campaign: Campaign, items: Sequence[Item]) -> Mapping[int, Standing]:
    """By item. Two queries."""
    decided = Arbitration.objects.filter(item=OuterRef("pk"), taken_back_at__isnull=True).values("label")[:1]
    thread = Thread.objects.filter(item=OuterRef("pk"))
    in_batch = Assignment.objects.filter(
        item=OuterRef("pk"), round__kind=Round.Kind.MAIN, withdrawn_at__isnull=True
    )
    wanted = [item.pk for item in items]
    openable = set(openable_items(campaign).filter(pk__in=wanted).values_list("pk", flat=True))
    rows = (
        Item.objects.filter(pk__in=wanted)
        .annotate(
            closed=Exists(in_batch) & ~Exists(in_batch.filter(OPEN_BATCH)),
            opened=Subquery(thread.values("pk")[:1]),
            settled=Exists(thread.filter(resolved_at__isnull=False)),
            decision=Subquery(decided),
        )
        .values_list("pk", "closed", "opened", "settled", "decision")
    )
    return {
        pk: Standing(
            batch_closed=closed,
            openable=pk in openable and opened is None,
            thread=opened,
            resolved=settled,
            decided=decision or "",
        )
        for pk, closed, opened, settled, decision in rows
    }
