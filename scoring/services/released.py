"""Which labels the last release of a campaign holds."""

from annotation.models import Campaign
from scoring.models import Release


def labels_frozen_last(campaign: Campaign) -> int | None:
    """Their version, 0 where they were imported; None without a release. One query."""
    labels = Release.objects.filter(campaign=campaign).values_list("manifest__labels", flat=True).first()
    return None if labels is None else int(labels.get("label_version") or 0)
