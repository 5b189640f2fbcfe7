"""Re-judgement: exactly the items that a change of the guidelines touches are judged again, under the new version.

A version says what it touches: relations, patterns, atoms, single items by position. Of these, items of closed batches
with all their answers are judged again by the same experts, on their own; not those that all of their experts have
judged under this version or a later one. Items of open batches are judged under the new version anyway, or can still be
changed where they stand. What is counted as waiting for it is what a round opened now would hold (`plan_rejudgement`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import BooleanField, Case, F, IntegerField, Max, Q, QuerySet, Value, When
from django.utils.translation import gettext as _

from annotation.models import Annotation, Campaign, Guideline, Item, Round, User
from annotation.services.again_rounds import AgainPlan, open_again, plan_again
from annotation.services.effective import COUNTED
from annotation.services.errors import NotYours
from annotation.services.frozen import complete_items
from annotation.services.touches import touched, with_atoms


@dataclass(frozen=True, kw_only=True)
class Touched:
    """The items that versions touch, by primary key: to be judged again, under them already, not frozen yet."""

    items: Sequence[int]
    up_to_date: Sequence[int]
    not_closed: Sequence[int]


def guideline_of(campaign: Campaign, version: int) -> Guideline:
    """That version of the campaign's guidelines, or NotYours."""
    found: Guideline | None = campaign.guidelines.filter(version=version).first()
    if found is None:
        raise NotYours(_("There is no such version of the guidelines."))
    return found


def touching_versions(campaign: Campaign) -> list[Guideline]:
    """The versions that touch any item, the first one first."""
    return [version for version in campaign.guidelines.order_by("version") if version.touches]


def told_apart(campaign: Campaign, versions: Sequence[Guideline]) -> Touched:
    """What these versions touch, told apart by what is to be done with it. Two queries, one where they touch nothing.

    An item is up to date once it was judged by all its experts under the latest of the versions that touch it.
    """
    named = _named(campaign, versions)
    if not named:
        return Touched(items=(), up_to_date=(), not_closed=())
    under = _judged_under(campaign, _touched(campaign, versions))
    waiting = {item for item, (newest, _complete) in named.items() if under.get(item, 0) < newest}
    complete = [item for item, (_newest, is_complete) in named.items() if is_complete]
    return Touched(
        items=[item for item in complete if item in waiting],
        up_to_date=[item for item in named if item not in waiting],
        not_closed=[
            item for item, (_newest, is_complete) in named.items() if not is_complete and item in waiting
        ],
    )


def _touched(campaign: Campaign, versions: Sequence[Guideline]) -> QuerySet[Item]:
    """The items that these versions touch, with the latest that does as `newest`."""
    latest_first = sorted(versions, key=lambda one: one.version, reverse=True)
    newest = Case(
        *(When(touched(one.touches), then=Value(one.version)) for one in latest_first),
        default=Value(0),
        output_field=IntegerField(),
    )
    items = with_atoms(Item.objects.active().filter(campaign=campaign))
    return items.annotate(newest=newest).filter(newest__gt=0)


def _named(campaign: Campaign, versions: Sequence[Guideline]) -> dict[int, tuple[int, bool]]:
    """By item, in their order: the latest version that touches it, and whether it stands with all its answers in a
    closed batch.
    """
    if not versions:
        return {}
    complete = Q(pk__in=complete_items(campaign).values("pk"))
    found = _touched(campaign, versions).annotate(
        by=F("newest"),
        complete=Case(When(complete, then=Value(True)), default=Value(False), output_field=BooleanField()),
    )
    return {item: (by, is_complete) for item, by, is_complete in
            found.order_by("position").values_list("pk", "by", "complete")}  # fmt: skip


def _judged_under(campaign: Campaign, items: QuerySet[Item]) -> Mapping[int, int]:
    """By item: the version under which, or under a later one, as many experts as judge an item have answered it."""
    by_item: dict[int, list[int]] = defaultdict(list)
    rows = (
        Annotation.objects.filter(
            assignment__item__in=items.values("pk"),
            assignment__round__campaign=campaign,
            assignment__round__kind__in=COUNTED,
            assignment__withdrawn_at__isnull=True,
            revision=F("assignment__revision"),
        )
        .order_by()
        .values_list("assignment__item", "assignment__expert")
        .annotate(version=Max("guideline__version"))
    )
    for item, _expert, version in rows:
        by_item[item].append(version)
    k = campaign.annotators_per_item
    return {
        item: sorted(versions, reverse=True)[k - 1]
        for item, versions in by_item.items()
        if len(versions) >= k
    }


def plan_rejudgement(campaign: Campaign, versions: Sequence[Guideline]) -> AgainPlan:
    """What a re-judgement for these versions, opened now, would hold. Seven queries, one where they touch nothing."""
    items = told_apart(campaign, versions).items
    return plan_again(campaign, items) if items else AgainPlan(shares=(), items=(), loads={})


def open_rejudgement(
    campaign: Campaign,
    version: int | None = None,
    *,
    by: User | None,
    confirmed: str | None = None,
    due_on: date | None = None,
) -> Round:
    """Ask the experts of what this version touches, or any version if none is named, to judge it again, under the
    guidelines in force.

    Raises NotYours for a version that does not exist, and Refused as `open_again` does.
    """
    versions = touching_versions(campaign) if version is None else [guideline_of(campaign, version)]
    numbers = [one.version for one in versions]
    return open_again(
        campaign,
        Round.Kind.REJUDGEMENT,
        plan=lambda: plan_rejudgement(campaign, versions),
        before=lambda planned: None,
        settings={"touched_by": numbers[0] if len(numbers) == 1 else numbers},
        confirmed=confirmed,
        due_on=due_on,
        by=by,
    )
