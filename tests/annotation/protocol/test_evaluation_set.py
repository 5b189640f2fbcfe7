"""Sampling a pool, choosing candidates, and what is said of both."""

import csv
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.candidates import (
    DROPPED,
    Candidates,
    CandidateWish,
    Filter,
    FilterKind,
    choose_candidates,
)
from annotation.protocol.errors import ProtocolError
from annotation.protocol.evaluation_set import (
    PoolTriple,
    SampleWish,
    draw_sample,
    score_bands,
    triple_id_of,
)
from annotation.protocol.triple import GENERAL_RELATIONS
from tests.shared import shared


def pool(n: int, **more: Any) -> list[PoolTriple]:
    """Distinct triples of three relations, 4 : 2 : 1."""
    names = ("xWant", "xWant", "xWant", "xWant", "xNeed", "xNeed", "Causes")
    return [
        PoolTriple(
            line=at + 2, head=f"PersonX reads {at}", relation=names[at % 7], tail=f"to end {at}", **more
        )
        for at in range(n)
    ]


def scored(n: int, *, low: float = 0.9, words: int = 9) -> list[PoolTriple]:
    """Candidates with scores up from `low`; many share their words."""
    return [
        PoolTriple(
            line=at + 2,
            head=f"PersonY takes {at % words} of{at % words}",
            relation="xWant",
            tail=f"keep{at % words} in {at}",
            score=low + (1 - low) * at / n,
        )
        for at in range(n)
    ]


# The sample


def test_the_proportions_of_the_relations_are_kept() -> None:
    found = draw_sample(pool(700), SampleWish(n=70), seed=1)
    assert Counter(one.relation for one in found.triples) == {"xWant": 40, "xNeed": 20, "Causes": 10}
    assert [(one.name, one.available, one.drawn) for one in found.strata] == [
        ("Causes", 100, 10), ("xNeed", 200, 20), ("xWant", 400, 40),
    ]  # fmt: skip


def test_a_minimum_gives_every_relation_its_items() -> None:
    rows = [*pool(700), PoolTriple(line=999, head="a", relation="xReason", tail="b")]
    without = draw_sample(rows, SampleWish(n=70), seed=1)
    assert "xReason" not in {one.relation for one in without.triples}
    found = draw_sample(rows, SampleWish(n=70, minimum=1), seed=1)
    assert len(found.triples) == 70
    assert Counter(one.relation for one in found.triples)["xReason"] == 1


def test_a_triple_is_drawn_once_however_often_and_however_it_is_written() -> None:
    again = [PoolTriple(line=900 + one.line, head=f" {one.head}\u200b", relation=one.relation, tail=one.tail,
                        label="0") for one in pool(10, label="1")]  # fmt: skip
    found = draw_sample([*pool(20, label="1"), *again], SampleWish(n=20), seed=1)
    assert (found.rows, found.repeats, found.contradicting) == (30, 10, 10)
    assert max(one.line for one in found.triples) < 900
    assert len({one.identity for one in found.triples}) == 20


def test_what_is_left_out_is_counted_by_relation_zero_too() -> None:
    general = [PoolTriple(line=at, head=f"h{at}", relation="general Want", tail="t") for at in range(3)]
    found = draw_sample([*pool(14), *general], SampleWish(n=14), seed=1)
    assert found.left_out == {"general Effect": 0, "general Want": 3, "general React": 0}
    assert tuple(found.left_out) == GENERAL_RELATIONS


@given(st.permutations(pool(21)), st.integers(0, 2**31 - 1))
def test_the_order_of_the_pool_does_not_move_what_is_drawn(rows: list[PoolTriple], seed: int) -> None:
    drawn = {one.identity for one in draw_sample(pool(21), SampleWish(n=9), seed=seed).triples}
    assert {one.identity for one in draw_sample(rows, SampleWish(n=9), seed=seed).triples} == drawn


def test_more_than_there_is_is_refused_with_what_there_is() -> None:
    with pytest.raises(ProtocolError, match="A sample of 15 cannot be drawn from 14 units"):
        draw_sample(pool(14), SampleWish(n=15), seed=1)
    with pytest.raises(ProtocolError, match="nothing to draw from"):
        draw_sample(pool(4), SampleWish(n=1, leave_out=("xWant",)), seed=1)


