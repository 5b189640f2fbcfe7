"""Checking that what must hold does hold: read-only, over everything a campaign has stored.

Constraints in the database give *at most* one expert per slot; that it is *exactly* k, and that what is derived
agrees with what it is derived from, is checked here. Cost: a fixed number of aggregate queries.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from annotation.models import (
    Annotation,
    Assignment,
    Campaign,
    FinalLabel,
    HandIn,
    Item,
    Output,
    PartUnit,
    Round,
)
from annotation.models.item import in_play
from annotation.protocol.errors import ProtocolError
from annotation.protocol.labels import ARBITER, final_label
from annotation.services.labels import effective_votes
from annotation.services.snapshot import snapshot

SHOWN = 100  # of each rule; the rest is counted


@dataclass(frozen=True)
class Violation:
    """A rule that does not hold, and where."""

    rule: str
    where: str


def verify(campaign: Campaign) -> list[Violation]:
    """Every violation found, the first hundred of each rule."""
    with snapshot():
        found: list[Violation] = []
        for name, check in CHECKS.items():
            places = list(check(campaign))
            found += [Violation(name, where) for where in places[:SHOWN]]
            if len(places) > SHOWN:
                found.append(Violation(name, f"and {len(places) - SHOWN} more"))
        return found


def unfinished_imports(campaign: Campaign) -> list[str]:
    """Imports that ended before they were published: nobody sees their rows, and the next import sweeps them away."""
    lapsed = campaign.import_batches.filter(published_at__isnull=True, lease_until__lte=timezone.now())
    return [batch.file_name for batch in lapsed]


def _exactly_k(campaign: Campaign) -> Iterator[str]:
    """Every item of a unit that was given to experts in the main round has k of them, in slots 1 … k; in other rounds,
    which may hold some items of a unit only, every item that was given to anybody.
    """
    for round_ in Round.objects.filter(campaign=campaign).exclude(kind=Round.Kind.REPEAT):
        # What a batch was closed without was given out too: it is withdrawn at the moment of the closing.
        at_closing = Q(assignments__withdrawn_at=F("assignments__part__design__closed_at"))
        given = Q(assignments__round=round_, assignments__slot__lte=round_.k) & (
            Q(assignments__withdrawn_at__isnull=True) | at_closing
        )
        gone = Q(assignments__round=round_, assignments__withdrawn_at__isnull=False)
        items = (
            _given_items(round_)
            .annotate(
                experts=Count("assignments__expert", filter=given, distinct=True),
                low=Min("assignments__slot", filter=given),
                high=Max("assignments__slot", filter=given),
                slots=Count("assignments__slot", filter=given, distinct=True),
                gone=Count("assignments", filter=gone, distinct=True),
            )
            .exclude(experts=round_.k, slots=round_.k, low=1, high=round_.k)
        )
        for position, experts, taken in items.values_list("position", "experts", "gone"):
            back = "; withdraw and restore it: what was taken away with it comes back" if taken else ""
            yield (
                f"item at position {position} has {experts} experts in the {round_.kind} round, "
                f"not {round_.k}{back}"
            )

        for position, slot in _beyond_k(round_):
            yield (
                f"item at position {position} has somebody in slot {slot} of the {round_.kind} round, where "
                f"{round_.k} are enough"
            )


def _beyond_k(round_: Round) -> QuerySet[Assignment, tuple[int, int]]:
    """Experts beyond the k of a round whose design asked for no overlap."""
    more = round_.assignments.filter(slot__gt=round_.k, withdrawn_at__isnull=True)
    strays = more.filter(item__retired_at__isnull=True).exclude(part__design__plan__has_key="overlap")
    return strays.order_by("item__position", "slot").values_list("item__position", "slot")


def _given_items(round_: Round) -> QuerySet[Item]:
    """The items that must have all their experts in this round."""
    if round_.kind == Round.Kind.MAIN:
        return Item.objects.active().filter(unit__in=PartUnit.objects.filter(round=round_).values("unit"))
    given = round_.assignments.filter(part__isnull=False, withdrawn_at__isnull=True)
    return Item.objects.published().filter(in_play(), pk__in=given.values("item"))


def _units_whole(campaign: Campaign) -> Iterator[str]:
    """All assignments of a unit in a round belong to the part the unit is in."""
    part = PartUnit.objects.filter(round=OuterRef("round"), unit=OuterRef("unit")).values("part")[:1]
    torn = (
        Assignment.objects.filter(round__campaign=campaign, part__isnull=False)
        .exclude(round__kind=Round.Kind.REPEAT)  # they stand in the part in which they come up
        .annotate(unit_part=Subquery(part))
        .filter(Q(unit_part__isnull=True) | ~Q(part=F("unit_part")))
    )
    for position, index in torn.values_list("item__position", "part__index").distinct():
        yield f"item at position {position} is judged in part {index + 1}, but its unit is not in it"


def _repeats_have_originals(campaign: Campaign) -> Iterator[str]:
    """Who is given an item again has judged it in the main round, in the same slot."""
    original = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        item=OuterRef("item"),
        expert=OuterRef("expert"),
        slot=OuterRef("slot"),
        answered_at__isnull=False,
        withdrawn_at__isnull=True,
    )
    again = Assignment.objects.filter(
        round__campaign=campaign, round__kind=Round.Kind.REPEAT, withdrawn_at__isnull=True
    ).filter(~Exists(original))
    for position in again.values_list("item__position", flat=True):
        yield f"the item at position {position} was given again to somebody who has not judged it before"


def _answers_agree(campaign: Campaign) -> Iterator[str]:
    """An assignment stands where its last annotation says; no revision is missing."""
    last = Annotation.objects.filter(assignment=OuterRef("pk")).order_by("-revision")
    rows = (
        Assignment.objects.filter(round__campaign=campaign)
        .annotate(
            saved=Count("annotations"),
            latest=Max("annotations__revision"),
            last_label=Subquery(last.values("label")[:1]),
            last_cause=Subquery(last.values("cannot_judge")[:1]),
        )
        .filter(
            ~Q(saved=F("revision"))
            | Q(revision__gte=1)
            & (~Q(latest=F("revision")) | ~Q(last_label=F("label")) | ~Q(last_cause=F("cannot_judge")))
        )
    )
    for position, slot in rows.values_list("item__position", "slot"):
        yield f"the answer in slot {slot} of the item at position {position} differs from its last annotation"


def _labels_follow_the_rule(campaign: Campaign) -> Iterator[str]:
    """A final label is what its rule, in its version, makes of the answers it names; these are the experts' own
    unless somebody has answered, or an arbiter decided, since.
    """
    given = {votes.item: votes for votes in effective_votes(campaign)}
    for label in FinalLabel.objects.filter(item__campaign=campaign).select_related("item").iterator(2000):
        votes = given.get(label.item_id)
        decision = label.inputs[-1] if label.rule == ARBITER.name and label.inputs else None
        stale = votes is None or (votes.revisions, votes.decision) != (label.revisions, decision)
        differs = not stale and votes is not None and votes.inputs != label.inputs
        if differs or not _follows(label, k=campaign.annotators_per_item):
            yield f"the final label of the item at position {label.item.position} does not follow from its answers"


def _follows(label: FinalLabel, *, k: int) -> bool:
    try:
        outcome = final_label(label.rule, label.inputs, k=k, version=label.rule_version)
    except ProtocolError:  # a rule that does not exist, or answers that it cannot count
        return False
    return (outcome.label or "", outcome.reason or "") == (label.label, label.reason)


def _outputs_in_their_context(campaign: Campaign) -> Iterator[str]:
    """An output's item is a translation of the output's own context."""
    strays = Output.objects.filter(system__campaign=campaign).exclude(item__context=F("context"))
    for system, key in strays.values_list("system__name", "context__key"):
        yield f"the output of {system or 'the system'} for {key} points to another context's item"


def _imports_complete(campaign: Campaign) -> Iterator[str]:
    """A published import holds as many items as it reported."""
    batches = campaign.import_batches.filter(published_at__isnull=False).annotate(stored=Count("items"))
    for batch in batches:
        reported = batch.report.get("items")
        if reported is not None and reported != batch.stored:
            yield f"{batch.file_name}: {reported} items were reported, {batch.stored} are stored"


def _frozen_stay_frozen(campaign: Campaign) -> Iterator[str]:
    """Nobody can change an answer of a closed batch, and nobody changed one once its item was opened to discussion."""
    main = Assignment.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN)
    handed_in = HandIn.objects.filter(part=OuterRef("part"), expert=OuterRef("expert"))
    open_still = main.filter(
        ~Exists(handed_in), part__design__closed_at__isnull=False, withdrawn_at__isnull=True
    )
    for position, slot in open_still.order_by("item__position", "slot").values_list("item__position", "slot"):
        yield f"the answer in slot {slot} of the item at position {position} is in a closed batch and can be changed"
    changed = Annotation.objects.filter(
        assignment__in=main, created_at__gt=F("assignment__item__thread__opened_at")
    ).exclude(source=Annotation.Source.IMPORT)
    places = changed.values_list("assignment__item__position", "assignment__slot").distinct()
    for position, slot in places.order_by("assignment__item__position", "assignment__slot"):
        yield (
            f"the independent answer in slot {slot} of the item at position {position} was saved after the item was "
            "opened to discussion"
        )


CHECKS = {
    "exactly k experts per item": _exactly_k,
    "units are never torn": _units_whole,
    "repeats have originals": _repeats_have_originals,
    "answers agree with their annotations": _answers_agree,
    "final labels follow their rule": _labels_follow_the_rule,
    "frozen answers stay frozen": _frozen_stay_frozen,
    "outputs stand in their context": _outputs_in_their_context,
    "imports are complete": _imports_complete,
}
