"""Hidden repeats: how many would come to whom, drawing them, how far they are, taking out what is not judged yet."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation.forms.people import RepeatsForm
from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.protocol.repeats import AHEAD, DISTANCE
from annotation.services.errors import Refused
from annotation.services.repeat_draws import draws_of, take_out
from annotation.services.repeats import RepeatPlan, draw_repeats, has_open_units, plan_repeats
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals

USUAL = 5  # per cent


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def repeats(request: PersonRequest, member: Membership) -> HttpResponse:
    """Every draw so far. A share is sent, what would be drawn is shown and stores nothing, and is confirmed."""
    campaign = member.campaign
    if request.method != "POST":
        initial = {"percent": USUAL, "seed": campaign.seed}
        return _page(request, member, RepeatsForm(initial=initial))
    form = RepeatsForm(request.POST)
    if not form.is_valid():
        return _page(request, member, form, status=400)
    after = request.POST.get("after", "")
    try:
        if not after:
            planned = plan_repeats(campaign, **form.cleaned_data)
            return _page(request, member, form, planned=planned)
        seen = int(after) if after.isascii() and after.isdigit() else -1
        draw_repeats(campaign, **form.cleaned_data, by=request.user, after=seen)
    except (Refused, ProtocolError) as refusal:
        form.add_error(None, translated(refusal.message))
        return _page(request, member, form, status=409 if after else 400)
    messages.success(request, _("The repeats are drawn; they come up unmarked among the open units."))
    return redirect("repeats", campaign.slug)


def _page(
    request: PersonRequest,
    member: Membership,
    form: RepeatsForm,
    *,
    planned: RepeatPlan | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "plan": planned,
        "draws": draws_of(member.campaign),
        "nothing_open": not form.is_bound and not has_open_units(member.campaign),
        "distance": DISTANCE,
        "ahead": AHEAD,
    }
    return campaign_page(request, member, "annotation/repeats.html", context, tab="rounds", status=status)


@require_POST
@plain_refusals
@members_only(MANAGER)
def repeats_take_out(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Withdraw what of a draw is not judged yet."""
    taken = take_out(member.campaign, number, by=request.user)
    said = ngettext("%(n)d repeat is taken out.", "%(n)d repeats are taken out.", taken) % {"n": taken}
    messages.success(request, said)
    return redirect("repeats", member.campaign.slug)
