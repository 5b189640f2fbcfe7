"""Resolution and re-judgement: what one opened now would hold, opened once that is confirmed, closed, opened again."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms.people import DueDateForm
from annotation.models import Campaign, Membership, Round
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services import jobs
from annotation.services import rejudgement as re_service
from annotation.services import resolution as service
from annotation.services.again_rounds import close_again, missing_in, plan_again, reopen_again
from annotation.services.discussion import discussed_of
from annotation.services.errors import NotYours, Refused
from annotation.services.frozen import standings
from annotation.services.round_progress import RoundLine, line_of
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from annotation.tasks import wake
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals

RESOLUTION, REJUDGEMENT = Round.Kind.RESOLUTION, Round.Kind.REJUDGEMENT
PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def resolution(request: PersonRequest, member: Membership) -> HttpResponse:
    """What contrasts, who would judge it again, and the way to a single decision."""
    campaign = member.campaign
    form = DueDateForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            made = service.open_resolution(
                campaign,
                by=request.user,
                confirmed=request.POST.get("hash", ""),
                due_on=form.cleaned_data["due_on"],
            )
        except Refused as refusal:
            form.add_error(None, translated(refusal.message))
        else:
            messages.success(request, _("The resolution is open: its items are discussed and judged again."))
            return redirect("resolution_round", campaign.slug, made.number)
    found = service.contrasts(campaign)
    page = Paginator(list(service.to_settle(campaign, found)), PAGE).get_page(request.GET.get("page"))
    items = list(page.object_list)
    standing = standings(campaign, items)
    planned = plan_again(campaign, found.items)
    context = {
        "contrasts": found,
        "plan": planned,
        "n_before": len(set(found.before) & set(planned.items)),
        "n_discussed": discussed_of(planned.items),
        "form": form,
        "rounds": _rounds(campaign, RESOLUTION),
        "page": page,
        "lines": [(item, standing[item.pk], item.pk in set(found.waiting)) for item in items],
        "wording": wording_of(campaign),
    }
    status = 400 if form.errors else 200
    return campaign_page(request, member, "annotation/resolution.html", context, tab="rounds", status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@plain_refusals
@members_only(MANAGER)
def rejudgement(request: PersonRequest, member: Membership) -> HttpResponse:
    """What the versions of the guidelines touch, or one of them (`?version=…`), and who would judge it again."""
    campaign = member.campaign
    version = _version(request)
    touching = re_service.touching_versions(campaign)
    chosen = touching if version is None else [re_service.guideline_of(campaign, version)]
    form = DueDateForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            made = re_service.open_rejudgement(
                campaign,
                version,
                by=request.user,
                confirmed=request.POST.get("hash", ""),
                due_on=form.cleaned_data["due_on"],
            )
        except Refused as refusal:
            form.add_error(None, translated(refusal.message))
        else:
            messages.success(request, _("The second look is open."))
            return redirect("rejudgement_round", campaign.slug, made.number)
    context = {
        "guideline": None if version is None else chosen[0],
        "versions": touching[::-1],
        "touched": re_service.told_apart(campaign, chosen),
        "plan": re_service.plan_rejudgement(campaign, chosen),
        "form": form,
        "rounds": _rounds(campaign, REJUDGEMENT),
    }
    status = 400 if form.errors else 200
    return campaign_page(request, member, "annotation/rejudgement.html", context, tab="rounds", status=status)


def _version(request: PersonRequest) -> int | None:
    """The version asked for; None for all."""
    raw = request.GET.get("version", "")
    if not raw:
        return None
    if not (raw.isascii() and raw.isdigit() and len(raw) < 6):
        raise Http404
    return int(raw)


def _rounds(campaign: Campaign, kind: str) -> QuerySet[Round]:
    return campaign.rounds.filter(kind=kind).order_by("-number")


@require_safe
@members_only(MANAGER, VIEWER)
def resolution_round(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """One resolution: how far each expert is."""
    return _round_page(request, member, RESOLUTION, number)


@require_safe
@members_only(MANAGER, VIEWER)
def rejudgement_round(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """One re-judgement: how far each expert is."""
    return _round_page(request, member, REJUDGEMENT, number)


def _round_page(
    request: PersonRequest, member: Membership, kind: str, number: int, *, tried: str = "", status: int = 200
) -> HttpResponse:
    line = _line(member, kind, number)
    context: dict[str, Any] = {
        "line": line,
        "round": line.round,
        "missing": missing_in(line.round) if line.is_open else (line.round.outcome or {}).get("missing", {}),
        "tried": tried,
        "close": f"{kind}_close",
        "reopen": f"{kind}_reopen",
    }
    return campaign_page(request, member, "annotation/again_round.html", context, tab="rounds", status=status)


def _line(member: Membership, kind: str, number: int) -> RoundLine:
    try:
        return line_of(member.campaign, kind, number)
    except NotYours:
        raise Http404 from None


@require_POST
@plain_refusals
@members_only(MANAGER)
def resolution_close(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """End a resolution; where answers are missing, with a reason."""
    return _close(request, member, RESOLUTION, number)


@require_POST
@plain_refusals
@members_only(MANAGER)
def rejudgement_close(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """End a re-judgement; where answers are missing, with a reason."""
    return _close(request, member, REJUDGEMENT, number)


def _close(request: PersonRequest, member: Membership, kind: str, number: int) -> HttpResponse:
    campaign, reason = member.campaign, request.POST.get("reason", "")
    try:
        close_again(campaign, kind, number, reason=reason, by=request.user)
    except NotYours:
        raise
    except Refused as refusal:
        messages.error(request, translated(refusal.message))
        return _round_page(request, member, kind, number, tried=reason, status=400)
    if campaign.label_version:
        wake(jobs.request(campaign=campaign, kind="finalize", arguments={}, by=request.user))
    messages.success(request, _("The round is closed."))
    return redirect(f"{kind}_round", campaign.slug, number)


@require_POST
@plain_refusals
@members_only(MANAGER)
def resolution_reopen(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Undo the closing of a resolution."""
    return _reopen(request, member, RESOLUTION, number)


@require_POST
@plain_refusals
@members_only(MANAGER)
def rejudgement_reopen(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Undo the closing of a re-judgement."""
    return _reopen(request, member, REJUDGEMENT, number)


def _reopen(request: PersonRequest, member: Membership, kind: str, number: int) -> HttpResponse:
    reopen_again(member.campaign, kind, number, by=request.user)
    messages.success(request, _("The round is open again."))
    return redirect(f"{kind}_round", member.campaign.slug, number)
