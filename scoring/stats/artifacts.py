"""Words that give the label away: for each word, whether triples that hold it are plausible more or less
often.

A word's z compares the plausible share of the triples that hold it, p, with that of all, p0:
z = (p - p0) / sqrt(p0 (1 - p0) / n), for words in at least 20 triples.

Two rules decide which words count:

- `described`: what the paper says, two-sided at 0.01 with Bonferroni over the vocabulary. On the released
  triples one word passes (*happy*).
- `as-published`: z is compared with 1 - 0.01 / vocabulary itself, the quantile never taken. This reproduces
  the published number of 83 words, most of them within chance.

Source: Gardner et al. 2021, "Competency Problems: On Finding and Removing Artifacts in Language Data"; CKBP
v2.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from scoring.stats.composition import PLAUSIBLE, UNLABELLED, LabelledTriples
from scoring.stats.proportions import percent, reasons

PLACEHOLDERS = frozenset({"PersonX", "PersonY", "PersonZ", "PeopleX"})
LEVEL = 0.01
MINIMUM = 20

DESCRIBED, AS_PUBLISHED = "described", "as-published"
RULES = (DESCRIBED, AS_PUBLISHED)


@dataclass(frozen=True, kw_only=True)
class ArtifactWord:
    """A word beyond the critical value: the triples that hold it, their plausible share (0 to 1), and z."""

    word: str
    n: int
    share: float
    z: float

    @property
    def label(self) -> str:
        """The label the word points to."""
        return "plausible" if self.z > 0 else "implausible"

    def as_json(self) -> dict[str, Any]:
        """`{word, n, percent, z, label}`."""
        return {
            "word": self.word,
            "n": self.n,
            "percent": percent(self.share),
            "z": self.z,
            "label": self.label,
        }


@dataclass(frozen=True, kw_only=True)
class Artifacts:
    """The words beyond `z_critical`: those that point to plausible first, the strongest first.

    `vocabulary` counts the distinct words, `candidates` those frequent enough to be tested. `z_critical` is
    None, and `reason` says why, where no share of all can be compared with.
    """

    rule: str
    vocabulary: int
    candidates: int
    z_critical: float | None
    words: tuple[ArtifactWord, ...]
    reason: str | None
    unlabelled: int
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{rule, vocabulary, candidates, z_critical, words, unlabelled, signature}`."""
        return {
            "rule": self.rule,
            "vocabulary": self.vocabulary,
            "candidates": self.candidates,
            "z_critical": self.z_critical,
            "words": [word.as_json() for word in self.words],
            "unlabelled": self.unlabelled,
            **reasons(self.reason, "reason"),
            "signature": self.signature,
        }


def artifacts(triples: LabelledTriples, *, labels: str, rule: str = DESCRIBED) -> Artifacts:
    """The words of head and tail that go with one label more than chance allows.

    Arguments: `triples`, of which those without a label are left out and counted; `labels` names the labels
    used, for the signature; `rule` as in the module. Words are what blanks separate, cased, each counted
    once a triple, without PersonX, PersonY, PersonZ and PeopleX. Raises ProtocolError when there is no such
    rule.

    How to read it: under `described` chance alone lists a word in at most one data set of a hundred; under
    `as-published` chance alone lists about a third of the candidates.

    >>> triples = LabelledTriples(
    ...     head=["PersonX be happy"] * 30 + ["PersonX be sad"] * 30, relation=["xWant"] * 60, tail=["rest"] * 60,
    ...     item_class=["adv"] * 60, split=["dev"] * 60, label=np.repeat([1, 0], 30).astype(np.int8))
    >>> [(word.word, word.n, round(word.z, 2), word.label) for word in artifacts(triples, labels="imported").words]
    [('happy', 30, 5.48, 'plausible'), ('sad', 30, -5.48, 'implausible')]
    """
    if rule not in (DESCRIBED, AS_PUBLISHED):
        raise ProtocolError(
            say(
                "There is no rule {rule} for artifacts. Choose {described} or {published}.",
                rule=rule,
                described=DESCRIBED,
                published=AS_PUBLISHED,
            )
        )
    label = triples.label
    labelled = np.flatnonzero(label != UNLABELLED).tolist()
    texts = [f"{triples.head[row]} {triples.tail[row]}" for row in labelled]
    held = _triples_per_word(texts)
    held_plausible = _triples_per_word(
        text for text, row in zip(texts, labelled, strict=True) if label[row] == PLAUSIBLE
    )
    plausible = int((label == PLAUSIBLE).sum())
    both = 0 < plausible < len(labelled)
    critical = critical_z(len(held), rule) if both and held else None
    overall = plausible / len(labelled) if labelled else 0.0
    candidates = {word: n for word, n in held.items() if n >= MINIMUM}
    words = [_word(word, n, held_plausible[word], overall) for word, n in candidates.items()] if both else []
    return Artifacts(
        rule=rule,
        vocabulary=len(held),
        candidates=len(candidates),
        z_critical=critical,
        words=_beyond(words, critical),
        reason=None if critical is not None else say("needs words, and labelled triples of both kinds"),
        unlabelled=label.size - len(labelled),
        signature=(
            f"artifacts|ver:1|rule:{rule}|n:{len(labelled)}|labels:{labels}|level:{LEVEL}|min:{MINIMUM}|case:mixed"
        ),
    )


