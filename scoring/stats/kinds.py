"""Which rows of a table are alike: what every figure over a million items is counted from."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.integer[Any]]  # of any width: a label in one byte, or a count in eight

# Numbers below this are counted in a table of their own (32 MiB) instead of being sorted.
_COUNTED = 2**22


class Kinds(NamedTuple):
    """Kinds of rows, in the order of what they hold (by the first column, then the second …).

    Attributes:
        of_row: (rows,) the kind of each row.
        first: (kinds,) the first row of each kind.
    """

    of_row: NDArray[np.int64]
    first: NDArray[np.int64]


def kinds_of_rows(columns: Sequence[Whole], ends: Sequence[int], *, rows: int) -> Kinds:
    """Numbers the kinds of rows that occur.

    Args:
        columns: each (rows,), of whole numbers.
        ends: for each column a number that all its entries are below; the lowest entry allowed is -1.
        rows: how many rows there are; without columns all are alike.

    The time is that of a few passes over each column: nothing is sorted unless a column alone has millions of values.

    >>> found = kinds_of_rows([np.array([1, 0, 1]), np.array([-1, 2, -1])], [2, 3], rows=3)
    >>> found.of_row.tolist(), found.first.tolist()
    ([1, 0, 1], [1, 0])
    """
    numbers, n = np.zeros(rows, dtype=np.int64), 1
    for column, end in zip(columns, ends, strict=True):
        numbers *= end + 1
        numbers += column
        numbers += 1
        n *= end + 1
        if n > _COUNTED:
            numbers, n = _renumbered(numbers, n)
    numbers, n = _renumbered(numbers, n)
    first = np.full(n, rows)
    np.minimum.at(first, numbers, np.arange(rows))
    return Kinds(numbers, first)


def _renumbered(numbers: NDArray[np.int64], end: int) -> tuple[NDArray[np.int64], int]:
    """The numbers that occur as 0, 1, 2 … in their own order, and how many there are."""
    if end > _COUNTED:
        occurring, renumbered = np.unique(numbers, return_inverse=True)
        return renumbered.reshape(-1), len(occurring)
    occurs = np.bincount(numbers, minlength=end) > 0
    return (np.cumsum(occurs) - 1)[numbers], int(occurs.sum())