def test_of_the_real_pool_every_share_is_kept_within_one_item() -> None:
    with shared("data/ckbp/ckbp1_evaluation_set.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            PoolTriple(line=line, head=row["head"], relation=row["relation"], tail=row["tail"], label=row["label"])
            for line, row in enumerate(csv.DictReader(file), start=2)
        ]  # fmt: skip
    found = draw_sample(rows, SampleWish(n=2498), seed=7)
    assert found.rows == 31_731
    assert len({triple_id_of(one.head, one.relation, one.tail) for one in rows}) == 31_196
    assert len(found.triples) == len({one.identity for one in found.triples}) == 2498
    available = sum(one.available for one in found.strata)
    assert available + found.repeats + sum(found.left_out.values()) == 31_731
    for stratum in found.strata:
        assert abs(stratum.drawn - Fraction(2498 * stratum.available, available)) < 1
    assert min(found.left_out.values()) > 0
    assert draw_sample(rows, SampleWish(n=2498), seed=7) == found
    assert draw_sample(rows, SampleWish(n=2498), seed=8).triples != found.triples


# The candidates


def choose(rows: list[PoolTriple], n: int, kind: FilterKind = "none", **more: Any) -> Candidates:
    seed = more.pop("seed", 1)
    known = {name: more.pop(name) for name in ("in_set", "training") if name in more}
    threshold, above = more.pop("threshold", 0.9), more.pop("above", False)
    wish = CandidateWish(n=n, threshold=threshold, above=above, filter=Filter(kind=kind, **more))
    return choose_candidates(rows, wish, **known, seed=seed)


def test_a_score_at_the_threshold_is_enough_unless_it_must_be_above() -> None:
    rows = scored(10, low=0.8)
    assert min(one.score or 0 for one in choose(rows, 5, threshold=0.9).triples) == pytest.approx(0.9)
    with pytest.raises(
        ProtocolError,
        match=r"5 candidates were asked for; 4 are left\. Rows that do not count – score too low: 6",
    ):
        choose(rows, 5, threshold=rows[5].score, above=True)


def test_nothing_of_the_sample_or_of_training_data_is_chosen_and_every_row_is_accounted_for() -> None:
    rows = scored(40)
    general = PoolTriple(line=99, head="h", relation="general Want", tail="t", score=1.0)
    low = PoolTriple(line=100, head="h", relation="xWant", tail="t", score=0.1)
    found = choose(
        [*rows, rows[39], general, low],
        20,
        "self-bleu",
        in_set={one.identity for one in rows[:5]},
        training={one.identity for one in rows[5:8]},
    )
    assert len(found.triples) == len({one.identity for one in found.triples}) == 20
    assert not {one.identity for one in found.triples} & {one.identity for one in rows[:8]}
    assert found.dropped == {
        "left_out": 1, "score": 1, "repeat": 1, "in_set": 5, "in_training": 3, "filter": 12, "not_drawn": 0,
    }  # fmt: skip
    assert sum(found.dropped.values()) + len(found.triples) == found.rows == 43


def test_a_row_counts_under_the_first_reason_in_the_order_that_is_shown() -> None:
    """Each row stands there twice and holds one reason fewer than the one before it."""
    rows = scored(30)
    in_set: set[str] = set()
    training: set[str] = set()
    for at, (relation, score, held) in enumerate(
        [("general Want", 0.1, "st"), ("xWant", 0.1, "st"), ("xWant", 0.95, "st"), ("xWant", 0.95, "t"),
         ("xWant", 0.95, "")]
    ):  # fmt: skip
        row = PoolTriple(line=100 + at, head=f"twice {at}", relation=relation, tail="t", score=score)
        rows += [row, replace(row, line=200 + at)]
        in_set |= {row.identity} if "s" in held else set()
        training |= {row.identity} if "t" in held else set()
    found = choose(rows, 30, in_set=in_set, training=training)
    expected = [("left_out", 2), ("score", 2), ("in_set", 2), ("in_training", 2), ("repeat", 1)]
    assert list(found.dropped.items())[:5] == expected
    assert list(found.dropped) == list(DROPPED)


def test_too_few_are_refused_with_every_reason_that_holds_and_no_other() -> None:
    general = [
        PoolTriple(line=at, head=f"h{at}", relation="general Want", tail="t", score=1.0) for at in (90, 91)
    ]
    with pytest.raises(ProtocolError) as caught:
        choose([*scored(1), *scored(1), *general], 2)
    assert str(caught.value.message) == (
        "2 candidates were asked for; 1 is left. Rows that do not count – of a relation that is left out: 2; "
        "the same triple again: 1."
    )


