"""Agreement reports: the small cases by their kind, reasons where a figure is undefined, and the JSON."""

import json
from typing import Any

import numpy as np
import pytest

from scoring.stats.agreement import (
    AgreementReport,
    Ratings,
    agreement,
    by_group,
    ratings_from_long,
    ratings_from_matrix,
)
from scoring.stats.agreement_report import NAMES
from tests.scoring.stats.judgements import BINARY, case, pair_of, two_people, value, values
from tests.scoring.stats.released import table


def expected(case_number: str) -> Any:
    from tests.shared import shared

    return json.loads(shared("cases/expected_values.json").read_text(encoding="utf-8"))[case_number]


def plain(ratings: Ratings) -> AgreementReport:
    return agreement(ratings, seed=1, intervals=False)


# The cases: each file, and others of its kind.


def test_it_keeps_the_judgements_of_people_who_left() -> None:
    report = plain(case("c17_removed_annotator_labels", categories=BINARY))
    assert report.n_judgements == 12
    assert report.coefficients["cohen"].n == expected("c17")["n"]
    assert report.coefficients["cohen"].value == pytest.approx(expected("c17")["kappa"], abs=1e-6)


def wide(
    name: str, raters: tuple[str, ...], categories: tuple[str, ...], missing: tuple[str, ...] = ()
) -> Ratings:
    cells = [(row["item_id"], rater, row[rater]) for row in table(f"cases/{name}.csv") for rater in raters]
    items, people, labels = zip(*cells, strict=True)
    return ratings_from_long(items, people, labels, categories=categories, missing=missing)


def test_it_leaves_blanks_out_instead_of_counting_them_as_a_value() -> None:
    ratings = wide("c25_agr_missing_three_annotators", ("ann_x", "ann_y", "ann_z"), ("0", "1", "2"))
    report = plain(ratings)
    assert (report.n_items, report.n_judgements) == (8, 19)
    assert report.distribution == {"0": 6, "1": 6, "2": 7}
    assert report.coefficients["alpha_nominal"].value == pytest.approx(
        expected("c25")["alpha_nominal"], abs=1e-6
    )
    assert report.coefficients["alpha_ordinal"].value == pytest.approx(
        expected("c25")["alpha_ordinal"], abs=1e-6
    )


@pytest.mark.parametrize("blank", [None, "", "  ", "\u3000", "NA", "cannot judge"])
def test_it_takes_placeholders_for_missing_only_where_they_are_declared_so(blank: str | None) -> None:
    ratings = ratings_from_long(
        ["t1", "t1", "t2", "t2", "t3", "t3"],
        ["a", "b"] * 3,
        ["1", "1", "0", blank, "0", "1"],
        categories=("0", "1"),
        missing=("NA", "cannot judge"),
    )
    assert (ratings.n_judgements, values(ratings)["raw"]) == (5, 0.5)


def test_it_treats_placeholder_words_as_labels_where_they_are_categories() -> None:
    words = ("None", "NA", "nan")
    cells = [("1", "None", "None"), ("2", "NA", "nan"), ("3", "nan", "nan"), ("4", "NA", "NA")]
    ratings = ratings_from_long(
        [cell[0] for cell in cells for _ in range(2)],
        ["a", "b"] * 4,
        [label for cell in cells for label in cell[1:]],
        categories=words,
        missing=("NA",),
    )
    report = plain(ratings)
    assert report.distribution == {"None": 2, "NA": 3, "nan": 3}
    assert report.coefficients["raw"].value == 0.75


WORDED = {
    "never": ("never", "sometimes", "often"),
    "reversed": ("often", "sometimes", "never"),
}


@pytest.mark.parametrize("order", WORDED.values(), ids=WORDED)
def test_it_takes_the_order_of_a_worded_scale_from_its_declaration(order: tuple[str, ...]) -> None:
    ratings = case("c26_agr_worded_scale", categories=order)
    figures = expected("c26")
    assert value(ratings, "cohen") == pytest.approx(figures["unweighted"], abs=1e-6)
    assert value(ratings, "cohen_linear") == pytest.approx(figures["linear"], abs=1e-6)
    assert value(ratings, "cohen_quadratic") == pytest.approx(figures["quadratic"], abs=1e-6)


