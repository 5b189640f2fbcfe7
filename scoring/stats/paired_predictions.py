"""Differences between systems on the same triples: AUC, F1, precision and recall of the plausible class.

- *Interval*: triples are drawn anew, the same ones for every system and run (paired percentile bootstrap).
- *p*: for each triple the two systems' predictions are swapped at random, with all their runs. For AUC what is
  swapped are the ranks a system gives (mid-ranks within the run), so that systems on different scales can be
  compared; for F1, precision and recall the calls "plausible or not" at each run's own threshold. p has the +1 of
  `significance`.
- A system's figure is the mean over its runs. Swapping needs as many runs on both sides; with unequal numbers there
  is an interval and no p.

Sources: Bandos, Rockette and Gur (2005), Statistics in Medicine 24, 2873–2893, for exchanging ranks; Yeh (2000),
COLING, for F1; Efron and Tibshirani (1993).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.classification import DEFAULT_THRESHOLD, NO_LABELS, NO_TRIPLES, PLAUSIBLE, UNLABELLED
from scoring.stats.groups import Mask
from scoring.stats.proportions import RESAMPLES, Interval, percent
from scoring.stats.significance import (
    SHUFFLES,
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
OF_PAIRS = ("auc", "f1")
# Triples × resamples, or × shuffles, at once: 32 MiB of weights.
_CHUNK = 4_000_000
_MOST_UNDEFINED = 0.05
# Swaps give the observed difference again in many arrangements; rounding must not decide whether it counts.
_CLOSE = 1e-12

NOTE = say(
    "Differences are paired. Intervals and p-values are conditional on these runs and labels; the spread over runs "
    "stands beside them."
)
SAME = say("the two never differ on these triples")


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """A system's scores on all triples, one array per run, and the threshold of each run (tuned or given)."""

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
    """The systems on one group of triples: figures over runs, differences of every two systems."""

    group: str
    n: int
    spreads: tuple[Spread, ...]
    differences: tuple[Difference, ...]

    def as_json(self) -> dict[str, Any]:
        """`{group, n, systems, differences}`."""
        return {
            "group": self.group,
            "n": self.n,
            "systems": [one.as_json() for one in self.spreads],
            "differences": [difference.as_json() for difference in self.differences],
        }


@dataclass(frozen=True, kw_only=True)
class PredictionComparison:
    """Every group's comparison; Holm runs over the pairs of systems within one measure and group."""

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
    systems: Sequence[Predictions],
    *,
    labels: str,
    groups: Mapping[str, Mask] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    shuffles: int = SHUFFLES,
) -> PredictionComparison:
    """AUC, F1, precision and recall of systems over their runs, and the differences of every two systems.

    Args:
        label: (n,) 1 plausible, 0 implausible, -1 left out and counted.
        systems: one or more; every run scores all n triples.
        labels: names the labels used, for the signature.
        groups: masks of shape (n,) by name; all triples by default.
        seed, resamples, shuffles: of the bootstrap and the randomisation; each group starts anew, and all its pairs
            share the draws, so that a pair does not depend on which others are compared.

    Returns:
        Values and differences in points (0 to 100).

    Raises:
        ValueError: scores that do not fit the labels, are not finite, or two systems of one name.

    >>> label = np.array([1, 0] * 40, dtype=np.int8)
    >>> good, bad = label * 0.8 + 0.1, np.linspace(0, 1, 80)
    >>> pair = [Predictions(name="good", runs=(good,)), Predictions(name="bad", runs=(bad,))]
    >>> auc = compare_predictions(label, pair, labels="imported").groups[0].differences[0]
    >>> auc.measure, round(auc.difference, 2), auc.interval[0] > 0, auc.p < 0.01
    ('auc', 51.25, True, True)
    """
    _check(label, systems)
    labelled = label != UNLABELLED
    masks = {"all": np.ones(label.size, dtype=np.bool_)} if groups is None else groups
    compared = [
        _group(name, label, systems, mask, seed=seed, resamples=resamples, shuffles=shuffles)
        for name, mask in masks.items()
    ]
    return PredictionComparison(
        groups=tuple(compared),
        left_out=int((~labelled).sum()),
        signature=(
            f"compare-predictions|ver:2|n:{int(labelled.sum())}|labels:{labels}|systems:{len(systems)}"
            f"|runs:{'+'.join(str(len(system.runs)) for system in systems)}|interval:paired-bootstrap"
            f"|p:swap(auc:ranks)+1|adjusted:holm|level:95|rs:{seed}|bs:{resamples}|shuffles:{shuffles}"
            f"|numpy:{np.__version__}"
        ),
    )


