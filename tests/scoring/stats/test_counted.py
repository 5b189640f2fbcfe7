"""From a number of the error rates back to the instances it counts."""

import numpy as np
import pytest

from scoring.stats.breakdowns import by_condition, by_member, without_condition
from scoring.stats.counted import counted
from scoring.stats.error_rates import UNDECIDED, Instances, Rates, error_rates
from scoring.stats.groups import Mask


@pytest.fixture
def instances() -> Instances:
    """Forty compounds; of every fourth one context more or fewer than five, and some without a verdict."""
    rng = np.random.default_rng(3)
    sizes = [5, 5, 5, 4, 5, 5, 5, 6] * 5
    unit = np.repeat([f"c{number}" for number in range(40)], sizes)
    verdict = rng.choice(np.array([1, 0, UNDECIDED], dtype=np.int8), unit.size, p=(0.75, 0.2, 0.05))
    cannot = (verdict == UNDECIDED) & (rng.random(unit.size) < 0.5)
    kind = np.repeat(["NP", "VP", None, "PP"] * 10, sizes)
    return Instances(
        unit=unit, context=np.arange(unit.size), verdict=verdict, cannot_judge=cannot, facets={"type": kind}
    )


def numbers_of(row: Rates) -> dict[str, int]:
    return {
        "instance-n": row.instance.n,
        "instance-errors": row.instance.errors,
        "aggregate-n": row.aggregate.decided.n,
        "aggregate-errors": row.aggregate.decided.errors,
        "aggregate-undecided": row.aggregate.undecided,
        "all-wrong": row.all_contexts_wrong.errors,
        "instance-undecided": row.undecided_instances,
        "cannot-judge": row.cannot_judge,
    }


def counted_numbers(instances: Instances, under: Mask | None) -> dict[str, int]:
    names = numbers_of(error_rates(instances, labels="x", resamples=100).overall)
    return {name: counted(instances, name, under=under).n for name in names}


def test_every_number_counts_what_stands_behind_it(instances: Instances) -> None:
    found = error_rates(instances, labels="x", resamples=100)

    assert counted_numbers(instances, None) == numbers_of(found.overall)
    for value, row in found.by["type"].items():
        assert counted_numbers(instances, instances.facets["type"] == value) == numbers_of(row)
    histogram = [counted(instances, f"wrong-{k}").n for k in range(6)]
    assert histogram == list(found.wrong_contexts_histogram)


def test_conditions_and_atoms_too(instances: Instances) -> None:
    seen = np.array(
        ["seen" if number % 7 else "hidden" for number in range(instances.unit.size)], dtype=object
    )
    seen[:50] = "seen"
    atoms = [{"DET any"} if unit in ("c1", "c4", "c9") else {"DET the"} for unit in instances.unit.tolist()]

    for value, row in by_condition(instances, seen, seed=0, resamples=100).items():
        assert counted_numbers(instances, seen == value) == numbers_of(row)
    seen[60:90] = None
    unknown = without_condition(instances, seen, seed=0, resamples=100)
    assert unknown is not None
    assert counted_numbers(instances, seen == None) == numbers_of(unknown)  # noqa: E711
    known = by_condition(instances, seen, seed=0, resamples=100).values()
    of_all = error_rates(instances, labels="x", resamples=100).overall
    assert sum(row.instance.n for row in (*known, unknown)) == of_all.instance.n
    assert without_condition(instances, np.full(instances.unit.size, None), resamples=100) is None
    for value, row in by_member(instances, atoms, seed=0, resamples=100).items():
        under = np.array([value in held for held in atoms])
        assert counted_numbers(instances, under) == numbers_of(row)


def test_compounds_stand_there_with_all_their_contexts(instances: Instances) -> None:
    found = counted(instances, "aggregate-errors")

    assert found.compounds
    assert found.rows.sum() == 5 * found.n


def test_it_names_the_numbers_there_are(instances: Instances) -> None:
    with pytest.raises(ValueError, match="no number nonsense; there are instance-n, "):
        counted(instances, "nonsense")
    with pytest.raises(ValueError, match="each instance stands in the row or does not"):
        counted(instances, "instance-n", under=np.array([True]))
