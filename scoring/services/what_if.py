"""What the labels and the figures would be under another rule, or under a label model. Nothing is stored.

Both sides rest on the same effective answers, read once. One side are the labels as they are: the final ones where the
campaign was finalised, else those its rule gives now. The other is what a rule or a model makes of the answers.

Under a model, as under a rule, an item has no label until all its experts have answered, and what an arbiter decided
stands; what takes the verdict on an alike translation takes it here as well. Answers count as 1 or as less, as they do
for the rule `majority`; "cannot judge" is no answer to a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.models import Campaign, FinalLabel
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import Sentence, say
from annotation.services.errors import Refused
from annotation.services.exports import names_of
from annotation.services.labels import Outcomes, Votes, effective_votes, outcomes_of, rule_for
from annotation.services.snapshot import snapshot
from scoring.models import Prediction, Submission
from scoring.services.boards import latest_runs
from scoring.services.gather import (
    Labels,
    all_instances_of,
    labelled_otherwise,
    labels_by_rule,
    labels_of,
    slot_scores,
    triples_of,
    verdicts,
)
from scoring.services.options import Document, Drawing, Options
from scoring.stats.aggregation import MODELS, UNDECIDED, Aggregated, aggregate
from scoring.stats.agreement_table import Ratings
from scoring.stats.classification import (
    DEFAULT_THRESHOLD,
    Classification,
    Gold,
    human_performance,
    score_predictions,
    tune_threshold,
)
from scoring.stats.composition import LabelledTriples, composition
from scoring.stats.error_rates import error_rates
from scoring.stats.label_changes import LabelChanges, equal_to_label, label_changes

CHUNK = 5000
LABELS = ("0", "1")
NOT_COMPUTED = "not_computed"  # no run of the rule has seen the item yet
MOVED = ("auc", "f1", "precision", "recall")

SAME_ANSWERS = say(
    "The experts' own figures are measured against labels that their answers make: they say how the rules differ, not "
    "which is better."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Side:
    """One set of labels. `state`: by item its label, or the reason why it has none."""

    labels: Labels
    state: Mapping[int, str]
    model: Aggregated | None = None

    @property
    def name(self) -> str:
        return self.labels.signature


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Both sides over the same items, in the order of import.

    `answers`: (items, experts) 1, 0 for less, -1 for none, of the experts (accounts) in `experts`, who go by `names`.
    `decided`: how many of the items an arbiter decided, which stands on both sides.
    """

    items: Sequence[int]
    before: Side
    after: Side
    changes: LabelChanges
    answers: NDArray[np.int8]
    experts: Sequence[int]
    names: Mapping[int, str]
    decided: int

    def states(self, place: int) -> tuple[str, str]:
        """Of the item at that place, before and after."""
        item = self.items[place]
        return self.before.state[item], self.after.state[item]


def compared(campaign: Campaign, options: Options) -> Comparison:
    """The labels as they are, and as the rule or model asked for gives them (else the campaign's own rule, now).

    Refused where there is no such rule or model, or where the model has no answer. A fixed number of queries.
    """
    if options.rule and options.model:
        raise Refused(say("Name a rule or a label model, not both."))
    if options.model is not None and options.model not in MODELS:
        raise Refused(say("There is no label model “{name}”; there are {there}.",
                          name=options.model[:80], there=", ".join(MODELS)))  # fmt: skip
    with snapshot():
        votes = list(effective_votes(campaign))
        try:
            before = _as_they_are(campaign, votes)
            rule = None if options.model else rule_for(campaign, options.rule)
        except ProtocolError as error:
            raise Refused(error.message) from None
    experts = sorted({expert for one in votes for expert in one.experts})
    answers = _answers(votes, experts)
    names = names_of(campaign, real=options.real_names).by_user
    if rule is None:
        assert options.model is not None
        after = _by_model(campaign, votes, answers, [names[expert] for expert in experts], options)
    else:
        after = _by_rule(outcomes_of(votes, rule, k=campaign.annotators_per_item), rule)
    items = [one.item for one in votes]
    changes = label_changes(
        [before.state[item] for item in items],
        [after.state[item] for item in items],
        labels=LABELS,
        source=f"{before.name}>{after.name}",
    )
    return Comparison(
        items=items,
        before=before,
        after=after,
        changes=changes,
        answers=answers,
        experts=experts,
        names=names,
        decided=sum(one.decision is not None for one in votes),
    )


def _as_they_are(campaign: Campaign, votes: Sequence[Votes]) -> Side:
    if not campaign.label_version:
        rule = rule_for(campaign)
        return _by_rule(outcomes_of(votes, rule, k=campaign.annotators_per_item), rule)
    labels = labels_of(campaign, "final")
    without = FinalLabel.objects.filter(item__campaign=campaign).exclude(reason="")
    state = dict(without.values_list("item", "reason")) | dict(labels.by_item)
    k = campaign.annotators_per_item
    return Side(labels=labels, state={one.item: _as_it_is(state.get(one.item), one, k) for one in votes})


