"""Two systems' character BLEU or chrF on the same sentences: intervals, their difference, and its p.

Everything is made from the statistics each sentence already has (`TextScore.statistics`): a resample adds up rows
and scores the sums, no text is read again. Scores are those of sacrebleu; its own paired tests score resample after
resample in Python.

- *Interval*: sentences are drawn anew, the same ones for both systems (percentile bootstrap). With `clusters` whole
  clusters are drawn: the contexts of a compound share it, and an interval that forgets this is too narrow.
- *p*: approximate randomisation; the two translations of a sentence (or cluster) are swapped at random. p has the +1
  of `significance`.

Sources: Koehn (2004), EMNLP, for the bootstrap; Riezler and Maxwell (2005), ACL workshop, for randomisation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from scoring.stats.bleu import TextScore, bleu_of_sums, chrf_of_sums
from scoring.stats.proportions import RESAMPLES, Interval, reasons
from scoring.stats.significance import SHUFFLES, Difference, drawn_counts, p_value, with_holm

Floats = NDArray[np.float64]

OF_SUMS: dict[str, Callable[[NDArray[Any]], Floats]] = {"BLEU": bleu_of_sums, "CHRF": chrf_of_sums}
# Clusters × resamples at once: 4 or 8 MiB of weights, which stay in the processor's cache.
_CHUNK = 1_000_000
# Scores are made by logarithms; a swap that gives the observed difference again must count.
_CLOSE = 1e-9


@dataclass(frozen=True, kw_only=True)
class ScoredSystem:
    """One system's score with the 95 % interval over sentences or clusters; None with a reason where undefined."""

    name: str
    score: float | None
    interval: Interval | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{name, score, ci95}`, with reasons where undefined."""
        return {
            "name": self.name,
            "score": self.score,
            "ci95": None if self.interval is None else list(self.interval),
            **reasons(self.reason, "ci95_reason"),
        }


@dataclass(frozen=True, kw_only=True)
class TextComparison:
    """Systems on the same sentences by one metric."""

    metric: str
    n: int
    units: int
    systems: tuple[ScoredSystem, ...]
    differences: tuple[Difference, ...]
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{metric, n, units, systems, differences, signature}`; scores and points 0 to 100."""
        return {
            "metric": self.metric,
            "n": self.n,
            "units": self.units,
            "systems": [system.as_json() for system in self.systems],
            "differences": [difference.as_json() for difference in self.differences],
            "signature": self.signature,
        }


def compare_texts(
    scores: Sequence[tuple[str, TextScore]],
    *,
    clusters: Sequence[Any] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    shuffles: int = SHUFFLES,
) -> TextComparison:
    """Every system's score with its interval, and the difference of every two.

    Args:
        scores: (name, score) of one or more systems, all of the same sentences in the same order, by one metric.
        clusters: (n,) what each kept sentence belongs to (its compound); None where sentences stand alone, as in
            sacrebleu.
        seed, resamples, shuffles: of the bootstrap and the randomisation, shared by all systems. With one seed,
            intervals agree to the digit under one version of the signature; where two versions draw differently
            (`drawn_counts`), within what chance makes of that many resamples.

    Raises:
        ProtocolError: scores of different metrics or settings, or of different numbers of sentences.
        ValueError: clusters that do not fit.

    >>> from scoring.stats.bleu import corpus_bleu
    >>> references = ["那个园丁笑了。", "他们去了商店。", "我喜欢那只小狗。", "医生丢了帽子。"] * 10
    >>> same, worse = corpus_bleu(references, references), corpus_bleu([text[:-1] for text in references], references)
    >>> found = compare_texts([("same", same), ("worse", worse)], seed=1, resamples=200, shuffles=999)
    >>> [round(system.score, 2) for system in found.systems], found.differences[0].p
    ([100.0, 85.21], 0.001)
    """
    first = _checked([score for _, score in scores])
    units, codes = _units(clusters, first.n)
    rows = [_per_unit(score.statistics, codes, units) for _, score in scores]
    of_sums = OF_SUMS[first.metric]
    drawn = _resampled(rows, of_sums, seed=seed, resamples=resamples) if units > 1 else None
    differences = [
        _difference(first, (scores[a][0], scores[b][0]), (a, b), rows, drawn, seed=seed, shuffles=shuffles,
                    unit="sentences" if clusters is None else "clusters")
        for a, b in combinations(range(len(scores)), 2)
    ]  # fmt: skip
    return TextComparison(
        metric=first.metric,
        n=first.n,
        units=units,
        systems=tuple(
            _system(name, score, None if drawn is None else drawn[place])
            for place, (name, score) in enumerate(scores)
        ),
        differences=tuple(with_holm(differences)),
        signature=(
            f"{first.signature}|compare-texts|ver:2|n:{first.n}|units:{units}|interval:paired-bootstrap"
            f"|p:randomisation+1|adjusted:holm|level:95|rs:{seed}|bs:{resamples}|shuffles:{shuffles}"
            f"|numpy:{np.__version__}"
        ),
    )


def score_with_interval(
    score: TextScore,
    *,
    clusters: Sequence[Any] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """One system's score as a document: `TextScore.as_json` and `{ci95, ci95_method, ci95_reason}`.

    Args:
        score: of all sentences; clusters: (n,) what each kept sentence belongs to (its compound), None where sentences
            stand alone; seed, resamples: of the bootstrap.

    Raises:
        ValueError: clusters that do not fit.

    >>> from scoring.stats.bleu import corpus_bleu
    >>> references = ["那个园丁笑了。", "他们去了商店。", "我喜欢那只小狗。", "医生丢了帽子。"] * 10
    >>> found = score_with_interval(corpus_bleu([text[:-1] for text in references], references), seed=1)
    >>> round(found["score"], 2), [round(bound) for bound in found["ci95"]], found["ci95_method"]
    (85.21, [85, 86], 'bootstrap|units:40|rs:1|bs:1000')
    """
    (found,) = compare_texts([("", score)], clusters=clusters, seed=seed, resamples=resamples).systems
    units, _ = _units(clusters, score.n)
    method = f"{'cluster-' if clusters is not None else ''}bootstrap|units:{units}|rs:{seed}|bs:{resamples}"
    return {
        **score.as_json(),
        "ci95": None if found.interval is None else list(found.interval),
        "ci95_method": None if found.interval is None else method,
        **reasons(found.reason, "ci95_reason"),
    }


def _checked(scores: Sequence[TextScore]) -> TextScore:
    first = scores[0]
    for score in scores[1:]:
        if score.signature != first.signature:
            raise ProtocolError(
                say(
                    "Scores are compared by one metric with the same settings only; here are {one} and {other}.",
                    one=first.signature,
                    other=score.signature,
                )
            )
        if (score.n, score.left_out) != (first.n, first.left_out):
            raise ProtocolError(
                say(
                    "Systems are compared on the same sentences; here are {one} and {other} (a sentence left out of "
                    "one must be left out of all).",
                    one=first.n,
                    other=score.n,
                )
            )
    return first


def _units(clusters: Sequence[Any] | None, n: int) -> tuple[int, NDArray[np.int64]]:
    if clusters is None:
        return n, np.arange(n)
    if len(clusters) != n:
        raise ValueError(f"There are {len(clusters)} clusters for {n} sentences: give one per kept sentence.")
    number: dict[Any, int] = {}
    codes = np.array([number.setdefault(cluster, len(number)) for cluster in clusters], dtype=np.int64)
    return len(number), codes


def _per_unit(statistics: NDArray[np.int64], codes: NDArray[np.int64], units: int) -> Floats:
    if not len(statistics) or units == len(statistics):
        return statistics.astype(np.float64)
    columns = [np.bincount(codes, weights=column, minlength=units) for column in statistics.T]
    return np.stack(columns, axis=1)


def _resampled(
    rows: Sequence[Floats], of_sums: Callable[[Floats], Floats], *, seed: int, resamples: int
) -> list[Floats]:
    rng, units = np.random.default_rng(seed), len(rows[0])
    width = rows[0].shape[1]
    together = np.concatenate(rows, axis=1)
    dtype = _exact_up_to(units * together.max(initial=0))
    together = together.astype(dtype)
    sums = np.empty((resamples, together.shape[1]))
    step = max(1, _CHUNK // units)
    for start in range(0, resamples, step):
        counts = drawn_counts(rng, units, min(step, resamples - start), dtype=dtype)
        sums[start : start + step] = counts @ together
    return [of_sums(sums[:, place : place + width]) for place in range(0, together.shape[1], width)]


def _exact_up_to(largest: float) -> type[np.float32] | type[np.float64]:
    """Four bytes hold whole numbers up to 2^24, so every sum of them below that is exact, in whatever order."""
    return np.float32 if largest < 2**24 else np.float64


def _system(name: str, score: TextScore, drawn: Floats | None) -> ScoredSystem:
    if score.score is None:
        return ScoredSystem(name=name, score=None, interval=None, reason=score.reason)
    interval = None if drawn is None else _percentiles(drawn, score.score)
    reason = (
        None if interval else say("every sentence scores alike, or there is one only: nothing to resample")
    )
    return ScoredSystem(name=name, score=score.score, interval=interval, reason=reason)


def _percentiles(values: Floats, value: float) -> Interval | None:
    low, high = (float(bound) for bound in np.quantile(values, [0.025, 0.975]))
    return None if high - low < _CLOSE else (min(low, value), max(high, value))


def _difference(
    first: TextScore,
    names: tuple[str, str],
    pair: tuple[int, int],
    rows: Sequence[Floats],
    drawn: Sequence[Floats] | None,
    *,
    seed: int,
    shuffles: int,
    unit: str,
) -> Difference:
    a, b = rows[pair[0]], rows[pair[1]]
    known = Difference(measure=first.metric, a=names[0], b=names[1], n=len(a), unit=unit)
    if first.reason is not None:
        return replace(known, reason=first.reason)
    of_sums = OF_SUMS[first.metric]
    value_a, value_b = float(of_sums(a.sum(axis=0))), float(of_sums(b.sum(axis=0)))
    interval = None if drawn is None else _percentiles(drawn[pair[0]] - drawn[pair[1]], value_a - value_b)
    return replace(
        known,
        value_a=value_a,
        value_b=value_b,
        difference=value_a - value_b,
        interval=interval,
        method=None if interval is None else "paired-bootstrap",
        p=_p(a, b, of_sums, observed=abs(value_a - value_b), seed=seed, shuffles=shuffles),
        ci95_reason=None
        if interval
        else say("no resample differs from another: nothing to tell the two apart"),
    )


def _p(
    a: Floats,
    b: Floats,
    of_sums: Callable[[Floats], Floats],
    *,
    observed: float,
    seed: int,
    shuffles: int,
) -> float:
    """Swapping a sentence moves the sums by its difference; only sentences that differ need a coin."""
    moved = (b - a)[(a != b).any(axis=1)]
    if not len(moved):
        return 1.0
    rng, extreme = np.random.default_rng([seed, 1]), 0
    sums_a, sums_b = a.sum(axis=0), b.sum(axis=0)
    dtype = _exact_up_to(np.abs(moved).sum(axis=0).max())
    moved = moved.astype(dtype)
    step = max(1, _CHUNK // len(moved))
    for start in range(0, shuffles, step):
        size = min(step, shuffles - start)
        coins = np.unpackbits(rng.integers(0, 256, size=(size, -(-len(moved) // 8)), dtype=np.uint8), axis=1)
        swapped = (coins[:, : len(moved)].astype(dtype) @ moved).astype(np.float64)
        apart = np.abs(of_sums(sums_a + swapped) - of_sums(sums_b - swapped))
        extreme += int((apart >= observed - _CLOSE).sum())
    return p_value(extreme, shuffles)
