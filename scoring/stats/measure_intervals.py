"""95 % intervals of AUC, F1, precision and recall over items, for one run and for the mean of several.

Items are what is drawn from a population; labels, scores and calls come with them. Nothing here is drawn at random, so
there is no seed. Percentiles of a bootstrap over items were tried first: at 60 and 200 items they held the true value
87 and 91 times of a hundred for an AUC of 0.95 and 90 and 92 times for an F1 of 0.91, and of a perfect run they make an
interval without width. What the methods here hold stands in docs/coverage.md.

- *AUC*: the variance from each item's share in it (DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44, 837–845),
  the interval on the logit scale, where it cannot leave 0 to 1, with the quantile of t for variances estimated from two
  classes (Brunner and Munzel 2000, Biometrical Journal 42, 17–25). The classes need not be held fixed for it: AUC does
  not depend on their sizes. Where the items of a class have all the same share (AUC 0 or 1, a class of one item) the
  score interval with Hanley and McNeil's variance (Newcombe 2006, Statistics in Medicine 25, 559–573, method 5), which
  keeps its width.
- *Precision and recall* of one run are plain shares, of the items called plausible and of the plausible ones: Wilson,
  exact where none or all are hits.
- *F1* of one run is 2J / (1 + J), where J is the share of hits among the items that are plausible or called so
  (Jaccard). J is a plain share as well, and the ends of its interval are carried over.
- *A mean over runs* (or over the slots of experts) is one of the same items: each item's shares in the runs' figures
  are averaged before their variance is taken, so that what the runs have in common is not counted as independent; logit
  scale again. Where nothing varies, the mean of the runs' own bounds, which is on the wide side.

Every interval is conditional on the runs at hand: how much another training seed would move the figure is the spread
over runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.proportions import LEVEL, Interval, percent_interval, reasons, share_of_units

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OF_CALLS = ("f1", "precision", "recall")
MEASURES = ("auc", *OF_CALLS)

_Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
# Variances of constant shares come out as rounding errors of this size.
_NO_VARIANCE = 1e-15
_UNDEFINED = {
    "auc": say("the AUC itself is undefined"),
    "f1": say("the F1 itself is undefined"),
    "precision": say("the precision itself is undefined"),
    "recall": say("the recall itself is undefined"),
}


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """An interval (shares 0 to 1) and the method that gave it; None with a reason where there is none."""

    interval: Interval | None
    method: str | None
    reason: str | None = None

    def as_json(self, name: str) -> dict[str, Any]:
        """`{NAME_ci95, NAME_ci95_method}` in percent, with `NAME_ci95_reason` where it is null.

        >>> Bounds(interval=(0.25, 0.5), method="wilson").as_json("recall")
        {'recall_ci95': [25.0, 50.0], 'recall_ci95_method': 'wilson'}
        """
        return {
            f"{name}_ci95": percent_interval(self.interval),
            f"{name}_ci95_method": self.method,
            **reasons(self.reason, f"{name}_ci95_reason"),
        }


def no_bounds(measure: str) -> Bounds:
    """Of a measure that is itself undefined."""
    return Bounds(interval=None, method=None, reason=_UNDEFINED[measure])


def auc_bounds(plausible: Bools, runs: Sequence[Floats]) -> Bounds:
    """The interval of the AUC of one run, or of its mean over several.

    Args:
        plausible: (n,) the labels; runs: one or more (n,) finite scores of the same items, higher is more plausible.

    Returns:
        The interval, by "logit-delong" or "newcombe"; None where only one class is there.

    >>> plausible = np.arange(40) % 4 == 0
    >>> scores = np.where(plausible, 0.6, 0.4) + np.arange(40) / 100
    >>> found = auc_bounds(plausible, [scores])
    >>> [round(bound, 3) for bound in found.interval], found.method
    ([0.642, 0.947], 'logit-delong')
    >>> [round(bound, 3) for bound in auc_bounds(plausible, [plausible * 1.0]).interval]  # nothing wrong in 40
    [0.866, 1.0]
    """
    first, second = int(plausible.sum()), int((~plausible).sum())
    if not first or not second:
        return no_bounds("auc")
    shares = [_shares_in_auc(plausible, score) for score in runs]
    of_plausible = np.mean([one for one, _ in shares], axis=0)
    of_others = np.mean([other for _, other in shares], axis=0)
    auc = float(of_plausible.mean())
    variances = [_variance_of_mean(values) for values in (of_plausible, of_others)]
    if min(variances) > _NO_VARIANCE:
        width = _t_quantile(variances, (first, second))
        return Bounds(interval=_logit_interval(auc, sum(variances), width), method="logit-delong")
    return Bounds(interval=_newcombe(auc, first, second), method="newcombe")


def _shares_in_auc(plausible: Bools, score: Floats) -> tuple[Floats, Floats]:
    """For each plausible item the share of others that score lower, for each other that of plausible ones higher."""
    ranks = _mid_ranks(score)
    first, second = int(plausible.sum()), int((~plausible).sum())
    lower = (ranks[plausible] - _mid_ranks(score[plausible])) / second
    higher = 1 - (ranks[~plausible] - _mid_ranks(score[~plausible])) / first
    return lower, higher


def _mid_ranks(score: Floats) -> Floats:
    """From 1; equal scores share the mean of their ranks."""
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def _variance_of_mean(values: Floats) -> float:
    return float(values.var(ddof=1)) / values.size if values.size > 1 else 0.0


def _t_quantile(variances: Sequence[float], sizes: Sequence[int]) -> float:
    """For a variance that is the sum of two estimated ones (Satterthwaite's degrees of freedom)."""
    from scipy.special import stdtrit  # noqa: PLC0415

    freedom = sum(variances) ** 2 / sum(
        one**2 / (size - 1) for one, size in zip(variances, sizes, strict=True)
    )
    return float(stdtrit(freedom, 0.5 + LEVEL / 2))


def _logit_interval(value: float, variance: float, width: float = _Z) -> Interval:
    middle, half = log(value / (1 - value)), width * sqrt(variance) / (value * (1 - value))
    return _from_logit(middle - half), _from_logit(middle + half)


def _from_logit(place: float) -> float:
    return 1 / (1 + exp(-place)) if place > 0 else exp(place) / (1 + exp(place))


def _newcombe(auc: float, first: int, second: int) -> Interval:
    """The values whose distance from the AUC is within z of their own standard deviations."""
    middle = (first + second) / 2 - 1

    def too_far(value: float) -> float:
        spread = 1 + middle * (1 - value) / (2 - value) + middle * value / (1 + value)
        return (auc - value) ** 2 - _Z * _Z * value * (1 - value) * spread / (first * second)

    return _end(too_far, auc, 0.0), _end(too_far, auc, 1.0)


def _end(too_far: Callable[[float], float], inside: float, outside: float) -> float:
    """Where `too_far` becomes positive between a value that is not and one that may be, by halving."""
    if inside == outside:
        return outside
    for _ in range(60):
        half = (inside + outside) / 2
        inside, outside = (inside, half) if too_far(half) > 0 else (half, outside)
    return inside


def call_bounds(plausible: Bools, runs: Sequence[Bools]) -> dict[str, Bounds]:
    """The intervals of F1, precision and recall of one run's calls, or of their means over several.

    Args:
        plausible: (n,) the labels; runs: one or more (n,), whether each item is called plausible.

    >>> plausible = np.arange(40) % 4 == 0
    >>> calls = plausible & (np.arange(40) > 8) | (np.arange(40) == 1)  # 7 of 10 found, one too many
    >>> {name: [round(bound, 2) for bound in one.interval] for name, one in call_bounds(plausible, [calls]).items()}
    {'f1': [0.52, 0.92], 'precision': [0.53, 0.98], 'recall': [0.4, 0.89]}
    """
    of_runs = [_of_one_run(plausible, calls) for calls in runs]
    if len(runs) == 1:
        return of_runs[0]
    return {name: _of_mean(name, plausible, runs, [one[name] for one in of_runs]) for name in OF_CALLS}


def _of_one_run(plausible: Bools, calls: Bools) -> dict[str, Bounds]:
    hits = int((plausible & calls).sum())
    return {
        "f1": _f1_bounds(hits, int((plausible | calls).sum())),
        "precision": _share_bounds("precision", hits, int(calls.sum())),
        "recall": _share_bounds("recall", hits, int(plausible.sum())),
    }


def _share_bounds(name: str, hits: int, n: int) -> Bounds:
    share = share_of_units(hits, n, nothing=_UNDEFINED[name])
    return Bounds(interval=share.interval, method=share.method, reason=share.reason)


def _f1_bounds(hits: int, either: int) -> Bounds:
    found = _share_bounds("f1", hits, either)
    if found.interval is None:
        return found
    low, high = found.interval
    return Bounds(interval=(2 * low / (1 + low), 2 * high / (1 + high)), method=f"{found.method}-of-jaccard")


def _of_mean(name: str, plausible: Bools, runs: Sequence[Bools], own: Sequence[Bounds]) -> Bounds:
    intervals = [one.interval for one in own if one.interval is not None]
    if len(intervals) < len(runs):
        return no_bounds(name)
    values, shares = zip(*(_shares_in_ratio(name, plausible, calls) for calls in runs), strict=True)
    value, variance = float(np.mean(values)), _variance_of_mean(np.mean(shares, axis=0))
    if 0 < value < 1 and variance > _NO_VARIANCE:
        return Bounds(interval=_logit_interval(value, variance), method="logit-linearised")
    low, high = np.mean(intervals, axis=0).tolist()
    return Bounds(interval=(low, high), method="mean-of-runs")


def _shares_in_ratio(name: str, plausible: Bools, calls: Bools) -> tuple[float, Floats]:
    """The figure as a ratio of sums, and how far each item moves it from its value (Taylor, first order)."""
    hits = (plausible & calls).astype(np.float64)
    below = {
        "f1": (plausible.astype(np.float64) + calls) / 2,
        "precision": calls.astype(np.float64),
        "recall": plausible.astype(np.float64),
    }[name]
    value = float(hits.sum() / below.sum())
    return value, (hits - value * below) / below.mean()


def independent_mean(values: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """The interval of a plain mean of figures of disjoint sets of items.

    Each side's distances are added as variances are, so that ends that lie apart unequally stay so (Zou and Donner
    2008, Statistics in Medicine 27, 1693–1702).

    >>> [round(bound, 3) for bound in independent_mean([0.5, 0.9], [(0.4, 0.6), (0.7, 0.95)])]
    [0.588, 0.756]
    """
    k, mean = len(values), sum(values) / len(values)
    below = sqrt(sum((value - low) ** 2 for value, (low, _) in zip(values, intervals, strict=True)))
    above = sqrt(sum((high - value) ** 2 for value, (_, high) in zip(values, intervals, strict=True)))
    return mean - below / k, mean + above / k
