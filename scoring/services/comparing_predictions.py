"""Systems on the same triples: what was submitted against one split, side by side, and where two runs part.

A run is the latest submission of its name by one account. Stored predictions are scored against the labels there are
now (a release's: those it was frozen with), a threshold that was tuned on dev is tuned anew, and only triples that
every run scores are compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.models import Campaign, Item
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.models import Prediction, Release, Submission
from scoring.services.boards import latest_runs
from scoring.services.comparing import (
    CHOSEN_TWICE,
    Pair,
    check_among,
    chosen_pair,
    one_system,
)
from scoring.services.gather import Labels
from scoring.services.runs import Run, title_of, told_apart
from scoring.services.scores import gold_of
from scoring.services.targets import Place, Target, target_of
from scoring.stats.classification import UNLABELLED, tune_threshold
from scoring.stats.groups import Mask, table_groups
from scoring.stats.paired_predictions import Predictions, compare_predictions, pair_differences

CHUNK = 5000

Document = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which submissions are to be compared, and which two runs of them side by side; what is left open is chosen."""

    release: str | None = None
    split: str | None = None
    labels: str | None = None  # imported or final; of the campaign as it stands
    among: Sequence[str] = ()  # names of systems; none for all
    pair: Pair = (None, None)


@dataclass(frozen=True, kw_only=True)
class SubmittedRun:
    """A run of a system. Where two accounts use one name, the second system is called “name (2)”."""

    submission: Submission
    system: str
    title: str

    @property
    def names(self) -> Run:
        return self.system, self.submission.run


@dataclass(frozen=True, kw_only=True)
class Field:
    """What runs are comparable on, one split of the campaign as it stands or of a release, and these runs."""

    release: Release | None
    split: str
    runs: Sequence[SubmittedRun]

    @property
    def name(self) -> str:
        return f"{self.release.name} / {self.split}" if self.release else self.split

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(run.system for run in self.runs))

    def pair(self, wanted: Wanted) -> tuple[int, ...]:
        """The two runs asked for, by their places; none where there is one run."""
        return chosen_pair([run.names for run in self.runs], [run.title for run in self.runs], wanted.pair)

    def as_json(self) -> Document:
        """`{release, split, systems, runs}`, the last two as numbers."""
        return {
            "release": self.release.name if self.release else None,
            "split": self.split,
            "systems": len(self.systems),
            "runs": len(self.runs),
        }


def compared_predictions(campaign: Campaign, wanted: Wanted, *, seed: int, resamples: int) -> Document:
    """Everything that compares submitted systems; a fixed number of queries, however many there are."""
    fields = _fields(campaign)
    whole = _chosen(fields, wanted)
    field = _among(whole, wanted.among)
    table = _table(campaign, field, wanted.labels)
    found = compare_predictions(
        table.label,
        _systems(field, table),
        labels=table.labels.signature,
        groups=table.groups,
        seed=seed,
        resamples=resamples,
    ).as_json()
    where = f"|release:{field.release.sha256[:12]}" if field.release else ""
    pair = field.pair(wanted)
    return {
        "campaign": campaign.slug,
        "release": field.release.name if field.release else None,
        "split": field.split,
        "fields": [one.as_json() for one in fields],
        "of": whole.systems,
        "runs": [run.title for run in field.runs],
        "submissions": _submissions(field, table),
        **found,
        **({"one_system": one_system(len(field.runs))} if len(field.systems) == 1 else {}),
        "pair": _pair(field, table, pair, seed=seed, resamples=resamples) if pair else None,
        "differing": _differing(campaign, field, table, pair, _parted(table, pair)) if pair else None,
        "warnings": table.warnings,
        "labels": table.labels.as_json(),
        "signature": f"{found['signature']}|split:{field.split}{where}",
    }


def check_wanted(campaign: Campaign, wanted: Wanted) -> None:
    """Refused where nothing is there to be compared, or nothing by these names; one query."""
    _among(_chosen(_fields(campaign), wanted), wanted.among).pair(wanted)


