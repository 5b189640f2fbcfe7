"""Ratings: who gave which category to which item.

Everything the agreement figures need, in one table of category numbers: a row is an item, a column a person.
The scale is *declared*, in its own order; it is never sorted and never read off the labels that happen to occur,
because weights, the ordinal metric and the two ends of the scale all depend on it.
"""

import unicodedata
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

MISSING = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Ratings:
    """A table of judgements.

    Attributes:
        raters: name of each column (one name per column; two spellings of one name are merged by `agreement`).
        table: (n_items, n_raters) category numbers, -1 where that person gave no label (also for "cannot judge").
        categories: the declared categories, in scale order.
        scale: their numeric values in the same order, rising or falling throughout.
        items: key of each row.
        slots: (n_items, k) column of `table` that is the item's first, second … expert, -1 for an empty slot;
            None where that is not known.
        clusters: (n_items,) number of the cluster an item belongs to (its compound); None where every item
            stands alone.

    Raises:
        ValueError: a part does not fit the others; the sentence says which.

    >>> two = {"raters": ("A1", "A2"), "categories": ("0", "1"), "scale": (0.0, 1.0)}
    >>> Ratings(table=np.array([[1, 1], [0, -1]]), items=("t1", "t2"), **two).n_judgements
    3
    """

    raters: tuple[str, ...]
    table: IntArray
    categories: tuple[str, ...]
    scale: tuple[float, ...]
    items: Sequence[Hashable]
    slots: IntArray | None = None
    clusters: IntArray | None = None

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

    @property
    def n_judgements(self) -> int:
        """How many labels there are."""
        return int((self.table != MISSING).sum())

    @property
    def n_judged(self) -> int:
        """How many items hold at least one label."""
        return int((self.table != MISSING).any(axis=1).sum())

    @property
    def is_clustered(self) -> bool:
        """Whether some items depend on each other."""
        return self.clusters is not None and len(np.unique(self.clusters)) < len(self.clusters)

    def counts(self) -> IntArray:
        """(n_items, n_categories): how many people gave each category to each item."""
        return np.stack([(self.table == k).sum(axis=1) for k in range(len(self.categories))], axis=1)

    def slot_labels(self) -> IntArray | None:
        """(n_items, k) category numbers by slot, or None where slots are not known.

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

    def _rows(self, rows: npt.NDArray[np.bool_], *, columns: list[int], slots: IntArray | None) -> "Ratings":
        kept = np.flatnonzero(rows).tolist()
        return replace(
            self,
            raters=tuple(self.raters[c] for c in columns),
            table=self.table[kept][:, columns],
            items=[self.items[i] for i in kept],
            slots=slots,
            clusters=None if self.clusters is None else self.clusters[kept],
        )


@dataclass(frozen=True)
class ExcludedPair:
    """Two columns that are one person: `n` items hold a label under both names, and no pair is made of them."""

    a: str
    b: str
    n: int
    reason_code: str = "one_person"
    reason: str = "one person under two names"


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
            ratings.raters[a], ratings.raters[b], int((ratings.table[:, [a, b]] != MISSING).all(1).sum())
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


def _merged(columns: IntArray) -> IntArray:
    highest = columns.max(axis=1)
    lowest = np.where(columns == MISSING, highest[:, None], columns).min(axis=1)
    return np.where(lowest == highest, highest, MISSING)


def _merged_slots(slots: IntArray, people: list[list[int]]) -> IntArray:
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


def _check_range(what: str, numbers: IntArray, end: int) -> None:
    if numbers.size and (numbers.min() < MISSING or numbers.max() >= end):
        raise ValueError(f"{what} may hold -1 (missing) to {end - 1}, and holds something else.")
