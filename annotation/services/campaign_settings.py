"""What a manager may change about a campaign, until when, and the trace each change leaves."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Assignment, Campaign, Part, User
from annotation.services.campaigns import check_title
from annotation.services.errors import Refused
from annotation.services.people import audit
from annotation.services.turns import turn

# Which settings a campaign of a protocol has. What is not here stays as the campaign was opened.
FIELDS = {
    Campaign.Protocol.COMPOUND.value: (
        "title",
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
    return reasons | (dict.fromkeys(UNTIL_JUDGED, str(JUDGED)) if judged else {})


def change_settings(campaign: Campaign, changes: Mapping[str, Any], *, by: User) -> dict[str, list[Any]]:
    """Store what differs, all or nothing, and write down what it was and what it is: `{setting: [old, new]}`."""
    with turn(campaign):
        stored = Campaign.objects.get(pk=campaign.pk)
        changed = {
            name: [getattr(stored, name), value]
            for name, value in changes.items()
            if value != getattr(stored, name)
        }
        if "title" in changed:
            check_title(str(changed["title"][1]))
        fixed = locked(stored)
        for name in changed:
            if name not in FIELDS[stored.protocol]:
                raise Refused(_("This campaign has no setting “%(name)s”.") % {"name": name})
            if name in fixed:
                raise Refused(fixed[name])
        if changed:
            new = {name: value for name, (_old, value) in changed.items()}
            Campaign.objects.filter(pk=stored.pk).update(**new)
            audit(stored, by, "settings changed", {name: _in_short(pair) for name, pair in changed.items()})
    return changed


def _in_short(pair: list[Any]) -> list[Any]:
    """Of a whole lexicon, how many atoms it has."""
    return [{"atoms": len(value)} if isinstance(value, dict) else value for value in pair]
