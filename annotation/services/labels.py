"""Final labels: the rule of the campaign, run over the experts' answers. May run twice, and changes nothing then.

It runs on effective scores: of an expert who judged an item again after a resolution or under new guidelines, the
last answer. An item that only some of its experts have judged again waits: it has no label, reason `incomplete`, and
the votes named with it are those of who has. What an arbiter decided stands in place of the rule's outcome. An item
that takes the verdict on an alike translation (`carried`) has the outcome of that one, its source.

Cost: four reads of the campaign's answers and labels, then writes in chunks only for what changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Sum, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.db.models.lookups import Exact
from django.utils import timezone

from annotation.models import Annotation, Arbitration, Assignment, Campaign, FinalLabel, Item, Job, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.labels import (
    ARBITER,
    CARRIED,
    Outcome,
    check_rule,
    default_rule,
    final_label,
    get_rule,
)
from annotation.services import jobs
from annotation.services.carried import carried_items, sources_of, standing
from annotation.services.effective import COUNTED, item_answers
from annotation.services.turns import turn

CHUNK = 500
OVERLAP = 1000  # answers looked at twice: one that got its id earlier may have been committed later


@dataclass(frozen=True)
class Votes:
    """The effective answers to one item, in slot order: a label code, or None for cannot judge.

    `decision`: the label that an arbiter decided, None where none did. `experts`: whose votes they are, by account.
    `source`: the item whose outcome this one takes, where it was not judged itself; `taken` is that outcome.
    """

    item: int
    votes: tuple[str | None, ...]
    revisions: int  # how many times its answers were saved, in all rounds that count
    decision: str | None = None
    experts: tuple[int, ...] = ()
    source: int | None = None
    taken: Outcome | None = None

    @property
    def inputs(self) -> list[str | None]:
        """What the outcome can be computed from again."""
        if self.taken is not None:
            return [str(self.source), self.taken.label, self.taken.reason]
        return [*self.votes] if self.decision is None else [*self.votes, self.decision]


@dataclass(frozen=True)
class Finalized:
    """What a run of the rule came to."""

    rule: str
    rule_version: str
    label_version: int
    labelled: int
    unlabelled: dict[str, int] = field(default_factory=dict)  # reason → how many items
    changed: int = 0  # items whose label is another than before: gained, lost or turned

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "rule_version": self.rule_version,
            "label_version": self.label_version,
            "labelled": self.labelled,
            "unlabelled": self.unlabelled,
            "changed": self.changed,
        }


Outcomes = dict[int, tuple[Outcome, Votes]]  # by item


def rule_for(campaign: Campaign, name: str | None = None) -> str:
    """The rule asked for, the one used before, or the protocol's own for this number of experts."""
    protocol, k = get_protocol(campaign.protocol), campaign.annotators_per_item
    return check_rule(name or campaign.rule or default_rule(protocol, k), protocol, k).name


def effective_votes(campaign: Campaign) -> Iterator[Votes]:
    """Every active item with its effective answers so far, in the order of import; items nobody answered too."""
    by_item = {found.item: found for found in item_answers(campaign)}
    decided = dict(
        Arbitration.objects.filter(item__campaign=campaign, taken_back_at__isnull=True).values_list(
            "item", "label"
        )
    )
    items = Item.objects.active().filter(campaign=campaign).order_by("position")
    rows = list(items.values_list("pk", "carry_over__checked"))
    source = sources_of(campaign) if any(checked is False for _item, checked in rows) else {}
    for item, _checked in rows:
        found = by_item.get(item)
        counted = found.effective.counted if found else {}
        yield Votes(
            item,
            tuple(counted.values()),
            found.revisions if found else 0,
            decided.get(item),
            tuple(counted),
            source.get(item) if item not in decided else None,
        )


def compute(campaign: Campaign, rule: str) -> Outcomes:
    """The outcome of the rule for every active item; nothing is stored."""
    return outcomes_of(effective_votes(campaign), rule, k=campaign.annotators_per_item)


def outcomes_of(every: Iterable[Votes], rule: str, *, k: int) -> Outcomes:
    """The same for votes that were read before."""
    outcomes = {votes.item: (_outcome(rule, votes, k=k), votes) for votes in every}
    carried = [votes for _outcome_of, votes in outcomes.values() if votes.source in outcomes]
    for votes in carried:
        taking = replace(votes, taken=outcomes[votes.source or 0][0])
        outcomes[votes.item] = (_outcome(rule, taking, k=k), taking)
    return outcomes


