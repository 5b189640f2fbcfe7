"""Self-consistency, and groups of judgements, against scikit-learn, statsmodels and plain counts."""

import numpy as np
import pytest

from scoring.stats.agreement import by_group, ratings_from_long
from scoring.stats.agreement_groups import (
    MIXED,
    Groups,
    groups_of,
    groups_of_numbers,
    month_name,
    shared_groups,
    thirds,
)
from scoring.stats.consistency import Repeats, self_consistency, shift

SCALE = {"categories": ("0", "0.5", "1"), "scale": (0.0, 0.5, 1.0)}


def repeats(n: int = 120) -> Repeats:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 3, n)
    again = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), first)
    again[::17] = -1
    return Repeats(
        item=[number // 2 for number in range(n)],
        person=["A1" if number % 2 else "A2" for number in range(n)],
        first=first,
        again=again,
        cluster=[number // 10 for number in range(n)],
    )


def test_it_is_agreement_between_the_first_and_the_second_time() -> None:
    from sklearn.metrics import cohen_kappa_score

    told = repeats()
    found = self_consistency(told, **SCALE, seed=1, resamples=200)  # type: ignore[arg-type]
    for name, report in {"": found.overall, **found.by_person}.items():
        rows = (told.again >= 0) & np.array([not name or person == name for person in told.person])
        first, again = told.first[rows], told.again[rows]
        raw, kappa = report.coefficients["raw"], report.coefficients["cohen_quadratic"]
        assert raw.n == rows.sum()
        assert raw.value == pytest.approx((first == again).mean())
        assert kappa.value == pytest.approx(
            cohen_kappa_score(first, again, labels=[0, 1, 2], weights="quadratic")
        )
    assert "units:clusters" in found.overall.signature
    assert list(found.as_json()["by_person"]) == ["A2", "A1"]


def test_it_takes_an_item_repeated_by_several_people_as_one_unit() -> None:
    told = repeats()
    alone = Repeats(item=told.item, person=told.person, first=told.first, again=told.again)
    found = self_consistency(alone, **SCALE, seed=1, resamples=200)  # type: ignore[arg-type]
    assert "units:clusters" in found.overall.signature
    assert "units:items" in found.by_person["A1"].signature


def test_its_shift_is_statsmodels_exact_mcnemar() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    rng = np.random.default_rng(2)
    first, again = rng.integers(0, 2, 80), rng.integers(0, 2, 80)
    table = [[((first == a) & (again == b)).sum() for b in (0, 1)] for a in (0, 1)]
    found = shift(first, again)
    assert (found.up, found.down) == (table[0][1], table[1][0])
    assert found.p == pytest.approx(float(mcnemar(table, exact=True).pvalue))
    # Agresti and Min (2005), equation of the "Wald + 2" interval, by hand.
    up, down, n = found.up, found.down, 80
    centre = (up - down) / (n + 2)
    half = 1.959964 * np.sqrt((up + down + 1) - (up - down) ** 2 / (n + 2)) / (n + 2)
    assert found.interval == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_it_says_when_nothing_moved_or_nothing_was_repeated() -> None:
    one = np.array([1])
    assert (shift(one, one).reason, shift(one, one).difference) == ("nothing moved", 0.0)
    assert shift(one, -one).as_json()["reason"] == "nothing was judged both times"


def test_it_refuses_a_third_judgement() -> None:
    one = np.array([1, 1])
    with pytest.raises(ValueError, match="stands twice"):
        Repeats(item=["a", "a"], person=["A1", "A1"], first=one, again=one)
    with pytest.raises(ValueError, match="same length"):
        Repeats(item=["a"], person=["A1", "A1"], first=one, again=one)


def test_agreement_by_guideline_version_takes_items_of_two_versions_apart() -> None:
    items = ["a", "a", "b", "b", "c", "c"]
    ratings = ratings_from_long(items, ["x", "y"] * 3, ["1", "1", "0", "1", "1", "1"], categories=("0", "1"))
    versions = groups_of(["v1", "v1", "v2", "v2", "v1", "v2"])
    groups = shared_groups(versions, np.array([0, 0, 1, 1, 2, 2]), n_items=3)
    reports = by_group(ratings, groups, seed=1, resamples=100)
    assert {group: report.coefficients["raw"].value for group, report in reports.items()} == {
        "v1": 1.0, "v2": 0.0, MIXED: 1.0,
    }  # fmt: skip
    with pytest.raises(ValueError, match="its item"):
        shared_groups(versions, np.array([0]), n_items=3)


def test_an_item_without_a_label_belongs_to_no_version() -> None:
    groups = shared_groups(groups_of(["v1", "v2"]), np.array([2, 0]), n_items=3)
    assert [groups.names[number] for number in groups.numbers] == ["v2", "", "v1"]


def test_groups_are_numbered_by_what_there_is() -> None:
    assert groups_of_numbers(np.array([24315, 24314]), month_name).names == ["2026-03", "2026-04"]
    assert groups_of_numbers(np.array([], dtype=np.int64), str).names == []
    with pytest.raises(ValueError, match="from 0 to 0"):
        Groups(np.array([0, 1]), ["v1"])


def test_thirds_of_time_hold_a_third_each() -> None:
    found = thirds(np.arange(90)[::-1])
    assert [found.names[number] for number in found.numbers] == ["late"] * 30 + ["middle"] * 30 + [
        "early"
    ] * 30
    assert thirds(np.empty(0, dtype=np.int64)).numbers.size == 0
    assert set(thirds(np.full(5, 7)).numbers.tolist()) == {0}
