"""Plans: what they ask for is enough and one less is not, by the intervals and tests they plan for."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring.stats.error_rates import WRONG
from scoring.stats.planning import (
    Effort,
    auc_error,
    auc_spread,
    design_effect,
    for_precision,
    pace,
    paired_spread,
    rate_spread,
    to_detect,
    triples_for_auc,
    triples_for_share,
)
from scoring.stats.proportions import wilson
from scoring.stats.spreads import paired_auc_spread, seed_sd
from tests.scoring.stats.released import judged_instances

quickly = settings(max_examples=25, deadline=None, derandomize=True)
ONE = Effort()
Labels = NDArray[np.int8]
Scores = NDArray[np.float64]


def half(rate: float, n: int) -> float:
    low, high = wilson(rate * n, n)
    return 50 * (high - low)


@given(st.floats(1, 15), st.floats(0.05, 0.95))
@quickly
def test_it_asks_for_the_smallest_number_whose_interval_is_narrow_enough(width: float, rate: float) -> None:
    for units in (
        for_precision(width, rate=rate, of="aggregate", effort=ONE).units,
        triples_for_share(width, share=rate, effort=ONE).units,
    ):
        assert units is not None
        low, high = wilson(rate * units, units)
        # Wilson's interval is cut at 0 and 1; a plan does not count on that.
        if low > 0 and high < 1:
            assert half(rate, units) <= width * (1 + 1e-9)
        if units > 1:
            assert half(rate, units - 1) > width or wilson(rate * (units - 1), units - 1)[0] == 0


def test_contexts_are_worth_what_the_design_effect_says() -> None:
    five = for_precision(3, rate=0.22, deff=1, effort=Effort(per_unit=5)).units
    clustered = for_precision(3, rate=0.22, deff=2.1, effort=Effort(per_unit=5)).units
    alone = triples_for_share(3, share=0.22, effort=ONE).units
    assert five is not None
    assert clustered is not None
    assert alone is not None
    assert five == -(-alone // 5)
    assert clustered == pytest.approx(2.1 * five, abs=2)


def test_it_needs_no_more_than_there_is() -> None:
    endless = for_precision(2, rate=0.5, of="aggregate", effort=ONE).units
    of_720 = for_precision(2, rate=0.5, of="aggregate", effort=ONE, population=720).units
    assert endless is not None
    assert of_720 is not None
    assert of_720 == -(-endless // (1 + (endless - 1) / 720)) <= 720


def test_it_finds_the_design_effect_of_the_released_judgements() -> None:
    for kind in ("NP", "VP"):
        instances = judged_instances(kind)
        codes = np.unique(instances.unit, return_inverse=True)[1]
        wrong = np.bincount(codes[instances.verdict == WRONG], minlength=720)
        found = design_effect(wrong, np.bincount(codes))
        share = wrong.sum() / 3600
        # By hand: variance between compounds over that of five independent contexts.
        assert found == pytest.approx((wrong / 5).var(ddof=1) / (share * (1 - share) / 5))
        assert found == pytest.approx(2.1, abs=0.05)


def test_it_has_no_design_effect_without_errors_or_with_one_compound() -> None:
    assert design_effect(np.array([0, 0]), np.array([5, 5])) is None
    assert design_effect(np.array([2, 0]), np.array([5, 0])) is None
    rng = np.random.default_rng(1)
    assert design_effect(rng.binomial(5, 0.3, 20_000), np.full(20_000, 5)) == pytest.approx(1, abs=0.03)


@given(st.floats(1, 20), st.floats(0.1, 0.7), st.floats(0.6, 0.95))
@quickly
def test_it_agrees_with_statsmodels_on_a_paired_difference(
    difference: float, spread: float, power: float
) -> None:
    from statsmodels.stats.power import normal_sample_size_one_tail

    found = to_detect(difference, spread=spread, effort=ONE, power=power).units
    # A two-sided test at 5 % is a one-sided one at 2.5 %: the other side adds next to nothing.
    theirs = normal_sample_size_one_tail(difference / 100, power, 0.025, std_null=spread)
    assert found == int(np.ceil(theirs - 1e-9))


def test_its_plan_has_the_power_it_promises() -> None:
    plan = to_detect(6, spread=0.4, effort=ONE, seed_sd=1.0, runs=3)
    assert plan.units is not None
    rng = np.random.default_rng(1)
    error = (0.4**2 / plan.units + 2 * 0.01**2 / 3) ** 0.5
    seen = rng.normal(0.06, error, 20_000)
    assert (np.abs(seen) > 1.96 * error).mean() == pytest.approx(0.8, abs=0.015)


def test_more_compounds_do_not_help_where_seeds_hide_the_difference() -> None:
    plan = to_detect(3, spread=0.45, effort=ONE, seed_sd=2.5, runs=3)
    assert (plan.units, plan.judgements, plan.hours) == (None, None, None)
    assert plan.as_json()["reason"] == plan.reason
    assert to_detect(3, spread=0.45, effort=ONE, seed_sd=2.5, runs=10).units is None
    assert to_detect(3, spread=0.45, effort=ONE, seed_sd=2.5, runs=11).units is not None


def test_more_pairs_need_more_compounds() -> None:
    one, ten = (to_detect(5, spread=0.4, effort=ONE, comparisons=pairs).units for pairs in (1, 10))
    assert one is not None
    assert ten is not None
    assert ten > one


def test_it_counts_judgements_and_hours_of_both_systems_and_all_runs() -> None:
    plan = to_detect(5, spread=0.4, effort=Effort(experts=2, per_unit=5, seconds=9), runs=3)
    assert plan.units is not None
    assert plan.judgements == plan.units * 5 * 2 * 2 * 3
    assert plan.hours == plan.judgements * 9 / 3600
    assert for_precision(5, rate=0.3, effort=Effort(per_unit=5)).hours is None


def test_it_takes_the_spread_of_what_was_judged() -> None:
    rng = np.random.default_rng(1)
    apart = rng.integers(-3, 4, 50)
    assert paired_spread(apart, np.full(50, 5)) == pytest.approx((apart / 5).std(ddof=1))
    assert paired_spread(apart[:1], np.array([5])) is None


def scored(rng: np.random.Generator, m: int, n: int, *, r: float = 0.5) -> tuple[Labels, Scores, Scores]:
    """Two systems' scores of m plausible and n implausible triples: AUC 0.75 and 0.72, correlated by r in a class."""
    label = np.repeat([1, 0], [m, n]).astype(np.int8)
    noise = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], m + n)
    apart = [2**0.5 * NormalDist().inv_cdf(auc) for auc in (0.75, 0.72)]
    first, second = (noise + np.outer(label, apart)).T
    return label, first, second


