"""Judgements as the agreement tests need them: small tables, and the case files beside the project."""

from collections.abc import Sequence

import numpy.typing as npt

from scoring.stats.agreement import (
    AgreementReport,
    Ratings,
    agreement,
    ratings_from_long,
    ratings_from_matrix,
)
from tests.scoring.stats.released import table

BINARY = ("incorrect", "correct")
LIKERT = ("0", "0.5", "1")


def two_people(rows: npt.ArrayLike, *, categories: Sequence[str] = LIKERT) -> Ratings:
    return ratings_from_matrix(rows, raters=("a", "b"), categories=categories, scale=even(categories))


def even(categories: Sequence[str]) -> list[float]:
    """Equal steps from 0 to 1."""
    return [k / (len(categories) - 1) for k in range(len(categories))]


def case(name: str, *, categories: Sequence[str], saved: str | None = None) -> Ratings:
    """A case file in long form: item_id, annotator, label."""
    rows = table(f"cases/{name}.csv")
    return ratings_from_long(
        [row["item_id"] for row in rows],
        [row["annotator"] for row in rows],
        [row["label"] for row in rows],
        categories=categories,
        saved=None if saved is None else [int(row[saved]) for row in rows],
    )


def values(ratings: Ratings) -> dict[str, float | None]:
    """Every coefficient, without intervals."""
    return {
        name: found.value for name, found in agreement(ratings, seed=1, intervals=False).coefficients.items()
    }


def value(ratings: Ratings, name: str) -> float:
    found = values(ratings)[name]
    assert found is not None
    return found


def pair_of(report: AgreementReport, a: str, b: str) -> dict[str, tuple[float | None, int, str | None]]:
    """Value, n and reason of each coefficient of two people."""
    (pair,) = [one for one in report.pairs if {one.a, one.b} == {a, b}]
    return {name: (found.value, found.n, found.reason) for name, found in pair.coefficients.items()}
