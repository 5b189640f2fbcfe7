"""Rounds: open and closed with what they belong to, under guidelines of the campaign."""

from collections.abc import Iterator

from annotation.models import Campaign, Round
from annotation.services.rounds import FIRST_DRAWN
from annotation.services.verify.rows import SLOT, judged, named


def rounds_end_together(campaign: Campaign) -> Iterator[str]:
    """A closed campaign has no open round, an archived one is closed, drawn repeats are open or closed with the main
    round, what is closed says since when, and the main round has the campaign's number of experts.
    """
    rounds = list(campaign.rounds.order_by("pk"))
    main = next(round_ for round_ in rounds if round_.kind == Round.Kind.MAIN)
    if campaign.archived_at is not None and campaign.closed_at is None:
        yield "the campaign is archived and not closed"
    if main.k != campaign.annotators_per_item:
        yield f"the main round has {main.k} experts per item, the campaign {campaign.annotators_per_item}"
    for round_ in rounds:
        name = f"the {round_.kind} round {round_.number}"
        imported = round_.kind == Round.Kind.REPEAT and round_.number < FIRST_DRAWN
        if round_.state == Round.State.OPEN and campaign.closed_at is not None:
            yield f"{name} is open in a closed campaign"
        if round_.kind == Round.Kind.REPEAT and not imported and round_.state != main.state:
            yield f"{name} is {round_.state}, and the main round is {main.state}"
        if (round_.state == Round.State.CLOSED) != (round_.closed_at is not None) and not imported:
            yield f"{name} is {round_.state}, and the moment of its closing does not say so"


def guidelines_of_the_campaign(campaign: Campaign) -> Iterator[str]:
    """Every answer and round goes by the campaign's own guidelines, an open round by the newest. Earlier versions left
    a round that was opened again under the version in which it was closed; the next version puts that right.
    """
    versions = dict(campaign.guidelines.values_list("pk", "version"))
    for round_ in campaign.rounds.order_by("pk"):
        name = f"the {round_.kind} round {round_.number}"
        if round_.guideline_id not in versions:
            yield f"{name} goes by guidelines of another campaign"
        elif round_.state == Round.State.OPEN and versions[round_.guideline_id] != max(versions.values()):
            yield (
                f"{name} is open under version {versions[round_.guideline_id]} of the guidelines, not under "
                f"{max(versions.values())}"
            )
    strange = judged(campaign).exclude(guideline__in=list(versions))
    for position, slot in named(strange, *SLOT):
        yield f"an answer in slot {slot} of the item at position {position} names guidelines of another campaign"