def _as_it_is(state: str | None, votes: Votes, k: int) -> str:
    """What lacked answers when the labels were computed, and has them now, waits to be computed."""
    return NOT_COMPUTED if state is None or (state == "incomplete" and len(votes.votes) >= k) else state


def _by_rule(outcomes: Outcomes, rule: str) -> Side:
    state = {item: found.label or found.reason or "" for item, (found, _votes) in outcomes.items()}
    return Side(labels=labels_by_rule(outcomes, rule), state=state)


def _answers(votes: Sequence[Votes], experts: Sequence[int]) -> NDArray[np.int8]:
    column = {expert: place for place, expert in enumerate(experts)}
    answers = np.full((len(votes), len(experts)), UNDECIDED, dtype=np.int8)
    for row, one in enumerate(votes):
        for expert, vote in zip(one.experts, one.votes, strict=True):
            if vote is not None:
                answers[row, column[expert]] = vote == "1"
    return answers


def _by_model(
    campaign: Campaign,
    votes: Sequence[Votes],
    answers: NDArray[np.int8],
    raters: Sequence[str],
    options: Options,
) -> Side:
    """Fitted to the items that all their experts have answered."""
    complete = np.array([len(one.votes) >= campaign.annotators_per_item for one in votes], dtype=np.bool_)
    rows = np.flatnonzero(complete)
    ratings = Ratings(
        raters=tuple(raters),
        table=answers[rows],
        categories=LABELS,
        scale=(0.0, 1.0),
        items=rows,
    )
    assert options.model is not None
    name = next(one for one in MODELS if one == options.model)
    found = aggregate(ratings, name, seed=options.seed)
    if found.reason:
        raise Refused(say("This model gives no labels here: {reason}.", reason=found.reason))
    label = np.full(len(votes), UNDECIDED)
    label[rows] = found.label
    state = {
        one.item: one.decision or _state_by_model(int(number), bool(full), one)
        for one, number, full in zip(votes, label, complete, strict=True)
    }
    carried = {one.item: one.source for one in votes if one.source in state}
    state |= {item: state[source] for item, source in carried.items() if source is not None}
    labels = Labels(
        {item: what for item, what in state.items() if what in LABELS},
        frozenset(item for item, what in state.items() if what == "cannot_judge"),
        "computed",
        f"model {found.model}",
        "1",
        0,
        carried=frozenset(item for item in carried if state[item] in LABELS),
    )
    return Side(labels=labels, state=state, model=found)


def _state_by_model(label: int, complete: bool, votes: Votes) -> str:
    if not complete:
        return "incomplete"
    if not any(vote is not None for vote in votes.votes):
        return "cannot_judge"
    return "tie" if label == UNDECIDED else LABELS[label]


# The document ---------------------------------------------------------------------------------------------------


def what_if_report(campaign: Campaign, options: Options) -> Document:
    """Which labels would flip, and how figures built on them would move."""
    found = compared(campaign, options)
    return {
        "campaign": campaign.slug,
        "labels": found.before.labels.as_json(),
        "to": other_side(found),
        **found.changes.as_json(),
        "arbiter": found.decided,
        "experts": _experts(found),
        **_figures(campaign, found, options),
        "warnings": _warnings(found),
    }


def other_side(found: Comparison) -> Document:
    """The rule or the model that the labels are compared with."""
    side = found.after
    model = None if side.model is None else side.model.as_json()
    return {"rule": None if model else side.labels.rule, "version": side.labels.rule_version, "model": model}


def _warnings(found: Comparison) -> list[str]:
    return list(found.after.model.warnings) if found.after.model else []


def _experts(found: Comparison) -> list[Document]:
    """How often each expert's answers equal the labels, before and after."""
    labels = [verdicts(found.items, side.labels) for side in (found.before, found.after)]
    rows = []
    for column, expert in enumerate(found.experts):
        before, after = (equal_to_label(found.answers[:, column], label) for label in labels)
        rows.append({"expert": found.names[expert], **_moved(before, after, "percent")})
    return sorted(rows, key=lambda row: str(row["expert"]))


def _moved(before: Document, after: Document, name: str) -> Document:
    """A figure before and after, and its difference; null where either is undefined."""
    defined = before[name] is not None and after[name] is not None
    return {"before": before, "after": after, "difference": after[name] - before[name] if defined else None}


def _figures(campaign: Campaign, found: Comparison, options: Options) -> Document:
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        return {"rates": _rates(campaign, found, options)}
    triples, items = triples_of(campaign, found.before.labels)
    after = verdicts(items, found.after.labels)
    return {
        "plausible": _plausible(triples, after, found),
        "human": _human(campaign, triples, items, after, found),
        "submissions": _submissions(campaign, triples, items, after, found),
    }


