"""What a campaign has shown so far that a plan can rest on: rates, pace, and how far systems and runs part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from django.db.models import Count, Max
from numpy.typing import NDArray

from annotation.models import Annotation, Campaign, Round, User
from scoring.models import Prediction, Submission
from scoring.services.gather import Labels, all_instances_of, labels_of
from scoring.services.peeks import record_peek, still_open
from scoring.services.runs import Run, title_of
from scoring.stats.classification import measure
from scoring.stats.error_rates import UNDECIDED, WRONG, Instances, error_rates
from scoring.stats.planning import design_effect, pace
from scoring.stats.spreads import paired_auc_spread, paired_rate_spreads, pooled, seed_sd
from scoring.stats.systems import JudgedSystem, system_table

Document = dict[str, Any]

SCREENS = 2000  # of the latest, for the pace
PLAN = "plan"  # what a peek at these figures is called
RUNS = 8  # submissions read for the spread of the AUC: the latest


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the campaign has shown so far, by figure; None where it has not. Rates in per cent, spreads in points.

    `spread` is that of two systems on one unit, `run_spread` that of two runs of one, `seed_sd` what lies between the
    seeds of one. `withheld`: open answers because of which nothing was taken from the answers so far. `labels`: the
    source of those that the rates rest on, and `of` the run they are of where there are several, for the page.
    """

    rates: Mapping[str, float | None]
    seconds: float | None
    design_effect: float | None = None
    spread: Mapping[str, float | None] = field(default_factory=dict)
    run_spread: Mapping[str, float | None] = field(default_factory=dict)
    seed_sd: Mapping[str, float | None] = field(default_factory=dict)
    withheld: int = 0
    labels: str | None = None
    of: str = ""

    def as_json(self) -> Document:
        """`{rates, design_effect, seconds, spread, run_spread, seed_sd, withheld}`."""
        return {
            "rates": dict(self.rates),
            "design_effect": self.design_effect,
            "seconds": self.seconds,
            "spread": dict(self.spread),
            "run_spread": dict(self.run_spread),
            "seed_sd": dict(self.seed_sd),
            "withheld": self.withheld,
        }


def measured(campaign: Campaign, *, interim: bool = False) -> Measured:
    """The campaign's own figures. While answers are open, those made of answers only where `interim` says so."""
    seconds = pace_of(campaign)
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    nothing = Measured(rates=dict.fromkeys(_names(campaign)), seconds=seconds)
    withheld = still_open(campaign, PLAN) if _rests_on_answers(campaign) and not interim else 0
    if withheld:
        return replace(nothing, withheld=withheld)
    labels = labels_of(campaign)
    if not compound:
        return replace(_of_triples(campaign, labels, seconds), labels=labels.source)
    gathered = {run: instances for run, (instances, _items) in all_instances_of(campaign, labels).items()}
    return replace(_of_compounds(gathered, labels, seconds), labels=labels.source) if gathered else nothing


def measured_and_noted(campaign: Campaign, *, by: User | None) -> Measured:
    """All of them; written down as a peek while answers are open."""
    found = measured(campaign, interim=True)
    if _rests_on_answers(campaign):
        record_peek(campaign, PLAN, by=by)
    return found


def _names(campaign: Campaign) -> tuple[str, str]:
    return ("instance", "aggregate") if campaign.protocol == Campaign.Protocol.COMPOUND else ("share", "auc")


def _rests_on_answers(campaign: Campaign) -> bool:
    """Imported labels of triples were there before anybody judged."""
    return campaign.protocol == Campaign.Protocol.COMPOUND or campaign.label_version > 0


def pace_of(campaign: Campaign) -> float | None:
    """Seconds a judgement takes: a screen's active seconds belong to all its rows together."""
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


# Compounds -------------------------------------------------------------------------------------------------------


def _of_compounds(gathered: Mapping[Run, Instances], labels: Labels, seconds: float | None) -> Measured:
    """Rates and design effect of the first run, spreads of all."""
    run, first = next(iter(gathered.items()))
    found = error_rates(_without_tables(first), labels=labels.signature).overall
    _units, codes = np.unique(first.unit.astype(str), return_inverse=True)
    deff = design_effect(
        np.bincount(codes[first.verdict == WRONG], minlength=len(_units)),
        np.bincount(codes[first.verdict != UNDECIDED], minlength=len(_units)),
    )
    shares = {"instance": found.instance.share, "aggregate": found.aggregate.decided.share}
    found_so_far = Measured(rates=_in_percent(shares), seconds=seconds, design_effect=deff)
    if len(gathered) == 1:
        return found_so_far
    return replace(_with_spreads(found_so_far, gathered), of=title_of(run))


def _without_tables(instances: Instances) -> Instances:
    return instances.only(np.ones(instances.unit.size, dtype=np.bool_))


