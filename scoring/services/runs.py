"""Which systems and runs a campaign holds translations of."""

from annotation.models import Campaign, Output

Run = tuple[str, str]  # the system and which run of it


def runs_of(campaign: Campaign) -> list[Run]:
    """System and run, in the order they were imported."""
    outputs = Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_at__isnull=True
    )
    return list(outputs.order_by("system", "run").values_list("system__name", "run").distinct())


def title_of(run: Run) -> str:
    """What a run is called where several stand side by side."""
    return " / ".join(name for name in run if name)
