"""What the checks look at: the rows of one campaign, and how a place among them is called."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from annotation.models import Annotation, Assignment, Campaign

CHUNK = 2000
SLOT = ("assignment__item__position", "assignment__slot")


def standing(campaign: Campaign) -> QuerySet[Assignment]:
    """What somebody is asked for, or has answered, and was not withdrawn."""
    return Assignment.objects.filter(round__campaign=campaign, withdrawn_at__isnull=True).order_by()


def judged(campaign: Campaign) -> QuerySet[Annotation]:
    """Every saved answer."""
    return Annotation.objects.filter(assignment__round__campaign=campaign).order_by()


def named(rows: QuerySet[Any], *columns: str) -> Iterator[Any]:
    """These columns of the rows, in their order, each once."""
    yield from rows.order_by(*columns).values_list(*columns).distinct().iterator(CHUNK)
