"""All rounds of a campaign, how far each is, and by when it should be done."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.forms.people import DueDateForm
from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services.errors import Refused
from annotation.services.round_progress import round_lines, set_due_date
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals


@require_safe
@members_only(MANAGER, VIEWER)
def rounds(request: PersonRequest, member: Membership) -> HttpResponse:
    """Every round with its experts, and the ways to open another."""
    context = {"lines": round_lines(member.campaign, versions=True)}
    return campaign_page(request, member, "annotation/rounds.html", context, tab="rounds")


@require_POST
@plain_refusals
@members_only(MANAGER)
def round_due(request: PersonRequest, member: Membership, kind: str, number: int) -> HttpResponse:
    """Say by when a round should be done; left empty, there is no such day."""
    form = DueDateForm(request.POST)
    if not form.is_valid():
        raise Refused(_("This is no day; write it as 2026-12-14, or leave it empty."))
    set_due_date(member.campaign, kind, number, due_on=form.cleaned_data["due_on"], by=request.user)
    messages.success(request, _("The due date is stored."))
    return redirect("rounds", member.campaign.slug)
