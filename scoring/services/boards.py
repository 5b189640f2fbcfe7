"""A campaign's board: its submissions side by side, and what of their figures a submitter is shown.

From a submitter labels stay hidden. They see AUC and F1, rounded to two decimals, and only where both classes have
at least 20 items. Precision, recall and the share of plausible items stay with the managers: with one item called
plausible, precision alone would tell its label. Intervals stay there too.

The interval of a mean over runs is the mean of the runs' own bounds: over items, with what the runs share counted in
full, so that it is on the wide side. It says nothing about further training seeds; the standard deviation does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from annotation.models import Campaign, User
from annotation.protocol.sentences import say
from annotation.services.people import audit
from annotation.services.wording import wording_of
from scoring.models import Board, Release, Submission
from scoring.services.kept_sentences import as_measured
from scoring.services.submissions import label_version, version_now
from scoring.stats.proportions import reasons
from scoring.stats.significance import Spread, spread

LEAST_OF_A_CLASS = 20
DECIMALS = 2
MEASURES = ("auc", "f1", "precision", "recall")
SHOWN_MEASURES = ("auc", "f1")
METRICS = ("bleu", "chrf")
HIDDEN = ("left_out", "mean_over_relations", "labels", "signature")

Document = Mapping[str, Any]


def board_groups(campaign: Campaign) -> tuple[str, ...]:
    """The groups of items a board has a column for; the out-of-domain classes stand apart too."""
    return ("all", "ID", "OOD", *wording_of(campaign).class_groups.get("OOD", ()), "Adv")


def shown_document(document: dict[str, Any]) -> dict[str, Any]:
    """What a submitter is shown of their figures; `withheld` names the groups whose figures would tell too much."""
    return _rounded(_without_hidden(document))


def _rounded(document: Document) -> dict[str, Any]:
    if "rows" not in document:
        return dict(document)
    rows = [row | {name: _to_decimals(row[name]) for name in SHOWN_MEASURES} for row in document["rows"]]
    return {**document, "rows": rows}


def _to_decimals(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)


def _without_hidden(document: dict[str, Any]) -> dict[str, Any]:
    """The same, not yet rounded, for what is computed of it."""
    if "rows" not in document:  # translations: references hold no label
        return document | {name: _without_interval(document[name]) for name in METRICS}
    rows, withheld = [], []
    for row in document["rows"]:
        if min(row["plausible"], row["n"] - row["plausible"]) < LEAST_OF_A_CLASS:
            withheld.append(row["group"])
            continue
        rows.append({name: row[name] for name in ("group", "n", *SHOWN_MEASURES)})
    kept = {name: value for name, value in document.items() if name not in HIDDEN}
    return kept | {"rows": rows, "withheld": withheld, "least_of_a_class": LEAST_OF_A_CLASS}


def _without_interval(found: Document) -> dict[str, Any]:
    return {name: value for name, value in found.items() if not name.startswith("ci95")}


def document_for(submission: Submission, *, manages: bool) -> dict[str, Any]:
    """A submission's figures as this reader may see them."""
    document = as_measured(submission.evaluation.result)
    return document if manages else shown_document(document)


def _exact(submission: Submission, *, manages: bool) -> dict[str, Any]:
    """The same before rounding: the mean over runs is that of the figures, not of what is left of them."""
    return exact_document(submission.evaluation.result, manages=manages)


def exact_document(document: dict[str, Any], *, manages: bool) -> dict[str, Any]:
    """A document of figures as this reader may see them, not yet rounded."""
    return dict(document) if manages else _without_hidden(document)


# Runs ------------------------------------------------------------------------------------------------------------


def over_runs(submission: Submission, *, manages: bool = True) -> dict[str, Any]:
    """Mean, standard deviation and number of the runs of one system: `{n, runs, rows: [{group, auc, f1, …}]}`.

    Runs are the latest submissions of the same account under the same name against the same target and labels of the
    same source; a figure's own n is the number of runs that have it.
    """
    same = Submission.objects.filter(
        campaign=submission.campaign,
        release=submission.release,
        system=submission.system,
        split=submission.split,
        created_by=submission.created_by,
    ).select_related("evaluation", "campaign", "release")
    runs = latest_runs(run for run in same if label_source(run) == label_source(submission))
    documents = [_exact(run, manages=manages) for run in runs]
    names = [run.run for run in runs]
    if any("rows" not in document for document in documents):
        figures = _of_texts(documents, submission.system)
        return {
            "n": len(runs),
            "runs": names,
            **{name: found.as_json(manages=manages) for name, found in figures.items()},
        }
    groups = dict.fromkeys(row["group"] for document in documents for row in document["rows"])
    rows = [
        {"group": group}
        | {
            name: _of_group(documents, submission.system, group, name, manages=manages).as_json(
                manages=manages
            )
            for name in (MEASURES if manages else SHOWN_MEASURES)
        }
        for group in groups
    ]
    return {"n": len(runs), "runs": names, "rows": rows}


