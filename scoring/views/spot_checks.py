"""Spot checks: planned with their cost, opened, watched, read, decided."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Campaign, Membership, Round
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.services.spot_checks import (
    Decision,
    Error,
    SpotCheckPlan,
    checkers_of,
    frozen_parts,
    open_spot_check,
    parts_to_check,
    plan_spot_check,
    spot_check_of,
    still_to_check,
    units_to_check,
)
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from scoring.forms.spot_checks import NewSpotCheckForm, SpotCheckDecisionForm
from scoring.services.spot_checks import acceptance, finish, hours_of, report_of
from scoring.views.reports import report_response

RATES = ("acceptable", "rejectable", "alpha", "beta")
USUAL = {"acceptable": 5, "rejectable": 15, "alpha": 0.05, "beta": 0.1}
SHOWN_ERRORS = 200


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def spot_check_new(request: PersonRequest, member: Membership) -> HttpResponse:
    """Choose a checker, parts and rates; look at the plan, which stores nothing; confirm it by its hash."""
    campaign = member.campaign
    if request.method != "POST":
        return _new_page(request, member, _form(campaign))
    form = _form(campaign, request.POST)
    if not form.is_valid():
        return _new_page(request, member, form, status=400)
    confirmed = request.POST.get("hash")
    try:
        asked = _asked(campaign, form)
        if confirmed is None:
            return _new_page(request, member, form, planned=plan_spot_check(campaign, **asked))
        round_ = open_spot_check(
            campaign, **asked, due_on=form.cleaned_data["due_on"], by=request.user, confirmed_hash=confirmed
        )
    except (ProtocolError, Refused) as refusal:
        form.add_error(None, translated(refusal.message))
        return _new_page(request, member, form, status=400 if confirmed is None else 409)
    messages.success(request, _("Spot check %(number)d is open.") % {"number": round_.number})
    return redirect("spot_check", campaign.slug, round_.number)


def _form(campaign: Campaign, data: Any = None) -> NewSpotCheckForm:
    ready = [
        (str(part.index), _("Part %(part)d") % {"part": part.number}) for part in parts_to_check(campaign)
    ]
    initial = {
        **USUAL,
        "parts": [value for value, _name in ready],
        "error": Error.CONTRAST,
        "seed": campaign.seed,
    }
    checkers = [(str(one.pk), one.pseudonym) for one in checkers_of(campaign)]
    return NewSpotCheckForm(data, protocol=campaign.protocol, checkers=checkers, ready=ready, initial=initial)


def _asked(campaign: Campaign, form: NewSpotCheckForm) -> dict[str, Any]:
    data = form.cleaned_data
    parts = [int(index) for index in data["parts"]]
    asked = {
        "checker": int(data["checker"]),
        "parts": parts,
        "seed": data["seed"],
        "error": Error(data["error"]),
    }
    if data["n"]:
        return {**asked, "n": data["n"]}
    chosen = [part for part in parts_to_check(campaign) if part.index in parts]
    rule = acceptance(**{name: data[name] for name in RATES}, lot=len(units_to_check(campaign, chosen)))
    return {**asked, "n": rule["n"], "rule": rule}


def _new_page(
    request: PersonRequest,
    member: Membership,
    form: NewSpotCheckForm,
    *,
    planned: SpotCheckPlan | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "plan": planned,
        "nothing_ready": not form.ready,
    }
    if planned is not None:
        hours = hours_of(member.campaign, len(planned.items))
        context["seconds"] = None if hours is None else hours * 3600
        context["typed"] = [
            (name, value)
            for name, values in request.POST.lists()
            for value in values
            if name not in ("csrfmiddlewaretoken", "hash")
        ]
    return campaign_page(request, member, "scoring/spot_check_new.html", context, tab="rounds", status=status)


@require_safe
@plain_refusals
@members_only(MANAGER, VIEWER)
def spot_check(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """How far a check is; once everything is judged what it found, and the decision."""
    round_ = spot_check_of(member.campaign, number)
    return _page(request, member, round_)


def _page(
    request: PersonRequest,
    member: Membership,
    round_: Round,
    *,
    form: SpotCheckDecisionForm | None = None,
    status: int = 200,
) -> HttpResponse:
    still = still_to_check(round_) if round_.state == Round.State.OPEN else 0
    report = report_of(round_) if _is_readable(member, round_, still) else None
    frozen: set[int] = set()
    if member.role == MANAGER and round_.state == Round.State.OPEN:
        form = form or SpotCheckDecisionForm(choices=_choices(round_))
        if still:
            form.only_stop()
        else:
            frozen = frozen_parts(round_.campaign)
            form.leave_out(frozen)
    given = round_.assignments.filter(withdrawn_at__isnull=True).count()
    context = {
        "round": round_,
        "still": still,
        "given": given,
        "judged": given - still,
        "report": report,
        "form": form,
        "frozen": sorted(index + 1 for index in frozen & {one["part"] for one in round_.settings["strata"]}),
        "limit": SHOWN_ERRORS,
        "errors": (report or {}).get("errors_found", [])[:SHOWN_ERRORS],
    }
    return campaign_page(request, member, "scoring/spot_check.html", context, tab="rounds", status=status)


def _is_readable(member: Membership, round_: Round, still: int) -> bool:
    """Figures are there for managers once everything is checked, for everybody once it is decided; none if stopped."""
    if round_.state != Round.State.OPEN:
        return bool((round_.outcome or {}).get("report"))
    return member.role == MANAGER and not still


def _choices(round_: Round) -> list[tuple[str, str]]:
    pairs = {(name, one["part"]) for one in round_.settings["strata"] for name in one["experts"]}
    return [
        (f"{name}:{part}", _("%(expert)s, part %(part)d") % {"expert": name, "part": part + 1})
        for name, part in sorted(pairs, key=lambda pair: (pair[1], pair[0]))
    ]


@require_POST
@plain_refusals
@members_only(MANAGER)
def spot_check_decide(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Accept, give parts back, or stop."""
    round_ = spot_check_of(member.campaign, number)
    form = SpotCheckDecisionForm(request.POST, choices=_choices(round_))
    if not form.is_valid():
        return _page(request, member, round_, form=form, status=400)
    data = form.cleaned_data
    try:
        finish(
            round_,
            Decision(data["decision"]),
            reason=data["reason"],
            rework=_pairs(data.get("rework", ())),
            by=request.user,
        )
    except Refused as refusal:
        form.add_error(None, translated(refusal.message))
        return _page(request, member, spot_check_of(member.campaign, number), form=form, status=409)
    messages.success(request, _("The decision is stored."))
    return redirect("spot_check", member.campaign.slug, number)


def _pairs(chosen: Sequence[str]) -> list[tuple[str, int]]:
    """The form has made sure that they are some of its choices."""
    return [(name, int(part)) for name, _colon, part in (one.rpartition(":") for one in chosen)]


@require_safe
@plain_refusals
@members_only(MANAGER, VIEWER)
def spot_check_file(
    request: PersonRequest,
    member: Membership,
    number: int,
    format: str,  # noqa: A002
) -> HttpResponse:
    """What was found as Markdown, LaTeX, CSV or JSON."""
    round_ = spot_check_of(member.campaign, number)
    if not _is_readable(member, round_, still_to_check(round_)):
        raise Http404
    return report_response(member.campaign, "spot-check", report_of(round_), format)
