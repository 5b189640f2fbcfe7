"""Ratings from what callers have: a table of category numbers, or one row per saved judgement."""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.stats.agreement_table import MISSING, Ratings
from scoring.stats.kinds import Whole

IntArray = npt.NDArray[np.int64]


def ratings_from_matrix(
    table: npt.ArrayLike,
    *,
    raters: Sequence[str],
    categories: Sequence[str],
    scale: Sequence[float] | None = None,
    items: Sequence[Hashable] | None = None,
    slots: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
) -> Ratings:
    """Ratings from a table of category numbers (see `Ratings` for the parts).

    `scale` defaults to 0, 1, 2 …: equal steps in the order of the categories. `items` defaults to row numbers.
    """
    numbers = np.asarray(table, dtype=np.int64)
    if not numbers.size:
        numbers = numbers.reshape(len(items or ()), len(raters))
    return Ratings(
        raters=tuple(raters),
        table=numbers,
        categories=tuple(categories),
        scale=_scale(categories, scale),
        items=range(len(numbers)) if items is None else items,
        slots=None if slots is None else np.asarray(slots, dtype=np.int64),
        clusters=None if clusters is None else np.asarray(clusters, dtype=np.int64),
    )


def ratings_from_long(
    items: Sequence[Hashable],
    raters: Sequence[str],
    labels: Sequence[str | None],
    *,
    categories: Sequence[str],
    scale: Sequence[float] | None = None,
    saved: Sequence[object] | None = None,
    slots: Sequence[int | None] | None = None,
    clusters: Sequence[Hashable] | None = None,
    missing: Collection[str] = (),
) -> Ratings:
    """Ratings from a long table: one row per saved judgement, given as columns of equal length.

    Of several rows for one item and person the latest counts, also when it is blank: an answer that was taken
    back is missing. `saved` orders the rows (numbers or points in time); without it they count as saved in the
    order given. `slots` are 1, 2 … or None; `clusters` names the cluster of each row's item. A blank label is
    missing, and so is one named in `missing` unless it is a declared category.

    Raises:
        ValueError: columns of unequal length; a label that is neither declared nor missing; `saved` given as
            text ("10" sorts before "9"); two people in one slot of an item; an item in two clusters.

    >>> ratings = ratings_from_long(
    ...     ["t1", "t1", "t1"], ["a", "b", "a"], ["0", "1", "1"], categories=("0", "1"), saved=[1, 2, 3]
    ... )
    >>> ratings.raters, ratings.table.tolist()
    (('a', 'b'), [[1, 1]])
    """
    for name, column in (("raters", raters), ("labels", labels), ("saved", saved), ("slots", slots)):
        if column is not None and len(column) != len(items):
            raise ValueError(
                f"The columns items and {name} differ in length: {len(items)} and {len(column)}."
            )
    item_keys, item_of = _numbered(items)
    names = sorted(set(raters))
    column_of_name = {name: column for column, name in enumerate(names)}
    rater_of = np.fromiter((column_of_name[name] for name in raters), dtype=np.int64, count=len(raters))
    codes = _category_numbers(labels, items=items, raters=raters, categories=categories, missing=missing)
    order = _order_of_saving(saved, len(items))
    return ratings_from_numbers(
        item=item_of[order],
        rater=rater_of[order],
        label=codes[order],
        slot=None if slots is None else _slot_numbers(slots)[order],
        raters=names,
        categories=categories,
        scale=scale,
        items=item_keys,
        clusters=None if clusters is None else _clusters(clusters, item_of, item_keys),
    )


def ratings_from_numbers(
    *,
    item: IntArray,
    rater: IntArray,
    label: IntArray,
    slot: IntArray | None = None,
    raters: Sequence[str],
    categories: Sequence[str],
    scale: Sequence[float] | None = None,
    items: Sequence[Hashable] | npt.NDArray[Any],
    clusters: IntArray | None = None,
) -> Ratings:
    """Ratings from judgements in numbers, for many of them; see `Ratings` for `clusters`, one per item.

    Args:
        item, rater, label: (judgements,) row in `items`, place in `raters`, number of the category (-1 for none). Of
            several rows for one item and person the last counts.
        slot: (judgements,) from 1, or 0 where it is not known.

    Raises:
        ValueError: two people in one slot of an item; a label that is no category.

    >>> found = ratings_from_numbers(item=np.array([0, 0]), rater=np.array([1, 0]), label=np.array([1, 0]),
    ...     slot=np.array([1, 2]), raters=("a", "b"), categories=("0", "1"), items=("t1",))
    >>> found.table.tolist(), found.slots.tolist()
    ([[0, 1]], [[1, 0]])
    """
    if label.size and not MISSING <= label.min() <= label.max() < len(categories):
        raise ValueError(f"Labels are numbered from 0 to {len(categories) - 1}, -1 for none.")
    table = np.full((len(items), len(raters)), MISSING, dtype=_narrow(len(categories)))
    # With repeated positions NumPy keeps the value assigned last.
    table[item, rater] = label
    return Ratings(
        raters=tuple(raters),
        table=table,
        categories=tuple(categories),
        scale=_scale(categories, scale),
        items=items,
        slots=None if slot is None else _slot_columns(slot, item, rater, items, len(raters)),
        clusters=clusters,
    )


