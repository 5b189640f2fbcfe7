"""Agreement against published worked examples and the released judgements."""

import numpy as np
import pytest

from scoring.stats.agreement import Ratings, agreement, ratings_from_matrix
from scoring.stats.coefficients import cohen_kappa
from tests.scoring.stats.judgements import LIKERT, even, two_people, value, values
from tests.scoring.stats.released import expected, table, triples


def one_to_five(rows: list[list[int]]) -> Ratings:
    """Labels 1…5, 0 for a blank; one row per person."""
    numbers = np.array(rows).T - 1
    return ratings_from_matrix(
        numbers,
        raters=[f"rater {k}" for k in range(numbers.shape[1])],
        categories=("1", "2", "3", "4", "5"),
        scale=(1, 2, 3, 4, 5),
    )


def from_contingency(cells: list[list[int]]) -> Ratings:
    counts = np.array(cells)
    rows = np.argwhere(counts >= 0).repeat(counts.ravel(), axis=0)
    return two_people(rows, categories=[str(k) for k in range(len(counts))])


def from_counts(counts: list[list[int]]) -> Ratings:
    """Per item how many raters gave each category, all items with the same number of raters."""
    rows = [np.repeat(np.arange(len(row)), row) for row in counts]
    return ratings_from_matrix(
        rows,
        raters=[f"r{k}" for k in range(len(rows[0]))],
        categories=[str(k) for k in range(len(counts[0]))],
    )


def test_it_gives_krippendorffs_four_observers() -> None:
    # Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, section C and E: .743, .815, .849.
    ratings = one_to_five(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    )
    assert value(ratings, "alpha_nominal") == pytest.approx(0.743, abs=5e-4)
    assert value(ratings, "alpha_ordinal") == pytest.approx(0.815, abs=5e-4)
    assert value(ratings, "alpha_interval") == pytest.approx(0.849, abs=5e-4)


def test_it_gives_cohens_kappa_and_weighted_kappa() -> None:
    # Cohen (1960), table 1: κ = .492; Cohen (1968), with disagreement weights 0 1 3 / 1 0 6 / 3 6 0: κw = .348.
    cells = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
    assert value(from_contingency(cells), "cohen") == pytest.approx(0.492, abs=5e-4)
    weights = np.array([[0.0, 1, 3], [1, 0, 6], [3, 6, 0]])
    assert float(cohen_kappa(np.array(cells, dtype=float), weights)) == pytest.approx(0.348, abs=5e-4)


# Fleiss (1971), table 1: 30 patients, six psychiatrists, depression … other; κ = .430.
FLEISS_1971 = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""


def test_it_gives_fleiss_psychiatrists() -> None:
    ratings = from_counts([[int(digit) for digit in row] for row in FLEISS_1971.split()])
    assert value(ratings, "fleiss") == pytest.approx(0.430, abs=5e-4)
    assert value(ratings, "raw") == pytest.approx(0.5556, abs=5e-4)


def test_it_gives_the_well_known_fourteen_raters() -> None:
    # Wikipedia, "Fleiss' kappa", worked example: 10 items, 14 raters, five categories, κ = .210.
    counts = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    assert value(from_counts(counts), "fleiss") == pytest.approx(0.210, abs=5e-4)


def test_it_gives_gwets_two_abstractors() -> None:
    # Gwet's R package irrCAC, overview vignette, cont3x3abstractors (Gwet 2014): kappa 0.7964094, pi 0.7962397,
    # AC1 0.8493305, alpha 0.7972585, agreement 0.89; AC2 with quadratic weights 0.940, linear 0.900 (tests of the
    # Python port of irrCAC).
    cells = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
    found = values(from_contingency(cells))
    assert found["raw"] == pytest.approx(0.89)
    assert found["cohen"] == pytest.approx(0.7964094, abs=5e-8)
    assert found["fleiss"] == pytest.approx(0.7962397, abs=5e-8)
    assert found["alpha_nominal"] == pytest.approx(0.7972585, abs=5e-8)
    assert found["gwet_ac1"] == pytest.approx(0.8493305, abs=5e-8)
    assert found["gwet_ac2"] == pytest.approx(0.940, abs=5e-4)
    linear = agreement(from_contingency(cells), seed=1, intervals=False, ac2_weights="linear")
    assert linear.coefficients["gwet_ac2"].value == pytest.approx(0.900, abs=5e-4)


