"""Figures made of sums over questions: with intervals, over runs, compared in pairs, and averaged over sets.

Each question adds a row of numbers (right or not; matching n-grams; a similarity), and a figure is a function of the
sums of these rows. So nothing is scored anew to draw questions anew: a resample adds rows up.

- *Interval*: questions are drawn anew with replacement, the same ones for every system and run; 95 % percentiles.
- *p*: approximate randomisation; what two systems said to a question is swapped at random, with all their runs, and
  has the +1 of `significance`. Swapping needs as many runs on both sides.
- *Runs*: a system's figure is the mean over its runs; interval and p hold for these runs, the spread stands beside
  them.
- *Sets*: a mean over sets gives each set the same weight; the questions of each are drawn and swapped for themselves.

Sources: Efron and Tibshirani (1993), chapters 13 and 16; Koehn (2004), EMNLP, for resampled BLEU; Riezler and Maxwell
(2005), ACL workshop, for randomisation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.proportions import RESAMPLES, Interval, reasons
from scoring.stats.significance import SHUFFLES, Difference, Spread, drawn_counts, p_value, spread

Floats = NDArray[np.float64]
OfSums = Callable[[Floats], Floats]  # (…, columns) sums to (…, measures) figures, in points

# Questions × resamples (or shuffles) at once: 32 MiB of weights.
_CHUNK = 4_000_000
# Figures are made by logarithms and roots; a swap that gives the observed difference again must count.
_CLOSE = 1e-9

NOTE = say(
    "Differences are paired, question by question. Intervals and p-values hold for these runs and this set; the spread "
    "over runs stands beside them."
)
ALIKE = say("every question scores alike, or there is one only: nothing to resample")
NOT_APART = say("no resample differs from another: nothing to tell the two apart")


@dataclass(frozen=True, kw_only=True)
class Family:
    """Figures that are functions of the same sums."""

    name: str
    measures: tuple[str, ...]
    of_sums: OfSums


@dataclass(frozen=True, eq=False, kw_only=True)
class SystemRows:
    """A system on one set: for each run (questions, columns), all in the order of the set's questions."""

    name: str
    runs: tuple[Floats, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(f"{self.name} has no run")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One system's figure over its runs with the 95 % interval over questions; None with a reason where undefined."""

    spread: Spread
    interval: Interval | None
    method: str | None
    ci95_reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{mean, sd, n, values, ci95, ci95_method}`, with reasons where undefined; `n` counts runs."""
        found = self.spread.as_json()
        kept = {
            name: found[name]
            for name in ("mean", "sd", "n", "values", "reason", "sd_reason")
            if name in found
        }
        return {
            **kept,
            "ci95": None if self.interval is None else list(self.interval),
            "ci95_method": self.method,
            **reasons(self.ci95_reason, "ci95_reason"),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawn:
    """Systems on one set, or averaged over several: as measured, as resampled, as swapped.

    Attributes:
        measures: names of the figures, the last axis of what follows.
        names: of the systems; n: questions.
        values: by system (runs, measures).
        resampled: by system (resamples, measures), the mean over its runs; None where there is one question only.
        swapped: by pair of systems with as many runs (shuffles, measures), the difference of their means.
    """

    measures: tuple[str, ...]
    names: tuple[str, ...]
    n: int
    values: tuple[Floats, ...]
    resampled: tuple[Floats, ...] | None
    swapped: dict[tuple[int, int], Floats]

    def figure(self, system: int, measure: str) -> Figure:
        """One system's figure and its interval."""
        place = self.measures.index(measure)
        values = self.values[system][:, place].tolist()
        made = spread(self.names[system], measure, values)
        bounds = None if self.resampled is None else _percentiles(self.resampled[system][:, place])
        if bounds is None or made.mean is None:
            return Figure(spread=made, interval=None, method=None, ci95_reason=ALIKE)
        held = (min(bounds[0], made.mean), max(bounds[1], made.mean))
        return Figure(spread=made, interval=held, method="bootstrap-over-questions")

    def difference(self, a: int, b: int, measure: str) -> Difference:
        """One system's figure less another's, with interval and p; Holm is the caller's, who knows the family."""
        place = self.measures.index(measure)
        value_a, value_b = (float(self.values[side][:, place].mean()) for side in (a, b))
        apart = value_a - value_b
        bounds = None
        if self.resampled is not None:
            bounds = _percentiles(self.resampled[a][:, place] - self.resampled[b][:, place])
        found = Difference(
            measure=measure, a=self.names[a], b=self.names[b], n=self.n, unit="questions", value_a=value_a,
            value_b=value_b, difference=apart, ci95_reason=NOT_APART,
        )  # fmt: skip
        if bounds is not None:
            held = (min(bounds[0], apart), max(bounds[1], apart))
            found = replace(found, interval=held, method="paired-bootstrap", ci95_reason=None)
        swapped = self.swapped.get((a, b))
        if swapped is None:
            return replace(found, p_reason=_unequal(len(self.values[a]), len(self.values[b])))
        extreme = int((np.abs(swapped[:, place]) >= abs(apart) - _CLOSE).sum())
        return replace(found, p=p_value(extreme, len(swapped)))


def draw(
    systems: Sequence[SystemRows],
    of_sums: OfSums,
    measures: Sequence[str],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    shuffles: int = SHUFFLES,
    pairs: Sequence[tuple[int, int]] | None = None,
    alive: Callable[[], None] = lambda: None,
) -> Drawn:
    """Measures systems on one set, draws its questions anew and swaps what the systems said.

    Args:
        systems: one or more, of the same questions and columns; of_sums: what figures are of sums, named by `measures`.
        seed, resamples, shuffles: of the bootstrap and the randomisation, shared by all systems; a system or pair does
            not depend on which others are there.
        pairs: to be compared; every two by default, none with ().
        alive: is called every now and then while this goes on.

    Raises:
        ValueError: two systems under one name, or rows of different shapes.

    >>> right = np.array([[1, 1]] * 30 + [[0, 1]] * 10, dtype=np.float64)
    >>> wrong = np.array([[1, 1]] * 10 + [[0, 1]] * 30, dtype=np.float64)
    >>> two = [SystemRows(name="a", runs=(right,)), SystemRows(name="b", runs=(wrong,))]
    >>> found = draw(two, lambda sums: 100 * sums[..., :1] / sums[..., 1:], ["accuracy"])
    >>> one = found.difference(0, 1, "accuracy")
    >>> one.value_a, one.difference, one.p < 0.001, found.figure(0, "accuracy").interval[0] > 55
    (75.0, 50.0, True, True)
    """
    _check(systems)
    together = np.concatenate([run for system in systems for run in system.runs], axis=1)
    ends = np.cumsum([len(system.runs) for system in systems])[:-1]
    layout = _Layout(runs=sum(len(system.runs) for system in systems), ends=ends, of_sums=of_sums)
    wanted = combinations(range(len(systems)), 2) if pairs is None else pairs
    comparable = [(a, b) for a, b in wanted if len(systems[a].runs) == len(systems[b].runs)]
    return Drawn(
        measures=tuple(measures),
        names=tuple(system.name for system in systems),
        n=len(together),
        values=tuple(layout.by_system(together.sum(axis=0))),
        resampled=_resampled(together, layout, seed=seed, resamples=resamples, alive=alive)
        if len(together) > 1
        else None,
        swapped=_swapped(together, layout, comparable, seed=seed, shuffles=shuffles, alive=alive)
        if comparable
        else {},
    )


def mean_over_sets(sets: Sequence[Drawn]) -> Drawn:
    """The plain mean over sets, of the same systems in the same order.

    Runs are averaged run by run where each system has as many in every set; else each system has one mean. Resamples
    and swaps of different sets are independent, so their means are drawn from the mean.

    >>> rows = np.array([[1.0, 1], [0, 1]] * 20)
    >>> of_sums = lambda sums: 100 * sums[..., :1] / sums[..., 1:]
    >>> easy = draw([SystemRows(name="a", runs=(rows * [[2, 1]],))], of_sums, ["accuracy"], seed=1)
    >>> hard = draw([SystemRows(name="a", runs=(rows,))], of_sums, ["accuracy"], seed=2)
    >>> mean_over_sets([easy, hard]).figure(0, "accuracy").spread.mean
    75.0
    """
    first = sets[0]
    systems = range(len(first.names))
    resampled: list[Floats] | None = []
    for system in systems:
        of_sets = [found.resampled[system] for found in sets if found.resampled is not None]
        if resampled is None or len(of_sets) < len(sets):
            resampled = None
            break
        resampled.append(np.mean(of_sets, axis=0))
    shared = set.intersection(*(set(found.swapped) for found in sets))
    return Drawn(
        measures=first.measures,
        names=first.names,
        n=sum(found.n for found in sets),
        values=tuple(_mean_of_runs([found.values[system] for found in sets]) for system in systems),
        resampled=None if resampled is None else tuple(resampled),
        swapped={pair: np.mean([found.swapped[pair] for found in sets], axis=0) for pair in sorted(shared)},
    )


def _mean_of_runs(values: Sequence[Floats]) -> Floats:
    if len({len(of_set) for of_set in values}) > 1:
        values = [of_set.mean(axis=0, keepdims=True) for of_set in values]
    return np.asarray(np.mean(values, axis=0), dtype=np.float64)


def _check(systems: Sequence[SystemRows]) -> None:
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise ValueError("two systems carry one name: pass their runs as runs of one system")
    shapes = {run.shape for system in systems for run in system.runs}
    if len(shapes) != 1:
        raise ValueError("systems are compared on the same questions only")


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where each run's columns stand in the rows of all, and what is made of their sums."""

    runs: int
    ends: NDArray[np.int64]
    of_sums: OfSums

    def by_run(self, sums: Floats) -> Floats:
        """(…, runs · columns) to (…, runs, columns)."""
        return sums.reshape(*sums.shape[:-1], self.runs, -1)

    def by_system(self, sums: Floats) -> list[Floats]:
        """(…, runs · columns) to (…, runs of the system, measures) for each system."""
        return np.split(self.of_sums(self.by_run(sums)), self.ends, axis=-2)

    def of_run(self, sums: Floats, system: int) -> Floats:
        """(…, runs · columns) to (…, runs of the system, columns)."""
        return np.split(self.by_run(sums), self.ends, axis=-2)[system]


def _resampled(
    rows: Floats, layout: _Layout, *, seed: int, resamples: int, alive: Callable[[], None]
) -> tuple[Floats, ...]:
    rng, n = np.random.default_rng(seed), len(rows)
    step = max(1, _CHUNK // n)
    parts = []
    for start in range(0, resamples, step):
        alive()
        sums = drawn_counts(rng, n, min(step, resamples - start)) @ rows
        parts.append([figures.mean(axis=-2) for figures in layout.by_system(sums)])
    return tuple(np.concatenate([part[system] for part in parts]) for system in range(len(parts[0])))


def _swapped(
    rows: Floats,
    layout: _Layout,
    pairs: Sequence[tuple[int, int]],
    *,
    seed: int,
    shuffles: int,
    alive: Callable[[], None],
) -> dict[tuple[int, int], Floats]:
    """What a shuffle gives to one system it takes from the other: one product of coins and rows serves all pairs."""
    rng, n = np.random.default_rng([seed, 1]), len(rows)
    totals, step = rows.sum(axis=0), max(1, _CHUNK // n)
    parts: dict[tuple[int, int], list[Floats]] = {pair: [] for pair in pairs}
    for start in range(0, shuffles, step):
        alive()
        size = min(step, shuffles - start)
        bits = np.unpackbits(rng.integers(0, 256, size=(size, -(-n // 8)), dtype=np.uint8), axis=1)
        chosen = bits[:, :n].astype(np.float64) @ rows
        for a, b in pairs:
            moved = layout.of_run(chosen, b) - layout.of_run(chosen, a)
            of_a, of_b = layout.of_run(totals, a) + moved, layout.of_run(totals, b) - moved
            parts[a, b].append((layout.of_sums(of_a) - layout.of_sums(of_b)).mean(axis=-2))
    return {pair: np.concatenate(found) for pair, found in parts.items()}


def _percentiles(values: Floats) -> Interval | None:
    low, high = (float(bound) for bound in np.quantile(values, [0.025, 0.975]))
    return None if high - low < _CLOSE else (low, high)


def _unequal(a: int, b: int) -> str:
    return say(
        "swapping needs as many runs of both systems ({a} and {b} here); the interval holds without it",
        a=a,
        b=b,
    )
