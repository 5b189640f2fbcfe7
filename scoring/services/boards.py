"""A campaign's board: its submissions side by side, and what of their figures a submitter is shown.

From a submitter labels stay hidden. They see AUC and F1, rounded to two decimals, and only where both classes have
at least 20 items. Precision, recall and the share of plausible items stay with the managers: with one item called
plausible, precision alone would tell its label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from annotation.models import Campaign, User
from annotation.services.people import audit
from scoring.models import Board, Release, Submission
from scoring.services.submissions import label_version, version_now
from scoring.stats.significance import Spread, spread

LEAST_OF_A_CLASS = 20
DECIMALS = 2
MEASURES = ("auc", "f1", "precision", "recall")
SHOWN_MEASURES = ("auc", "f1")
BOARD_GROUPS = ("all", "ID", "OOD", "Adv")
HIDDEN = ("left_out", "mean_over_relations", "labels", "signature")

Document = Mapping[str, Any]


def shown_document(document: Document) -> dict[str, Any]:
    """What a submitter is shown of their figures; `withheld` names the groups whose figures would tell too much."""
    return _rounded(_without_hidden(document))


def _rounded(document: Document) -> dict[str, Any]:
    if "rows" not in document:
        return dict(document)
    rows = [row | {name: _to_decimals(row[name]) for name in SHOWN_MEASURES} for row in document["rows"]]
    return {**document, "rows": rows}


def _to_decimals(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)


def _without_hidden(document: Document) -> dict[str, Any]:
    """The same, not yet rounded, for what is computed of it."""
    if "rows" not in document:  # translations: references hold no label
        return dict(document)
    rows, withheld = [], []
    for row in document["rows"]:
        if min(row["plausible"], row["n"] - row["plausible"]) < LEAST_OF_A_CLASS:
            withheld.append(row["group"])
            continue
        rows.append({name: row[name] for name in ("group", "n", *SHOWN_MEASURES)})
    kept = {name: value for name, value in document.items() if name not in HIDDEN}
    return kept | {"rows": rows, "withheld": withheld, "least_of_a_class": LEAST_OF_A_CLASS}


def document_for(submission: Submission, *, manages: bool) -> dict[str, Any]:
    """A submission's figures as this reader may see them."""
    document = submission.evaluation.result
    return dict(document) if manages else shown_document(document)


def _exact(submission: Submission, *, manages: bool) -> dict[str, Any]:
    """The same before rounding: the mean over runs is that of the figures, not of what is left of them."""
    document = submission.evaluation.result
    return dict(document) if manages else _without_hidden(document)


# Runs ------------------------------------------------------------------------------------------------------------


def over_runs(submission: Submission, *, manages: bool = True) -> dict[str, Any]:
    """Mean, standard deviation and number of the runs of one system: `{n, runs, rows: [{group, auc, f1, …}]}`.

    Runs are the latest submissions of the same account under the same name against the same target; a figure's
    own n is the number of runs that have it.
    """
    same = Submission.objects.filter(
        campaign=submission.campaign,
        release=submission.release,
        system=submission.system,
        split=submission.split,
        labels=submission.labels,
        created_by=submission.created_by,
    )
    runs = _latest(same.select_related("evaluation", "campaign", "release"))
    documents = [_exact(run, manages=manages) for run in runs]
    names = [run.run for run in runs]
    if any("rows" not in document for document in documents):
        figures = {
            name: _spread_json(spread(submission.system, name, [found[name]["score"] for found in documents]))
            for name in ("bleu", "chrf")
        }
        return {"n": len(runs), "runs": names, **figures}
    groups = dict.fromkeys(row["group"] for document in documents for row in document["rows"])
    rows = [
        {"group": group}
        | {
            name: _spread_json(_spread(documents, submission.system, group, name, manages=manages))
            for name in (MEASURES if manages else SHOWN_MEASURES)
        }
        for group in groups
    ]
    return {"n": len(runs), "runs": names, "rows": rows}


def _latest(submissions: Any) -> list[Submission]:
    """The last submission of each run, in the order of the runs' names."""
    latest: dict[tuple[int | None, str, str], Submission] = {}
    for submission in submissions.order_by("pk"):
        latest[submission.created_by_id, submission.system, submission.run] = submission
    return [latest[key] for key in sorted(latest, key=lambda key: (key[1], key[2], key[0] or 0))]


