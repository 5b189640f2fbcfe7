"""How much to judge: for an interval of a wanted width, or to find a difference of a wanted size.

The answer is in compounds or triples, in judgements and in hours. It rests on figures that have to be guessed or
measured before: the rate to be expected, the design effect of compounds (contexts of a compound fail together, so
five of them are worth fewer), how far two systems part on one unit, the spread between seeds, and the pace. Each is an
argument; `design_effect` and `pace` measure two of them on what was already judged, `spreads` the others.

Sources: Kish (1965), Survey Sampling, chapter 5, for the design effect; Fleiss, Levin and Paik (2003), Statistical
Methods for Rates and Proportions, chapters 4 and 13; Hanley and McNeil (1982), Radiology 143, 29–36, and Obuchowski
and McClish (1997), Statistics in Medicine 16, 1529–1542, for the AUC.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, isfinite, pi, sqrt
from statistics import NormalDist, median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.error_rates import CONTEXTS
from scoring.stats.proportions import LEVEL, Integers, reasons

Rate = Literal["instance", "aggregate"]

POWER = 0.8
HALF = 0.5  # how far two systems' results on a unit go together, where nothing is known
_MOST = 10_000_000


class PlanError(ValueError):
    """Nothing can be planned with what was given; `message` says why, `names` which figures decide it."""

    def __init__(self, message: str, *names: str) -> None:
        super().__init__(message)
        self.message = message
        self.names = names


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a goal takes.

    Attributes:
        unit: "compounds" or "triples"; `units` of them, None with a `reason` where no number is enough.
        judgements: verdicts or scores to be given, all experts together; `hours` of judging at the pace given, None
            where no pace was.
        assumed: what the numbers rest on, as given.
    """

    goal: str
    unit: str
    units: int | None
    judgements: int | None
    hours: float | None
    assumed: dict[str, float | str]
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "goal": self.goal,
            "unit": self.unit,
            "units": self.units,
            "judgements": self.judgements,
            "hours": self.hours,
            "assumed": dict(self.assumed),
            **reasons(self.reason, "reason"),
        }


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What a unit costs: `experts` judge each, `per_unit` judgements each, `seconds` a judgement (None: not known)."""

    experts: int = 1
    per_unit: int = 1
    seconds: float | None = None

    def of(self, units: int) -> tuple[int, float | None]:
        """Judgements and hours of so many units.

        >>> Effort(experts=2, per_unit=5, seconds=9).of(720)
        (7200, 18.0)
        """
        judgements = units * self.per_unit * self.experts
        return judgements, None if self.seconds is None else judgements * self.seconds / 3600


def design_effect(errors: Integers, instances: Integers) -> float | None:
    """How much wider clusters make the variance of a rate than as many independent instances would.

    Args:
        errors, instances: (clusters,) wrong and judged instances; clusters without instances are left out.

    Returns:
        Variance of the ratio estimate over p(1 − p) / instances; None with fewer than two clusters, or where
        nothing or everything is wrong. At most the mean cluster size (about), 1 for independent instances.

    >>> round(design_effect(np.array([0, 5, 0, 5]), np.array([5, 5, 5, 5])), 2)
    6.67
    """
    errors, instances = errors[instances > 0], instances[instances > 0]
    k, n, wrong = errors.size, int(instances.sum()), int(errors.sum())
    if k < 2 or wrong in (0, n):
        return None
    share = wrong / n
    residuals = errors - share * instances
    variance = k / (k - 1) * float(np.square(residuals).sum()) / n**2
    return variance / (share * (1 - share) / n)


def pace(seconds: Sequence[float | None]) -> float | None:
    """Seconds a judgement takes: the median, which long breaks do not move; None where nothing was timed.

    >>> pace([4.0, 6.0, 900.0, None])
    6.0
    """
    timed = [one for one in seconds if one is not None and isfinite(one)]
    return median(timed) if timed else None


def for_precision(
    width: float,
    *,
    rate: float,
    effort: Effort,
    of: Rate = "instance",
    deff: float = 1.0,
    population: int | None = None,
) -> Plan:
    """Compounds needed for a 95 % interval of about ± `width` points around an error rate.

    Args:
        width: half the interval's length, in points (0 to 50).
        rate: expected rate, 0 to 1; a half is the most cautious guess.
        effort: what a compound costs (`per_unit` is usually 5).
        of: "instance" (five instances a compound, worth 5 / deff independent ones) or "aggregate" (one).
        deff: design effect of the instance rate; about 2 on the released judgements.
        population: number of compounds there are, where the rate is about these and no others.

    Returns:
        The smallest number of compounds for which Wilson's interval is at most twice `width` long.

    Raises:
        ValueError: a width or rate out of range, a design effect of 0 or less.

    >>> for_precision(5, rate=0.5, of="aggregate", effort=Effort(per_unit=5, seconds=9)).units
    381
    >>> plan = for_precision(3, rate=0.22, deff=2.1, effort=Effort(per_unit=5, seconds=9))
    >>> plan.units, plan.judgements, plan.hours
    (307, 1535, 3.8375)
    """
    _check(width, rate, deff)
    worth = CONTEXTS / deff if of == "instance" else 1.0
    goal = f"{of} error rate to ± {width:g} points"
    assumed: dict[str, float | str] = {"rate": rate, "level": LEVEL}
    if of == "instance":
        assumed["design_effect"] = deff
    units = _smallest(lambda n: _half_width(rate, n * worth) <= width / 100)
    if population is not None:
        units = _of_finite(units, population)
        assumed["population"] = population
    return _plan(goal, "compounds", units, effort, assumed)


def triples_for_share(width: float, *, share: float, effort: Effort, population: int | None = None) -> Plan:
    """Triples needed for a 95 % interval of about ± `width` points around a share (plausible, agreeing, wrong).

    >>> triples_for_share(3, share=0.22, effort=Effort(experts=2, seconds=10)).units
    731
    """
    _check(width, share, 1.0)
    units = _smallest(lambda n: _half_width(share, n) <= width / 100)
    assumed: dict[str, float | str] = {"share": share, "level": LEVEL}
    if population is not None:
        units = _of_finite(units, population)
        assumed["population"] = population
    return _plan(f"share to ± {width:g} points", "triples", units, effort, assumed)


def triples_for_auc(width: float, *, auc: float, share: float, effort: Effort) -> Plan:
    """Triples needed for a 95 % interval of about ± `width` points around an AUC.

    Args:
        width: in points; auc: expected, 0.5 to 1; share: of plausible triples; effort: what a triple costs.

    >>> triples_for_auc(2, auc=0.75, share=0.22, effort=Effort(experts=2)).units
    3235
    """
    _check(width, share, 1.0)
    if not 0.5 <= auc < 1:
        raise PlanError(say("An AUC to plan for lies between 0.5 and 1."), "auc")
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    units = _smallest(lambda n: z * auc_error(auc, share * n, (1 - share) * n) <= width / 100)
    assumed: dict[str, float | str] = {"auc": auc, "share": share, "level": LEVEL}
    return _plan(f"AUC to ± {width:g} points", "triples", units, effort, assumed)


def auc_error(auc: float, plausible: float, implausible: float) -> float:
    """Standard error of an AUC (0 to 1) on so many triples of each class.

    Hanley and McNeil 1982: with m plausible and n implausible triples the variance is
    (A(1 − A) + (m − 1)(Q₁ − A²) + (n − 1)(Q₂ − A²)) / mn, where Q is the chance that two triples of one class both
    come right against the same one of the other. They shorten Q by taking scores as exponential, which is off by a
    tenth where classes are uneven; here scores are normal with one spread in both classes (Obuchowski and McClish
    1997), so that Q₁ = Q₂ = Φ₂(z, z; ½) with z = Φ⁻¹(A).

    >>> round(auc_error(0.9, 45, 51), 4)
    0.0309
    """
    if min(plausible, implausible) < 1:
        return float("inf")
    variance = auc * (1 - auc) + (plausible + implausible - 2) * _covariance(auc, auc, 1.0)
    return sqrt(variance / (plausible * implausible))


def auc_spread(auc: float, other: float, *, share: float, correlation: float = HALF) -> float:
    """What `to_detect` takes for two AUCs on the same triples: the error of their difference times √n.

    Args:
        auc, other: expected, above 0 and below 1.
        share: of plausible triples, above 0 and below 1.
        correlation: of the two systems' scores among triples of one class, 0 to 1.

    Every system's AUC has the variance of `auc_error`, in the limit c(A, A, 1) (1/m + 1/n); two of them have the
    covariance c(A, B, r) (1/m + 1/n) with c(A, B, r) = Φ₂(Φ⁻¹(A), Φ⁻¹(B); r/2) − AB: a triple that stands in two
    comparisons gives its half of each difference of scores, and the halves go together by r. So
    n · variance = (c(A, A, 1) + c(B, B, 1) − 2 c(A, B, r)) / (share (1 − share)).

    >>> round(auc_spread(0.75, 0.72, share=0.22), 3)
    0.614
    """
    if not (0 < auc < 1 and 0 < other < 1):
        raise PlanError(
            say("Both AUCs to plan for lie between 0 and 1: ask for a smaller difference."),
            "difference",
            "auc",
        )
    if not 0 < share < 1:
        raise PlanError(
            say("An AUC needs plausible and implausible triples: a share between 0 and 1."), "rate"
        )
    _check_correlation(correlation)
    of_both = _covariance(auc, auc, 1.0) + _covariance(other, other, 1.0)
    return sqrt((of_both - 2 * _covariance(auc, other, correlation)) / (share * (1 - share)))


def _covariance(auc: float, other: float, correlation: float) -> float:
    """Of "this triple beats one of the other class" in two systems, given the triple: Φ₂(z, z′; r/2) − AB."""
    normal = NormalDist()
    z, other_z, half = normal.inv_cdf(auc), normal.inv_cdf(other), correlation / 2
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    both = [
        normal.cdf((z - sqrt(half) * x) / sqrt(1 - half))
        * normal.cdf((other_z - sqrt(half) * x) / sqrt(1 - half))
        for x in nodes.tolist()
    ]
    return float(np.dot(weights, both)) / sqrt(2 * pi) - auc * other


def rate_spread(rate: float, *, instances: int = 1, deff: float = 1.0, correlation: float = HALF) -> float:
    """What `to_detect` takes for two systems' rates, where nothing was measured.

    Args:
        rate: expected of both, 0 to 1.
        instances: of a unit: five contexts of a compound for the instance rate, else one.
        deff: design effect of the instance rate, 1 for one instance a unit.
        correlation: of the two systems' results on a unit, 0 to 1.

    The mean of a unit's instances has the variance v = p(1 − p) · deff / instances (Kish), and the difference of two
    of them 2v(1 − correlation).

    >>> round(rate_spread(0.22), 3), round(rate_spread(0.22, instances=5, deff=2.12), 3)
    (0.414, 0.27)
    """
    _check(1.0, rate, deff)
    _check_correlation(correlation)
    return sqrt(2 * rate * (1 - rate) * deff / instances * (1 - correlation))


def paired_spread(differences: NDArray[Any], sizes: Integers) -> float | None:
    """Standard deviation of per-compound differences in a rate, on the scale of the rate; for `to_detect`.

    Args:
        differences: (compounds,) wrong instances of one system minus the other's; sizes: (compounds,) instances.

    >>> round(paired_spread(np.array([1, 0, -1, 2, 0]), np.array([5, 5, 5, 5, 5])), 3)
    0.228
    """
    if differences.size < 2:
        return None
    mean = float(differences.sum()) / float(sizes.sum())
    residuals = (differences - mean * sizes) / sizes.mean()
    return sqrt(float(np.square(residuals).sum()) / (differences.size - 1))


def to_detect(
    difference: float,
    *,
    spread: float,
    effort: Effort,
    unit: str = "compounds",
    seed_sd: float = 0.0,
    runs: int = 1,
    run_spread: float = 0.0,
    comparisons: int = 1,
    alpha: float = 0.05,
    power: float = POWER,
) -> Plan:
    """Units on which two systems must be judged to find a difference of so many points.

    A two-sided test at α finds d with the power asked for when d = (z₁₋α⁄₂ + z_power) · SE (Fleiss, Levin and Paik,
    chapter 13, with paired units). With R runs of each system on n units
    SE² = (spread² − run_spread² (1 − 1/R)) / n + 2 seed_sd² / R: what a unit gives differently from run to run is
    averaged, what lies between the systems is not.

    Args:
        difference: in points, between two systems judged on the same units.
        spread: standard deviation over units of the paired difference, one run of each system, on the scale 0 to 1:
            `paired_spread` and `paired_auc_spread` measure it, `rate_spread` and `auc_spread` derive it.
        effort: what a unit costs *per output judged*; both systems' runs are counted here.
        seed_sd: standard deviation between seeds of one system, in points; 0 compares these runs and no others.
        runs: of each system, all judged.
        run_spread: the same as `spread` between two runs of one system, 0 to 1; 0 where it is not known, which asks
            for more units than several runs need.
        comparisons: pairs tested together; the level is shared out among them (Bonferroni, a bound for Holm).
        alpha, power: level of a two-sided test, chance to find the difference if it is there.

    Returns:
        Units, or a reason where the spread between seeds alone hides the difference: then no number of units helps,
        only more runs; the reason says how many.

    >>> to_detect(5, spread=0.45, effort=Effort(per_unit=5, seconds=9)).units
    636
    >>> to_detect(3, spread=0.45, effort=Effort(per_unit=5), seed_sd=2.5, runs=3).reason
    'seeds alone hide a difference of 3 points with 3 runs of each system: at least 11 runs are needed'
    """
    if difference <= 0 or spread <= 0 or min(seed_sd, run_spread) < 0 or runs < 1 or comparisons < 1:
        raise PlanError(
            say("A difference and a spread are above 0, runs and comparisons at least 1."),
            "difference",
            "spread",
            "runs",
            "comparisons",
        )
    normal = NormalDist()
    z = normal.inv_cdf(1 - alpha / 2 / comparisons) + normal.inv_cdf(power)
    wanted = (difference / 100 / z) ** 2
    of_seeds = 2 * (seed_sd / 100) ** 2 / runs
    goal = f"a difference of {difference:g} points"
    assumed: dict[str, float | str] = {
        "spread": spread, "seed_sd": seed_sd, "runs": runs, "comparisons": comparisons, "alpha": alpha,
        "power": power,
    }  # fmt: skip
    if run_spread and runs > 1:
        assumed["run_spread"] = run_spread
    if of_seeds >= wanted:
        needed = int(2 * (seed_sd / 100) ** 2 / wanted) + 1
        reason = say(
            "seeds alone hide a difference of {difference} points with {runs} runs of each system: "
            "at least {needed} runs are needed",
            difference=f"{difference:g}",
            runs=runs,
            needed=needed,
        )
        return Plan(
            goal=goal, unit=unit, units=None, judgements=None, hours=None, assumed=assumed, reason=reason
        )
    of_units = max(spread**2 - run_spread**2 * (1 - 1 / runs), spread**2 / runs)
    units = ceil(of_units / (wanted - of_seeds))
    both = Effort(experts=effort.experts, per_unit=effort.per_unit * 2 * runs, seconds=effort.seconds)
    return _plan(goal, unit, units, both, assumed)


def _plan(goal: str, unit: str, units: int, effort: Effort, assumed: dict[str, float | str]) -> Plan:
    judgements, hours = effort.of(units)
    assumed = assumed | {"experts": effort.experts, "judgements_per_unit": effort.per_unit}
    if effort.seconds is not None:
        assumed["seconds"] = effort.seconds
    return Plan(goal=goal, unit=unit, units=units, judgements=judgements, hours=hours, assumed=assumed)


def _half_width(rate: float, n: float) -> float:
    """Half the length of Wilson's interval; n independent units need not be a whole number."""
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    return z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)


def _smallest(enough: Callable[[int], bool]) -> int:
    """The smallest n that is enough, where every larger n is too."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            raise PlanError(say("More than ten million units would be needed: ask for less."))
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _of_finite(units: int, population: int) -> int:
    """Units of a finite set that know as much about it as `units` about an endless one."""
    return min(population, ceil(units / (1 + (units - 1) / population)))


def _check_correlation(correlation: float) -> None:
    if not 0 <= correlation < 1:
        raise PlanError(say("A correlation to plan for lies between 0 and 1."), "correlation")


def _check(width: float, rate: float, deff: float) -> None:
    if not 0 < width < 50:
        raise PlanError(say("Half an interval is more than 0 and less than 50 points long."), "width")
    if not 0 <= rate <= 1:
        raise PlanError(say("A rate to plan for lies between 0 and 1."), "rate")
    if deff <= 0:
        raise ValueError("a design effect is above 0")