def test_it_gives_gwets_four_raters_with_missing_ratings() -> None:
    # irrCAC, cac.raw4raters (Gwet 2014, p. 120): agreement 0.8181818, AC1 0.77544, alpha 0.74342; AC2 quadratic 0.914,
    # linear 0.859. The last item has one rating: it forms no pair but counts in Gwet's prevalence.
    ratings = one_to_five(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 0],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    )
    found = values(ratings)
    assert found["raw"] == pytest.approx(0.8181818, abs=5e-8)
    assert found["gwet_ac1"] == pytest.approx(0.77544, abs=5e-6)
    assert found["alpha_nominal"] == pytest.approx(0.74342, abs=5e-6)
    assert found["gwet_ac2"] == pytest.approx(0.914, abs=5e-4)
    linear = agreement(ratings, seed=1, intervals=False, ac2_weights="linear")
    assert linear.coefficients["gwet_ac2"].value == pytest.approx(0.859, abs=5e-4)


def test_it_gives_gwets_diagnoses() -> None:
    # Python port of irrCAC, table_cont4x4diagnosis (223 patients, two methods): AC1 0.456; AC2 linear 0.377, quadratic
    # 0.299.
    ratings = from_contingency([[40, 4, 4, 17], [6, 25, 2, 13], [4, 1, 21, 12], [15, 5, 9, 45]])
    assert value(ratings, "gwet_ac1") == pytest.approx(0.456, abs=5e-4)
    assert value(ratings, "gwet_ac2") == pytest.approx(0.299, abs=5e-4)
    linear = agreement(ratings, seed=1, intervals=False, ac2_weights="linear")
    assert linear.coefficients["gwet_ac2"].value == pytest.approx(0.377, abs=5e-4)


def test_it_gives_gwets_distribution_of_six_raters() -> None:
    # irrCAC, distrib.6raters (the first 15 of Fleiss' patients): AC1 0.4448007, Fleiss 0.4139265, alpha 0.4204384.
    found = values(from_counts([[int(digit) for digit in row] for row in FLEISS_1971.split()[:15]]))
    assert found["gwet_ac1"] == pytest.approx(0.4448007, abs=5e-8)
    assert found["fleiss"] == pytest.approx(0.4139265, abs=5e-8)
    assert found["alpha_nominal"] == pytest.approx(0.4204384, abs=5e-8)


def experts() -> list[tuple[bool, bool]]:
    """Whether the first and second expert of each released triple scored it 1."""
    first, second = (
        [next(iter(row.values())) == "1" for row in table(f"data/ckbp/{name}.csv")]
        for name in ("human1", "human2")
    )
    return list(zip(first, second, strict=True))


def test_it_gives_the_contrast_coefficient_of_the_released_experts() -> None:
    # The label tells the score beside a lone 1: plausible → 0.5, implausible → 0. Figures recomputed by other hands.
    rows = []
    for (a, b), triple in zip(experts(), triples(), strict=True):
        beside = 1 if triple["label"] == "1" else 0
        rows.append([2 if a else (beside if b else 0), 2 if b else (beside if a else 0)])
    report = agreement(
        ratings_from_matrix(rows, raters=("slot 1", "slot 2"), categories=LIKERT, scale=even(LIKERT)), seed=1
    )
    share, contrast = report.contrast_share, report.coefficients["contrast"]
    assert share.value is not None
    assert 100 * (1 - share.value) == pytest.approx(97.12, abs=5e-3)
    assert share.value * report.n_items == pytest.approx(144)
    assert contrast.value == pytest.approx(0.9109, abs=5e-5)
    assert contrast.ci95 is not None
    assert contrast.ci95[0] < 0.9055 < contrast.ci95[1]


def test_it_gives_the_agreement_on_scored_one_of_the_released_experts() -> None:
    found = values(two_people([[int(a), int(b)] for a, b in experts()], categories=("0", "1")))
    known = expected("ckbp_v2", "experts")
    assert found["contrast"] == pytest.approx(0.7822, abs=5e-5)
    assert found["cohen"] == pytest.approx(known["binary_cohen_kappa_1_vs_rest"], abs=5e-5)
    assert found["raw"] == pytest.approx(known["binary_raw_agreement_pct"] / 100, abs=5e-6)
