"""Intervals against scipy, textbook values and simulated coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring.stats.proportions import (
    bootstrap_ratio,
    clopper_pearson,
    share_of_units,
    share_over_clusters,
    wilson,
)
from tests.scoring.stats.released import judged_outputs


@pytest.mark.parametrize(("errors", "n"), [(1, 1), (0, 7), (7, 7), (3, 10), (389, 720), (20, 720)])
def test_it_agrees_with_scipy(errors: int, n: int) -> None:
    from scipy.stats import binomtest

    result = binomtest(errors, n)
    assert wilson(errors, n) == pytest.approx(tuple(result.proportion_ci(method="wilson")), abs=1e-12)
    assert clopper_pearson(errors, n) == pytest.approx(tuple(result.proportion_ci(method="exact")), abs=1e-9)


def test_it_gives_published_wilson_limits() -> None:
    # Newcombe 1998 (Statistics in Medicine 17:857), table I, method 3: 81/263, 15/148, 0/20, 1/29.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_it_gives_published_exact_limits() -> None:
    # Newcombe 1998, table I, method 5.
    assert clopper_pearson(81, 263) == pytest.approx((0.2527, 0.3676), abs=5e-5)
    assert clopper_pearson(0, 20) == pytest.approx((0.0, 0.1684), abs=5e-5)


@pytest.mark.parametrize(("errors", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_it_refuses_counts_that_are_no_share(errors: int, n: int) -> None:
    with pytest.raises(ValueError, match="not a share"):
        wilson(errors, n)


def test_it_refuses_clusters_it_cannot_draw() -> None:
    with pytest.raises(ValueError, match="each cluster"):
        bootstrap_ratio(np.array([1, 2]), np.array([5]), seed=0)
    with pytest.raises(ValueError, match="leave it out"):
        bootstrap_ratio(np.array([0, 1]), np.array([0, 5]), seed=0)


def test_it_draws_whole_clusters_like_the_plain_bootstrap() -> None:
    rng = np.random.default_rng(7)
    errors = rng.binomial(5, rng.beta(0.5, 1.5, size=300))
    lo, hi = bootstrap_ratio(errors, np.full(300, 5), seed=1, resamples=20_000)
    plain = errors[rng.integers(0, 300, size=(20_000, 300))].sum(axis=1) / 1500
    assert (lo, hi) == pytest.approx(np.quantile(plain, [0.025, 0.975]).tolist(), abs=2e-3)


def test_it_covers_the_true_rate_of_clustered_instances() -> None:
    """Beta-binomial compounds: whole clusters cover about 95 %, instances taken as independent far less."""
    rng = np.random.default_rng(11)
    covered, naive, trials = 0, 0, 400
    for trial in range(trials):
        errors = rng.binomial(5, rng.beta(0.5, 1.5, size=150))
        lo, hi = bootstrap_ratio(errors, np.full(150, 5), seed=trial, resamples=500)
        covered += lo <= 0.25 <= hi
        low, high = wilson(int(errors.sum()), 750)
        naive += low <= 0.25 <= high
    assert 0.92 <= covered / trials <= 0.98
    assert naive / trials < 0.88


def test_it_finds_the_design_effect_of_the_released_judgements() -> None:
    # protocols: the released verdicts have a design effect of 2.1.
    errors = np.array([not output.correct for output in judged_outputs("NP")]).reshape(720, 5).sum(axis=1)
    lo, hi = bootstrap_ratio(errors, np.full(720, 5), seed=3, resamples=4000)
    low, high = wilson(791, 3600)
    assert ((hi - lo) / (high - low)) ** 2 == pytest.approx(2.1, abs=0.2)


def test_it_repeats_with_the_seed_and_moves_with_another() -> None:
    errors, instances = np.array([0, 1, 2, 5, 0, 3]), np.full(6, 5)
    assert bootstrap_ratio(errors, instances, seed=4) == bootstrap_ratio(errors, instances, seed=4)
    many = np.tile(errors, 40)
    assert bootstrap_ratio(many, np.full(240, 5), seed=4) != bootstrap_ratio(many, np.full(240, 5), seed=5)


@pytest.mark.parametrize(
    ("errors", "method"),
    [
        ([0, 0, 0, 0], "clopper-pearson-over-clusters"),
        ([5, 5, 5, 5], "clopper-pearson-over-clusters"),
        ([2, 2, 2, 2], "wilson-over-clusters"),
        ([2], "wilson-over-clusters"),
        ([0, 1, 0, 5], "cluster-bootstrap"),
    ],
)
def test_it_says_how_the_interval_of_instances_was_made(errors: list[int], method: str) -> None:
    share = share_over_clusters(np.array(errors), np.full(len(errors), 5), seed=0, nothing="none")
    assert share.method == method
    assert share.interval is not None
    assert share.interval[1] - share.interval[0] > 0.1


def test_it_bounds_an_error_free_system_by_compounds_not_instances() -> None:
    share = share_over_clusters(np.zeros(4, dtype=int), np.full(4, 5), seed=0, nothing="none")
    # 4 compounds, not 20 instances: 1 - 0.025 ** (1/4).
    assert share.interval == pytest.approx((0.0, 0.6024), abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).map(sorted), min_size=1, max_size=12))
def test_it_never_gives_an_interval_of_width_zero(clusters: list[list[int]]) -> None:
    table: NDArray[np.int64] = np.array(clusters)
    share = share_over_clusters(table[:, 0], table[:, 1], seed=0, resamples=200, nothing="nothing judged")
    if table[:, 1].sum() == 0:
        assert share.interval is None
        assert share.reason == "nothing judged"
        return
    assert share.interval is not None
    lo, hi = share.interval
    assert 0 <= lo < hi <= 1


def test_it_gives_null_and_a_reason_for_no_units() -> None:
    document = share_of_units(0, 0, nothing="no compound is judged").as_json()
    assert document == {
        "n": 0,
        "errors": 0,
        "percent": None,
        "ci95": None,
        "ci95_method": None,
        "reason": "no compound is judged",
        "ci95_reason": "no compound is judged",
    }


def test_it_reports_percent() -> None:
    document = share_of_units(389, 720, nothing="-").as_json()
    assert document["percent"] == pytest.approx(54.0278, abs=1e-4)
    assert document["ci95"] == pytest.approx([50.377, 57.637], abs=1e-2)
    assert "reason" not in document
