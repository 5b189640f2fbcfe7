"""Items that came after their units had experts, such as another system's translations, and wait to be given out.

Which items came late is told by the times of their import and of their part; nothing is stored beside that.
"""

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.models import Item, PartUnit, Round
from annotation.services.carried import carried_items
from annotation.services.layout import IN_UNIT


def late_items(round_: Round) -> QuerySet[Item]:
    """Items that came later into units which have their experts already, such as another system's translations.

    Not into units of a closed batch, whose experts judge nothing in it any more; these are `too_late`.
    """
    return _came_later(round_, closed=False)


def waiting_items(round_: Round) -> QuerySet[Item]:
    """Those of the late items that were not there yet when their units were given out: nothing went wrong with them."""
    placed = PartUnit.objects.filter(
        round=round_, unit=OuterRef("unit"), part__design__created_at__lt=OuterRef("batch__published_at")
    )
    return late_items(round_).filter(Exists(placed))


def too_late(round_: Round) -> QuerySet[Item]:
    """Items that came into units of closed batches: they can be given out once the batch is open again."""
    return _came_later(round_, closed=True)


def _came_later(round_: Round, *, closed: bool) -> QuerySet[Item]:
    """Items of such units that nobody was given here: judged nowhere, or elsewhere by fewer than k."""
    placed = PartUnit.objects.filter(round=round_, part__design__closed_at__isnull=not closed)
    given = round_.assignments.filter(Q(part__isnull=False) | Q(withdrawn_at__isnull=False))
    elsewhere = round_.assignments.order_by().values("item").annotate(n_given=Count("pk"))
    return (
        Item.objects.active()
        .filter(unit__in=placed.values("unit"))
        .exclude(pk__in=given.values("item"))
        .exclude(pk__in=elsewhere.filter(n_given__gte=round_.k).values("item"))
        .exclude(pk__in=carried_items())
        .order_by("unit__position", *IN_UNIT)
    )
