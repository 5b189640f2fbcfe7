"""Later batches as they were given out: which of a campaign's items are judged in which, and their repeats."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime

from django.db.models import F, QuerySet

from annotation.models import Assignment, AuditEntry, Campaign, Item, Round, User
from annotation.services.later_plans import LaterPlan
from annotation.services.people import audit
from annotation.services.rounds import FIRST_DRAWN

GIVEN_OUT = "late items given out"  # the audit entry


def record_batch(round_: Round, planned: LaterPlan, *, by: User | None) -> None:
    """Write down that a batch was given out now."""
    detail = {
        "items": planned.n_items,
        "units": planned.n_units,
        "loads": {share.name: share.n_items for share in planned.shares},
        "percent": planned.again,
        "drawn": {share.name: share.n_again for share in planned.shares},
        "distance": planned.distance,
        "seed": planned.seed,
        "hash": planned.hash,
    }
    audit(round_.campaign, by, GIVEN_OUT, detail)


def judged_later(campaign: Campaign) -> dict[int, int]:
    """Of items in parts that came after their part was given out: in which later batch they are judged, from 1.

    What came in before the same giving out is one batch. A corrected text is judged in place of the one before and
    makes no batch. One query, two where something came late.
    """
    corrected = Item.objects.filter(campaign=campaign, retired_why=Item.Retired.REPLACED)
    rows = (
        Assignment.objects.filter(
            round__campaign=campaign,
            round__kind=Round.Kind.MAIN,
            withdrawn_at__isnull=True,
            item__context__isnull=False,  # a triple's unit holds one item, so that none can come later
            item__retired_at__isnull=True,
            item__batch__published_at__gt=F("part__design__created_at"),
        )
        .exclude(item__position__in=corrected.values("position"))
        .order_by()
        .values_list("item", "item__batch__published_at")
        .distinct()
    )
    came = {item: published for item, published in rows if published is not None}
    if not came:
        return {}
    given = given_out_at(campaign)
    return {item: batch_number(published, given) for item, published in came.items()}


def given_out_at(campaign: Campaign) -> list[datetime]:
    """When items that came late were given out, the first time first."""
    entries = AuditEntry.objects.filter(campaign=campaign, action=GIVEN_OUT)
    return list(entries.order_by("at").values_list("at", flat=True))


def batch_number(moment: datetime, given: Sequence[datetime]) -> int:
    """The later batch of what came, or of repeats that were drawn, at this moment: given out at the next of these."""
    return 1 + bisect_left(given, moment)


def later_draws(campaign: Campaign) -> QuerySet[Round]:
    """The rounds of repeats that were mixed into later batches."""
    return campaign.rounds.filter(
        kind=Round.Kind.REPEAT, number__gte=FIRST_DRAWN, settings__has_key="later_items"
    )
