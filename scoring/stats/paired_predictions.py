"""Differences between models on the same triples: AUC, F1, precision and recall of the plausible class.

- *Interval*: triples are drawn anew, the same ones for every model and run (paired percentile bootstrap).
- *p*: for each triple the two models' predictions are swapped at random, with all their runs. For AUC what is swapped
  are the ranks a model gives (mid-ranks within the model), so that models on different scales can be compared; for
  F1, precision and recall the calls "plausible or not" at each model's own threshold. p has the +1 of `significance`.
- A model's figure is the mean over its runs. Swapping needs as many runs on both sides; with unequal numbers there
  is an interval and no p.

Sources: Bandos, Rockette and Gur (2005), Statistics in Medicine 24, 2873–2893, for exchanging ranks; Yeh (2000),
COLING, for F1; Efron and Tibshirani (1993).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.stats.classification import DEFAULT_THRESHOLD, PLAUSIBLE, UNLABELLED, measure
from scoring.stats.groups import Mask
from scoring.stats.proportions import RESAMPLES
from scoring.stats.significance import (
    NOTE,
    Difference,
    Spread,
    drawn_counts,
    p_value,
    spread,
    with_holm,
)

Floats = NDArray[np.float64]

OF_CALLS = ("f1", "precision", "recall")
MEASURES = ("auc", *OF_CALLS)
# AUC is counted anew for every shuffle; with 2,000 the smallest p is 0.0005 and one near 0.05 is known to ± 0.01.
SWAPS = 2_000
# Triples × resamples at once: 32 MiB of weights.
_CHUNK = 4_000_000
_MOST_UNDEFINED = 0.05
# Swaps give the observed difference again in many arrangements; rounding must not decide whether it counts.
_CLOSE = 1e-12

UNEQUAL_RUNS = "swapping needs as many runs of both models ({a} and {b} here); the interval holds without it"
SAME = "the two models never differ on these triples"


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """A model's scores on all triples, one array per run, and the threshold of each run (tuned or given)."""

    name: str
    runs: tuple[Floats, ...]
    thresholds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(f"{self.name} has no run")
        if self.thresholds and len(self.thresholds) != len(self.runs):
            raise ValueError(f"{self.name} needs one threshold for each run, or none")

    def threshold(self, run: int) -> float:
        """Of one run; 0.5 where none was given."""
        return self.thresholds[run] if self.thresholds else DEFAULT_THRESHOLD


@dataclass(frozen=True, kw_only=True)
class GroupComparison:
    """The models on one group of triples: figures over runs, differences of every two models."""

    group: str
    n: int
    spreads: tuple[Spread, ...]
    differences: tuple[Difference, ...]

    def as_json(self) -> dict[str, Any]:
        """`{group, n, models, differences}`."""
        return {
            "group": self.group,
            "n": self.n,
            "models": [one.as_json() for one in self.spreads],
            "differences": [difference.as_json() for difference in self.differences],
        }