def _with_spreads(known: Measured, gathered: Mapping[Run, Instances]) -> Measured:
    """Over all pairs of systems, one run of each, and over all pairs of runs of one system."""
    systems: dict[str, list[Instances]] = {}
    for (system, _run), instances in gathered.items():
        systems.setdefault(system, []).append(instances)
    table = system_table([JudgedSystem(name=name, runs=tuple(runs)) for name, runs in systems.items()])
    columns = [np.flatnonzero(table.columns == system).tolist() for system in range(len(systems))]
    firsts = [paired_rate_spreads(table, a[0], b[0]) for a, b in combinations(columns, 2)]
    of_runs = [
        paired_rate_spreads(table, a, b) for of_system in columns for a, b in combinations(of_system, 2)
    ]
    names = ("instance", "aggregate")
    run_spread = {name: _points(pooled(one[name] for one in of_runs)) for name in names}
    return replace(
        known,
        spread={name: _points(pooled(one[name] for one in firsts)) for name in names},
        run_spread=run_spread,
        seed_sd={name: _seed_sd(systems, name, run_spread[name]) for name in names},
    )


def _seed_sd(systems: Mapping[str, Sequence[Instances]], name: str, run_spread: float | None) -> float | None:
    """In points; from the rates of the runs that have one."""
    if run_spread is None:
        return None
    rates: list[list[float]] = []
    units: list[int] = []
    for runs in systems.values():
        of_system = []
        for run in runs if len(runs) > 1 else ():
            found = error_rates(_without_tables(run), labels="").overall
            share = found.instance if name == "instance" else found.aggregate.decided
            if share.share is not None:
                of_system.append(100 * share.share)
                units.append(len(set(run.unit.tolist())))
        rates.append(of_system)
    return seed_sd(rates, run_spread=run_spread, units=min(units)) if units else None


# Triples ---------------------------------------------------------------------------------------------------------


def _of_triples(campaign: Campaign, labels: Labels, seconds: float | None) -> Measured:
    """The share of plausible triples, and the spreads of the AUC of what was submitted."""
    plausible = [label == "1" for label in labels.by_item.values()]
    share = 100 * sum(plausible) / len(plausible) if plausible else None
    known = Measured(rates={"share": share, "auc": share}, seconds=seconds)
    runs = _scored_runs(campaign)
    return _with_auc_spreads(known, runs, labels) if len(runs) > 1 else known


def _scored_runs(campaign: Campaign) -> dict[Run, Mapping[int, float]]:
    """The scores by item of the latest submissions, one of each run of a system."""
    latest: dict[Run, int] = {}
    sent = Submission.objects.filter(campaign=campaign).order_by("-pk").values_list("system", "run", "pk")
    for system, run, pk in sent[: 4 * RUNS]:
        if len(latest) < RUNS:
            latest.setdefault((system, run), pk)
    scores: dict[int, dict[int, float]] = {pk: {} for pk in latest.values()}
    rows = Prediction.objects.filter(submission__in=latest.values()).order_by()
    for submission, item, score in rows.values_list("submission", "item", "score"):
        scores[submission][item] = score
    return {run: scores[pk] for run, pk in latest.items() if scores[pk]}


def _with_auc_spreads(known: Measured, runs: Mapping[Run, Mapping[int, float]], labels: Labels) -> Measured:
    """On the triples that all of them scored and that have a label."""
    shared = set.intersection(*(set(scores) for scores in runs.values())) & set(labels.by_item)
    items = sorted(shared)
    label = np.array([int(labels.by_item[item]) for item in items], dtype=np.int8)
    systems: dict[str, list[NDArray[np.float64]]] = {}
    for (system, _run), scores in runs.items():
        systems.setdefault(system, []).append(np.array([scores[item] for item in items]))
    spread = pooled(paired_auc_spread(label, a[0], b[0]) for a, b in combinations(systems.values(), 2))
    run_spread = _points(
        pooled(
            paired_auc_spread(label, a, b)
            for of_system in systems.values()
            for a, b in combinations(of_system, 2)
        )
    )
    seeds = None if run_spread is None else _auc_seed_sd(systems, label, run_spread)
    return replace(
        known, spread={"auc": _points(spread)}, run_spread={"auc": run_spread}, seed_sd={"auc": seeds}
    )


def _auc_seed_sd(
    systems: Mapping[str, Sequence[NDArray[np.float64]]], label: NDArray[np.int8], run_spread: float
) -> float | None:
    aucs = [
        [100 * auc for run in runs if (auc := measure(label, run).auc) is not None]
        for runs in systems.values()
        if len(runs) > 1
    ]
    return seed_sd(aucs, run_spread=run_spread, units=label.size)


def _points(share: float | None) -> float | None:
    """A spread of nothing is no spread to plan with."""
    return None if not share else 100 * share


def _in_percent(shares: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: None if share is None else 100 * share for name, share in shares.items()}
