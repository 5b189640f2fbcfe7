"""Label rules, by name and version."""

import csv
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.protocol.labels import (
    REASONS,
    RULES,
    Outcome,
    check_rule,
    default_rule,
    final_label,
    get_rule,
)
from tests.shared import shared

COMPOUND, TRIPLE = get_protocol("compound"), get_protocol("triple")
VOTE = st.sampled_from(["1", "0.5", "0", None])
VERDICT = st.sampled_from(["1", "0", None])


def outcome(rule: str, votes: list[str | None], k: int) -> tuple[str | None, str | None]:
    result = final_label(rule, votes, k=k)
    assert (result.rule, result.version) == (rule, get_rule(rule).version)
    return result.label, result.reason


def test_it_labels_the_nine_ordered_pairs_of_the_case_file_alike_from_both_sides() -> None:
    with shared("cases/c42_likert_nine_pairs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    votes = [(TRIPLE.parse_label(row["label_a"]), TRIPLE.parse_label(row["label_b"])) for row in rows]
    labels = {pair: final_label("ckbp2", pair, k=2).label for pair in votes}
    assert len(labels) == 9
    assert {pair for pair, label in labels.items() if label == "1"} == {
        ("1", "1"),
        ("1", "0.5"),
        ("0.5", "1"),
    }
    assert all(labels[a, b] == labels[b, a] for a, b in labels)


@pytest.mark.parametrize("pair", list(product(["1", "0.5", "0"], repeat=2)))
def test_it_calls_a_pair_plausible_iff_one_is_1_and_the_other_at_least_a_half(pair: tuple[str, str]) -> None:
    low, high = sorted(float(vote) for vote in pair)
    expected = "1" if high == 1 and low >= 0.5 else "0"
    assert final_label("ckbp2", pair, k=2) == Outcome(expected, None, "ckbp2", "1")


def test_it_gives_the_released_labels_back_from_the_released_votes() -> None:
    """144 pairs are still {1, 0} and were released as implausible."""
    files = [shared(f"data/ckbp/{name}.csv") for name in ("human1", "human2", "ckbp2.0")]
    columns = [list(csv.DictReader(path.open(encoding="utf-8", newline=""))) for path in files]
    contrasts = 0
    for first, second, item in zip(*columns, strict=True):
        ones = [first["label1"], second["label2"]].count("1")
        if ones == 1:
            other = "0.5" if item["label"] == "1" else "0"
            contrasts += other == "0"
            assert final_label("ckbp2", ["1", other], k=2).label == item["label"]
        else:
            assert final_label("ckbp2", ["1", "1"] if ones else ["0", "0"], k=2).label == item["label"]
    assert contrasts == 144  # reference/expected.json, experts.pairs


@pytest.mark.parametrize(
    ("votes", "k", "expected"),
    [
        (["1"], 1, ("1", None)),
        (["0"], 1, ("0", None)),
        ([None], 1, (None, "cannot_judge")),
        ([], 1, (None, "incomplete")),
        (["1", "1"], 2, ("1", None)),
        (["1", "0"], 2, (None, "tie")),
        (["1", None], 2, (None, "cannot_judge")),
        (["1"], 2, (None, "incomplete")),
        (["1", "1", "0"], 3, ("1", None)),
        (["1", None, "1"], 3, ("1", None)),  # two of three say so, whatever the third
        (["1", None, "0"], 3, (None, "cannot_judge")),
        (["1", None, None], 3, (None, "cannot_judge")),
        (["1", "1"], 3, (None, "incomplete")),  # even where the third could change nothing
        (["1", "1", "0", "0"], 4, (None, "tie")),
        (["1", "1", "0", None], 4, (None, "cannot_judge")),  # half is not more than half
        (["1", "1", "1", None], 4, ("1", None)),
        (["0.5", "0", "1"], 3, ("0", None)),  # of a triple: two do not find it plausible
    ],
)
def test_it_takes_the_strict_majority_of_k(
    votes: list[str | None], k: int, expected: tuple[str | None, str | None]
) -> None:
    assert outcome("majority", votes, k) == expected


@pytest.mark.parametrize(
    ("votes", "k", "expected"),
    [
        (["1"], 1, ("1", None)),
        (["0", "0", "0"], 3, ("0", None)),
        (["0", "0.5"], 2, ("0", None)),
        (["1", "1", "0"], 3, (None, "tie")),
        (["1", "1", None], 3, (None, "cannot_judge")),
        (["1", "0", None], 3, (None, "tie")),  # the third could not have made them agree
        ([None, None], 2, (None, "cannot_judge")),
        (["1", "1"], 3, (None, "incomplete")),
    ],
)
def test_it_takes_a_unanimous_answer(
    votes: list[str | None], k: int, expected: tuple[str | None, str | None]
) -> None:
    assert outcome("unanimous", votes, k) == expected


def test_it_needs_two_scores_for_the_rule_of_ckbp2() -> None:
    assert outcome("ckbp2", ["0", None], 2) == (None, "cannot_judge")
    assert outcome("ckbp2", ["1"], 2) == (None, "incomplete")
    for k in (1, 3):
        with pytest.raises(ProtocolError, match=f"exactly 2 scores per item, and here K = {k}"):
            final_label("ckbp2", ["1"], k=k)


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
@given(votes=st.lists(VOTE, max_size=7), k=st.integers(1, 7))
@settings(deadline=None)
def test_it_gives_a_label_or_a_reason_whatever_the_order_of_slots(
    rule: str, votes: list[str | None], k: int
) -> None:
    k = get_rule(rule).only_k or k
    votes = votes[:k]
    result = final_label(rule, votes, k=k)
    assert (result.label is None) == (result.reason in REASONS)
    assert result.label in (None, "0", "1")
    assert final_label(rule, votes[::-1], k=k) == result
    assert (result.reason == "incomplete") == (len(votes) < k)


@given(votes=st.lists(VERDICT, min_size=1, max_size=7))
@settings(deadline=None)
def test_it_blames_a_cannot_judge_only_where_an_answer_could_have_given_a_label(
    votes: list[str | None],
) -> None:
    for rule in ("majority", "unanimous"):
        result = final_label(rule, votes, k=len(votes))
        options = [("0", "1") if vote is None else (vote,) for vote in votes]
        possible = {final_label(rule, filled, k=len(votes)).label for filled in product(*options)} - {None}
        if result.label is None:
            assert result.reason == ("cannot_judge" if possible else "tie")


def test_it_has_a_rule_by_default_but_for_triples_with_another_k_than_two() -> None:
    assert [default_rule(COMPOUND, k) for k in (1, 2, 5)] == ["majority"] * 3
    assert default_rule(TRIPLE, 2) == "ckbp2"
    for k in (1, 3):
        with pytest.raises(ProtocolError, match=rf"K = {k} has no label rule.*majority or unanimous"):
            default_rule(TRIPLE, k)


def test_it_checks_that_a_rule_fits_the_campaign() -> None:
    assert check_rule("majority", TRIPLE, 3).name == "majority"
    with pytest.raises(ProtocolError, match="“ckbp2” is not a label rule of compounds"):
        check_rule("ckbp2", COMPOUND, 2)
    with pytest.raises(ProtocolError, match="exactly 2 scores"):
        check_rule("ckbp2", TRIPLE, 3)
    with pytest.raises(ProtocolError, match="majority, unanimous"):
        check_rule("arbiter", COMPOUND, 1)


def test_it_replays_a_rule_by_its_version_and_knows_no_other() -> None:
    assert final_label("majority", ["1"], k=1, version="1") == final_label("majority", ["1"], k=1)
    with pytest.raises(ProtocolError, match="“majority” version 99"):
        final_label("majority", ["1"], k=1, version="99")
    with pytest.raises(ProtocolError, match="no label rule “mean”; the rules are majority"):
        final_label("mean", ["1"], k=1)
    assert len({(rule.name, rule.version) for rule in RULES}) == len(RULES)


def test_it_refuses_votes_that_cannot_be() -> None:
    with pytest.raises(ProtocolError, match=r"“1\.0” is not a label"):
        final_label("majority", ["1.0"], k=1)
    with pytest.raises(ProtocolError, match="3 answers to an item that 2"):
        final_label("majority", ["1", "1", "1"], k=2)
    with pytest.raises(ProtocolError, match="at least one expert"):
        final_label("majority", [], k=0)


def test_it_names_only_rules_that_exist_in_the_protocols() -> None:
    named = {rule for protocol in (COMPOUND, TRIPLE) for rule in protocol.label_rules}
    assert named == {rule.name for rule in RULES}
    for protocol in (COMPOUND, TRIPLE):
        assert set(protocol.default_rules.values()) <= set(protocol.label_rules)


@given(votes=st.lists(VOTE, max_size=4), label=st.sampled_from(["1", "0"]), k=st.integers(1, 4))
@settings(deadline=None)
def test_an_arbiter_decides_whatever_the_votes_are(votes: list[str | None], label: str, k: int) -> None:
    assert outcome("arbiter", [*votes, label], k) == (label, None)


def test_an_arbiter_decides_a_label_and_no_score() -> None:
    for votes in ([], ["1", "0.5"], ["1", None]):
        with pytest.raises(ProtocolError, match="a label, 1 or 0, and no score"):
            final_label("arbiter", votes, k=2)