def pair_differences(
    label: NDArray[np.int8],
    a: Predictions,
    b: Predictions,
    *,
    groups: Mapping[str, Mask] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    shuffles: int = SHUFFLES,
) -> dict[str, list[Difference]]:
    """AUC and F1 of two runs (or systems) in each group, a minus b; Holm runs over all that is returned.

    Arguments and errors as in `compare_predictions`.

    >>> label = np.array([1, 0] * 40, dtype=np.int8)
    >>> one, other = (Predictions(name=name, runs=(label * 0.8,)) for name in "ab")
    >>> [(found.measure, found.difference) for found in pair_differences(label, one, other)["all"]]
    [('auc', 0.0), ('f1', 0.0)]
    """
    found = compare_predictions(
        label, [a, b], labels="", groups=groups, seed=seed, resamples=resamples, shuffles=shuffles
    )
    shown = [
        (group.group, one) for group in found.groups for one in group.differences if one.measure in OF_PAIRS
    ]
    adjusted = with_holm([one for _, one in shown])
    by_group: dict[str, list[Difference]] = {group.group: [] for group in found.groups}
    for (group, _), one in zip(shown, adjusted, strict=True):
        by_group[group].append(one)
    return by_group


def weighted_auc(label: NDArray[np.int8], score: Floats, weights: Floats) -> Floats:
    """AUC of one set of scores under many weightings of the triples at once.

    Args:
        label: (n,) 1 or 0; score: (n,); weights: (..., n), not negative; fastest with the triples as slowest axis in
            memory.

    Returns:
        (...) shares in 0…1, ties counted half; NaN where a class has no weight.

    >>> label, score = np.array([1, 0, 1], dtype=np.int8), np.array([0.9, 0.5, 0.5])
    >>> weighted_auc(label, score, np.array([[1.0, 1, 1], [0, 1, 1], [1, 0, 1]])).tolist()
    [0.75, 0.5, nan]
    """
    positive = label == PLAUSIBLE
    order = np.flatnonzero(~positive)[np.argsort(score[~positive], kind="stable")]
    by_triple = np.moveaxis(weights, -1, 0)
    # Row i holds the weight of the i implausible triples with the lowest scores.
    below = np.zeros((order.size + 1, *by_triple.shape[1:]))
    np.cumsum(by_triple[order], axis=0, out=below[1:])
    less = below[np.searchsorted(score[order], score[positive], "left")]
    not_more = below[np.searchsorted(score[order], score[positive], "right")]
    won = np.einsum("i...,i...->...", by_triple[positive], less + not_more) / 2
    return _ratio(won, by_triple[positive].sum(axis=0) * below[-1])


def _check(label: NDArray[np.int8], systems: Sequence[Predictions]) -> None:
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise ValueError("two systems carry one name: pass their runs as runs of one system")
    for system in systems:
        for scores in system.runs:
            if scores.shape != label.shape or not np.isfinite(scores).all():
                raise ValueError(f"{system.name} needs one finite score for each triple")


# One group ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Set:
    """One group's triples: labels, and for each system (runs, n) scores, their ranks, and calls."""

    label: NDArray[np.int8]
    scores: list[Floats]
    ranks: list[NDArray[np.int64]]
    calls: list[NDArray[np.bool_]]
    nothing: str  # why there is no figure where there is no triple

    def same(self, measure: str, a: int, b: int) -> bool:
        """Whether nothing that this measure looks at differs anywhere, in whatever order the runs stand."""
        looked_at: Sequence[NDArray[Any]] = self.ranks if measure == "auc" else self.calls
        return np.array_equal(np.sort(looked_at[a], axis=0), np.sort(looked_at[b], axis=0))

    def why(self, measure: str) -> str:
        """Why the measure is undefined here."""
        if not self.label.size:
            return self.nothing
        if measure == "auc":
            return say("AUC needs plausible and implausible triples")
        if measure == "precision":
            return say("a run calls no triple plausible, so it has no precision")
        return say("no triple here is plausible")


