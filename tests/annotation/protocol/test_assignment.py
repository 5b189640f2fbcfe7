"""Designs: who judges what, planned by seed."""

import csv
import hashlib
import json
from collections import Counter
from itertools import combinations, groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.assignment import Plan, PlanUnit, plan
from annotation.protocol.designs import DESIGNS
from annotation.protocol.errors import ProtocolError
from annotation.protocol.orders import context_order, run_order, unit_order
from tests.shared import shared

FOUR = ["lin", "wei", "mei", "ada"]


def triples(n: int) -> list[PlanUnit]:
    return [PlanUnit(key=f"t{i}", n_items=1) for i in range(n)]


def experts_by_unit(made: Plan) -> dict[str, tuple[str, ...]]:
    return {key: part.experts for part in made.parts for key in part.unit_keys}


def test_it_deals_the_published_design_of_four_experts() -> None:
    made = plan("cyclic", experts=FOUR, units=triples(5006), k=2, seed=7)
    # Expert i judges parts i and i + 1 (mod 4); part p is judged by experts p and p − 1, in this order.
    assert [part.experts for part in made.parts] == [(FOUR[p], FOUR[p - 1]) for p in range(4)]
    assert [part.n_items for part in made.parts] == [1252, 1252, 1251, 1251]
    assert made.loads == {"lin": 2504, "wei": 2503, "mei": 2502, "ada": 2503}
    meeting = {(FOUR.index(pair.a), FOUR.index(pair.b)): pair.n_items for pair in made.pairs}
    assert meeting == {(0, 1): 1252, (0, 3): 1252, (1, 2): 1251, (2, 3): 1251}


def test_it_lets_every_pair_meet_in_the_design_of_pairs() -> None:
    made = plan("pairs", experts=FOUR, units=triples(5006), k=2, seed=7)
    assert [(pair.a, pair.b) for pair in made.pairs] == list(combinations(FOUR, 2))
    assert sorted(pair.n_items for pair in made.pairs) == [834, 834, 834, 834, 835, 835]
    first_slots = Counter(part.experts[0] for part in made.parts)
    assert set(first_slots.values()) == {1, 2}  # of three parts each: nobody is always, or never, first


def test_it_keeps_compounds_whole() -> None:
    with shared("cases/c19_seven_compounds.csv").open(encoding="utf-8", newline="") as file:
        counts = Counter(row["compound"] for row in csv.DictReader(file))
    units = [PlanUnit(key, n) for key, n in counts.items()]
    made = plan("cyclic", experts=["a", "b", "c"], units=units, k=1, seed=3)
    assert [len(part.unit_keys) for part in made.parts] == [3, 2, 2]
    assert [part.n_items for part in made.parts] == [15, 10, 10]
    assert sorted(experts_by_unit(made)) == sorted(counts)
    assert plan("cyclic", experts=["a", "b", "c"], units=units, k=1, seed=3) == made
    single = plan("single", experts=["a"], units=units, k=1, seed=3, parts=3)
    assert [part.unit_keys for part in single.parts] == [part.unit_keys for part in made.parts]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    n_experts = draw(st.integers(1, 6))
    design = draw(st.sampled_from(tuple(DESIGNS) if n_experts > 1 else ("cyclic", "single")))
    k = {"single": 1, "pairs": 2}.get(design) or draw(st.integers(1, n_experts))
    parts = draw(st.sampled_from([None, n_experts, 3 * n_experts])) if design != "pairs" else None
    sizes = draw(st.lists(st.integers(1, 9), max_size=40))
    units = [PlanUnit(f"u{i}", n) for i, n in enumerate(sizes)]
    seed = draw(st.integers(0, 2**31))
    return plan(design, experts=[f"e{i}" for i in range(n_experts)], units=units, k=k, seed=seed, parts=parts)


@given(plans())
@settings(max_examples=200, deadline=None)
def test_it_gives_each_unit_to_exactly_k_different_experts(made: Plan) -> None:
    keys = [key for part in made.parts for key in part.unit_keys]
    assert len(keys) == len(set(keys))
    assert all(len(set(people)) == len(people) == made.k for people in experts_by_unit(made).values())
    sizes = [len(part.unit_keys) for part in made.parts]
    assert max(sizes) - min(sizes) <= 1


@given(plans())
@settings(max_examples=200, deadline=None)
def test_it_counts_loads_and_pairs_as_they_are(made: Plan) -> None:
    loads: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for part in made.parts:
        for expert in part.experts:
            loads[expert] += part.n_items
        for a, b in combinations(sorted(part.experts), 2):
            pairs[a, b] += part.n_items
    assert dict(loads) == {expert: n for expert, n in made.loads.items() if expert in loads}
    assert {(pair.a, pair.b): pair.n_items for pair in made.pairs} == dict(pairs)
    assert sum(made.loads.values()) == made.k * sum(part.n_items for part in made.parts)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 3), st.integers(0, 5))
