"""Verdicts that are carried over: from an alike translation of the same sentence that is judged, as it was judged."""

from collections.abc import Iterator

from django.db.models import F

from annotation.models import Assignment, Campaign, CarryOver, FinalLabel, Round
from annotation.protocol.carry_over import plain
from annotation.protocol.labels import CARRIED
from annotation.services.carried import standing
from annotation.services.labels import stale_of
from annotation.services.verify.rows import CHUNK


def carried_from_alike(campaign: Campaign) -> Iterator[str]:
    """What takes a verdict, or could have and was judged anyway, and its source are translations of one sentence, and
    each holds the stretch that was found in both, once.
    """
    rows = (
        CarryOver.objects.filter(campaign=campaign)
        .select_related("item", "source")
        .order_by("item__position")
    )
    for row in rows.iterator(CHUNK):
        item, source = row.item, row.source
        place = f"the item at position {item.position}"
        if item.context_id is None or item.context_id != source.context_id:
            yield f"{place} is carried over from a translation of another sentence"
        elif any(plain(one.translation).count(row.stretch) != 1 for one in (item, source)) or not row.stretch:
            yield f"{place} is carried over from a translation that renders the compound otherwise"


def carried_from_judged(campaign: Campaign) -> Iterator[str]:
    """The source of a verdict that stands takes none itself, and was given to experts."""
    rows = standing().filter(campaign=campaign).order_by("item__position")
    given = Assignment.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN)
    chained = set(rows.values_list("source", flat=True)) & set(rows.values_list("item", flat=True))
    judged = set(given.filter(item__in=rows.order_by().values("source")).values_list("item", flat=True))
    for position, source in rows.values_list("item__position", "source"):
        if source in chained:
            yield f"the item at position {position} is carried over from one that is carried over itself"
        elif source not in judged:
            yield f"the item at position {position} is carried over from one that nobody was given"


def carried_labels_are_their_sources(campaign: Campaign) -> Iterator[str]:
    """A label that is carried over names the source that its item has, and what that one's label is; unless answers or
    decisions have changed since.
    """
    stale = set(stale_of(campaign).filter(rule=CARRIED.name).values_list("item", flat=True))
    carried = FinalLabel.objects.filter(item__campaign=campaign, rule=CARRIED.name)
    rows = carried.annotate(
        source=F("item__carry_over__source"),
        of_source=F("item__carry_over__source__final_label__label"),
        reason_of_source=F("item__carry_over__source__final_label__reason"),
    ).order_by("item__position")
    columns = rows.values_list("item", "item__position", "inputs", "source", "of_source", "reason_of_source")
    for item, position, inputs, source, label, reason in columns.iterator(CHUNK):
        if item not in stale and inputs != [str(source), label or None, reason or None]:
            yield f"the final label of the item at position {position} is not that of its source"
