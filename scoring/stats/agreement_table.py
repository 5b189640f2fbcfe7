"""Ratings: who gave which category to which item.

Everything the agreement figures need, in one table of category numbers: a row is an item, a column a person.
The scale is *declared*, in its own order; it is never sorted and never read off the labels that happen to occur,
because weights, the ordinal metric and the two ends of the scale all depend on it.
"""

import unicodedata
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from annotation.protocol.sentences import say
from scoring.stats.kinds import Kinds, Whole, kinds_of_rows

IntArray = npt.NDArray[np.int64]

MISSING = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Ratings:
    """A table of judgements.

    Attributes:
        raters: name of each column (one name per column; two spellings of one name are merged by `agreement`).
        table: (rows, n_raters) category numbers, -1 where that person gave no label (also for "cannot judge").
        categories: the declared categories, in scale order.
        scale: their numeric values in the same order, rising or falling throughout.
        items: key of each row, a sequence or an array.
        slots: (rows, k) column of `table` that is the item's first, second … expert, -1 for an empty slot;
            None where that is not known.
        clusters: (rows,) number of the cluster an item belongs to (its compound); None where every item
            stands alone.
        copies: (rows,) how many items each row stands for (see `one_row_per_kind`); None where it is one each.

    Raises:
        ValueError: a part does not fit the others; the sentence says which.

    >>> two = {"raters": ("A1", "A2"), "categories": ("0", "1"), "scale": (0.0, 1.0)}
    >>> Ratings(table=np.array([[1, 1], [0, -1]]), items=("t1", "t2"), **two).n_judgements
    3
    """

    raters: tuple[str, ...]
    table: Whole
    categories: tuple[str, ...]
    scale: tuple[float, ...]
    items: Sequence[Hashable] | npt.NDArray[Any]
    slots: Whole | None = None
    clusters: IntArray | None = None
    copies: IntArray | None = None

    def __post_init__(self) -> None:
        _check_scale(self.categories, self.scale)
        shape = (len(self.items), len(self.raters))
        if self.table.shape != shape:
            raise ValueError(f"The table has shape {self.table.shape}; the items and raters ask for {shape}.")
        if len(set(self.raters)) < len(self.raters):
            raise ValueError("A rater has two columns. Give one column per name.")
        _check_range("The table", self.table, len(self.categories))
        if self.slots is not None:
            if self.slots.ndim != 2 or len(self.slots) != len(self.items):
                raise ValueError(
                    "The slots need one row per item: the columns of its first, second … expert."
                )
            _check_range("The table of slots", self.slots, len(self.raters))
        if self.clusters is not None and self.clusters.shape != (len(self.items),):
            raise ValueError("The clusters need one number per item.")
        if self.copies is not None and (self.copies.shape != (len(self.items),) or self.is_clustered):
            raise ValueError(
                "The copies need one number per row, and only items that stand alone have copies."
            )

    @property
    def n_judgements(self) -> int:
        """How many labels there are."""
        return self.how_many((self.table != MISSING).sum(axis=1))

    @property
    def n_judged(self) -> int:
        """How many items hold at least one label."""
        return self.how_many((self.table != MISSING).any(axis=1))

    @cached_property
    def is_clustered(self) -> bool:
        """Whether some items depend on each other."""
        return self.clusters is not None and len(np.unique(self.clusters)) < len(self.clusters)

    @cached_property
    def kinds(self) -> Kinds:
        """Which rows are alike: the same labels by the same people in the same slots; clusters apart."""
        columns, ends = list(self.table.T), [len(self.categories)] * len(self.raters)
        if self.slots is not None:
            columns += list(self.slots.T)
            ends += [len(self.raters)] * self.slots.shape[1]
        return kinds_of_rows(columns, ends, rows=len(self.items))

    def how_many(self, of_rows: npt.NDArray[Any]) -> int:
        """The sum over items of a number, or of a condition, of their rows, shape (rows,)."""
        return int(of_rows.sum() if self.copies is None else of_rows @ self.copies)

    def counts(self) -> IntArray:
        """(rows, n_categories): how many people gave each category to each item."""
        return np.stack([(self.table == k).sum(axis=1) for k in range(len(self.categories))], axis=1)

    def slot_labels(self) -> Whole | None:
        """(rows, k) category numbers by slot, or None where slots are not known.

        With two people and no slots recorded the two columns are taken as the slots.
        """
        if self.slots is None:
            return self.table if len(self.raters) == 2 else None
        if not self.raters:
            return np.full_like(self.slots, MISSING)
        labels = np.take_along_axis(self.table, np.maximum(self.slots, 0), axis=1)
        return np.where(self.slots == MISSING, MISSING, labels)

    def pair(self, a: int, b: int) -> "Ratings":
        """The items that the people of columns `a` and `b` both judged, with these two columns."""
        rows = (self.table[:, a] != MISSING) & (self.table[:, b] != MISSING)
        return self._rows(rows, columns=[a, b], slots=None)

    def subset(self, rows: npt.NDArray[np.bool_]) -> "Ratings":
        """The items where `rows` is true, without the people who judged none of them."""
        columns = np.flatnonzero((self.table[rows] != MISSING).any(axis=0))
        slots = None
        if self.slots is not None:
            new_column = np.full(len(self.raters) + 1, MISSING)
            new_column[columns] = np.arange(len(columns))
            slots = new_column[self.slots[rows]]
        return self._rows(rows, columns=columns.tolist(), slots=slots)

    def _rows(self, rows: npt.NDArray[np.bool_], *, columns: list[int], slots: Whole | None) -> "Ratings":
        return replace(
            self,
            raters=tuple(self.raters[c] for c in columns),
            table=self.table[rows][:, columns],
            items=keys_of(self.items, np.flatnonzero(rows)),
            slots=slots,
            clusters=None if self.clusters is None else self.clusters[rows],
            copies=None if self.copies is None else self.copies[rows],
        )


