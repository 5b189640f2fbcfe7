"""Re-judgement: exactly the items that a change of the guidelines touches are judged again, under the new version.

A version says what it touches: relations, patterns, atoms, single items by position. Of these, items of closed batches
with all their answers are judged again by the same experts, on their own; not those that all of their experts have
judged under this version or a later one. Items of open batches are judged under the new version anyway, or can still be
changed where they stand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import Count, F
from django.utils.translation import gettext as _

from annotation.models import Annotation, Campaign, Guideline, Round, User
from annotation.services.again_rounds import AgainPlan, open_again, plan_again
from annotation.services.effective import COUNTED
from annotation.services.errors import NotYours
from annotation.services.frozen import complete_items
from annotation.services.touches import touched_items


@dataclass(frozen=True, kw_only=True)
class Touched:
    """The items that a version touches, by primary key: to be judged again, under it already, not frozen yet."""

    items: Sequence[int]
    up_to_date: Sequence[int]
    not_closed: Sequence[int]


def guideline_of(campaign: Campaign, version: int) -> Guideline:
    """That version of the campaign's guidelines, or NotYours."""
    found: Guideline | None = campaign.guidelines.filter(version=version).first()
    if found is None:
        raise NotYours(_("There is no such version of the guidelines."))
    return found


def told_apart(guideline: Guideline) -> Touched:
    """What the version touches, told apart by what is to be done with it. Three queries."""
    campaign = guideline.campaign
    named = list(touched_items(campaign, guideline.touches).order_by("position").values_list("pk", flat=True))
    complete = set(complete_items(campaign).values_list("pk", flat=True))
    under = (
        Annotation.objects.filter(
            assignment__round__campaign=campaign,
            assignment__round__kind__in=COUNTED,
            assignment__withdrawn_at__isnull=True,
            revision=F("assignment__revision"),
            guideline__version__gte=guideline.version,
        )
        .order_by()
        .values("assignment__item")
        .annotate(n=Count("assignment__expert", distinct=True))
        .filter(n__gte=campaign.annotators_per_item)
    )
    up_to_date = set(under.values_list("assignment__item", flat=True))
    return Touched(
        items=[item for item in named if item in complete and item not in up_to_date],
        up_to_date=[item for item in named if item in complete and item in up_to_date],
        not_closed=[item for item in named if item not in complete],
    )


def plan_rejudgement(guideline: Guideline) -> AgainPlan:
    """What a re-judgement for this version, opened now, would hold."""
    return plan_again(guideline.campaign, told_apart(guideline).items)


def open_rejudgement(
    campaign: Campaign,
    version: int,
    *,
    by: User | None,
    confirmed: str | None = None,
    due_on: date | None = None,
) -> Round:
    """Ask the experts of what this version touches to judge it again, under the guidelines in force.

    Raises NotYours for a version that does not exist, and Refused as `open_again` does.
    """
    guideline = guideline_of(campaign, version)
    return open_again(
        campaign,
        Round.Kind.REJUDGEMENT,
        plan=lambda: plan_rejudgement(guideline),
        before=lambda planned: None,
        settings={"touched_by": guideline.version},
        confirmed=confirmed,
        due_on=due_on,
        by=by,
    )
