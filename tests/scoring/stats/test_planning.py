"""Plans: what they ask for is enough and one less is not, by the intervals and tests they plan for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.stats.error_rates import WRONG
from scoring.stats.planning import (
    Effort,
    auc_error,
    design_effect,
    for_precision,
    pace,
    paired_spread,
    to_detect,
    triples_for_auc,
    triples_for_share,
)
from scoring.stats.proportions import wilson
from tests.scoring.stats.released import judged_instances

quickly = settings(max_examples=25, deadline=None, derandomize=True)
ONE = Effort()


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


def test_its_error_of_the_auc_is_that_of_exponential_scores() -> None:
    # Hanley and McNeil's formula is exact for these: AUC = r / (1 + r) for scores of mean r against mean 1.
    rng = np.random.default_rng(1)
    plausible, implausible = rng.exponential(4, (3000, 30, 1)), rng.exponential(1, (3000, 1, 40))
    aucs = (plausible > implausible).mean(axis=(1, 2))
    assert auc_error(0.8, 30, 40) == pytest.approx(aucs.std(), rel=0.04)
    assert auc_error(0.8, 0.5, 40) == float("inf")


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
    ],
)
def test_it_refuses_goals_that_make_no_sense(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(ValueError):
        ask()
