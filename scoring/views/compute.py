"""Asking for figures to be worked out anew: the worker does it."""

from collections.abc import Callable

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.models import Job, Membership, Part, Round
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services import jobs
from annotation.services.labels import rule_for
from annotation.tasks import wake
from annotation.views.refusals import plain_refusals
from scoring.services.evaluations import AGREEMENT, request_agreement


@require_POST
@plain_refusals
@members_only(MANAGER)
def compute(request: PersonRequest, member: Membership) -> HttpResponse:
    """Final labels, and the agreement of the campaign and of each of its parts."""
    campaign = member.campaign
    arguments = _rule(member, request.POST.get("rule", ""))

    def ask() -> list[Job]:
        labels = jobs.request(campaign=campaign, kind="finalize", arguments=arguments, by=request.user)
        return [labels, *request_agreement(campaign, by=request.user)]

    _ask_for(ask)
    messages.success(
        request, _("The worker computes final labels and agreement; this page shows how far it is.")
    )
    return redirect("jobs", campaign.slug)


def _rule(member: Membership, name: str) -> dict[str, str]:
    """Only a rule other than the one that would be used anyway: equal jobs wait once."""
    if not name:
        return {}
    chosen = rule_for(member.campaign, name)
    try:
        usual = rule_for(member.campaign)
    except ProtocolError:
        usual = ""
    return {} if chosen == usual else {"rule": chosen}


@require_POST
@members_only(MANAGER)
def compute_agreement(request: PersonRequest, member: Membership) -> HttpResponse:
    """The agreement of the campaign and of each of its parts."""
    _ask_for(lambda: request_agreement(member.campaign, by=request.user))
    messages.success(request, _("The worker computes the agreement; reload this page in a moment."))
    return redirect("report", member.campaign.slug, AGREEMENT)


@require_POST
@members_only(MANAGER)
def compute_part(request: PersonRequest, member: Membership, index: int) -> HttpResponse:
    """The agreement in one part, without touching the others."""
    campaign = member.campaign
    part = Part.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN, index=index).first()
    if part is None:
        raise Http404
    arguments = {"part": part.pk}
    _ask_for(lambda: [jobs.request(campaign=campaign, kind=AGREEMENT, arguments=arguments, by=request.user)])
    messages.success(
        request, _("The worker computes the agreement in part %(part)d again.") % {"part": part.number}
    )
    return redirect("report", campaign.slug, AGREEMENT)


def _ask_for(ask: Callable[[], list[Job]]) -> None:
    with transaction.atomic():
        for job in ask():
            wake(job)