def _rates(campaign: Campaign, found: Comparison, options: Options) -> list[Document]:
    """The error rates of every run of every system."""
    drawing: Drawing = {"seed": options.seed, "resamples": options.resamples}
    rows = []
    for (system, run), (instances, items) in all_instances_of(campaign, found.before.labels).items():
        before, after = (
            error_rates(
                labelled_otherwise(instances, items, side.labels), labels=side.name, **drawing
            ).as_json()
            for side in (found.before, found.after)
        )
        rates = {rate: _moved(before[rate], after[rate], "percent") for rate in RATES}
        rows.append({"system": system, "run": run, **rates})
    return rows


RATES = ("instance", "aggregate", "all_contexts_wrong")


def _plausible(triples: LabelledTriples, after: NDArray[np.int8], found: Comparison) -> Document:
    """The share of plausible triples."""
    before, then = (
        composition(_relabelled(triples, label), labels=side.name).rows[0].as_json()
        for label, side in ((triples.label, found.before), (after, found.after))
    )
    return _moved(_figure(before, "percent"), _figure(then, "percent"), "percent")


def _figure(row: Document, *names: str) -> Document:
    kept = ("n", "plausible", *(key for name in names for key in (name, f"{name}_ci95")), "ci95", "reason")
    return {key: row[key] for key in kept if key in row}


def _relabelled(triples: LabelledTriples, label: NDArray[np.int8]) -> LabelledTriples:
    """The same triples in one row: without their groups."""
    nothing = [""] * label.size
    return LabelledTriples(
        head=triples.head, relation=nothing, tail=triples.tail, item_class=nothing, split=nothing, label=label
    )


def _gold(label: NDArray[np.int8]) -> Gold:
    nothing = [""] * label.size
    return Gold(label=label, item_class=nothing, relation=nothing)


def _human(
    campaign: Campaign,
    triples: LabelledTriples,
    items: Sequence[int],
    after: NDArray[np.int8],
    found: Comparison,
) -> Document:
    """How well the experts' independent scores predict the labels."""
    slots = slot_scores(campaign, list(items))
    before, then = (
        human_performance(_gold(label), slots, labels=side.name, votes="independent")
        for label, side in ((triples.label, found.before), (after, found.after))
    )
    return {**_classified(before, then), "note": SAME_ANSWERS}


def _classified(before: Classification, after: Classification) -> Document:
    """AUC, F1, precision and recall before and after."""
    of_all = [_figure(one.rows[0][1].as_json(), *MOVED) for one in (before, after)]
    moved = {name: _moved(of_all[0], of_all[1], name)["difference"] for name in MOVED}
    return {"before": of_all[0], "after": of_all[1], "difference": moved}


def _submissions(
    campaign: Campaign,
    triples: LabelledTriples,
    items: Sequence[int],
    after: NDArray[np.int8],
    found: Comparison,
) -> list[Document]:
    """The latest run of each name that was sent in against the campaign as it stands; a release's labels are frozen."""
    asked = Submission.objects.filter(campaign=campaign, release__isnull=True)
    runs = latest_runs(asked)
    scores: dict[int, dict[int, float]] = {run.pk: {} for run in runs}
    rows = Prediction.objects.filter(submission__in=scores).order_by()
    for submission, item, score in rows.values_list("submission", "item", "score").iterator(CHUNK):
        scores[submission][item] = score
    splits = np.array(["test" if split == "tst" else split for split in triples.split], dtype=object)
    return [
        {
            "system": run.system,
            "run": run.run,
            "split": run.split,
            **_submission(run, scores[run.pk], splits, items, (triples.label, after), found),
        }
        for run in runs
    ]


def _submission(
    run: Submission,
    scores: Mapping[int, float],
    splits: NDArray[np.object_],
    items: Sequence[int],
    labels: tuple[NDArray[np.int8], NDArray[np.int8]],
    found: Comparison,
) -> Document:
    score = np.array([scores.get(item, np.nan) for item in items], dtype=np.float64)
    scored = ~np.isnan(score)
    rows = scored & (True if run.split == "all" else splits == run.split)
    dev = scored & (splits == "dev")
    thresholds = [_threshold(run, label[dev], score[dev]) for label in labels]
    measured = [
        score_predictions(
            _gold(label[rows]),
            score[rows],
            labels=side.name,
            threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
            tuned=run.threshold is None,
        )
        for label, side, threshold in zip(labels, (found.before, found.after), thresholds, strict=True)
    ]
    untuned = None in thresholds
    return {
        "thresholds": thresholds,
        **_classified(*measured),
        **({"warning": NOT_TUNED} if untuned else {}),
    }


NOT_TUNED: Sentence = say(
    "The threshold was to be tuned on dev, which holds no plausible triple by one of the two; it stands at 0.5 there."
)


def _threshold(run: Submission, label: NDArray[np.int8], score: NDArray[np.float64]) -> float | None:
    """As it was given with the run, else tuned on dev; None where dev cannot tell."""
    if run.threshold is not None:
        return run.threshold
    try:
        return tune_threshold(label, score)
    except ProtocolError:
        return None