def _outcome(rule: str, votes: Votes, *, k: int) -> Outcome:
    name = CARRIED.name if votes.taken else ARBITER.name if votes.decision else rule
    return final_label(name, votes.inputs, k=k)


def finalize(campaign: Campaign, *, rule: str | None = None) -> Finalized:
    """Label what can be labelled, in one transaction."""
    chosen = rule_for(campaign, rule)
    seen_at = timezone.now()
    outcomes = compute(campaign, chosen)
    with turn(campaign):
        return store(campaign, chosen, outcomes, seen_at=seen_at)


def finalize_work(job: Job, progress: Callable[..., None]) -> Callable[[], dict[str, Any]]:
    """The same as a job: computed first, stored together with the job's end."""
    campaign = job.campaign
    chosen = rule_for(campaign, job.arguments.get("rule"))
    seen_at = timezone.now()
    outcomes = compute(campaign, chosen)
    progress(len(outcomes), len(outcomes))

    def end() -> dict[str, Any]:
        with turn(campaign):
            return store(campaign, chosen, outcomes, seen_at=seen_at).as_json()

    return end


def store(campaign: Campaign, rule: str, outcomes: Outcomes, *, seen_at: datetime) -> Finalized:
    """Write the labels that differ from those stored, under a new label version if there are any.

    Runs in the campaign's turn. `seen_at` is when the answers were read: what a run read that began later stays, and an
    item that was withdrawn meanwhile gets no label.
    """
    Campaign.objects.filter(pk=campaign.pk).update(rule=rule)
    stored = {label.item_id: label for label in FinalLabel.objects.filter(item__campaign=campaign)}
    standing = set(Item.objects.active().filter(campaign=campaign).values_list("pk", flat=True))
    outcomes = {
        item: pair
        for item, pair in outcomes.items()
        if item in standing and not (item in stored and stored[item].computed_at > seen_at)
    }
    changed = {item: pair for item, pair in outcomes.items() if not _same(stored.get(item), *pair)}
    gone = [label for item, label in stored.items() if item not in standing]
    if changed or gone:
        Campaign.objects.filter(pk=campaign.pk).update(label_version=F("label_version") + 1)
    campaign.refresh_from_db(fields=["rule", "label_version"])
    FinalLabel.objects.filter(pk__in=[label.pk for label in gone]).delete()
    _write(changed, version=campaign.label_version, seen_at=seen_at)
    relabelled = sum(outcome.label != _label(stored.get(item)) for item, (outcome, _votes) in changed.items())
    reasons = Counter(outcome.reason for outcome, _votes in outcomes.values() if outcome.reason)
    return Finalized(
        rule,
        get_rule(rule).version,
        campaign.label_version,
        labelled=sum(outcome.label is not None for outcome, _votes in outcomes.values()),
        unlabelled=dict(sorted(reasons.items())),
        changed=relabelled + sum(label.label != "" for label in gone),
    )


def _write(changed: Outcomes, *, version: int, seen_at: datetime) -> None:
    """Store these outcomes as final labels, in place of those that their items have."""
    FinalLabel.objects.bulk_create(
        (
            FinalLabel(
                item_id=item,
                label=outcome.label or "",
                reason=outcome.reason or "",
                rule=outcome.rule,
                rule_version=outcome.version,
                version=version,
                inputs=votes.inputs,
                revisions=votes.revisions,
                computed_at=seen_at,
            )
            for item, (outcome, votes) in changed.items()
        ),
        batch_size=CHUNK,
        update_conflicts=True,
        unique_fields=["item"],
        update_fields=[
            "label",
            "reason",
            "rule",
            "rule_version",
            "version",
            "inputs",
            "revisions",
            "computed_at",
        ],
    )


def _label(stored: FinalLabel | None) -> str | None:
    return (stored.label or None) if stored else None


def _same(stored: FinalLabel | None, outcome: Outcome, votes: Votes) -> bool:
    return stored is not None and (
        stored.label,
        stored.reason,
        stored.rule,
        stored.rule_version,
        stored.inputs,
        stored.revisions,
    ) == (
        outcome.label or "",
        outcome.reason or "",
        outcome.rule,
        outcome.version,
        votes.inputs,
        votes.revisions,
    )


def stale_labels(campaign: Campaign) -> int:
    """How many outcomes, labels and reasons for none, are older than the answers: they wait for a run of the rule."""
    return stale_of(campaign).count()


