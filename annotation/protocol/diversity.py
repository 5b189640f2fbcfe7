"""How far the texts of a pool repeat one another, and three ways of keeping those that do not.

A word is what stands between blanks, in its case. Nothing is compared pair by pair: what a text shares with all others
is read off counts of their words and pairs of words, so that the cost grows with the number of words, not its square.

Sources: Zhu et al., "Texygen" (2018) for self-BLEU; Papineni et al., "BLEU" (2002), computed as NLTK does, without
smoothing; Yang et al., "Generative Data Augmentation for Commonsense Reasoning" (2020) for picking by new words.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, sqrt
from typing import TypeVar

from annotation.protocol.chance import chance
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sampling import allocation
from annotation.protocol.sentences import say

Progress = Callable[[int, int], None]  # how many of how many texts
Pair = tuple[str, str]
K = TypeVar("K")

STEP = 1000  # texts between two calls of a progress
SOFT_LIMIT = 0.5


def silent(done: int, total: int) -> None:
    """A progress that nobody follows."""


def percent(progress: Progress, first: int, last: int) -> Progress:
    """A progress for one step of several: from `first` to `last` of a hundred.

    >>> told = []
    >>> percent(lambda *at: told.append(at), 50, 60)(1, 2)
    >>> told
    [(55, 100)]
    """
    return lambda done, total: progress(first + (last - first) * done // max(1, total), 100)


# Self-BLEU ---------------------------------------------------------------------------------------------------


def self_bleu(texts: Sequence[str], *, progress: Progress = silent) -> list[float]:
    """For each text the sentence BLEU of its pairs of words with all other texts as references; low is novel.

    As NLTK's `sentence_bleu(others, own, weights=(0, 1))`: each pair counts as often as the text that holds it most
    often among the others has it, and a text shorter than the length nearest to its own (of equals the shorter) is
    marked down. A text without a pair, or without another text beside it, scores 0.

    >>> self_bleu(["to go home", "to go out", "rain falls"])
    [0.5, 0.5, 0.0]
    """
    counts, total = _MostOften(), 2 * len(texts)
    lengths: Counter[int] = Counter()
    for done, text in enumerate(texts, start=1):
        words = text.split()
        lengths[len(words)] += 1
        counts.add(Counter(pairwise(words)))
        _tell(progress, done, total)
    nearest = {length: _nearest_other(length, lengths) for length in lengths}
    found = []
    for done, text in enumerate(texts, start=len(texts) + 1):
        words = text.split()
        shared = counts.shared_with_others(Counter(pairwise(words)))
        found.append(shared / (len(words) - 1) * _brevity(len(words), nearest[len(words)]) if shared else 0.0)
        _tell(progress, done, total)
    return found


@dataclass
class _MostOften:
    """Of each pair the two highest numbers of times that a text holds it, over all texts."""

    most: dict[Pair, int] = field(default_factory=dict)
    next_most: dict[Pair, int] = field(default_factory=dict)

    def add(self, pairs: Mapping[Pair, int]) -> None:
        for pair, times in pairs.items():
            before = self.most.get(pair, 0)
            if times > before:
                self.most[pair] = times
                if before:
                    self.next_most[pair] = before
            elif times > self.next_most.get(pair, 0):
                self.next_most[pair] = times

    def shared_with_others(self, pairs: Mapping[Pair, int]) -> int:
        """How many pairs of one of the texts count: who holds a pair most often is measured by who comes next."""
        return sum(
            times if times < self.most[pair] else self.next_most.get(pair, 0) for pair, times in pairs.items()
        )


def _nearest_other(length: int, lengths: Mapping[int, int]) -> int | None:
    """The length among the other texts that is nearest to this one's; of equals the shorter."""
    if lengths[length] > 1:
        return length
    return min((other for other in lengths if other != length), key=_distance_from(length), default=None)


def _distance_from(length: int) -> Callable[[int], tuple[int, int]]:
    return lambda other: (abs(other - length), other)


def _brevity(length: int, reference: int | None) -> float:
    """What a text is marked down by for being shorter than what it is compared with."""
    if reference is None or not length:
        return 0.0
    return 1.0 if length >= reference else exp(1 - reference / length)


# Ways of keeping ---------------------------------------------------------------------------------------------


def most_novel(keys: Sequence[str], scores: Sequence[float], n: int, *, seed: int) -> list[int]:
    """The places of the `n` texts with the lowest self-BLEU, the lowest first; among equals chance decides.

    >>> most_novel(["a", "b", "c"], [0.5, 0.0, 1.0], 2, seed=1)
    [1, 0]
    """
    return sorted(range(len(keys)), key=lambda at: (scores[at], chance("self-bleu", seed, keys[at])))[:n]