@settings(deadline=None)
def test_it_predicts_the_pairs_of_a_cyclic_design(n: int, k: int, rounds: int, per_part: int) -> None:
    k = min(k, n)
    units = triples(n * rounds * per_part)
    made = plan("cyclic", experts=[f"e{i}" for i in range(n)], units=units, k=k, seed=1, parts=n * rounds)
    # Experts d apart on the circle share the parts in which both have a slot: k − d from either side.
    for pair in made.pairs:
        d = (int(pair.b[1:]) - int(pair.a[1:])) % n
        assert pair.n_items == rounds * per_part * (max(0, k - d) + max(0, k - (n - d)))
    assert set(made.loads.values()) == {rounds * per_part * k}


def test_it_does_the_same_whenever_and_wherever_it_is_run() -> None:
    made = plan("cyclic", experts=["Ada", "林"], units=triples(8), k=2, seed=42)
    # sha256sum of '["part",42,"t0"]' and so on, in a shell: t0 t7 t6 t3 | t1 t4 t2 t5 from the lowest up.
    assert [part.unit_keys for part in made.parts] == [("t0", "t3", "t6", "t7"), ("t1", "t2", "t4", "t5")]
    canonical = (
        '{"design":{"k":2,"name":"cyclic","parts":2},"experts":["Ada","林"],"seed":42,'
        '"units":["t0","t1","t2","t3","t4","t5","t6","t7"]}'
    )
    assert made.hash == hashlib.sha256(canonical.encode()).hexdigest()


def test_it_changes_its_hash_with_everything_that_makes_the_plan() -> None:
    def hash_of(
        design: str = "cyclic", seed: int = 1, n: int = 6, k: int = 1, parts: int = 4, who: str = "ab"
    ) -> str:
        return plan(design, experts=list(who), units=triples(n), k=k, seed=seed, parts=parts).hash

    hashes = [hash_of(), hash_of("single"), hash_of(seed=2), hash_of(n=7), hash_of(k=2), hash_of(parts=2)]
    hashes += [hash_of(who="ba"), hash_of(who="Ab")]
    assert len(set(hashes)) == len(hashes)
    assert hash_of() == hashes[0]


def test_it_moves_units_with_the_seed() -> None:
    dealt = {plan("cyclic", experts=FOUR, units=triples(40), k=2, seed=seed).parts for seed in range(20)}
    assert len(dealt) == 20


def test_it_deals_units_without_regard_to_their_order_in_the_file() -> None:
    """A campaign sorted by class must not put one class into one part."""
    made = plan("cyclic", experts=FOUR, units=triples(4000), k=2, seed=5)
    first_half = [sum(int(key[1:]) < 2000 for key in part.unit_keys) for part in made.parts]
    assert all(430 < n < 570 for n in first_half)  # 500 ± 3.9 standard deviations (15.8 … 18) of the draw


def test_it_prints_what_the_command_prints() -> None:
    made = plan("cyclic", experts=["a", "b"], units=[PlanUnit("x", 5), PlanUnit("y", 10)], k=2, seed=0)
    printed = json.loads(json.dumps(made.as_json()))
    assert list(printed) == ["design", "seed", "parts", "loads", "pairs", "hash"]
    assert (printed["design"], printed["seed"]) == ("cyclic", 0)
    assert [(part["index"], part["n_units"], part["experts"]) for part in printed["parts"]] == [
        (0, 1, ["a", "b"]),
        (1, 1, ["b", "a"]),
    ]
    assert sorted(part["n_items"] for part in printed["parts"]) == [5, 10]
    assert printed["loads"] == {"a": 15, "b": 15}
    assert printed["pairs"] == [{"a": "a", "b": "b", "n_items": 15}]
    assert len(printed["hash"]) == 64


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["Lin", "lin"], ["“Lin”", "“lin”"]),
        (["wei", "mei", "wei"], ["“wei” is named twice"]),
        (["ＭＥＩ", "mei"], ["“ＭＥＩ”", "“mei”"]),
        (["café", "CAFE\u0301"], ["“café”", "“CAFE\u0301”"]),
        (["lin ", "lin"], ["“lin ”", "“lin”"]),
        (["lin\u200b", "lin"], ["“lin”"]),
        (["straße", "STRASSE"], ["“straße”", "“STRASSE”"]),
    ],
)
def test_it_refuses_one_person_under_two_spellings(names: list[str], said: list[str]) -> None:
    with pytest.raises(ProtocolError) as refusal:
        plan("cyclic", experts=names, units=triples(4), k=1, seed=0)
    assert all(words in refusal.value.message for words in said)


