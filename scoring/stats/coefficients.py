"""Agreement coefficients, as functions of the few sums they depend on.

Nothing here looks at items or people. A *table* is (..., q, q): how often one judgement of a pair was category k
and the other l, over q declared categories in scale order. Leading axes are free, so a thousand resamples are
one call. Counts may be fractions. Where a coefficient is 0/0 the result is NaN, which never leaves this package:
`agreement` turns it into None with a reason.

All chance-corrected figures read alike: 1 is full agreement, 0 what chance would give, below 0 worse than chance.
They differ in what they take for chance. Under a skewed distribution kappa and alpha can be near 0 although nearly
all labels agree; the label distribution and the raw share belong beside them.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Distance = Literal["nominal", "linear", "quadratic"]


def disagreement(scale: Sequence[float], distance: Distance) -> FloatArray:
    """How much each two categories disagree: 0 for the same, 1 for the two ends of the scale.

    Args:
        scale: numeric value of each declared category, in scale order.
        distance: "nominal" (all differences are 1), "linear" or "quadratic" in the difference of the values.

    Returns:
        (q, q) weights in 0…1. On evenly spaced scales these are the usual linear and quadratic weights by rank.

    Source: Cohen (1968), Psychological Bulletin 70, 213–220; Gwet (2014), Handbook of Inter-Rater Reliability, ch. 3.

    >>> disagreement((0, 0.5, 1), "quadratic")[0].tolist()
    [0.0, 0.25, 1.0]
    """
    values = np.asarray(scale, dtype=np.float64)
    apart: FloatArray = np.abs(values[:, None] - values[None, :]) / abs(values[-1] - values[0])
    if distance == "nominal":
        return np.asarray(apart > 0, dtype=np.float64)
    return apart if distance == "linear" else np.square(apart)


def raw_agreement(table: FloatArray) -> FloatArray:
    """Share of pairs that agree.

    Args:
        table: (..., q, q) pairs of judgements, each item weighing 1 in all.

    Returns:
        (...) shares in 0…1; the mean over items of the share of agreeing pairs.

    >>> float(raw_agreement(np.array([[8.0, 1.0], [1.0, 0.0]])))
    0.8
    """
    return _ratio(np.trace(table, axis1=-2, axis2=-1), table.sum(axis=(-2, -1)))


def cohen_kappa(table: FloatArray, weights: FloatArray) -> FloatArray:
    """Cohen's kappa of two people: 1 − observed / expected disagreement, each with their own distribution.

    Args:
        table: (..., q, q) counts of items; rows are the first person's category, columns the second's.
        weights: (q, q) disagreement, see `disagreement`; nominal weights give the plain kappa.

    Returns:
        (...) coefficients; NaN where both people used one and the same category only.

    Source: Cohen (1960), Educational and Psychological Measurement 20, 37–46 (the example is his, κ = .492);
    Cohen (1968) for weights.

    >>> table = np.array([[88.0, 14, 18], [10, 40, 10], [2, 6, 12]])
    >>> round(float(cohen_kappa(table, disagreement((0, 1, 2), "nominal"))), 3)
    0.492
    """
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    expected = rows[..., :, None] * columns[..., None, :]
    observed = (weights * table).sum(axis=(-2, -1)) * table.sum(axis=(-2, -1))
    return 1 - _ratio(observed, (weights * expected).sum(axis=(-2, -1)))


def contrast_share(tables: FloatArray) -> FloatArray:
    """Share of items on which one expert chose the upper end of the scale and the other the lower.

    Args:
        tables: (..., s, q, q) counts of items for each of s pairs of slots (one table for two experts per item).

    Returns:
        (...) shares in 0…1, over all pairs of slots.

    >>> float(contrast_share(np.array([[[6.0, 0, 1], [1, 0, 0], [1, 0, 1]]])))
    0.2
    """
    return _ratio(_contrasts(tables), tables.sum(axis=(-3, -2, -1)))


def contrast_coefficient(tables: FloatArray) -> FloatArray:
    """Chance-corrected agreement in which only the two ends of the scale against each other disagree.

    1 − Do/De with Do the share of contrasts and De = (n₁(top)·n₂(bottom) + n₁(bottom)·n₂(top)) / N², columns being
    slots: the item's first and second expert, not two people. With more slots observed and expected contrasts
    are summed over the pairs of slots.

    Args:
        tables: (..., s, q, q) counts of items for each of s pairs of slots; q in scale order.

    Returns:
        (...) coefficients; NaN where no contrast can be expected. 1 by construction once every contrast was settled.
        There is no lower end: one contrast in N items gives 1 − N where nobody else chose an end of the scale.

    Source: the agreement figure of Fang et al. (2023), CKBP v2 (90.55 %, after resolution), as its columns bear it out.

    >>> float(contrast_coefficient(np.array([[[4.0, 0, 1], [0, 0, 0], [1, 0, 4]]])))
    0.6
    """
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    chance = rows[..., 0] * columns[..., -1] + rows[..., -1] * columns[..., 0]
    items = tables.sum(axis=(-2, -1))
    expected = np.divide(chance, items, out=np.zeros_like(chance), where=items > 0)
    return 1 - _ratio(_contrasts(tables), expected.sum(axis=-1))


def fleiss_kappa(table: FloatArray) -> FloatArray:
    """Fleiss' kappa: any number of judgements per item, the same for every item; people need not be the same.

    Args:
        table: (..., q, q) symmetric; pairs of judgements, each item weighing 1 in all.

    Returns:
        (...) coefficients; NaN where only one category was used. For two people this is Scott's pi.

    Source: Fleiss (1971), Psychological Bulletin 76, 378–382.

    >>> float(fleiss_kappa(np.array([[4.0, 1.0], [1.0, 4.0]])))
    0.6
    """
    share = _over(table.sum(axis=-1), table.sum(axis=(-2, -1)))
    apart = 1 - np.eye(table.shape[-1])
    expected = (apart * share[..., :, None] * share[..., None, :]).sum(axis=(-2, -1))
    observed = _ratio((apart * table).sum(axis=(-2, -1)), table.sum(axis=(-2, -1)))
    return 1 - _ratio(observed, expected)


def krippendorff_alpha(coincidences: FloatArray, metric: FloatArray) -> FloatArray:
    """Krippendorff's alpha: any number of judgements per item, blanks left out.

    Args:
        coincidences: (..., q, q) symmetric coincidence matrix: an item with m judgements gives each ordered pair
            of them 1 / (m − 1), so that its sum is the number of pairable judgements.
        metric: (q, q) or (..., q, q) squared differences: `disagreement(scale, "nominal")`, "quadratic" for interval
            data, or `ordinal_metric(coincidences)`.

    Returns:
        (...) coefficients; NaN where only one category was used.

    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, whose binary example this is (α = .095).

    >>> table = np.array([[10.0, 4.0], [4.0, 2.0]])
    >>> round(float(krippendorff_alpha(table, disagreement((0, 1), "nominal"))), 3)
    0.095
    """
    n = coincidences.sum(axis=-1)
    expected = (metric * n[..., :, None] * n[..., None, :]).sum(axis=(-2, -1))
    observed = (metric * coincidences).sum(axis=(-2, -1)) * (n.sum(axis=-1) - 1)
    return 1 - _ratio(observed, expected)


def ordinal_metric(coincidences: FloatArray) -> FloatArray:
    """Krippendorff's ordinal metric: how many judgements lie between two categories, squared.

    δ²(c, k) = (n_c + … + n_k − (n_c + n_k) / 2)², the sum running over the categories from c to k in scale order. It
    is neither the squared difference of ranks nor of values: it depends on how often each category is used.

    Args:
        coincidences: (..., q, q) as in `krippendorff_alpha`.

    Returns:
        (..., q, q) squared differences.

    >>> ordinal_metric(np.diag([2.0, 4.0, 2.0])).tolist()
    [[0.0, 9.0, 36.0], [9.0, 0.0, 9.0], [36.0, 9.0, 0.0]]
    """
    n = coincidences.sum(axis=-1)
    middle = np.cumsum(n, axis=-1) - n / 2
    apart: FloatArray = middle[..., :, None] - middle[..., None, :]
    return apart**2


def gwet_ac(table: FloatArray, prevalence: FloatArray, weights: FloatArray) -> FloatArray:
    """Gwet's AC1 (nominal weights) and AC2: chance agreement is kept for items that are hard to judge.

    Steadier than kappa when nearly all labels are one category. Depends on how many categories are *declared*.

    Args:
        table: (..., q, q) symmetric; pairs of judgements, each item weighing 1 in all.
        prevalence: (..., q) mean over all judged items of each category's share of the item's judgements; items
            with one judgement count here, as in Gwet's definition, though they form no pair.
        weights: (q, q) disagreement, see `disagreement`.

    Returns:
        (...) coefficients; NaN only where there is no pair.

    Source: Gwet (2008), British Journal of Mathematical and Statistical Psychology 61, 29–48; Gwet (2014), whose table
    of two abstractors this is (AC1 = .849).

    >>> table = np.array([[13.0, 0, 0], [0, 20, 5.5], [0, 5.5, 56]])
    >>> round(float(gwet_ac(table, table.sum(1) / 100, disagreement((0, 1, 2), "nominal"))), 3)
    0.849
    """
    agree = 1 - weights
    q = len(weights)
    observed = _ratio((agree * table).sum(axis=(-2, -1)), table.sum(axis=(-2, -1)))
    chance = agree.sum() / (q * (q - 1)) * (prevalence * (1 - prevalence)).sum(axis=-1)
    return _ratio(observed - chance, 1 - chance)


def specific_agreement(pairs: FloatArray) -> FloatArray:
    """Agreement on one category: of the pairs with one judgement k, the share whose other judgement is k too.

    Args:
        pairs: (..., q, q) symmetric counts of ordered pairs of judgements.

    Returns:
        (..., q) shares in 0…1, one per declared category; NaN for a category nobody used. Not corrected for chance.

    Source: Dice (1945), Ecology 26, 297–302; Cicchetti and Feinstein (1990), J. Clinical Epidemiology 43, 551–558.

    >>> specific_agreement(np.array([[12.0, 2.0], [2.0, 4.0]])).round(3).tolist()
    [0.857, 0.667]
    """
    return _ratio(np.diagonal(pairs, axis1=-2, axis2=-1), pairs.sum(axis=-1))


def _contrasts(tables: FloatArray) -> FloatArray:
    either: FloatArray = (tables[..., 0, -1] + tables[..., -1, 0]).sum(axis=-1)
    return either


def _over(parts: FloatArray, whole: FloatArray) -> FloatArray:
    return _ratio(parts, np.broadcast_to(np.asarray(whole)[..., None], parts.shape))


def _ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> FloatArray:
    """NaN, not infinity or a warning, where the whole is 0."""
    above, below = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    ratio: FloatArray = np.divide(
        above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0
    )
    return ratio
