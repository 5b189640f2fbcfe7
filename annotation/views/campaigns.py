"""Opening a campaign, and the page that says where it stands."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.formats.writers import FORMATS
from annotation.forms.campaigns import CampaignForm, SetCampaignForm
from annotation.models import Campaign, Membership
from annotation.permissions import (
    MANAGER,
    VIEWER,
    PersonRequest,
    may_create_campaign,
    members_only,
    signed_in,
)
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.protocol.labels import fitting_rules
from annotation.services.campaign_state import closing_reason
from annotation.services.campaigns import create_campaign
from annotation.services.errors import Refused
from annotation.services.guidelines import guideline_state
from annotation.services.instances import instance_counts
from annotation.services.jobs import worker_health
from annotation.services.labels import rule_for
from annotation.services.needs import Standing, needs
from annotation.services.overview import overview
from annotation.services.peeks import peeks_of
from annotation.services.people import audit
from annotation.services.sentences import translated
from annotation.services.unsettled import Unsettled, unsettled
from annotation.services.verify import checks_of, unfinished_imports
from annotation.services.verify import verify as find_violations
from annotation.views.campaign_page import campaign_page

THEN_SET = "evaluation_set"  # the page to which opening a campaign leads on


@require_http_methods(["GET", "HEAD", "POST"])
def campaign_create(request: HttpRequest) -> HttpResponse:
    """A new campaign; whoever opens it manages it. `then` says that an evaluation set is to be built in it."""
    user = signed_in(request).user
    if not may_create_campaign(user):
        raise Http404
    then = THEN_SET if THEN_SET in (request.GET.get("then"), request.POST.get("then")) else ""
    form = (SetCampaignForm if then else CampaignForm)(request.POST or None)
    context = {"form": form, "then": then}
    if request.method != "POST":
        return render(request, "annotation/campaign_create.html", context)
    if form.is_valid():
        try:
            campaign = create_campaign(**form.cleaned_data, by=user)
        except (Refused, ProtocolError) as refusal:
            form.add_error("slug", translated(refusal.message))
        else:
            messages.success(request, _("The campaign is open. Bring in its items next."))
            return redirect(then or "campaign", campaign.slug)
    return render(request, "annotation/campaign_create.html", context, status=400)


@require_safe
@members_only(MANAGER, VIEWER)
def campaign(request: PersonRequest, member: Membership) -> HttpResponse:
    """Where the campaign stands, who is waited for, what needs its manager. People under their pseudonyms."""
    return _campaign_page(request, member)


@require_POST
@members_only(MANAGER, archived=True)
def campaign_names(request: PersonRequest, member: Membership) -> HttpResponse:
    """The same page with names, this once; asking for them is written down."""
    audit(member.campaign, request.user, "names shown", {"page": "campaign"})
    return _campaign_page(request, member, names=True)


def _campaign_page(request: PersonRequest, member: Membership, *, names: bool = False) -> HttpResponse:
    found, manages = overview(member.campaign), member.role == MANAGER
    open_ends = unsettled(member.campaign, imported=found.imported)
    context = {
        "overview": found,
        "steps": found.steps_with(contrasts=open_ends.contrasts),
        "outputs": instance_counts(member.campaign, by_system=False),
        "guideline": guideline_state(member.campaign),
        "unsettled": open_ends if manages else Unsettled(),
        "closing_reason": closing_reason(member.campaign),
        "names": names,
        "needs": needs(member.campaign, Standing.of(found), manages=manages),
        "today": timezone.localdate(),
        "rules": rules_of(member.campaign),
        "formats": FORMATS,
        "worker": worker_health(),
        "peeks": peeks_of(member.campaign) if manages else [],
    }
    return campaign_page(request, member, "annotation/campaign.html", context, tab="campaign")


def rules_of(campaign: Campaign) -> list[dict[str, Any]]:
    """The label rules that fit the campaign, the one that would be used marked."""
    protocol, k = get_protocol(campaign.protocol), campaign.annotators_per_item
    try:
        chosen = rule_for(campaign)
    except ProtocolError:  # no rule of its own for this number of experts: somebody has to choose
        chosen = ""
    fitting = fitting_rules(protocol, k)
    return [
        {"name": rule.name, "title": rule.title, "words": rule.words, "chosen": rule.name == chosen}
        for rule in fitting
    ]


@require_safe
@members_only(MANAGER, VIEWER)
def verify(request: PersonRequest, member: Membership) -> HttpResponseBase:
    """Everything that must hold, checked over all that is stored."""
    violations = find_violations(member.campaign)
    by_rule = {
        rule: [found.where for found in violations if found.rule == rule]
        for rule in checks_of(member.campaign)
    }
    shown = {"by_rule": by_rule, "unfinished": unfinished_imports(member.campaign)}
    return campaign_page(request, member, "annotation/verify.html", shown, tab="campaign")
