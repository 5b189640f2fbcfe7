"""Error rates by atom and by conditions of judging, against plain counts."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.stats.breakdowns import binned, by_condition, by_member, natural_order, quantile_edges
from scoring.stats.error_rates import UNDECIDED, WRONG, Instances, error_rates
from tests.scoring.stats.released import analysis, expected, judged_instances, judged_outputs

quickly = settings(max_examples=25, deadline=None, derandomize=True)
ROWS = st.lists(
    st.lists(
        st.tuples(st.integers(-1, 1), st.sampled_from(["seen", "hidden", None])), min_size=5, max_size=5
    ),
    min_size=1,
    max_size=8,
)


def instances(verdicts: list[list[int]]) -> Instances:
    flat = np.array([verdict for unit in verdicts for verdict in unit], dtype=np.int8)
    return Instances(
        unit=np.repeat([f"c{number}" for number in range(len(verdicts))], [len(unit) for unit in verdicts]),
        context=np.arange(flat.size),
        verdict=flat,
        cannot_judge=np.zeros(flat.size, dtype=np.bool_),
    )


@given(ROWS)
@quickly
def test_it_counts_by_condition_as_a_plain_loop_does(rows: list[list[tuple[int, str | None]]]) -> None:
    table = instances([[verdict for verdict, _ in unit] for unit in rows])
    values = np.array([condition for unit in rows for _, condition in unit], dtype=object)
    found = by_condition(table, values, resamples=100)
    assert set(found) == {str(value) for value in values if value}
    for condition, rates in found.items():
        here = [
            verdict for unit in rows for verdict, own in unit if own == condition and verdict != UNDECIDED
        ]
        whole = [[verdict for verdict, _ in unit] for unit in rows if {own for _, own in unit} == {condition}]
        complete = [unit for unit in whole if UNDECIDED not in unit]
        assert (rates.instance.n, rates.instance.errors) == (len(here), here.count(WRONG))
        assert rates.aggregate.decided.n == len(complete)
        assert rates.aggregate.decided.errors == sum(WRONG in unit for unit in complete)
        assert rates.aggregate.undecided == len(whole) - len(complete)
        assert rates.all_contexts_wrong.errors == sum(set(unit) == {WRONG} for unit in complete)


def test_it_takes_contexts_of_one_compound_as_hanging_together_under_a_condition() -> None:
    rng = np.random.default_rng(1)
    verdicts = np.repeat(rng.integers(0, 2, 80), 5)
    table = instances(verdicts.reshape(-1, 5).tolist())
    share = by_condition(table, np.full(400, "all", dtype=object))["all"].instance
    assert share == error_rates(table, labels="x").overall.instance
    assert share.method == "cluster-bootstrap"


def test_it_puts_a_compound_in_the_row_of_each_of_its_atoms() -> None:
    outputs = judged_outputs("NP")
    members = [{f"{atom.kind} {atom.text}" for atom in analysis(output.compound).atoms} for output in outputs]
    found = by_member(judged_instances("NP"), members, resamples=100)
    wrong: dict[str, int] = defaultdict(int)
    judged: dict[str, int] = defaultdict(int)
    failed: dict[str, dict[str, bool]] = defaultdict(dict)
    for output, atoms in zip(outputs, members, strict=True):
        for atom in atoms:
            judged[atom] += 1
            wrong[atom] += not output.correct
            failed[atom][output.compound] = failed[atom].get(output.compound, False) or not output.correct
    assert set(found) == set(judged)
    for atom, rates in found.items():
        assert (rates.instance.n, rates.instance.errors) == (judged[atom], wrong[atom])
        assert rates.aggregate.decided.n == len(failed[atom])
        assert rates.aggregate.decided.errors == sum(failed[atom].values())
    determiners = [rates.instance.n for atom, rates in found.items() if atom.startswith("DET ")]
    assert sum(determiners) == expected("cognition", "by_type", "NP", "instances")


def test_it_refuses_members_and_values_that_do_not_fit() -> None:
    table = instances([[1, 1]])
    with pytest.raises(ValueError, match="differ between its contexts"):
        by_member(table, [{"a"}, {"b"}])
    with pytest.raises(ValueError, match="each instance"):
        by_member(table, [{"a"}])
    with pytest.raises(ValueError, match="each instance"):
        by_condition(table, np.array(["a"], dtype=object))


@given(st.lists(st.one_of(st.none(), st.integers(0, 60)), max_size=30))
@quickly
def test_it_bins_each_value_where_its_name_says(values: list[int | None]) -> None:
    for value, name in zip(values, binned(values, [5, 10, 11, 40]).tolist(), strict=True):
        if value is None or value < 5:
            assert name is None
        elif value >= 40:
            assert name == "40+"
        else:
            low, _, high = str(name).partition("-")
            assert int(low) <= value <= int(high or low)


def test_it_orders_bins_by_number_and_names_their_unit() -> None:
    names = binned([1, 12, 30], [1, 9, 20], unit=" characters").tolist()
    assert names == ["1-8 characters", "9-19 characters", "20+ characters"]
    assert natural_order(set(names)) == names
    with pytest.raises(ValueError, match="rise"):
        binned([1], [2, 2])


def test_it_cuts_values_into_bins_of_about_one_size() -> None:
    values = np.random.default_rng(1).integers(1, 300, 1000).tolist()
    sizes = np.unique(binned(values, quantile_edges(values, 4)).astype(str), return_counts=True)[1]
    assert len(sizes) == 4
    assert sizes.min() > 220
    assert quantile_edges([3, 3, 3], 4) == [3.0]
    with pytest.raises(ValueError, match="at least one"):
        quantile_edges([None], 2)
