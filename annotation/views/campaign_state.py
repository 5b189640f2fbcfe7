"""Closing a campaign, archiving it, and undoing either."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services.campaign_state import (
    archive_campaign,
    close_campaign,
    reopen_campaign,
    unarchive_campaign,
)
from annotation.views.refusals import plain_refusals


@require_POST
@plain_refusals
@members_only(MANAGER)
def campaign_close(request: PersonRequest, member: Membership) -> HttpResponse:
    """Nobody judges any more."""
    close_campaign(member.campaign, reason=request.POST.get("reason", ""), by=request.user)
    messages.success(request, _("The campaign is closed. It can be opened again in its settings."))
    return redirect("campaign_settings", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def campaign_reopen(request: PersonRequest, member: Membership) -> HttpResponse:
    """The rounds that the closing ended can be judged again."""
    reopen_campaign(member.campaign, by=request.user)
    messages.success(request, _("The campaign is open again."))
    return redirect("campaign_settings", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def campaign_archive(request: PersonRequest, member: Membership) -> HttpResponse:
    """Out of the way, and only read."""
    archive_campaign(member.campaign, by=request.user)
    messages.success(request, _("The campaign is archived."))
    return redirect("campaign_settings", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER, archived=True)
def campaign_unarchive(request: PersonRequest, member: Membership) -> HttpResponse:
    """Back among the others, still closed."""
    unarchive_campaign(member.campaign, by=request.user)
    messages.success(request, _("The campaign is out of the archive; it is still closed."))
    return redirect("campaign_settings", member.campaign.slug)