def label_source(submission: Submission) -> str:
    """Whether it was measured against final or imported labels; "" where there are none."""
    return str((submission.evaluation.result.get("labels") or {}).get("source", ""))


def latest_runs(submissions: Iterable[Submission]) -> list[Submission]:
    """The last submission of each run, in the order of the runs' names."""
    latest: dict[tuple[int | None, str, str], Submission] = {}
    for submission in sorted(submissions, key=lambda submission: submission.pk):
        latest[submission.created_by_id, submission.system, submission.run] = submission
    return [latest[key] for key in sorted(latest, key=lambda key: (key[1], key[2], key[0] or 0))]


@dataclass(frozen=True, kw_only=True)
class RunsFigure:
    """One figure over the runs of a system. `ci95`, in percent: the mean of the runs' bounds, None where a run has
    none, and for submitters."""

    spread: Spread
    ci95: list[float] | None = None

    @property
    def mean(self) -> float | None:
        return self.spread.mean

    @property
    def sd(self) -> float | None:
        return self.spread.sd

    @property
    def n(self) -> int:
        return self.spread.n

    def as_json(self, *, manages: bool) -> dict[str, Any]:
        """`{mean, sd, n, reason}`; for managers `{ci95, ci95_reason}` as well."""
        spread = self.spread
        return {
            "mean": spread.mean,
            "sd": spread.sd,
            "n": spread.n,
            "reason": spread.reason or spread.sd_reason,
            **_interval(self, manages=manages),
        }


NO_INTERVAL = say(
    "a run has no such interval; figures measured before there were intervals get theirs when measured again"
)


def _interval(found: RunsFigure, *, manages: bool) -> dict[str, Any]:
    if not manages:
        return {}
    return {"ci95": found.ci95, **reasons(NO_INTERVAL if found.ci95 is None else None, "ci95_reason")}


def _of_group(
    documents: Sequence[Document], system: str, group: str, measure: str, *, manages: bool
) -> RunsFigure:
    rows = [{row["group"]: row for row in document["rows"]}.get(group, {}) for document in documents]
    found = spread(system, measure, [row.get(measure) for row in rows])
    if not manages:
        return RunsFigure(spread=replace(found, mean=_to_decimals(found.mean), sd=_to_decimals(found.sd)))
    known = [row.get(f"{measure}_ci95") for row in rows if row.get(measure) is not None]
    return RunsFigure(spread=found, ci95=_mean_bounds(known))


def _of_texts(documents: Sequence[Document], system: str) -> dict[str, RunsFigure]:
    """BLEU and chrF; documents for submitters hold no interval."""
    return {
        name: RunsFigure(
            spread=spread(system, name, [document[name]["score"] for document in documents]),
            ci95=_mean_bounds([document[name].get("ci95") for document in documents]),
        )
        for name in METRICS
    }


def _mean_bounds(intervals: Sequence[Sequence[float] | None]) -> list[float] | None:
    known = [interval for interval in intervals if interval is not None]
    if not known or len(known) < len(intervals):
        return None
    return [sum(bounds) / len(known) for bounds in zip(*known, strict=True)]


# The board -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BoardLine:
    """One system of one account: its figures over runs, by group and measure, or by metric for translations."""

    system: str
    runs: Sequence[Submission]
    figures: Mapping[str, Mapping[str, RunsFigure]]
    mine: bool
    tuned: bool
    stale: bool  # measured against labels that have changed since
    labels: str  # where they come from: runs against final and against imported labels are two lines

    @property
    def best_first(self) -> tuple[bool, float, str]:
        """Sorts by the first measure of everything, highest first; lines without it come last."""
        first = next(iter(self.figures["all"].values())).mean
        return first is None, -(first or 0.0), self.system


