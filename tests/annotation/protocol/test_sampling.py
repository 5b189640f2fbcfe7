"""Samples in strata: exact in number, fair between strata, drawn by nothing but the seed and the keys."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sampling import allocation, stratified_sample

SIZES = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=3), st.integers(1, 40), min_size=1, max_size=12
)


@st.composite
def askings(draw: st.DrawFn) -> tuple[dict[str, int], int, int]:
    """Strata, a minimum, and a number that can be had with it."""
    sizes = draw(SIZES)
    minimum = draw(st.integers(0, 4))
    least = max(1, sum(min(minimum, size) for size in sizes.values()))
    return sizes, draw(st.integers(least, sum(sizes.values()))), minimum


def units(sizes: dict[str, int]) -> tuple[list[str], list[str]]:
    rows = [(f"{name}-{i}", name) for name, size in sizes.items() for i in range(size)]
    return [key for key, _name in rows], [name for _key, name in rows]


@given(askings())
def test_it_gives_exactly_as_many_as_were_asked_for(asking: tuple[dict[str, int], int, int]) -> None:
    sizes, n, minimum = asking
    found = allocation(sizes, n, minimum=minimum)
    assert sum(found.values()) == n
    for name, size in sizes.items():
        assert min(minimum, size) <= found[name] <= size


@given(askings())
def test_who_gets_more_than_the_minimum_gets_its_share_within_one(
    asking: tuple[dict[str, int], int, int],
) -> None:
    sizes, n, _minimum = asking
    found = allocation(sizes, n)
    for name, size in sizes.items():
        assert abs(found[name] - Fraction(n * size, sum(sizes.values()))) < 1


@given(askings())
def test_a_larger_stratum_never_gets_fewer(asking: tuple[dict[str, int], int, int]) -> None:
    sizes, n, minimum = asking
    found = allocation(sizes, n, minimum=minimum)
    by_size = sorted(sizes, key=lambda name: sizes[name])
    for smaller, larger in pairwise(by_size):
        assert sizes[smaller] == sizes[larger] or found[smaller] <= found[larger]


@given(askings(), st.integers(0, 2**31 - 1), st.randoms())
def test_the_order_of_the_units_does_not_move_what_is_drawn(
    asking: tuple[dict[str, int], int, int], seed: int, chance: object
) -> None:
    sizes, n, minimum = asking
    keys, strata = units(sizes)
    rows = list(zip(keys, strata, strict=True))
    drawn = stratified_sample(keys, strata, n, minimum=minimum, seed=seed)
    chance.shuffle(rows)  # type: ignore[attr-defined]
    again = stratified_sample(
        [key for key, _name in rows], [name for _key, name in rows], n, minimum=minimum, seed=seed
    )
    assert set(again.keys) == set(drawn.keys)
    assert [key for key in keys if key in set(drawn.keys)] == list(drawn.keys)
    of = Counter(dict(rows)[key] for key in drawn.keys)
    assert {one.name: one.drawn for one in drawn.strata} == {name: of[name] for name in sizes}
    assert {one.name: one.available for one in drawn.strata} == sizes
    assert drawn.available == len(keys)


def test_sixty_triples_hold_every_relation() -> None:
    sizes = {"xWant": 1000, "xNeed": 800, "HinderedBy": 3, "oReact": 1}
    found = allocation(sizes, 60, minimum=1)
    assert found == {"xWant": 32, "xNeed": 26, "HinderedBy": 1, "oReact": 1}


def test_another_seed_draws_others_and_every_unit_is_drawn_about_as_often() -> None:
    keys, strata = units({"a": 10})
    times = Counter(key for seed in range(2000) for key in stratified_sample(keys, strata, 3, seed=seed).keys)
    # 600 expected of each, standard deviation 20.5
    assert all(500 < times[key] < 700 for key in keys)


@pytest.mark.parametrize(
    ("n", "minimum", "said"),
    [
        (9, 0, "A sample of 9 cannot be drawn from 8 units: ask for 1 to 8."),
        (0, 0, "A sample holds 1 unit or more; 0 were asked for."),
        (1, 1, "A sample of 1 is too small for 1 of each of the 2 strata: ask for 2 to 8."),
        (3, -1, "A stratum cannot give fewer than none: ask for a minimum of 0 or more."),
    ],
)
def test_it_says_what_would_work(n: int, minimum: int, said: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        allocation({"a": 5, "b": 3}, n, minimum=minimum)
    assert refused.value.message == said


def test_it_refuses_a_key_that_stands_twice_and_nothing_at_all() -> None:
    with pytest.raises(ProtocolError, match="“t1” is listed twice"):
        stratified_sample(["t1", "t1"], ["a", "b"], 1, seed=1)
    with pytest.raises(ProtocolError, match="nothing to draw from"):
        stratified_sample([], [], 1, seed=1)
