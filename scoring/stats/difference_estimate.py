"""Error rates from an automatic judge on everything and experts on a random sample: the difference estimate.

An automatic judge (the lexicon check, a language model, anything that says 0 or 1) is cheap and wrong in its own way.
Experts judge a random sample of whole compounds of the *same* system. The estimate is the automatic rate on all
compounds plus the mean of (expert − automatic) over the sample: unbiased however bad the judge is, and the sharper
the better it is, because only the differences are left to estimate.

    rate = mean over all of A + mean over the sample of (H − A)

with A and H, per compound, the share of wrong contexts (instance rate) or 1 where a context is wrong (aggregate rate);
the two rates are estimated apart. The variance has two parts, S²_H / N for the compounds being a sample of such
compounds, as in every other interval here, and (1 − n/N) · S²_D / n for judging only n of the N; without the first
part the interval is about exactly these N compounds (`interval_these`).

Sensitivity and specificity measured elsewhere are no substitute: those of the released noun phrases, applied to the
verb phrases, give 25.5 % where 22.25 % is true.

Sources: Cochran (1977), Sampling Techniques, 3rd ed., sections 2.8 and 7.3; Särndal, Swensson and Wretman (1992),
chapter 6; Angelopoulos et al. (2023), Science 382, 669–674 (the same estimate as "prediction-powered inference");
Agresti and Min (2005), Statistics in Medicine 24, 729–740, for the added half observations.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from scoring.stats.error_rates import CONTEXTS, CORRECT, UNDECIDED, WRONG, Instances
from scoring.stats.proportions import Interval, clopper_pearson, percent, percent_interval, reasons

Floats = NDArray[np.float64]

# A variance from fewer compounds is worth nothing.
FEWEST_COMPOUNDS = 10


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One rate (0 to 1) and what it rests on.

    Attributes:
        population, sample: compounds with an automatic verdict on all contexts; of these, judged by experts in full.
        automatic: the judge's rate on all; `correction`: mean of expert − judge over the sample.
        estimate, interval: their sum, with 95 % interval; `interval_these` is about exactly these compounds.
        sample_only: the experts' rate on the sample alone, for comparison.
        design_effect: variance of the correction over what it would be if instances were drawn singly (1 for the
            aggregate rate, whose units are the compounds).
        gain: variance between compounds of the experts' rate over that of its difference from the judge's: so many
            times as many compounds would experts have to judge without the judge for the same precision, as long as
            both are a small part of all. Below 1 the judge does harm; None where no compound of the sample differs.
        reason: why there is no estimate.
    """

    population: int
    sample: int
    automatic: float | None = None
    correction: float | None = None
    estimate: float | None = None
    interval: Interval | None = None
    interval_these: Interval | None = None
    sample_only: float | None = None
    design_effect: float | None = None
    gain: float | None = None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Percent and points 0 to 100, full precision."""
        return {
            "population": self.population,
            "sample": self.sample,
            "automatic_percent": percent(self.automatic),
            "correction": percent(self.correction),
            "percent": percent(self.estimate),
            "ci95": percent_interval(self.interval),
            "ci95_these_compounds": percent_interval(self.interval_these),
            "sample_only_percent": percent(self.sample_only),
            "design_effect": self.design_effect,
            "gain": self.gain,
            **reasons(self.reason, "reason", "ci95_reason"),
        }


@dataclass(frozen=True, kw_only=True)
class DifferenceEstimate:
    """Both rates. `incomplete` counts drawn compounds without five expert verdicts: they are left out, and bias the
    estimate if what could not be judged is wrong more often. `other_context_counts` counts compounds with another
    number of contexts than five, which stand in neither rate."""

    instance: Estimate
    aggregate: Estimate
    incomplete: int
    other_context_counts: int
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{instance, aggregate, incomplete, other_context_counts, signature}`."""
        return {
            "instance": self.instance.as_json(),
            "aggregate": self.aggregate.as_json(),
            "incomplete": self.incomplete,
            "other_context_counts": self.other_context_counts,
            "signature": self.signature,
        }


