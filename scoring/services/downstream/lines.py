"""The lines of a board: every system with what its runs scored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scoring.models import Benchmark, BenchmarkSubmission
from scoring.services.benchmarks import latest_runs
from scoring.services.downstream.scores import Floats
from scoring.services.kept_sentences import as_measured


@dataclass(frozen=True, eq=False, kw_only=True)
class Line:
    """A system on a benchmark: by family each run's rows, or why there are none."""

    system: str
    human: bool
    runs: Sequence[BenchmarkSubmission]
    rows: Mapping[str, tuple[Floats, ...]]
    undefined: Mapping[str, str]
    signatures: Sequence[str]

    @property
    def title(self) -> str:
        """What tells it from every other line. People may bear a system's name, but no name holds what comes before
        theirs; it is never shown, since they are compared with nobody.
        """
        return f"\x1f{self.system}" if self.human else self.system


def lines_of(benchmark: Benchmark) -> list[Line]:
    """The systems of a benchmark by name, people last; two queries. Submissions that wait to be scored are left out."""
    scored = benchmark.submissions.filter(scored_at__isnull=False)
    latest = latest_runs(list(scored.defer("statistics")))
    whole = scored.in_bulk([run.pk for runs in latest.values() for run in runs])
    return [_line(system, human, [whole[run.pk] for run in runs]) for (human, system), runs in latest.items()]


def _line(system: str, human: bool, runs: Sequence[BenchmarkSubmission]) -> Line:
    told = [as_measured(run.statistics["told"]) for run in runs if run.statistics is not None]
    undefined = {name: why for one in reversed(told) for name, why in one["undefined"].items()}
    kept = [run.statistics["rows"] for run in runs if run.statistics is not None]
    families = [name for name in kept[0] if name not in undefined]
    rows = {name: tuple(np.array(one[name], dtype=np.float64) for one in kept) for name in families}
    return Line(
        system=system,
        human=human,
        runs=runs,
        rows=rows,
        undefined=undefined,
        signatures=[one["signature"] for one in told],
    )
