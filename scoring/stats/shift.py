"""A shift between batches: do the same people call more of the same items wrong later than they did before?

Where one system is judged weeks after another, its error rate differs also because the judges do. A random share of
what they judged before is therefore mixed in among the new items, unmarked; on these items nothing but the judging has
changed. *Shift* is the paired difference of the two rates on them, later less before, in points: +2 says that in the
later batch two more of a hundred items are called wrong by the same people, and that so much of a difference between
a system of the one batch and a system of the other needs no difference between the systems.

Its interval takes whole compounds, since the contexts of a compound come again together. It holds two intervals and is
as wide as both together:

- Student's, of the mean over compounds (a ratio where they differ in size);
- where few compounds moved, one made of two exact ones (Clopper and Pearson) of the share of compounds that moved up
  and of those that moved down, each at 97.5 %, so that both hold together with at least 95 %, times the part of such a
  compound that moved, as observed. A compound that moved may have moved as a whole: where fewer than five came again,
  the upper bounds take that as possible, and the interval says how little is known. Where many moved it is a bootstrap
  over compounds.

In simulations (5 and 12 items a compound, 5 to 40 compounds, shifts of 0 to 25 points) it covers 92 to 100 % where
compounds move alike, and 85 to 100 % where they differ so much that most do not move at all (beta-distributed with
a sum of parameters of 2); with fewer than five compounds 100 %. With one item a compound it is on the wide side.

A shift is reported beside a comparison, not subtracted from it: it is known only as well as its interval says.

Sources: Efron and Tibshirani (1993), chapters 8 and 13, for clusters and percentile intervals; Clopper and Pearson
(1934), Biometrika 26, 404–413; Bonferroni for the two together; Cochran (1977), Sampling Techniques, 2.11, for the
variance of a ratio.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.proportions import (
    LEVEL,
    RESAMPLES,
    Interval,
    bootstrap_ratio,
    clopper_pearson,
    percent,
    percent_interval,
    reasons,
)

VERSION = 2
FEW = 10  # compounds that moved: below, the exact interval
HARDLY_ANY = 5  # compounds: with fewer, one that moved may have moved as a whole

WRONG, UNDECIDED = 0, -1


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedTwice:
    """Verdicts given before and later, row by row, shape (repeats,).

    `before`, `later`: 1 correct, 0 wrong, -1 for "cannot judge" (such a row counts for nothing). `person`: who gave
    both. `unit`: the compound, a cluster.
    """

    before: NDArray[np.int8]
    later: NDArray[np.int8]
    person: Sequence[str]
    unit: Sequence[Hashable]

    def __post_init__(self) -> None:
        if len({self.before.size, self.later.size, len(self.person), len(self.unit)}) != 1:
            raise ValueError("all columns of what was judged twice need the same length")


@dataclass(frozen=True, kw_only=True)
class BatchShift:
    """`n` items judged both times, in `units` compounds: wrong `before` and `later` (counts), and the difference of the
    two rates, −1 to 1, with its 95 % interval and the method it was made by. None with its `reason` where nothing was
    judged both times.
    """

    n: int
    units: int
    before: int
    later: int
    difference: float | None
    interval: Interval | None
    method: str | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{n, units, wrong_before, wrong_later, difference, ci95, ci95_method}`, the difference in points."""
        return {
            "n": self.n,
            "units": self.units,
            "wrong_before": self.before,
            "wrong_later": self.later,
            "difference": percent(self.difference),
            "ci95": percent_interval(self.interval),
            "ci95_method": self.method,
            **reasons(self.reason, "reason", "ci95_reason"),
        }


