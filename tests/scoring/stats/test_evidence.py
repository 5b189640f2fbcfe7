"""Evidence on one expert's answers: against plain counting, and undefined with a reason where there is too little."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring.stats.evidence import (
    FEWEST_SCREENS,
    ExpertAnswers,
    _difference,
    all_first,
    by_rest,
    disagreement_by_position,
    drift,
    evidence,
    middle,
    most_given,
)
from scoring.stats.proportions import share_of_units


def answers(labels: list[str], **fields: Any) -> ExpertAnswers:
    n = len(labels)
    zeros = np.zeros(n, dtype=np.int64)
    values: dict[str, Any] = {
        "label": labels,
        "screen": np.arange(n, dtype=np.int64),
        "position": zeros,
        "others": zeros,
        "differing": zeros,
        "timed": np.ones(n, dtype=bool),
        "seconds": np.array([]),
        "seconds_all_first": np.array([]),
        "rest": np.full(n, -1, dtype=np.int64),
        "seconds_rest": np.array([]),
    }
    return ExpertAnswers(**(values | fields))


def test_nothing_is_none_with_a_reason_never_zero() -> None:
    found = evidence(answers([]), seed=1).as_json()

    assert found["seconds"] == {
        "n": 0,
        "median": None,
        "quartiles": None,
        "reason": "No active time was measured.",
    }
    assert found["most_given"]["percent"] is None
    assert found["most_given"]["reason"] == "No label was given."
    assert found["drift"]["difference"] is None
    assert found["drift"]["reason"]
    assert found["all_first"] is None
    assert [row["percent"] for row in found["by_position"]] == [None] * 4


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(["1", "0.5", "0", ""]), min_size=1, max_size=60))
def test_the_label_given_most_is_that_of_plain_counting(labels: list[str]) -> None:
    most, share = most_given(labels, np.arange(len(labels)), seed=1)
    given_labels = [one for one in labels if one]

    assert share.n == len(given_labels)
    if given_labels:
        assert share.errors == max(given_labels.count(one) for one in given_labels)
        assert given_labels.count(str(most)) == share.errors
        assert share.interval is not None
        assert share.interval[0] <= share.errors / share.n <= share.interval[1]


def test_one_label_only_is_a_share_of_one_with_an_interval() -> None:
    _most, share = most_given(["1"] * 40, np.arange(40), seed=1)

    assert share.share == 1.0
    assert share.interval is not None
    assert 0.9 < share.interval[0] < 1.0


def test_screens_are_the_units_where_they_hold_several_answers() -> None:
    screens = np.repeat(np.arange(30), 5)
    labels = ["1" if screen % 2 else "0" for screen in screens]
    _most, clustered = most_given(labels, screens, seed=1)
    _most, alone = most_given(labels, np.arange(150), seed=1)

    assert clustered.interval is not None
    assert alone.interval is not None
    assert clustered.interval[1] - clustered.interval[0] > 1.5 * (alone.interval[1] - alone.interval[0])
    assert all_first(labels, screens).share == 0.5


def test_a_screen_with_one_other_answer_is_not_all_first() -> None:
    share = all_first(["1", "1", "", "1", "1"], np.array([1, 1, 1, 2, 2]))

    assert (share.errors, share.n) == (1, 2)


@pytest.mark.parametrize("n", [FEWEST_SCREENS - 1, FEWEST_SCREENS])
def test_thirds_need_enough_screens(n: int) -> None:
    found = drift(np.ones(n, dtype=bool), np.arange(n), seed=1)

    assert bool(found.thirds) == (n >= FEWEST_SCREENS)
    assert (found.reason is None) == (n >= FEWEST_SCREENS)


def test_thirds_hold_whole_screens_in_the_order_of_time() -> None:
    screens = np.repeat(np.arange(200, 260)[::-1], 2)  # numbers say nothing of the time
    found = drift(np.arange(120) < 40, screens, seed=1)

    assert [third.n for third in found.thirds] == [40, 40, 40]
    assert [third.share for third in found.thirds] == [1.0, 0.0, 0.0]
    assert found.interval is not None
    assert found.interval[1] < 0


def test_the_interval_of_a_drift_is_newcombes_for_single_answers() -> None:
    """Newcombe (1998), table II, example (a): 56/70 − 48/80 has the interval 0.0524 to 0.3339 by method 10."""
    first = np.array([i < 48 for i in range(80)])
    later = np.array([i < 56 for i in range(70)])
    value, interval = _difference(
        share_of_units(int(later.sum()), 70, nothing=""), share_of_units(int(first.sum()), 80, nothing="")
    )

    assert value == pytest.approx(0.2)
    assert interval == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_a_drift_that_is_not_there_is_covered() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for run in range(200):
        found = drift(rng.random(90) < 0.6, np.arange(90), seed=run)
        assert found.interval is not None
        covered += found.interval[0] <= 0 <= found.interval[1]

    assert covered / 200 > 0.9


def test_disagreement_counts_every_other_experts_label_once() -> None:
    rows = dict(
        disagreement_by_position(
            np.array([1, 50, 51, 0]),
            np.array([2, 0, 1, 1]),
            np.array([2, 1, 2, 1]),
            np.arange(4),
            seed=1,
        )
    )

    assert (rows["1-50"].errors, rows["1-50"].n) == (2, 3)
    assert (rows["51-100"].errors, rows["51-100"].n) == (1, 2)
    assert rows["201+"].share is None


def test_quartiles_enclose_the_median() -> None:
    found = middle(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))

    assert found.quartiles is not None
    assert found.quartiles[0] <= (found.median or 0) <= found.quartiles[1]
    assert found.n == 5


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(st.just(-1), st.integers(0, 5)), max_size=30))
def test_the_key_for_the_rest_is_counted_by_screen(told: list[int]) -> None:
    rest = np.repeat(np.array(told, dtype=np.int64), 5)
    share, others = by_rest(rest, np.repeat(np.arange(len(told), dtype=np.int64), 5))

    assert (share.errors, share.n, others) == (
        sum(one > 0 for one in told), sum(one >= 0 for one in told), told.count(-1),
    )  # fmt: skip
    assert (share.share is None) == (share.n == 0)


def test_a_screen_corrected_later_stays_one_of_that_key_while_an_answer_of_it_stands() -> None:
    share, others = by_rest(np.array([4, 4, 0, 0, 0]), np.array([1, 1, 1, 2, 2]))

    assert (share.errors, share.n, others) == (1, 2, 0)


def test_what_was_not_recorded_is_no_zero() -> None:
    found = evidence(answers(["1", "1"], screen=np.array([1, 1])), seed=1).as_json()

    assert found["rest"]["percent"] is None
    assert found["rest"]["reason"] == "It was not recorded for these answers."
    assert found["rest"]["not_recorded"] == 1
    assert evidence(answers(["1", "1"]), seed=1).as_json()["rest"] is None  # a screen holds one answer
