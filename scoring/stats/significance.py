"""Differences between systems on the same items: paired bootstrap, paired randomisation, Holm over all pairs.

Two systems that were judged on the same compounds are compared compound by compound, because what makes a compound
hard makes it hard for both: the interval of the difference is narrower than the two intervals suggest, and
overlapping intervals do not mean "no difference".

- *Paired bootstrap*: compounds (with all their contexts, all runs, both systems) are drawn anew, 95 % percentiles.
- *Paired randomisation*: under the hypothesis that the systems are exchangeable, either could have produced either
  side of a compound; the sides are swapped at random. p = (1 + swaps at least as extreme) / (1 + swaps): the
  observed arrangement is one of the possible ones, so p is never 0 and a test at 5 % errs in at most 5 %.
- *Holm*: over all pairs of one measure, so that the chance of one false finding among them stays at the level.
- *Runs*: a system's figure is the mean over its runs, with standard deviation and number. Interval and p hold for
  these runs; the spread between seeds is beside them, and new seeds are not covered.

Sources: Efron and Tibshirani (1993), chapters 13 and 16; Noreen (1989) for approximate randomisation; Phipson and
Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9:39, for the +1; Holm (1979), Scand. J. Statistics 6, 65–70.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.error_rates import CONTEXTS, UNDECIDED, WRONG
from scoring.stats.proportions import RESAMPLES, Integers, Interval, clopper_pearson, reasons, wilson
from scoring.stats.systems import JudgedSystem, SystemTable, system_table

RATES = ("instance", "aggregate")
SHUFFLES = 10_000
_MOST_REDRAWN = 0.1

SAME = say(
    "All instances that both have labels for are the same translations, judged once; the difference is 0 for that "
    "reason alone, and there is nothing to draw or to test."
)
NONE_DECIDED = {  # why a rate of two systems has no difference
    "instance": say("no context was decided for both systems"),
    "aggregate": say("no compound has exactly five contexts, all of them decided for both systems"),
}
NOTE = say(
    "Differences are paired. Intervals and p-values are conditional on these runs, experts and atoms; "
    "the spread over runs stands beside them."
)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """a minus b, in points (0 to 100 scale), on `n` units that both hold.

    `value_a` and `value_b` are the figures on exactly these units. Where something is None, `reason` (of value and
    interval), `ci95_reason` (of the interval) or `p_reason` says why. `p_holm` is p after Holm over the pairs of
    its family (the pairs of this measure, in this group). Of judged instances, `labelled` is how many instances (of the
    aggregate rate: compounds) are compared, and `undecided` how many both systems translated but lack a label in one.
    """

    measure: str
    a: str
    b: str
    n: int
    unit: str
    value_a: float | None = None
    value_b: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    method: str | None = None
    p: float | None = None
    p_holm: float | None = None
    reason: str | None = None
    ci95_reason: str | None = None
    p_reason: str | None = None
    labelled: int | None = None
    undecided: int | None = None

    @property
    def warning(self) -> str | None:
        """That labels are missing, where a difference was found; what is the same by construction says so itself."""
        if not self.undecided or self.measure != "instance" or self.interval is None:
            return None
        return say(
            "{a} – {b}: {undecided} of {n} instances have no label in one of the two or in both (not judged yet, or "
            "undecided) and are left out; the others need not be like them.",
            a=self.a,
            b=self.b,
            undecided=self.undecided,
            n=self.undecided + (self.labelled or 0),
        )

    def named(self, a: str, b: str, *, turned: bool) -> "Difference":
        """The same comparison under other names; turned, it is b minus a. Its p-values stay: they have no direction."""
        if not turned:
            return replace(self, a=a, b=b)
        return replace(
            self,
            a=a,
            b=b,
            value_a=self.value_b,
            value_b=self.value_a,
            difference=None if self.difference is None else 0.0 - self.difference,
            interval=None if self.interval is None else (-self.interval[1], -self.interval[0]),
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values in points, full precision."""
        return {
            "measure": self.measure,
            "a": self.a,
            "b": self.b,
            "n": self.n,
            "unit": self.unit,
            "value_a": self.value_a,
            "value_b": self.value_b,
            "difference": self.difference,
            "ci95": None if self.interval is None else list(self.interval),
            "ci95_method": self.method,
            "p": self.p,
            "p_holm": self.p_holm,
            **_where_known(labelled=self.labelled, undecided=self.undecided, warning=self.warning),
            **reasons(self.reason, "reason"),
            **reasons(self.ci95_reason or (None if self.interval else self.reason), "ci95_reason"),
            **reasons(self.p_reason or (None if self.p is not None else self.reason), "p_reason"),
        }


