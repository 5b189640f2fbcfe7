"""Verdicts that are carried over, as they stand: whoever counts what is to be judged leaves these items out.

An item's verdict stands carried while nobody was ever given the item in the main round and its source counts. Once the
source is withdrawn or gets another text, or somebody judged the item elsewhere, it stands no more, and the item is one
like any other.
"""

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Assignment, Campaign, CarryOver, Item, Round


def standing() -> QuerySet[CarryOver]:
    """The carried verdicts that stand, of all campaigns."""
    given = Assignment.objects.filter(item=OuterRef("item"), round__kind=Round.Kind.MAIN)
    return CarryOver.objects.filter(~Exists(given), checked=False, source__retired_at__isnull=True)


def carried_items() -> QuerySet[CarryOver, int]:
    """The items that take the verdict on another, for use inside a query."""
    return standing().order_by().values_list("item", flat=True)


def sources_of(campaign: Campaign) -> dict[int, int]:
    """By item, whose verdict it takes. One query."""
    return dict(standing().filter(campaign=campaign).values_list("item", "source"))


def not_carried(items: QuerySet[Item]) -> QuerySet[Item]:
    """These items without those that take the verdict on another."""
    return items.exclude(pk__in=carried_items())
