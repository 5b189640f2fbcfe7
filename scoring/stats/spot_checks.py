"""Spot checks: how many to check, when to accept, and what the checked ones say about the rest.

A plan is stated by four numbers: an acceptable error rate, a rejectable one, and the risks α (a part at the acceptable
rate is turned down) and β (a part at the rejectable rate passes). It gives n and c: check n at random, accept with at
most c errors. In a part of finite size the number of errors among the checked is hypergeometric, in a large one
binomial. 5 % against 15 % with α 0.05 and β 0.10 takes n = 77, c = 7; 5 % against 10 % n = 233, c = 17.

Where strata are checked at different rates the estimate is weighted. Units are checked as wholes (a compound is one).

Sources: Montgomery, Introduction to Statistical Quality Control, chapter 15, for plans by two points; Konijn (1973),
Statistical Theory of Sample Survey Design, and Wright (1991) for exact intervals of finite populations; Zou, Huang
and Zhang (2009), Computational Statistics and Data Analysis 53, 1080–1085, for putting the intervals of strata together
(MOVER).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import Any

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import listed, say
from scoring.stats.proportions import LEVEL, Interval, percent, percent_interval, reasons

_MOST = 20_000
LARGEST_LOT = 10_000_000  # beyond it a part is as good as endless
NOTHING = say("nothing was checked")


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Check `n`, accept with at most `c` errors.

    `risk_good`: chance to turn down a part at the acceptable rate (at most α); `risk_bad`: chance to pass one at the
    rejectable rate (at most β). `lot`: units of the part, None for a large one. `hours` at the pace given.
    """

    acceptable: float
    rejectable: float
    alpha: float
    beta: float
    lot: int | None
    n: int
    c: int
    risk_good: float
    risk_bad: float
    hours: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain values; rates and risks 0 to 1, as they are stated."""
        return {
            "acceptable": self.acceptable,
            "rejectable": self.rejectable,
            "alpha": self.alpha,
            "beta": self.beta,
            "lot": self.lot,
            "n": self.n,
            "c": self.c,
            "risk_good": self.risk_good,
            "risk_bad": self.risk_bad,
            "hours": self.hours,
        }


def acceptance_plan(
    acceptable: float,
    rejectable: float,
    *,
    alpha: float = 0.05,
    beta: float = 0.10,
    lot: int | None = None,
    seconds: float | None = None,
) -> Acceptance:
    """The smallest check that tells an acceptable error rate from a rejectable one.

    Args:
        acceptable, rejectable: error rates, 0 to 1, the first smaller.
        alpha, beta: the two risks, 0 to 1.
        lot: units of the part. It counts as acceptable with floor(acceptable · lot) errors and as rejectable with
            ceil(rejectable · lot), the nearest numbers of errors a part can have.
        seconds: what checking a unit takes, for the hours.

    Raises:
        ProtocolError: rates in the wrong order or out of range; a part so small that no number of errors lies between
            the two rates; a plan of more than 20,000 units, or a part of more than 10,000,000.

    >>> [(plan.n, plan.c) for plan in (acceptance_plan(0.05, 0.15), acceptance_plan(0.05, 0.10))]
    [(77, 7), (233, 17)]
    >>> small = acceptance_plan(0.05, 0.15, lot=100)
    >>> small.n, small.c
    (46, 4)
    """
    if not 0 <= acceptable < rejectable <= 1 or not 0 < alpha < 1 or not 0 < beta < 1:
        raise ProtocolError(
            say(
                "A plan needs an acceptable error rate below the rejectable one, and two risks between 0 and 1."
            )
        )
    if lot is not None and lot > LARGEST_LOT:
        raise ProtocolError(
            say(
                "A part has at most {most} units here: leave their number out for a larger one.",
                most=LARGEST_LOT,
            )
        )
    good, bad = _lots(acceptable, rejectable, lot)
    largest = _MOST if lot is None else min(lot, _MOST)
    reachable = _within_reach(good, bad, alpha=alpha, beta=beta, largest=largest)
    c, n = 0, 1
    while reachable and n <= largest:
        n = max(n, c + 1)
        n = _first_to_catch(good=good, bad=bad, c=c, beta=beta, start=n, largest=largest)
        if n > largest:
            break
        if 1 - good.at_most(c, n) <= alpha:
            return Acceptance(
                acceptable=acceptable, rejectable=rejectable, alpha=alpha, beta=beta, lot=lot, n=n, c=c,
                risk_good=1 - good.at_most(c, n), risk_bad=bad.at_most(c, n),
                hours=None if seconds is None else n * seconds / 3600,
            )  # fmt: skip
        c += 1
    raise ProtocolError(
        say(
            "Telling {acceptable} from {rejectable} takes more than {most} checks: choose rates further apart.",
            acceptable=f"{acceptable:.1%}",
            rejectable=f"{rejectable:.1%}",
            most=_MOST,
        )
    )


def chance_to_accept(plan: Acceptance, rate: float) -> float:
    """The chance that a part with this error rate passes: a point of the plan's operating characteristic.

    >>> round(chance_to_accept(acceptance_plan(0.05, 0.15), 0.10), 2)
    0.49
    """
    errors = None if plan.lot is None else round(rate * plan.lot)
    return _Lot(rate, plan.lot, errors).at_most(plan.c, plan.n)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """One part or stratum: its size, how many of it were checked at random, how many of these were errors."""

    size: int
    checked: int
    errors: int

    def __post_init__(self) -> None:
        if not 0 <= self.errors <= self.checked <= self.size or not self.size:
            raise ValueError("errors are among the checked, and these among the units of the part")


@dataclass(frozen=True, kw_only=True)
class CheckEstimate:
    """The error rate of all strata together (0 to 1), its 95 % interval and method.

    `by` holds each stratum's own rate and exact interval. Where everything was checked the rate is known, and the
    interval is that one number.
    """

    size: int
    checked: int
    errors: int
    rate: float | None
    interval: Interval | None
    method: str | None
    by: Mapping[str, "CheckEstimate"]
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Percent 0 to 100, full precision."""
        return {
            "size": self.size,
            "checked": self.checked,
            "errors": self.errors,
            "percent": percent(self.rate),
            "ci95": percent_interval(self.interval),
            "ci95_method": self.method,
            "by": {name: one.as_json() for name, one in self.by.items()},
            **reasons(self.reason, "reason", "ci95_reason"),
        }