@dataclass(frozen=True, kw_only=True)
class PredictionComparison:
    """Every group's comparison; Holm runs over the pairs of models within one measure and group."""

    groups: tuple[GroupComparison, ...]
    left_out: int
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{groups, left_out, note, signature}`."""
        return {
            "groups": [group.as_json() for group in self.groups],
            "left_out": self.left_out,
            "note": NOTE,
            "signature": self.signature,
        }


def compare_predictions(
    label: NDArray[np.int8],
    models: Sequence[Predictions],
    *,
    labels: str,
    groups: Mapping[str, Mask] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    shuffles: int = SWAPS,
) -> PredictionComparison:
    """AUC, F1, precision and recall of models over their runs, and the differences of every two models.

    Args:
        label: (n,) 1 plausible, 0 implausible, -1 left out and counted.
        models: two or more; every run scores all n triples.
        labels: names the labels used, for the signature.
        groups: masks of shape (n,) by name; all triples by default.
        seed, resamples, shuffles: of the bootstrap and the randomisation; each group and pair starts anew.

    Returns:
        Values and differences in points (0 to 100).

    Raises:
        ValueError: scores that do not fit the labels, are not finite, or two models of one name.

    >>> label = np.array([1, 0] * 40, dtype=np.int8)
    >>> good, bad = label * 0.8 + 0.1, np.linspace(0, 1, 80)
    >>> pair = [Predictions(name="good", runs=(good,)), Predictions(name="bad", runs=(bad,))]
    >>> auc = compare_predictions(label, pair, labels="imported").groups[0].differences[0]
    >>> auc.measure, round(auc.difference, 2), auc.interval[0] > 0, auc.p < 0.01
    ('auc', 51.25, True, True)
    """
    _check(label, models)
    labelled = label != UNLABELLED
    masks = {"all": np.ones(label.size, dtype=np.bool_)} if groups is None else groups
    compared = [
        _group(name, label, models, mask & labelled, seed=seed, resamples=resamples, shuffles=shuffles)
        for name, mask in masks.items()
    ]
    return PredictionComparison(
        groups=tuple(compared),
        left_out=int((~labelled).sum()),
        signature=(
            f"compare-predictions|ver:1|n:{int(labelled.sum())}|labels:{labels}|models:{len(models)}"
            f"|interval:paired-bootstrap|p:swap(auc:ranks)+1|adjusted:holm|level:95|rs:{seed}|bs:{resamples}"
            f"|shuffles:{shuffles}|numpy:{np.__version__}"
        ),
    )


def weighted_auc(label: NDArray[np.int8], score: Floats, weights: Floats) -> Floats:
    """AUC of one set of scores under many weightings of the triples at once.

    Args:
        label: (n,) 1 or 0; score: (n,); weights: (..., n), not negative.

    Returns:
        (...) shares in 0…1, ties counted half; NaN where a class has no weight.

    >>> label, score = np.array([1, 0, 1], dtype=np.int8), np.array([0.9, 0.5, 0.5])
    >>> weighted_auc(label, score, np.array([[1.0, 1, 1], [0, 1, 1], [1, 0, 1]])).tolist()
    [0.75, 0.5, nan]
    """
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=-np.inf) > 0)
    sorted_weights = weights[..., order]
    positive = np.add.reduceat(sorted_weights * (label[order] == PLAUSIBLE), starts, axis=-1)
    negative = np.add.reduceat(sorted_weights * (label[order] != PLAUSIBLE), starts, axis=-1)
    below = np.cumsum(negative, axis=-1) - negative / 2
    return _ratio((positive * below).sum(axis=-1), positive.sum(axis=-1) * negative.sum(axis=-1))


def _check(label: NDArray[np.int8], models: Sequence[Predictions]) -> None:
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise ValueError("two models carry one name: pass their runs as runs of one model")
    for model in models:
        for scores in model.runs:
            if scores.shape != label.shape or not np.isfinite(scores).all():
                raise ValueError(f"{model.name} needs one finite score for each triple")


@dataclass(frozen=True)
class _Set:
    """One group's triples: labels, and for each model (runs, n) scores and calls."""

    label: NDArray[np.int8]
    scores: list[Floats]
    calls: list[NDArray[np.bool_]]


def _group(
    name: str,
    label: NDArray[np.int8],
    models: Sequence[Predictions],
    rows: Mask,
    *,
    seed: int,
    resamples: int,
    shuffles: int,
) -> GroupComparison:
    scores = [np.stack([run[rows] for run in model.runs]) for model in models]
    calls = [
        np.stack([scores_of[run] >= model.threshold(run) for run in range(len(model.runs))])
        for model, scores_of in zip(models, scores, strict=True)
    ]
    chosen = _Set(label[rows], scores, calls)
    differences: list[Difference] = []
    drawn = _drawn_aucs(chosen, seed=seed, resamples=resamples)
    for one in MEASURES:
        family = []
        for a, b in combinations(range(len(models)), 2):
            pair = _Pair(chosen, one, a, b, seed=seed, resamples=resamples, shuffles=shuffles)
            family.append(_difference(pair, models[a].name, models[b].name, drawn))
        differences += with_holm(family)
    spreads = [made for place, model in enumerate(models) for made in _spreads(model, chosen, place)]
    return GroupComparison(
        group=name, n=int(rows.sum()), spreads=tuple(spreads), differences=tuple(differences)
    )


def _spreads(model: Predictions, chosen: _Set, place: int) -> list[Spread]:
    runs = [
        measure(chosen.label, scores, threshold=model.threshold(run))
        for run, scores in enumerate(chosen.scores[place])
    ]
    return [
        spread(
            model.name,
            name,
            [None if (value := getattr(run, name)) is None else 100 * value for run in runs],
        )
        for name in MEASURES
    ]


@dataclass(frozen=True)
class _Pair:
    chosen: _Set
    measure: str
    a: int
    b: int
    seed: int
    resamples: int
    shuffles: int

    @property
    def same(self) -> bool:
        """Whether nothing this measure looks at differs anywhere."""
        if self.measure == "auc":
            sides = [np.sort(_ranks(self.chosen.scores[side]), axis=0) for side in (self.a, self.b)]
        else:
            sides = [np.sort(self.chosen.calls[side], axis=0) for side in (self.a, self.b)]
        return bool(np.array_equal(sides[0], sides[1]))


def _difference(pair: _Pair, a: str, b: str, drawn_aucs: list[Floats] | None) -> Difference:
    values = [_value(pair, side) for side in (pair.a, pair.b)]
    known = Difference(measure=pair.measure, a=a, b=b, n=pair.chosen.label.size, unit="triples")
    if not np.isfinite(values).all():
        return replace(known, reason=_why(pair.chosen.label, pair.measure))
    interval, ci95_reason = _interval(pair, drawn_aucs, float(values[0] - values[1]))
    runs = [len(pair.chosen.scores[side]) for side in (pair.a, pair.b)]
    p = _p(pair) if runs[0] == runs[1] else None
    return replace(
        known,
        value_a=100 * values[0],
        value_b=100 * values[1],
        difference=100 * (values[0] - values[1]),
        interval=None if interval is None else (100 * interval[0], 100 * interval[1]),
        method=None if interval is None else "paired-bootstrap",
        p=p,
        ci95_reason=ci95_reason,
        p_reason=None if p is not None else UNEQUAL_RUNS.format(a=runs[0], b=runs[1]),
    )


def _value(pair: _Pair, side: int) -> float:
    """The mean over runs; NaN where it is undefined for one of them."""
    chosen = pair.chosen
    if not chosen.label.size:
        return float("nan")
    if pair.measure == "auc":
        ones = np.ones(chosen.label.size)
        return float(np.mean([weighted_auc(chosen.label, run, ones) for run in chosen.scores[side]]))
    hits = (chosen.calls[side] & (chosen.label == PLAUSIBLE)).sum(axis=1).astype(np.float64)
    named = chosen.calls[side].sum(axis=1).astype(np.float64)
    plausible = float((chosen.label == PLAUSIBLE).sum())
    return float(np.mean(_of_calls(pair.measure, hits, named, np.full(hits.shape, plausible))))


def _why(label: NDArray[np.int8], measure: str) -> str:
    if not label.size:
        return "no triples"
    if measure == "auc":
        return "AUC needs plausible and implausible triples"
    if measure == "precision":
        return "a run calls no triple plausible, so it has no precision"
    return "no triple here is plausible"


def _drawn_aucs(chosen: _Set, *, seed: int, resamples: int) -> list[Floats] | None:
    """For each model the mean AUC over its runs in each resample, all models on the same draws."""
    n = chosen.label.size
    if not 0 < int((chosen.label == PLAUSIBLE).sum()) < n:
        return None
    rng = np.random.default_rng(seed)
    drawn = [np.empty(resamples) for _ in chosen.scores]
    step = max(1, _CHUNK // n)
    for start in range(0, resamples, step):
        weights = drawn_counts(rng, n, min(step, resamples - start))
        for values, scores in zip(drawn, chosen.scores, strict=True):
            runs = [weighted_auc(chosen.label, run, weights) for run in scores]
            values[start : start + step] = np.mean(runs, axis=0)
    return drawn


def _interval(
    pair: _Pair, drawn_aucs: list[Floats] | None, value: float
) -> tuple[tuple[float, float] | None, str | None]:
    if pair.same:
        return None, SAME
    if pair.measure == "auc" and drawn_aucs is not None:
        values = drawn_aucs[pair.a] - drawn_aucs[pair.b]
    else:
        kinds = _Kinds(pair)
        rng = np.random.default_rng(pair.seed)
        draws = rng.multinomial(kinds.n, kinds.counts / kinds.n, size=pair.resamples)
        values = kinds.difference(draws, draws @ kinds.a_calls, draws @ kinds.b_calls,
                                  draws @ kinds.a_hits, draws @ kinds.b_hits)  # fmt: skip
    defined = values[np.isfinite(values)]
    if defined.size < (1 - _MOST_UNDEFINED) * values.size:
        return None, "in too many resamples the figure is undefined: the group is too small"
    low, high = np.quantile(defined, [0.025, 0.975])
    if high - low < _CLOSE:
        return None, "no resample differs from another: the group is too small"
    return (min(float(low), value), max(float(high), value)), None


def _p(pair: _Pair) -> float:
    if pair.measure == "auc":
        return _p_of_ranks(pair)
    kinds = _Kinds(pair)
    rng = np.random.default_rng([pair.seed, 1])
    swapped = rng.binomial(kinds.counts, 0.5, size=(pair.shuffles, kinds.counts.size))
    kept = kinds.counts - swapped
    values = kinds.difference(
        np.broadcast_to(kinds.counts, kept.shape),
        kept @ kinds.a_calls + swapped @ kinds.b_calls,
        kept @ kinds.b_calls + swapped @ kinds.a_calls,
        kept @ kinds.a_hits + swapped @ kinds.b_hits,
        kept @ kinds.b_hits + swapped @ kinds.a_hits,
    )
    observed = abs(_value(pair, pair.a) - _value(pair, pair.b))
    # An arrangement in which one side calls nothing plausible has no precision: it counts as extreme.
    extreme = (np.abs(values) >= observed - _CLOSE) | ~np.isfinite(values)
    return p_value(int(extreme.sum()), pair.shuffles)


class _Kinds:
    """Triples that look alike (label, calls of every run of both models) are interchangeable."""

    def __init__(self, pair: _Pair) -> None:
        label = (pair.chosen.label == PLAUSIBLE)[:, None]
        a, b = pair.chosen.calls[pair.a].T, pair.chosen.calls[pair.b].T
        rows = np.concatenate([label, a, b], axis=1).astype(np.int64)
        kinds, self.counts = np.unique(rows, axis=0, return_counts=True)
        self.n = len(rows)
        self.measure = pair.measure
        self.plausible, runs = kinds[:, :1], a.shape[1]
        self.a_calls, self.b_calls = kinds[:, 1 : 1 + runs], kinds[:, 1 + runs :]
        self.a_hits, self.b_hits = self.a_calls * self.plausible, self.b_calls * self.plausible

    def difference(
        self,
        counts: NDArray[np.int64],
        a_named: NDArray[np.int64],
        b_named: NDArray[np.int64],
        a_hits: NDArray[np.int64],
        b_hits: NDArray[np.int64],
    ) -> Floats:
        """(draws,) mean over a's runs minus mean over b's."""
        plausible = counts @ self.plausible
        a = _of_calls(self.measure, a_hits, a_named, np.broadcast_to(plausible, a_hits.shape))
        b = _of_calls(self.measure, b_hits, b_named, np.broadcast_to(plausible, b_hits.shape))
        apart: Floats = a.mean(axis=1) - b.mean(axis=1)
        return apart


def _of_calls(measure: str, hits: NDArray[Any], named: NDArray[Any], plausible: NDArray[Any]) -> Floats:
    if measure == "precision":
        return _ratio(hits, named)
    return _ratio(hits, plausible) if measure == "recall" else _ratio(2 * hits, named + plausible)


def _ranks(scores: Floats) -> NDArray[np.int64]:
    """(runs, n) twice the mid-rank within each run, less one: whole numbers from 1 to 2n − 1."""
    ranks = np.empty(scores.shape, dtype=np.int64)
    for run, values in enumerate(scores):
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks[run] = (2 * np.cumsum(counts) - counts)[place]
    return ranks


def _p_of_ranks(pair: _Pair) -> float:
    positive = pair.chosen.label == PLAUSIBLE
    order = np.argsort(~positive, kind="stable")  # plausible triples first
    sides = [_ranks(pair.chosen.scores[side])[:, order] for side in (pair.a, pair.b)]
    cut, runs = int(positive.sum()), list(zip(*sides, strict=True))
    observed = abs(sum(_pairs_won(a, cut) - _pairs_won(b, cut) for a, b in runs))
    rng, extreme = np.random.default_rng([pair.seed, 1]), 0
    for _ in range(pair.shuffles):  # one at a time: the counts of one shuffle stay in the processor's cache
        kept = rng.integers(0, 2, size=positive.size, dtype=np.bool_)
        apart = 0
        for a, b in runs:
            one = np.where(kept, a, b)
            apart += _pairs_won(one, cut) - _pairs_won(a + b - one, cut)
        extreme += abs(apart) >= observed
    return p_value(extreme, pair.shuffles)


def _pairs_won(ranks: NDArray[np.int64], cut: int) -> int:
    """Twice the number of (plausible, implausible) pairs in which the first ranks higher, ties counted half; the
    first `cut` of (n,) ranks are the plausible triples. By counting: ranks are whole numbers below 2n."""
    counts = np.bincount(ranks[cut:], minlength=2 * ranks.size)
    return int((2 * np.cumsum(counts) - counts)[ranks[:cut]].sum())


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """NaN, not a warning, where the whole is 0; None and reasons are made of it before it leaves."""
    above, below = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0))
