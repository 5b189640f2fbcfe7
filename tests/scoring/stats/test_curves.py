"""Curves of scores against scikit-learn."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scoring.stats.artifacts import AS_PUBLISHED, DESCRIBED, MINIMUM, word_scatter
from scoring.stats.composition import LabelledTriples
from scoring.stats.curves import precision_recall, reliability
from tests.scoring.stats.released import labelled_triples

quickly = settings(max_examples=25, deadline=None, derandomize=True)
SCORED = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20)), min_size=1, max_size=40)


@given(SCORED)
@quickly
def test_its_curve_is_scikit_learns(rows: list[tuple[int, int]]) -> None:
    from sklearn.metrics import average_precision_score, precision_recall_curve

    label, score = np.array(rows).T
    assume(label.sum())
    found = precision_recall(label.astype(np.int8), score / 20)
    precision, recall, threshold = precision_recall_curve(label, score / 20)
    assert found.threshold == pytest.approx(threshold[::-1].tolist())
    # scikit-learn adds a last point of precision 1 and recall 0 that no threshold gives.
    assert found.precision == pytest.approx(precision[:-1][::-1].tolist())
    assert found.recall == pytest.approx(recall[:-1][::-1].tolist())
    assert found.average_precision == pytest.approx(average_precision_score(label, score / 20))
    assert found.base == label.mean()


@given(SCORED, st.sampled_from([1, 2, 5, 10]))
@quickly
def test_its_reliability_is_scikit_learns(rows: list[tuple[int, int]], bins: int) -> None:
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss

    label, score = np.array(rows).T
    assume(0 < label.sum() < label.size)
    score = (score + 0.3) / 21  # away from edges, which scikit-learn gives to the bin below
    found = reliability(label.astype(np.int8), score, bins=bins)
    filled = [one for one in found.bins if one.n]
    share, mean = calibration_curve(label, score, n_bins=bins)
    assert [one.share for one in filled] == pytest.approx(share.tolist())
    assert [one.mean_score for one in filled] == pytest.approx(mean.tolist())
    weights = np.array([one.n for one in filled]) / label.size
    assert found.calibration_error == pytest.approx(float(weights @ np.abs(share - mean)))
    assert found.brier == pytest.approx(brier_score_loss(label, score))
    assert sum(one.n for one in found.bins) == label.size


def test_a_score_on_an_edge_belongs_to_the_bin_it_starts_and_1_to_the_last() -> None:
    found = reliability(np.ones(4, dtype=np.int8), np.array([0.0, 0.3, 0.7, 1.0]))
    assert [number for number, one in enumerate(found.bins) if one.n] == [0, 3, 7, 9]
    assert found.bins[0].interval is not None
    assert found.bins[1].interval is None


def test_it_says_why_there_is_no_curve() -> None:
    nothing = np.zeros(3, dtype=np.int8)
    assert (
        precision_recall(nothing, np.ones(3)).as_json()["reason"]
        == "no triple here is plausible, so there is no recall"
    )
    assert precision_recall(nothing[:0], np.ones(0)).reason == "no triples"
    assert reliability(nothing, np.array([0.1, 2, 3])).reason == "scores outside 0 to 1 are no probabilities"
    unlabelled = reliability(np.full(3, -1, dtype=np.int8), np.ones(3))
    assert (unlabelled.n, unlabelled.reason) == (0, "no triples")


def test_it_refuses_what_is_no_score() -> None:
    label = np.ones(2, dtype=np.int8)
    with pytest.raises(ValueError, match="finite"):
        precision_recall(label, np.array([0.1, np.inf]))
    with pytest.raises(ValueError, match="one score"):
        reliability(label, np.ones(3))
    with pytest.raises(ValueError, match="one bin"):
        reliability(label, np.ones(2), bins=0)


@pytest.mark.parametrize(("rule", "plausible", "implausible"), [(DESCRIBED, 1, 0), (AS_PUBLISHED, 42, 41)])
def test_the_words_that_stand_out_are_those_beyond_the_curves(
    rule: str, plausible: int, implausible: int
) -> None:
    scatter = word_scatter(labelled_triples(), rule=rule)
    assert len(scatter.points) == 3852
    assert scatter.share is not None
    beyond = [point for point in scatter.points if point.beyond]
    assert sum(point.share > scatter.share for point in beyond) == plausible
    assert sum(point.share < scatter.share for point in beyond) == implausible
    counts, lower, upper = np.array(scatter.curve).T
    assert (counts[0], counts[-1]) == (1, scatter.points[0].n)
    for point in scatter.points:
        if point.n >= MINIMUM:
            low, high = (np.interp(np.log(point.n), np.log(counts), curve) for curve in (lower, upper))
            assert (
                point.beyond == (not low - 1e-3 < point.share < high + 1e-3)
                or min(abs(point.share - low), abs(point.share - high)) < 2e-3
            )


def test_a_scatter_without_both_labels_has_points_and_no_curves() -> None:
    triples = LabelledTriples(head=["PersonX eat"], relation=["xWant"], tail=["sleep"], item_class=["adv"],
                              split=["dev"], label=np.array([1], dtype=np.int8))  # fmt: skip
    scatter = word_scatter(triples)
    assert [(point.word, point.n) for point in scatter.points] == [("eat", 1), ("sleep", 1)]
    assert (scatter.curve, scatter.share) == ((), None)
    assert scatter.reason is not None
    assert scatter.as_json()["reason"] == scatter.reason
