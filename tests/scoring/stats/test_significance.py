"""Differences between systems against enumeration, plain loops and statsmodels."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring.stats.error_rates import UNDECIDED, Instances, error_rates
from scoring.stats.significance import (
    Comparison,
    Difference,
    compare_systems,
    drawn_counts,
    holm,
    p_value,
    pair_differences,
    paired_interval,
    sign_flip_p,
    spread,
    with_holm,
)
from scoring.stats.systems import JudgedSystem

quickly = settings(max_examples=25, deadline=None, derandomize=True)


def judged(verdict: NDArray[np.integer] | list[int]) -> Instances:
    """Five contexts a compound."""
    verdicts = np.asarray(verdict, dtype=np.int8)
    return Instances(
        unit=np.arange(verdicts.size) // 5,
        context=np.arange(verdicts.size),
        verdict=verdicts,
        cannot_judge=np.zeros(verdicts.size, dtype=np.bool_),
    )


def system(name: str, *runs: NDArray[np.integer] | list[int]) -> JudgedSystem:
    return JudgedSystem(name=name, runs=tuple(judged(run) for run in runs))


def of(comparison: Comparison, measure: str) -> Difference:
    (found,) = [one for one in comparison.differences if one.measure == measure]
    return found


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@quickly
def test_it_adjusts_as_statsmodels_does(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist(), abs=1e-12)


def test_it_adjusts_only_what_was_tested() -> None:
    tested = [
        Difference(measure="m", a="a", b=b, n=1, unit="compounds", p=p)
        for b, p in zip("bcd", (0.02, None, 0.03), strict=True)
    ]
    assert [one.p_holm for one in with_holm(tested)] == [0.04, None, 0.04]


def test_it_never_gives_a_p_of_nought() -> None:
    assert p_value(0, 99) == 0.01
    assert sign_flip_p(np.full(40, 3), seed=1, shuffles=99) == 0.01


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=10), st.integers(0, 5))
@quickly
def test_its_p_is_that_of_all_swaps(differences: list[int], seed: int) -> None:
    observed = abs(sum(differences))
    sums = [abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
            for signs in product((1, -1), repeat=len(differences))]  # fmt: skip
    exact = float(np.mean([one >= observed for one in sums]))
    found = sign_flip_p(np.array(differences), seed=seed, shuffles=20_000)
    assert found == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 20_000) ** 0.5 + 1e-4)


def test_its_interval_is_that_of_drawing_whole_compounds() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 6, 80)
    apart = np.array([rng.integers(-size, size + 1) for size in sizes])
    (low, high), method = paired_interval(apart, sizes, seed=3, resamples=20_000)
    drawn = []
    for _ in range(20_000):
        rows = rng.integers(0, 80, 80)
        drawn.append(apart[rows].sum() / sizes[rows].sum())
    assert method == "paired-cluster-bootstrap"
    assert [low, high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]).tolist(), abs=0.008)


def test_its_interval_has_a_width_where_nothing_differs_or_everything_alike() -> None:
    (low, high), _ = paired_interval(np.zeros(60, dtype=int), np.full(60, 5), seed=1)
    assert -low == high == pytest.approx(1 - 0.025 ** (1 / 60))  # nobody of 60 differs: the exact upper limit
    (low, high), _ = paired_interval(np.ones(60, dtype=int), np.ones(60, dtype=int), seed=1)
    assert 0.8 < low < high
    assert high == pytest.approx(1.0)
    (low, high), _ = paired_interval(np.array([2]), np.array([5]), seed=1)
    assert low < 0.4 < high


def test_two_runs_are_compared_as_two_systems_are() -> None:
    rng = np.random.default_rng(3)
    verdicts = [rng.integers(0, 2, 60) for _ in range(3)]
    one, other = system("x / 1", verdicts[0]), system("x / 2", verdicts[1])
    found = pair_differences(one, other, seed=4)
    beside = compare_systems([one, other, system("y", verdicts[2])], labels="x", seed=4)
    alone = [replace(one, p_holm=None) for one in beside.differences if (one.a, one.b) == ("x / 1", "x / 2")]
    assert [replace(one, p_holm=None) for one in found] == alone
    assert [one.p_holm for one in found] == holm([one.p for one in alone if one.p is not None])


def plain_rates(
    a: NDArray[np.integer], b: NDArray[np.integer]
) -> tuple[float | None, float | None, int, int]:
    """Differences over what both hold, compound by compound; and how many compounds that is."""
    wrong, judged_both, any_wrong, complete, touched = 0, 0, 0, 0, 0
    for start in range(0, len(a), 5):
        both = [
            (x, y) for x, y in zip(a[start : start + 5], b[start : start + 5], strict=True) if min(x, y) >= 0
        ]
        wrong += sum(y - x for x, y in both)
        judged_both += len(both)
        touched += bool(both)
        if len(both) == 5:
            complete += 1
            any_wrong += any(x == 0 for x, _ in both) - any(y == 0 for _, y in both)
    instance = 100 * wrong / judged_both if judged_both else None
    return instance, 100 * any_wrong / complete if complete else None, touched, complete


@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)),
                                                     min_size=5 * n, max_size=5 * n)))  # fmt: skip
@quickly
def test_it_compares_systems_on_what_both_hold(rows: list[tuple[int, int]]) -> None:
    a, b = np.array(rows).T
    found = compare_systems([system("a", a), system("b", b)], labels="x", shuffles=19, resamples=100)
    instance, aggregate, touched, complete = plain_rates(a, b)
    assert of(found, "instance").difference == (None if instance is None else pytest.approx(instance))
    assert of(found, "aggregate").difference == (None if aggregate is None else pytest.approx(aggregate))
    assert (of(found, "instance").n, of(found, "aggregate").n) == (touched, complete)
    for one in found.differences:
        assert (one.reason is None) == (one.difference is not None) == (one.interval is not None)
        if one.interval is not None and one.difference is not None:
            assert one.interval[0] < one.interval[1]
    backwards = compare_systems([system("b", b), system("a", a)], labels="x", shuffles=19, resamples=100)
    for measure in ("instance", "aggregate"):
        there, back = of(found, measure).difference, of(backwards, measure).difference
        assert there == (None if back is None else pytest.approx(-back))


def test_it_takes_the_mean_over_runs_and_gives_their_spread() -> None:
    rng = np.random.default_rng(2)
    runs = [(rng.random(200) > rate).astype(np.int8) for rate in (0.2, 0.25, 0.3)]
    other = (rng.random(200) > 0.5).astype(np.int8)
    found = compare_systems([system("a", *runs), system("b", other)], labels="x", shuffles=999)
    rates = [100 * float((run == 0).mean()) for run in runs]
    of_a = found.spreads[0]
    assert of_a.values == pytest.approx(rates)
    assert of_a.mean == pytest.approx(np.mean(rates))
    assert of_a.sd == pytest.approx(np.std(rates, ddof=1))
    assert found.spreads[2].sd is None
    assert found.spreads[2].sd_reason is not None
    difference = of(found, "instance")
    assert difference.difference == pytest.approx(np.mean(rates) - 100 * float((other == 0).mean()))
    assert difference.p is not None
    assert difference.p < 0.01


def test_its_figures_are_those_of_the_error_rates() -> None:
    rng = np.random.default_rng(4)
    a, b = (judged((rng.random(300) > 0.3).astype(np.int8)) for _ in range(2))
    found = compare_systems(
        [JudgedSystem(name="a", runs=(a,)), JudgedSystem(name="b", runs=(b,))], labels="x", shuffles=99
    )
    rates = error_rates(a, labels="x").overall
    assert rates.instance.share is not None
    assert rates.aggregate.decided.share is not None
    assert of(found, "instance").value_a == pytest.approx(100 * rates.instance.share)
    assert of(found, "aggregate").value_a == pytest.approx(100 * rates.aggregate.decided.share)


def test_pairing_makes_the_interval_narrower_than_two_systems_apart() -> None:
    rng = np.random.default_rng(9)
    hard = rng.random(200) < 0.4
    a = (~np.repeat(hard, 5)).astype(np.int8)
    b = np.where(rng.random(1000) < 0.03, 1 - a, a).astype(np.int8)
    interval = of(
        compare_systems([system("a", a), system("b", b)], labels="x", shuffles=99), "instance"
    ).interval
    alone = error_rates(judged(a), labels="x").overall.instance.interval
    assert interval is not None
    assert alone is not None
    assert interval[1] - interval[0] < 100 * (alone[1] - alone[0]) / 2


def test_its_test_keeps_its_level_when_the_systems_are_exchangeable() -> None:
    rng = np.random.default_rng(11)
    found = 0
    for seed in range(400):
        apart = rng.binomial(5, 0.3, 40) - rng.binomial(5, 0.3, 40)
        found += sign_flip_p(apart, seed=seed, shuffles=199) <= 0.05
    assert found <= 400 * 0.05 + 3 * (400 * 0.05 * 0.95) ** 0.5


REASONS = {
    "instance": "no context was decided for both systems",
    "aggregate": "no compound has exactly five contexts, all of them decided for both systems",
}


def test_it_says_why_there_is_no_difference_to_speak_of() -> None:
    found = compare_systems([system("a", [1] * 5), system("b", [UNDECIDED] * 5)], labels="x")
    for one in found.differences:
        assert one.as_json()["ci95_reason"] == one.as_json()["p_reason"] == REASONS[one.measure]
    assert spread("b", "instance", [None]).reason is not None

    # one context was decided for both: its rates differ by something, those of whole compounds by nothing known
    found = compare_systems([system("a", [1] * 5), system("b", [0] + [UNDECIDED] * 4)], labels="x")
    told = {one.measure: (one.difference is None, one.reason) for one in found.differences}
    assert told == {"instance": (False, None), "aggregate": (True, REASONS["aggregate"])}


def test_one_seed_gives_one_result_and_signs_it() -> None:
    rng = np.random.default_rng(1)
    pair = [system(name, (rng.random(100) > 0.3).astype(np.int8)) for name in "ab"]
    one, same, other = (compare_systems(pair, labels="x", seed=seed, shuffles=99) for seed in (1, 1, 2))
    assert one == same
    assert one.differences != other.differences
    assert "rs:1|" in one.signature
    assert "shuffles:99" in one.signature


def test_it_adjusts_over_all_pairs_of_a_measure() -> None:
    rng = np.random.default_rng(3)
    three = [
        system(name, (rng.random(200) > rate).astype(np.int8))
        for name, rate in zip("abc", (0.1, 0.2, 0.4), strict=True)
    ]
    found = compare_systems(three, labels="x", shuffles=999)
    family = [one for one in found.differences if one.measure == "instance"]
    assert [(one.a, one.b) for one in family] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [one.p_holm for one in family] == holm([one.p for one in family if one.p is not None])


@pytest.mark.parametrize(
    "n", [50, 2**13 - 1, 40_000]
)  # of the raw numbers 0.1 %, 12 % and none are drawn anew
def test_it_draws_every_unit_as_often_with_replacement(n: int) -> None:
    resamples = 200_000 // n
    counts = drawn_counts(np.random.default_rng(1), n, resamples)
    assert (counts.sum(axis=1) == n).all()
    assert counts.var() == pytest.approx((n - 1) / n, abs=0.02)
    # The sum over a stretch of units is binomial; five standard errors.
    for stretch in np.array_split(counts.sum(axis=0), 7):
        share = len(stretch) / n
        error = (share * (1 - share) * n * resamples) ** 0.5
        assert stretch.sum() == pytest.approx(share * n * resamples, abs=5 * error)
    assert (counts == drawn_counts(np.random.default_rng(1), n, resamples, dtype=np.float32)).all()
