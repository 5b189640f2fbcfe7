"""Compound translation error rates: by instance, by compound, and the share wrong in all contexts.

A compound is translated in five contexts; experts say of each instance whether the compound is right.

- instance: wrong instances / judged instances;
- aggregate: compounds with at least one wrong context / compounds with exactly five contexts, all judged;
- all contexts wrong: compounds wrong in every context / the same compounds. A published recipe reports this
  much smaller figure as the aggregate one (2.8 instead of 54.0 % on the released noun phrases); it stands
  here under its own name only.

A compound that is not fully judged is undecided whether or not a wrong context is known already: counting
it as soon as one is wrong would push the rate up (54 % would read 76 % with four of five contexts judged).
The `bounds` of the aggregate say where the rate can end once these compounds are decided.

Source: Li et al. 2021, "On Compositional Generalization of Neural Machine Translation" (CoGnition), section
4.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.proportions import (
    RESAMPLES,
    Integers,
    Interval,
    Share,
    percent_interval,
    share_of_units,
    share_over_clusters,
)

CONTEXTS = 5
CORRECT, WRONG, UNDECIDED = 1, 0, -1

CONDITIONAL = (
    "Intervals take compounds as the independent units and are conditional on these experts and these atoms: "
    "other experts or other words are not covered by them."
)


@dataclass(frozen=True, kw_only=True)
class Instances:
    """One system's outputs with their verdicts, shape (instances,): one row per context of a compound.

    `unit`: the compound's key. `context`: the context's own key (not its printed number, which a file may
    repeat); a pair of both occurs once. `verdict`: 1 correct, 0 wrong, -1 without a decision, be it
    unjudged, split between experts or answered "cannot judge"; the last is marked in `cannot_judge`. A
    context the system gave no output for stands here with -1. `facets`: further tables by name, such as
    type, pattern, words; a value is the same on all rows of a compound, and None (or "") where it is not
    known. `carried`: true where the verdict was given to another translation that renders the compound alike
    and is carried over; None where nothing is. `item`: what was judged, by a key that identical translations of a
    context share, 0 without an output; None where it is not known.

    Raises ValueError where the arrays contradict this.
    """

    unit: NDArray[Any]
    context: NDArray[Any]
    verdict: NDArray[np.int8]
    cannot_judge: NDArray[np.bool_]
    facets: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    carried: NDArray[np.bool_] | None = None
    item: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        shapes = {array.shape for array in (self.unit, self.context, self.verdict, self.cannot_judge)}
        shapes |= {known.shape for known in (self.carried, self.item) if known is not None}
        shapes |= {values.shape for values in self.facets.values()}
        if shapes != {(self.unit.size,)}:
            raise ValueError("all arrays of instances, the facets too, need the same length")
        if not np.isin(self.verdict, (CORRECT, WRONG, UNDECIDED)).all():
            raise ValueError("a verdict is 1 (correct), 0 (wrong) or -1 (no decision)")
        if (self.cannot_judge & (self.verdict != UNDECIDED)).any():
            raise ValueError("an instance cannot hold a verdict and 'cannot judge' at once")
        if len(set(zip(self.unit.tolist(), self.context.tolist(), strict=True))) != self.unit.size:
            raise ValueError("a context stands twice under its compound: pass one system and run, and keys")

    @property
    def carried_verdicts(self) -> NDArray[np.bool_] | None:
        """(instances,) where a verdict is there and carried over; None where nothing is."""
        return None if self.carried is None else self.carried & (self.verdict != UNDECIDED)

    def only(self, rows: NDArray[np.bool_]) -> "Instances":
        """The instances where `rows`, shape (instances,), is true, without their facets."""
        return Instances(
            unit=self.unit[rows],
            context=self.context[rows],
            verdict=self.verdict[rows],
            cannot_judge=self.cannot_judge[rows],
            carried=None if self.carried is None else self.carried[rows],
        )


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """Compounds with a wrong context among the decided, and where the share ends once all are decided.

    `bounds` (shares 0 to 1): the lower takes only those undecided compounds as wrong that hold a wrong
    context already, the upper takes all; both over decided and undecided compounds. None when there is no
    such compound.
    """

    decided: Share
    undecided: int
    bounds: Interval | None

    def as_json(self) -> dict[str, Any]:
        """`{n, errors, percent, ci95, undecided, bounds}`, percent 0 to 100."""
        return self.decided.as_json() | {"undecided": self.undecided, "bounds": percent_interval(self.bounds)}


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The three rates of one set of compounds, and the instances without a verdict that stand in none of them.

    `undecided_instances` are split or not fully judged: neither right nor wrong, and not "cannot judge". `carried`: how
    many verdicts in the rates are carried over from another translation, None where none of the system's is.
    """

    instance: Share
    aggregate: Aggregate
    all_contexts_wrong: Share
    cannot_judge: int
    undecided_instances: int
    carried: int | None = None

    def as_json(self) -> dict[str, Any]:
        """`{instance, aggregate, all_contexts_wrong, cannot_judge, undecided_instances}`, `carried` where any is."""
        return {
            "instance": self.instance.as_json(),
            "aggregate": self.aggregate.as_json(),
            "all_contexts_wrong": self.all_contexts_wrong.as_json(),
            "cannot_judge": self.cannot_judge,
            "undecided_instances": self.undecided_instances,
            **({} if self.carried is None else {"carried": self.carried}),
        }


