"""What agreement figures mean: one column per person, undefined figures, contrast, slots and declared categories."""

import numpy as np
import pytest

from scoring.stats.agreement import AgreementReport, Ratings, agreement, ratings_from_matrix
from scoring.stats.agreement_report import REASONS
from tests.scoring.stats.judgements import LIKERT, even, two_people, value, values


def plain(ratings: Ratings) -> AgreementReport:
    return agreement(ratings, seed=1, intervals=False)


# One person, one column.


def test_it_makes_no_pair_of_one_person_under_two_names() -> None:
    ratings = ratings_from_matrix(
        [[1, 1, 0], [0, 0, 0], [1, 1, 1], [1, -1, 1]], raters=("Ann", " ＡＮＮ", "Bo"), categories=("0", "1")
    )
    report = plain(ratings)
    assert [(one.a, one.b, one.n, one.reason_code) for one in report.excluded] == [
        ("Ann", " ＡＮＮ", 3, "one_person")
    ]
    assert (report.raters, [pair.n for pair in report.pairs], report.n_judgements) == (("Ann", "Bo"), [4], 8)
    assert report.coefficients["raw"].value == 0.75


def test_it_counts_no_answer_of_a_person_who_contradicts_themself() -> None:
    ratings = ratings_from_matrix([[1, 0, 1], [1, 1, 1]], raters=("ann", "ANN", "bo"), categories=("0", "1"))
    assert plain(ratings).coefficients["raw"].n == 1


def test_it_has_one_rater_where_both_names_are_one() -> None:
    report = plain(ratings_from_matrix([[1, 1], [0, 0]], raters=("Zoë", "ZOE\u0308"), categories=("0", "1")))
    assert report.coefficients["raw"].reason_code == "one_rater"
    assert (len(report.excluded), report.pairs) == (1, ())


def test_it_takes_no_contrast_from_an_item_whose_slots_are_one_person() -> None:
    ratings = ratings_from_matrix(
        [[1, 1, -1], [1, -1, 0], [-1, 0, 0], [0, -1, 1]],
        raters=("ann", "Ann", "bo"),
        categories=("0", "1"),
        slots=[[0, 1], [0, 2], [2, 1], [2, 0]],
    )
    contrast = plain(ratings).coefficients["contrast"]
    # Left are (1, 0), (0, 0), (1, 0): no first expert and second expert differ by chance less than they did.
    assert contrast.n == 3
    assert contrast.value == pytest.approx(1 - (2 / 3) / (2 / 3))


# Undefined figures.


def reason_codes(ratings: Ratings) -> set[str | None]:
    return {found.reason_code for found in agreement(ratings, seed=1).coefficients.values()}


@pytest.mark.parametrize(
    ("rows", "raters", "code"),
    [
        ([], ("a", "b"), "no_items"),
        ([[-1, -1]], ("a", "b"), "no_items"),
        ([], (), "no_items"),
        ([[1], [0]], ("a",), "one_rater"),
        ([[1, -1], [0, -1]], ("a", "b"), "one_rater"),
        ([[1, -1], [-1, 0]], ("a", "b"), "no_common_items"),
    ],
)
def test_it_says_why_there_is_nothing_to_compare(
    rows: list[list[int]], raters: tuple[str, ...], code: str
) -> None:
    table_ = np.array(rows, dtype=int).reshape(len(rows), len(raters))
    ratings = ratings_from_matrix(table_, raters=raters, categories=("0", "1"), items=range(len(rows)))
    report = agreement(ratings, seed=1)
    assert reason_codes(ratings) == {code}
    assert report.contrast_share.reason_code == code
    assert all(found.ci95 is None and found.ci95_reason for found in report.coefficients.values())


def test_it_knows_only_raw_agreement_and_gwet_where_one_category_was_used() -> None:
    report = agreement(two_people([[2, 2]] * 8), seed=1)
    defined = {name for name, found in report.coefficients.items() if found.value is not None}
    assert defined == {"raw", "gwet_ac1", "gwet_ac2"}
    assert {report.coefficients[name].value for name in defined} == {1.0}
    assert report.coefficients["cohen"].reason_code == "one_category"
    assert report.coefficients["alpha_ordinal"].reason_code == "one_category"
    assert report.coefficients["contrast"].reason_code == "no_expected_contrast"
    assert report.contrast_share.value == 0.0
    assert report.specific_agreement["0.5"].reason_code == "category_unused"
    assert report.specific_agreement["1"].value == 1.0


