"""AUC and F1 against scikit-learn, the small cases and the released figures."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from annotation.protocol.errors import ProtocolError
from scoring.stats.classification import (
    CEILING,
    Classification,
    Gold,
    human_performance,
    measure,
    score_predictions,
    tune_threshold,
)
from tests.scoring.stats.released import column, expected, table, triples

RELATIONS_CASE = "cases/c40_auc_relations.csv"
F1_CASE = "cases/c41_f1_predictions.csv"


def labels(values: list[Any]) -> NDArray[np.int8]:
    return np.array([int(value) for value in values], dtype=np.int8)


def scores(values: list[Any]) -> NDArray[np.float64]:
    return np.array([float(value) for value in values])


def gold(values: list[Any], **columns: list[str]) -> Gold:
    blank = [""] * len(values)
    return Gold(
        label=labels(values),
        item_class=columns.get("item_class", blank),
        relation=columns.get("relation", blank),
    )


def relations_case() -> Classification:
    relation = column(RELATIONS_CASE, "relation")
    return score_predictions(
        gold(column(RELATIONS_CASE, "gold"), relation=relation),
        scores(column(RELATIONS_CASE, "score")),
        labels="imported",
    )


def released_rows(split: str | None) -> tuple[Gold, NDArray[np.bool_]]:
    rows = triples()
    mask = np.array([split in (None, row["split"]) for row in rows])
    kept = [row for row, keep in zip(rows, mask, strict=True) if keep]
    whole = gold(
        [row["label"] for row in kept],
        item_class=[row["class"] for row in kept],
        relation=[row["relation"] for row in kept],
    )
    return whole, mask


def test_it_gives_auc_by_relation_and_none_where_one_class_is_missing() -> None:
    # cases/expected_values.json, c40
    rows = dict(relations_case().rows)
    assert rows["all"].auc == pytest.approx(0.785714, abs=1e-6)
    assert rows["xWant"].auc == 0.75
    assert rows["HinderedBy"].auc == 0.75
    assert rows["oReact"].auc is None
    assert rows["oReact"].reason == "AUC needs both classes; all 3 triples are plausible"


def test_it_says_over_how_many_relations_a_mean_is() -> None:
    mean = relations_case().as_json()["mean_over_relations"]
    assert (mean["auc"]["value"], mean["auc"]["groups"]) == (75.0, "2 of 3")
    assert mean["f1"]["groups"] == "3 of 3"


def test_it_takes_f1_of_the_plausible_class() -> None:
    # cases/expected_values.json, c41: nopos_binary, q_binary
    label = labels(column(F1_CASE, "gold"))
    never = measure(label, scores(column(F1_CASE, "p")))
    assert never.f1 == 0.0
    assert never.recall == 0.0
    assert never.precision is None
    assert never.reason == "precision needs a triple called plausible"
    assert measure(label, scores(column(F1_CASE, "q"))).f1 == pytest.approx(0.666667, abs=1e-6)


def test_it_gives_none_for_f1_where_nothing_is_or_is_called_plausible() -> None:
    measures = measure(labels([0, 0]), scores([0.1, 0.2]))
    assert (measures.auc, measures.f1, measures.precision, measures.recall) == (None, None, None, None)
    assert measures.reason is not None
    assert "all 2 triples are implausible" in measures.reason
    assert "F1 and recall need a plausible triple" in measures.reason
    assert measure(labels([0, 0]), scores([0.9, 0.2])).f1 == 0.0
    for label, word in ((0, "implausible"), (1, "plausible")):
        reason = measure(labels([label]), scores([0.9])).reason
        assert str(reason).startswith(f"AUC needs both classes; the only triple is {word}")


def test_it_gives_none_for_no_triples() -> None:
    document = measure(labels([]), scores([])).as_json()
    assert (document["n"], document["auc"], document["f1"]) == (0, None, None)
    assert document["reason"] == "no triples"


def test_it_calls_a_score_at_the_threshold_plausible() -> None:
    assert measure(labels([1, 0]), scores([0.5, 0.4999])).f1 == 1.0


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_it_refuses_scores_that_are_no_number(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        measure(labels([1, 0]), scores([0.5, bad]))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0])), min_size=2, max_size=25
    )
)
def test_it_agrees_with_scikit_learn(pairs: list[tuple[int, float]]) -> None:
    from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

    label, score = labels([one for one, _ in pairs]), scores([one for _, one in pairs])
    measures = measure(label, score)
    precision, recall, f1, _ = precision_recall_fscore_support(
        label, score >= 0.5, pos_label=1, average="binary", zero_division=np.nan
    )
    ours = [
        np.nan if value is None else value for value in (measures.precision, measures.recall, measures.f1)
    ]
    assert ours == pytest.approx([precision, recall, f1], nan_ok=True)
    if len(set(label.tolist())) == 2:
        assert measures.auc == pytest.approx(roc_auc_score(label, score))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=25))
def test_it_tunes_to_the_lowest_threshold_of_the_highest_f1(pairs: list[tuple[int, int]]) -> None:
    label, score = labels([one for one, _ in pairs]), scores([one / 10 for _, one in pairs])
    if not (label == 1).any():
        with pytest.raises(ProtocolError, match="cannot be tuned"):
            tune_threshold(label, score)
        return
    by_hand = {t: measure(label, score, threshold=t).f1 or 0.0 for t in sorted(set(score.tolist()))}
    best = max(by_hand.values())
    assert tune_threshold(label, score) == next(t for t, f1 in by_hand.items() if f1 == best)


def test_it_tunes_on_labelled_triples_only() -> None:
    assert tune_threshold(labels([-1, 1, 0, -1]), scores([0.9, 0.6, 0.3, 0.1])) == 0.6


@pytest.mark.parametrize(("value", "side"), [(0.9, "at or above"), (0.1, "below")])
def test_it_warns_when_all_scores_lie_on_one_side(value: float, side: str) -> None:
    table = score_predictions(gold([1, 0]), scores([value, value]), labels="imported")
    assert len(table.warnings) == 1
    assert f"Every score (2) lies {side} the threshold 0.5" in table.warnings[0]


def test_it_does_not_warn_when_scores_lie_on_both_sides() -> None:
    assert score_predictions(gold([1, 0]), scores([0.9, 0.1]), labels="imported").warnings == ()
    assert score_predictions(gold([-1, 0]), scores([0.9, 0.1]), labels="imported").warnings != ()


def test_it_leaves_triples_without_a_label_out_and_counts_them() -> None:
    table = score_predictions(
        gold([1, 0, -1], relation=["xWant"] * 3), scores([0.9, 0.1, 0.8]), labels="final"
    )
    assert table.left_out == 1
    assert [(group, row.n) for group, row in table.rows] == [("all", 2), ("xWant", 2)]
    assert "n:2" in table.signature


def test_it_orders_groups_as_the_paper_and_shows_both_ood_classes_apart() -> None:
    whole, mask = released_rows("tst")
    rows = score_predictions(whole, scores([1] * int(mask.sum())), labels="imported").rows
    assert [group for group, _ in rows[:8]] == [
        "all",
        "ID",
        "OOD",
        "Adv",
        "cs_head",
        "all_head",
        "xWant",
        "oWant",
    ]
    assert len(rows) == 6 + 15


@pytest.mark.parametrize("system", ["gpt3", "always_plausible"])
def test_it_gives_the_published_figures_of_a_system(system: str) -> None:
    whole, mask = released_rows("tst")
    predictions = scores(column("data/ckbp/gpt3_predictions.csv", "prediction"))[mask]
    score = predictions if system == "gpt3" else np.ones_like(predictions)
    rows = dict(score_predictions(whole, score, labels="imported").rows)
    for group, row in expected("ckbp_v2", "table2", system).items():
        measures = rows[group].as_json()
        assert measures["n"] == row["n"]
        assert round(measures["auc"], 2) == row["AUC"]
        assert round(measures["f1"], 2) == row["F1"]


def human_slots() -> NDArray[np.float64]:
    first, second = column("data/ckbp/human1.csv", "label1"), column("data/ckbp/human2.csv", "label2")
    return np.array([first, second], dtype=np.float64).T


@pytest.mark.parametrize(("key", "split"), [("human_full_5006", None), ("human_test_only", "tst")])
def test_it_gives_human_performance(key: str, split: str | None) -> None:
    whole, mask = released_rows(split)
    human = human_performance(whole, human_slots()[mask], labels="imported", votes="released")
    rows = dict(human.rows)
    for group, row in expected("ckbp_v2", "table2", key).items():
        measures = rows[group].as_json()
        assert measures["n"] == row["n"]
        # The published row averages figures already rounded to two decimals.
        assert measures["auc"] == pytest.approx(row["AUC"], abs=0.0101)
        assert measures["f1"] == pytest.approx(row["F1"], abs=0.0101)
    assert human.warnings == (CEILING,)


def test_it_gives_the_published_human_row_when_slots_are_rounded_first() -> None:
    whole, _ = released_rows(None)
    slots = human_slots()
    rows = [dict(score_predictions(whole, slot, labels="imported").rows) for slot in slots.T]
    for group, row in expected("ckbp_v2", "table2", "human_full_5006").items():
        auc, f1 = (
            sum(round(100 * (getattr(slot[group], name) or 0), 2) for slot in rows) / 2
            for name in ("auc", "f1")
        )
        assert auc == pytest.approx(row["AUC"], abs=0.005001)
        assert f1 == pytest.approx(row["F1"], abs=0.005001)


def test_it_takes_half_scores_of_people_as_implausible() -> None:
    human = human_performance(
        gold([1, 0, 0]), np.array([[1, 0.5], [0.5, 0], [0, 0]]), labels="final", votes="effective"
    )
    measures = human.rows[0][1]
    assert measures.auc == pytest.approx((1.0 + 0.5) / 2)
    assert measures.f1 == pytest.approx((1.0 + 0.0) / 2)
    assert "votes:effective" in human.signature


def test_it_leaves_out_what_a_slot_did_not_score() -> None:
    slots = np.array([[1.0, 1.0], [0.0, 0.5], [np.nan, 1.0], [1.0, 0.0]])
    human = human_performance(gold([1, 0, 1, -1]), slots, labels="final", votes="effective")
    assert human.left_out == 2
    assert human.rows[0][1].n == 2
    assert human.rows[0][1].auc == 1.0


def test_it_gives_none_where_one_slot_is_undefined() -> None:
    human = human_performance(
        gold([0, 0]), np.array([[1.0, 0.0], [0.0, 0.0]]), labels="final", votes="effective"
    )
    measures = human.rows[0][1]
    assert measures.auc is None
    assert measures.f1 is None
    assert measures.reason is not None


def test_it_refuses_columns_of_unequal_length() -> None:
    with pytest.raises(ValueError, match="one score"):
        score_predictions(gold([1, 0]), scores([0.5]), labels="-")
    with pytest.raises(ValueError, match="each slot"):
        human_performance(gold([1, 0]), np.ones((1, 2)), labels="-", votes="-")
    with pytest.raises(ValueError, match="same length"):
        gold([1, 0], relation=["xWant"])
    with pytest.raises(ValueError, match="label is 1"):
        gold([3])


def test_every_figure_has_an_interval_or_says_why_not() -> None:
    human = human_performance(
        gold([1, 0, 0, 1] * 5), np.tile([[1, 0.5], [0.5, 0], [0, 1], [1, 1]], (5, 1)), labels="-", votes="-"
    )
    for document in (relations_case().as_json(), human.as_json()):
        for row in document["rows"]:
            for name in ("auc", "f1", "precision", "recall"):
                bounds = row[f"{name}_ci95"]
                if row[name] is None:
                    assert bounds is None
                    assert row[f"{name}_ci95_reason"]
                else:
                    assert 0 <= bounds[0] <= row[name] <= bounds[1] <= 100
                    assert bounds[1] - bounds[0] > 1
    assert "|intervals:" in human.signature
    low, high = relations_case().as_json()["mean_over_relations"]["f1"]["ci95"]
    assert low < relations_case().mean_f1.as_json()["value"] < high


def test_it_writes_the_contracts_document() -> None:
    document = json.loads(json.dumps(relations_case().as_json()))
    assert document["threshold"] == 0.5
    assert document["rows"][0]["group"] == "all"
    assert {"group", "n", "auc", "f1", "reason"} <= set(document["rows"][0])
    assert document["rows"][0]["auc"] == pytest.approx(78.5714, abs=1e-4)
    assert document["signature"].startswith("score|ver:1|n:11|labels:imported|threshold:0.5(given)|")
    assert len(table(RELATIONS_CASE)) == 11