@pytest.mark.parametrize(
    ("design", "n_experts", "k", "parts", "advice"),
    [
        ("latin", 2, 2, None, "designs are cyclic, pairs, single"),
        ("cyclic", 1, 2, None, "1 named: name at least 2.$"),
        ("cyclic", 2, 0, None, "K = 0 does not fit the 2 named"),
        ("cyclic", 4, 2, 6, "ask for 4 or 8 parts"),
        ("cyclic", 4, 2, 3, "ask for 4 parts"),
        ("cyclic", 4, 2, 0, "ask for 4 parts"),
        ("cyclic", 4, 2, -4, "ask for 4 parts"),
        ("pairs", 4, 3, None, "use the design cyclic"),
        ("pairs", 4, 1, None, "use the design cyclic"),
        ("pairs", 1, 2, None, "at least two experts"),
        ("pairs", 4, 2, 4, "6 parts for 4 experts, not 4"),
        ("single", 2, 2, None, "use cyclic or pairs"),
        ("single", 3, 1, 2, "ask for 3 parts or more"),
        ("cyclic", 0, 1, None, "at least one expert"),
    ],
)
def test_it_says_what_would_work_instead(
    design: str, n_experts: int, k: int, parts: int | None, advice: str
) -> None:
    with pytest.raises(ProtocolError, match=advice):
        plan(design, experts=FOUR[:n_experts], units=triples(9), k=k, seed=0, parts=parts)


def test_it_refuses_an_empty_name_and_a_unit_listed_twice() -> None:
    with pytest.raises(ProtocolError, match="empty"):
        plan("cyclic", experts=["lin", " "], units=triples(4), k=1, seed=0)
    with pytest.raises(ProtocolError, match="“t1” is listed twice"):
        plan("cyclic", experts=["lin"], units=[*triples(2), PlanUnit("t1", 1)], k=1, seed=0)


def test_it_plans_fewer_units_than_parts_and_none_at_all() -> None:
    made = plan("cyclic", experts=FOUR, units=triples(1), k=2, seed=0)
    assert sorted(len(part.unit_keys) for part in made.parts) == [0, 0, 0, 1]
    assert plan("cyclic", experts=FOUR, units=[], k=2, seed=0).loads == dict.fromkeys(FOUR, 0)


def test_it_orders_screens_differently_for_each_expert_seed_and_round() -> None:
    keys = [f"u{i}" for i in range(50)]
    orders = [unit_order(keys, seed=seed, expert=who) for seed in (1, 2) for who in ("lin", "wei")]
    orders.append(unit_order(keys, seed=1, expert="lin", round_number=2))
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert len({tuple(order) for order in orders}) == len(orders)
    assert unit_order(keys, seed=1, expert="lin") == orders[0]


@given(st.permutations([f"单元 {i}" for i in range(12)]), st.integers(0, 12))
@settings(deadline=None)
def test_it_keeps_the_order_of_screens_when_units_are_added(keys: list[str], n: int) -> None:
    before = [keys[i] for i in unit_order(keys[:n], seed=3, expert="lin")]
    after = [keys[i] for i in unit_order(keys, seed=3, expert="lin")]
    assert [key for key in after if key in before] == before


def test_it_orders_contexts_on_each_screen_anew() -> None:
    orders = [tuple(context_order(5, seed=1, expert="lin", unit_key=f"u{i}")) for i in range(600)]
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)
    assert len(set(orders)) > 100  # of 120 possible
    top = Counter(order[0] for order in orders)
    assert all(80 < top[context] < 160 for context in range(5))  # 120 ± 4 standard deviations (9.8)
    assert context_order(0, seed=1, expert="lin", unit_key="u1") == []
    assert context_order(5, seed=1, expert="wei", unit_key="u1") != list(orders[1])


def test_it_puts_triples_in_runs_of_about_twenty_of_one_relation() -> None:
    relations = ["xWant"] * 47 + ["oWant"] * 13 + ["xNeed"] * 20
    shuffled = unit_order([f"t{i}" for i in range(80)], seed=3, expert="lin")
    order = run_order(relations, shuffled, length=20, seed=3, expert="lin")
    assert sorted(order) == list(range(80))
    runs = [len(list(run)) for _relation, run in groupby(relations[i] for i in order)]
    assert sum(runs) == 80
    assert min(runs) >= 13
    assert max(runs) <= 47
    assert order != run_order(relations, shuffled, length=20, seed=3, expert="mei")
