"""Numbers of rows at the seat: every primary key has one, and none tells when its row was stored."""

import subprocess
import sys
from itertools import pairwise

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from annotation.services.seat_numbers import LARGEST, assignment_of, number_of

EXACT_IN_A_BROWSER = 2**53 - 1
experts = st.integers(1, 2**40)


@given(st.integers(0, LARGEST - 1), experts)
def test_every_assignment_has_a_number_and_is_found_by_it(assignment: int, expert: int) -> None:
    number = number_of(assignment, expert=expert)

    assert 1 <= number <= LARGEST <= EXACT_IN_A_BROWSER
    assert assignment_of(number, expert=expert) == assignment


@given(st.integers(1, LARGEST), experts)
def test_every_number_is_that_of_one_assignment(number: int, expert: int) -> None:
    assignment = assignment_of(number, expert=expert)

    assert 0 <= assignment < LARGEST
    assert number_of(assignment, expert=expert) == number


@given(st.one_of(st.integers(LARGEST + 1, 10**30), st.integers(-(10**30), 0)), experts)
def test_beyond_all_numbers_there_is_no_row(number: int, expert: int) -> None:
    found = assignment_of(number, expert=expert)

    assert found == number
    assert not 1 <= found < LARGEST


def test_two_experts_know_a_row_by_different_numbers() -> None:
    assert len({number_of(17, expert=expert) for expert in range(1, 500)}) == 499


def test_another_key_gives_other_numbers() -> None:
    number = number_of(17, expert=1)

    with override_settings(SECRET_KEY="another"):
        assert number_of(17, expert=1) != number
        assert assignment_of(number, expert=1) > 10**6  # of a row that no campaign has

    assert number_of(17, expert=1) == number


def test_numbers_follow_no_order() -> None:
    """Of ten thousand rows in the order in which they were stored."""
    numbers = [number_of(row, expert=3) for row in range(1, 10_001)]

    rising = sum(first < second for first, second in pairwise(numbers))
    early = sorted(range(10_000), key=numbers.__getitem__)[:5_000]

    assert 4_800 < rising < 5_200
    assert 4_800_000 < sum(early) / 5_000 * 1_000 < 5_200_000
    assert abs(sum(number % 2 for number in numbers) - 5_000) < 250


def test_a_number_is_the_same_in_every_process_and_at_any_time() -> None:
    """Answers wait in browsers for days: what the numbers are is fixed with the key."""
    code = (
        "from django.conf import settings; settings.configure(SECRET_KEY='of this test');"
        "from annotation.services.seat_numbers import number_of; print(number_of(17, expert=5))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    with override_settings(SECRET_KEY="of this test"):
        assert number_of(17, expert=5) == int(other.stdout) == 3297856784437047


@pytest.mark.django_db
def test_it_asks_the_database_nothing() -> None:
    with CaptureQueriesContext(connection) as queries:
        assert assignment_of(number_of(99, expert=4), expert=4) == 99

    assert len(queries) == 0
