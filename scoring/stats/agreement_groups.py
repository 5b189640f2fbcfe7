"""Groups of items for `agreement.by_group`, numbered: part, relation, and what belongs to judgements, not to items.

Agreement needs two judgements, and the two may have been given under different guideline versions or in different
months. Such an item says nothing about either group and stands in one of its own, `MIXED`.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.stats.kinds import kinds_of_rows

IntArray = npt.NDArray[np.int64]

MIXED = "mixed"


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each item: `numbers`, shape (items,), are places in `names`, of which some may not occur."""

    numbers: IntArray
    names: Sequence[Any]

    def __post_init__(self) -> None:
        if self.numbers.size and not 0 <= self.numbers.min() <= self.numbers.max() < len(self.names):
            raise ValueError(
                f"Groups are numbered from 0 to {len(self.names) - 1}, one number for each name."
            )


def groups_of(values: Sequence[Hashable]) -> Groups:
    """Groups numbered in order of first appearance.

    >>> found = groups_of(["xWant", "xNeed", "xWant"])
    >>> found.numbers.tolist(), found.names
    ([0, 1, 0], ['xWant', 'xNeed'])
    """
    number: dict[Hashable, int] = {}
    numbers = (number.setdefault(value, len(number)) for value in values)
    return Groups(np.fromiter(numbers, dtype=np.int64, count=len(values)), list(number))


def groups_of_numbers(values: IntArray, name: Callable[[int], str]) -> Groups:
    """Groups by a whole number from 0, such as a version, in the order of the numbers.

    >>> found = groups_of_numbers(np.array([3, 1, 3]), str)
    >>> found.numbers.tolist(), found.names
    ([1, 0, 1], ['1', '3'])
    """
    kinds = kinds_of_rows([values], [int(values.max(initial=0)) + 1], rows=len(values))
    return Groups(kinds.of_row, [name(value) for value in values[kinds.first].tolist()])


def shared_groups(of_judgement: Groups, judged: IntArray, *, n_items: int, without: str = "") -> Groups:
    """The group of each item: what all its judgements share, else `MIXED`.

    Args:
        of_judgement: the group of each judgement.
        judged: (judgements,) the row of its item.
        n_items: items there are; `without` is the group of those without a judgement.

    Raises:
        ValueError: a group or an item for each judgement is missing.

    >>> versions = Groups(np.array([0, 0, 0, 1]), ["v1", "v2"])
    >>> found = shared_groups(versions, np.array([0, 0, 1, 1]), n_items=3)
    >>> [found.names[number] for number in found.numbers]
    ['v1', 'mixed', '']
    """
    if len(of_judgement.numbers) != len(judged):
        raise ValueError("each judgement needs its item and its group")
    n = len(of_judgement.names)
    lowest, highest = np.full(n_items, n + 1), np.full(n_items, -1)
    np.minimum.at(lowest, judged, of_judgement.numbers)
    np.maximum.at(highest, judged, of_judgement.numbers)
    numbers = np.where(highest < 0, n + 1, np.where(lowest == highest, lowest, n))
    return Groups(numbers, [*of_judgement.names, MIXED, without])


def month_name(number: int) -> str:
    """A calendar month, counted from January of the year 0.

    >>> month_name(2026 * 12 + 2)
    '2026-03'
    """
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def thirds(moments: IntArray) -> Groups:
    """Early, middle or late: the third of all judgements, by time, that each belongs to.

    `moments`, shape (judgements,), are whole numbers, such as seconds. Judgements at one moment stand together, so
    thirds may differ in size, and where all were given at one moment there is one group.

    >>> found = thirds(np.array([1, 9, 5]))
    >>> [found.names[number] for number in found.numbers]
    ['early', 'late', 'middle']
    """
    n = len(moments)
    if not n or moments.min() == moments.max():
        return Groups(np.zeros(n, dtype=np.int64), ("early",))
    later, latest = np.partition(moments, (n // 3, 2 * n // 3))[[n // 3, 2 * n // 3]]
    return Groups((moments >= later).astype(np.int64) + (moments >= latest), ("early", "middle", "late"))