def auc_of(label: Labels, score: Scores) -> float:
    order = np.sort(score[label == 0])
    return float(np.searchsorted(order, score[label == 1]).mean() / order.size)


def test_its_error_of_the_auc_is_that_of_normal_scores() -> None:
    rng = np.random.default_rng(1)
    aucs = [auc_of(*scored(rng, 30, 60)[:2]) for _ in range(1500)]
    assert auc_error(0.75, 30, 60) == pytest.approx(np.std(aucs), rel=0.06)
    assert auc_error(0.8, 0.5, 40) == float("inf")


def test_a_difference_of_two_aucs_has_the_spread_it_is_planned_with() -> None:
    rng = np.random.default_rng(2)
    found = [
        auc_of(label, first) - auc_of(label, second)
        for label, first, second in (scored(rng, 110, 390) for _ in range(1000))
    ]
    planned = auc_spread(0.75, 0.72, share=0.22)
    assert np.std(found) * 500**0.5 == pytest.approx(planned, rel=0.06)
    of_one = [paired_auc_spread(*scored(rng, 440, 1560)) for _ in range(30)]
    assert np.mean([one for one in of_one if one is not None]) == pytest.approx(planned, rel=0.03)
    # Scores that go together part less: two systems alike do not part at all.
    assert (
        auc_spread(0.75, 0.72, share=0.22, correlation=0)
        > planned
        > auc_spread(0.75, 0.72, share=0.22, correlation=0.9)
    )


def test_an_auc_takes_twice_the_triples_of_a_share() -> None:
    """AUC .75 against .72 with scores correlated by one half: some 3,300 triples for four chances in five."""
    units = to_detect(3, spread=auc_spread(0.75, 0.72, share=0.22), effort=ONE).units
    assert units == pytest.approx(3290, abs=5)
    as_a_share = to_detect(3, spread=rate_spread(0.22), effort=ONE).units
    assert as_a_share is not None
    assert units is not None
    assert units > 2 * as_a_share


def contexts(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """(n, 2) wrong contexts of five of two systems: 22 and 19 per cent, compounds failing together."""
    hard = np.asarray(rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], n)) * 0.5**0.5
    shown = hard.reshape(n, 1, 2) + rng.normal(size=(n, 5, 2)) * 0.5**0.5
    limits = [NormalDist().inv_cdf(rate) for rate in (0.22, 0.19)]
    return np.asarray((shown < limits).sum(axis=1), dtype=np.int64)