def stale_of(campaign: Campaign) -> QuerySet[FinalLabel]:
    """These labels. Where answers were missing and are missing still, that there is no label stays true, whatever was
    saved since.
    """
    missing = Assignment.objects.filter(
        round__kind=Round.Kind.MAIN, withdrawn_at__isnull=True, answered_at__isnull=True
    )
    of_source = standing().filter(Exists(missing.filter(item=OuterRef("source"))), item=OuterRef("item"))
    lacking = Exists(missing.filter(item=OuterRef("item"))) | Exists(of_source)
    found: QuerySet[FinalLabel] = (
        _stale().filter(item__campaign=campaign).exclude(Q(lacking), reason="incomplete")
    )
    return found


def passed_over(campaign: Campaign) -> int:
    """How many items with answers the last run of the rule did not see: restored after it, or judged since. What takes
    the verdict on another has that one's answers.
    """
    if not campaign.label_version:
        return 0
    answered = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind__in=COUNTED,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
    )
    of_source = standing().filter(Exists(answered.filter(item=OuterRef("source"))), item=OuterRef("pk"))
    seen = answered.filter(item=OuterRef("pk"))
    unlabelled = Item.objects.active().filter(campaign=campaign, final_label__isnull=True)
    return unlabelled.filter(Exists(seen) | Exists(_decided(OuterRef("pk"))) | Exists(of_source)).count()


def _decided(item: OuterRef) -> QuerySet[Arbitration]:
    """The decision in force on an item."""
    return Arbitration.objects.filter(item=item, taken_back_at__isnull=True)


def _stale() -> Any:
    """Compared by revisions, not by clocks: an answer that was being saved while the rule ran is found too.

    A label is stale as well where an arbiter has decided since, or took back what was decided; and one that is carried
    over where its source's is, or where it is carried from another by now, no longer, or only since.
    """
    return _counted_now().filter(_on_other_answers() | _carried_otherwise())


def _counted_now() -> QuerySet[Any]:
    """Final labels with how many times the answers to their items were saved by `now`."""
    answered = Q(
        item__assignments__round__kind__in=COUNTED,
        item__assignments__withdrawn_at__isnull=True,
        item__assignments__answered_at__isnull=False,
        item__assignments__slot__lte=F("item__campaign__annotators_per_item"),
    )
    return FinalLabel.objects.filter(item__retired_at__isnull=True).annotate(
        now=Coalesce(Sum("item__assignments__revision", filter=answered), 0)
    )


_BY_ARBITER = Q(rule=ARBITER.name)


def _on_other_answers() -> Q:
    decided = _decided(OuterRef("item"))
    return (
        ~Q(now=F("revisions"))
        | _BY_ARBITER & ~Exists(decided.filter(label=OuterRef("label")))
        | ~_BY_ARBITER & Exists(decided)
    )


def _carried_otherwise() -> Q:
    of_source = _counted_now().filter(_on_other_answers(), item=OuterRef("source"))
    names = KeyTextTransform(0, "item__final_label__inputs")  # its source when it was computed
    same = standing().filter(
        ~Exists(of_source),
        Q(created_at__lte=OuterRef("computed_at")) | Q(Exact(Cast("source", TextField()), names)),
        item=OuterRef("item"),
        source__final_label__label=OuterRef("label"),
        source__final_label__reason=OuterRef("reason"),
    )
    carried = Q(rule=CARRIED.name)
    return carried & ~Exists(same) | ~carried & ~_BY_ARBITER & Q(item__in=carried_items())


@dataclass
class StaleWatch:
    """Asks for the rule to be run again where answers have changed on which it had come to an outcome.

    The worker looks from time to time, so that saving an answer costs nothing more. Each look reads only what
    was saved since the last one; the first, after a start, reads all labels.
    """

    seen: int = 0  # the last annotation of the look before

    def look(self) -> None:
        latest = Annotation.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        if latest == self.seen:
            return
        stale = _stale().exclude(reason="incomplete")  # whose last answers are still to come
        if self.seen:
            saved = Annotation.objects.filter(pk__gt=self.seen - OVERLAP)
            stale = stale.filter(item__in=saved.values("assignment__item"))
        for campaign in Campaign.objects.filter(pk__in=stale.values("item__campaign")):
            jobs.request(campaign=campaign, kind="finalize", arguments={}, by=None)
        self.seen = latest
