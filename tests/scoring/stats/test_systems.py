"""Systems side by side: matched by keys, whatever order and however incomplete each system's rows are."""

import numpy as np
import pytest

from scoring.stats.error_rates import CORRECT, UNDECIDED, WRONG, Instances
from scoring.stats.systems import JudgedSystem, differing, heat_map, system_table


def judged(rows: list[tuple[str, int, int]]) -> Instances:
    """Instances from (compound, context, verdict)."""
    return Instances(
        unit=np.array([row[0] for row in rows], dtype=object),
        context=np.array([row[1] for row in rows]),
        verdict=np.array([row[2] for row in rows], dtype=np.int8),
        cannot_judge=np.zeros(len(rows), dtype=np.bool_),
    )


A = judged([("dog", 1, WRONG), ("dog", 2, CORRECT), ("cat", 3, CORRECT)])
B = judged(
    [("cat", 3, WRONG), ("owl", 4, UNDECIDED), ("dog", 1, WRONG)]
)  # another order, one more, one fewer


def test_it_matches_rows_by_compound_and_context() -> None:
    table = system_table([JudgedSystem(name="a", runs=(A,)), JudgedSystem(name="b", runs=(B,))])
    assert table.units == ("dog", "cat", "owl")
    keys = [(table.units[unit], context) for unit, context in zip(table.unit, table.context, strict=True)]
    assert dict(zip(keys, table.verdict.tolist(), strict=True)) == {
        ("dog", 1): [WRONG, WRONG],
        ("dog", 2): [CORRECT, UNDECIDED],
        ("cat", 3): [CORRECT, WRONG],
        ("owl", 4): [UNDECIDED, UNDECIDED],
    }


def test_it_names_the_instances_two_systems_differ_on() -> None:
    table = system_table([JudgedSystem(name="a", runs=(A,)), JudgedSystem(name="b", runs=(B,))])
    assert differing(table, 0, 1) == [("cat", 3)]


def test_it_shows_the_hardest_compounds_first_and_the_unjudged_last() -> None:
    table = system_table([JudgedSystem(name="a", runs=(A,)), JudgedSystem(name="b", runs=(B,))])
    assert heat_map(table).as_json() == {
        "systems": ["a", "b"],
        "rows": [
            {"compound": "dog", "percent": [50.0, 100.0]},
            {"compound": "cat", "percent": [0.0, 100.0]},
            {"compound": "owl", "percent": [None, None]},
        ],
    }


def test_it_pools_the_runs_of_a_system_in_the_heat_map() -> None:
    again = judged([("dog", 1, CORRECT), ("dog", 2, CORRECT)])
    table = system_table([JudgedSystem(name="a", runs=(A, again))])
    assert heat_map(table).share[:, 0].tolist() == [0.25, 0.0]


def test_it_refuses_two_systems_of_one_name_and_a_system_without_runs() -> None:
    with pytest.raises(ValueError, match="one name"):
        system_table([JudgedSystem(name="a", runs=(A,)), JudgedSystem(name="a", runs=(B,))])
    with pytest.raises(ValueError, match="no run"):
        JudgedSystem(name="a", runs=())