def test_contexts_that_fail_together_have_the_spread_the_design_effect_says() -> None:
    rng = np.random.default_rng(3)
    wrong = contexts(rng, 60_000)
    five = np.full(60_000, 5)
    deff = design_effect(wrong[:, 0], five)
    assert deff is not None
    correlation = float(np.asarray(np.corrcoef(wrong.T))[0, 1])
    found = paired_spread(wrong[:, 0] - wrong[:, 1], five)
    # 22 and 19 per cent are planned for as 20.5 both.
    assert found == pytest.approx(
        rate_spread(0.205, instances=5, deff=deff, correlation=correlation), rel=0.02
    )
    assert rate_spread(0.3) == pytest.approx((0.3 * 0.7) ** 0.5)


def test_its_plan_for_contexts_has_the_power_it_promises() -> None:
    rng = np.random.default_rng(4)
    units = to_detect(3, spread=0.2398, effort=ONE).units
    assert units is not None
    apart = [wrong[:, 0] - wrong[:, 1] for wrong in (contexts(rng, units) for _ in range(600))]
    seen = [abs(one.mean()) / (one.std(ddof=1) / units**0.5) > 1.96 for one in apart]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.05)


def test_several_runs_average_what_a_unit_gives_differently_each_time() -> None:
    """A unit's own part 0.15, from run to run 0.2, seeds 1.5 points: power of the plan over made-up studies."""
    rng = np.random.default_rng(5)
    spread, of_runs = (2 * 0.15**2 + 2 * 0.2**2) ** 0.5, 2**0.5 * 0.2
    plan = to_detect(5, spread=spread, run_spread=of_runs, seed_sd=1.5, runs=3, effort=ONE)
    cautious = to_detect(5, spread=spread, seed_sd=1.5, runs=3, effort=ONE)
    assert plan.units is not None
    assert cautious.units is not None
    assert plan.units < cautious.units / 1.5
    error = 0.05 / 2.8016
    units = rng.normal(0, 0.15 * (2 / plan.units) ** 0.5, 20_000)
    runs = rng.normal(0, 0.2 * (2 / plan.units / 3) ** 0.5, 20_000) + rng.normal(
        0, 0.015 * (2 / 3) ** 0.5, 20_000
    )
    assert (np.abs(0.05 + units + runs) > 1.96 * error).mean() == pytest.approx(0.8, abs=0.015)


def test_the_spread_between_seeds_leaves_out_what_the_units_bring() -> None:
    rng = np.random.default_rng(6)
    units, of_runs = 400, 2**0.5 * 0.2
    rates = 100 * (rng.normal(0, 0.015, (300, 6)) + rng.normal(0, 0.2 / units**0.5, (300, 6)))
    found = seed_sd(rates.tolist(), run_spread=100 * of_runs, units=units)
    assert found == pytest.approx(1.5, rel=0.05)
    assert seed_sd([[20.0], [30.0]], run_spread=40, units=100) is None
    assert seed_sd([[20.0, 20.1]], run_spread=40, units=100) == 0


def test_it_asks_for_the_triples_an_auc_needs() -> None:
    units = triples_for_auc(2, auc=0.75, share=0.22, effort=ONE).units
    assert units is not None
    assert 195.996 * auc_error(0.75, 0.22 * units, 0.78 * units) <= 2.0001
    assert 195.996 * auc_error(0.75, 0.22 * (units - 2), 0.78 * (units - 2)) > 2


def test_the_pace_is_the_median_of_what_was_timed() -> None:
    assert pace([None, 4, 10, 1000]) == 10
    assert pace([None, float("nan")]) is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda: for_precision(0, rate=0.5, effort=ONE),
        lambda: for_precision(5, rate=1.5, effort=ONE),
        lambda: for_precision(5, rate=0.5, deff=0, effort=ONE),
        lambda: for_precision(0.001, rate=0.5, effort=ONE),
        lambda: to_detect(0, spread=0.4, effort=ONE),
        lambda: triples_for_auc(2, auc=0.4, share=0.2, effort=ONE),
        lambda: auc_spread(0.75, -0.1, share=0.2),
        lambda: auc_spread(0.75, 0.7, share=0),
        lambda: rate_spread(0.2, correlation=1),
    ],
)
def test_it_refuses_goals_that_make_no_sense(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(ValueError):
        ask()