def _chosen(label: NDArray[np.int8], systems: Sequence[Predictions], mask: Mask) -> _Set:
    rows = mask & (label != UNLABELLED)
    scores = [np.stack([run[rows] for run in system.runs]) for system in systems]
    calls = [
        np.stack([run >= system.threshold(number) for number, run in enumerate(runs)])
        for system, runs in zip(systems, scores, strict=True)
    ]
    nothing = NO_LABELS if mask.any() else NO_TRIPLES
    return _Set(label[rows], scores, [_ranks(runs) for runs in scores], calls, nothing)


def _ranks(scores: Floats) -> NDArray[np.int64]:
    """(runs, n) twice the mid-rank within each run, less one: whole numbers from 1 to 2n − 1."""
    ranks = np.empty(scores.shape, dtype=np.int64)
    for run, values in enumerate(scores):
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks[run] = (2 * np.cumsum(counts) - counts)[place]
    return ranks


def _group(
    name: str,
    label: NDArray[np.int8],
    systems: Sequence[Predictions],
    mask: Mask,
    *,
    seed: int,
    resamples: int,
    shuffles: int,
) -> GroupComparison:
    chosen = _chosen(label, systems, mask)
    names, pairs = [system.name for system in systems], list(combinations(range(len(systems)), 2))
    found = _Found(
        chosen,
        values=[_figures(chosen, system, np.ones((1, chosen.label.size))) for system in range(len(systems))],
        drawn=_drawn(chosen, seed=seed, resamples=resamples) if pairs and chosen.label.size else [],
        p_values=_p_values(chosen, pairs, seed=seed, shuffles=shuffles),
    )
    families = [[_difference(found, names, measure, a, b) for a, b in pairs] for measure in MEASURES]
    spreads = [
        _spread(found, names, measure, system) for system in range(len(systems)) for measure in MEASURES
    ]
    return GroupComparison(
        group=name,
        n=chosen.label.size,
        spreads=tuple(spreads),
        differences=tuple(one for family in families for one in with_holm(family)),
    )


@dataclass(frozen=True)
class _Found:
    """What one group's figures are made of, all shares in 0…1 and NaN where undefined.

    `values`: for each system, by measure, (1, runs). `drawn`: for each system, by measure, (resamples,) the mean over
    its runs. `p_values`: by pair, then measure; a pair with unequal numbers of runs is not there.
    """

    chosen: _Set
    values: list[dict[str, Floats]]
    drawn: list[dict[str, Floats]]
    p_values: dict[tuple[int, int], dict[str, float]]


def _figures(chosen: _Set, system: int, weights: Floats) -> dict[str, Floats]:
    """A system's figures by measure, (draws, runs), under each of (draws, n) weightings of the triples."""
    positive = (chosen.label == PLAUSIBLE).astype(np.float64)
    calls = chosen.calls[system].astype(np.float64)
    named, hits = weights @ calls.T, weights @ (calls * positive).T
    plausible = np.broadcast_to((weights @ positive)[:, None], hits.shape)
    found = {measure: _of_calls(measure, hits, named, plausible) for measure in OF_CALLS}
    aucs = [weighted_auc(chosen.label, run, weights) for run in chosen.scores[system]]
    return {"auc": np.stack(aucs, axis=1), **found}


def _spread(found: _Found, names: Sequence[str], measure: str, system: int) -> Spread:
    values = found.values[system][measure][0].tolist()
    made = spread(
        names[system], measure, [percent(value) if np.isfinite(value) else None for value in values]
    )
    if made.n:
        return made
    why = found.chosen.why(measure)
    return replace(made, reason=why, sd_reason=why)


