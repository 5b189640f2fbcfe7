"""Agreement of experts: every coefficient with its interval, its n, and a reason where it is undefined.

    ratings = ratings_from_long(items, raters, labels, categories=("0", "0.5", "1"), scale=(0, 0.5, 1))
    report = agreement(ratings, seed=7)

Three views of the same labels, because the figures differ in what they are about:

- *pooled*: an item is how many people gave each category (raw agreement, Fleiss, alpha, AC1, AC2, specific agreement);
- *slots*: an item is its first and second expert (contrast share and coefficient);
- *people*: an item is two named people (Cohen's kappas). Over all items these exist only where the same two people
  judged all common items; otherwise they are given per pair, and as a mean over pairs that is called so.

A common item is one with two labels or more. Blanks and "cannot judge" are missing, never a category.

Items that look alike (the same labels by the same people in the same slots) are one row with its number of copies from
the start: figures and intervals are functions of these numbers, and a million items cost little more than a hundred.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from scoring.stats.agreement_figures import CONTRAST_PRIOR, Figures, Setting, figures
from scoring.stats.agreement_groups import Groups, groups_of
from scoring.stats.agreement_input import ratings_from_long, ratings_from_matrix
from scoring.stats.agreement_report import (
    NAMES,
    VERSION,
    AgreementReport,
    Coefficient,
    Pair,
    PairMean,
    undefined,
)
from scoring.stats.agreement_table import ExcludedPair, Ratings, one_column_per_person, one_row_per_kind
from scoring.stats.coefficients import Distance
from scoring.stats.intervals import FEWEST_RESAMPLES, SMALL_SAMPLE
from scoring.stats.kinds import kinds_of_rows

__all__ = [
    "AgreementReport",
    "Coefficient",
    "ExcludedPair",
    "Groups",
    "Pair",
    "PairMean",
    "Ratings",
    "agreement",
    "by_group",
    "ratings_from_long",
    "ratings_from_matrix",
]


def agreement(
    ratings: Ratings,
    *,
    seed: int,
    resamples: int = 1000,
    intervals: bool = True,
    ac2_weights: Distance = "quadratic",
) -> AgreementReport:
    """Every agreement figure of these ratings.

    Args:
        ratings: who gave which category to which item.
        seed: of the intervals. The same seed gives the same result, whatever the order of items.
        resamples: draws per interval, 100 or more.
        intervals: False for figures that are descriptive only (agreement after a resolution).
        ac2_weights: "quadratic" (default) or "linear"; named in the signature.

    Returns:
        The report; `as_json()` writes it out. Shares lie in 0…1; kappas, alphas and AC1 in −1…1, and so do
        the ends of their intervals, since a resample is a table as well. The contrast coefficient has no lower end, and
        AC2 can fall below −1 by its weights: where they or their intervals do, they carry a warning.

    Raises:
        ValueError: fewer than 100 resamples.

    How to read it: raw agreement and the label distribution first, then a chance-corrected figure with its interval.
    Weights and the interval metric use the declared values of the scale, the ordinal metric its declared order.
    Intervals resample items, or clusters where given: percentile bootstrap from 1,000 of them, weighted draws with a
    small prior below that and wherever nothing disagrees (see `intervals`). They are conditional on these people.

    >>> ratings = ratings_from_matrix([[1, 1], [1, 0], [0, 0], [1, 1]], raters=("a", "b"), categories=("0", "1"))
    >>> report = agreement(ratings, seed=1)
    >>> report.coefficients["raw"].value, report.coefficients["cohen"].value
    (0.75, 0.5)
    """
    if intervals and resamples < FEWEST_RESAMPLES:
        raise ValueError(f"A 95 % interval needs at least {FEWEST_RESAMPLES} resamples, not {resamples}.")
    kinds, _ = one_row_per_kind(ratings)
    people, excluded = one_column_per_person(kinds)
    setting = Setting(
        scale=ratings.scale, seed=seed, resamples=resamples, intervals=intervals, ac2_weights=ac2_weights
    )
    overall = figures(people, setting)
    return AgreementReport(
        n_items=people.n_judged,
        n_judgements=people.n_judgements,
        raters=people.raters,
        distribution={
            name: people.how_many((people.table == k).sum(axis=1)) for k, name in enumerate(people.categories)
        },
        coefficients=overall.coefficients,
        contrast_share=overall.contrast_share,
        mean_over_pairs=overall.mean_over_pairs,
        pairs=_pairs(people, overall, setting),
        specific_agreement=overall.specific,
        excluded=tuple(excluded),
        signature=_signature(people, setting),
    )


def by_group(
    ratings: Ratings,
    groups: Sequence[Hashable] | Groups,
    *,
    seed: int,
    resamples: int = 1000,
    intervals: bool = True,
    ac2_weights: Distance = "quadratic",
) -> dict[Hashable, AgreementReport]:
    """The same report for each group of items (part, relation, type), people who judged none of it left out.

    Args:
        ratings, seed, resamples, intervals, ac2_weights: as in `agreement`.
        groups: group of each item, in the order of `ratings.items`; one by one, or numbered.

    Returns:
        One report per group that holds an item, in order of first appearance, or of the numbers. A mean of them is
        not a pooled figure.

    >>> ratings = ratings_from_matrix([[1, 1], [0, 0], [1, 0]], raters=("a", "b"), categories=("0", "1"))
    >>> reports = by_group(ratings, ["part 1", "part 1", "part 2"], seed=1)
    >>> {group: report.coefficients["raw"].value for group, report in reports.items()}
    {'part 1': 1.0, 'part 2': 0.0}
    """
    numbered = groups if isinstance(groups, Groups) else groups_of(groups)
    if len(numbered.numbers) != len(ratings.items):
        raise ValueError(
            f"There are {len(numbered.numbers)} groups for {len(ratings.items)} items: give one per item."
        )
    return {
        numbered.names[number]: agreement(
            members, seed=seed, resamples=resamples, intervals=intervals, ac2_weights=ac2_weights
        )
        for number, members in _members(ratings, numbered).items()
    }


def _members(ratings: Ratings, groups: Groups) -> dict[int, Ratings]:
    """The ratings of each group by its number; counted, where kinds of items tell it all."""
    if ratings.is_clustered or ratings.copies is not None:
        occurring = np.unique(groups.numbers).tolist()
        return {number: ratings.subset(groups.numbers == number) for number in occurring}
    kinds, row_of = one_row_per_kind(ratings)
    held = kinds_of_rows([groups.numbers, row_of], [len(groups.names), len(kinds.items)], rows=len(row_of))
    number, row, copies = groups.numbers[held.first], row_of[held.first], np.bincount(held.of_row)
    return {
        one: _with_copies(kinds, row[number == one], copies[number == one])
        for one in np.unique(number).tolist()
    }


def _with_copies(kinds: Ratings, rows: NDArray[np.int64], copies: NDArray[np.int64]) -> Ratings:
    of_group = np.zeros(len(kinds.items), dtype=np.int64)
    of_group[rows] = copies
    return replace(kinds, copies=of_group).subset(of_group > 0)


def _pairs(people: Ratings, overall: Figures, setting: Setting) -> tuple[Pair, ...]:
    pairs = []
    for a, b in combinations(range(len(people.raters)), 2):
        common = people.pair(a, b)
        n = common.n_judged
        if n == 0:
            coefficients = dict.fromkeys(NAMES, undefined("no_common_items", 0))
        elif len(people.raters) == 2:
            # The pair is the whole: the two must not differ by the luck of resampling.
            coefficients = overall.coefficients
        else:
            coefficients = figures(common, setting).coefficients
        pairs.append(Pair(a=people.raters[a], b=people.raters[b], n=n, coefficients=coefficients))
    return tuple(pairs)


def _signature(people: Ratings, setting: Setting) -> str:
    scale = ",".join(
        f"{name}={value:g}" for name, value in zip(people.categories, setting.scale, strict=True)
    )
    parts = {
        "agreement": "+".join(NAMES),
        "version": VERSION,
        "items": people.n_judged,
        "judgements": people.n_judgements,
        "raters": len(people.raters),
        "scale": scale,
        "ac2": setting.ac2_weights,
        "units": "clusters" if people.is_clustered else "items",
    }
    if setting.intervals:
        parts |= {
            "intervals": f"bootstrap,dirichlet<{SMALL_SAMPLE}units",
            "prior": f"contrast:{CONTRAST_PRIOR:g},other:{setting.prior:g}",
            "seed": setting.seed,
            "resamples": setting.resamples,
        }
    return "|".join(f"{name}:{value}" for name, value in parts.items())
