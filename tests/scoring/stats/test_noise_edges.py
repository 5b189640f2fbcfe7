"""Corrected rates at the edge: an interval with a width, by the likelihood, and none that promises too much."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.stats.noise import MODELS, UNKNOWN_NOISE, noise_corrected
from scoring.stats.noise_edges import kept_shares
from scoring.stats.proportions import clopper_pearson
from tests.scoring.stats.test_noise import inside, judgements, truth

NOTHING_WRONG = [1.0, 0, 0, 0, 0, 0]  # a kind that only compounds without an error make


@pytest.mark.parametrize("n", [5, 20, 300])
def test_without_noise_it_is_the_exact_interval(n: int) -> None:
    kept = kept_shares(np.array([[NOTHING_WRONG]]), np.array([n]))
    reversed_ = kept_shares(np.array([[NOTHING_WRONG[::-1]]]), np.array([n]))
    for low, high in kept:
        assert low == pytest.approx(0, abs=1e-3)
        assert high == pytest.approx(clopper_pearson(0, n)[1], abs=1e-3)
    for low, high in reversed_:
        assert low == pytest.approx(clopper_pearson(n, n)[0], abs=1e-3)
        assert high == pytest.approx(1, abs=1e-3)


def test_what_is_kept_is_at_least_a_fortieth_as_likely_and_what_is_not_is_not() -> None:
    """Two numbers of wrong contexts, where the likelihood can be written down."""
    likelihood, counts = np.array([[[0.9, 0.2], [0.1, 0.8]]]), np.array([30, 12])
    ((low, high),) = kept_shares(likelihood, counts)

    def log_likelihood(share: float) -> float:
        return float(counts @ np.log(likelihood[0] @ np.array([1 - share, share])))

    best = max(log_likelihood(share) for share in np.linspace(0.001, 0.999, 999))
    for end in (low, high):
        assert log_likelihood(end) == pytest.approx(best - np.log(40), abs=0.02)


def test_no_other_shares_with_that_many_wrong_are_likelier_than_those_it_finds() -> None:
    """The profile, against random shares: none outside of what is kept reaches a fortieth of the best."""
    rng = np.random.default_rng(4)
    likelihood, counts = rng.random((1, 12, 6)) ** 3, rng.integers(1, 6, 12)
    kept = kept_shares(likelihood, counts)
    shares = rng.dirichlet(np.full(6, 0.5), 20_000)
    found = np.log(shares @ likelihood[0].T) @ counts
    likely = shares[found >= found.max() - np.log(40)]
    for j, (low, high) in enumerate(kept, start=1):
        at_least = likely[:, j:].sum(axis=1)
        assert low <= at_least.min() + 1e-3
        assert at_least.max() <= high + 1e-3


def test_more_noise_that_is_possible_keeps_more() -> None:
    one, other = np.array([[[0.9, 0.2], [0.1, 0.8]]]), np.array([[[0.6, 0.4], [0.4, 0.6]]])
    counts = np.array([30, 3])
    both = kept_shares(np.concatenate([one, other]), counts)[0]
    for alone in (kept_shares(one, counts)[0], kept_shares(other, counts)[0]):
        assert both[0] <= alone[0] + 1e-4  # how finely the ends are found
        assert both[1] >= alone[1] - 1e-4


@settings(max_examples=40, deadline=None)
@given(
    compounds=st.integers(10, 30),
    wrong=st.sampled_from(("none", "all", "usual", "toss")),
    slips=st.sampled_from((0.0, 0.01, 0.05, 0.2)),
    seed=st.integers(0, 10_000),
    model=st.sampled_from([model for model in MODELS if model != "resolved"]),
)
def test_no_interval_is_without_width_and_every_one_holds_its_estimate(
    compounds: int, wrong: str, slips: float, seed: int, model: str
) -> None:
    made = {
        "none": np.zeros((compounds, 5), dtype=np.bool_),
        "all": np.ones((compounds, 5), dtype=np.bool_),
        "usual": truth(compounds, seed),
        "toss": np.random.default_rng(seed).random((compounds, 5)) < 0.5,
    }[wrong]
    noise = 0.5 if wrong == "toss" else slips
    told = judgements(made, false_alarm=noise, miss=noise, seed=seed)
    chosen = next(one for one in MODELS if one == model)

    found = noise_corrected(told, labels="x", model=chosen, resamples=100)

    if found.reason is not None:
        return
    for value, interval in (
        (found.instance, found.instance_interval),
        (found.aggregate, found.aggregate_interval),
    ):
        assert value is not None
        if interval is None:
            assert found.ci95_reason == UNKNOWN_NOISE
            continue
        assert inside(value, interval)
        assert 0 <= interval[0] <= interval[1] <= 1
        # Never narrower than what so few compounds could tell if there were no noise at all; rounding aside.
        assert interval[1] - interval[0] > 0.3 / compounds


def test_random_answers_are_not_taken_for_certainty() -> None:
    """Where verdicts are tosses, false alarms explain all of them: the estimate is 0, and next to nothing is known."""
    rng = np.random.default_rng(0)
    told = judgements(rng.random((20, 5)) < 0.5, false_alarm=0.5, miss=0.5, seed=0)
    found = noise_corrected(told, labels="x", model="false-alarms", resamples=200)
    assert found.aggregate is not None
    assert found.aggregate_interval is not None
    assert found.method == "cluster-bootstrap-and-likelihood"
    assert found.aggregate_interval[1] - found.aggregate_interval[0] > 0.2


def test_away_from_the_edge_compounds_are_drawn_anew_and_that_is_all() -> None:
    told = judgements(truth(300, 5), false_alarm=0.02, miss=0.02, seed=6)
    found = noise_corrected(told, labels="x", resamples=200)
    assert found.method == "cluster-bootstrap"
    assert found.as_json()["ci95_method"] == "cluster-bootstrap"


def test_slips_of_which_none_could_be_seen_leave_no_interval() -> None:
    """Nothing is called wrong twice, so how often wrong ones are missed is open."""
    told = judgements(np.zeros((30, 5), dtype=np.bool_), false_alarm=0.0, miss=0.0, seed=1)
    found = noise_corrected(told, labels="x", model="misses", resamples=100)
    assert (found.aggregate, found.aggregate_interval) == (0.0, None)
    assert found.as_json()["ci95_reason"] == UNKNOWN_NOISE
