"""The statistics at the sizes that matter, each in a process of its own: seconds, and the most memory it took."""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.site import Site, free_port

COMPOUNDS = 2_160  # in five contexts
RESAMPLES = 1_000
TIMES = 3


@dataclass(frozen=True)
class Cost:
    """What a statistic took; `beside` is what it is to be compared with, or of what size it was."""

    what: str
    runs: list[dict[str, Any]]
    beside: str

    @property
    def seconds(self) -> float:
        return _middle(self.runs, "seconds")

    @property
    def cpu(self) -> float:
        """Processor time, which other work on the machine stretches less."""
        return _middle(self.runs, "cpu")

    @property
    def mib(self) -> float:
        return float(max(run["mib"] for run in self.runs))


def measure_statistics(folder: Path) -> list[Cost]:
    """What arrays alone are needed for: error rates, and the paired bootstrap beside sacrebleu's own."""
    site = Site("none", f"sqlite:///{folder}/none.sqlite3", folder / "none", free_port())
    rates, texts = _runs(site, "error-rates"), _runs(site, "bleu")
    ratio = statistics.median(run["theirs"] / run["seconds"] for run in texts)
    return [
        Cost(
            f"error rates of {COMPOUNDS * 5:,} instances, all rows, {RESAMPLES:,} clustered resamples each",
            rates,
            f"{rates[0]['rows']} rows",
        ),
        Cost(
            f"paired bootstrap of character BLEU, {COMPOUNDS * 5:,} sentences, two systems, {RESAMPLES:,} resamples",
            texts,
            f"sacrebleu's own {_middle(texts, 'theirs'):.2f} s: {ratio:.1f} times as long; the same scores",
        ),
    ]


def measure_agreement(site: Site, *, n_items: int) -> Cost:
    """The agreement report of a stored campaign, its queries included."""
    site.manage("fill", str(n_items), "2", "answered")
    return cost_of_agreement(site, n_items=n_items)


def cost_of_agreement(site: Site, *, n_items: int) -> Cost:
    """The same, where the campaign is there already."""
    runs = _runs(site, "agreement")
    return Cost(
        f"agreement, all coefficients with intervals, {n_items:,} items × 2 experts, queries ({site.name})",
        runs,
        f"{runs[0]['reports']} reports: all items, by part, by relation",
    )


def _runs(site: Site, kind: str) -> list[dict[str, Any]]:
    return [json.loads(site.manage("stats", kind)) for _ in range(TIMES)]


def _middle(runs: list[dict[str, Any]], name: str) -> float:
    return float(statistics.median(run[name] for run in runs))
