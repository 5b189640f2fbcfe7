"""Repeats: of what their expert has judged, for an expert who is here."""

from collections.abc import Iterator

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Campaign, Round
from annotation.services.open_repeats import of_who_left
from annotation.services.verify.rows import named, standing


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


def repeats_wait_for_somebody(campaign: Campaign) -> Iterator[str]:
    """A repeat that is still to come is that of an expert who is here."""
    names = dict(campaign.memberships.values_list("user", "pseudonym"))
    for position, expert in named(of_who_left(campaign), "item__position", "expert"):
        yield (
            f"the item at position {position} waits to be judged again by {names.get(expert, 'somebody')}, who has "
            "left; moving the open units of who left withdraws it"
        )
