"""Verdicts that are carried over: how many, from where, by which rule; and ending that."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services.carry_over import carrying, end_carry_over
from annotation.views.campaign_page import campaign_page, parts_tab
from annotation.views.refusals import plain_refusals


@require_safe
@members_only(MANAGER, VIEWER)
def carry_over(request: PersonRequest, member: Membership) -> HttpResponse:
    """What is carried over, with some pairs to look at."""
    context = {"carrying": carrying(member.campaign)}
    return campaign_page(request, member, "annotation/carry_over.html", context, tab=parts_tab(member))


@require_POST
@plain_refusals
@members_only(MANAGER)
def carry_over_end(request: PersonRequest, member: Membership) -> HttpResponse:
    """Carry nothing over any more: these items wait to be given out."""
    n = end_carry_over(member.campaign, by=request.user)
    said = ngettext(
        "Nothing is carried over any more: %(n)d item waits to be given out.",
        "Nothing is carried over any more: %(n)d items wait to be given out.",
        n,
    )
    messages.success(request, said % {"n": n})
    return redirect("carry_over", member.campaign.slug)