def test_it_gives_the_alphabetical_figure_only_to_who_declares_that_order() -> None:
    ratings = case("c26_agr_worded_scale", categories=("never", "often", "sometimes"))
    figures = expected("c26")
    assert value(ratings, "cohen_linear") == pytest.approx(figures["wrong_linear_alphabetical"], abs=1e-6)
    assert value(ratings, "cohen_quadratic") == pytest.approx(
        figures["wrong_quadratic_alphabetical"], abs=1e-6
    )


def test_it_reads_a_chinese_scale_in_its_own_order() -> None:
    # The twelve pairs of case c26 in other words; sorted they would stand 有时, 经常, 绝不.
    words = {"never": "绝不", "sometimes": "有时", "often": "经常"}
    rows = table("cases/c26_agr_worded_scale.csv")
    ratings = ratings_from_long(
        [row["item_id"] for row in rows],
        [{"a": "张三", "b": "李四"}[row["annotator"]] for row in rows],
        [words[row["label"]] for row in rows],
        categories=("绝不", "有时", "经常"),
    )
    assert value(ratings, "cohen_linear") == pytest.approx(0.4375, abs=1e-9)
    assert plain(ratings).distribution == {"绝不": 7, "有时": 8, "经常": 9}


def test_it_shows_prevalence_beside_a_negative_kappa() -> None:
    report = plain(case("c27_agr_skewed", categories=BINARY))
    figures = expected("c27")
    assert report.coefficients["raw"].n == 100
    assert report.distribution == {"incorrect": 5, "correct": 195}
    assert report.coefficients["raw"].value == pytest.approx(figures["po"], abs=1e-6)
    assert report.coefficients["cohen"].value == pytest.approx(figures["kappa"], abs=1e-6)
    assert report.coefficients["alpha_nominal"].value == pytest.approx(figures["alpha"], abs=1e-6)
    assert report.coefficients["gwet_ac1"].value == pytest.approx(figures["AC1"], abs=1e-6)


def test_it_counts_the_latest_revision_only() -> None:
    report = plain(case("c28_agr_revisions", categories=BINARY, saved="t"))
    assert report.n_judgements == 12
    assert report.coefficients["raw"].n == expected("c28")["n"]
    assert report.coefficients["raw"].value == pytest.approx(expected("c28")["po"], abs=1e-6)
    assert report.coefficients["cohen"].value == pytest.approx(expected("c28")["kappa"], abs=1e-6)


def test_it_reports_the_pairs_that_share_items_when_one_does_not() -> None:
    report = plain(case("c29_agr_no_overlap", categories=BINARY))
    assert set(pair_of(report, "a", "b").values()) == {(None, 0, "no common items")}
    for person, kappa in (("a", expected("c29")["ac"]), ("b", expected("c29")["bc"])):
        found, n, reason = pair_of(report, person, "c")["cohen"]
        assert found == pytest.approx(kappa, abs=1e-6)
        assert (n, reason) == (5, None)
    assert [(pair.a, pair.b, pair.n) for pair in report.pairs] == [
        ("a", "b", 0),
        ("a", "c", 5),
        ("b", "c", 5),
    ]


def test_it_gives_no_cohen_over_items_of_different_people_but_a_named_mean() -> None:
    report = plain(case("c29_agr_no_overlap", categories=BINARY))
    assert report.coefficients["cohen"].value is None
    assert report.coefficients["cohen"].reason_code == "different_raters"
    mean = report.mean_over_pairs["cohen"]
    assert (mean.n_pairs, mean.of_pairs, mean.coefficient.n) == (2, 3, 10)
    assert mean.coefficient.value == pytest.approx((0.615385 + 0.166667) / 2, abs=1e-6)
    assert report.coefficients["fleiss"].value is not None


def test_it_says_so_when_nobody_shares_an_item() -> None:
    ratings = ratings_from_long(
        ["1", "2", "3"], ["甲", "乙", "丙"], ["1", "0", "1"], categories=("0", "1"), slots=[1, 1, 1]
    )
    report = agreement(ratings, seed=1)
    assert {found.reason for found in report.coefficients.values()} == {"no common items"}
    assert [pair.n for pair in report.pairs] == [0, 0, 0]
    assert {reason for pair in report.pairs for reason in [pair.coefficients["raw"].reason]} == {
        "no common items"
    }


def parts() -> tuple[Ratings, list[str]]:
    ratings = case("c30_agr_two_parts", categories=BINARY)
    part_of = {row["item_id"]: row["part"] for row in table("cases/c30_agr_two_parts.csv")}
    return ratings, [part_of[str(item)] for item in ratings.items]


