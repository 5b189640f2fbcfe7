"""Bounds of noise-corrected rates that lie at the edge of what there is, where drawing anew shows no spread.

Where every compound looks right, or noise can explain all differences, the corrected rate is 0 in nearly every
resample (or 1, where every compound looks wrong): percentiles of them make an interval without width, which says
nothing about how many wrong compounds the noise may still hide. There the bounds come from the likelihood instead:

- *Kept* is every share of compounds with at least j wrong contexts under which the judgements are at least 1/40 as
  likely as under the likeliest one, whatever else holds of the numbers of wrong contexts (profile likelihood). Of n
  compounds that all look right without any noise, that is (1 − share)ⁿ ≥ 0.025: the exact interval of Clopper and
  Pearson.
- The noise is itself known from few pairs, so this is done for the rates of slips at both ends of their own interval
  and for those that were estimated, and what any of them keeps is kept: on the wide side.
- The aggregate rate is the share with at least one. The instance rate is the mean of the five shares, so the mean of
  their bounds bounds it: on the wide side again.

The likelihood is concave in the shares, so what is kept is an interval, and its ends are found by halving; with one
share held fixed EM finds the highest likelihood, the others being scaled to it.

Source: Royall (1997), Statistical Evidence, chapters 1 and 7, for likelihood intervals and profiles.
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from scoring.stats.proportions import Interval

Floats = NDArray[np.float64]

LEAST_LIKELY = 1 / 40
_STEPS, _HALVINGS = 400, 14


def kept_shares(likelihood: Floats, counts: NDArray[np.int64]) -> list[Interval]:
    """For j = 1, 2 …: the lowest and the highest share of compounds with at least j wrong contexts that are kept.

    Args:
        likelihood: (noises, kinds, numbers) probability of each kind of compound where so many contexts are wrong,
            under each of several rates of slips.
        counts: (kinds,) compounds of each kind.

    >>> all_right = np.array([[[1.0, 0.0]]])  # of a kind that only right compounds make
    >>> [(low, high)] = kept_shares(all_right, np.array([20]))
    >>> low, round(high, 3)  # as clopper_pearson(0, 20)
    (0.0, 0.168)
    """
    noises, _kinds, numbers = likelihood.shape
    shares = np.full((noises, 1, numbers), 1 / numbers)
    shares, best = _likeliest(likelihood, counts, shares, None)
    at_least = np.array([[np.arange(numbers) >= j for j in range(1, numbers)]], dtype=np.float64)
    start = (shares * at_least).sum(axis=2)
    ends = []
    for edge in (0.0, 1.0):
        inside, outside = start.copy(), np.full_like(start, edge)
        for _ in range(_HALVINGS):
            half = (inside + outside) / 2
            _, found = _likeliest(likelihood, counts, _held(shares, at_least, half), (at_least, half))
            kept = found >= best + log(LEAST_LIKELY)
            inside, outside = np.where(kept, half, inside), np.where(kept, outside, half)
        ends.append(outside)  # a step too far rather than one too few
    low, high = ends[0].min(axis=0), ends[1].max(axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _likeliest(
    likelihood: Floats,
    counts: NDArray[np.int64],
    shares: Floats,
    held: tuple[Floats, Floats] | None,
) -> tuple[Floats, Floats]:
    """(noises, j, numbers) the likeliest shares from these on, and (noises, j) their log likelihood."""
    weights = counts / counts.sum()
    for _ in range(_STEPS):
        whole = np.maximum(np.matmul(shares, likelihood.transpose(0, 2, 1)), 1e-300)
        new = shares * np.matmul(weights / whole, likelihood)
        new /= np.maximum(new.sum(axis=2, keepdims=True), 1e-300)
        if held is not None:
            new = _held(new, *held)
        moved = float(np.abs(new - shares).max())
        shares = new
        if moved < 1e-8:
            break
    whole = np.maximum(np.matmul(shares, likelihood.transpose(0, 2, 1)), 1e-300)
    return shares, np.asarray(np.log(whole) @ counts)


def _held(shares: Floats, at_least: Floats, share: Floats) -> Floats:
    """Scaled so that those with j or more have this share; where there are none, they are given it evenly."""
    made = np.zeros(np.broadcast_shapes(shares.shape, at_least.shape))
    for side, wanted in ((at_least, share), (1 - at_least, 1 - share)):
        of_side = shares * side
        of_side = np.where(of_side.sum(axis=2, keepdims=True) > 1e-200, of_side, 1.0 * side)
        made = made + of_side / of_side.sum(axis=2, keepdims=True) * wanted[..., None]
    return np.asarray(made)
