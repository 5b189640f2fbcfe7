"""Whether those who judge an item again may have seen one another's new answers.

These are shown where an item is discussed, and in the list of what was settled, as soon as their round is closed. Pages
that are only read write nothing; that they were read is told by what was marked as read or said, and by the time that
the pages record.
"""

from datetime import datetime

from annotation.models import Comment, Round, ThreadSeen, TimeEntry


def seen_since(round_: Round, moment: datetime) -> bool:
    """Whether an expert of this round has looked into a discussion since that moment. Three small queries at most."""
    rows = round_.assignments.filter(withdrawn_at__isnull=True).order_by()
    experts, items = rows.values("expert"), rows.values("item")
    return (
        ThreadSeen.objects.filter(thread__item__in=items, user__in=experts, seen_at__gte=moment).exists()
        or Comment.objects.filter(thread__item__in=items, author__in=experts, at__gte=moment).exists()
        or TimeEntry.objects.filter(
            campaign=round_.campaign_id,
            user__in=experts,
            kind=TimeEntry.Kind.DISCUSSION,
            created_at__gte=moment,
        ).exists()
    )