def test_it_gives_fleiss_no_value_where_items_differ_in_their_judgements() -> None:
    rows = [[1, 1, 1], [0, 1, -1], [0, 0, 0]]
    report = plain(ratings_from_matrix(rows, raters=("a", "b", "c"), categories=("0", "1")))
    assert report.coefficients["fleiss"].reason_code == "unequal_raters"
    assert report.coefficients["alpha_nominal"].value is not None


def test_it_asks_for_slots_before_it_speaks_of_a_first_and_second_expert() -> None:
    rows = [[1, 1, -1], [0, -1, 1], [-1, 0, 0]]
    report = plain(ratings_from_matrix(rows, raters=("a", "b", "c"), categories=("0", "1")))
    assert report.coefficients["contrast"].reason_code == "no_slots"
    assert {pair.coefficients["contrast"].reason_code for pair in report.pairs} == {
        "no_expected_contrast",
        None,
    }


def test_it_has_a_sentence_for_every_reason() -> None:
    for rows in ([], [[1, 1]], [[1, 0], [1, 1]]):
        for intervals in (True, False):
            report = agreement(
                two_people(np.array(rows, dtype=int).reshape(-1, 2)), seed=1, intervals=intervals
            )
            for found in report.coefficients.values():
                assert (found.value is None) == (found.reason is not None)
                assert (found.ci95 is None) == (found.ci95_reason is not None)
                assert found.reason_code is None or found.reason_code in REASONS


# What the figures mean.


def test_it_takes_the_mean_share_of_agreeing_pairs_with_more_than_two_people() -> None:
    rows = [[1, 1, 1, 0], [1, 1, -1, -1], [0, 1, -1, -1]]
    ratings = ratings_from_matrix(rows, raters=("a", "b", "c", "d"), categories=("0", "1"))
    assert value(ratings, "raw") == pytest.approx((3 / 6 + 1 + 0) / 3)


def test_it_counts_only_the_two_ends_of_the_scale_as_a_contrast() -> None:
    # By hand: Do = 1/6; slot 1 has two 1s and two 0s, slot 2 three 1s and one 0: De = (2·1 + 2·3) / 36.
    report = plain(two_people([[2, 2], [2, 2], [0, 0], [0, 2], [1, 1], [1, 1]]))
    assert report.contrast_share.value == pytest.approx(1 / 6)
    assert report.coefficients["contrast"].value == pytest.approx(1 - (1 / 6) / (8 / 36))


def test_it_takes_the_contrast_over_slots_and_not_over_people() -> None:
    # a is always first, b and c second: the slots are two full columns though nobody judged all items.
    rows = [[2, 2, -1], [0, -1, 0], [2, -1, 0], [0, 0, -1]]
    ratings = ratings_from_matrix(
        rows,
        raters=("a", "b", "c"),
        categories=LIKERT,
        scale=even(LIKERT),
        slots=[[0, 1], [0, 2], [0, 2], [0, 1]],
    )
    assert value(ratings, "contrast") == pytest.approx(
        value(two_people([[2, 2], [0, 0], [2, 0], [0, 0]]), "contrast")
    )


def test_it_sums_contrasts_over_the_pairs_of_slots_with_three_experts() -> None:
    rows = np.array([[2, 2, 2], [0, 0, 0], [2, 2, 0], [0, 1, 0]])
    ratings = ratings_from_matrix(
        rows, raters=("a", "b", "c"), categories=LIKERT, slots=np.tile([0, 1, 2], (4, 1))
    )
    observed, expected_ = 0, 0.0
    for a, b in ((0, 1), (0, 2), (1, 2)):
        first, second = rows[:, a], rows[:, b]
        observed += int((np.abs(first - second) == 2).sum())
        expected_ += ((first == 2).sum() * (second == 0).sum() + (first == 0).sum() * (second == 2).sum()) / 4
    assert value(ratings, "contrast") == pytest.approx(1 - observed / expected_)


