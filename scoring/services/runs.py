"""Which systems and runs a campaign holds translations of, and what these are called side by side."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, count

from annotation.models import Campaign, Output

Run = tuple[str, str]  # the system and which run of it


def runs_of(campaign: Campaign) -> list[Run]:
    """System and run, in the order they were imported."""
    outputs = Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_at__isnull=True
    )
    return list(outputs.order_by("system", "run").values_list("system__name", "run").distinct())


def title_of(run: Run) -> str:
    """What a run is called, by itself."""
    return " / ".join(name for name in run if name)


def titles_of(runs: Sequence[Run]) -> list[str]:
    """What runs are called where several stand side by side, each by a title of its own.

    >>> titles_of([("m", "1"), ("m / 1", ""), ("m", "2")])
    ['m / 1', 'm / 1 / –', 'm / 2']
    """
    titles = [title_of(run) for run in runs]
    times = Counter(titles)
    return told_apart(
        [
            f"{title} / –" if times[title] > 1 and not run else title
            for title, (_system, run) in zip(titles, runs, strict=True)
        ]
    )


def told_apart(names: Sequence[str]) -> list[str]:
    """The names, each once: “x (2)” where “x” is taken."""
    told: list[str] = []
    for name in names:
        others = (f"{name} ({number})" for number in count(2))
        told.append(
            next(
                one for one in chain([name], others) if one not in told and (one == name or one not in names)
            )
        )
    return told