@dataclass(frozen=True, kw_only=True)
class WordPoint:
    """A word in the scatter of counts against shares: triples that hold it, their plausible share (0 to 1)."""

    word: str
    n: int
    share: float
    beyond: bool


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Every word's count against its plausible share, between the two curves beyond which a word gives labels away.

    `curve` holds (n, lower, upper) with n rising geometrically from 1 to the largest count: the shares at which |z|
    is critical, cut to 0…1. Words held by fewer than 20 triples are points as well, never `beyond`. `share` is that
    of all triples; None, with a reason and without curves, where it cannot be compared with.
    """

    rule: str
    share: float | None
    z_critical: float | None
    points: tuple[WordPoint, ...]
    curve: tuple[tuple[float, float, float], ...]
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """`{rule, percent, z_critical, points: [{word, n, percent, beyond}], curve: [{n, lower, upper}]}`."""
        return {
            "rule": self.rule,
            "percent": percent(self.share),
            "z_critical": self.z_critical,
            "points": [
                {"word": one.word, "n": one.n, "percent": percent(one.share), "beyond": one.beyond}
                for one in self.points
            ],
            "curve": [
                {"n": n, "lower": percent(lower), "upper": percent(upper)} for n, lower, upper in self.curve
            ],
            **reasons(self.reason, "reason"),
        }


def word_scatter(triples: LabelledTriples, *, rule: str = DESCRIBED, steps: int = 200) -> Scatter:
    """Counts against plausible shares of all words, with the two curves of a rule: data for a picture.

    Arguments as in `artifacts`; `steps` points on each curve. Points stand by falling count, then by word.

    >>> triples = LabelledTriples(
    ...     head=["PersonX be happy"] * 30 + ["PersonX be sad"] * 30, relation=["xWant"] * 60, tail=["rest"] * 60,
    ...     item_class=["adv"] * 60, split=["dev"] * 60, label=np.repeat([1, 0], 30).astype(np.int8))
    >>> scatter = word_scatter(triples, steps=2)
    >>> [(point.word, point.n, point.share, point.beyond) for point in scatter.points][1:3]
    [('rest', 60, 0.5, False), ('happy', 30, 1.0, True)]
    >>> [[round(value, 2) for value in row] for row in scatter.curve]
    [[1.0, 0.0, 1.0], [60.0, 0.3, 0.7]]
    """
    found = artifacts(triples, labels="", rule=rule)
    labelled = triples.label != UNLABELLED
    texts = [f"{triples.head[row]} {triples.tail[row]}" for row in np.flatnonzero(labelled).tolist()]
    plausible = (triples.label[labelled] == PLAUSIBLE).tolist()
    held = _triples_per_word(texts)
    held_plausible = _triples_per_word(text for text, yes in zip(texts, plausible, strict=True) if yes)
    beyond = {word.word for word in found.words}
    points = [
        WordPoint(word=word, n=n, share=held_plausible[word] / n, beyond=word in beyond)
        for word, n in sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    share = sum(plausible) / len(plausible) if found.z_critical is not None else None
    return Scatter(
        rule=rule,
        share=share,
        z_critical=found.z_critical,
        points=tuple(points),
        curve=_curve(share, found.z_critical, largest=points[0].n if points else 0, steps=steps),
        reason=found.reason,
    )


def _curve(
    share: float | None, critical: float | None, *, largest: int, steps: int
) -> tuple[tuple[float, float, float], ...]:
    if share is None or critical is None:
        return ()
    counts = np.geomspace(1, largest, steps)
    half = critical * np.sqrt(share * (1 - share) / counts)
    lower, upper = np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
    return tuple(zip(counts.tolist(), lower.tolist(), upper.tolist(), strict=True))


def critical_z(vocabulary: int, rule: str) -> float:
    """The value |z| must exceed: the two-sided quantile over the vocabulary, or what was published in its
    place.

    >>> round(critical_z(3852, "described"), 6), round(critical_z(3852, "as-published"), 6)
    (4.700437, 0.999997)
    """
    if rule == AS_PUBLISHED:
        return 1 - LEVEL / vocabulary
    return NormalDist().inv_cdf(1 - LEVEL / vocabulary / 2)


def _triples_per_word(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in dict.fromkeys(text.split()) if word not in PLACEHOLDERS)


def _word(word: str, n: int, plausible: int, overall: float) -> ArtifactWord:
    share = plausible / n
    return ArtifactWord(word=word, n=n, share=share, z=(share - overall) / sqrt(overall * (1 - overall) / n))


def _beyond(words: Sequence[ArtifactWord], critical: float | None) -> tuple[ArtifactWord, ...]:
    if critical is None:
        return ()
    beyond = [word for word in words if abs(word.z) > critical]
    return tuple(sorted(beyond, key=lambda word: (word.z < 0, -abs(word.z), word.word)))
