"""Answers that were changed once a spot check had sent their part back: what they were before, and what they are now.

Who gets a part back from a check has heard that something in it was found wrong, so what is changed from then on is no
independent answer any more: what measures the experts on their own takes the last answer before the check was decided.
Labels take the answer as it stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q

from annotation.models import Annotation, Campaign, Round
from annotation.services.spot_checks import Decision

Changed = Mapping[tuple[int, int], "FirstAnswer"]  # by item and expert


@dataclass(frozen=True, kw_only=True)
class FirstAnswer:
    """An answer that was given again after a check: the label of before ("" for cannot judge), when, the label now."""

    position: int
    label: str
    at: datetime
    now: str


def first_answers(campaign: Campaign) -> Changed:
    """All answers of the main round that this is about. One query; two more where a check has sent parts back."""
    decided = campaign.rounds.filter(kind=Round.Kind.SPOT_CHECK, closed_at__isnull=False)
    sent_back: dict[tuple[str, int], datetime] = {}
    for outcome, at in decided.order_by("closed_at", "pk").values_list("outcome", "closed_at"):
        if outcome and at and outcome.get("decision") == Decision.REWORK:
            for one in outcome["rework"]:
                sent_back.setdefault((one["expert"], one["part"]), at)  # the first time counts
    if not sent_back:
        return {}
    account = dict(campaign.memberships.values_list("pseudonym", "user"))
    heard = {(account[name], part): at for (name, part), at in sent_back.items() if name in account}
    return _changed_since(campaign, heard)


def _changed_since(campaign: Campaign, heard: Mapping[tuple[int, int], datetime]) -> Changed:
    """Of what was answered again after that moment, the last answer before it; what is new since has none."""
    if not heard:
        return {}
    since = [
        Q(assignment__expert=expert, assignment__part__index=part, assignment__answered_at__gt=at)
        for (expert, part), at in heard.items()
    ]
    saved = (
        Annotation.objects.filter(
            reduce(or_, since),
            assignment__round__campaign=campaign,
            assignment__round__kind=Round.Kind.MAIN,
            assignment__withdrawn_at__isnull=True,
            assignment__item__retired_at__isnull=True,
        )
        .order_by("assignment", "revision")
        .values_list(
            "assignment__item", "assignment__expert", "assignment__part__index", "assignment__item__position",
            "assignment__label", "label", "created_at",
        )
    )  # fmt: skip
    return {
        (item, expert): FirstAnswer(position=position, label=label, at=at, now=now)
        for item, expert, part, position, now, label, at in saved
        if at <= heard[expert, part]
    }
