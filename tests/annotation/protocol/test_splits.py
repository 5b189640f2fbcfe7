"""Splits: exact sizes, even cells, groups kept together, and the released rule cell by cell."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.errors import ProtocolError
from annotation.protocol.splits import SplitUnit, leakage, quotas, split
from tests.scoring.stats.released import expected, triples


def units_of(cells: Sequence[str], *, groups: Sequence[str] | None = None) -> list[SplitUnit]:
    return [
        SplitUnit(f"u{place}", (cell,), groups[place] if groups else f"u{place}")
        for place, cell in enumerate(cells)
    ]


def dev_by_cell(units: Sequence[SplitUnit], sides: dict[str, str]) -> Counter[tuple[str, ...]]:
    return Counter(unit.cell for unit in units if sides[unit.key] == "dev")


def released_units(*, group: str = "triple") -> list[SplitUnit]:
    return [
        SplitUnit(
            str(place),
            (row["class"], row["relation"], row["label"]),
            row["head"] if group == "head" else "\t".join((row["head"], row["relation"], row["tail"])),
        )
        for place, row in enumerate(triples())
    ]


def test_it_takes_a_fifth_of_every_released_cell_rounded_down() -> None:
    units = released_units()
    wanted = expected("ckbp_v2", "table1")
    released = Counter(unit.cell for unit, row in zip(units, triples(), strict=True) if row["split"] == "dev")

    dealt = split(units, rule="ckbp-released", seed=1)

    cells = Counter(unit.cell for unit in units)
    ours = dev_by_cell(units, dict(dealt.sides))
    assert len(cells) == wanted["cells"]
    assert sum(ours[cell] == released[cell] for cell in cells) == wanted["cells_where_dev_equals_floor_20pct"]
    assert dealt.n_dev == wanted["dev_size_if_floor_20pct_per_class_relation_label_cell"] == 958


@pytest.mark.parametrize("group", ["triple", "head"])
def test_it_takes_exactly_a_fifth_of_the_released_triples(group: str) -> None:
    units = released_units(group=group)

    dealt = split(units, seed=1)

    assert dealt.n_dev == dealt.wanted == 1001
    texts = [(row["head"], row["relation"], row["tail"]) for row in triples()]
    found = leakage(texts, [dealt.sides[unit.key] for unit in units])
    assert found.triples_on_both_sides == 0
    assert (found.test_units_with_head_in_dev == 0) == (group == "head")
    if group == "triple":
        wanted = quotas(Counter(unit.cell for unit in units), seed=1)
        assert dev_by_cell(units, dict(dealt.sides)) == Counter(wanted)
    of_class = Counter(unit.cell[0] for unit in units)
    in_dev = Counter(unit.cell[0] for unit in units if dealt.sides[unit.key] == "dev")
    assert all(abs(in_dev[name] - of_class[name] / 5) < 1 for name in of_class)


def test_it_reports_what_the_released_split_shares() -> None:
    texts = [(row["head"], row["relation"], row["tail"]) for row in triples()]

    found = leakage(texts, [row["split"] for row in triples()], test="tst")

    assert (found.triples_on_both_sides, found.test_units, found.test_units_with_head_in_dev) == (
        1,
        4048,
        157,
    )


def test_it_does_not_starve_dev_where_cells_are_small() -> None:
    units = units_of([f"cell {place % 30}" for place in range(90)])

    assert split(units, seed=1).n_dev == 18
    assert split(units, rule="ckbp-released", seed=1).n_dev == 0


def test_it_depends_on_the_seed_and_on_nothing_else() -> None:
    units = units_of(["a"] * 40)

    first, again, other = (
        split(given, seed=seed) for given, seed in ((units, 1), (units[::-1], 1), (units, 2))
    )

    assert dict(first.sides) == dict(again.sides)
    assert dict(first.sides) != dict(other.sides)
    assert first.as_json() == {"rule": "default", "seed": 1, "dev": 8, "test": 32, "wanted": 8}


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 12)), min_size=1, max_size=80),
    st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_it_never_tears_a_group_and_never_takes_too_many(rows: list[tuple[str, int]], seed: int) -> None:
    units = units_of([cell for cell, _group in rows], groups=[str(group) for _cell, group in rows])

    dealt = split(units, seed=seed)

    sides: dict[str, set[str]] = {}
    for unit in units:
        sides.setdefault(unit.group, set()).add(dealt.sides[unit.key])
    assert all(len(side) == 1 for side in sides.values())
    assert dealt.n_dev <= dealt.wanted == (2 * len(units) + 5) // 10
    # What is left over is less than the smallest group that stayed in test.
    waiting = Counter(unit.group for unit in units if dealt.sides[unit.key] == "test")
    assert not waiting or dealt.wanted - dealt.n_dev < min(waiting.values())


CELLS = st.tuples(
    st.sampled_from(["adv", "all_head", "cs_head", "test_set"]),
    st.sampled_from(["Causes", "xWant", "xNeed", "oReact", "isAfter"]),
    st.sampled_from("01"),
)


@given(st.dictionaries(CELLS, st.integers(1, 9), min_size=1), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_every_class_and_every_cell_has_its_fifth_within_one(
    sizes: dict[tuple[str, str, str], int], seed: int
) -> None:
    units = [
        SplitUnit(f"{cell}{number}", cell, f"{cell}{number}")
        for cell, size in sizes.items()
        for number in range(size)
    ]

    dealt = split(units, seed=seed)

    assert dealt.n_dev == (2 * len(units) + 5) // 10
    assert dict(dealt.sides) == dict(split(units[::-1], seed=seed).sides)
    found = dev_by_cell(units, dict(dealt.sides))
    assert all(abs(found[cell] - size / 5) < 1 for cell, size in sizes.items())
    for name in {cell[0] for cell in sizes}:
        of_class = sum(size for cell, size in sizes.items() if cell[0] == name)
        in_dev = sum(n for cell, n in found.items() if cell[0] == name)
        assert abs(in_dev - of_class / 5) < 1


def test_small_cells_do_not_tilt_the_classes() -> None:
    """Cells of one to three units each, as in a small campaign: no class goes short because of its name."""
    sizes = {"adv": 24, "all_head": 30, "cs_head": 22, "test_set": 25}
    units = [
        SplitUnit(f"{name}{number}", (name, f"r{number % 15}", str(number % 2)), f"{name}{number}")
        for name, size in sizes.items()
        for number in range(size)
    ]

    for seed in range(4):
        dealt = split(units, seed=seed)
        in_dev = Counter(unit.cell[0] for unit in units if dealt.sides[unit.key] == "dev")
        labels = Counter(unit.cell[2] for unit in units if dealt.sides[unit.key] == "dev")
        relations = Counter(unit.cell[1] for unit in units if dealt.sides[unit.key] == "dev")

        assert in_dev == {"adv": 5, "all_head": 6, "cs_head": 4, "test_set": 5}
        assert abs(labels["1"] - labels["0"]) <= 2
        assert {relations[f"r{number}"] for number in range(15)} <= {0, 1, 2}


def test_equal_remainders_are_drawn_by_the_seed() -> None:
    """Ten classes of two units, of which four go to dev: over the seeds every class has its turn."""
    units = units_of([name for name in "abcdefghij" for _twice in "xy"])

    taken = [
        {unit.cell[0] for unit in units if dealt.sides[unit.key] == "dev"}
        for dealt in (split(units, seed=seed) for seed in range(30))
    ]

    assert all(len(one) == 4 for one in taken)
    assert set.union(*taken) == set("abcdefghij")
    assert not set.intersection(*taken)


def test_it_says_what_it_cannot_split() -> None:
    with pytest.raises(ProtocolError, match=r"no rule “thirds”.*default, ckbp-released"):
        split(units_of(["a"]), rule="thirds", seed=1)
    with pytest.raises(ProtocolError, match="nothing to split"):
        split([], seed=1)
    with pytest.raises(ProtocolError, match="“u0” stands twice"):
        split([*units_of(["a"]), *units_of(["b"])], seed=1)
