"""What a manager may want to settle before the labels of a campaign are final: batches to close, contrasts to resolve.

Contrasts are told of closed batches only: how answers compare stays closed while they can still be changed.
"""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Campaign, Design, HandIn, Round
from annotation.services.effective import AGAIN
from annotation.services.resolution import contrasts


@dataclass(frozen=True, kw_only=True)
class Unsettled:
    """`to_close`: numbers of open batches that nobody is at work in. `contrasts`: items of closed batches whose answers
    contrast, without those that an arbiter decided or that are being judged again.
    """

    to_close: tuple[int, ...] = ()
    contrasts: int = 0

    def __bool__(self) -> bool:
        return bool(self.to_close or self.contrasts)


def unsettled(campaign: Campaign, *, imported: bool) -> Unsettled:
    """One query, and five more where answers are frozen: a batch is closed, or judgements were imported. None in a
    campaign that is closed, or where each item has one expert.
    """
    if campaign.closed_at is not None or campaign.annotators_per_item == 1:
        return Unsettled()
    batches = _batches(campaign)
    frozen = imported or any(batch.closed for batch in batches)
    return Unsettled(
        to_close=tuple(number for number, batch in enumerate(batches, start=1) if batch.ready),
        contrasts=_contrasts(campaign) if frozen else 0,
    )


@dataclass(frozen=True)
class _Batch:
    """Whether it is closed, and whether it could be: all of it answered and handed in."""

    closed: bool
    ready: bool


def _batches(campaign: Campaign) -> list[_Batch]:
    """Every batch, the first one first."""
    counted = Assignment.objects.filter(
        part__design=OuterRef("pk"), withdrawn_at__isnull=True, item__retired_at__isnull=True
    )
    handed_in = HandIn.objects.filter(part=OuterRef("part"), expert=OuterRef("expert"))
    designs = (
        Design.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN)
        .annotate(
            given=Exists(counted),
            at_work=Exists(counted.filter(answered_at__isnull=True))
            | Exists(counted.filter(~Exists(handed_in))),
        )
        .order_by("pk")
        .values_list("closed_at", "given", "at_work")
    )
    return [
        _Batch(closed=closed_at is not None, ready=closed_at is None and given and not at_work)
        for closed_at, given, at_work in designs
    ]


def _contrasts(campaign: Campaign) -> int:
    at_work = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind__in=AGAIN,
        round__state=Round.State.OPEN,
        withdrawn_at__isnull=True,
    )
    found = contrasts(campaign)
    return len({*found.items, *found.blocked} - set(at_work.values_list("item", flat=True)))
