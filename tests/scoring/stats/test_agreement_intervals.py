"""Intervals of agreement: what they hold, when there is none, clusters, seeds, order and speed."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.stats.agreement import (
    AgreementReport,
    Ratings,
    agreement,
    ratings_from_long,
    ratings_from_matrix,
)
from scoring.stats.intervals import SMALL_SAMPLE
from tests.scoring.stats.judgements import LIKERT, even, two_people

Table = npt.NDArray[np.int64]


def judged(n: int, *, raters: int = 2, seed: int = 3, follows: float = 0.85) -> Table:
    """Labels of people who follow one truth and else guess."""
    rng = np.random.default_rng(seed)
    shares = (0.7, 0.1, 0.2)
    truth = rng.choice(3, n, p=shares)
    guesses = rng.choice(3, (n, raters), p=shares)
    return np.where(rng.random((n, raters)) < follows, truth[:, None], guesses)


def ratings_of(table: Table, **parts: Any) -> Ratings:
    raters = tuple(f"A{k}" for k in range(table.shape[1]))
    return ratings_from_matrix(table, raters=raters, categories=LIKERT, scale=even(LIKERT), **parts)


def width(report: AgreementReport, name: str) -> float:
    ci95 = report.coefficients[name].ci95
    assert ci95 is not None
    return ci95[1] - ci95[0]


@given(st.integers(2, 260), st.integers(2, 4), st.integers(0, 10_000), st.sampled_from([0.5, 0.95, 1.0]))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_it_holds_the_value_and_is_never_without_width(
    n: int, raters: int, seed: int, follows: float
) -> None:
    table = judged(n, raters=raters, seed=seed, follows=follows)
    report = agreement(ratings_of(table, slots=np.tile(np.arange(raters), (n, 1))), seed=seed, resamples=100)
    defined = [found for found in report.coefficients.values() if found.value is not None]
    assert defined
    for found in [*defined, report.contrast_share]:
        assert found.value is not None
        assert found.ci95 is not None
        assert found.ci95[0] <= found.value <= found.ci95[1]
        assert found.ci95[1] - found.ci95[0] > 1e-6
        assert np.isfinite(found.ci95).all()


@pytest.mark.parametrize("n", [60, 500])
@pytest.mark.parametrize("contexts", [1, 5])
def test_it_gives_full_agreement_an_upper_end_of_one_and_a_lower_end_by_size(n: int, contexts: int) -> None:
    table = np.repeat([[0, 0], [2, 2]], n // 2, axis=0)
    report = agreement(ratings_of(table, clusters=np.arange(n) // contexts), seed=1)
    for name in ("raw", "contrast", "cohen", "alpha_ordinal", "gwet_ac2"):
        found = report.coefficients[name]
        assert found.value == pytest.approx(1.0, abs=1e-12)
        assert found.ci95 is not None
        assert found.ci95[1] == pytest.approx(1.0, abs=1e-12)
        assert found.ci95[0] < 1
        assert found.ci95_method == "dirichlet"
    # The exact bound where n of n are alike is 0.025^(1/n), n counting the independent units.
    low = report.coefficients["raw"].ci95
    assert low is not None
    assert low[0] == pytest.approx(0.025 ** (contexts / n), abs=0.06)


def test_it_says_how_an_interval_was_made() -> None:
    small = agreement(two_people(judged(SMALL_SAMPLE - 1)), seed=1).coefficients
    large = agreement(two_people(judged(SMALL_SAMPLE)), seed=1).coefficients
    assert {found.ci95_method for found in small.values()} == {"dirichlet"}
    assert {found.ci95_method for found in large.values()} == {"bootstrap"}


def test_it_uses_the_bootstrap_for_three_judgements_per_item() -> None:
    report = agreement(ratings_of(judged(60, raters=3)), seed=1)
    assert report.coefficients["alpha_nominal"].ci95_method == "bootstrap"
    assert report.pairs[0].coefficients["alpha_nominal"].ci95_method == "dirichlet"


def test_it_agrees_with_the_textbook_error_of_a_share() -> None:
    table = judged(4000)
    report = agreement(two_people(table), seed=1, resamples=4000)
    share = float((table[:, 0] == table[:, 1]).mean())
    assert width(report, "raw") == pytest.approx(2 * 1.96 * (share * (1 - share) / 4000) ** 0.5, rel=0.06)


def test_it_widens_intervals_where_items_hang_together() -> None:
    # Five contexts with one answer each for the whole compound: the effective number is that of compounds.
    compounds = judged(300)
    table = compounds.repeat(5, axis=0)
    clusters = np.arange(300).repeat(5)
    clustered = agreement(ratings_of(table, clusters=clusters), seed=1)
    as_if_independent = agreement(ratings_of(table), seed=1)
    of_compounds = agreement(ratings_of(compounds), seed=1)
    for name in ("raw", "cohen", "alpha_ordinal", "contrast"):
        assert clustered.coefficients[name].value == pytest.approx(as_if_independent.coefficients[name].value)
        assert width(clustered, name) == pytest.approx(width(of_compounds, name), rel=0.15)
        assert width(clustered, name) == pytest.approx(5**0.5 * width(as_if_independent, name), rel=0.15)
    assert "units:clusters" in clustered.signature


def test_it_takes_clusters_of_one_as_no_clusters() -> None:
    table = judged(80)
    assert agreement(ratings_of(table, clusters=np.arange(80)), seed=1) == agreement(
        ratings_of(table), seed=1
    )


def test_it_gives_no_interval_to_a_single_unit() -> None:
    one_item = agreement(two_people([[0, 2]]), seed=1).coefficients["raw"]
    one_cluster = agreement(ratings_of(judged(5), clusters=np.zeros(5)), seed=1).coefficients["raw"]
    for found in (one_item, one_cluster):
        assert found.value is not None
        assert (found.ci95, found.ci95_reason_code) == (None, "one_unit")


def test_it_gives_no_interval_to_what_is_descriptive() -> None:
    report = agreement(two_people(judged(50)), seed=1, intervals=False)
    assert {found.ci95_reason_code for found in report.coefficients.values()} == {"not_requested"}
    assert {found.ci95 for found in report.coefficients.values()} == {None}


@pytest.mark.parametrize("contexts", [1, 4])
@pytest.mark.parametrize("n", [60, 400])
def test_it_gives_one_seed_one_result_in_any_order_of_items(n: int, contexts: int) -> None:
    table = judged(n, raters=3)
    table[::7, 0] = -1
    clusters = np.arange(n) // contexts
    shuffled = np.random.default_rng(9).permutation(n)
    # Which cluster has which number must not matter either.
    renumbered = np.random.default_rng(8).permutation(n)[clusters]
    first = agreement(ratings_of(table, clusters=clusters), seed=4).as_json()
    second = agreement(ratings_of(table[shuffled], clusters=renumbered[shuffled]), seed=4).as_json()
    assert first == second
    assert first != agreement(ratings_of(table, clusters=clusters), seed=5).as_json()


def test_it_gives_one_result_in_any_order_of_saved_rows() -> None:
    table = judged(90)
    rows = [(f"t{item}", rater, LIKERT[table[item, k]]) for item in range(90) for k, rater in enumerate("ab")]
    documents = []
    for order in (range(180), np.random.default_rng(2).permutation(180)):
        items, raters, labels = zip(*[rows[k] for k in order], strict=True)
        documents.append(
            agreement(ratings_from_long(items, raters, labels, categories=LIKERT), seed=7).as_json()
        )
    assert documents[0] == documents[1]


def test_it_reports_the_mean_over_pairs_with_an_interval_of_its_own() -> None:
    report = agreement(ratings_of(judged(300, raters=4)), seed=1)
    mean = report.mean_over_pairs["cohen"]
    kappas = [pair.coefficients["cohen"].value for pair in report.pairs]
    assert (mean.n_pairs, mean.of_pairs) == (6, 6)
    assert mean.coefficient.value == pytest.approx(sum(kappa for kappa in kappas if kappa is not None) / 6)
    assert mean.coefficient.ci95 is not None
    # The pairs share their items, so that their mean is surer than a pair but not by the root of six.
    own = mean.coefficient.ci95[1] - mean.coefficient.ci95[0]
    pair = report.pairs[0].coefficients["cohen"].ci95
    assert pair is not None
    assert (pair[1] - pair[0]) / 6**0.5 < own < pair[1] - pair[0]


def test_it_keeps_the_values_where_pairs_are_too_many_to_resample_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratings = ratings_of(judged(40, raters=4))
    usual = agreement(ratings, seed=1).mean_over_pairs["cohen_linear"].coefficient
    monkeypatch.setattr("scoring.stats.agreement_figures._LARGEST_JOINT_TABLE", 100)
    crowded = agreement(ratings, seed=1).mean_over_pairs["cohen_linear"].coefficient
    assert crowded.value == pytest.approx(usual.value, abs=1e-12)
    assert (crowded.n, crowded.ci95_reason_code) == (usual.n, "too_many_pairs")


def test_it_measures_a_million_items() -> None:
    n = 1_000_000
    table = judged(n)
    report = agreement(ratings_of(table), seed=1)
    assert report.coefficients["alpha_ordinal"].n == n
    assert all(found.ci95 is not None for found in report.coefficients.values())
