"""Outputs: what a system produced hangs on a text that stands."""

from collections.abc import Iterator

from annotation.models import Campaign, Item, Output
from annotation.services.verify.rows import named


def outputs_of_what_stands(campaign: Campaign) -> Iterator[str]:
    """No output is left on a text that was replaced, where no figure would count it."""
    left = Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_why=Item.Retired.REPLACED
    )
    for system, key in named(left, "system__name", "context__key"):
        yield f"the output of {system or 'the system'} for {key} is on a text that was replaced"
