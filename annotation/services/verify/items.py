"""Items: those that are taken out rest, those that stand came in whole."""

from collections.abc import Iterator

from django.db.models import Count, Exists, F, OuterRef, Q

from annotation.models import Assignment, Campaign, Gold, Item, Output, Round
from annotation.services.verify.rows import named, standing

_WORDS = {Item.Retired.WITHDRAWN.value: "withdrawn", Item.Retired.REPLACED.value: "replaced"}


def withdrawn_items_rest(campaign: Campaign) -> Iterator[str]:
    """Nobody is asked for an item that was withdrawn or replaced, and no answer to it counts."""
    rows = standing(campaign).filter(item__retired_why__in=_WORDS)
    columns = ("round__kind", "item__position", "slot", "item__retired_why")
    for kind, position, slot, why in named(rows, *columns):
        yield f"the item at position {position} is {_WORDS[why]}, and slot {slot} of it stands in the {kind} round"


def replaced_have_a_successor(campaign: Campaign) -> Iterator[str]:
    """Where a text was replaced, another stands in its context, or in its unit."""
    others = Item.objects.filter(
        Q(context=OuterRef("context")) | Q(context__isnull=True), unit=OuterRef("unit")
    ).exclude(retired_why=Item.Retired.REPLACED)
    alone = Item.objects.published().filter(
        ~Exists(others), campaign=campaign, retired_why=Item.Retired.REPLACED
    )
    for (position,) in named(alone, "position"):
        yield f"the text of the item at position {position} was replaced, and no other stands in its place"


def set_aside_stay_out(campaign: Campaign) -> Iterator[str]:
    """What is set aside for a dry run is judged in one, and not in the main round."""
    aside = Item.objects.published().filter(campaign=campaign, retired_why=Item.Retired.SET_ASIDE)
    rows = standing(campaign).filter(round__kind=Round.Kind.MAIN, item__retired_why=Item.Retired.SET_ASIDE)
    for position, slot in named(rows, "item__position", "slot"):
        yield f"the item at position {position} is set aside, and slot {slot} of it stands in the main round"
    given = Assignment.objects.filter(round__campaign=campaign, round__kind=Round.Kind.DRY_RUN).order_by()
    for (position,) in named(aside.exclude(unit__in=given.values("unit")), "position"):
        yield f"the item at position {position} is set aside, and its unit is in no dry run"


def gold_stands(campaign: Campaign) -> Iterator[str]:
    """What is known beforehand is known of a text that stands. Earlier versions left the mark on the replaced text."""
    gold = Gold.objects.filter(item__campaign=campaign, item__retired_why=Item.Retired.REPLACED)
    for (position,) in named(gold, "item__position"):
        yield f"the mark of the gold item at position {position} is on a text that was replaced; take it off"


def outputs_in_their_context(campaign: Campaign) -> Iterator[str]:
    """An output's item is a translation of the output's own context."""
    strays = Output.objects.filter(system__campaign=campaign).exclude(item__context=F("context"))
    for system, key in strays.values_list("system__name", "context__key"):
        yield f"the output of {system or 'the system'} for {key} points to another context's item"


def imports_complete(campaign: Campaign) -> Iterator[str]:
    """A published import holds as many items as it reported."""
    batches = campaign.import_batches.filter(published_at__isnull=False).annotate(stored=Count("items"))
    for batch in batches:
        reported = batch.report.get("items")
        if reported is not None and reported != batch.stored:
            yield f"{batch.file_name}: {reported} items were reported, {batch.stored} are stored"