def softly_unique(
    keys: Sequence[str],
    texts: Sequence[str],
    *,
    seed: int,
    below: float = SOFT_LIMIT,
    progress: Progress = silent,
) -> list[int]:
    """The places of the texts that are kept: those whose BLEU against what was kept before stays below a limit.

    Texts come in an order of chance; BLEU counts words and pairs of words alike (weights ½ and ½), without smoothing.

    >>> softly_unique(["a", "b", "c"], ["to go home", "to go home now", "rain falls"], seed=1)
    [0, 2]
    """
    if not 0 < below <= 1:
        raise ProtocolError(say("The limit is a BLEU above 0, at most 1; {below} was given.", below=below))
    words_kept: dict[str, int] = {}
    pairs_kept: dict[Pair, int] = {}
    lengths: set[int] = set()
    kept: list[int] = []
    order = sorted(range(len(keys)), key=lambda at: chance("soft-uniqueness", seed, keys[at]))
    for done, at in enumerate(order, start=1):
        words = texts[at].split()
        own, own_pairs = Counter(words), Counter(pairwise(words))
        nearest = min(lengths, key=_distance_from(len(words)), default=None)
        bleu = _precision(own, words_kept) * _precision(own_pairs, pairs_kept)
        if sqrt(bleu) * _brevity(len(words), nearest) < below:
            kept.append(at)
            _raise_to(words_kept, own)
            _raise_to(pairs_kept, own_pairs)
            lengths.add(len(words))
        _tell(progress, done, len(order))
    return sorted(kept)


def _precision(own: Mapping[K, int], most: Mapping[K, int]) -> float:
    """The share of what a text holds that also stands in one of the texts kept, as often."""
    return sum(min(times, most.get(one, 0)) for one, times in own.items()) / max(1, sum(own.values()))


def _raise_to(most: dict[K, int], own: Mapping[K, int]) -> None:
    for one, times in own.items():
        if times > most.get(one, 0):
            most[one] = times


def newest_words(
    keys: Sequence[str],
    texts: Sequence[str],
    n: int,
    *,
    labels: Sequence[str] | None = None,
    seed: int,
    progress: Progress = silent,
) -> list[int]:
    """The places of `n` texts, each the one that adds the most words not seen yet; among equals chance decides.

    Where texts have labels, each label has words of its own, and its share of `n` by the largest remainder.

    >>> newest_words(["a", "b", "c"], ["to go home", "to go", "rain"], 2, seed=1)
    [0, 2]
    """
    of = list(labels) if labels is not None else [""] * len(keys)
    chosen: list[int] = []
    shares = allocation(Counter(of), n)
    for label in sorted(shares):
        places = [at for at, one in enumerate(of) if one == label]
        for at in _greedy(keys, texts, places, shares[label], seed=seed):
            chosen.append(at)
            _tell(progress, len(chosen), n)
    return chosen


def _greedy(
    keys: Sequence[str], texts: Sequence[str], places: Sequence[int], n: int, *, seed: int
) -> Iterator[int]:
    """The next text is always exact: what a text adds can only shrink, so one that still adds what it did when it
    was put into the heap, and stands on top of it, adds the most.
    """
    seen: set[str] = set()
    heap = [(-len(set(texts[at].split())), chance("g-daug", seed, keys[at]), at) for at in places]
    heapq.heapify(heap)
    while n:
        less_added, by_chance, at = heap[0]
        new = set(texts[at].split()) - seen
        if len(new) < -less_added:
            heapq.heapreplace(heap, (-len(new), by_chance, at))
            continue
        heapq.heappop(heap)
        seen |= new
        n -= 1
        yield at


# Figures -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diversity:
    """How diverse texts are: how many, their mean self-BLEU (low is diverse), which share of their pairs of words
    differ. Both figures depend on how many texts there are: compare only with as many.
    """

    n: int
    self_bleu: float
    distinct_pairs: float

    def as_json(self) -> dict[str, object]:
        return {"n": self.n, "self_bleu": self.self_bleu, "distinct_pairs": self.distinct_pairs}


def diversity(
    texts: Sequence[str], *, scores: Sequence[float] | None = None, progress: Progress = silent
) -> Diversity:
    """The figures of these texts; `scores` is their self-BLEU where it is known.

    >>> diversity(["to go home", "to go out"]).distinct_pairs
    0.75
    """
    known = self_bleu(texts, progress=progress) if scores is None else scores
    pairs = [pair for text in texts for pair in pairwise(text.split())]
    return Diversity(
        n=len(texts),
        self_bleu=sum(known) / max(1, len(known)),
        distinct_pairs=len(set(pairs)) / max(1, len(pairs)),
    )


def _tell(progress: Progress, done: int, total: int) -> None:
    if done % STEP == 0 or done == total:
        progress(done, total)
