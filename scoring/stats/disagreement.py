"""On which items people disagree most: a figure for each item, to rank what is worth talking about."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.stats.agreement_table import MISSING
from scoring.stats.kinds import Whole


def disagreement(table: Whole, scale: Sequence[float]) -> NDArray[np.float64]:
    """(items,): how far apart the labels of each item lie, from 0 (all alike) to 1 (ends of the scale throughout).

    The mean over pairs of labels of their squared distance on the scale, as a share of the largest distance there is:
    what an item adds to the observed disagreement of Krippendorff's α in the interval metric (Krippendorff, Content
    Analysis, 2004, ch. 11). NaN where an item has fewer than two labels: nothing can be said of it.

    Arguments: `table`, shape (items, people), category numbers, -1 where there is no label; `scale`, the values of the
    categories, two or more.

    How to read it: a description of one item, no estimate. With two people and three answers one step apart gives 0.25,
    both ends give 1.

    >>> disagreement(np.array([[0, 0], [0, 1], [0, 2], [0, -1]]), (0.0, 0.5, 1.0)).tolist()
    [0.0, 0.25, 1.0, nan]
    """
    values = np.asarray(scale, dtype=np.float64)
    given = table != MISSING
    n = given.sum(axis=1).astype(np.float64)
    scores = np.where(given, values[np.maximum(table, 0)], 0.0)
    total, squares = scores.sum(axis=1), (scores**2).sum(axis=1)
    # The sum of squared distances over all pairs is n Σx² − (Σx)².
    apart = np.maximum(n * squares - total**2, 0.0)
    pairs = n * (n - 1) / 2
    largest = float(values.max() - values.min()) ** 2
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = np.where(
            pairs > 0, apart / np.where(pairs > 0, pairs, 1.0) / largest, np.nan
        )
    return found
