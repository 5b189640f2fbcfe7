"""Answers that came too late to count."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.services.surplus import SHOWN, surplus_count, surplus_lines
from annotation.services.wording import wording_of
from annotation.views.campaign_page import campaign_page


@require_safe
@members_only(MANAGER)
def surplus(request: PersonRequest, member: Membership) -> HttpResponse:
    """What experts answered after their item had been taken away, the latest first."""
    campaign = member.campaign
    causes = get_protocol(campaign.protocol).cannot_judge_causes
    context = {
        "lines": surplus_lines(campaign),
        "n": surplus_count(campaign),
        "limit": SHOWN,
        "wording": wording_of(campaign),
        "causes": {cause.code: cause.words for cause in causes},
    }
    return campaign_page(request, member, "annotation/surplus.html", context, tab="campaign")
