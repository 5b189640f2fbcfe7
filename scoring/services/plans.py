"""How much to judge: what a goal takes, from figures that are given or that this campaign has shown so far.

Rates, widths, differences and spreads are in per cent and points, 0 to 100; risks are 0 to 1. A document says of each
figure it rests on where that came from: `given`, `measured` in this campaign, `assumed`, `derived` from the others, or
`fixed` by the protocol.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.models import Campaign
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.services.measured import Measured, measured
from scoring.stats.error_rates import CONTEXTS
from scoring.stats.planning import (
    HALF,
    Effort,
    Plan,
    PlanError,
    auc_spread,
    for_precision,
    rate_spread,
    to_detect,
    triples_for_auc,
    triples_for_share,
)
from scoring.stats.spot_checks import acceptance_plan

Document = dict[str, Any]

GOALS = ("precision", "difference", "spot-check")
OF: Mapping[str, tuple[str, ...]] = {
    Campaign.Protocol.COMPOUND: ("aggregate", "instance"),
    Campaign.Protocol.TRIPLE: ("share", "auc"),
}
CAUTIOUS = 0.5  # the rate that takes most, where none is known
USUAL_AUC = 0.75


A_DAY = 86_400.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is planned; None takes what the campaign has shown, else a cautious guess."""

    goal: str
    of: str | None = None
    width: float = 3.0
    rate: float | None = None
    auc: float | None = None
    difference: float = 3.0
    spread: float | None = None
    correlation: float | None = None  # of two systems' results on a unit, 0 to 1
    seed_sd: float | None = None
    runs: int = 1
    run_spread: float | None = None
    comparisons: int = 1
    population: int | None = None
    experts: int | None = None
    seconds: float | None = None
    acceptable: float = 5.0
    rejectable: float = 15.0
    alpha: float = 0.05
    beta: float = 0.10
    lot: int | None = None


GIVEN, MEASURED, ASSUMED, DERIVED, FIXED = "given", "measured", "assumed", "derived", "fixed"


@dataclass
class _Basis:
    """What a plan rests on, on the scale 0 to 1 where it is a rate or a spread, and where each figure came from."""

    values: dict[str, float] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: float, source: str) -> float:
        self.values[name], self.sources[name] = value, source
        return value

    def take(
        self, name: str, given: float | None, shown: float | None, guess: float, *, per: float = 1
    ) -> float:
        """What was given, else what was measured, both as so many `per`; else the guess."""
        if given is not None:
            return self.add(name, given / per, GIVEN)
        if shown is not None:
            return self.add(name, shown / per, MEASURED)
        return self.add(name, guess, ASSUMED)


def plan(campaign: Campaign, wish: Wish, found: Measured | None = None) -> Document:
    """What the goal takes, from `found` (by default what a reader may see); Refused where it is out of reach."""
    if wish.goal not in GOALS:
        raise Refused(
            say("There is no goal “{goal}”; there are: {goals}.", goal=wish.goal, goals=", ".join(GOALS))
        )
    of = wish.of or OF[campaign.protocol][0]
    if of not in OF[campaign.protocol]:
        raise Refused(
            say(
                "There is no figure “{of}” to plan for here; there are: {names}.",
                of=of,
                names=", ".join(OF[campaign.protocol]),
            )
        )
    known = found or measured(campaign)
    try:
        made = _MAKERS[wish.goal](campaign, wish, of, known)
    except PlanError as error:
        raise Refused(error.message, options=error.names) from None
    return {
        "campaign": campaign.slug,
        "goal": wish.goal,
        "of": None if wish.goal == "spot-check" else of,
        **made,
        "measured": known.as_json(),
        "signature": f"plan|ver:2|goal:{wish.goal}",
    }


def _precision(campaign: Campaign, wish: Wish, of: str, known: Measured) -> Document:
    basis = _Basis()
    effort = _effort(campaign, wish, known, basis)
    rate = _rate(wish, of, known, basis)
    if of == "share":
        made = triples_for_share(wish.width, share=rate, effort=effort, population=wish.population)
    elif of == "auc":
        auc = basis.take("auc", wish.auc, None, USUAL_AUC, per=100)
        made = triples_for_auc(wish.width, auc=auc, share=rate, effort=effort)
    else:
        made = for_precision(
            wish.width,
            rate=rate,
            effort=effort,
            of="instance" if of == "instance" else "aggregate",
            deff=_design_effect(known, basis) if of == "instance" else 1.0,
            population=wish.population,
        )
    if wish.population is not None:
        basis.add("population", wish.population, GIVEN)
    return _with_sources(made, basis)


