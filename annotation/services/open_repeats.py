"""Hidden repeats that are still to come. They are their expert's or nobody's: who leaves takes them along.

To somebody else such a row would be a first judgement, of an item that has its experts already; left where it is, it
would wait for ever. So it is withdrawn.
"""

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign, Membership, Round


def open_repeats(campaign: Campaign) -> QuerySet[Assignment]:
    """The rows that nobody has answered yet."""
    return Assignment.objects.filter(
        round__in=Round.objects.filter(campaign=campaign, kind=Round.Kind.REPEAT),
        answered_at__isnull=True,
        withdrawn_at__isnull=True,
    ).order_by()


def open_repeats_by_expert(campaign: Campaign) -> dict[int, int]:
    """By account: how many units are still to come again; one query."""
    return dict(open_repeats(campaign).values_list("expert").annotate(n=Count("unit", distinct=True)))


def withdraw_open_repeats(campaign: Campaign, expert: int) -> int:
    """Take somebody's open repeats away; returns how many units. A later draw may give the same units again."""
    now = timezone.now()
    if not open_repeats(campaign).filter(expert=expert).update(withdrawn_at=now):
        return 0
    taken = Assignment.objects.filter(round__campaign=campaign, expert=expert, withdrawn_at=now)
    return taken.filter(round__kind=Round.Kind.REPEAT).values("unit").distinct().count()


def of_who_left(campaign: Campaign) -> QuerySet[Assignment]:
    """Open repeats of people whose account is closed, or who are no experts here any more."""
    experts = Membership.objects.filter(
        campaign=campaign, role=Membership.Role.EXPERT, user__is_active=True
    ).values("user")
    return open_repeats(campaign).filter(~Q(expert__in=experts))
