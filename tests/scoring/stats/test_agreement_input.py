"""Ratings from long and wide tables: revisions, blanks, slots, clusters, and what is refused."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from scoring.stats.agreement import Ratings, agreement, ratings_from_long, ratings_from_matrix


def long(rows: list[tuple[Any, ...]], **options: Any) -> Ratings:
    items, raters, labels = zip(*rows, strict=True)
    return ratings_from_long(items, raters, labels, categories=("0", "1"), **options)


def test_it_takes_rows_without_a_moment_as_saved_in_their_order() -> None:
    ratings = long([("t1", "a", "0"), ("t1", "b", "1"), ("t1", "a", "1")])
    assert ratings.table.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    "saved",
    [
        [9, 2, 10],
        [0.9, 0.1, 1.0],
        [datetime(2026, 1, day, tzinfo=UTC) for day in (9, 2, 10)],
        [np.datetime64("2026-01-09"), np.datetime64("2026-01-02"), np.datetime64("2026-01-10")],
    ],
)
def test_it_lets_the_latest_revision_win_wherever_it_stands(saved: list[object]) -> None:
    rows = [("t1", "a", "0"), ("t1", "b", "1"), ("t1", "a", "1")]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        ratings = long([rows[k] for k in order], saved=[saved[k] for k in order])
        assert ratings.table.tolist() == [[1, 1]]


def test_it_takes_an_answer_that_was_withdrawn_as_missing() -> None:
    ratings = long([("t1", "a", "1"), ("t1", "b", "1"), ("t1", "a", None)], saved=[1, 2, 3])
    assert ratings.table.tolist() == [[-1, 1]]


def test_it_trims_labels_but_not_the_scale() -> None:
    assert long([("t1", "a", " 1 "), ("t1", "b", "1\u3000")]).table.tolist() == [[1, 1]]


def test_it_knows_slots_and_clusters_from_the_rows() -> None:
    ratings = long(
        [("t1", "b", "1"), ("t1", "a", "0"), ("t2", "c", "1"), ("t2", "b", "1")],
        slots=[1, 2, 2, 1],
        clusters=["x", "x", "y", "y"],
    )
    assert ratings.raters == ("a", "b", "c")
    assert ratings.slots is not None
    assert ratings.slots.tolist() == [[1, 0], [1, 2]]
    labels = ratings.slot_labels()
    assert labels is not None
    assert labels.tolist() == [[1, 0], [1, 1]]
    assert ratings.clusters is not None
    assert len(set(ratings.clusters.tolist())) == 2


def test_it_leaves_a_slot_empty_where_none_was_recorded() -> None:
    ratings = long(
        [("t1", "a", "1"), ("t1", "b", "1"), ("t2", "a", "0"), ("t2", "b", "1")], slots=[1, 2, 1, None]
    )
    assert ratings.slots is not None
    assert ratings.slots.tolist() == [[0, 1], [0, -1]]
    assert agreement(ratings, seed=1).coefficients["contrast"].n == 1


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("t1", "a", "2")], {}, "Item t1, rater a: the label “2” is not on the scale"),
        ([("t1", "a", "NA")], {}, "the label “NA” is not on the scale"),
        ([("t1", "a", "1")], {"saved": ["10"]}, "as text"),
        ([("t1", "a", "1")], {"saved": [1, 2]}, "differ in length: 1 and 2"),
        ([("t1", "a", "1")], {"clusters": []}, "differ in length: 1 and 0"),
        ([("t1", "a", "1"), ("t1", "b", "1")], {"slots": [1, 1]}, "slot 1 holds two people"),
        ([("t1", "a", "1")], {"slots": [-1]}, "counted from 1"),
        ([("t1", "a", "1"), ("t1", "b", "1")], {"clusters": ["x", "y"]}, "stands in two clusters"),
    ],
)
def test_it_refuses_what_does_not_fit_and_says_why(
    rows: list[tuple[Any, ...]], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        long(rows, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"categories": ("0",)}, "at least two categories"),
        ({"categories": ("0", "")}, "a name of its own"),
        ({"categories": ("0", "0")}, "a name of its own"),
        ({"scale": (0,)}, "1 values for 2 categories"),
        ({"scale": (1, 1)}, "rise, or fall"),
        ({"categories": ("0", "1", "2"), "scale": (0, 2, 1)}, "rise, or fall"),
        ({"raters": ("a", "a")}, "two columns"),
        ({"table": [[0, 2]]}, "may hold -1"),
        ({"items": ("t1", "t2")}, "has shape"),
        ({"slots": [[0, 5]]}, "may hold -1"),
        ({"slots": [0]}, "one row per item"),
        ({"clusters": [0, 1]}, "one number per item"),
    ],
)
def test_it_refuses_a_table_that_contradicts_itself(change: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"table": [[0, 1]], "raters": ("a", "b"), "categories": ("0", "1")} | change
    with pytest.raises(ValueError, match=message):
        ratings_from_matrix(parts.pop("table"), **parts)


def test_it_tells_items_of_their_own_from_clusters() -> None:
    table = [[0, 1], [1, 1]]
    alone = ratings_from_matrix(table, raters=("a", "b"), categories=("0", "1"), clusters=[7, 8])
    together = ratings_from_matrix(table, raters=("a", "b"), categories=("0", "1"), clusters=[7, 7])
    assert (alone.is_clustered, together.is_clustered) == (False, True)
