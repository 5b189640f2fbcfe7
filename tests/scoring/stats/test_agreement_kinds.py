"""Figures counted from kinds of items, against the same figures item by item: not a digit may differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.stats import kinds
from scoring.stats.agreement import Ratings, agreement, by_group, ratings_from_matrix
from scoring.stats.agreement_groups import Groups
from scoring.stats.agreement_table import one_row_per_kind
from scoring.stats.kinds import kinds_of_rows

Table = npt.NDArray[np.int64]
often = settings(max_examples=25, deadline=None, derandomize=True)


@st.composite
def some_ratings(draw: st.DrawFn) -> Ratings:
    """Any table: one item, one category, blanks, nobody sharing an item, pairs that rotate, one person twice."""
    q, raters = draw(st.integers(2, 4)), draw(st.integers(1, 5))
    used = draw(st.sampled_from([1, q]))
    row = st.lists(st.integers(-1, used - 1), min_size=raters, max_size=raters)
    table = np.array(
        draw(st.lists(row, min_size=1, max_size=30)), dtype=draw(st.sampled_from([np.int8, np.int64]))
    )
    if draw(st.booleans()):  # of each item two people in turn
        judges = (np.arange(len(table))[:, None] + np.arange(raters)) % raters < 2
        table[~judges] = -1
    names = [f"r{number}" for number in range(raters)]
    if raters > 2 and draw(st.booleans()):
        names[-1] = names[0].upper()
    return ratings_from_matrix(
        table,
        raters=names,
        categories=[str(k) for k in range(q)],
        slots=np.argsort(table < 0, axis=1, kind="stable")[:, :2] if draw(st.booleans()) else None,
    )


@contextmanager
def item_by_item() -> Iterator[None]:
    with patch(
        "scoring.stats.agreement.one_row_per_kind", lambda ratings: (ratings, np.arange(len(ratings.items)))
    ):
        yield


@given(some_ratings())
@often
def test_every_figure_and_interval_is_that_of_the_items_one_by_one(ratings: Ratings) -> None:
    counted = agreement(ratings, seed=3, resamples=100)
    with item_by_item():
        assert counted == agreement(ratings, seed=3, resamples=100)


@given(some_ratings(), st.integers(1, 3))
@often
def test_every_group_is_that_of_its_items_one_by_one(ratings: Ratings, n: int) -> None:
    numbers = np.arange(len(ratings.items)) * 7 % n
    counted = by_group(ratings, Groups(numbers, ["a", "b", "c"]), seed=3, resamples=100)
    with item_by_item():
        assert counted == {
            "abc"[number]: agreement(ratings.subset(numbers == number), seed=3, resamples=100)
            for number in np.unique(numbers)
        }


@given(some_ratings())
@often
def test_kinds_and_their_copies_are_the_items_again(ratings: Ratings) -> None:
    found, row_of = one_row_per_kind(ratings)
    assert found.copies is not None
    assert found.table[row_of].tolist() == ratings.table.tolist()
    assert found.copies.tolist() == np.bincount(row_of).tolist()
    again, _ = one_row_per_kind(found)
    assert again.copies is not None
    assert again.copies.tolist() == found.copies.tolist()


def test_items_of_clusters_stay_as_they_are() -> None:
    ratings = ratings_from_matrix([[0, 0], [0, 0]], raters="ab", categories="01", clusters=[1, 1])
    assert one_row_per_kind(ratings)[0] is ratings
    with pytest.raises(ValueError, match="stand alone"):
        Ratings(
            raters=("a",), table=np.array([[0], [0]]), categories=("0", "1"), scale=(0, 1), items="xy",
            clusters=np.array([1, 1]), copies=np.array([1, 1]),
        )  # fmt: skip


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 1), st.integers(-1, 6)), max_size=30))
@often
def test_kinds_of_rows_are_numpys_distinct_rows(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    distinct, of_row = np.unique(table, axis=0, return_inverse=True)
    for counted in (kinds._COUNTED, 1):  # once by counting, once by sorting
        with patch.object(kinds, "_COUNTED", counted):
            found = kinds_of_rows(list(table.T), [4, 2, 7], rows=len(table))
        assert found.of_row.tolist() == of_row.reshape(-1).tolist()
        assert table[found.first].tolist() == distinct.tolist()
