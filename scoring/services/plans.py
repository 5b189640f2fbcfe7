"""How much to judge: what a goal takes, from figures that are given or that this campaign has shown so far.

Rates, widths, differences and spreads are in per cent and points, 0 to 100; risks are 0 to 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from django.db.models import Count, Max

from annotation.models import Annotation, Campaign, Round
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.services.gather import SystemRun, instances_of, labels_of
from scoring.stats.error_rates import CONTEXTS, UNDECIDED, WRONG, error_rates
from scoring.stats.planning import (
    Effort,
    design_effect,
    for_precision,
    pace,
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
CAUTIOUS = 50.0  # the rate that takes most, where none is known
SCREENS = 2000  # of the latest, for the pace


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is planned; None takes what the campaign has shown, else a cautious guess."""

    goal: str
    of: str | None = None
    width: float = 3.0
    rate: float | None = None
    auc: float = 75.0
    difference: float = 3.0
    spread: float | None = None
    seed_sd: float = 0.0
    runs: int = 1
    comparisons: int = 1
    population: int | None = None
    experts: int | None = None
    seconds: float | None = None
    acceptable: float = 5.0
    rejectable: float = 15.0
    alpha: float = 0.05
    beta: float = 0.10
    lot: int | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the campaign has shown so far; None where it has not."""

    rates: Mapping[str, float | None]
    design_effect: float | None
    seconds: float | None

    def as_json(self) -> Document:
        """`{rates, design_effect, seconds}`."""
        return {"rates": dict(self.rates), "design_effect": self.design_effect, "seconds": self.seconds}


def measured(campaign: Campaign) -> Measured:
    """Rates and design effect of the first run, or the share of plausible triples; seconds a judgement."""
    seconds = _seconds(campaign)
    labels = labels_of(campaign)
    if campaign.protocol == Campaign.Protocol.TRIPLE:
        plausible = [label == "1" for label in labels.by_item.values()]
        share = 100 * sum(plausible) / len(plausible) if plausible else None
        return Measured(rates={"share": share, "auc": share}, design_effect=None, seconds=seconds)
    system = campaign.systems.first()
    run = system.outputs.order_by("run").values_list("run", flat=True).first() if system else None
    if system is None or run is None:
        return Measured(rates={"instance": None, "aggregate": None}, design_effect=None, seconds=seconds)
    instances, _items = instances_of(SystemRun(system, run), labels)
    found = error_rates(instances, labels=labels.signature).overall
    _units, codes = np.unique(instances.unit.astype(str), return_inverse=True)
    deff = design_effect(
        np.bincount(codes[instances.verdict == WRONG], minlength=len(_units)),
        np.bincount(codes[instances.verdict != UNDECIDED], minlength=len(_units)),
    )
    shares = {"instance": found.instance.share, "aggregate": found.aggregate.decided.share}
    return Measured(
        rates={name: None if share is None else 100 * share for name, share in shares.items()},
        design_effect=deff,
        seconds=seconds,
    )


def _seconds(campaign: Campaign) -> float | None:
    """Per judgement: a screen's active seconds belong to all its rows together."""
    screens = (
        Annotation.objects.filter(
            assignment__round__campaign=campaign,
            assignment__round__kind=Round.Kind.MAIN,
            active_seconds__isnull=False,
        )
        .order_by()
        .values("client_key")
        .annotate(active=Max("active_seconds"), rows=Count("pk"), last=Max("pk"))
        .order_by("-last")
        .values_list("active", "rows")[:SCREENS]
    )
    return pace([active / rows for active, rows in screens])


def plan(campaign: Campaign, wish: Wish, found: Measured | None = None) -> Document:
    """What the goal takes; Refused where it is out of reach or out of range."""
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
    except ValueError as error:
        raise Refused(str(error)) from None
    return {
        "campaign": campaign.slug,
        "goal": wish.goal,
        "of": None if wish.goal == "spot-check" else of,
        **made,
        "measured": known.as_json(),
        "signature": f"plan|ver:1|goal:{wish.goal}",
    }


def _precision(campaign: Campaign, wish: Wish, of: str, known: Measured) -> Document:
    effort, rate = _effort(campaign, wish, known), _rate(wish, of, known)
    if of == "share":
        return triples_for_share(wish.width, share=rate, effort=effort, population=wish.population).as_json()
    if of == "auc":
        return triples_for_auc(wish.width, auc=wish.auc / 100, share=rate, effort=effort).as_json()
    return for_precision(
        wish.width,
        rate=rate,
        effort=effort,
        of="instance" if of == "instance" else "aggregate",
        deff=known.design_effect or CONTEXTS,
        population=wish.population,
    ).as_json()


def _difference(campaign: Campaign, wish: Wish, of: str, known: Measured) -> Document:
    rate = _rate(wish, of, known)
    # Units right or wrong in both systems, with correlation one half: √(2p(1 − p)(1 − ½)).
    spread = sqrt(rate * (1 - rate)) if wish.spread is None else wish.spread / 100
    return to_detect(
        wish.difference,
        spread=spread,
        effort=_effort(campaign, wish, known),
        unit="compounds" if campaign.protocol == Campaign.Protocol.COMPOUND else "triples",
        seed_sd=wish.seed_sd,
        runs=wish.runs,
        comparisons=wish.comparisons,
    ).as_json()


def _spot_check(campaign: Campaign, wish: Wish, _of: str, known: Measured) -> Document:
    effort = _effort(campaign, wish, known)
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


def _rate(wish: Wish, of: str, known: Measured) -> float:
    if wish.rate is not None:
        return wish.rate / 100
    shown = known.rates[of]
    return (CAUTIOUS if shown is None else shown) / 100


def _effort(campaign: Campaign, wish: Wish, known: Measured) -> Effort:
    return Effort(
        experts=wish.experts or campaign.annotators_per_item,
        per_unit=CONTEXTS if campaign.protocol == Campaign.Protocol.COMPOUND else 1,
        seconds=known.seconds if wish.seconds is None else wish.seconds,
    )
