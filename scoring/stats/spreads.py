"""What plans need of systems that were measured already: how far two part on a unit, and how far runs part.

A unit is a compound or a triple; spreads are standard deviations over units, on the scale 0 to 1, times √n where a
figure is no mean over units (AUC), so that spread / √n is the error of a difference on n units.

Sources: DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44, 837–845, for two AUCs on the same cases; Searle,
Casella and McCulloch (1992), Variance Components, chapter 3, for what lies between runs.
"""

from collections.abc import Iterable, Sequence
from math import fsum, sqrt
from statistics import variance

import numpy as np
from numpy.typing import NDArray

from scoring.stats.classification import IMPLAUSIBLE, PLAUSIBLE
from scoring.stats.error_rates import CONTEXTS, UNDECIDED, WRONG
from scoring.stats.planning import paired_spread
from scoring.stats.systems import SystemTable

Floats = NDArray[np.float64]


def paired_rate_spreads(table: SystemTable, a: int, b: int) -> dict[str, float | None]:
    """Of two columns of a table: by `instance` and `aggregate` the spread of their paired difference.

    Only instances judged in both count, for the aggregate rate only compounds with five of them. None with fewer than
    two such compounds.

    >>> from scoring.stats.error_rates import Instances
    >>> from scoring.stats.systems import JudgedSystem, system_table
    >>> def judged(verdicts):
    ...     return Instances(unit=np.repeat(["a", "b", "c"], 5), context=np.arange(15), cannot_judge=np.zeros(15, bool),
    ...                      verdict=np.array(verdicts, dtype=np.int8))
    >>> one, two = judged([1] * 15), judged([0] + [1] * 14)
    >>> table = system_table([JudgedSystem(name="x", runs=(one,)), JudgedSystem(name="y", runs=(two,))])
    >>> {name: round(value, 3) for name, value in paired_rate_spreads(table, 0, 1).items()}
    {'instance': 0.115, 'aggregate': 0.577}
    """
    both = (table.verdict[:, [a, b]] != UNDECIDED).all(axis=1)
    sizes = table.per_unit(both)
    wrong = [table.per_unit(both & (table.verdict[:, column] == WRONG)) for column in (a, b)]
    there, whole = sizes > 0, sizes == CONTEXTS
    held = (wrong[0] > 0).astype(np.int64) - (wrong[1] > 0).astype(np.int64)
    return {
        "instance": paired_spread((wrong[0] - wrong[1])[there], sizes[there]),
        "aggregate": paired_spread(held[whole], np.ones(int(whole.sum()), dtype=np.int64)),
    }


def paired_auc_spread(label: NDArray[np.int8], a: Floats, b: Floats) -> float | None:
    """The same for the AUCs of two sets of scores of the same triples, after DeLong.

    Args, shape (n,): `label` 1 or 0; `a`, `b` the scores.

    A plausible triple's place is the share of implausible ones it beats, an implausible one's the share of plausible
    ones that beat it (ties a half); the variance of the difference is s²/m + s′²/n over the differences of these
    places. None with fewer than two triples of a class.

    >>> label = np.array([1, 1, 0, 0], dtype=np.int8)
    >>> round(paired_auc_spread(label, np.array([0.9, 0.4, 0.6, 0.1]), np.array([0.9, 0.8, 0.2, 0.1])), 3)
    0.707
    """
    plausible, implausible = label == PLAUSIBLE, label == IMPLAUSIBLE
    m, n = int(plausible.sum()), int(implausible.sum())
    if min(m, n) < 2:
        return None
    above, below = (
        _places(a[mine], a[others]) - _places(b[mine], b[others])
        for mine, others in ((plausible, implausible), (implausible, plausible))
    )
    return sqrt((m + n) * (float(above.var(ddof=1)) / m + float(below.var(ddof=1)) / n))


def _places(scores: Floats, others: Floats) -> Floats:
    """(scores,) the share of the others below each score, ties a half."""
    ordered = np.sort(others)
    lower, upper = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    return np.asarray((lower + upper) / (2 * ordered.size), dtype=np.float64)


def pooled(spreads: Iterable[float | None]) -> float | None:
    """One spread for several pairs: the root of their mean variance; None where none is known.

    >>> pooled([3.0, None, 4.0]) == sqrt(12.5)
    True
    """
    known = [one * one for one in spreads if one is not None]
    return sqrt(fsum(known) / len(known)) if known else None


def seed_sd(runs: Sequence[Sequence[float]], *, run_spread: float, units: int) -> float | None:
    """Standard deviation between seeds of one system, on the scale of the figures.

    Args:
        runs: for each system its runs' figures; systems with one run say nothing.
        run_spread: as in `to_detect`, on the same scale.
        units: that the figures are over.

    Figures of runs differ also because a run meets each unit differently: on n units that is run_spread² / 2n of
    their variance, which more units make smaller and more seeds do not. It is taken off; what is left is pooled over
    systems by their degrees of freedom. None where no system has two runs, 0 where nothing is left.

    >>> round(seed_sd([[25.0, 29.0, 31.0], [60.0]], run_spread=40.0, units=720), 3)
    2.867
    """
    several = [of_system for of_system in runs if len(of_system) > 1]
    if not several:
        return None
    degrees = sum(len(of_system) - 1 for of_system in several)
    found = fsum((len(of_system) - 1) * variance(of_system) for of_system in several) / degrees
    return sqrt(max(0.0, found - run_spread**2 / (2 * units)))
