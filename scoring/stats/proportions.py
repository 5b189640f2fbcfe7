"""Shares with their intervals: Wilson, the exact binomial interval, and the bootstrap over clusters.

A share counts errors among units. Where the units are independent (compounds) the interval is Wilson's, and
the exact one of Clopper and Pearson when nothing or everything is wrong. Where they come in clusters (the
five contexts of one compound) whole clusters are drawn anew: the contexts of a compound fail together, so
an interval that takes them as independent is too narrow (on the released judgements it covers about 83 %
instead of 95 %).

Functions take and give shares (0 to 1); `Share.as_json` gives percent.
"""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 1000

Interval = tuple[float, float]
Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True)
class Share:
    """`errors` among `n`, the share (0 to 1) and its 95 % interval, with the method that gave it.

    `share` and `interval` are None exactly when `n` is 0; `reason` then says why, in words.
    """

    n: int
    errors: int
    share: float | None
    interval: Interval | None
    method: str | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{n, errors, percent, ci95, ci95_method}`; with `reason` and `ci95_reason` where undefined."""
        return {
            "n": self.n,
            "errors": self.errors,
            "percent": percent(self.share),
            "ci95": percent_interval(self.interval),
            "ci95_method": self.method,
            **reasons(self.reason, "reason", "ci95_reason"),
        }


def percent(share: float | None) -> float | None:
    """A share as 0 to 100; None stays None.

    >>> percent(0.125), percent(None)
    (12.5, None)
    """
    return None if share is None else 100 * share


def percent_interval(interval: Interval | None) -> list[float] | None:
    """An interval of shares as `[lo, hi]` in percent; None stays None."""
    return None if interval is None else [100 * interval[0], 100 * interval[1]]


def reasons(reason: str | None, *keys: str) -> dict[str, str]:
    """The keys that explain an undefined value, or nothing to add where it is defined."""
    return {} if reason is None else dict.fromkeys(keys, reason)


def wilson(errors: float, n: int, *, level: float = LEVEL) -> Interval:
    """The score interval of a binomial share (Wilson 1927, JASA 22:209).

    Arguments: `errors` among `n` independent units (`errors` need not be whole: a mean rate times units may
    stand there), `level` the coverage. Result: shares 0 to 1. Raises ValueError unless 0 <= errors <= n and
    n > 0.

    >>> lo, hi = wilson(389, 720)
    >>> round(lo, 4), round(hi, 4)
    (0.5038, 0.5764)
    """
    _check_counts(errors, n)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = errors / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def clopper_pearson(errors: int, n: int, *, level: float = LEVEL) -> Interval:
    """The exact two-sided binomial interval (Clopper and Pearson 1934, Biometrika 26:404).

    Arguments and result as in `wilson`. It covers at least `level` whatever the true share, so it is wide;
    it is used here where nothing or everything is wrong. Nothing wrong in 20 units still allows up to 17 %:

    >>> lo, hi = clopper_pearson(0, 20)
    >>> lo, round(hi, 4)
    (0.0, 0.1684)
    """
    from scipy.special import betaincinv  # noqa: PLC0415

    _check_counts(errors, n)
    tail = (1 - level) / 2
    lo = 0.0 if errors == 0 else float(betaincinv(errors, n - errors + 1, tail))
    hi = 1.0 if errors == n else float(betaincinv(errors + 1, n - errors, 1 - tail))
    return lo, hi


def bootstrap_ratio(
    numerators: Integers,
    denominators: Integers,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """The percentile interval of sum(numerators) / sum(denominators) when whole clusters are drawn anew.

    Arguments: per cluster its errors and its instances, both shape (clusters,), instances > 0; `seed` of the
    generator; `resamples` drawn. Result: shares 0 to 1. Raises ValueError on empty or unequal shapes.

    Clusters with the same two numbers are interchangeable, so one draw is a multinomial over the distinct
    pairs (at most a few dozen, however many clusters): the same bootstrap, without the clusters (Efron and
    Tibshirani 1993, chapter 13, for the percentile interval; Davison and Hinkley 1997, section 3.8, for
    whole clusters).

    >>> lo, hi = bootstrap_ratio(np.array([0, 1, 2, 5]), np.array([5, 5, 5, 5]), seed=1)
    >>> 0 <= lo < 0.4 < hi <= 1
    True
    """
    if numerators.shape != denominators.shape or numerators.size == 0:
        raise ValueError("the bootstrap needs one error count and one instance count for each cluster")
    if denominators.min() <= 0:
        raise ValueError("a cluster without instances cannot be drawn: leave it out")
    pairs, counts = np.unique(np.stack([numerators, denominators], axis=1), axis=0, return_counts=True)
    generator = np.random.default_rng(seed)
    draws = generator.multinomial(numerators.size, counts / numerators.size, size=resamples)
    sums = draws @ pairs
    tail = (1 - level) / 2
    lo, hi = np.quantile(sums[:, 0] / sums[:, 1], [tail, 1 - tail])
    return float(lo), float(hi)


def share_of_units(errors: int, n: int, *, nothing: str) -> Share:
    """Errors among independent units: Wilson, exact when none or all are wrong.

    `nothing` is the reason given when there is no unit.

    >>> share_of_units(2, 4, nothing="no compound judged").method
    'wilson'
    >>> share_of_units(0, 0, nothing="no compound judged").reason
    'no compound judged'
    """
    if n == 0:
        return Share(n=0, errors=0, share=None, interval=None, method=None, reason=nothing)
    if errors in (0, n):
        interval, method = clopper_pearson(errors, n), "clopper-pearson"
    else:
        interval, method = wilson(errors, n), "wilson"
    return Share(n=n, errors=errors, share=errors / n, interval=interval, method=method)


def share_over_clusters(
    errors: Integers, instances: Integers, *, seed: int, resamples: int = RESAMPLES, nothing: str
) -> Share:
    """Wrong instances among all, with an interval that knows instances come in clusters.

    Arguments: wrong and judged instances per cluster, shape (clusters,); clusters with nothing judged are
    left out. `nothing` is the reason given when no instance is left. The interval never has width zero:

    - usually the bootstrap over clusters;
    - nothing or everything wrong: the exact interval of "a cluster holds an error" (or "holds a right one")
      over the clusters. The instance share cannot exceed the share of clusters with an error, so the bound
      holds;
    - every cluster with the same share in between (a single cluster too): drawing anew shows no spread, so
      Wilson with the clusters as units. A value in 0..1 with mean p varies by at most p(1-p), so this errs
      on the wide side.

    >>> share = share_over_clusters(np.array([1, 0, 5, 1]), np.array([5, 5, 5, 5]), seed=0, nothing="none")
    >>> share.n, share.errors, share.share, share.method
    (20, 7, 0.35, 'cluster-bootstrap')
    >>> share_over_clusters(np.array([0, 0]), np.array([5, 5]), seed=0, nothing="none").method
    'clopper-pearson-over-clusters'
    """
    judged = instances > 0
    errors, instances = errors[judged], instances[judged]
    clusters, wrong, n = errors.size, int(errors.sum()), int(instances.sum())
    if n == 0:
        return Share(n=0, errors=0, share=None, interval=None, method=None, reason=nothing)
    if wrong in (0, n):
        interval, method = (
            clopper_pearson(clusters if wrong else 0, clusters),
            "clopper-pearson-over-clusters",
        )
    elif np.all(errors * n == instances * wrong):
        interval, method = wilson(clusters * wrong / n, clusters), "wilson-over-clusters"
    else:
        interval, method = (
            bootstrap_ratio(errors, instances, seed=seed, resamples=resamples),
            "cluster-bootstrap",
        )
    return Share(n=n, errors=wrong, share=wrong / n, interval=interval, method=method)


def _check_counts(errors: float, n: int) -> None:
    if n <= 0 or not 0 <= errors <= n:
        raise ValueError(f"{errors} errors among {n} units is not a share")
