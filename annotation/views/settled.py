"""What was settled: against an expert, for them alone; all of it, for managers."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.models import Membership
from annotation.permissions import EXPERT, MANAGER, PersonRequest, members_only
from annotation.services.settled import is_open, settled_among, settled_items
from annotation.services.wording import wording_of
from annotation.views.campaign_page import campaign_page
from annotation.views.notice import after_notice

PAGE = 50


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
        "settled": settled_among(campaign, request.user),
    }
    return render(request, "annotation/settled.html", context)


@require_safe
@members_only(MANAGER)
def settled_all(request: PersonRequest, member: Membership) -> HttpResponse:
    """Every item that was settled, fifty a page."""
    page = Paginator(settled_items(member.campaign), PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "wording": wording_of(member.campaign)}
    return campaign_page(request, member, "annotation/settled_all.html", context, tab="discussions")
