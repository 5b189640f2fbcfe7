"""Agreement coefficients against independent packages, over random tables with missing values."""

import warnings
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scoring.stats.agreement import Ratings, agreement, ratings_from_matrix
from scoring.stats.coefficients import Distance, disagreement
from tests.scoring.stats.judgements import values

Table = npt.NDArray[np.int64]
Level = Literal["nominal", "ordinal", "interval"]
LEVELS: dict[str, Level] = {
    "alpha_nominal": "nominal",
    "alpha_ordinal": "ordinal",
    "alpha_interval": "interval",
}
quickly = settings(max_examples=40, deadline=None, derandomize=True)


@st.composite
def tables(draw: st.DrawFn, *, raters: int | None = None, missing: bool = True) -> tuple[Table, int]:
    q = draw(st.integers(2, 4))
    shape = (draw(st.integers(2, 25)), raters or draw(st.integers(2, 5)))
    return draw(arrays(np.int64, shape, elements=st.integers(-1 if missing else 0, q - 1))), q


def rated(table: Table, q: int, *, scale: list[float] | None = None) -> Ratings:
    return ratings_from_matrix(
        table,
        raters=[f"r{k}" for k in range(table.shape[1])],
        categories=[str(k) for k in range(q)],
        scale=scale,
    )


@given(tables(), st.lists(st.integers(1, 5), min_size=3, max_size=3))
@quickly
def test_it_agrees_with_the_krippendorff_package(found: tuple[Table, int], steps: list[int]) -> None:
    import krippendorff

    table, q = found
    scale = [float(value) for value in np.cumsum([0, *steps])[:q]]
    ours = values(rated(table, q, scale=scale))
    common = table[(table >= 0).sum(axis=1) >= 2]
    assume(len(np.unique(common[common >= 0])) >= 2)
    counts = np.stack([(table == k).sum(axis=1) for k in range(q)], axis=1)
    for name, level in LEVELS.items():
        theirs = krippendorff.alpha(value_counts=counts, value_domain=scale, level_of_measurement=level)
        assert ours[name] == pytest.approx(theirs, abs=1e-9)


@given(tables(raters=2))
@quickly
def test_it_agrees_with_scikit_learn_on_cohen(found: tuple[Table, int]) -> None:
    from sklearn.metrics import cohen_kappa_score

    table, q = found
    ours = values(rated(table, q))
    common = table[(table >= 0).all(axis=1)]
    assume(len(np.unique(common)) >= 2)
    for name, weights in (("cohen", None), ("cohen_linear", "linear"), ("cohen_quadratic", "quadratic")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = cohen_kappa_score(common[:, 0], common[:, 1], labels=list(range(q)), weights=weights)
        assert ours[name] == pytest.approx(theirs, abs=1e-9)


@given(tables(missing=False))
@quickly
def test_it_agrees_with_statsmodels_on_fleiss(found: tuple[Table, int]) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa

    table, q = found
    assume(len(np.unique(table)) >= 2)
    counts = np.stack([(table == k).sum(axis=1) for k in range(q)], axis=1)
    assert values(rated(table, q))["fleiss"] == pytest.approx(float(fleiss_kappa(counts)), abs=1e-9)


def gwet_item_by_item(table: Table, q: int, weights: npt.NDArray[np.float64]) -> float:
    """Gwet (2014), chapters 3 and 4, as its formulas stand: one item after another."""
    shares, agreeing = np.zeros(q), []
    judged = [row[row >= 0] for row in table if (row >= 0).any()]
    for labels in judged:
        counts = np.bincount(labels, minlength=q)
        shares += counts / len(labels) / len(judged)
        if len(labels) >= 2:
            weighted = weights @ counts
            agreeing.append((counts * (weighted - 1)).sum() / (len(labels) * (len(labels) - 1)))
    chance = weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum()
    return float((np.mean(agreeing) - chance) / (1 - chance))


@given(tables())
@quickly
def test_it_agrees_with_gwets_formulas_item_by_item(found: tuple[Table, int]) -> None:
    table, q = found
    assume(((table >= 0).sum(axis=1) >= 2).any())
    ours = values(rated(table, q))
    scale = list(range(q))
    weights: dict[str, Distance] = {"gwet_ac1": "nominal", "gwet_ac2": "quadratic"}
    for name, distance in weights.items():
        agree = 1 - disagreement(scale, distance)
        assert ours[name] == pytest.approx(gwet_item_by_item(table, q, agree), abs=1e-9)


@given(tables())
@quickly
def test_it_agrees_with_a_plain_count_of_pairs(found: tuple[Table, int]) -> None:
    table, q = found
    report = agreement(rated(table, q), seed=1, intervals=False)
    shares = []
    for row in table:
        labels = row[row >= 0]
        pairs = [a == b for i, a in enumerate(labels) for b in labels[i + 1 :]]
        if pairs:
            shares.append(np.mean(pairs))
    raw = report.coefficients["raw"]
    assert raw.n == len(shares)
    assert raw.value == (pytest.approx(float(np.mean(shares)), abs=1e-9) if shares else None)
    for pair in report.pairs:
        both = table[:, [int(pair.a[1:]), int(pair.b[1:])]]
        both = both[(both >= 0).all(axis=1)]
        assert pair.n == len(both)
        same = float((both[:, 0] == both[:, 1]).mean()) if len(both) else None
        assert pair.coefficients["raw"].value == (None if same is None else pytest.approx(same, abs=1e-9))
