"""When somebody will be done: by the median of the days on which they worked, or unknown, and why."""

from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.protocol.pace import FEWEST, SILENCE, expected_finish

TODAY = date(2026, 3, 20)


def days_ago(counts: dict[int, int]) -> dict[date, int]:
    return {TODAY - timedelta(days=ago): n for ago, n in counts.items()}


def test_a_steady_worker_goes_on_as_before() -> None:
    found = expected_finish(days_ago({1: 100, 2: 100, 3: 100}), left=250, today=TODAY)

    assert (found.per_day, found.day) == (100.0, TODAY + timedelta(days=3))


def test_one_long_day_moves_nothing() -> None:
    steady = expected_finish(days_ago(dict.fromkeys(range(1, 8), 50)), left=200, today=TODAY)
    once = expected_finish(days_ago(dict.fromkeys(range(1, 8), 50) | {4: 900}), left=200, today=TODAY)

    assert steady.day == once.day


def test_who_works_every_other_day_takes_twice_as_long() -> None:
    found = expected_finish(days_ago({2: 100, 4: 100, 6: 100, 8: 100}), left=400, today=TODAY)

    assert found.day == TODAY + timedelta(days=8)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({}, "fewer than 3 days"),
        ({1: 10, 2: 10}, "fewer than 3 days"),
        ({SILENCE + 1: 10, SILENCE + 2: 10, SILENCE + 3: 10}, "No answer for 15 days"),
        ({1: 1, 2: 1, 3: 1}, "more than ten years"),
    ],
)
def test_it_says_why_it_does_not_know(counts: dict[int, int], reason: str) -> None:
    found = expected_finish(days_ago(counts), left=5000, today=TODAY)

    assert found.day is None
    assert reason in str(found.reason)


def test_where_nothing_is_left_nothing_is_expected() -> None:
    found = expected_finish(days_ago({1: 10}), left=0, today=TODAY)

    assert (found.day, found.reason) == (None, None)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.integers(0, 60), st.integers(0, 500), max_size=40),
    st.integers(0, 20_000),
    st.integers(1, 20_000),
)
def test_more_work_is_never_done_earlier_and_never_in_the_past(
    counts: dict[int, int], left: int, more: int
) -> None:
    sooner = expected_finish(days_ago(counts), left=left, today=TODAY)
    later = expected_finish(days_ago(counts), left=left + more, today=TODAY)

    assert (sooner.day is None) or (sooner.reason is None and sooner.day > TODAY)
    assert (later.day is None) == (later.reason is not None)
    if sooner.day and later.day:
        assert sooner.day <= later.day
    if sum(n > 0 for n in counts.values()) < FEWEST:
        assert later.day is None
