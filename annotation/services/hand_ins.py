"""Giving a part back to the expert who handed it in."""

from django.utils.translation import gettext as _

from annotation.models import Campaign, HandIn, Membership, Part, User
from annotation.services.campaign_state import refuse_closed
from annotation.services.errors import NotYours, Refused
from annotation.services.people import audit
from annotation.services.turns import turn


def give_back(campaign: Campaign, *, index: int, member: int, by: User) -> Membership:
    """Open a handed-in part again for its expert; their answers stay and may be changed. Returns who it was.

    Raises NotYours where there is no such person, Refused in a closed campaign and where they have not handed it in.
    """
    person = campaign.memberships.filter(pk=member, role=Membership.Role.EXPERT).first()
    if person is None:
        raise NotYours(_("There is no such expert in this campaign."))
    with turn(campaign):
        refuse_closed(campaign)
        part = Part.objects.filter(round__campaign=campaign, index=index).select_related("design").first()
        if part is not None and part.design.closed_at is not None:
            raise Refused(
                _("Part %(part)d is in a closed batch: its answers are frozen. Open the batch again first.")
                % {"part": index + 1}
            )
        parts = Part.objects.filter(round__campaign=campaign, index=index)
        handed_in = HandIn.objects.filter(part__in=parts, expert=person.user_id)
        before = handed_in.values_list("at", flat=True).first()
        gone, _by_model = handed_in.delete()
        if not gone or before is None:
            raise Refused(
                _("%(expert)s has not handed in part %(part)d, so there is nothing to give back.")
                % {"expert": person.pseudonym, "part": index + 1}
            )
        audit(
            campaign,
            by,
            "part given back",
            {"part": index, "pseudonym": person.pseudonym, "handed_in": before.isoformat(timespec="seconds")},
        )
    return person