def _spread(documents: Sequence[Document], system: str, group: str, measure: str, *, manages: bool) -> Spread:
    rows = [{row["group"]: row for row in document["rows"]}.get(group, {}) for document in documents]
    found = spread(system, measure, [row.get(measure) for row in rows])
    return found if manages else replace(found, mean=_to_decimals(found.mean), sd=_to_decimals(found.sd))


def _spread_json(found: Spread) -> dict[str, Any]:
    return {"mean": found.mean, "sd": found.sd, "n": found.n, "reason": found.reason or found.sd_reason}


# The board -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BoardLine:
    """One system of one account: its figures over runs, by group and measure, or by metric for translations."""

    system: str
    runs: Sequence[Submission]
    figures: Mapping[str, Mapping[str, Spread]]
    mine: bool
    tuned: bool
    stale: bool  # measured against labels that have changed since

    @property
    def best_first(self) -> tuple[bool, float, str]:
        """Sorts by the first measure of everything, highest first; lines without it come last."""
        first = next(iter(self.figures["all"].values())).mean
        return first is None, -(first or 0.0), self.system


def leaderboard(
    campaign: Campaign, *, split: str, release: Release | None = None, viewer: User | None, manages: bool
) -> list[BoardLine]:
    """Every system's latest runs against one split of the campaign or of a release, the best first."""
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    found = Submission.objects.filter(
        campaign=campaign, release=release, split="all" if compound else split
    ).select_related("evaluation", "campaign", "release")
    systems: dict[tuple[int | None, str], list[Submission]] = {}
    for submission in _latest(found):
        systems.setdefault((submission.created_by_id, submission.system), []).append(submission)
    lines = [_line(runs, viewer=viewer, manages=manages) for runs in systems.values()]
    return sorted(lines, key=lambda line: line.best_first)


def _line(runs: Sequence[Submission], *, viewer: User | None, manages: bool) -> BoardLine:
    documents = [_exact(run, manages=manages) for run in runs]
    system = runs[0].system
    figures: dict[str, dict[str, Spread]]
    if "rows" in documents[0]:
        figures = {
            group: {name: _spread(documents, system, group, name, manages=manages) for name in SHOWN_MEASURES}
            for group in BOARD_GROUPS
        }
    else:
        scores = {name: [document[name]["score"] for document in documents] for name in ("bleu", "chrf")}
        figures = {"all": {name: spread(system, name, values) for name, values in scores.items()}}
    return BoardLine(
        system=system,
        runs=runs,
        figures=figures,
        mine=viewer is not None and runs[0].created_by_id == viewer.pk,
        tuned=any(run.threshold is None for run in runs),
        stale=any(label_version(run.evaluation.result) != version_now(run) for run in runs),
    )


def board_document(lines: Sequence[BoardLine], *, split: str, release: Release | None) -> dict[str, Any]:
    """The board as a document: every system with its figures, and the same figures as plain rows."""
    systems = [
        {
            "system": line.system,
            "runs": [run.run for run in line.runs],
            "mine": line.mine,
            "tuned": line.tuned,
            "stale": line.stale,
            "figures": {
                group: {
                    name: {"mean": found.mean, "sd": found.sd, "n": found.n}
                    for name, found in measures.items()
                }
                for group, measures in line.figures.items()
            },
        }
        for line in lines
    ]
    rows = [
        {"system": line.system, "group": group, "measure": name}
        | {"mean": found.mean, "sd": found.sd, "runs": found.n}
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
        "rows": rows,
        "signature": f"leaderboard|ver:1|split:{split}|release:{where}|labels:{'+'.join(versions) or 'none'}"
        f"|systems:{len(lines)}|runs:latest|sd:n-1",
    }


def set_board(campaign: Campaign, *, audience: str, quota: int, by: User | None) -> Board:
    """Who may submit and how often; written down."""
    with transaction.atomic():
        board, _made = Board.objects.update_or_create(
            campaign=campaign, defaults={"audience": audience, "quota": quota}
        )
        audit(campaign, by, "submissions opened or closed", {"audience": audience, "quota": quota})
    return board
