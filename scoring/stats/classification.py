"""Plausibility as classification: AUC of a score, F1, precision and recall of the plausible class, by group.

A system gives each triple a score; a score at or above the threshold calls it plausible. The threshold is
0.5, or tuned on dev for the highest F1 there. AUC needs both classes and is None with a reason in a group
that holds one; nothing stands in for it. Means over groups say how many groups they are over. Every figure has a 95 %
interval over triples (`measure_intervals`).

Source: Fang et al. 2021 (CKBP), tables of AUC and F1 by all, ID, OOD, Adv; AUC is the probability that a
plausible triple scores higher than an implausible one, ties counted half (Hanley and McNeil 1982).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say, say_count
from annotation.protocol.triple import CLASS_GROUPS
from scoring.stats.groups import ClassGroups, Mask, relations, table_groups
from scoring.stats.measure_intervals import (
    MEASURES,
    Bounds,
    auc_bounds,
    call_bounds,
    independent_mean,
    no_bounds,
)
from scoring.stats.proportions import Interval, percent, percent_interval, reasons

PLAUSIBLE, IMPLAUSIBLE, UNLABELLED = 1, 0, -1
DEFAULT_THRESHOLD = 0.5

CEILING = say(
    "A ceiling by construction: the same scores define the labels they are measured against. Each slot's "
    "scores are taken as 1 (scored 1) or 0 (scored 0.5 or 0), and the figures of the slots are averaged."
)


@dataclass(frozen=True, kw_only=True)
class Measures:
    """AUC, F1, precision and recall of the plausible class (0 to 1) on `n` triples; None where undefined.

    `bounds` holds the interval of each by its name; empty where none was asked for.
    """

    n: int
    plausible: int
    auc: float | None
    f1: float | None
    precision: float | None
    recall: float | None
    reason: str | None
    bounds: Mapping[str, Bounds] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """`{n, plausible, auc, f1, precision, recall, reason, auc_ci95, auc_ci95_method, …}`, values 0 to 100."""
        return {
            "n": self.n,
            "plausible": self.plausible,
            "auc": percent(self.auc),
            "f1": percent(self.f1),
            "precision": percent(self.precision),
            "recall": percent(self.recall),
            "reason": self.reason,
            **{key: value for name, one in self.bounds.items() for key, value in one.as_json(name).items()},
        }


@dataclass(frozen=True, kw_only=True)
class GroupMean:
    """A mean over the relations in which the value is defined: `defined` of `of`."""

    value: float | None
    interval: Interval | None
    defined: int
    of: int

    def as_json(self) -> dict[str, Any]:
        """`{value, ci95, groups}`, such as `{75.0, [60.1, 84.2], "2 of 3"}`."""
        return {
            "value": percent(self.value),
            "ci95": percent_interval(self.interval),
            **reasons(NO_RELATION if self.interval is None else None, "ci95_reason"),
            "groups": f"{self.defined} of {self.of}",
        }


@dataclass(frozen=True, kw_only=True)
class Classification:
    """The rows by group (all, ID, OOD, Adv, cs_head, all_head, then relations, where they occur).

    `left_out` counts the triples without a label or, for people, without a score in every slot.
    """

    rows: tuple[tuple[str, Measures], ...]
    mean_auc: GroupMean
    mean_f1: GroupMean
    left_out: int
    threshold: float
    warnings: tuple[str, ...]
    signature: str

    def as_json(self) -> dict[str, Any]:
        """The document of `score` and `report human`; the caller adds system, run, split and labels."""
        return {
            "threshold": self.threshold,
            "rows": [{"group": group} | row.as_json() for group, row in self.rows],
            "mean_over_relations": {"auc": self.mean_auc.as_json(), "f1": self.mean_f1.as_json()},
            "left_out": self.left_out,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


@dataclass(frozen=True, kw_only=True)
class Gold:
    """The labels to score against, row by row: 1 plausible, 0 implausible, -1 none; classes, relations ""
    if unknown. `class_groups` says which classes stand in which group.

    Raises ValueError when lengths differ or a label is something else.
    """

    label: NDArray[np.int8]
    item_class: Sequence[str]
    relation: Sequence[str]
    class_groups: ClassGroups = field(default_factory=lambda: CLASS_GROUPS)

    def __post_init__(self) -> None:
        if not self.label.size == len(self.item_class) == len(self.relation):
            raise ValueError("labels, classes and relations need the same length")
        if not np.isin(self.label, (PLAUSIBLE, IMPLAUSIBLE, UNLABELLED)).all():
            raise ValueError("a label is 1 (plausible), 0 (implausible) or -1 (none)")


NO_TRIPLES = say("no triples")
NO_LABELS = say("no triple here has a label")
NO_SCORES = say("no triple here has a label and a score from every expert")
NO_RELATION = say("the value is undefined in every relation")


def measure(
    label: NDArray[np.int8],
    score: NDArray[np.float64],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    nothing: str = NO_TRIPLES,
) -> Measures:
    """AUC, F1, precision and recall of one set of triples, all of them labelled.

    Arguments, shape (n,): `label` 1 or 0; `score` finite, higher is more plausible; `threshold`: at or
    above it a score calls its triple plausible; `nothing`: the reason where there is no triple. Result:
    shares 0 to 1. A system that calls nothing plausible has F1 0 (and no precision) where something is; where
    nothing is and nothing is called so, F1 is undefined.

    >>> measures = measure(np.array([1, 1, 0, 0], dtype=np.int8), np.array([0.9, 0.4, 0.6, 0.1]))
    >>> measures.auc, measures.f1, measures.precision
    (0.75, 0.5, 0.5)
    """
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415

    n, plausible = label.size, int((label == PLAUSIBLE).sum())
    if not n:
        return Measures(n=0, plausible=0, auc=None, f1=None, precision=None, recall=None, reason=nothing)
    if not np.isfinite(score).all():
        raise ValueError("every triple needs a finite score")
    called = score >= threshold
    hits, named = int((called & (label == PLAUSIBLE)).sum()), int(called.sum())
    both = 0 < plausible < n
    return Measures(
        n=n,
        plausible=plausible,
        auc=float(roc_auc_score(label, score)) if both else None,
        f1=2 * hits / (named + plausible) if named + plausible else None,
        precision=hits / named if named else None,
        recall=hits / plausible if plausible else None,
        reason=_reason(n, plausible, named),
    )


def score_predictions(
    gold: Gold,
    score: NDArray[np.float64],
    *,
    labels: str,
    threshold: float = DEFAULT_THRESHOLD,
    tuned: bool = False,
) -> Classification:
    """One system's scores against the labels, by group.

    Arguments: `gold` and `score` row by row, shape (n,); `labels` names the labels used, for the signature;
    `threshold`, and whether it was `tuned` on dev. Triples without a label are left out and counted. Warns
    when all scores lie on one side of the threshold: F1 then says nothing about the scores.

    How to read it: AUC does not depend on the threshold, F1 does; F1 also rises with the share of plausible
    triples, so calling everything plausible gives 36 on the released test split. Compare F1 within a column
    only.

    >>> gold = Gold(label=np.array([1, 0, 1], dtype=np.int8), item_class=["adv"] * 3, relation=["xWant"] * 3)
    >>> table = score_predictions(gold, np.array([0.8, 0.2, 0.4]), labels="imported")
    >>> [(group, row.auc, row.precision) for group, row in table.rows]
    [('all', 1.0, 1.0), ('Adv', 1.0, 1.0), ('xWant', 1.0, 1.0)]
    """
    if score.shape != gold.label.shape:
        raise ValueError("each triple needs one score")
    labelled = gold.label != UNLABELLED
    rows = [
        (group, _measured(gold.label[rows], [score[rows]], threshold=threshold, nothing=NO_LABELS))
        for group, rows in ((group, mask & labelled) for group, mask in _groups(gold))
    ]
    source = "dev-f1" if tuned else "given"
    return _classification(
        gold,
        rows,
        left_out=int((~labelled).sum()),
        threshold=threshold,
        warnings=_one_sided(score[labelled], threshold),
        signature=f"score|ver:1|n:{int(labelled.sum())}|labels:{labels}|threshold:{threshold!r}({source})",
    )


def human_performance(gold: Gold, slots: NDArray[np.float64], *, labels: str, votes: str) -> Classification:
    """How well each slot's scores predict the final labels, averaged over the slots (two by the protocol).

    Arguments: `gold` row by row; `slots`, shape (n, slots), the scores 1, 0.5 and 0, NaN where none was
    given; `labels` and `votes` say which labels and which scores (such as "effective" or "independent")
    were used. Each slot is binarised (1 is plausible; 0.5 and 0 are not) and measured as a system is; a
    value undefined in one slot is undefined in the mean. Triples without a label or a score in every slot
    are left out and counted.

    How to read it: see `CEILING`.

    >>> gold = Gold(label=np.array([1, 0], dtype=np.int8), item_class=["adv"] * 2, relation=["xWant"] * 2)
    >>> human = human_performance(gold, np.array([[1.0, 0.5], [0.0, 0.5]]), labels="final", votes="effective")
    >>> human.rows[0][1].auc, human.rows[0][1].f1
    (0.75, 0.5)
    """
    if slots.ndim != 2 or slots.shape[0] != gold.label.size or not slots.shape[1]:
        raise ValueError("each triple needs one score from each slot")
    labelled = gold.label != UNLABELLED
    used = labelled & ~np.isnan(slots).any(axis=1)
    binary = (slots == 1).astype(np.float64)
    rows = [
        (
            group,
            _measured(
                gold.label[mask & used],
                [column[mask & used] for column in binary.T],
                threshold=DEFAULT_THRESHOLD,
                nothing=NO_LABELS if not (mask & labelled).any() else NO_SCORES,
            ),
        )
        for group, mask in _groups(gold)
    ]
    return _classification(
        gold,
        rows,
        left_out=int((~used).sum()),
        threshold=DEFAULT_THRESHOLD,
        warnings=(CEILING,),
        signature=f"human|ver:1|n:{int(used.sum())}|slots:{slots.shape[1]}|labels:{labels}|votes:{votes}",
    )


def tune_threshold(label: NDArray[np.int8], score: NDArray[np.float64]) -> float:
    """The score of dev that, as threshold, gives the highest F1 there; of equal ones the lowest.

    Arguments, shape (n,): `label` 1 or 0, -1 is left out; `score`. Raises ProtocolError when dev holds no
    labelled plausible triple, since F1 is then 0 or undefined whatever the threshold.

    >>> tune_threshold(np.array([0, 1, 0, 1], dtype=np.int8), np.array([0.1, 0.3, 0.5, 0.7]))
    0.3
    """
    labelled = label != UNLABELLED
    label, score = label[labelled], score[labelled]
    plausible = int((label == PLAUSIBLE).sum())
    if not plausible:
        raise ProtocolError(
            say(
                "The threshold cannot be tuned: the dev split holds no triple labelled plausible. "
                "Give a number instead."
            )
        )
    thresholds, place = np.unique(score, return_inverse=True)
    # Called plausible at each threshold: all with this score or a higher one.
    named = np.bincount(place)[::-1].cumsum()[::-1]
    hits = np.bincount(place[label == PLAUSIBLE], minlength=thresholds.size)[::-1].cumsum()[::-1]
    return float(thresholds[np.argmax(2 * hits / (named + plausible))])


def _groups(gold: Gold) -> list[tuple[str, Mask]]:
    tables = (table_groups(gold.item_class, gold.class_groups), relations(gold.relation))
    return [(group, mask) for rows in tables for group, mask in rows.items()]


def _measured(
    label: NDArray[np.int8], runs: Sequence[NDArray[np.float64]], *, threshold: float, nothing: str
) -> Measures:
    """The mean over the runs (or slots) of the same triples, with its intervals."""
    plausible = label == PLAUSIBLE
    found = _mean([measure(label, score, threshold=threshold, nothing=nothing) for score in runs])
    bounds = {
        "auc": auc_bounds(plausible, runs),
        **call_bounds(plausible, [score >= threshold for score in runs]),
    }
    defined = {
        name: bounds[name] if getattr(found, name) is not None else no_bounds(name) for name in MEASURES
    }
    return replace(found, bounds=defined)


def _classification(
    gold: Gold,
    rows: Sequence[tuple[str, Measures]],
    *,
    left_out: int,
    threshold: float,
    warnings: tuple[str, ...],
    signature: str,
) -> Classification:
    from sklearn import __version__  # noqa: PLC0415

    names = relations(gold.relation)
    of_relations = [row for group, row in rows if group in names]
    methods = {bounds.method for _, row in rows for bounds in row.bounds.values() if bounds.method}
    return Classification(
        rows=tuple(rows),
        mean_auc=_mean_defined("auc", of_relations),
        mean_f1=_mean_defined("f1", of_relations),
        left_out=left_out,
        threshold=threshold,
        warnings=warnings,
        signature=(
            f"{signature}|positive:plausible|intervals:{'+'.join(sorted(methods)) or 'none'}|level:95"
            f"|sklearn:{__version__}"
        ),
    )


def _reason(n: int, plausible: int, named: int) -> str | None:
    parts: list[str] = []
    if not plausible:
        parts.append(
            say_count(
                "AUC needs both classes; the only triple is implausible",
                "AUC needs both classes; all {n} triples are implausible",
                n=n,
            )
        )
        parts.append(
            say("recall needs a plausible triple") if named else say("F1 and recall need a plausible triple")
        )
    elif plausible == n:
        parts.append(
            say_count(
                "AUC needs both classes; the only triple is plausible",
                "AUC needs both classes; all {n} triples are plausible",
                n=n,
            )
        )
    if not named:
        parts.append(say("precision needs a triple called plausible"))
    return reduce(_and_then, parts) if parts else None


def _and_then(first: str, second: str) -> str:
    return say("{first}; {second}", first=first, second=second)


def _mean(slots: Sequence[Measures]) -> Measures:
    return Measures(
        n=slots[0].n,
        plausible=slots[0].plausible,
        auc=_mean_of([slot.auc for slot in slots]),
        f1=_mean_of([slot.f1 for slot in slots]),
        precision=_mean_of([slot.precision for slot in slots]),
        recall=_mean_of([slot.recall for slot in slots]),
        reason=next((slot.reason for slot in slots if slot.reason), None),
    )


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _mean_defined(name: str, rows: Sequence[Measures]) -> GroupMean:
    known = [row for row in rows if getattr(row, name) is not None]
    values = [getattr(row, name) for row in known]
    intervals = [interval for row in known if (interval := row.bounds[name].interval) is not None]
    return GroupMean(
        value=_mean_of(values),
        interval=independent_mean(values, intervals) if intervals else None,
        defined=len(known),
        of=len(rows),
    )


def _one_sided(score: NDArray[np.float64], threshold: float) -> tuple[str, ...]:
    if not score.size:
        return ()
    called = score >= threshold
    if called.any() and not called.all():
        return ()
    found = {"n": score.size, "threshold": f"{threshold:g}"}
    if called.all():
        return (
            say(
                "Every score ({n}) lies at or above the threshold {threshold}: every triple is called plausible. "
                "Choose a threshold in the range of the scores, or tune it on dev.",
                **found,
            ),
        )
    return (
        say(
            "Every score ({n}) lies below the threshold {threshold}: every triple is called implausible. Choose a "
            "threshold in the range of the scores, or tune it on dev.",
            **found,
        ),
    )
