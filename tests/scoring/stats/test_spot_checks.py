"""Spot checks: the published plans, and exact figures against counting everything."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.errors import ProtocolError
from scoring.stats.proportions import clopper_pearson
from scoring.stats.spot_checks import (
    Checked,
    acceptance_plan,
    chance_to_accept,
    check_estimate,
    exact_finite,
)

quickly = settings(max_examples=25, deadline=None, derandomize=True)


def hypergeometric(x: int, size: int, held: int, n: int) -> float:
    return comb(held, x) * comb(size - held, n - x) / comb(size, n)


def at_most(c: int, size: int, held: int, n: int) -> float:
    return sum(hypergeometric(x, size, held, n) for x in range(c + 1))


def binomial_at_most(c: int, n: int, rate: float) -> float:
    return sum(comb(n, x) * rate**x * (1 - rate) ** (n - x) for x in range(c + 1))


def test_it_gives_the_plans_of_the_protocol() -> None:
    first, second = acceptance_plan(0.05, 0.15, seconds=10), acceptance_plan(0.05, 0.10)
    assert (first.n, first.c) == (77, 7)
    assert (second.n, second.c) == (233, 17)
    assert first.hours == 770 / 3600
    assert second.hours is None
    assert first.risk_good == pytest.approx(1 - binomial_at_most(7, 77, 0.05))
    assert first.risk_bad == pytest.approx(binomial_at_most(7, 77, 0.15))


@pytest.mark.parametrize(("acceptable", "rejectable"), [(0.05, 0.15), (0.02, 0.1), (0.0, 0.05), (0.1, 0.3)])
def test_no_smaller_check_keeps_both_risks(acceptable: float, rejectable: float) -> None:
    plan = acceptance_plan(acceptable, rejectable)
    for n in range(1, plan.n):
        for c in range(min(n, plan.c + 2)):
            good, bad = 1 - binomial_at_most(c, n, acceptable), binomial_at_most(c, n, rejectable)
            assert not (good <= 0.05 and bad <= 0.10)


@given(st.integers(8, 40), st.floats(0, 0.2), st.floats(0.25, 0.6))
@quickly
def test_a_plan_for_a_finite_part_is_the_smallest_by_counting(
    lot: int, acceptable: float, rejectable: float
) -> None:
    most, least = int(np.floor(acceptable * lot)), int(np.ceil(rejectable * lot))
    plan = acceptance_plan(acceptable, rejectable, lot=lot)
    smallest = next(
        (n, c)
        for n in range(1, lot + 1)
        for c in range(n)
        if 1 - at_most(c, lot, most, n) <= 0.05 and at_most(c, lot, least, n) <= 0.10
    )
    assert (plan.n, plan.c) == smallest
    assert plan.risk_bad == pytest.approx(at_most(plan.c, lot, least, plan.n))


def test_a_finite_part_needs_fewer_checks_than_an_endless_one() -> None:
    assert acceptance_plan(0.05, 0.15, lot=200).n < acceptance_plan(0.05, 0.15, lot=5000).n <= 77


def test_it_draws_the_curve_of_a_plan() -> None:
    plan = acceptance_plan(0.05, 0.15)
    assert chance_to_accept(plan, 0.05) == pytest.approx(1 - plan.risk_good)
    assert chance_to_accept(plan, 0.15) == pytest.approx(plan.risk_bad)
    curve = [chance_to_accept(plan, rate / 100) for rate in range(31)]
    assert curve == sorted(curve, reverse=True)


def test_a_part_of_any_number_of_units_is_planned_or_refused_at_once() -> None:
    assert acceptance_plan(0.05, 0.15, lot=10_000_000).n == acceptance_plan(0.05, 0.15).n
    with pytest.raises(ProtocolError, match="at most 10000000 units"):
        acceptance_plan(0.05, 0.15, lot=7_613_607_358_413_702)
    with pytest.raises(ProtocolError, match="more than 20000 checks"):
        acceptance_plan(0.05, 0.051, lot=9_000_000)


def test_it_refuses_plans_that_make_no_sense() -> None:
    with pytest.raises(ProtocolError, match="below"):
        acceptance_plan(0.15, 0.05)
    with pytest.raises(ProtocolError, match="no number of errors lies between"):
        acceptance_plan(0.05, 0.10, lot=0)
    with pytest.raises(ProtocolError, match="further apart"):
        acceptance_plan(0.05, 0.0501)


@given(st.integers(1, 30).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size))).flatmap(
    lambda sizes: st.tuples(st.just(sizes[0]), st.just(sizes[1]), st.integers(0, sizes[1]))))  # fmt: skip
@quickly
def test_the_exact_interval_holds_what_no_test_rules_out(case: tuple[int, int, int]) -> None:
    size, n, errors = case
    possible = [
        held
        for held in range(errors, size - (n - errors) + 1)
        if at_most(errors, size, held, n) >= 0.025 - 1e-12
        and 1 - (at_most(errors - 1, size, held, n) if errors else 0) >= 0.025 - 1e-12
    ]
    assert exact_finite(errors, n, size) == (possible[0] / size, possible[-1] / size)


@pytest.mark.parametrize(("size", "n"), [(40, 10), (25, 20)])
def test_the_exact_interval_covers_every_number_of_errors(size: int, n: int) -> None:
    for held in range(size + 1):
        covered = 0.0
        for x in range(max(0, n - (size - held)), min(held, n) + 1):
            low, high = exact_finite(x, n, size)
            if low <= held / size <= high:
                covered += hypergeometric(x, size, held, n)
        assert covered >= 0.95 - 1e-9


def test_in_a_large_part_it_is_the_binomial_interval() -> None:
    assert exact_finite(4, 60, 2_000_000) == pytest.approx(clopper_pearson(4, 60), abs=1e-4)


def test_it_weighs_strata_by_their_size() -> None:
    strata = {"a": Checked(size=900, checked=90, errors=9), "b": Checked(size=100, checked=100, errors=50)}
    found = check_estimate(strata)
    assert found.rate == pytest.approx(0.9 * 0.1 + 0.1 * 0.5)
    assert (found.size, found.checked, found.errors) == (1000, 190, 59)
    own = found.by["a"].interval
    assert own == exact_finite(9, 90, 900)
    # Stratum b is known; all that is open is a, and its limits are moved as they are.
    assert own is not None
    assert found.interval == pytest.approx((0.05 + 0.9 * own[0], 0.05 + 0.9 * own[1]))


def test_the_weighted_interval_covers() -> None:
    rng = np.random.default_rng(1)
    sizes, held, checks = (600, 150, 60), (30, 30, 20), (40, 25, 20)
    true = sum(held) / sum(sizes)
    covered = 0
    for _ in range(150):
        errors = [int(rng.hypergeometric(h, s - h, n)) for s, h, n in zip(sizes, held, checks, strict=True)]
        checked = [
            Checked(size=s, checked=n, errors=e) for s, n, e in zip(sizes, checks, errors, strict=True)
        ]
        found = check_estimate(dict(zip("abc", checked, strict=True)))
        assert found.interval is not None
        covered += found.interval[0] <= true <= found.interval[1]
    assert covered >= 150 * 0.92


def test_what_was_checked_in_full_is_known_and_what_was_not_is_not() -> None:
    full = check_estimate({"a": Checked(size=10, checked=10, errors=2)})
    assert (full.rate, full.interval) == (0.2, (0.2, 0.2))
    part = check_estimate(
        {"a": Checked(size=10, checked=10, errors=2), "b": Checked(size=5, checked=0, errors=0)}
    )
    assert (part.rate, part.interval, part.reason) == (None, None, "nothing of b was checked")
    assert part.as_json()["by"]["b"]["reason"] == "nothing was checked"
    assert check_estimate({}).reason == "nothing was checked"
    with pytest.raises(ValueError, match="among"):
        Checked(size=5, checked=6, errors=0)
    with pytest.raises(ValueError, match="among"):
        exact_finite(3, 2, 10)
