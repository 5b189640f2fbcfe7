"""Items whose independent answers are all in and change no more: what may be opened, resolved, judged again.

An answer of the main round is frozen with its batch (a confirmed design; `batches` closes it), one from a file since
it was stored, one of a dry run with its round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Subquery, Value, When

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


def judged_again(item: str = "pk") -> Q:
    """Whether all who judged the item on their own have judged it again in a resolution that is closed, and none is
    open: what was to be talked over has had its outcome, split or not.
    """
    given = Assignment.objects.filter(
        item=OuterRef(item), round__kind=Round.Kind.RESOLUTION, withdrawn_at__isnull=True
    )
    over = Q(round__state=Round.State.CLOSED, answered_at__isnull=False)
    by_expert = Assignment.objects.filter(
        over,
        item=OuterRef("item"),
        expert=OuterRef("expert"),
        round__kind=Round.Kind.RESOLUTION,
        withdrawn_at__isnull=True,
    )
    lacking = frozen_answers().filter(~Exists(by_expert), FROZEN_IN_MAIN, item=OuterRef(item))
    still = given.filter(round__state=Round.State.OPEN)
    return Q(Exists(given.filter(over))) & ~Q(Exists(still)) & ~Q(Exists(lacking))


def openable_items(campaign: Campaign) -> QuerySet[Item]:
    """Items that may be opened to discussion, opened already or not: of a closed batch with all its answers, or of a
    dry run that is over; and nobody is still to judge them on their own.
    """
    return _counted(Item.objects.filter(campaign=campaign)).filter(_is_openable(campaign))


def _counted(items: QuerySet[Item]) -> QuerySet[Item]:
    """`n_main` and `n_dry`: how many frozen answers they have."""
    return items.annotate(n_main=_count(Round.Kind.MAIN), n_dry=_count(Round.Kind.DRY_RUN))


def _is_openable(campaign: Campaign) -> Q:
    """Of items whose frozen answers are counted."""
    answered = Q(n_main__gte=campaign.annotators_per_item) | Q(n_dry__gte=PAIR)
    return Q(in_play(), answered, ~still_to_come(), batch__published_at__isnull=False)


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
    """How far an item is on its way. `thread` is the discussion it was opened to; it has `ended` where a manager
    resolved it, an arbiter decided, its experts have judged again, or the campaign is closed.
    """

    batch_closed: bool
    openable: bool
    thread: int | None
    resolved: bool
    judged_again: bool
    ended: bool
    decided: str  # an arbiter's label


def standings(campaign: Campaign, items: Sequence[Item]) -> Mapping[int, Standing]:
    """By item. One query."""
    decided = Arbitration.objects.filter(item=OuterRef("pk"), taken_back_at__isnull=True).values("label")[:1]
    thread = Thread.objects.filter(item=OuterRef("pk"))
    in_batch = Assignment.objects.filter(
        item=OuterRef("pk"), round__kind=Round.Kind.MAIN, withdrawn_at__isnull=True
    )
    wanted = [item.pk for item in items]
    rows = (
        _counted(Item.objects.filter(pk__in=wanted))
        .annotate(
            openable=Case(When(_is_openable(campaign), then=Value(True)), default=Value(False)),
            closed=Exists(in_batch) & ~Exists(in_batch.filter(OPEN_BATCH)),
            opened=Subquery(thread.values("pk")[:1]),
            settled=Exists(thread.filter(resolved_at__isnull=False)),
            again=judged_again(),
            decision=Subquery(decided),
        )
        .values_list("pk", "openable", "closed", "opened", "settled", "again", "decision")
    )
    return {
        pk: Standing(
            batch_closed=closed,
            openable=openable and opened is None,
            thread=opened,
            resolved=settled,
            judged_again=again,
            ended=settled or again or decision is not None or campaign.closed_at is not None,
            decided=decision or "",
        )
        for pk, openable, closed, opened, settled, again, decision in rows
    }
