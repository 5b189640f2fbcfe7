"""The statistics at the sizes that matter, each in a process of its own: seconds, and the most memory it took."""

import json
from dataclasses import dataclass

from benchmarks.site import Site

COMPOUNDS = 2_160  # in five contexts
RESAMPLES = 1_000


@dataclass(frozen=True)
class Cost:
    """What a statistic took."""

    what: str
    seconds: float
    mib: float


def measure_stats(site: Site, *, n_items: int) -> list[Cost]:
    """Error rates from arrays; agreement of a stored campaign, its queries included."""
    site.manage("fill", str(n_items), "2", "answered")
    return [
        _cost(
            site, f"error rates, all rows, 10,800 instances, {RESAMPLES} clustered resamples", "error-rates"
        ),
        _cost(
            site, f"agreement, all coefficients with intervals, {n_items:,} items × 2, queries", "agreement"
        ),
    ]


def _cost(site: Site, what: str, kind: str) -> Cost:
    found = json.loads(site.manage("stats", kind))
    return Cost(f"{what} ({site.name})", found["seconds"], found["mib"])