def differing_triples(campaign: Campaign, wanted: Wanted, *, group: str = "all") -> Document:
    """The triples of a group that two runs call differently, with what they say.

    `{release, split, a, b, triples, texts, groups, labels}`, a text for each triple in its place.
    """
    field = _among(_chosen(_fields(campaign), wanted), wanted.among)
    pair = field.pair(wanted)
    if not pair:
        raise Refused(say("There is one run here, so there is no other to compare it with."))
    table = _table(campaign, field, wanted.labels)
    if group not in table.groups:
        raise Refused(
            say(
                "There is no group “{name}” here; there are: {names}.",
                name=group,
                names=", ".join(table.groups),
            )
        )
    rows = [row for row in _parted(table, pair) if table.groups[group][row]]
    return {
        "release": field.release.name if field.release else None,
        "split": field.split,
        **_differing(campaign, field, table, pair, rows),
        "texts": [{**table.places[row].texts, "class": table.places[row].item_class} for row in rows],
        "groups": list(table.groups),
        "labels": table.labels.as_json(),
    }


# Which runs -----------------------------------------------------------------------------------------------------


def _fields(campaign: Campaign) -> list[Field]:
    """All there are, the one with the most runs first, of equal ones that of the newest submission; one query."""
    found = Submission.objects.filter(campaign=campaign).select_related("release")
    by_field: dict[tuple[int | None, str], list[Submission]] = {}
    for submission in found.order_by("-pk"):
        by_field.setdefault((submission.release_id, submission.split), []).append(submission)
    if not by_field:
        raise Refused(
            say(
                "No system has sent in predictions yet, so there is nothing to compare. Send some in on the page "
                "“Submissions”, or by the command “score”."
            )
        )
    fields = [
        Field(release=of_field[0].release, split=of_field[0].split, runs=_runs(of_field))
        for of_field in by_field.values()
    ]
    return sorted(fields, key=lambda field: -len(field.runs))


def _runs(submissions: Sequence[Submission]) -> list[SubmittedRun]:
    latest = latest_runs(sorted(submissions, key=lambda submission: submission.pk))
    accounts = list(dict.fromkeys((one.system, one.created_by_id) for one in latest))
    systems = dict(zip(accounts, told_apart([system for system, _account in accounts]), strict=True))
    names = [systems[one.system, one.created_by_id] for one in latest]
    titles = told_apart([title_of((name, one.run)) for name, one in zip(names, latest, strict=True)])
    return [
        SubmittedRun(submission=one, system=name, title=title)
        for one, name, title in zip(latest, names, titles, strict=True)
    ]


def _chosen(fields: Sequence[Field], wanted: Wanted) -> Field:
    """The first that is as asked for; a split without a release is that of the campaign as it stands."""
    for field in fields:
        release = field.release.name if field.release else None
        if wanted.split is None and wanted.release in (None, release):
            return field
        if (wanted.release, wanted.split) == (release, field.split):
            return field
    asked = " / ".join(name for name in (wanted.release, wanted.split) if name)
    raise Refused(
        say(
            "No submission was scored against “{asked}”; there are some against: {there}.",
            asked=asked,
            there=", ".join(field.name for field in fields),
        )
    )


def _among(field: Field, names: Sequence[str]) -> Field:
    check_among(names, field.systems)
    return replace(field, runs=[run for run in field.runs if not names or run.system in names])


# What they say --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Table:
    """The triples that every run scores, in the order of import, with the scores (triples,) of each run."""

    places: Sequence[Place]
    label: NDArray[np.int8]
    groups: Mapping[str, Mask]
    scores: Sequence[Floats]
    thresholds: Sequence[float]
    labels: Labels
    warnings: Sequence[str]


def _table(campaign: Campaign, field: Field, labels: str | None) -> _Table:
    target = target_of(campaign, release=field.release, labels=labels or "")
    asked = target.of_split(field.split)
    of_runs = _predictions(field)
    places = [place for place in asked if all(place.pk in scores for scores in of_runs)]
    gold = gold_of(target, places)
    if not (gold.label != UNLABELLED).any():
        raise Refused(
            say("No triple that all runs score has a label, so there is nothing to compare them on.")
        )
    warnings = [] if len(places) == len(asked) else [_unscored(len(asked) - len(places))]
    return _Table(
        places=places,
        label=gold.label,
        groups=table_groups(gold.item_class, gold.class_groups),
        scores=[np.array([scores[place.pk] for place in places], dtype=np.float64) for scores in of_runs],
        thresholds=[_threshold(run, target, scores) for run, scores in zip(field.runs, of_runs, strict=True)],
        labels=target.labels,
        warnings=warnings,
    )