def test_it_gives_the_same_figures_when_the_scale_runs_down() -> None:
    rows = np.random.default_rng(3).integers(0, 3, size=(40, 2))
    up = two_people(rows)
    down = ratings_from_matrix(2 - rows, raters=("a", "b"), categories=LIKERT[::-1], scale=(1, 0.5, 0))
    for name, found in values(up).items():
        assert values(down)[name] == pytest.approx(found, abs=1e-12)


def test_it_counts_declared_categories_nobody_used() -> None:
    rows = [[0, 0], [2, 2], [0, 2], [2, 2]]
    # AC1 by hand: pa = 3/4, shares 3/8, 0, 5/8, pe = (15/64 + 15/64) / 2 with three declared categories, / 1 with two.
    chance = 30 / 64
    assert value(two_people(rows), "gwet_ac1") == pytest.approx((0.75 - chance / 2) / (1 - chance / 2))
    as_two = two_people(np.array(rows) // 2, categories=("0", "1"))
    assert value(as_two, "gwet_ac1") == pytest.approx((0.75 - chance) / (1 - chance))
    assert plain(two_people(rows)).distribution == {"0": 3, "0.5": 0, "1": 5}


def test_it_names_the_weights_of_ac2() -> None:
    ratings = two_people([[0, 0], [2, 2], [0, 1], [2, 0], [1, 1]])
    quadratic = agreement(ratings, seed=1, intervals=False)
    linear = agreement(ratings, seed=1, intervals=False, ac2_weights="linear")
    assert "ac2:quadratic" in quadratic.signature
    assert "ac2:linear" in linear.signature
    assert quadratic.coefficients["gwet_ac2"].value != linear.coefficients["gwet_ac2"].value


def test_it_measures_agreement_on_each_category() -> None:
    found = plain(two_people([[0, 0], [0, 0], [0, 1], [2, 2], [2, 2]])).specific_agreement
    assert {name: (one.value, one.n) for name, one in found.items()} == {
        "0": (pytest.approx(4 / 5), 3),
        "0.5": (0.0, 1),
        "1": (1.0, 2),
    }


def test_it_warns_where_the_contrast_lies_below_the_other_figures() -> None:
    report = agreement(two_people([[2, 0], *[[1, 1]] * 9]), seed=1)
    contrast = report.coefficients["contrast"]
    assert contrast.value == pytest.approx(-9)
    assert contrast.warning is not None
    assert contrast.warning.startswith("The contrast coefficient or its interval reaches below −1")
    document = report.as_json()
    assert document["warnings"] == [contrast.warning]
    assert document["coefficients"]["contrast"]["warning"] == contrast.warning  # type: ignore[index]
    assert document["coefficients"]["raw"]["warning"] is None  # type: ignore[index]


def test_it_warns_where_ac2_falls_below_minus_one_by_its_weights() -> None:
    report = agreement(two_people([*[[2, 0]] * 9, *[[0, 2]] * 8, *[[1, 1]] * 3]), seed=1)
    ac2 = report.coefficients["gwet_ac2"]
    assert ac2.value is not None
    assert ac2.value < -1
    assert ac2.warning in report.as_json()["warnings"]  # type: ignore[operator]


def test_it_warns_of_nothing_where_all_figures_lie_above_minus_one() -> None:
    report = agreement(two_people([[2, 2], [0, 0], [1, 1], [2, 0]] * 30), seed=1)
    assert report.as_json()["warnings"] == []


@pytest.mark.parametrize("rows", [[[0, 2], [2, 0]] * 5, [[0, 1], [1, 0], [2, 1], [1, 2]] * 3, [[2, 0]] * 7])
def test_kappas_alphas_and_ac1_reach_no_further_down_than_minus_one(rows: list[list[int]]) -> None:
    report = agreement(two_people(rows), seed=1)
    for name, found in report.coefficients.items():
        if name not in ("contrast", "gwet_ac2"):
            low = [number for number in (found.value, *(found.ci95 or ())) if number is not None]
            assert min(low, default=0) >= -1 - 1e-12, name