@dataclass(frozen=True, kw_only=True)
class ErrorRates:
    """The rates of all compounds and of each value of each facet, and what stands beside them.

    `wrong_contexts_histogram[k]` counts the fully judged five-context compounds with k wrong contexts.
    `other_context_counts` lists, by count, the compounds with another number of contexts than five; they
    count in the instance rate only. `facet_unknown` counts, by facet, the compounds that stand in none of
    its rows, and `without` gives the rates of these where the facet has rows: together with it they add up.
    """

    n_items: int
    overall: Rates
    by: Mapping[str, Mapping[str, Rates]]
    wrong_contexts_histogram: tuple[int, ...]
    other_context_counts: Mapping[int, tuple[str, ...]]
    facet_unknown: Mapping[str, int]
    without: Mapping[str, Rates]
    signature: str

    def as_json(self) -> dict[str, Any]:
        """The document of `report error-rates`; the caller adds campaign, system, run and labels."""
        return {
            "n_items": self.n_items,
            **self.overall.as_json(),
            "by": {name: {key: row.as_json() for key, row in rows.items()} for name, rows in self.by.items()},
            "wrong_contexts_histogram": list(self.wrong_contexts_histogram),
            "other_context_counts": {str(count): list(u) for count, u in self.other_context_counts.items()},
            "facet_unknown": dict(self.facet_unknown),
            "without": {name: row.as_json() for name, row in self.without.items()},
            "interval_note": CONDITIONAL,
            "signature": self.signature,
        }


@dataclass(frozen=True)
class Compounds:
    """What the rates need of each compound, shape (compounds,), in the order of first appearance (`compounds_of`).

    `of_instance`, shape (instances,), is the place of an instance's compound; `first` a compound's first row.
    """

    keys: tuple[str, ...]
    of_instance: Integers
    first: Integers
    contexts: Integers
    judged: Integers
    wrong: Integers
    cannot_judge: Integers
    carried: Integers | None = None


def error_rates(
    instances: Instances, *, labels: str, seed: int = 0, resamples: int = RESAMPLES
) -> ErrorRates:
    """Error rates with 95 % intervals; see the module for the definitions, `Instances` for the input.

    `labels` names the rule and version the verdicts come from, for the signature; `seed` and `resamples`
    drive the bootstrap of the instance rate. Every row starts from the same seed, so that a row does not
    depend on which other rows are asked for. Raises ValueError where a facet differs within a compound.

    How to read it: the aggregate rate is the one the benchmark is known by; the instance rate is smaller
    because a compound fails as a whole when one of its five contexts does.

    >>> verdict = np.array([1, 1, 0, 1, 1] + [0] * 5, dtype=np.int8)
    >>> instances = Instances(
    ...     unit=np.repeat(["the small dog", "met the dog"], 5), context=np.arange(10), verdict=verdict,
    ...     cannot_judge=np.zeros(10, dtype=bool), facets={"type": np.repeat(["NP", "VP"], 5)})
    >>> rates = error_rates(instances, labels="single/1")
    >>> rates.overall.instance.share, rates.overall.aggregate.decided.share
    (0.6, 1.0)
    >>> rates.by["type"]["NP"].instance.share, rates.wrong_contexts_histogram
    (0.2, (0, 1, 0, 0, 0, 1))
    """
    compounds = compounds_of(instances)
    everything = np.ones(len(compounds.keys), dtype=np.bool_)
    by: dict[str, dict[str, Rates]] = {}
    unknown: dict[str, int] = {}
    without: dict[str, Rates] = {}
    for name, values in instances.facets.items():
        rows = _facet_rows(name, values, compounds)
        in_no_row = ~np.logical_or.reduce([~everything, *rows.values()])
        unknown[name] = int(in_no_row.sum())
        if rows and unknown[name]:
            without[name] = rates_of(compounds, in_no_row, seed=seed, resamples=resamples)
        by[name] = {
            key: rates_of(compounds, mask, seed=seed, resamples=resamples) for key, mask in rows.items()
        }
    overall = rates_of(compounds, everything, seed=seed, resamples=resamples)
    every = [overall, *(row for found in by.values() for row in found.values()), *without.values()]
    complete = (compounds.contexts == CONTEXTS) & (compounds.judged == CONTEXTS)
    histogram = np.bincount(compounds.wrong[complete], minlength=CONTEXTS + 1)
    return ErrorRates(
        n_items=instances.unit.size,
        overall=overall,
        by=by,
        wrong_contexts_histogram=tuple(histogram.tolist()),
        other_context_counts=_other_counts(compounds),
        facet_unknown={name: count for name, count in unknown.items() if count},
        without=without,
        signature=_signature(instances, every, labels=labels, seed=seed, resamples=resamples),
    )