def _unscored(n: int) -> str:
    return say(
        "Triples that are newer than one of the submissions, or have another text now: {n}. They are left out.",
        n=n,
    )


def _predictions(field: Field) -> list[dict[int, float]]:
    """The scores of each run, by item; one query."""
    found: dict[int, dict[int, float]] = {run.submission.pk: {} for run in field.runs}
    rows = Prediction.objects.filter(submission__in=found).order_by()
    for submission, item, score in rows.values_list("submission", "item", "score").iterator(CHUNK):
        found[submission][item] = score
    return list(found.values())


def _threshold(run: SubmittedRun, target: Target, scores: Mapping[int, float]) -> float:
    """As it was given with the run, else tuned on dev."""
    if run.submission.threshold is not None:
        return run.submission.threshold
    dev = [place for place in target.of_split("dev") if place.pk in scores]
    try:
        return tune_threshold(
            gold_of(target, dev).label, np.array([scores[place.pk] for place in dev], dtype=np.float64)
        )
    except ProtocolError:
        raise Refused(
            say(
                "The threshold of “{run}” was to be tuned on dev, and by these labels dev holds no plausible triple. "
                "Choose other labels, or leave the system out.",
                run=run.title,
            )
        ) from None


def _systems(field: Field, table: _Table) -> list[Predictions]:
    rows: dict[str, list[int]] = {}
    for row, run in enumerate(field.runs):
        rows.setdefault(run.system, []).append(row)
    return [
        Predictions(
            name=name,
            runs=tuple(table.scores[row] for row in of_system),
            thresholds=tuple(table.thresholds[row] for row in of_system),
        )
        for name, of_system in rows.items()
    ]


def _submissions(field: Field, table: _Table) -> list[Document]:
    return [
        {
            "id": run.submission.pk,
            "title": run.title,
            "system": run.system,
            "run": run.submission.run,
            "threshold": threshold,
            "tuned": run.submission.threshold is None,
        }
        for run, threshold in zip(field.runs, table.thresholds, strict=True)
    ]


# Two runs -------------------------------------------------------------------------------------------------------


def _pair(field: Field, table: _Table, pair: tuple[int, ...], *, seed: int, resamples: int) -> Document:
    """The differences of two runs by group; none where one run was chosen twice."""
    a, b = pair
    named: Document = {"a": field.runs[a].title, "b": field.runs[b].title}
    if a == b:
        return {**named, "groups": [], "reason": CHOSEN_TWICE}
    one, other = (
        Predictions(
            name=field.runs[row].title, runs=(table.scores[row],), thresholds=(table.thresholds[row],)
        )
        for row in pair
    )
    found = pair_differences(table.label, one, other, groups=table.groups, seed=seed, resamples=resamples)
    groups = [
        {"group": group, "n": differences[0].n, "differences": [one.as_json() for one in differences]}
        for group, differences in found.items()
    ]
    return {**named, "groups": groups}


def _parted(table: _Table, pair: tuple[int, ...]) -> list[int]:
    """The rows with a label that one of two runs calls plausible and the other does not."""
    calls = [table.scores[row] >= table.thresholds[row] for row in pair]
    parted: list[int] = np.flatnonzero((calls[0] != calls[1]) & (table.label != UNLABELLED)).tolist()
    return parted


def _differing(
    campaign: Campaign, field: Field, table: _Table, pair: tuple[int, ...], rows: Sequence[int]
) -> Document:
    """These triples, which two runs call differently; an item by its number in the campaign."""
    titles = [field.runs[row].title for row in pair]
    numbers = dict(Item.objects.filter(campaign=campaign).values_list("pk", "position"))
    triples = []
    for row in rows:
        label = int(table.label[row])
        scores = [float(table.scores[side][row]) for side in pair]
        calls = [int(score >= table.thresholds[side]) for score, side in zip(scores, pair, strict=True)]
        triples.append(
            {
                "item": numbers[table.places[row].pk],
                "label": label,
                "score_a": scores[0],
                "score_b": scores[1],
                "call_a": calls[0],
                "call_b": calls[1],
                "wrong": titles[0] if calls[0] != label else titles[1],
            }
        )
    return {"a": titles[0], "b": titles[1], "triples": triples}
