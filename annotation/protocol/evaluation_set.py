"""Choosing what is judged, as CKBP v2 did: a sample of an annotated pool that keeps the proportions of its relations.

The adversarial half of such a set is chosen in `candidates`. What is drawn depends on the seed and the texts alone: not
on the order of a file, the machine or the version of Python.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from annotation.protocol.sampling import Stratum, stratified_sample
from annotation.protocol.text import fold_key
from annotation.protocol.triple import GENERAL_RELATIONS

SAMPLED_CLASS = "test_set"


def triple_id_of(head: str, relation: str, tail: str) -> str:
    """What two rows have in common that are the same triple: the texts as keys are compared.

    >>> triple_id_of("it rains", "Causes", "wet ground ") == triple_id_of("it rains", "Causes", "wet ground")
    True
    """
    return "\x1f".join((fold_key(head), fold_key(relation), fold_key(tail)))


@dataclass(frozen=True, slots=True)
class PoolTriple:
    """One row of a pool; `id` is the row's own id, `identity` what makes it the same triple again."""

    line: int
    head: str
    relation: str
    tail: str
    item_class: str | None = None
    label: str | None = None
    id: str | None = None
    score: float | None = None
    identity: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", triple_id_of(self.head, self.relation, self.tail))

    @property
    def said(self) -> str:
        """The text whose words self-BLEU counts."""
        return f"{self.head} {self.tail}"

    @property
    def all_words(self) -> str:
        """The text whose words count as new or not."""
        return f"{self.head} {self.relation} {self.tail}"


@dataclass(frozen=True, kw_only=True)
class SampleWish:
    """How many triples of a pool, at least how many of each relation, and which relations not at all."""

    n: int
    minimum: int = 0
    leave_out: tuple[str, ...] = GENERAL_RELATIONS


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What was drawn, in the order of the pool; by relation what there was.

    `repeats` are rows that repeat a triple, `contradicting` those of them that label it otherwise than its first row
    does. `left_out` are rows by relation.
    """

    triples: tuple[PoolTriple, ...]
    strata: tuple[Stratum, ...]
    rows: int
    repeats: int
    contradicting: int
    left_out: Mapping[str, int]


def draw_sample(pool: Sequence[PoolTriple], wish: SampleWish, *, seed: int) -> Sample:
    """`n` distinct triples with the relations in proportion, by the largest remainder."""
    left_out = dict.fromkeys(wish.leave_out, 0)
    first: dict[str, PoolTriple] = {}
    repeats = contradicting = 0
    for triple in pool:
        if triple.relation in left_out:
            left_out[triple.relation] += 1
        elif triple.identity in first:
            repeats += 1
            contradicting += first[triple.identity].label != triple.label
        else:
            first[triple.identity] = triple
    drawn = stratified_sample(
        list(first), [one.relation for one in first.values()], wish.n, minimum=wish.minimum, seed=seed
    )
    return Sample(
        triples=tuple(first[identity] for identity in drawn.keys),
        strata=drawn.strata,
        rows=len(pool),
        repeats=repeats,
        contradicting=contradicting,
        left_out=left_out,
    )


# What a set is made of ---------------------------------------------------------------------------------------

_WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_BANDS = 10


@dataclass(frozen=True)
class Band:
    """How many scores lie from `low` up to `high`, the last band with its upper end."""

    low: float
    high: float
    n: int


def score_bands(scores: Iterable[float], *, low: float, high: float) -> tuple[Band, ...]:
    """Ten bands at most between two scores, of a width that people read easily.

    >>> [(band.low, band.high, band.n) for band in score_bands([0.9, 0.96, 1.0], low=0.9, high=1.0)][-2:]
    [(0.98, 0.99, 0), (0.99, 1.0, 1)]
    """
    found = list(scores)
    span = high - low
    width = next((one for one in _WIDTHS if span <= one * _BANDS + 1e-9), span / _BANDS)
    n_bands = max(1, round(span / width + 0.499999)) if width else 1
    counts = Counter(min(int((score - low) / width + 1e-9) if width else 0, n_bands - 1) for score in found)
    return tuple(
        Band(round(low + at * width, 6), round(min(high, low + (at + 1) * width), 6), counts[at])
        for at in range(n_bands)
    )
