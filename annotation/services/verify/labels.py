"""Final labels: what their rule makes of the answers, of the items that count."""

from collections.abc import Iterator

from django.db.models import F

from annotation.models import Campaign, FinalLabel
from annotation.protocol.errors import ProtocolError
from annotation.protocol.labels import ARBITER, CARRIED, final_label
from annotation.services.labels import effective_votes
from annotation.services.verify.rows import CHUNK, named


def labels_follow_the_rule(campaign: Campaign) -> Iterator[str]:
    """A final label is what its rule, in its version, makes of the answers it names; these are the experts' own
    unless somebody has answered, or an arbiter decided, since. One that is carried over names no answers; whether it is
    its source's is seen with what is carried (`carried`).
    """
    given = {votes.item: votes for votes in effective_votes(campaign)}
    for label in FinalLabel.objects.filter(item__campaign=campaign).select_related("item").iterator(CHUNK):
        votes = given.get(label.item_id)
        decision = label.inputs[-1] if label.rule == ARBITER.name and label.inputs else None
        stale = votes is None or (votes.revisions, votes.decision) != (label.revisions, decision)
        of_answers = votes is not None and label.rule != CARRIED.name and votes.source is None
        differs = of_answers and not stale and votes is not None and votes.inputs != label.inputs
        if differs or not _follows(label, k=campaign.annotators_per_item):
            yield f"the final label of the item at position {label.item.position} does not follow from its answers"
        elif label.version > campaign.label_version:
            yield f"the final label of the item at position {label.item.position} is of a version that is still to come"


def _follows(label: FinalLabel, *, k: int) -> bool:
    try:
        outcome = final_label(label.rule, label.inputs, k=k, version=label.rule_version)
    except ProtocolError:  # a rule that does not exist, or answers that it cannot count
        return False
    return (outcome.label or "", outcome.reason or "") == (label.label, label.reason)


def labels_of_items_that_count(campaign: Campaign) -> Iterator[str]:
    """Nothing was labelled after it was taken out. What was labelled before waits for the next run of the rule, which
    takes its label away.
    """
    late = FinalLabel.objects.filter(item__campaign=campaign, computed_at__gt=F("item__retired_at"))
    for (position,) in named(late, "item__position"):
        yield f"the item at position {position} got a final label after it was taken out"