def _narrow(end: int) -> np.dtype[Any]:
    """The narrowest whole numbers that hold -1 … end."""
    return np.result_type(np.int8, np.min_scalar_type(end))


def _scale(categories: Sequence[str], scale: Sequence[float] | None) -> tuple[float, ...]:
    return tuple(float(value) for value in (range(len(categories)) if scale is None else scale))


def _numbered(keys: Sequence[Hashable]) -> tuple[list[Hashable], IntArray]:
    number: dict[Hashable, int] = {}
    numbers = np.fromiter(
        (number.setdefault(key, len(number)) for key in keys), dtype=np.int64, count=len(keys)
    )
    return list(number), numbers


def _category_numbers(
    labels: Sequence[str | None],
    *,
    items: Sequence[Hashable],
    raters: Sequence[str],
    categories: Sequence[str],
    missing: Collection[str],
) -> IntArray:
    known: dict[str | None, int] = {None: MISSING, "": MISSING} | dict.fromkeys(missing, MISSING)
    known |= {name: number for number, name in enumerate(categories)}
    codes = np.empty(len(labels), dtype=np.int64)
    for row, label in enumerate(labels):
        code = known.get(label)
        if code is None:
            code = known.get(label.strip() if label else label)
        if code is None:
            raise ValueError(
                f"Item {items[row]}, rater {raters[row]}: the label “{label}” is not on the scale "
                f"({', '.join(categories)}). Correct it, or leave it blank if the item was not judged."
            )
        codes[row] = code
    return codes


def _order_of_saving(saved: Sequence[object] | None, n: int) -> IntArray:
    if saved is None:
        return np.arange(n)
    moments = np.asarray(saved)
    if moments.dtype.kind in "US":
        raise ValueError(
            'The order of saving is given as text, where "10" comes before "9": give numbers or times.'
        )
    return np.argsort(moments, kind="stable").astype(np.int64)


def _slot_numbers(slots: Sequence[int | None]) -> IntArray:
    numbers = np.fromiter((slot or 0 for slot in slots), dtype=np.int64, count=len(slots))
    if numbers.size and numbers.min() < 0:
        raise ValueError("Slots are counted from 1.")
    return numbers


def _slot_columns(
    slot: IntArray,
    item: IntArray,
    rater: IntArray,
    items: Sequence[Hashable] | npt.NDArray[Any],
    n_raters: int,
) -> Whole:
    columns = np.full((len(items), int(slot.max(initial=0))), MISSING, dtype=_narrow(n_raters))
    filled = np.flatnonzero(slot)
    columns[item[filled], slot[filled] - 1] = rater[filled]
    other = columns[item[filled], slot[filled] - 1] != rater[filled]
    if other.any():
        row = filled[np.flatnonzero(other)[0]]
        raise ValueError(
            f"Item {items[item[row]]}: slot {slot[row]} holds two people. A slot belongs to one."
        )
    return columns


def _clusters(clusters: Sequence[Hashable], item_of: IntArray, items: list[Hashable]) -> IntArray:
    if len(clusters) != len(item_of):
        raise ValueError(
            f"The columns items and clusters differ in length: {len(item_of)} and {len(clusters)}."
        )
    _, cluster_of = _numbered(clusters)
    of_item = np.full(len(items), MISSING)
    of_item[item_of] = cluster_of
    if (of_item[item_of] != cluster_of).any():
        row = int(np.flatnonzero(of_item[item_of] != cluster_of)[0])
        raise ValueError(f"Item {items[item_of[row]]} stands in two clusters. An item belongs to one.")
    return of_item