def _where_known(**values: object) -> dict[str, object]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A figure over the runs of one system: mean, standard deviation (n − 1), smallest, largest; in points.

    `values` are the runs in the order given, None where a run has no such figure; these are left out. `sd` is None
    with fewer than two runs: one run says nothing about the next. Of judged instances, `labelled` is of each run on how
    many instances (of the aggregate rate: compounds) its figure is, `undecided` how many it translated besides.
    """

    name: str
    measure: str
    values: tuple[float | None, ...]
    n: int
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    reason: str | None = None
    sd_reason: str | None = None
    labelled: tuple[int, ...] | None = None
    undecided: tuple[int, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """`{name, measure, values, n, mean, sd, low, high}`, with reasons where undefined."""
        return {
            "name": self.name,
            "measure": self.measure,
            "values": list(self.values),
            "n": self.n,
            "mean": self.mean,
            "sd": self.sd,
            "low": self.low,
            "high": self.high,
            **_where_known(
                labelled=None if self.labelled is None else list(self.labelled),
                undecided=None if self.undecided is None else list(self.undecided),
            ),
            **reasons(self.reason, "reason"),
            **reasons(self.sd_reason, "sd_reason"),
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Every system's figures over its runs, and the difference of every two systems."""

    spreads: tuple[Spread, ...]
    differences: tuple[Difference, ...]
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{systems, differences, note, signature}`."""
        return {
            "systems": [spread.as_json() for spread in self.spreads],
            "differences": [difference.as_json() for difference in self.differences],
            "note": NOTE,
            "signature": self.signature,
        }


def spread(name: str, measure: str, values: Sequence[float | None]) -> Spread:
    """Mean and spread of one figure over runs.

    >>> found = spread("x", "instance", [20.0, 22.0, None, 24.0])
    >>> found.n, found.mean, found.sd, (found.low, found.high)
    (3, 22.0, 2.0, (20.0, 24.0))
    >>> spread("x", "instance", [20.0]).sd_reason
    'one run says nothing about the spread over runs'
    """
    known = [value for value in values if value is not None]
    n = len(known)
    if not n:
        return Spread(
            name=name, measure=measure, values=tuple(values), n=0, mean=None, sd=None, low=None, high=None,
            reason=say("no run has this figure"), sd_reason=say("no run has this figure"),
        )  # fmt: skip
    mean = fsum(known) / n
    sd = sqrt(fsum((value - mean) ** 2 for value in known) / (n - 1)) if n > 1 else None
    return Spread(
        name=name, measure=measure, values=tuple(values), n=n, mean=mean, sd=sd, low=min(known), high=max(known),
        sd_reason=None if n > 1 else say("one run says nothing about the spread over runs"),
    )  # fmt: skip


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    The smallest p is multiplied by the number of tests m, the next by m − 1 …; each is at least as large as the one
    before and at most 1. Rejecting where the adjusted value is at most α keeps the chance of any false rejection at
    α whatever the tests depend on.

    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def with_holm(differences: Sequence[Difference]) -> list[Difference]:
    """The same differences, `p_holm` filled in over those that have a p; they are taken as one family."""
    tested = [place for place, difference in enumerate(differences) if difference.p is not None]
    adjusted = holm([difference.p for difference in differences if difference.p is not None])
    of_place = dict(zip(tested, adjusted, strict=True))
    return [replace(difference, p_holm=of_place.get(place)) for place, difference in enumerate(differences)]


def p_value(at_least_as_extreme: int, shuffles: int) -> float:
    """(1 + count) / (1 + shuffles): the observed arrangement is one of those that could have been drawn.

    >>> p_value(0, 999)
    0.001
    """
    return (1 + at_least_as_extreme) / (1 + shuffles)


def drawn_counts(
    rng: np.random.Generator, n: int, resamples: int, *, dtype: type[np.floating[Any]] = np.float64
) -> NDArray[np.floating[Any]]:
    """(resamples, n) how often each of n units comes up when n are drawn with replacement.

    Args:
        rng: with 64 raw bits a step, as `default_rng` makes it.
        dtype: of the result; its whole numbers are exact, also in four bytes.

    The raw bits are cut into numbers of 16 bits (32, where n is large), of which every unit gets equally many. What
    falls to none, because 2¹⁶ is no multiple of n, is drawn anew: every unit is exactly as likely as every other.
    That takes half the time of one bounded whole number after the other.

    >>> drawn_counts(np.random.default_rng(1), 4, 3).sum(axis=1).tolist()
    [4.0, 4.0, 4.0]
    >>> drawn_counts(np.random.default_rng(1), 1, 2).tolist()
    [[1.0], [1.0]]
    """
    if n == 1:  # all bits fall to the only unit, and 2¹⁶ of them are no number of 16 bits
        return np.ones((resamples, 1), dtype=dtype)
    piece = np.dtype("<u2" if 2**16 % n < _MOST_REDRAWN * 2**16 else "<u4")
    of_each = 2 ** (8 * piece.itemsize) // n
    raw = rng.bit_generator.random_raw(-(-resamples * n * piece.itemsize // 8))
    units = raw.astype("<u8").view(piece)[: resamples * n].reshape(resamples, n) // piece.type(of_each)
    counts = np.empty((resamples, n), dtype=dtype)
    for row, drawn in zip(counts, units, strict=True):  # one at a time: a row of counts stays in the cache
        row[:] = np.bincount(drawn, minlength=n)[:n]
    lacking = np.count_nonzero(units >= n, axis=1)
    again = np.repeat(np.arange(resamples) * n, lacking) + rng.integers(0, n, lacking.sum())
    np.add.at(counts.reshape(-1), again, dtype(1))
    return counts


def sign_flip_p(differences: Integers, *, seed: int, shuffles: int = SHUFFLES) -> float:
    """Two-sided p of "the sum of paired differences is 0" when the two sides of each cluster are swapped at random.

    Args:
        differences: (clusters,) whole numbers, a minus b.
        seed, shuffles: of the swaps, drawn anew and independent of those of a bootstrap with the same seed.

    Clusters with the same |difference| are interchangeable: how many of them are swapped is binomial, so a shuffle
    costs as much as there are distinct sizes of differences.

    >>> round(sign_flip_p(np.array([1, 1, 1, 1]), seed=1, shuffles=9999), 2)  # exactly 2 / 16
    0.13
    """
    rng = np.random.default_rng([seed, 1])
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    observed = abs(int(differences.sum()))
    swapped = rng.binomial(counts, 0.5, size=(shuffles, counts.size))
    sums = np.abs((counts - 2 * swapped) @ sizes)
    return p_value(int((sums >= observed).sum()), shuffles)


def paired_interval(
    differences: Integers, sizes: Integers, *, scale: int = 1, seed: int, resamples: int = RESAMPLES
) -> tuple[Interval, str]:
    """A 95 % interval of sum(differences) / (scale · sum(sizes)) over clusters, in −1…1, and its method.

    Args:
        differences: (clusters,) whole numbers between ± scale · size.
        sizes: (clusters,) instances of each cluster, > 0.
        scale: what a difference of one whole instance counts.

    Returns:
        The percentile bootstrap over clusters; where no cluster differs, ± the exact upper limit of the share of
        clusters that do (the difference cannot be larger); where all differ by the same share, Wilson's interval
        over clusters on the scale −1…1. The last two keep the interval from having no width.

    >>> (low, high), method = paired_interval(np.array([0] * 50), np.array([1] * 50), seed=1)
    >>> round(low, 3), round(high, 3), method
    (-0.071, 0.071, 'clopper-pearson-over-differing')
    """
    clusters = differences.size
    if not differences.any():
        bound = clopper_pearson(0, clusters)[1]
        return (-bound, bound), "clopper-pearson-over-differing"
    whole, total = int(sizes.sum()) * scale, int(differences.sum())
    if np.all(differences * whole == total * sizes * scale):
        low, high = wilson(clusters * (1 + total / whole) / 2, clusters)
        return (2 * low - 1, 2 * high - 1), "wilson-over-clusters"
    kinds, counts = np.unique(np.stack([differences, sizes], axis=1), axis=0, return_counts=True)
    draws = np.random.default_rng(seed).multinomial(clusters, counts / clusters, size=resamples)
    sums = draws @ kinds
    low, high = np.quantile(sums[:, 0] / (scale * sums[:, 1]), [0.025, 0.975])
    return (float(low), float(high)), "paired-cluster-bootstrap"


def compare_systems(
    systems: Sequence[JudgedSystem],
    *,
    labels: str,
    seed: int = 0,
    resamples: int = RESAMPLES,
    shuffles: int = SHUFFLES,
) -> Comparison:
    """Instance and aggregate error rates of systems over their runs, and every two systems' differences.

    Args:
        systems: two or more, each with its runs; `labels` names the verdicts' rule and version, for the signature.
        seed, resamples, shuffles: of the bootstrap and the randomisation. Each pair starts from the same seed, so
            that it does not depend on which others are compared.

    Returns:
        Differences in points. A pair is compared on what all runs of both hold: instances with a verdict in each;
        for the aggregate rate compounds with exactly five contexts and all verdicts. `n` counts compounds.

    Raises:
        ValueError: two systems under one name.

    How to read it: a difference is worth naming where its interval excludes 0 and `p_holm` is small, and it is larger
    than the spread over seeds; six seeds of one model spread over 7 points of instance error.

    >>> def judged(verdicts):
    ...     return Instances(unit=np.repeat(np.arange(8), 5), context=np.arange(40), cannot_judge=np.zeros(40, bool),
    ...                      verdict=np.array(verdicts, dtype=np.int8))
    >>> from scoring.stats.error_rates import Instances
    >>> better, worse = judged([1] * 40), judged(([0] + [1] * 4) * 8)
    >>> pair = [JudgedSystem(name="x", runs=(worse,)), JudgedSystem(name="y", runs=(better,))]
    >>> found = compare_systems(pair, labels="single/1")
    >>> [(one.measure, one.difference, round(one.p, 3)) for one in found.differences]
    [('instance', 20.0, 0.009), ('aggregate', 100.0, 0.009)]
    """
    table = system_table(systems)
    spreads = [made for system in range(len(systems)) for made in _spreads(table, system)]
    differences: list[Difference] = []
    pairs = list(combinations(range(len(systems)), 2))
    for measure in RATES:
        family = [
            _difference(table, measure, a, b, seed=seed, resamples=resamples, shuffles=shuffles)
            for a, b in pairs
        ]
        differences += with_holm(family)
    return Comparison(
        spreads=tuple(spreads),
        differences=tuple(differences),
        signature=(
            f"compare-systems|ver:2|contexts:{CONTEXTS}|systems:{len(systems)}|compounds:{len(table.units)}"
            f"|labels:{labels}|interval:paired-cluster-bootstrap|p:sign-flip+1|adjusted:holm|level:95"
            f"|rs:{seed}|bs:{resamples}|shuffles:{shuffles}|numpy:{np.__version__}"
        ),
    )


def pair_differences(
    a: JudgedSystem,
    b: JudgedSystem,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    shuffles: int = SHUFFLES,
) -> list[Difference]:
    """Both error rates of two runs (or systems), a minus b, as in `compare_systems`; Holm runs over the two rates.

    Raises ValueError where both carry one name.

    >>> def judged(verdicts):
    ...     return Instances(unit=np.repeat(np.arange(8), 5), context=np.arange(40), cannot_judge=np.zeros(40, bool),
    ...                      verdict=np.array(verdicts, dtype=np.int8))
    >>> from scoring.stats.error_rates import Instances
    >>> one = JudgedSystem(name="x / 1", runs=(judged(([0] + [1] * 4) * 8),))
    >>> other = JudgedSystem(name="x / 2", runs=(judged([1] * 40),))
    >>> [(found.measure, round(found.p, 3), round(found.p_holm, 3)) for found in pair_differences(one, other)]
    [('instance', 0.009, 0.018), ('aggregate', 0.009, 0.018)]
    """
    table = system_table([a, b])
    return with_holm(
        [
            _difference(table, measure, 0, 1, seed=seed, resamples=resamples, shuffles=shuffles)
            for measure in RATES
        ]
    )


@dataclass(frozen=True)
class _Sides:
    """Wrong units per cluster and run of two systems, and the units of each cluster."""

    a: NDArray[np.int64]  # (clusters, runs of a)
    b: NDArray[np.int64]
    sizes: NDArray[np.int64]
    undecided: int  # units that all runs translated, and one of them has no label for
    same: bool  # every compared instance is one and the same translation in all runs


def _spreads(table: SystemTable, system: int) -> list[Spread]:
    columns = np.flatnonzero(table.columns == system)
    made = []
    for measure in RATES:
        of_runs = [_sides(table, measure, [column], [column]) for column in columns.tolist()]
        judged = [int(sides.sizes.sum()) for sides in of_runs]
        values = [
            100 * int(sides.a.sum()) / n if n else None for sides, n in zip(of_runs, judged, strict=True)
        ]
        undecided = tuple(sides.undecided for sides in of_runs)
        found = spread(table.names[system], measure, values)
        made.append(replace(found, labelled=tuple(judged), undecided=undecided))
    return made


def _sides(table: SystemTable, measure: str, of_a: Sequence[int], of_b: Sequence[int]) -> _Sides:
    """Of two systems by their columns."""
    columns = [*of_a, *of_b]
    items = table.item[:, columns]
    there = (items != 0).all(axis=1)
    decided = (table.verdict[:, columns] != UNDECIDED).all(axis=1)
    judged, translated = table.per_unit(decided), table.per_unit(there)
    wrong = [
        np.stack([table.per_unit(decided & (table.verdict[:, column] == WRONG)) for column in side], axis=1)
        for side in (of_a, of_b)
    ]
    if measure == "instance":
        kept, sizes = judged > 0, judged
        undecided = int((there & ~decided).sum())
    else:
        whole = table.per_unit(np.ones(table.unit.size)) == CONTEXTS
        kept, sizes = (judged == CONTEXTS) & whole, np.ones_like(judged)
        undecided = int(((translated == CONTEXTS) & whole & ~kept).sum())
        wrong = [np.minimum(side, 1) for side in wrong]
    compared = items[decided & kept[table.unit]]
    same = bool((compared > 0).all() and (compared == compared[:, :1]).all())
    return _Sides(wrong[0][kept], wrong[1][kept], sizes[kept], undecided, same)


def _difference(
    table: SystemTable, measure: str, a: int, b: int, *, seed: int, resamples: int, shuffles: int
) -> Difference:
    columns_a, columns_b = (np.flatnonzero(table.columns == system).tolist() for system in (a, b))
    sides = _sides(table, measure, columns_a, columns_b)
    n, units = sides.sizes.size, int(sides.sizes.sum())
    known = Difference(
        measure=measure, a=table.names[a], b=table.names[b], n=n, unit="compounds", labelled=units,
        undecided=sides.undecided,
    )  # fmt: skip
    if not n:
        return replace(known, reason=NONE_DECIDED[measure])
    runs_a, runs_b = len(columns_a), len(columns_b)
    apart = sides.a.sum(axis=1) * runs_b - sides.b.sum(axis=1) * runs_a
    known = replace(
        known,
        value_a=100 * int(sides.a.sum()) / (runs_a * units),
        value_b=100 * int(sides.b.sum()) / (runs_b * units),
        difference=100 * int(apart.sum()) / (runs_a * runs_b * units),
    )
    if sides.same:
        return replace(known, ci95_reason=SAME, p_reason=SAME)
    (low, high), method = paired_interval(
        apart, sides.sizes, scale=runs_a * runs_b, seed=seed, resamples=resamples
    )
    return replace(
        known,
        interval=(100 * low, 100 * high),
        method=method,
        p=sign_flip_p(apart, seed=seed, shuffles=shuffles),
    )
