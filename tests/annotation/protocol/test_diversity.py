"""Diversity: equal to the plain definitions, which compare every text with every other one."""

import csv
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import exp, fsum, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.chance import chance
from annotation.protocol.diversity import (
    diversity,
    most_novel,
    newest_words,
    self_bleu,
    softly_unique,
)
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sampling import allocation
from tests.shared import shared

# Few words, so that texts share much, repeat words and come in many lengths.
TEXTS = st.lists(st.lists(st.sampled_from("abcA"), min_size=1, max_size=7).map(" ".join), max_size=9)
SEEDS = st.integers(0, 2**31 - 1)


def plain_bleu(references: Sequence[list[str]], own: list[str], weights: tuple[float, float]) -> float:
    """NLTK's sentence_bleu for orders 1 and 2 without smoothing, written out: a precision of nothing is the smallest
    number there is, not zero.
    """
    precisions = []
    for order in (1, 2):
        counts = ngrams(own, order)
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            for one, times in ngrams(reference, order).items():
                most[one] = max(most[one], times)
        matched = sum(min(times, most[one]) for one, times in counts.items())
        precisions.append(matched / max(1, sum(counts.values())) or 2.2250738585072014e-308)
        if order == 1 and not matched:
            return 0.0
    closest = min(map(len, references), key=lambda length: (abs(length - len(own)), length))
    brevity = 1.0 if len(own) > closest else exp(1 - closest / len(own))
    return brevity * exp(fsum(w * log(p) for w, p in zip(weights, precisions, strict=True)))


