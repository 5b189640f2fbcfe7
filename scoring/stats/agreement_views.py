"""Ratings as kinds of items: the sums that pooled figures, and figures of two places, are functions of."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scoring.stats.agreement_table import MISSING, Ratings
from scoring.stats.intervals import Units, units
from scoring.stats.kinds import Whole

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class PooledSums(NamedTuple):
    """Sums over items, whoever judged them; leading axes (resamples) are free.

    Attributes:
        pairs: (..., q, q) pairs of judgements, each item weighing 1.
        coincidences: (..., q, q) the same, an item with m judgements weighing m (Krippendorff).
        ordered_pairs: (..., q, q) the same, each ordered pair weighing 1.
        prevalence: (..., q) sum over judged items of each category's share of the item's judgements.
        users: (..., q) common items on which somebody gave the category.
        judged: (...) items with a judgement.
    """

    pairs: FloatArray
    coincidences: FloatArray
    ordered_pairs: FloatArray
    prevalence: FloatArray
    users: FloatArray
    judged: FloatArray


def pooled_view(ratings: Ratings) -> Units:
    """Items as the number of people who gave each category; the sums are those of `pooled_sums`."""
    counts = ratings.counts()
    judged = counts.sum(axis=1) > 0
    rows, kinds = _distinct_rows(counts[judged], base=len(ratings.raters) + 1)
    q = len(ratings.categories)
    cells = np.eye(q, dtype=np.int64)[:, None, :] + np.eye(q, dtype=np.int64)[None, :, :]
    return units(
        kinds,
        _pooled_features(rows),
        cells=_pooled_features(cells.reshape(-1, q)),
        judgements=rows.sum(axis=1),
        clusters=None if ratings.clusters is None else ratings.clusters[judged],
        copies=None if ratings.copies is None else ratings.copies[judged],
    )


def pooled_sums(flat: FloatArray, q: int) -> PooledSums:
    """Names the parts of the (..., f) sums of `pooled_view`."""
    square = q * q
    tables = flat[..., : 3 * square].reshape(*flat.shape[:-1], 3, q, q)
    rest = flat[..., 3 * square :]
    return PooledSums(
        pairs=tables[..., 0, :, :],
        coincidences=tables[..., 1, :, :],
        ordered_pairs=tables[..., 2, :, :],
        prevalence=rest[..., :q],
        users=rest[..., q : 2 * q],
        judged=rest[..., 2 * q],
    )


def place_view(ratings: Ratings, labels: Whole, places: Sequence[tuple[int, int]]) -> Units:
    """Items as the labels in some places (slots, or people); the sums are one q × q table per two places.

    Args:
        ratings: whose rows these are.
        labels: (rows, k) category numbers, -1 for none.
        places: the pairs of columns to tabulate.

    Returns:
        units whose (f,) sums reshape to (len(places), q, q); items with one label or none are left out.
    """
    q = len(ratings.categories)
    common = (labels != MISSING).sum(axis=1) >= 2
    rows, kinds = _distinct_rows(labels[common] + 1, base=q + 1)
    tables = np.zeros((len(rows), len(places), q * q))
    for position, (a, b) in enumerate(places):
        both = np.flatnonzero((rows[:, a] > 0) & (rows[:, b] > 0))
        tables[both, position, (rows[both, a] - 1) * q + rows[both, b] - 1] = 1
    return units(
        kinds,
        tables.reshape(len(rows), -1),
        cells=np.eye(len(places) * q * q),
        judgements=(rows > 0).sum(axis=1),
        clusters=None if ratings.clusters is None else ratings.clusters[common],
        copies=None if ratings.copies is None else ratings.copies[common],
        tables=len(places),
    )


def tables_only(ratings: Ratings, places: Sequence[tuple[int, int]]) -> Units:
    """The observed tables of people without their kinds, where these would be too many to resample."""
    q, judged = len(ratings.categories), ratings.table != MISSING
    tables = np.zeros((len(places), q * q))
    for position, (a, b) in enumerate(places):
        both = judged[:, a] & judged[:, b]
        cells = ratings.table[both, a].astype(np.int64) * q + ratings.table[both, b]
        copies = None if ratings.copies is None else ratings.copies[both]
        tables[position] = np.bincount(cells, weights=copies, minlength=q * q)
    return Units(
        sums=tables.reshape(1, -1),
        counts=np.ones(1, dtype=np.int64),
        cells=np.empty((0, tables.size)),
        n=ratings.how_many(judged.sum(axis=1) >= 2),
    )


def _pooled_features(rows: IntArray) -> FloatArray:
    q = rows.shape[1]
    m = rows.sum(axis=1)
    ordered = (rows[:, :, None] * rows[:, None, :] - rows[:, :, None] * np.eye(q, dtype=np.int64)).astype(
        np.float64
    )
    coincidences = ordered / np.maximum(m - 1, 1)[:, None, None]
    pairs = coincidences / m[:, None, None]
    tables = np.stack([pairs, coincidences, ordered], axis=1).reshape(len(rows), 3 * q * q)
    users = ((rows > 0) & (m >= 2)[:, None]).astype(np.float64)
    return np.concatenate([tables, rows / m[:, None], users, np.ones((len(rows), 1))], axis=1)


def _distinct_rows(matrix: Whole, *, base: int) -> tuple[IntArray, IntArray]:
    """Distinct rows in sorted order, and the number of the one each row equals; entries lie in 0…base − 1."""
    entries: IntArray = matrix.astype(np.int64)
    width = matrix.shape[1]
    if base**width >= 2**62:
        rows, kinds = np.unique(entries, axis=0, return_inverse=True)
        return rows, kinds.reshape(-1)
    place_values = base ** np.arange(width, dtype=np.int64)
    _, first, kinds = np.unique(entries @ place_values, return_index=True, return_inverse=True)
    return entries[first], kinds
