"""What was settled against an expert, for them alone."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.models import Membership
from annotation.permissions import EXPERT, PersonRequest, members_only
from annotation.services.settled import is_open, settled_against
from annotation.services.wording import wording_of
from annotation.views.notice import after_notice


@require_safe
@members_only(EXPERT)
@after_notice
def settled(request: PersonRequest, member: Membership) -> HttpResponse:
    """Items that were settled otherwise than this expert had judged them; empty until a resolution is over."""
    campaign = member.campaign
    context = {
        "campaign": campaign,
        "wording": wording_of(campaign),
        "open": is_open(campaign),
        "lines": settled_against(campaign, request.user),
    }
    return render(request, "annotation/settled.html", context)