def exact_finite(errors: int, n: int, size: int, *, level: float = LEVEL) -> Interval:
    """The exact interval of the error rate of a finite part, n of its `size` units checked at random.

    All numbers of errors the part may hold that a two-sided test would not rule out: the hypergeometric counterpart
    of Clopper and Pearson's interval, narrower as more is checked and a single number when all is.

    Args:
        errors: among the n checked; size: units of the part.

    Returns:
        (low, high), rates 0 to 1.

    >>> low, high = exact_finite(2, 50, 100)
    >>> low, high, exact_finite(2, 50, 50)
    (0.02, 0.11, (0.04, 0.04))
    """
    from scipy.stats import hypergeom  # noqa: PLC0415

    if not 0 <= errors <= n <= size or not n:
        raise ValueError("errors are among the checked, and these among the units of the part")
    tail = (1 - level) / 2
    # Errors the part may hold: those seen, to all but the right ones seen.
    least, most = errors, size - (n - errors)
    # In both directions the tail grows with the number of errors, so the ends are found by halving.
    low = _first(least, most, lambda held: float(hypergeom.sf(errors - 1, size, held, n)) >= tail)
    high = most - _first(
        0, most - least, lambda less: float(hypergeom.cdf(errors, size, most - less, n)) >= tail
    )
    return low / size, high / size


def check_estimate(strata: Mapping[str, Checked]) -> CheckEstimate:
    """The error rate behind a spot check, strata weighing by their size, however many of each were checked.

    Returns:
        One stratum: its exact finite interval. Several: the weighted rate, and the strata's exact finite intervals
        put together (MOVER): distances of the limits from the rate add up as variances do. None with a reason where a
        stratum was not checked at all: nothing is known about it.

    How to read it: about the parts checked, not about work to come.

    >>> strata = {"a": Checked(size=900, checked=30, errors=3), "b": Checked(size=100, checked=30, errors=9)}
    >>> found = check_estimate(strata)
    >>> round(found.rate, 3), [round(bound, 3) for bound in found.interval]
    (0.12, [0.049, 0.267])
    """
    by = {name: _one(stratum) for name, stratum in strata.items()}
    size, checked = (sum(getattr(one, key) for one in strata.values()) for key in ("size", "checked"))
    errors = sum(stratum.errors for stratum in strata.values())
    unchecked = [name for name, stratum in strata.items() if not stratum.checked]
    if not strata or unchecked:
        reason = say("nothing of {parts} was checked", parts=listed(unchecked)) if unchecked else NOTHING
        return CheckEstimate(
            size=size, checked=checked, errors=errors, rate=None, interval=None, method=None, by=by, reason=reason
        )  # fmt: skip
    if len(strata) == 1:
        (only,) = by.values()
        return CheckEstimate(
            size=size, checked=checked, errors=errors, rate=only.rate, interval=only.interval, method=only.method,
            by=by,
        )  # fmt: skip
    rate = sum(one.size * one.errors / one.checked for one in strata.values()) / size
    return CheckEstimate(
        size=size, checked=checked, errors=errors, rate=rate, interval=_combined(strata, by, rate),
        method="mover-of-hypergeometric", by=by,
    )  # fmt: skip