def _difference(found: _Found, names: Sequence[str], measure: str, a: int, b: int) -> Difference:
    chosen = found.chosen
    known = Difference(measure=measure, a=names[a], b=names[b], n=chosen.label.size, unit="triples")
    values = [float(found.values[side][measure].mean()) for side in (a, b)]
    if not np.isfinite(values).all():
        return replace(known, reason=chosen.why(measure))
    apart = values[0] - values[1]
    interval, ci95_reason = (
        (None, SAME)
        if chosen.same(measure, a, b)
        else _percentiles(found.drawn[a][measure] - found.drawn[b][measure], apart)
    )
    p = found.p_values.get((a, b), {}).get(measure)
    return replace(
        known,
        value_a=100 * values[0],
        value_b=100 * values[1],
        difference=100 * apart,
        interval=None if interval is None else (100 * interval[0], 100 * interval[1]),
        method=None if interval is None else "paired-bootstrap",
        p=p,
        ci95_reason=ci95_reason,
        p_reason=_unequal(len(chosen.calls[a]), len(chosen.calls[b])) if p is None else None,
    )


def _unequal(a: int, b: int) -> str:
    return say(
        "swapping needs as many runs of both systems ({a} and {b} here); the interval holds without it, and single "
        "runs can be compared side by side",
        a=a,
        b=b,
    )


# Drawing anew ---------------------------------------------------------------------------------------------------


def _drawn(chosen: _Set, *, seed: int, resamples: int) -> list[dict[str, Floats]]:
    """For each system, by measure, the mean over its runs in each resample, all systems on the same draws."""
    n, systems = chosen.label.size, range(len(chosen.scores))
    rng = np.random.default_rng(seed)
    step = max(1, _CHUNK // n)
    parts = []
    for start in range(0, resamples, step):
        weights = np.asfortranarray(drawn_counts(rng, n, min(step, resamples - start)))
        parts.append([_figures(chosen, system, weights) for system in systems])
    return [
        {
            measure: np.concatenate([part[system][measure].mean(axis=1) for part in parts])
            for measure in MEASURES
        }
        for system in systems
    ]


def _percentiles(apart: Floats, value: float) -> tuple[Interval | None, str | None]:
    defined = apart[np.isfinite(apart)]
    if defined.size < (1 - _MOST_UNDEFINED) * apart.size:
        return None, say("in too many resamples the figure is undefined: the group is too small")
    low, high = (float(bound) for bound in np.quantile(defined, [0.025, 0.975]))
    if high - low < _CLOSE:
        return None, say("no resample differs from another: the group is too small")
    return (min(low, value), max(high, value)), None


def _of_calls(measure: str, hits: NDArray[Any], named: NDArray[Any], plausible: NDArray[Any]) -> Floats:
    if measure == "precision":
        return _ratio(hits, named)
    return _ratio(hits, plausible) if measure == "recall" else _ratio(2 * hits, named + plausible)


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """NaN, not a warning, where the whole is 0; None and reasons are made of it before it leaves."""
    above, below = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0))


# Swapping -------------------------------------------------------------------------------------------------------


def _p_values(
    chosen: _Set, pairs: Sequence[tuple[int, int]], *, seed: int, shuffles: int
) -> dict[tuple[int, int], dict[str, float]]:
    """By pair of systems with as many runs, the p of each measure; all pairs share the coins."""
    swaps = {(a, b): _Swap(chosen, a, b) for a, b in pairs if len(chosen.calls[a]) == len(chosen.calls[b])}
    if not swaps:
        return {}
    extreme = {pair: dict.fromkeys(MEASURES, 0) for pair in swaps}
    columns = np.hstack([swap.columns for swap in swaps.values()])
    ends = np.cumsum([swap.columns.shape[1] for swap in swaps.values()])
    for coins in _coins(chosen.label.size, seed=seed, shuffles=shuffles):
        swapped = np.split(coins @ columns, ends[:-1], axis=1)
        for (pair, swap), of_pair in zip(swaps.items(), swapped, strict=True):
            for measure, count in swap.extreme(of_pair).items():
                extreme[pair][measure] += count
    return {
        pair: {measure: p_value(count, shuffles) for measure, count in counts.items()}
        for pair, counts in extreme.items()
    }


