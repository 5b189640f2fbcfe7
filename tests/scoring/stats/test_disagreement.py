"""How far apart the answers to one item lie."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.stats.agreement_table import MISSING
from scoring.stats.disagreement import disagreement

LIKERT = (0.0, 0.5, 1.0)
ROWS = st.lists(st.lists(st.integers(-1, 2), min_size=4, max_size=4), min_size=1, max_size=20)


@given(ROWS)
def test_it_is_the_mean_squared_distance_over_pairs_as_a_share_of_the_largest(rows: list[list[int]]) -> None:
    found = disagreement(np.array(rows), LIKERT)
    for row, one in zip(rows, found.tolist(), strict=True):
        labels = [LIKERT[label] for label in row if label != MISSING]
        apart = [(a - b) ** 2 for a, b in combinations(labels, 2)]
        if apart:
            assert one == pytest.approx(sum(apart) / len(apart), abs=1e-12)
            assert 0 <= one <= 1 + 1e-12
        else:
            assert np.isnan(one)


@given(ROWS, st.permutations(range(4)))
def test_who_said_it_does_not_matter(rows: list[list[int]], order: list[int]) -> None:
    table = np.array(rows)
    np.testing.assert_allclose(disagreement(table, LIKERT), disagreement(table[:, order], LIKERT), atol=1e-12)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [([0, 0, 0], 0.0), ([0, 0, 2], 2 / 3), ([0, 1, 2], 0.5), ([0, 2, -1], 1.0)],
)
def test_cases_worked_out_by_hand(labels: list[int], expected: float) -> None:
    assert disagreement(np.array([labels]), LIKERT).tolist() == pytest.approx([expected])


def test_the_largest_distance_is_that_of_the_scale_not_of_what_was_said() -> None:
    assert disagreement(np.array([[0, 1]]), LIKERT).tolist() == [0.25]
    assert disagreement(np.array([[0, 1]]), (0.0, 1.0)).tolist() == [1.0]