def _difference(campaign: Campaign, wish: Wish, of: str, known: Measured) -> Document:
    basis = _Basis()
    run_spread = 0.0
    if wish.runs > 1:
        run_spread = basis.take("run_spread", wish.run_spread, known.run_spread.get(of), 0.0, per=100)
    for name in ("runs", "comparisons"):
        basis.add(name, getattr(wish, name), ASSUMED if getattr(wish, name) == 1 else GIVEN)
    made = to_detect(
        wish.difference,
        spread=_spread(wish, of, known, basis),
        effort=_effort(campaign, wish, known, basis),
        unit="compounds" if campaign.protocol == Campaign.Protocol.COMPOUND else "triples",
        seed_sd=basis.take("seed_sd", wish.seed_sd, known.seed_sd.get(of), 0.0),
        runs=wish.runs,
        run_spread=run_spread,
        comparisons=wish.comparisons,
    )
    return _with_sources(made, basis)


def _spread(wish: Wish, of: str, known: Measured, basis: _Basis) -> float:
    """As given; as measured, where nothing else was said of the systems; else as it follows from what is expected."""
    expected = (wish.rate, wish.auc, wish.correlation)
    shown = known.spread.get(of) if expected == (None, None, None) else None
    if wish.spread is not None or shown is not None:
        return basis.take("spread", wish.spread, shown, 1.0, per=100)
    rate = _rate(wish, of, known, basis)
    correlation = basis.take("correlation", wish.correlation, None, HALF)
    if of == "auc":
        auc = basis.take("auc", wish.auc, None, USUAL_AUC, per=100)
        other = basis.add("other_auc", auc - wish.difference / 100, DERIVED)
        found = auc_spread(auc, other, share=rate, correlation=correlation)
    elif of == "instance":
        deff = _design_effect(known, basis)
        found = rate_spread(rate, instances=CONTEXTS, deff=deff, correlation=correlation)
    else:
        found = rate_spread(rate, correlation=correlation)
    return basis.add("spread", found, DERIVED)


def _with_sources(made: Plan, basis: _Basis) -> Document:
    """The plan with everything it rests on; what is none of the basis is fixed."""
    document = made.as_json()
    document["assumed"] = {**basis.values, **document["assumed"]}
    document["sources"] = {name: basis.sources.get(name, FIXED) for name in document["assumed"]}
    return document


def _spot_check(campaign: Campaign, wish: Wish, _of: str, known: Measured) -> Document:
    effort = _effort(campaign, wish, known, _Basis())
    seconds = None if effort.seconds is None else effort.seconds * effort.per_unit
    found = acceptance_plan(
        wish.acceptable / 100,
        wish.rejectable / 100,
        alpha=wish.alpha,
        beta=wish.beta,
        lot=wish.lot,
        seconds=seconds,
    )
    return found.as_json()


_MAKERS: Mapping[str, Callable[[Campaign, Wish, str, Measured], Document]] = {
    "precision": _precision,
    "difference": _difference,
    "spot-check": _spot_check,
}


def _rate(wish: Wish, of: str, known: Measured, basis: _Basis) -> float:
    """Of errors; of plausible triples it is called a share."""
    name = "share" if of in OF[Campaign.Protocol.TRIPLE] else "rate"
    return basis.take(name, wish.rate, known.rates[of], CAUTIOUS, per=100)


def _design_effect(known: Measured, basis: _Basis) -> float:
    """Of five contexts; at most five, where they all fail or hold together."""
    return basis.take("design_effect", None, known.design_effect, CONTEXTS)


def _effort(campaign: Campaign, wish: Wish, known: Measured, basis: _Basis) -> Effort:
    if wish.seconds is not None and not 0 <= wish.seconds <= A_DAY:
        raise Refused(
            say("A judgement takes between 0 and 86,400 seconds, which is a day."), options=("seconds",)
        )
    seconds = known.seconds if wish.seconds is None else wish.seconds
    if seconds is not None:
        basis.take("seconds", wish.seconds, known.seconds, 0.0)
    if wish.experts:
        basis.add("experts", wish.experts, GIVEN)
    return Effort(
        experts=wish.experts or campaign.annotators_per_item,
        per_unit=CONTEXTS if campaign.protocol == Campaign.Protocol.COMPOUND else 1,
        seconds=seconds,
    )