def ngrams(words: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def plain_self_bleu(texts: Sequence[str], bleu: Callable[[list[list[str]], list[str]], float]) -> list[float]:
    words = [text.split() for text in texts]
    return [
        bleu(words[:at] + words[at + 1 :], own) if len(words) > 1 else 0.0 for at, own in enumerate(words)
    ]


def pairs_only(references: Sequence[list[str]], own: list[str]) -> float:
    return plain_bleu(references, own, (0, 1))


# Self-BLEU


@given(TEXTS)
def test_self_bleu_is_the_bleu_of_each_text_with_all_others_as_references(texts: list[str]) -> None:
    assert self_bleu(texts) == pytest.approx(plain_self_bleu(texts, pairs_only), abs=1e-12)


def test_a_text_twice_a_text_alone_and_a_single_word() -> None:
    assert self_bleu(["to go home", "to go home"]) == [1.0, 1.0]
    assert self_bleu(["to go home"]) == [0.0]
    assert self_bleu(["rain", "rain", "rain falls"]) == [0.0, 0.0, 0.0]
    assert self_bleu([]) == []


def test_a_pair_counts_as_often_as_another_single_text_holds_it() -> None:
    # Two others hold “a b” once each: of the three in the first text one counts, not two.
    assert self_bleu(["a b a b a b", "a b c", "a b d"])[0] == pytest.approx(1 / 5)


def test_of_two_nearest_lengths_the_shorter_counts_so_nothing_is_marked_down() -> None:
    assert self_bleu(["a b c", "a b", "a b c d"])[0] == 1.0
    assert self_bleu(["a b c", "a b c d"])[0] == pytest.approx(exp(1 - 4 / 3))


def test_case_counts_and_every_kind_of_blank_parts_words() -> None:
    assert self_bleu(["To go", "to go"]) == [0.0, 0.0]
    assert self_bleu(["to\u3000go", "to  go"]) == [1.0, 1.0]


def triples_of_v2(n: int) -> list[str]:
    with shared("data/ckbp/ckbp2.0.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [f"{row['head']} {row['tail']}" for row in rows[:: len(rows) // n][:n]]


def test_it_equals_the_definition_on_300_real_triples() -> None:
    texts = triples_of_v2(300)
    assert len(texts) == 300
    found = self_bleu(texts)
    assert found == pytest.approx(plain_self_bleu(texts, pairs_only), abs=1e-9)
    assert 0 < sum(found) / 300 < 1


def test_it_equals_nltk_on_300_real_triples() -> None:
    bleu_score = pytest.importorskip("nltk.translate.bleu_score", reason="NLTK is not installed")
    texts = [*triples_of_v2(297), "rain", "rain", "rain falls"]

    def by_nltk(references: list[list[str]], own: list[str]) -> float:
        return float(bleu_score.sentence_bleu(references, own, weights=(0, 1)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns of every text that shares no pair
        theirs = plain_self_bleu(texts, by_nltk)
    assert self_bleu(texts) == pytest.approx(theirs, abs=1e-9)


def test_it_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    self_bleu([f"word {number}" for number in range(2500)], progress=lambda *at: told.append(at))
    assert told == [(1000, 5000), (2000, 5000), (3000, 5000), (4000, 5000), (5000, 5000)]


# Ways of keeping


def test_the_most_novel_are_those_with_the_lowest_self_bleu_and_the_seed_decides_among_equals() -> None:
    keys = [f"k{number}" for number in range(40)]
    scores = [0.5] * 20 + [0.25] * 20
    found = most_novel(keys, scores, 25, seed=3)
    assert set(range(20, 40)) <= set(found)
    assert found == most_novel(keys, scores, 25, seed=3)
    assert set(found) != set(most_novel(keys, scores, 25, seed=4))


@given(TEXTS, SEEDS, st.sampled_from([0.2, 0.5, 1.0]))
def test_soft_uniqueness_compares_with_what_was_kept_so_far(
    texts: list[str], seed: int, below: float
) -> None:
    keys = [str(at) for at in range(len(texts))]
    kept: list[int] = []
    for at in sorted(range(len(texts)), key=lambda at: chance("soft-uniqueness", seed, keys[at])):
        references = [texts[one].split() for one in kept]
        bleu = plain_bleu(references, texts[at].split(), (0.5, 0.5)) if kept else 0.0
        # Where BLEU is the limit itself, the last digit of a product decides: both are right there.
        if abs(bleu - below) < 1e-12:
            return
        if bleu < below:
            kept.append(at)
    assert softly_unique(keys, texts, seed=seed, below=below) == sorted(kept)


def test_soft_uniqueness_refuses_a_limit_that_is_no_bleu() -> None:
    for below in (0.0, 1.5):
        with pytest.raises(ProtocolError, match="above 0, at most 1"):
            softly_unique(["a"], ["a b"], seed=1, below=below)


@settings(max_examples=200)
@given(TEXTS.filter(bool), SEEDS, st.data())
def test_each_next_text_adds_the_most_words_not_seen_yet(
    texts: list[str], seed: int, data: st.DataObject
) -> None:
    keys = [f"k{at}" for at in range(len(texts))]
    labels = data.draw(st.lists(st.sampled_from("01"), min_size=len(texts), max_size=len(texts)))
    n = data.draw(st.integers(1, len(texts)))
    expected = []
    for label, share in sorted(allocation(Counter(labels), n).items()):
        left, seen = [at for at, one in enumerate(labels) if one == label], set[str]()
        for _ in range(share):
            best = min(
                left,
                key=lambda at: (-len(set(texts[at].split()) - seen), chance("g-daug", seed, keys[at])),
            )
            left.remove(best)
            seen |= set(texts[best].split())
            expected.append(best)
    assert newest_words(keys, texts, n, labels=labels, seed=seed) == expected


def test_picking_by_new_words_refuses_more_than_there_are() -> None:
    with pytest.raises(ProtocolError, match="cannot be drawn"):
        newest_words(["a"], ["to go"], 2, seed=1)


# Figures


@given(TEXTS)
def test_the_figures_are_the_mean_and_the_share_of_pairs_that_differ(texts: list[str]) -> None:
    found = diversity(texts)
    pairs = [pair for text in texts for pair in pairwise(text.split())]
    assert found.n == len(texts)
    assert found.self_bleu == pytest.approx(fsum(self_bleu(texts)) / max(1, len(texts)))
    assert found.distinct_pairs == pytest.approx(len(set(pairs)) / max(1, len(pairs)))
    assert found.as_json()["n"] == len(texts)
