"""Models on the same triples, against scikit-learn, DeLong's variance and the enumeration of all swaps."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring.stats.paired_predictions import (
    MEASURES,
    Predictions,
    compare_predictions,
    pair_differences,
    weighted_auc,
)
from scoring.stats.significance import Difference, holm

Floats = NDArray[np.float64]
quickly = settings(max_examples=25, deadline=None, derandomize=True)


def labelled(n: int, seed: int = 0) -> NDArray[np.int8]:
    return (np.random.default_rng(seed).random(n) < 0.3).astype(np.int8)


def differences(
    label: NDArray[np.int8], *models: Predictions, shuffles: int = 99, resamples: int = 100
) -> dict[str, Difference]:
    found = compare_predictions(label, models, labels="x", shuffles=shuffles, resamples=resamples)
    return {one.measure: one for one in found.groups[0].differences}


def scores(label: NDArray[np.int8], noise: float, seed: int) -> Floats:
    return label + np.random.default_rng(seed).normal(0, noise, label.size)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=30))
@quickly
def test_its_auc_is_scikit_learns_under_any_weights(rows: list[tuple[int, int, int]]) -> None:
    from sklearn.metrics import roc_auc_score

    label, score, weight = np.array(rows).T
    assume(weight[label == 1].sum() and weight[label == 0].sum())
    ours = weighted_auc(label.astype(np.int8), score / 4, weight[None, :].astype(float))
    assert ours[0] == pytest.approx(roc_auc_score(label, score, sample_weight=weight), abs=1e-12)


def test_its_values_are_scikit_learns() -> None:
    from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

    label = labelled(200)
    runs = tuple(scores(label, 0.8, seed) for seed in (1, 2))
    model = Predictions(name="a", runs=runs, thresholds=(0.4, 0.6))
    other = Predictions(name="b", runs=(scores(label, 1.5, 3),))
    found = differences(label, model, other)
    calls = [runs[0] >= 0.4, runs[1] >= 0.6]
    expected = {
        "auc": [roc_auc_score(label, run) for run in runs],
        "f1": [f1_score(label, call) for call in calls],
        "precision": [precision_score(label, call) for call in calls],
        "recall": [recall_score(label, call) for call in calls],
    }
    for measure in MEASURES:
        assert found[measure].value_a == pytest.approx(100 * np.mean(expected[measure]))


def delong(label: NDArray[np.int8], a: Floats, b: Floats) -> float:
    """Standard error of the difference of two AUCs (DeLong, DeLong and Clarke-Pearson 1988), pair by pair."""
    of_positive, of_negative = [], []
    for score in (a, b):
        positive, negative = score[label == 1], score[label == 0]
        won = (positive[:, None] > negative[None, :]) + 0.5 * (positive[:, None] == negative[None, :])
        of_positive.append(won.mean(axis=1))
        of_negative.append(won.mean(axis=0))
    variance = np.var(of_positive[0] - of_positive[1], ddof=1) / len(of_positive[0])
    variance += np.var(of_negative[0] - of_negative[1], ddof=1) / len(of_negative[0])
    return float(np.sqrt(variance))


def test_its_interval_of_auc_is_as_wide_as_delongs() -> None:
    label = labelled(600)
    a, b = scores(label, 0.7, 1), scores(label, 1.0, 2)
    found = differences(
        label, Predictions(name="a", runs=(a,)), Predictions(name="b", runs=(b,)), resamples=2000
    )
    interval = found["auc"].interval
    assert interval is not None
    assert (interval[1] - interval[0]) / 2 == pytest.approx(100 * 1.96 * delong(label, a, b), rel=0.08)


def mid_ranks(score: Floats) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(score))


def plain_auc(label: NDArray[np.int8], score: Floats) -> float:
    positive, negative = score[label == 1][:, None], score[label == 0][None, :]
    return float(((positive > negative) + 0.5 * (positive == negative)).mean())


def plain_f1(label: NDArray[np.int8], called: Floats) -> float:
    return float(2 * (called * label).sum() / (called.sum() + label.sum()))


def all_swaps(label: NDArray[np.int8], a: Floats, b: Floats, measure: str) -> float:
    """The share of all swaps at least as extreme as what was seen."""
    score = plain_auc if measure == "auc" else plain_f1
    a, b = (
        np.asarray(mid_ranks(one) if measure == "auc" else one >= 0.5, dtype=np.float64) for one in (a, b)
    )
    observed = abs(score(label, a) - score(label, b))
    extreme = []
    for swapped in product((False, True), repeat=label.size):
        x, y = np.where(swapped, b, a), np.where(swapped, a, b)
        extreme.append(abs(score(label, x) - score(label, y)) >= observed - 1e-12)
    return float(np.mean(extreme))


@pytest.mark.parametrize("seed", [1, 2])
def test_its_p_is_that_of_all_swaps(seed: int) -> None:
    label = np.array([1, 0, 1, 0, 0, 1, 0, 0], dtype=np.int8)
    a, b = scores(label, 0.4, seed), scores(label, 2.0, seed + 10)
    found = differences(
        label, Predictions(name="a", runs=(a,)), Predictions(name="b", runs=(b,)), shuffles=8000
    )
    for measure in ("auc", "f1"):
        exact = all_swaps(label, a, b, measure)
        assert found[measure].p == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 3000) ** 0.5 + 4e-4)


def test_runs_are_swapped_together() -> None:
    label = np.array([1, 0, 1, 0, 0, 1, 0, 0], dtype=np.int8)
    a, b = ([scores(label, noise, seed) for seed in (1, 2)] for noise in (0.4, 2.0))
    found = differences(
        label,
        Predictions(name="a", runs=tuple(a)),
        Predictions(name="b", runs=tuple(b)),
        shuffles=8000,
    )
    for measure, score in (("auc", plain_auc), ("f1", plain_f1)):
        sides = [
            [np.asarray(mid_ranks(run) if measure == "auc" else run >= 0.5, dtype=np.float64) for run in side]
            for side in (a, b)
        ]
        apart = [
            sum(
                score(label, np.where(swapped, y, x)) - score(label, np.where(swapped, x, y))
                for x, y in zip(*sides, strict=True)
            )
            for swapped in product((False, True), repeat=label.size)
        ]
        exact = float(np.mean(np.abs(apart) >= abs(apart[0]) - 1e-12))
        assert found[measure].p == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 3000) ** 0.5 + 4e-4)


def test_two_runs_have_one_family_of_all_that_is_shown() -> None:
    label = labelled(200)
    one, other = (Predictions(name=name, runs=(scores(label, 1.0, seed),)) for seed, name in enumerate("ab"))
    groups = {"all": label >= 0, "half": np.arange(200) < 100}
    found = pair_differences(label, one, other, groups=groups, shuffles=99, resamples=50)
    beside = compare_predictions(label, [one, other], labels="", groups=groups, shuffles=99, resamples=50)
    shown = [found[group.group] for group in beside.groups]
    assert [[one.measure for one in group] for group in shown] == [["auc", "f1"]] * 2
    p_values = [one.p for group in beside.groups for one in group.differences if one.measure in ("auc", "f1")]
    assert [one.p_holm for group in shown for one in group] == holm([p for p in p_values if p is not None])


def test_the_scale_of_a_model_does_not_move_the_test_of_its_auc() -> None:
    label = labelled(150)
    a, b = scores(label, 0.7, 1), scores(label, 1.0, 2)
    plain = differences(label, Predictions(name="a", runs=(a,)), Predictions(name="b", runs=(b,)))
    stretched = differences(
        label, Predictions(name="a", runs=(np.exp(9 * a),)), Predictions(name="b", runs=(b,))
    )
    assert plain["auc"].p == stretched["auc"].p
    assert plain["auc"].interval == pytest.approx(stretched["auc"].interval)


def test_it_gives_an_interval_and_no_p_where_models_have_unequal_runs() -> None:
    label = labelled(150)
    two = Predictions(name="a", runs=(scores(label, 0.7, 1), scores(label, 0.7, 2)))
    found = differences(label, two, Predictions(name="b", runs=(scores(label, 1.0, 3),)))
    for one in found.values():
        assert one.interval is not None
        assert one.p is None
        assert one.p_holm is None
        assert "2 and 1" in one.as_json()["p_reason"]


def test_models_that_never_differ_have_no_interval_and_say_so() -> None:
    label = labelled(60)
    run = scores(label, 0.7, 1)
    found = differences(label, Predictions(name="a", runs=(run,)), Predictions(name="b", runs=(run,)))
    for one in found.values():
        assert (one.difference, one.interval, one.p) == (0.0, None, 1.0)
        assert one.ci95_reason == "the two never differ on these triples"


def test_it_says_why_a_measure_is_undefined() -> None:
    high, low = Predictions(name="a", runs=(np.full(4, 0.9),)), Predictions(name="b", runs=(np.zeros(4),))
    found = differences(np.zeros(4, dtype=np.int8), high, low)
    assert found["auc"].reason == "AUC needs plausible and implausible triples"
    assert found["precision"].reason == "a run calls no triple plausible, so it has no precision"
    assert found["recall"].reason == "no triple here is plausible"
    assert found["f1"].as_json()["difference"] is None
    group = compare_predictions(np.zeros(4, dtype=np.int8), [high, low], labels="x", shuffles=9).groups[0]
    spreads = {(one.name, one.measure): one for one in group.spreads}
    assert spreads["a", "auc"].reason == found["auc"].reason
    assert spreads["b", "precision"].sd_reason == found["precision"].reason


def test_it_leaves_out_what_has_no_label_and_looks_at_groups_apart() -> None:
    label = labelled(300)
    label[:30] = -1
    half = np.arange(300) < 150
    a, b = (
        Predictions(name=name, runs=(scores(label, noise, 1),)) for name, noise in (("a", 0.5), ("b", 2.0))
    )
    found = compare_predictions(
        label, [a, b], labels="x", groups={"half": half, "none": label > 1}, shuffles=99
    )
    assert found.left_out == 30
    assert [(group.group, group.n) for group in found.groups] == [("half", 120), ("none", 0)]
    inside = label[30:150]
    alone = differences(
        inside, *(Predictions(name=m.name, runs=(m.runs[0][30:150],)) for m in (a, b)), resamples=1000
    )
    assert found.groups[0].differences == tuple(alone.values())
    assert {one.reason for one in found.groups[1].differences} == {"no triples"}


def test_it_refuses_what_does_not_fit() -> None:
    label = labelled(5)
    with pytest.raises(ValueError, match="finite"):
        compare_predictions(label, [Predictions(name="a", runs=(np.full(5, np.nan),))], labels="x")
    with pytest.raises(ValueError, match="one name"):
        compare_predictions(label, [Predictions(name="a", runs=(np.ones(5),))] * 2, labels="x")
    with pytest.raises(ValueError, match="threshold"):
        Predictions(name="a", runs=(np.ones(5),), thresholds=(0.1, 0.2))