@dataclass(frozen=True)
class _Lot:
    """A part at some error rate: with so many errors in it, or endless."""

    rate: float
    lot: int | None
    errors: int | None

    def at_most(self, c: int, n: int) -> float:
        """The chance of at most c errors among n checked."""
        from scipy.stats import binom, hypergeom  # noqa: PLC0415

        if self.lot is None:
            return float(binom.cdf(c, n, self.rate))
        return float(hypergeom.cdf(c, self.lot, self.errors, n))


def _lots(acceptable: float, rejectable: float, lot: int | None) -> tuple[_Lot, _Lot]:
    if lot is None:
        return _Lot(acceptable, None, None), _Lot(rejectable, None, None)
    # 0.15 · 100 is 15.000000000000002 in binary, and the next whole number is not 16.
    most, least = floor(round(acceptable * lot, 9)), ceil(round(rejectable * lot, 9))
    if lot < 1 or least <= most:
        raise ProtocolError(
            say(
                "In a part of {lot} units no number of errors lies between {acceptable} and {rejectable}.",
                lot=lot,
                acceptable=f"{acceptable:.1%}",
                rejectable=f"{rejectable:.1%}",
            )
        )
    return _Lot(acceptable, lot, most), _Lot(rejectable, lot, least)


def _within_reach(good: _Lot, bad: _Lot, *, alpha: float, beta: float, largest: int) -> bool:
    """Whether the largest check keeps both risks at some c: the smallest that keeps the first is tried."""
    c = _first(0, largest, lambda c: 1 - good.at_most(c, largest) <= alpha)
    return bad.at_most(c, largest) <= beta


def _first_to_catch(*, good: _Lot, bad: _Lot, c: int, beta: float, start: int, largest: int) -> int:
    """The smallest n for which a part at the rejectable rate passes with at most β; beyond `largest` if none."""
    if bad.at_most(c, largest) > beta:
        return largest + 1
    reached, step = start, 1  # with one error more it is not far, so it is looked for in growing steps
    while reached < largest and bad.at_most(c, reached) > beta:
        start, reached, step = reached + 1, min(largest, reached + step), 2 * step
    return _first(start, reached, lambda n: bad.at_most(c, n) <= beta)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from low to high that holds, where all after it do; high is taken to hold."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _one(stratum: Checked) -> CheckEstimate:
    if not stratum.checked:
        return CheckEstimate(
            size=stratum.size, checked=0, errors=0, rate=None, interval=None, method=None, by={},
            reason=NOTHING,
        )  # fmt: skip
    return CheckEstimate(
        size=stratum.size,
        checked=stratum.checked,
        errors=stratum.errors,
        rate=stratum.errors / stratum.checked,
        interval=exact_finite(stratum.errors, stratum.checked, stratum.size),
        method="hypergeometric",
        by={},
    )


def _combined(strata: Mapping[str, Checked], by: Mapping[str, CheckEstimate], rate: float) -> Interval:
    """Each stratum's exact limits put together: distances from the rate add up as variances do (MOVER)."""
    size = sum(one.size for one in strata.values())
    below = above = 0.0
    for name, stratum in strata.items():
        own = by[name]
        if own.rate is not None and own.interval is not None:
            weight = stratum.size / size
            below += (weight * (own.rate - own.interval[0])) ** 2
            above += (weight * (own.interval[1] - own.rate)) ** 2
    return max(0.0, rate - sqrt(below)), min(1.0, rate + sqrt(above))