def difference_estimate(
    instances: Instances,
    automatic: NDArray[np.int8],
    *,
    labels: str,
    judge: str,
    drawn: NDArray[np.bool_] | None = None,
) -> DifferenceEstimate:
    """Instance and aggregate error rates from a judged random sample of compounds and an automatic judge on all.

    Args:
        instances: one system's outputs; the experts' verdicts where they judged, -1 elsewhere.
        automatic: (instances,) the judge's verdicts on the same rows: 1 correct, 0 wrong.
        labels, judge: name the experts' labels and the automatic judge, for the signature.
        drawn: (instances,) true on the rows of the compounds drawn at random; None takes every compound with an
            expert verdict as drawn. The estimate is unbiased only if they *were* drawn at random.

    Raises:
        ProtocolError: an instance without an automatic verdict; the sentence names the first.
        ValueError: arrays of other lengths.

    How to read it: `gain` 6 means that experts judge a sixth of what the same precision costs without the judge, as
    with the lexicon check on the aggregate rate of the released noun phrases.

    >>> rng = np.random.default_rng(1)
    >>> truth = np.repeat(rng.random(1000) < 0.3, 5).astype(np.int8)
    >>> judge = np.where(rng.random(5000) < 0.02, 1 - truth, truth).astype(np.int8)
    >>> judged = np.where(np.repeat(np.arange(1000) < 200, 5), truth, -1).astype(np.int8)
    >>> instances = Instances(unit=np.repeat(np.arange(1000), 5), context=np.arange(5000), verdict=judged,
    ...                       cannot_judge=np.zeros(5000, dtype=bool))
    >>> found = difference_estimate(instances, judge, labels="final", judge="check")
    >>> round(1 - float(truth.mean()), 3), round(found.instance.estimate, 3), found.instance.gain > 3
    (0.697, 0.696, True)
    """
    _check(instances, automatic)
    table = _compounds(instances, automatic, drawn)
    return DifferenceEstimate(
        instance=_instance(table),
        aggregate=_estimate(_any(table.human), _any(table.machine), table.inside, instances_each=1),
        incomplete=table.incomplete,
        other_context_counts=table.other_context_counts,
        signature=(
            f"difference-estimate|ver:1|contexts:{CONTEXTS}|n:{instances.unit.size}|labels:{labels}|judge:{judge}"
            f"|units:compounds|drawn:{table.drawn}-{'as-answered' if drawn is None else 'by-design'}"
            f"|interval:t+half-observations|level:95|numpy:{np.__version__}"
        ),
    )


@dataclass(frozen=True)
class _Compounds:
    """The compounds of five contexts, one row each: how many contexts experts and judge call wrong, and on how many
    they differ; `inside` is true where the compound was drawn and experts judged all of it."""

    human: NDArray[np.int64]
    machine: NDArray[np.int64]
    unequal: NDArray[np.int64]
    inside: NDArray[np.bool_]
    drawn: int
    incomplete: int
    other_context_counts: int


