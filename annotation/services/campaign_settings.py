"""What a manager may change about a campaign, until when, and the trace each change leaves."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Assignment, Campaign, Part, Round, User
from annotation.services.campaigns import check_title
from annotation.services.errors import Refused
from annotation.services.layout import given_out, lay_out_anew
from annotation.services.people import audit
from annotation.services.turns import turn

# Which settings a campaign of a protocol has. What is not here stays as the campaign was opened.
FIELDS = {
    Campaign.Protocol.COMPOUND.value: (
        "title",
        "display",
        "reference",
        "highlighted_forms",
        "reasons",
        "names_in_discussion",
    ),
    Campaign.Protocol.TRIPLE.value: ("title", "zero_detail", "order", "names_in_discussion"),
}
UNTIL_ASSIGNED = ("order",)
UNTIL_JUDGED = ("reference", "highlighted_forms", "zero_detail")

ASSIGNED = gettext_lazy(
    "Parts are given out, and with them every expert's order was drawn: this can no longer be changed."
)
TRIED = gettext_lazy(
    "A dry run is open, and a round is judged under one display. Decide the dry run first; then this can be changed."
)
JUDGED = gettext_lazy(
    "Judging has begun, and all answers are to be given under the same conditions: this can no longer be changed."
)


def locked(campaign: Campaign) -> dict[str, str]:
    """The settings that cannot be changed any more, each with the reason."""
    given = Part.objects.filter(round__campaign=campaign).exists()
    judged = (
        given
        and Assignment.objects.filter(
            round__campaign=campaign, part__isnull=False, answered_at__isnull=False
        ).exists()
    )
    reasons = dict.fromkeys(UNTIL_ASSIGNED, str(ASSIGNED)) if given else {}
    reasons |= dict.fromkeys(UNTIL_JUDGED, str(JUDGED)) if judged else {}
    return reasons | _why_display_stays(campaign)


def _why_display_stays(campaign: Campaign) -> dict[str, str]:
    """What was judged in a dry run fixes nothing; an open one must not change under its experts' hands."""
    others = campaign.rounds.exclude(kind=Round.Kind.DRY_RUN)
    if Assignment.objects.filter(round__in=others, part__isnull=False, answered_at__isnull=False).exists():
        return {"display": str(JUDGED)}
    if campaign.rounds.filter(kind=Round.Kind.DRY_RUN, state=Round.State.OPEN).exists():
        return {"display": str(TRIED)}
    return {}


def settings_of(campaign: Campaign) -> dict[str, Any]:
    """The settings of its protocol as they are stored."""
    return {name: getattr(campaign, name) for name in FIELDS[campaign.protocol]}


def change_settings(campaign: Campaign, changes: Mapping[str, Any], *, by: User) -> dict[str, list[Any]]:
    """Store what differs, all or nothing, and write down what it was and what it is: `{setting: [old, new]}`."""
    with turn(campaign):
        stored = Campaign.objects.get(pk=campaign.pk)
        before = settings_of(stored)
        unknown = next((name for name in changes if name not in before), None)
        if unknown:
            raise Refused(_("This campaign has no setting “%(name)s”.") % {"name": unknown})
        changed = {name: [before[name], value] for name, value in changes.items() if value != before[name]}
        if "title" in changed:
            check_title(str(changed["title"][1]))
        if "display" in changed:
            # An answer that is being saved at this moment comes first, or finds its screen anew.
            list(given_out(stored).select_for_update().order_by("pk").values_list("pk"))
        fixed = locked(stored)
        for name in changed:
            if name in fixed:
                raise Refused(fixed[name])
        if changed:
            new = {name: value for name, (_old, value) in changed.items()}
            Campaign.objects.filter(pk=stored.pk).update(**new)
            if "display" in changed:
                lay_out_anew(stored)
            audit(stored, by, "settings changed", {name: _in_short(pair) for name, pair in changed.items()})
    return changed


def _in_short(pair: list[Any]) -> list[Any]:
    """Of a whole lexicon, how many atoms it has."""
    return [{"atoms": len(value)} if isinstance(value, dict) else value for value in pair]