def test_of_a_repeated_candidate_the_highest_score_counts() -> None:
    low, high = (PoolTriple(line=line, head="a", relation="xWant", tail="b", score=score)
                 for line, score in ((2, 0.91), (3, 0.99)))  # fmt: skip
    for rows in ([low, high], [high, low]):
        found = choose(rows, 1)
        assert found.triples[0].score == 0.99
        assert found.dropped["repeat"] == 1


@pytest.mark.parametrize("kind", ["self-bleu", "soft-uniqueness", "g-daug"])
def test_a_filter_makes_what_is_left_more_diverse_than_chance_does(kind: FilterKind) -> None:
    copies = [
        PoolTriple(line=1000 + at, head="PersonX eats the bread", relation="xWant", tail=f"to eat more bread {at}",
                   score=0.95) for at in range(60)
    ]  # fmt: skip
    various = [
        PoolTriple(line=at, head=f"a{at} b{at} c{at}", relation="xWant", tail=f"d{at} e{at}", score=0.95)
        for at in range(60)
    ]
    found = choose(copies + various, 40, kind)
    assert found.after.self_bleu < found.by_chance.self_bleu < 1
    assert found.after.distinct_pairs > found.by_chance.distinct_pairs
    assert found.after.n == found.by_chance.n <= found.before.n == 120
    assert found.dropped["filter"] == 120 - found.after.n > 0
    assert sum(one.line < 1000 for one in found.triples) >= 39


def test_g_daug_keeps_to_a_size_and_by_label() -> None:
    rows = [
        PoolTriple(line=at, head=f"w{at}", relation="xWant", tail="t", score=0.95, label="01"[at % 4 == 0])
        for at in range(40)
    ]
    found = choose(rows, 20, "g-daug", threshold=0.8, above=True)
    assert Counter(one.label for one in found.triples) == {"0": 15, "1": 5}
    assert (found.after.n, found.dropped["not_drawn"]) == (20, 0)
    wider = choose(rows, 20, "g-daug", keep=30)
    assert (wider.after.n, wider.dropped["not_drawn"]) == (30, 10)


@pytest.mark.parametrize("kind", ["self-bleu", "soft-uniqueness", "g-daug", "none"])
def test_the_same_seed_chooses_the_same_whatever_the_order(kind: FilterKind) -> None:
    rows = scored(60, words=60)
    chosen = {one.identity for one in choose(rows, 6, kind, seed=5).triples}
    assert {one.identity for one in choose(rows[::-1], 6, kind, seed=5).triples} == chosen
    assert {one.identity for one in choose(rows, 6, kind, seed=6).triples} != chosen


def test_too_few_are_refused_with_the_reasons() -> None:
    rows = scored(10)
    with pytest.raises(ProtocolError, match="11 candidates were asked for; 10 are left"):
        choose(rows, 11)
    with pytest.raises(ProtocolError, match="At least 1 candidate"):
        choose(rows, 0)
    with pytest.raises(ProtocolError, match="The filter can keep 5 to 10 candidates; 3 were asked for"):
        choose(rows, 5, "self-bleu", keep=3)
    alike = [PoolTriple(line=at, head="a b c d e f", relation="xWant", tail=f"g {at}", score=0.95)
             for at in range(10)]  # fmt: skip
    with pytest.raises(ProtocolError, match="of 10 pass the filter"):
        choose(alike, 5, "soft-uniqueness")


# Bands


@given(st.lists(st.floats(0.9, 1.0), max_size=30))
def test_every_score_lies_in_its_band(scores: list[float]) -> None:
    bands = score_bands(scores, low=0.9, high=1.0)
    assert (bands[0].low, bands[-1].high) == (0.9, 1.0)
    assert len(bands) == 10
    assert sum(band.n for band in bands) == len(scores)


def test_bands_have_widths_that_people_read_easily() -> None:
    assert [(one.low, one.high) for one in score_bands([], low=0.8, high=1.0)][:2] == [
        (0.8, 0.82),
        (0.82, 0.84),
    ]
    assert [(one.low, one.high, one.n) for one in score_bands([5.0, 5.0], low=5.0, high=5.0)] == [
        (5.0, 5.0, 2)
    ]
    assert len(score_bands([3.0], low=-7.0, high=13.0)) == 10