@dataclass(frozen=True, kw_only=True)
class ShiftReport:
    """All people pooled, and each apart, in order of first appearance."""

    pooled: BatchShift
    by_person: Mapping[str, BatchShift]
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{pooled, by_person, signature}`."""
        return {
            "pooled": self.pooled.as_json(),
            "by_person": {name: found.as_json() for name, found in self.by_person.items()},
            "signature": self.signature,
        }


def shift_report(judged: JudgedTwice, *, seed: int, resamples: int = RESAMPLES) -> ShiftReport:
    """The shift of all and of each.

    Args:
        judged: the items that came again, each person's apart.
        seed, resamples: of the bootstrap over compounds.

    >>> judged = JudgedTwice(before=np.array([1, 1, 0, 1], dtype=np.int8), later=np.array([0, 1, 0, 1], dtype=np.int8),
    ...                      person=["A1", "A1", "A2", "A2"], unit=["a", "b", "a", "c"])
    >>> found = shift_report(judged, seed=1)
    >>> found.pooled.difference, found.by_person["A1"].difference, found.by_person["A2"].difference
    (0.25, 0.5, 0.0)
    """
    people = np.array(judged.person, dtype=object)
    number = {key: place for place, key in enumerate(dict.fromkeys(judged.unit))}
    units = np.array([number[key] for key in judged.unit], dtype=np.int64)

    def of(rows: NDArray[np.bool_]) -> BatchShift:
        return batch_shift(
            judged.before[rows], judged.later[rows], units[rows], seed=seed, resamples=resamples
        )

    return ShiftReport(
        pooled=of(np.ones(people.size, dtype=np.bool_)),
        by_person={name: of(people == name) for name in dict.fromkeys(judged.person)},
        signature=f"batch-shift|ver:{VERSION}|n:{people.size}|few:{FEW}/{HARDLY_ANY}|seed:{seed}|resamples:{resamples}",
    )


def batch_shift(
    before: NDArray[np.int8],
    later: NDArray[np.int8],
    units: NDArray[np.int64],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> BatchShift:
    """The paired difference of two rates of wrong on the same items.

    Of forty compounds of one item each, twelve were called wrong before; later the same twelve and six more:

    >>> before = np.array([0] * 12 + [1] * 28, dtype=np.int8)
    >>> later = np.array([0] * 18 + [1] * 22, dtype=np.int8)
    >>> found = batch_shift(before, later, np.arange(40), seed=1)
    >>> found.before, found.later, found.difference, found.method
    (12, 18, 0.15, 'clopper-pearson-of-both-directions+student')
    >>> [round(bound, 2) for bound in found.interval]
    [-0.05, 0.32]
    """
    both = (before != UNDECIDED) & (later != UNDECIDED)
    n = int(both.sum())
    if not n:
        reason = say("nothing was judged both times")
        return BatchShift(
            n=0, units=0, before=0, later=0, difference=None, interval=None, method=None, reason=reason
        )
    was, now, clusters = (
        before[both] == WRONG,
        later[both] == WRONG,
        np.unique(units[both], return_inverse=True),
    )
    sizes = np.bincount(clusters[1])
    moved = np.bincount(clusters[1], weights=now.astype(np.int64) - was.astype(np.int64))
    moved = np.rint(moved).astype(np.int64)
    if np.count_nonzero(moved) < FEW:
        interval, method = _exact(moved, sizes), "clopper-pearson-of-both-directions+student"
    else:
        interval = bootstrap_ratio(moved, sizes, seed=seed, resamples=resamples)
        method = "cluster-bootstrap+student"
    wider = _student(moved, sizes)
    interval = min(interval[0], wider[0]), max(interval[1], wider[1])
    difference = int(moved.sum()) / n
    return BatchShift(
        n=n,
        units=sizes.size,
        before=int(was.sum()),
        later=int(now.sum()),
        difference=difference,
        interval=(min(interval[0], difference), max(interval[1], difference)),
        method=method,
    )


def _student(moved: NDArray[np.int64], sizes: NDArray[np.int64]) -> Interval:
    """Of the ratio of the two sums, by what each compound moved more or less than that; all there is for one compound.

    >>> [round(bound, 3) for bound in _student(np.array([1, 0, 2, 1]), np.array([5, 5, 5, 5]))]
    [-0.06, 0.46]
    """
    from scipy.special import stdtrit  # noqa: PLC0415

    n = sizes.size
    if n == 1:
        return -1.0, 1.0
    ratio = float(moved.sum() / sizes.sum())
    spread = float(np.sqrt(((moved - ratio * sizes) ** 2).sum() / (n - 1) / n) / sizes.mean())
    half = float(stdtrit(n - 1, 1 - (1 - LEVEL) / 2)) * spread
    return max(-1.0, ratio - half), min(1.0, ratio + half)


def _exact(moved: NDArray[np.int64], sizes: NDArray[np.int64]) -> Interval:
    """Of the mean over compounds of the part that moved: exact bounds of how many compounds moved up and how many down,
    times the mean part of such a compound that did. Where none moved in a direction, that part is taken as in the
    other; where none moved at all, or hardly any compound came again, as the whole in the upper bounds.

    >>> [round(bound, 3) for bound in _exact(np.array([1, 0, 0, 0, 0]), np.array([5, 5, 5, 5, 5]))]
    [-0.116, 0.153]
    """
    level = 1 - (1 - LEVEL) / 2
    part = moved / sizes
    usual = float(np.abs(part[part != 0]).mean()) if part.any() else 1.0
    up, down = (_of_direction(part[part * sign > 0], sizes.size, usual, level) for sign in (1, -1))
    return max(-1.0, up[0] - down[1]), min(1.0, up[1] - down[0])


def _of_direction(part: NDArray[np.float64], compounds: int, usual: float, level: float) -> Interval:
    mean = float(np.abs(part).mean()) if part.size else usual
    low, high = clopper_pearson(part.size, compounds, level=level)
    return low * mean, high * (1.0 if compounds < HARDLY_ANY else mean)