def compounds_of(instances: Instances) -> Compounds:
    """Contexts, judged and wrong instances of each compound: what every row of rates is counted from.

    >>> instances = Instances(unit=np.repeat(["a", "b"], [2, 1]), context=np.arange(3),
    ...     verdict=np.array([0, -1, 1], dtype=np.int8), cannot_judge=np.zeros(3, dtype=bool))
    >>> found = compounds_of(instances)
    >>> found.keys, found.contexts.tolist(), found.judged.tolist(), found.wrong.tolist()
    (('a', 'b'), [2, 1], [1, 1], [1, 0])
    """
    place: dict[Any, int] = {}
    codes = np.array([place.setdefault(key, len(place)) for key in instances.unit.tolist()], dtype=np.int64)
    size, carried = len(place), instances.carried_verdicts
    return Compounds(
        keys=tuple(str(key) for key in place),
        of_instance=codes,
        first=np.unique(codes, return_index=True)[1],
        contexts=np.bincount(codes, minlength=size),
        judged=np.bincount(codes[instances.verdict != UNDECIDED], minlength=size),
        wrong=np.bincount(codes[instances.verdict == WRONG], minlength=size),
        cannot_judge=np.bincount(codes[instances.cannot_judge], minlength=size),
        carried=None if carried is None else np.bincount(codes[carried], minlength=size),
    )


def _facet_rows(name: str, values: NDArray[Any], compounds: Compounds) -> dict[str, NDArray[np.bool_]]:
    """For each value of a facet the compounds that have it; values in their own order (2 before 10)."""
    of_compound = values[compounds.first].tolist()
    for place, value in zip(compounds.of_instance.tolist(), values.tolist(), strict=True):
        if of_compound[place] != value:
            raise ValueError(f"{name} of {compounds.keys[place]} is both {of_compound[place]} and {value}")
    distinct = sorted({value for value in of_compound if value not in (None, "")})
    return {str(value): np.array([other == value for other in of_compound]) for value in distinct}


def rates_of(compounds: Compounds, mask: NDArray[np.bool_], *, seed: int, resamples: int) -> Rates:
    """The three rates of the compounds where the mask, shape (compounds,), is true; `seed` as in `error_rates`.

    >>> instances = Instances(unit=np.repeat(["a", "b"], 5), context=np.arange(10),
    ...     verdict=np.array([0, 0] + [1] * 8, dtype=np.int8), cannot_judge=np.zeros(10, dtype=bool))
    >>> rates_of(compounds_of(instances), np.array([True, False]), seed=0, resamples=100).instance.share
    0.4
    """
    five = mask & (compounds.contexts == CONTEXTS)
    complete = five & (compounds.judged == CONTEXTS)
    n = int(complete.sum())
    cannot_judge = int(compounds.cannot_judge[mask].sum())
    nothing = say("no compound here has exactly five contexts, all of them decided")
    return Rates(
        instance=share_over_clusters(
            compounds.wrong[mask],
            compounds.judged[mask],
            seed=seed,
            resamples=resamples,
            nothing=say("no instance is judged"),
        ),
        aggregate=_aggregate(compounds, five=five, complete=complete, nothing=nothing),
        all_contexts_wrong=share_of_units(
            int((compounds.wrong[complete] == CONTEXTS).sum()), n, nothing=nothing
        ),
        cannot_judge=cannot_judge,
        undecided_instances=int((compounds.contexts - compounds.judged)[mask].sum()) - cannot_judge,
        carried=None if compounds.carried is None else int(compounds.carried[mask].sum()),
    )


def _aggregate(
    compounds: Compounds, *, five: NDArray[np.bool_], complete: NDArray[np.bool_], nothing: str
) -> Aggregate:
    holds_error = compounds.wrong > 0
    undecided = five & ~complete
    errors, total = int((complete & holds_error).sum()), int(five.sum())
    surely = errors + int((undecided & holds_error).sum())
    possibly = errors + int(undecided.sum())
    return Aggregate(
        decided=share_of_units(errors, int(complete.sum()), nothing=nothing),
        undecided=int(undecided.sum()),
        bounds=(surely / total, possibly / total) if total else None,
    )


def _other_counts(compounds: Compounds) -> dict[int, tuple[str, ...]]:
    counts = compounds.contexts.tolist()
    return {
        count: tuple(key for key, own in zip(compounds.keys, counts, strict=True) if own == count)
        for count in sorted(set(counts) - {CONTEXTS})
    }


def _signature(instances: Instances, rows: Sequence[Rates], *, labels: str, seed: int, resamples: int) -> str:
    """Names every method that gave an interval here; which one gave a row's stands beside it."""
    of_instances = _methods(row.instance for row in rows)
    of_units = _methods(share for row in rows for share in (row.aggregate.decided, row.all_contexts_wrong))
    return (
        f"error-rates|ver:1|contexts:{CONTEXTS}|n:{instances.unit.size}|labels:{labels}"
        f"|instance:{of_instances}|units:{of_units}|level:95|rs:{seed}|bs:{resamples}|numpy:{np.__version__}"
    )


def _methods(shares: Iterable[Share]) -> str:
    return "+".join(sorted({share.method for share in shares if share.method})) or "none"
