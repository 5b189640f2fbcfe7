"""Moves of open units: nothing torn, doubled or lost, whatever the design and whoever leaves."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.errors import ProtocolError
from annotation.protocol.moves import Moves, OpenUnit, plan_moves

PEOPLE = ["ada", "bo", "chen", "dan", "eve"]


def unit(key: str, *others: str, n_items: int = 1, barred: tuple[str, ...] = ()) -> OpenUnit:
    return OpenUnit(key, n_items, others, frozenset((*others, *barred)))


def planned(units: list[OpenUnit], takers: list[str], n: int | None = None) -> Moves:
    return plan_moves(units, giver="ada", takers=takers, loads={}, pairs={}, n=n)


@st.composite
def departures(draw: st.DrawFn) -> tuple[list[OpenUnit], list[str], int | None]:
    """Ada's open units, each judged by some of the others as well, and who may take them."""
    units = []
    for number in range(draw(st.integers(1, 40))):
        others = draw(st.lists(st.sampled_from(PEOPLE[1:]), unique=True, max_size=2))
        barred = draw(st.lists(st.sampled_from(PEOPLE[1:]), unique=True, max_size=2))
        units.append(unit(f"u{number}", *others, n_items=draw(st.sampled_from((1, 5))), barred=tuple(barred)))
    takers = draw(st.lists(st.sampled_from(PEOPLE[1:]), unique=True, min_size=1))
    return units, takers, draw(st.none() | st.integers(1, len(units)))


@given(departures())
def test_every_unit_moves_once_or_is_named_as_stuck(
    case: tuple[list[OpenUnit], list[str], int | None],
) -> None:
    units, takers, n = case
    found = planned(units, takers, n)
    named = [move.key for move in found.moves] + list(found.stuck)
    assert Counter(named) == Counter(one.key for one in (units if n is None else units[-n:]))


@given(departures())
def test_nobody_gets_a_unit_they_judge_or_were_given_before(
    case: tuple[list[OpenUnit], list[str], int | None],
) -> None:
    units, takers, n = case
    by_key = {one.key: one for one in units}
    found = planned(units, takers, n)
    assert all(move.to in takers and move.to not in by_key[move.key].barred for move in found.moves)
    assert all(by_key[key].barred >= set(takers) for key in found.stuck)


@given(departures())
def test_loads_and_pairs_are_what_the_moves_make_of_them(
    case: tuple[list[OpenUnit], list[str], int | None],
) -> None:
    units, takers, n = case
    by_key = {one.key: one for one in units}
    before = Counter({("ada", other): 100 for other in PEOPLE[1:]})
    found = plan_moves(units, giver="ada", takers=takers, loads={"ada": 1000}, pairs=before, n=n)
    moved = Counter[str]()
    shared = Counter(before)
    for move in found.moves:
        one = by_key[move.key]
        moved[move.to] += one.n_items
        for other in one.others:
            shared["ada", other] -= one.n_items
            a, b = sorted((move.to, other))
            shared[a, b] += one.n_items
    assert found.loads == {"ada": 1000 - moved.total(), **{taker: moved[taker] for taker in takers}}
    assert found.pairs == {pair: n_items for pair, n_items in shared.items() if n_items}


def test_work_is_spread_evenly() -> None:
    found = planned([unit(f"u{i}", "bo") for i in range(30)], ["chen", "dan", "eve"])
    assert {found.loads[name] for name in ("chen", "dan", "eve")} == {10}


def test_who_has_less_takes_more() -> None:
    units = [unit(f"u{i}") for i in range(10)]
    found = plan_moves(units, giver="ada", takers=["bo", "chen"], loads={"bo": 4, "ada": 10}, pairs={})
    assert found.loads == {"ada": 0, "bo": 7, "chen": 7}


def test_pairs_stay_close_where_loads_are_equal() -> None:
    """Units of Ada's with each of four others, given to these four: every pair of them shares about as many."""
    units = [unit(f"u{i}", PEOPLE[1 + i % 4]) for i in range(120)]
    found = planned(units, PEOPLE[1:])
    shared = [found.pairs.get(pair, 0) for pair in combinations(sorted(PEOPLE[1:]), 2)]
    assert sum(shared) == 120
    assert max(shared) - min(shared) <= 4


def test_of_some_the_last_to_come_up_move() -> None:
    units = [unit(f"u{i}") for i in range(10)]
    assert [move.key for move in planned(units, ["bo"], n=3).moves] == ["u7", "u8", "u9"]


def test_a_unit_that_only_one_may_take_finds_them() -> None:
    units = [unit("free"), unit("tight", barred=("bo",))]
    found = planned(units, ["bo", "chen"])
    assert {move.key: move.to for move in found.moves} == {"tight": "chen", "free": "bo"}


@pytest.mark.parametrize("takers", [[], ["bo", "ＢＯ"], ["Ada"]])
def test_it_refuses_takers_who_cannot_be(takers: list[str]) -> None:
    with pytest.raises(ProtocolError):
        planned([unit("u")], takers)


@pytest.mark.parametrize("n", [0, 2])
def test_it_refuses_more_units_than_are_open(n: int) -> None:
    with pytest.raises(ProtocolError, match="1 are open"):
        planned([unit("u")], ["bo"], n=n)


def test_the_hash_tells_moves_apart() -> None:
    units = [unit("u1"), unit("u2")]
    assert planned(units, ["bo"]).hash == planned(units, ["bo"]).hash
    assert (
        len({planned(units, ["bo"]).hash, planned(units, ["bo"], n=1).hash, planned(units, ["chen"]).hash})
        == 3
    )