def _compounds(
    instances: Instances, automatic: NDArray[np.int8], drawn: NDArray[np.bool_] | None
) -> _Compounds:
    units, codes = np.unique(np.array([str(key) for key in instances.unit.tolist()]), return_inverse=True)

    def per_unit(rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(codes[rows], minlength=len(units))

    decided = instances.verdict != UNDECIDED
    judged = per_unit(decided)
    five = np.bincount(codes, minlength=len(units)) == CONTEXTS
    was_drawn = judged > 0 if drawn is None else per_unit(drawn) > 0
    sampled = was_drawn & (judged == CONTEXTS)
    return _Compounds(
        human=per_unit(instances.verdict == WRONG)[five],
        machine=per_unit(automatic == WRONG)[five],
        unequal=per_unit(decided & (instances.verdict != automatic))[five],
        inside=sampled[five],
        drawn=int(was_drawn.sum()),
        incomplete=int((was_drawn & five & ~sampled).sum()),
        other_context_counts=int((~five).sum()),
    )


def _any(wrong: NDArray[np.int64]) -> Floats:
    return (wrong > 0).astype(np.float64)


def _instance(table: _Compounds) -> Estimate:
    """The instance rate, with its design effect where there is one to be had."""
    human, machine = table.human / CONTEXTS, table.machine / CONTEXTS
    found = _estimate(human, machine, table.inside, instances_each=CONTEXTS)
    if found.estimate is None:
        return found
    apart = (table.human - table.machine)[table.inside] / CONTEXTS
    return replace(found, design_effect=_design_effect(apart, table.unequal[table.inside] / CONTEXTS))


def _check(instances: Instances, automatic: NDArray[np.int8]) -> None:
    if automatic.shape != instances.unit.shape:
        raise ValueError("each instance needs one automatic verdict")
    without = np.flatnonzero(~np.isin(automatic, (CORRECT, WRONG)))
    if without.size:
        first = int(without[0])
        raise ProtocolError(
            say(
                "{n} instances have no automatic verdict, the first in {unit}. The judge has to judge every "
                "instance, with 1 or 0.",
                n=int(without.size),
                unit=str(instances.unit[first]),
            )
        )


def _estimate(human: Floats, machine: Floats, inside: NDArray[np.bool_], *, instances_each: int) -> Estimate:
    population, sample = human.size, int(inside.sum())
    automatic = float(machine.mean()) if population else None
    known = Estimate(population=population, sample=sample, automatic=automatic)
    if sample < FEWEST_COMPOUNDS:
        reason = say(
            "{sample} compounds of the sample are judged in full; at least {fewest} are needed, drawn at random",
            sample=sample,
            fewest=FEWEST_COMPOUNDS,
        )
        return replace(known, reason=reason)
    judged, apart = human[inside], human[inside] - machine[inside]
    correction = float(apart.mean())
    value = min(1.0, max(0.0, float(machine.mean()) + correction))
    of_sample = _sampling_variance(apart, instances_each) * (1 - sample / population)
    of_population = float(judged.var(ddof=1)) / population
    spread = float(apart.var(ddof=1))
    return replace(
        known,
        correction=correction,
        estimate=value,
        interval=_interval(value, of_sample + of_population, judged, sample),
        interval_these=_interval(value, of_sample, judged, sample),
        sample_only=float(judged.mean()),
        design_effect=1.0,
        gain=float(judged.var(ddof=1)) / spread if spread else None,
    )


def _sampling_variance(apart: Floats, instances_each: int) -> float:
    """Variance of the mean difference. Differences are rare, and a sample without any would claim to know it
    exactly: two half compounds are added, one wrong by an instance each way (Agresti and Min's half per cell)."""
    step = 1 / instances_each
    n = apart.size + 1
    mean = float(apart.sum()) / n
    squares = float(np.square(apart).sum()) + step**2
    return max(0.0, squares / n - mean**2) / (n - 1)


def _interval(value: float, variance: float, judged: Floats, sample: int) -> Interval:
    from scipy.stats import t  # noqa: PLC0415

    half = float(t.ppf(0.975, sample - 1)) * sqrt(variance)
    low, high = max(0.0, value - half), min(1.0, value + half)
    if not judged.any():  # nothing wrong in the sample: no interval by variance holds the exact limit
        high = max(high, clopper_pearson(0, sample)[1])
    if judged.all() and judged.min() == 1:
        low = min(low, clopper_pearson(sample, sample)[0])
    return low, high


def _design_effect(apart: Floats, unequal: Floats) -> float | None:
    """Variance of the mean over compounds beside that of as many single instances, of which the share `unequal`
    differs (by −1 or +1); None where none does."""
    single = float(unequal.mean()) - float(apart.mean()) ** 2
    return float(apart.var(ddof=1)) * CONTEXTS / single if single > 0 else None