def test_it_keeps_parts_and_the_pooled_figure_apart() -> None:
    ratings, groups = parts()
    found = by_group(ratings, groups, seed=1, intervals=False)
    figures = expected("c30")
    assert {part: (report.coefficients["cohen"].n) for part, report in found.items()} == {
        "part1": 10,
        "part2": 4,
    }
    assert found["part1"].coefficients["cohen"].value == pytest.approx(figures["part1"], abs=1e-6)
    assert found["part2"].coefficients["cohen"].value == pytest.approx(figures["part2"], abs=1e-6)
    assert value(ratings, "cohen") == pytest.approx(figures["pooled"], abs=1e-6)


def test_it_leaves_people_out_of_groups_they_did_not_judge() -> None:
    ratings = ratings_from_matrix(
        [[1, 1, -1], [0, 1, -1], [-1, 0, 0], [-1, 1, 1]],
        raters=("a", "b", "c"),
        categories=("0", "1"),
        slots=[[0, 1], [1, 0], [1, 2], [2, 1]],
    )
    found = by_group(ratings, ["x", "x", "y", "y"], seed=1, intervals=False)
    assert {group: report.raters for group, report in found.items()} == {"x": ("a", "b"), "y": ("b", "c")}
    assert found["x"].coefficients["raw"].value == 0.5
    # Slots, not people: the first experts said 1 and 1, the second 1 and 0.
    assert found["x"].coefficients["contrast"].value == pytest.approx(1 - 0.5 / 0.5)
    assert found["y"].coefficients["contrast"].value == 1.0


def test_it_reads_the_nine_ordered_pairs_the_same_both_ways() -> None:
    rows = table("cases/c42_likert_nine_pairs.csv")
    number = {"0.0": 0, "0.5": 1, "1.0": 2}
    nine = np.array([[number[row["label_a"]], number[row["label_b"]]] for row in rows])
    report = plain(two_people(nine))
    assert report.coefficients["raw"].value == pytest.approx(3 / 9)
    assert report.contrast_share.value == pytest.approx(2 / 9)
    for name in ("contrast", "cohen", "cohen_linear", "cohen_quadratic"):
        assert report.coefficients[name].value == pytest.approx(0, abs=1e-12)
    assert values(two_people(nine)) == values(two_people(nine[:, ::-1]))


# The document.


def test_it_writes_the_contract_as_plain_values() -> None:
    ratings = case("c29_agr_no_overlap", categories=BINARY)
    document = agreement(ratings, seed=5).as_json()
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again == document
    assert set(again["coefficients"]) == set(NAMES)
    assert all({"value", "ci95", "n", "reason"} <= set(found) for found in again["coefficients"].values())
    assert [{"a", "b", "n", "coefficients"} <= set(pair) for pair in again["pairs"]] == [True] * 3
    assert set(again["pairs"][0]["coefficients"]) == set(NAMES)
    assert again["pairs"][0]["coefficients"]["cohen"]["reason"] == "no common items"
    assert set(again["mean_over_pairs"]) == {"cohen", "cohen_linear", "cohen_quadratic"}
    assert again["n_items"] == 10
    assert again["coefficients"]["raw"]["value"] == 0.7


def test_it_signs_how_the_figures_came_about() -> None:
    ratings = two_people([[0, 0], [2, 2], [0, 2]])
    signature = agreement(ratings, seed=42, resamples=200).signature
    for part in ("version:", "items:3", "judgements:6", "scale:0=0,0.5=0.5,1=1", "seed:42", "units:items"):
        assert part in signature
    assert "seed" not in agreement(ratings, seed=42, intervals=False).signature


def test_it_gives_two_people_the_same_figures_as_their_pair() -> None:
    report = agreement(two_people(np.random.default_rng(5).integers(0, 3, size=(50, 2))), seed=2)
    assert report.pairs[0].coefficients == report.coefficients


def test_it_refuses_groups_that_do_not_fit_and_too_few_resamples() -> None:
    ratings = two_people([[0, 0], [2, 2]])
    with pytest.raises(ValueError, match="1 groups for 2 items"):
        by_group(ratings, ["x"], seed=1)
    with pytest.raises(ValueError, match="at least 100 resamples"):
        agreement(ratings, seed=1, resamples=20)
