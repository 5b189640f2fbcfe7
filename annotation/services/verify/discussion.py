"""Talking and judging again: only once nobody is to judge blind any more, and by the same people."""

from collections.abc import Iterator

from django.db.models import Exists, OuterRef, Q

from annotation.models import Arbitration, Assignment, Campaign, Round, Thread
from annotation.services.effective import AGAIN
from annotation.services.frozen import OPEN_BATCH
from annotation.services.verify.rows import named, standing


def discussion_waits(campaign: Campaign) -> Iterator[str]:
    """What is opened to discussion, or decided by an arbiter, is not being judged blind in the main round or a dry run.

    An item of a dry run may have been talked about before the main round came, and what is decided on an answer from a
    file before the answers that it lacks.
    """
    given = Assignment.objects.filter(item=OuterRef("item"), withdrawn_at__isnull=True)
    elsewhere = given.filter(
        Q(round__kind=Round.Kind.DRY_RUN, round__state=Round.State.CLOSED)
        | Q(round__kind=Round.Kind.MAIN, part__isnull=True)
    )
    tried = given.filter(round__kind=Round.Kind.DRY_RUN, round__state=Round.State.OPEN)
    blind = Q(Exists(given.filter(OPEN_BATCH))) & ~Q(Exists(elsewhere)) | Q(Exists(tried))
    for (position,) in named(Thread.objects.filter(blind, item__campaign=campaign), "item__position"):
        yield f"the item at position {position} is open to discussion while it is judged"
    decided = Arbitration.objects.filter(blind, item__campaign=campaign, taken_back_at__isnull=True)
    for (position,) in named(decided, "item__position"):
        yield f"an arbiter decided on the item at position {position} while it is judged"


def again_in_their_slots(campaign: Campaign) -> Iterator[str]:
    """Who judges an item again has judged it on their own in that slot, and what is resolved is open to discussion."""
    own = Assignment.objects.filter(
        Q(slot=OuterRef("slot"))
        | Q(slot__gt=OuterRef("round__k")),  # of an overlap, which moves up to the first
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        item=OuterRef("item"),
        expert=OuterRef("expert"),
        answered_at__isnull=False,
        withdrawn_at__isnull=True,
    )
    again = standing(campaign).filter(round__kind__in=AGAIN)
    for kind, position, slot in named(again.filter(~Exists(own)), "round__kind", "item__position", "slot"):
        yield (
            f"slot {slot} of the item at position {position} in the {kind} round is not that of who judged it on "
            "their own"
        )
    silent = again.filter(round__kind=Round.Kind.RESOLUTION, item__thread__isnull=True)
    for (position,) in named(silent, "item__position"):
        yield f"the item at position {position} is resolved without being open to discussion"
