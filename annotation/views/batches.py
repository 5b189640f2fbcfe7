"""Batches of the main round: how far each is, closed so that its items can be settled, opened again."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services import batches as service
from annotation.services.campaigns import main_round
from annotation.services.errors import Refused
from annotation.services.late_items import too_late
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals


@require_safe
@members_only(MANAGER, VIEWER)
def batches(request: PersonRequest, member: Membership) -> HttpResponse:
    """Every batch, and what is missing of it."""
    return _page(request, member)


@require_POST
@plain_refusals
@members_only(MANAGER)
def batch_close(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Freeze a batch; where answers are missing, with a reason."""
    reason = request.POST.get("reason", "")
    try:
        service.close_batch(member.campaign, pk, by=request.user, reason=reason)
    except Refused as refusal:
        if not any(batch.pk == pk for batch in service.batches_of(member.campaign)):
            raise
        messages.error(request, translated(refusal.message))
        return _page(request, member, tried={pk: reason}, status=400)
    messages.success(request, _("The batch is closed; its answers are frozen."))
    return redirect("batches", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def batch_reopen(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Open a batch again in which nothing was discussed or decided."""
    service.reopen_batch(member.campaign, pk, by=request.user)
    messages.success(request, _("The batch is open again."))
    return redirect("batches", member.campaign.slug)


def _page(
    request: PersonRequest, member: Membership, *, tried: dict[int, str] | None = None, status: int = 200
) -> HttpResponse:
    campaign = member.campaign
    context = {
        "batches": service.batches_of(campaign),
        "n_too_late": too_late(main_round(campaign)).count(),
        "tried": tried or {},
    }
    return campaign_page(request, member, "annotation/batches.html", context, tab="rounds", status=status)
