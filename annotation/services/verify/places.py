"""Where assignments stand: in the part of their unit, on a screen of their own, in their expert's queue."""

from collections.abc import Iterator

from django.db.models import Exists, F, Max, Min, OuterRef, Q

from annotation.models import Assignment, Campaign, PartUnit, Round
from annotation.services.verify.rows import CHUNK, named, standing


def units_whole(campaign: Campaign) -> Iterator[str]:
    """All assignments of a unit in a round belong to the part the unit is in."""
    in_it = PartUnit.objects.filter(round=OuterRef("round"), part=OuterRef("part"), unit=OuterRef("unit"))
    torn = Assignment.objects.filter(~Exists(in_it), round__campaign=campaign, part__isnull=False).exclude(
        round__kind=Round.Kind.REPEAT  # they stand in the part in which they come up
    )
    for position, index in named(torn, "item__position", "part__index"):
        yield f"item at position {position} is judged in part {index + 1}, but its unit is not in it"


def assignments_in_their_place(campaign: Campaign) -> Iterator[str]:
    """An assignment's unit is its item's, its item is the campaign's, its part is one of its round; of a repeat, one of
    the campaign's main round.
    """
    rows = Assignment.objects.filter(round__campaign=campaign)
    strays = rows.filter(~Q(unit=F("item__unit")) | ~Q(item__campaign=campaign))
    for kind, position, slot in named(strays, "round__kind", "item__position", "slot"):
        yield (
            f"slot {slot} of the item at position {position} in the {kind} round names another unit or campaign "
            "than its item"
        )
    repeat = Q(round__kind=Round.Kind.REPEAT)
    main = Q(part__round__kind=Round.Kind.MAIN, part__round__campaign=campaign)
    elsewhere = rows.filter(part__isnull=False).filter(~repeat & ~Q(part__round=F("round")) | repeat & ~main)
    for kind, position, slot in named(elsewhere, "round__kind", "item__position", "slot"):
        yield f"slot {slot} of the item at position {position} in the {kind} round is in a part of another round"


def one_screen_in_one_place(campaign: Campaign) -> Iterator[str]:
    """On one screen of an expert stands one unit, and what is still to come has its own place in the queue.

    Only what came from a file stands anywhere: nobody looks at it one screen after the other.
    """
    names = dict(campaign.memberships.values_list("user", "pseudonym"))
    rows = standing(campaign).filter(part__isnull=False)
    screens = (
        rows.order_by("expert", "position")
        .values_list("expert", "position")
        .annotate(low=Min("unit"), high=Max("unit"))
        .filter(low__lt=F("high"))
    )
    for expert, position, *_units in screens.iterator(CHUNK):
        yield f"screen {position} of {names.get(expert, 'somebody')} holds several units"
    queue = (
        rows.filter(answered_at__isnull=True)
        .order_by("expert", "queue")
        .values_list("expert", "queue")
        .annotate(low=Min("position"), high=Max("position"))
        .filter(low__lt=F("high"))
    )
    for expert, _place, low, high in queue.iterator(CHUNK):
        yield f"screens {low} and {high} of {names.get(expert, 'somebody')} come up at the same place"
