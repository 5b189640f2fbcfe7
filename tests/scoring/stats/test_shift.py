"""The shift between two batches: paired, by person, and with an interval that covers what was planted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.stats.shift import FEW, UNDECIDED, JudgedTwice, batch_shift, shift_report

EXACT, BOOTSTRAP = "clopper-pearson-of-both-directions+student", "cluster-bootstrap+student"


def judged(before: list[int], later: list[int], **more: list[str]) -> JudgedTwice:
    n = len(before)
    return JudgedTwice(
        before=np.array(before, dtype=np.int8),
        later=np.array(later, dtype=np.int8),
        person=more.get("person", ["A1"] * n),
        unit=more.get("unit", [str(i) for i in range(n)]),
    )


def test_it_is_later_minus_before_in_points() -> None:
    found = shift_report(judged([1, 1, 1, 0, 0], [0, 0, 1, 0, 1]), seed=1).as_json()["pooled"]
    assert (found["n"], found["wrong_before"], found["wrong_later"]) == (5, 2, 3)
    assert found["difference"] == pytest.approx(20)


def test_who_could_not_judge_counts_for_nothing() -> None:
    found = shift_report(judged([1, UNDECIDED, 0], [0, 0, UNDECIDED]), seed=1).pooled
    assert (found.n, found.difference) == (1, 1.0)


def test_nothing_judged_twice_is_none_with_a_reason() -> None:
    found = shift_report(judged([UNDECIDED], [1]), seed=1).pooled.as_json()
    assert (found["difference"], found["ci95"]) == (None, None)
    assert found["reason"] == found["ci95_reason"] == "nothing was judged both times"


def test_each_person_stands_apart() -> None:
    twice = judged([1, 1, 0, 0], [0, 1, 1, 0], person=["A2", "A2", "A1", "A1"])
    found = shift_report(twice, seed=1)
    assert list(found.by_person) == ["A2", "A1"]
    assert [one.difference for one in found.by_person.values()] == [0.5, -0.5]
    assert found.pooled.difference == 0


def test_where_nothing_moved_the_interval_has_width() -> None:
    found = batch_shift(np.ones(40, np.int8), np.ones(40, np.int8), np.arange(40), seed=1)
    assert found.method == EXACT
    assert found.interval is not None
    assert found.interval[0] == -found.interval[1] < 0


def test_the_same_seed_gives_the_same_interval() -> None:
    twice = judged([1] * 40 + [0] * 10, [0] * 15 + [1] * 35)
    one, same, other = (shift_report(twice, seed=seed).pooled for seed in (1, 1, 2))
    assert one == same
    assert one.method == other.method == BOOTSTRAP


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="the same length"):
        judged([1, 1], [1, 1], unit=["a"])


VERDICTS = st.lists(
    st.tuples(st.sampled_from([0, 1, -1]), st.sampled_from([0, 1, -1]), st.integers(0, 12)),
    min_size=1,
    max_size=60,
)


@given(VERDICTS)
def test_turning_time_round_turns_the_shift_round(rows: list[tuple[int, int, int]]) -> None:
    before, later, units = (np.array(column) for column in zip(*rows, strict=True))
    there = batch_shift(before.astype(np.int8), later.astype(np.int8), units, seed=3)
    back = batch_shift(later.astype(np.int8), before.astype(np.int8), units, seed=3)
    assert (there.n, there.before, there.later) == (back.n, back.later, back.before)
    if there.difference is not None and there.interval is not None and back.interval is not None:
        assert there.difference == -back.difference  # type: ignore[operator]
        assert there.interval[0] <= there.difference <= there.interval[1]
        assert -1 <= there.interval[0] <= there.interval[1] <= 1
        if there.method != BOOTSTRAP:
            assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]))


@pytest.mark.parametrize(
    ("units", "size", "planted"), [(30, 1, 0.1), (15, 5, 0.05), (36, 5, 0.2), (80, 5, 0.0), (200, 1, 0.1)]
)
def test_a_planted_shift_is_covered(units: int, size: int, planted: float) -> None:
    """Contexts of a compound move together: some compounds are open to the shift more than others."""
    rng = np.random.default_rng(20)
    rounds, covered = 200, 0
    for _round in range(rounds):
        prone = np.where(rng.random((units, 1)) < 0.5, 1.6, 0.4)
        before = (rng.random((units, size)) > 0.25).astype(np.int8)
        later = before.copy()
        later[(before == 1) & (rng.random(before.shape) < planted * prone)] = 0
        later[(before == 0) & (rng.random(before.shape) < 0.05)] = 1
        found = batch_shift(
            before.ravel(), later.ravel(), np.repeat(np.arange(units), size), seed=1, resamples=400
        )
        assert found.interval is not None
        covered += found.interval[0] <= 0.75 * planted - 0.25 * 0.05 <= found.interval[1]
    assert covered / rounds >= 0.91  # 95 % less three standard errors


@pytest.mark.parametrize("moved", [0, 1, 12])
@pytest.mark.parametrize("compounds", [1, 2, 4])
def test_hardly_any_compounds_tell_hardly_anything(compounds: int, moved: int) -> None:
    """One answer of twelve that changed made it twelve times narrower than none had."""
    later = np.ones(12 * compounds, np.int8)
    later[:moved] = 0
    found = batch_shift(
        np.ones(later.size, np.int8), later, np.repeat(np.arange(compounds), 12), seed=1, resamples=200
    )
    assert found.interval is not None
    assert found.interval[1] - found.interval[0] > 1


@pytest.mark.parametrize(
    ("units", "size", "planted"), [(2, 12, 0.1), (5, 5, 0.25), (8, 12, 0.25), (20, 12, 0.25)]
)
def test_a_shift_is_covered_where_few_compounds_came_again(units: int, size: int, planted: float) -> None:
    """All was called right before. By the part that moved as observed alone, 58 to 93 % were covered."""
    rng = np.random.default_rng(21)
    rounds, covered = 300, 0
    for _round in range(rounds):
        later = (rng.random(units * size) >= planted).astype(np.int8)
        found = batch_shift(
            np.ones(later.size, np.int8), later, np.repeat(np.arange(units), size), seed=1, resamples=200
        )
        assert found.interval is not None
        covered += found.interval[0] <= planted <= found.interval[1]
    assert covered / rounds >= 0.91  # 95 % less three standard errors


def test_few_are_few() -> None:
    """From so many compounds that moved on the bootstrap is used."""
    later = np.ones(40, np.int8)
    later[:FEW] = 0
    assert batch_shift(np.ones(40, np.int8), later, np.arange(40), seed=1).method == BOOTSTRAP
    later[0] = 1
    assert batch_shift(np.ones(40, np.int8), later, np.arange(40), seed=1).method == EXACT
