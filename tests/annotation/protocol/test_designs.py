"""Shares of one's own and overlapping units: everybody's load, every item's experts, every pair."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.assignment import PlanUnit, plan
from annotation.protocol.designs import by_quotas
from annotation.protocol.errors import ProtocolError

FOUR = ["lin", "wei", "mei", "ada"]


def triples(n: int) -> list[PlanUnit]:
    return [PlanUnit(key=f"t{i}", n_items=1) for i in range(n)]


@st.composite
def quota_cases(draw: st.DrawFn) -> tuple[list[int], int, int]:
    k = draw(st.integers(1, 3))
    quotas = draw(st.lists(st.integers(1, 9), min_size=k, max_size=6))
    return quotas, k, draw(st.integers(0, 60))


@given(quota_cases())
def test_everybody_judges_their_share_and_nobody_a_unit_twice(case: tuple[list[int], int, int]) -> None:
    quotas, k, n_units = case
    try:
        slots = by_quotas(quotas, k, n_units)
    except ProtocolError:
        assert max(quotas) * k > sum(quotas) - len(quotas)  # somebody's share is too large, or nearly so
        return
    assert all(len(set(people)) == k for people in slots)
    loads = Counter(expert for people in slots for expert in people)
    assert len(slots) == n_units
    for expert, quota in enumerate(quotas):
        assert abs(loads[expert] - n_units * k * quota / sum(quotas)) < 1


def test_equal_shares_make_every_pair_meet_about_equally_often() -> None:
    met = Counter(tuple(sorted(people)) for people in by_quotas([1, 1, 1, 1], 2, 600))
    assert set(met) == set(combinations(range(4), 2))
    assert max(met.values()) - min(met.values()) <= 2


@pytest.mark.parametrize(
    ("quotas", "k", "said"),
    [([3, 1, 1], 2, "60 %"), ([1], 2, "at least so many"), ([1, 0], 1, "above 0")],
)
def test_it_says_which_shares_cannot_be(quotas: list[int], k: int, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        by_quotas(quotas, k, 10)


def test_units_of_the_same_experts_make_a_part() -> None:
    made = plan("quotas", experts=FOUR, units=triples(100), k=2, seed=1, quotas=[3, 3, 1, 1])
    assert dict(made.loads) == {"lin": 75, "wei": 75, "mei": 25, "ada": 25}
    assert len({part.experts for part in made.parts}) == len(made.parts)
    assert sorted(key for part in made.parts for key in part.unit_keys) == sorted(u.key for u in triples(100))
    assert (
        made.hash != plan("quotas", experts=FOUR, units=triples(100), k=2, seed=1, quotas=[1, 1, 1, 1]).hash
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"design": "quotas", "quotas": [1, 1]}, "each of the 4 experts"),
        ({"design": "quotas"}, "each of the 4 experts"),
        ({"design": "quotas", "quotas": [1] * 4, "parts": 4}, "leave their number out"),
        ({"design": "cyclic", "quotas": [1] * 4}, "use the design quotas"),
        ({"design": "cyclic", "overlap": 3}, "for the design single"),
    ],
)
def test_it_says_what_does_not_go_together(more: dict[str, object], said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        plan(**{"experts": FOUR, "units": triples(10), "k": 2, "seed": 1, **more})  # type: ignore[arg-type]


@given(n=st.integers(2, 60), seed=st.integers(0, 5), data=st.data())
def test_overlapping_units_have_two_experts_and_the_others_one(
    n: int, seed: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(1, n))
    made = plan("single", experts=FOUR, units=triples(n), k=1, seed=seed, overlap=overlap)
    experts = {key: part.experts for part in made.parts for key in part.unit_keys}
    assert len(experts) == n
    assert Counter(len(set(people)) for people in experts.values()) == Counter(
        {size: count for size, count in ((1, n - overlap), (2, overlap)) if count}
    )
    assert max(made.loads.values()) - min(made.loads.values()) <= 3


def test_a_larger_overlap_holds_the_smaller() -> None:
    def twice(overlap: int) -> set[str]:
        made = plan("single", experts=FOUR, units=triples(40), k=1, seed=2, overlap=overlap)
        return {key for part in made.parts if len(part.experts) == 2 for key in part.unit_keys}

    assert twice(5) < twice(12)


@pytest.mark.parametrize("overlap", [0, 11])
def test_it_refuses_an_overlap_that_cannot_be(overlap: int) -> None:
    with pytest.raises(ProtocolError, match="Ask for 1 to 10"):
        plan("single", experts=FOUR, units=triples(10), k=1, seed=1, overlap=overlap)