def keys_of(
    items: Sequence[Hashable] | npt.NDArray[Any], rows: IntArray
) -> Sequence[Hashable] | npt.NDArray[Any]:
    """The keys of some rows, as an array where the keys are one."""
    return items[rows] if isinstance(items, np.ndarray) else [items[row] for row in rows.tolist()]


def one_row_per_kind(ratings: Ratings) -> tuple[Ratings, IntArray]:
    """Items that stand alone and look alike as one row with its copies: every figure depends on no more.

    Returns:
        The ratings with one row per kind, keyed by the first item of it, and the row of each item, shape (items,).
        Kinds are in the order of what they hold, whatever the order of the items. Items of clusters do not look
        alike, since their neighbours differ: these ratings come back as they are.

    >>> two = {"raters": ("A1", "A2"), "categories": ("0", "1"), "scale": (0.0, 1.0)}
    >>> table = np.array([[1, 1], [0, 1], [1, 1]])
    >>> kinds, row_of = one_row_per_kind(Ratings(table=table, items=("t1", "t2", "t3"), **two))
    >>> kinds.table.tolist(), kinds.copies.tolist(), row_of.tolist()
    ([[0, 1], [1, 1]], [1, 2], [1, 0, 1])
    """
    if ratings.is_clustered:
        return ratings, np.arange(len(ratings.items))
    found = ratings.kinds
    kinds = replace(
        ratings,
        table=ratings.table[found.first].astype(np.int64),
        items=keys_of(ratings.items, found.first),
        slots=None if ratings.slots is None else ratings.slots[found.first].astype(np.int64),
        clusters=None,
        copies=_copies(found, ratings.copies),
    )
    return kinds, found.of_row


def _copies(kinds: Kinds, copies: IntArray | None) -> IntArray:
    # Whole numbers below 2^53: exact in the floats that bincount sums in.
    return np.bincount(kinds.of_row, copies, len(kinds.first)).astype(np.int64)


@dataclass(frozen=True)
class ExcludedPair:
    """Two columns that are one person: `n` items hold a label under both names, and no pair is made of them."""

    a: str
    b: str
    n: int
    reason_code: str = "one_person"
    reason: str = say("one person under two names")


def one_column_per_person(ratings: Ratings) -> tuple[Ratings, list[ExcludedPair]]:
    """Merges columns whose names are one name (NFKC, trimmed, case-folded), and lists the pairs this removes.

    Nobody agrees with themself: a person's two labels for an item count once where they are the same and not at
    all where they differ, since a table does not say which came later.

    >>> names = {"raters": ("Ann", "ＡＮＮ", "Bo"), "categories": ("0", "1"), "scale": (0.0, 1.0)}
    >>> merged, excluded = one_column_per_person(Ratings(table=np.array([[1, 1, 0]]), items=("t1",), **names))
    >>> merged.raters, [(pair.a, pair.b, pair.n) for pair in excluded]
    (('Ann', 'Bo'), [('Ann', 'ＡＮＮ', 1)])
    """
    people: dict[str, list[int]] = {}
    for column, name in enumerate(ratings.raters):
        people.setdefault(_folded(name), []).append(column)
    if len(people) == len(ratings.raters):
        return ratings, []
    excluded = [
        ExcludedPair(
            ratings.raters[a],
            ratings.raters[b],
            ratings.how_many((ratings.table[:, [a, b]] != MISSING).all(axis=1)),
        )
        for columns in people.values()
        for i, a in enumerate(columns)
        for b in columns[i + 1 :]
    ]
    merged = replace(
        ratings,
        raters=tuple(ratings.raters[columns[0]] for columns in people.values()),
        table=np.stack([_merged(ratings.table[:, columns]) for columns in people.values()], axis=1),
        slots=None if ratings.slots is None else _merged_slots(ratings.slots, list(people.values())),
    )
    return merged, excluded


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).strip().casefold())


def _merged(columns: Whole) -> Whole:
    highest = columns.max(axis=1)
    lowest = np.where(columns == MISSING, highest[:, None], columns).min(axis=1)
    return np.where(lowest == highest, highest, MISSING)


def _merged_slots(slots: Whole, people: list[list[int]]) -> IntArray:
    person_of = np.full(sum(map(len, people)) + 1, MISSING)
    for person, columns in enumerate(people):
        person_of[columns] = person
    merged = person_of[slots]
    for later in range(1, merged.shape[1]):
        repeated = (merged[:, :later] == merged[:, later : later + 1]).any(axis=1)
        merged[repeated, later] = MISSING
    return merged


def _check_scale(categories: tuple[str, ...], scale: tuple[float, ...]) -> None:
    if len(categories) < 2:
        raise ValueError("A scale needs at least two categories.")
    if len(set(categories)) < len(categories) or not all(name.strip() for name in categories):
        raise ValueError("Each category of a scale needs a name of its own; blank means missing.")
    if len(scale) != len(categories):
        raise ValueError(f"The scale has {len(scale)} values for {len(categories)} categories.")
    steps = np.diff(scale)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        raise ValueError("The values of the scale must rise, or fall, throughout: they stand in scale order.")


def _check_range(what: str, numbers: Whole, end: int) -> None:
    if numbers.size and (numbers.min() < MISSING or numbers.max() >= end):
        raise ValueError(f"{what} may hold -1 (missing) to {end - 1}, and holds something else.")