def _coins(n: int, *, seed: int, shuffles: int) -> Iterator[Floats]:
    """Blocks of (some shuffles, n): 1 where a triple's two sides are swapped, else 0."""
    rng = np.random.default_rng([seed, 1])
    step = max(1, _CHUNK // max(n, 1))
    for start in range(0, shuffles, step):
        drawn = rng.integers(0, 256, size=(min(step, shuffles - start), -(-n // 8)), dtype=np.uint8)
        yield np.unpackbits(drawn, axis=1)[:, :n].astype(np.float64)


class _Swap:
    """Two systems with as many runs, and what becomes of their figures where triples are swapped.

    `columns`, (n, 1 + 2 runs): what a swapped triple takes away from the difference of the AUCs, and what it brings to
    the calls of each of a's runs and to those that are right; b's lose as much.
    """

    def __init__(self, chosen: _Set, a: int, b: int) -> None:
        positive = chosen.label == PLAUSIBLE
        self.plausible = float(positive.sum())
        swings = [
            _swing(of_a, of_b, positive) for of_a, of_b in zip(chosen.ranks[a], chosen.ranks[b], strict=True)
        ]
        swing = np.sum(swings, axis=0)
        calls = [chosen.calls[side].T.astype(np.float64) for side in (a, b)]  # (n, runs)
        of_calls = [np.hstack([of_side, of_side * positive[:, None]]) for of_side in calls]
        self.columns = np.column_stack([2 * swing, of_calls[1] - of_calls[0]])
        self.sums = [of_side.sum(axis=0) for of_side in of_calls]
        self.observed_auc = swing.sum()
        self.observed = self._apart(np.zeros((1, len(self.sums[0]))))

    def extreme(self, swapped: Floats) -> dict[str, int]:
        """By measure, how many shuffles give a difference at least as large as the one that was seen; `swapped` holds
        the sums of the columns over the triples that each shuffle swaps."""
        apart = np.abs(self.observed_auc - swapped[:, 0])  # whole numbers
        counts = {"auc": int((apart >= abs(self.observed_auc)).sum())}
        for measure, values in self._apart(swapped[:, 1:]).items():
            # An arrangement in which one side calls nothing plausible has no precision: it counts as extreme.
            at_least = np.abs(values) >= np.abs(self.observed[measure]) - _CLOSE
            counts[measure] = int((at_least | ~np.isfinite(values)).sum())
        return counts

    def _apart(self, moved: Floats) -> dict[str, Floats]:
        """(shuffles,) the mean over a's runs less that over b's, where `moved` has gone over from b to a."""
        means: list[dict[str, Floats]] = []
        for sums in (self.sums[0] + moved, self.sums[1] - moved):
            named, hits = np.split(sums, 2, axis=1)
            plausible = np.full(hits.shape, self.plausible)
            means.append(
                {measure: _of_calls(measure, hits, named, plausible).mean(axis=1) for measure in OF_CALLS}
            )
        return {measure: means[0][measure] - means[1][measure] for measure in OF_CALLS}


def _swing(a: NDArray[np.int64], b: NDArray[np.int64], positive: Mask) -> Floats:
    """(n,) what each triple adds to the difference of two runs' AUCs, in whole numbers; swapped, it takes that away.

    The difference sums, over pairs of a plausible and an implausible triple, what the pair wins in a less what it wins
    in b. Swapping both turns the sign; swapping one of them exchanges the one's share. So the difference is linear in
    the swaps, and a triple's share is how much farther up its rank in a stands than its rank in b, among the ranks of
    both runs in the other class (for implausible triples: farther down).
    """
    swing = np.empty(positive.size)
    for rows, sign in ((positive, 1), (~positive, -1)):
        pool = np.sort(np.concatenate([a[~rows], b[~rows]]))
        swing[rows] = sign * (_passed(pool, a[rows]) - _passed(pool, b[rows]))
    return swing


def _passed(pool: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of a sorted pool lie below each rank, twice, and once those equal to it."""
    return np.searchsorted(pool, ranks, "left") + np.searchsorted(pool, ranks, "right")