@dataclass(frozen=True, kw_only=True)
class HumanLine:
    """How well the experts' own scores do on the same items: their slots' mean, by group and measure."""

    figures: Mapping[str, Mapping[str, RunsFigure]]
    slots: int
    n: int
    left_out: int  # lacks a label or an answer

    def as_json(self, *, manages: bool) -> dict[str, Any]:
        """`{slots, n, left_out, votes, figures}`."""
        return {
            "slots": self.slots,
            "n": self.n,
            "left_out": self.left_out,
            "votes": "independent",
            "figures": _figures_json(self.figures, manages=manages),
        }


def leaderboard(
    campaign: Campaign, *, split: str, release: Release | None = None, viewer: User | None, manages: bool
) -> list[BoardLine]:
    """Every system's latest runs against one split of the campaign or of a release, the best first."""
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    found = Submission.objects.filter(
        campaign=campaign, release=release, split="all" if compound else split
    ).select_related("evaluation", "campaign", "release")
    systems: dict[tuple[int | None, str, str], list[Submission]] = {}
    for submission in found:
        key = (submission.created_by_id, submission.system, label_source(submission))
        systems.setdefault(key, []).append(submission)
    lines = [_line(latest_runs(runs), viewer=viewer, manages=manages) for runs in systems.values()]
    return sorted(lines, key=lambda line: line.best_first)


def _line(runs: Sequence[Submission], *, viewer: User | None, manages: bool) -> BoardLine:
    documents = [_exact(run, manages=manages) for run in runs]
    system = runs[0].system
    figures: dict[str, dict[str, RunsFigure]]
    if "rows" in documents[0]:
        groups = board_groups(runs[0].campaign)
        figures = by_group(documents, system, groups=groups, manages=manages)
    else:
        figures = {"all": _of_texts(documents, system)}
    return BoardLine(
        system=system,
        runs=runs,
        figures=figures,
        mine=viewer is not None and runs[0].created_by_id == viewer.pk,
        tuned=any(run.threshold is None for run in runs),
        stale=any(label_version(run.evaluation.result) != version_now(run) for run in runs),
        labels=label_source(runs[0]),
    )


def by_group(
    documents: Sequence[dict[str, Any]], system: str, *, groups: Sequence[str], manages: bool
) -> dict[str, dict[str, RunsFigure]]:
    """The board's groups with their measures; precision and recall are for managers."""
    names = MEASURES if manages else SHOWN_MEASURES
    return {
        group: {name: _of_group(documents, system, group, name, manages=manages) for name in names}
        for group in groups
    }


def board_document(
    lines: Sequence[BoardLine],
    *,
    split: str,
    release: Release | None,
    manages: bool,
    human: HumanLine | None = None,
) -> dict[str, Any]:
    """The board as a document: every system with its figures, and the same figures as plain rows."""
    systems = [
        {
            "system": line.system,
            "runs": [run.run for run in line.runs],
            "mine": line.mine,
            "tuned": line.tuned,
            "stale": line.stale,
            "labels": line.labels or None,
            "figures": _figures_json(line.figures, manages=manages),
        }
        for line in lines
    ]
    rows = [
        {"system": line.system, "group": group, "measure": name}
        | {"mean": found.mean, "sd": found.sd, "runs": found.n}
        | _interval(found, manages=manages)
        for line in lines
        for group, measures in line.figures.items()
        for name, found in measures.items()
    ]
    where = release.sha256[:12] if release else "none"
    versions = sorted({str(label_version(run.evaluation.result)) for line in lines for run in line.runs})
    return {
        "split": split,
        "release": release.name if release else None,
        "systems": systems,
        **({} if human is None else {"human": human.as_json(manages=manages)}),
        "rows": rows,
        "signature": f"leaderboard|ver:1|split:{split}|release:{where}|labels:{'+'.join(versions) or 'none'}"
        f"|systems:{len(lines)}|runs:latest|sd:n-1" + ("|ci95:mean-of-runs" if manages else ""),
    }


def _figures_json(figures: Mapping[str, Mapping[str, RunsFigure]], *, manages: bool) -> dict[str, Any]:
    return {
        group: {
            name: {"mean": found.mean, "sd": found.sd, "n": found.n} | _interval(found, manages=manages)
            for name, found in measures.items()
        }
        for group, measures in figures.items()
    }


def set_board(campaign: Campaign, *, audience: str, quota: int, by: User | None) -> Board:
    """Who may submit and how often; written down."""
    with transaction.atomic():
        before = Board.objects.filter(campaign=campaign).values("audience", "quota").first()
        after = {"audience": audience, "quota": quota}
        board, _made = Board.objects.update_or_create(campaign=campaign, defaults=after)
        audit(campaign, by, "submissions opened or closed", {**after, "before": before, "after": after})
    return board
