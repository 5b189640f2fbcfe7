"""The error of carrying verdicts over: planted rates come out, and what is not known is not a number."""

import numpy as np
import pytest

from scoring.stats.carry_over import carry_over_report, difference_interval
from scoring.stats.proportions import share_of_units
from scoring.stats.shift import JudgedTwice


def twice(
    before: list[int], later: list[int], *, person: list[str] | None = None, per_unit: int = 1
) -> JudgedTwice:
    return JudgedTwice(
        before=np.array(before, dtype=np.int8),
        later=np.array(later, dtype=np.int8),
        person=person or ["A1"] * len(before),
        unit=[row // per_unit for row in range(len(before))],
    )


NOTHING = twice([], [])


def test_it_counts_both_directions_and_leaves_out_what_nobody_could_judge() -> None:
    found = carry_over_report(
        twice([1, 1, 1, 0, 0, -1, 1], [1, 0, 0, 1, 0, 1, -1]), twice([1, 1, 0, 0], [1, 1, 0, 1]), seed=1
    ).pooled

    assert (found.differs.n, found.differs.errors) == (5, 3)
    assert (found.only_own_wrong, found.only_source_wrong) == (2, 1)
    assert found.shift.difference == pytest.approx(0.2)  # 3 of 5 wrong against 2 of 5
    assert (found.repeats.n, found.repeats.errors) == (4, 1)
    assert found.excess == pytest.approx(3 / 5 - 1 / 4)
    assert found.interval is not None
    assert found.interval[0] <= 3 / 5 - 1 / 4 <= found.interval[1]


def test_repeats_of_other_experts_do_not_count() -> None:
    checked = twice([1, 1], [1, 0], person=["A1", "A1"])
    repeats = twice([1, 1, 1], [0, 0, 1], person=["A2", "A2", "A1"])

    found = carry_over_report(checked, repeats, seed=1).pooled

    assert (found.repeats.n, found.repeats.errors) == (1, 0)


def test_each_expert_stands_apart() -> None:
    checked = twice([1, 1, 1, 1], [0, 1, 1, 1], person=["A1", "A2", "A2", "A1"])
    repeats = twice([1, 1], [1, 0], person=["A1", "A2"])

    found = carry_over_report(checked, repeats, seed=1).by_person

    assert {name: (one.differs.errors, one.repeats.errors) for name, one in found.items()} == {
        "A1": (1, 0),
        "A2": (0, 1),
    }


def test_without_repeats_there_is_no_excess_and_a_reason() -> None:
    document = carry_over_report(twice([1, 1], [1, 0]), NOTHING, seed=1).as_json()["pooled"]

    assert document["differs"]["percent"] == 50
    assert (document["excess"], document["ci95"]) == (None, None)
    assert document["reason"] == document["ci95_reason"] == "these experts were given nothing again"


def test_with_nothing_judged_anyway_there_is_nothing_and_a_reason() -> None:
    document = carry_over_report(NOTHING, twice([1], [1]), seed=1).as_json()

    assert document["pooled"]["differs"]["percent"] is None
    assert document["pooled"]["reason"] == "nothing that was judged anyway has a verdict of both"
    assert document["by_person"] == {}


def test_an_interval_never_has_width_zero_and_stays_in_its_bounds() -> None:
    for own in ([1] * 20, [0] * 20):
        found = carry_over_report(twice([1] * 20, own), twice([1] * 20, [1] * 20), seed=1).pooled
        assert found.interval is not None
        low, high = found.interval
        assert -1 <= low < high <= 1


@pytest.mark.parametrize(
    ("one", "other", "bounds"),
    # Newcombe (1998), table II, method 10
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
    ],
)
def test_the_difference_of_two_shares_is_newcombes(
    one: tuple[int, int], other: tuple[int, int], bounds: tuple[float, float]
) -> None:
    shares = [share_of_units(*counts, nothing="") for counts in (one, other)]
    if other[0] == 0:  # this one is exact here, Newcombe's is Wilson's
        low, high = difference_interval(*shares)
        assert low < 5 / 56 < high
        return
    assert difference_interval(*shares) == pytest.approx(bounds, abs=5e-5)


def test_whole_compounds_are_drawn() -> None:
    """Five contexts that fail together are one piece of news, not five."""
    rng = np.random.default_rng(3)
    fails = np.repeat(rng.random(60) < 0.2, 5)
    own = [int(not fail) for fail in fails]
    wide = carry_over_report(twice([1] * 300, own, per_unit=5), NOTHING, seed=1).pooled.differs.interval
    narrow = carry_over_report(twice([1] * 300, own), NOTHING, seed=1).pooled.differs.interval
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > 1.7 * (narrow[1] - narrow[0])


@pytest.mark.parametrize("excess", [0.0, 0.1])
def test_it_covers_the_true_excess(excess: float) -> None:
    """150 compounds judged anyway with one to three contexts, 100 repeats; experts waver on 6 %."""
    rng = np.random.default_rng(11)
    covered = 0
    for seed in range(200):
        sizes = rng.integers(1, 4, 150)
        hard = np.repeat(rng.beta(1, 1 / (0.06 + excess) - 1, 150), sizes)  # compounds differ
        own = (rng.random(hard.size) >= hard).astype(np.int8)
        checked = JudgedTwice(
            before=np.ones(hard.size, dtype=np.int8),
            later=own,
            person=["A1"] * hard.size,
            unit=np.repeat(np.arange(150), sizes).tolist(),
        )
        again = (rng.random(100) >= 0.06).astype(np.int8)
        repeats = JudgedTwice(
            before=np.ones(100, dtype=np.int8), later=again, person=["A1"] * 100, unit=list(range(100))
        )
        found = carry_over_report(checked, repeats, seed=seed, resamples=300).pooled.interval
        assert found is not None
        covered += found[0] <= excess <= found[1]
    assert covered >= 182  # 91 %, three standard errors below 95
