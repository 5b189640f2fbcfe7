"""Agreement over random tables of every awkward kind: one item, one category, no overlap, pairs that rotate.

`test_agreement_libraries` compares where packages are at ease; here a figure exists exactly where it should.
"""

import json
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.stats.agreement import Ratings, agreement, by_group, ratings_from_matrix

Table = npt.NDArray[np.int64]
often = settings(max_examples=25, deadline=None, derandomize=True)
Level = Literal["nominal", "ordinal", "interval"]
LEVELS: dict[str, Level] = {
    "alpha_nominal": "nominal",
    "alpha_ordinal": "ordinal",
    "alpha_interval": "interval",
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, int]:
    """Any table: down to one item, one person's column empty, one category used, nobody sharing an item."""
    q, raters = draw(st.integers(2, 4)), draw(st.integers(1, 5))
    used = draw(st.sampled_from([1, q]))
    rows = draw(
        st.lists(
            st.lists(st.integers(-1, used - 1), min_size=raters, max_size=raters), min_size=1, max_size=15
        )
    )
    return np.array(rows), q


@st.composite
def rotating(draw: st.DrawFn) -> tuple[Table, int]:
    """Four people, each item judged by two of them, parts going round as in the protocol's design."""
    q, n = draw(st.integers(2, 3)), draw(st.integers(4, 40))
    table = np.full((n, 4), -1)
    for item in range(n):
        for person in (item % 4, (item + 1) % 4):
            table[item, person] = draw(st.integers(0, q - 1))
    return table, q


def rated(table: Table, q: int, *, slots: Table | None = None) -> Ratings:
    return ratings_from_matrix(
        table,
        raters=[f"r{k}" for k in range(table.shape[1])],
        categories=[str(k) for k in range(q)],
        slots=slots,
    )


@given(tables())
@often
def test_every_figure_has_a_value_or_a_reason_and_no_nan_leaves(found: tuple[Table, int]) -> None:
    report = agreement(rated(*found), seed=1, resamples=100)
    json.dumps(report.as_json(), allow_nan=False)
    figures = [*report.coefficients.values(), *report.specific_agreement.values(), report.contrast_share]
    figures += [one for pair in report.pairs for one in pair.coefficients.values()]
    for one in figures:
        assert (one.value is None) == (one.reason is not None)
        assert (one.ci95 is None) == (one.ci95_reason is not None)
        if one.ci95 is not None and one.value is not None:
            assert one.ci95[0] <= one.value <= one.ci95[1]
            assert one.ci95[0] < one.ci95[1]


@given(st.one_of(tables(), rotating()))
@often
def test_alpha_exists_exactly_where_two_categories_meet_and_is_then_the_packages(
    found: tuple[Table, int],
) -> None:
    import krippendorff

    table, q = found
    report = agreement(rated(table, q), seed=1, intervals=False)
    common = table[(table >= 0).sum(axis=1) >= 2]
    defined = len(np.unique(common[common >= 0])) >= 2
    counts = np.stack([(table == k).sum(axis=1) for k in range(q)], axis=1)
    for name, level in LEVELS.items():
        value = report.coefficients[name].value
        assert (value is not None) == defined
        if value is not None:
            theirs = krippendorff.alpha(
                value_counts=counts, value_domain=list(range(q)), level_of_measurement=level
            )
            assert value == pytest.approx(theirs, abs=1e-9)


@given(rotating())
@often
def test_kappa_of_rotating_people_stands_per_pair_and_as_statsmodels_has_it(found: tuple[Table, int]) -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    table, q = found
    report = agreement(rated(table, q), seed=1, intervals=False)
    assert report.coefficients["cohen"].reason_code in ("different_raters", None)
    for pair, (a, b) in zip(report.pairs, combinations(range(4), 2), strict=True):
        both = table[(table[:, [a, b]] >= 0).all(axis=1)][:, [a, b]]
        assert pair.n == len(both)
        counts = np.zeros((q, q))
        np.add.at(counts, (both[:, 0], both[:, 1]), 1)
        for name, weights in (("cohen", None), ("cohen_linear", "linear"), ("cohen_quadratic", "quadratic")):
            value = pair.coefficients[name].value
            if value is None:
                assert len(np.unique(both)) < 2
            else:
                with np.errstate(all="ignore"):
                    theirs = cohens_kappa(counts, wt=weights, return_results=False)
                assert value == pytest.approx(theirs, abs=1e-9)


@given(st.one_of(tables(), rotating()))
@often
def test_specific_agreement_is_a_plain_count_of_pairs(found: tuple[Table, int]) -> None:
    table, q = found
    report = agreement(rated(table, q), seed=1, intervals=False)
    for k, category in enumerate(report.specific_agreement):
        same = other = 0
        for row in table:
            labels = [label for label in row if label >= 0]
            for a, b in combinations(labels, 2):
                same += 2 * (a == b == k)
                other += (a == k) != (b == k)
        value = report.specific_agreement[category].value
        assert value == (pytest.approx(same / (same + other), abs=1e-9) if same + other else None)


@given(rotating())
@often
def test_the_contrast_is_counted_over_slots(found: tuple[Table, int]) -> None:
    table, q = found
    slots = np.array([[item % 4, (item + 1) % 4] for item in range(len(table))])
    report = agreement(rated(table, q, slots=slots), seed=1, intervals=False)
    first, second = np.take_along_axis(table, slots, axis=1).T
    n, top = len(table), q - 1
    observed = np.mean([{a, b} == {0, top} for a, b in zip(first, second, strict=True)])
    expected = (
        (first == top).sum() * (second == 0).sum() + (first == 0).sum() * (second == top).sum()
    ) / n**2
    assert report.contrast_share.value == pytest.approx(observed)
    assert report.coefficients["contrast"].value == (
        pytest.approx(1 - observed / expected) if expected else None
    )


@given(rotating(), st.integers(1, 3))
@often
def test_a_group_is_reported_as_if_it_were_all_there_is(found: tuple[Table, int], parts: int) -> None:
    table, q = found
    groups = [item % parts for item in range(len(table))]
    for group, report in by_group(rated(table, q), groups, seed=1, intervals=False).items():
        rows = table[[own == group for own in groups]]
        alone = agreement(rated(rows, q), seed=1, intervals=False)
        values = {name: one.value for name, one in report.coefficients.items()}
        # People who judged nothing of the group are left out of it; that moves no figure.
        for name in ("raw", "alpha_nominal", "alpha_ordinal", "gwet_ac1"):
            assert values[name] == alone.coefficients[name].value
