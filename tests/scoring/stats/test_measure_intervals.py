"""Intervals of AUC, F1, precision and recall: against plain counts, at the edges, and how often they hold."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtrit

from scoring.stats.measure_intervals import OF_CALLS, auc_bounds, call_bounds, independent_mean
from scoring.stats.proportions import wilson


def world(n: int, seed: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """A fifth plausible; scores with many ties."""
    rng = np.random.default_rng(seed)
    plausible = np.arange(n) % 5 == 0
    return plausible, np.round(rng.normal(size=n) + 1.5 * plausible, 1)


def counted(plausible: NDArray[np.bool_], score: NDArray[np.float64]) -> tuple[float, list[float]]:
    """AUC, and what each class adds to DeLong's variance of it, pair by pair."""
    ups, downs = score[plausible].tolist(), score[~plausible].tolist()
    won = np.array([[1.0 if up > down else 0.5 if up == down else 0.0 for down in downs] for up in ups])
    return float(won.mean()), [
        float(won.mean(axis=axis).var(ddof=1) / size) for axis, size in ((1, len(ups)), (0, len(downs)))
    ]


def test_auc_has_delongs_variance_on_the_logit_scale() -> None:
    plausible, score = world(60, 1)
    auc, (first, second) = counted(plausible, score)
    freedom = (first + second) ** 2 / (first**2 / 11 + second**2 / 47)
    half = stdtrit(freedom, 0.975) * (first + second) ** 0.5 / (auc * (1 - auc))
    found = auc_bounds(plausible, [score])
    assert found.method == "logit-delong"
    assert found.interval is not None
    assert [np.log(bound / (1 - bound)) for bound in found.interval] == pytest.approx(
        [np.log(auc / (1 - auc)) - half, np.log(auc / (1 - auc)) + half]
    )


def test_runs_that_say_the_same_are_worth_one_run() -> None:
    plausible, score = world(80, 2)
    assert auc_bounds(plausible, [score, score, score]).interval == pytest.approx(
        auc_bounds(plausible, [score]).interval
    )
    calls = score > 0.7
    once, thrice = call_bounds(plausible, [calls]), call_bounds(plausible, [calls] * 3)
    for name in OF_CALLS:
        one, many = once[name].interval, thrice[name].interval
        assert one is not None
        assert many is not None
        assert many[1] - many[0] == pytest.approx(one[1] - one[0], rel=0.2)


def test_runs_that_differ_are_worth_more_than_one() -> None:
    plausible, first = world(200, 3)
    second = world(200, 4)[1]
    widths = [np.ptp(auc_bounds(plausible, runs).interval or ()) for runs in ([first], [first, second])]
    assert widths[1] < 0.85 * widths[0]


def test_precision_and_recall_are_plain_shares_and_f1_is_made_of_one() -> None:
    plausible = np.array([True] * 10 + [False] * 30)
    calls = np.array([True] * 7 + [False] * 3 + [True] * 2 + [False] * 28)
    found = call_bounds(plausible, [calls])
    assert found["precision"].interval == wilson(7, 9)
    assert found["recall"].interval == wilson(7, 10)
    assert found["f1"].interval == tuple(2 * bound / (1 + bound) for bound in wilson(7, 12))


@pytest.mark.parametrize("right", [True, False])
def test_no_interval_has_width_zero(right: bool) -> None:
    plausible = np.array([True] * 8 + [False] * 12)
    calls = plausible if right else ~plausible
    for runs in ([calls], [calls, calls]):
        for name, found in call_bounds(plausible, runs).items():
            assert found.interval is not None, name
            assert found.interval[1] - found.interval[0] > 0.1
            assert (1.0 if right else 0.0) in found.interval
        area = auc_bounds(plausible, [one.astype(np.float64) for one in runs])
        assert area.method == "newcombe"
        assert area.interval is not None
        assert area.interval[1] - area.interval[0] > 0.1


def test_one_item_of_a_class_still_has_an_interval() -> None:
    found = auc_bounds(np.array([True] + [False] * 30), [np.linspace(0.6, 0.0, 31)])
    assert found.method == "newcombe"
    assert found.interval is not None
    assert found.interval[0] < 0.5


def test_what_is_undefined_has_a_reason_for_no_interval() -> None:
    nothing = call_bounds(np.zeros(4, dtype=np.bool_), [np.zeros(4, dtype=np.bool_)])
    assert {name: one.interval for name, one in nothing.items()} == dict.fromkeys(OF_CALLS)
    assert nothing["recall"].as_json("recall")["recall_ci95_reason"] == "the recall itself is undefined"
    silent = call_bounds(np.array([True, False]), [np.array([True, False]), np.zeros(2, dtype=np.bool_)])
    assert silent["precision"].interval is None  # one of the runs calls nothing plausible
    assert silent["recall"].interval is not None
    assert auc_bounds(np.ones(3, dtype=np.bool_), [np.arange(3.0)]).reason == "the AUC itself is undefined"


def test_they_hold_the_true_value_about_as_often_as_they_say() -> None:
    held: dict[str, list[bool]] = {"auc": [], "f1": []}
    found_share, alarmed = 0.9, 0.05
    true_f1 = 2 * 0.25 * found_share / (0.25 * found_share + 0.75 * alarmed + 0.25)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        plausible = rng.random(120) < 0.25
        calls = rng.random(120) < np.where(plausible, found_share, alarmed)
        area = auc_bounds(plausible, [calls.astype(np.float64)]).interval
        f1 = call_bounds(plausible, [calls])["f1"].interval
        assert area is not None
        assert f1 is not None
        held["auc"].append(area[0] <= (1 + found_share - alarmed) / 2 <= area[1])
        held["f1"].append(f1[0] <= true_f1 <= f1[1])
    for name, cases in held.items():
        assert 0.9 <= np.mean(cases) <= 0.99, name


def test_a_mean_of_disjoint_sets_adds_variances() -> None:
    low, high = independent_mean([0.5, 0.5], [(0.4, 0.6), (0.4, 0.6)])
    assert (0.5 - low, high - 0.5) == pytest.approx((0.1 / 2**0.5, 0.1 / 2**0.5))
