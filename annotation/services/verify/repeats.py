"""Repeats: of what their expert has judged, for an expert who is here."""

from collections.abc import Iterator

from django.db.models import Count, Exists, OuterRef

from annotation.models import Assignment, Campaign, Round
from annotation.services.open_repeats import of_who_left, open_repeats
from annotation.services.verify.rows import CHUNK, named, standing


def repeats_have_originals(campaign: Campaign) -> Iterator[str]:
    """Who is given an item again has judged it in the main round, in the same slot."""
    original = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        item=OuterRef("item"),
        expert=OuterRef("expert"),
        slot=OuterRef("slot"),
        answered_at__isnull=False,
        withdrawn_at__isnull=True,
    )
    again = standing(campaign).filter(~Exists(original), round__kind=Round.Kind.REPEAT)
    for position, _row in named(again, "item__position", "pk"):
        yield f"the item at position {position} was given again to somebody who has not judged it before"


def nobody_waits_twice(campaign: Campaign) -> Iterator[str]:
    """Of an item one repeat at most is still to come to the same expert."""
    names = dict(campaign.memberships.values_list("user", "pseudonym"))
    twice = (
        open_repeats(campaign)
        .values_list("item__position", "expert")
        .annotate(n=Count("pk"))
        .filter(n__gt=1)
        .order_by("item__position", "expert")
    )
    for position, expert, n in twice.iterator(CHUNK):
        yield (
            f"the item at position {position} waits {n} times to be judged again by {names.get(expert, 'somebody')}"
        )


def repeats_wait_for_somebody(campaign: Campaign) -> Iterator[str]:
    """A repeat that is still to come is that of an expert who is here."""
    names = dict(campaign.memberships.values_list("user", "pseudonym"))
    for position, expert in named(of_who_left(campaign), "item__position", "expert"):
        yield (
            f"the item at position {position} waits to be judged again by {names.get(expert, 'somebody')}, who has "
            "left; moving the open units of who left withdraws it"
        )
