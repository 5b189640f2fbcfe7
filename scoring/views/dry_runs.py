"""Dry runs: planned and opened, watched, closed, measured at their gate, and what is worth talking about."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Campaign, Membership, Round, User
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.protocol.text import fold_name
from annotation.services.dry_runs import (
    USUAL_N,
    Decision,
    DryRunPlan,
    Source,
    decision_of,
    fresh_items,
    gate_of,
    last_dry_run,
    open_dry_run,
    override,
    plan_dry_run,
    reopen_dry_run,
    take_back,
)
from annotation.services.errors import NotYours, Refused
from annotation.services.frozen import standings
from annotation.services.invitations import invite_new
from annotation.services.round_progress import RoundLine, line_of
from annotation.services.rounds import round_of
from annotation.services.sentences import translated
from annotation.services.spot_checks import likely_to_judge
from annotation.services.ways_on import ways_on
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from scoring.forms.dry_runs import DryRunForm, OverrideForm
from scoring.services.gates import COEFFICIENTS, USUAL, close_and_decide, decide_now, gate, ranking
from scoring.views.words import COEFFICIENTS as FIGURES
from scoring.views.words import SHOWN

PLANNED = ("experts", "n", "seed", "source")


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def dry_run_new(request: PersonRequest, member: Membership) -> HttpResponse:
    """Choose experts, a sample and a gate; look at the plan, which stores nothing; confirm it by its hash."""
    if request.method != "POST":
        return _new_page(request, member, _form(member.campaign))
    form = _form(member.campaign, request.POST)
    if not form.is_valid():
        return _new_page(request, member, form, status=400)
    try:
        asked = _asked(form)
        if "hash" in request.POST:
            return _confirm(request, member, form, asked)
        planned = plan_dry_run(member.campaign, **asked)
    except (ProtocolError, Refused) as refusal:
        form.add_error(None, translated(refusal.message))
        return _new_page(request, member, form, status=400)
    return _new_page(request, member, form, planned=planned)


def _form(campaign: Campaign, data: Any = None) -> DryRunForm:
    members = list(
        campaign.memberships.filter(role=Membership.Role.EXPERT, user__is_active=True)
        .select_related("user")
        .order_by("id")
    )
    initial = {
        "members": [str(member.pk) for member in likely_to_judge(campaign, members)],
        "n": USUAL_N[Campaign.Protocol(campaign.protocol)],
        "source": Source.SET_ASIDE,
        "coefficient": USUAL[Campaign.Protocol(campaign.protocol)],
        "bound": "value",
        "seed": campaign.seed,
    }
    figures = {name: FIGURES[name].title for name in SHOWN[campaign.protocol] if name in COEFFICIENTS}
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    return DryRunForm(data, members=members, figures=figures, compound=compound, initial=initial)


def _asked(form: DryRunForm) -> dict[str, Any]:
    data = form.cleaned_data
    wanted = {name: data[name] for name in PLANNED}
    wanted["source"] = Source(data["source"])
    with_gate = data["threshold"] is not None
    wanted["gate"] = gate(data["coefficient"], data["threshold"], data["bound"]) if with_gate else None
    return wanted


def _confirm(
    request: PersonRequest, member: Membership, form: DryRunForm, asked: dict[str, Any]
) -> HttpResponse:
    campaign = member.campaign
    try:
        round_ = open_dry_run(
            campaign,
            **asked,
            due_on=form.cleaned_data["due_on"],
            by=request.user,
            confirmed_hash=request.POST["hash"],
        )
    except (ProtocolError, Refused) as refusal:
        form.add_error(None, translated(refusal.message))
        return _new_page(request, member, form, status=409)
    done = _("Dry run %(number)d is open.") % {"number": round_.number}
    names = [fold_name(name) for name in asked["experts"]]
    offers = invite_new(campaign, User.objects.filter(username_folded__in=names), request.user)
    if not offers:
        messages.success(request, done)
        return redirect("dry_run", campaign.slug, round_.number)
    context = {"offers": offers, "done": done}
    return campaign_page(request, member, "annotation/invitations.html", context, tab="rounds")


def _new_page(
    request: PersonRequest,
    member: Membership,
    form: DryRunForm,
    *,
    planned: DryRunPlan | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "plan": planned,
        "nothing_left": not form.is_bound and not fresh_items(member.campaign).exists(),
    }
    if planned is not None:
        pseudonyms = {one.user.username: one.pseudonym for one in form.by_pk.values()}
        context["people"] = [pseudonyms.get(name, name) for name in planned.experts]
        context["judgements"] = len(planned.items) * len(planned.experts)
        context["gate_title"] = planned.gate and FIGURES[planned.gate.coefficient].title
        context["typed"] = _typed(request)
    return campaign_page(request, member, "scoring/dry_run_new.html", context, tab="rounds", status=status)


def _typed(request: PersonRequest) -> list[tuple[str, str]]:
    """What was asked for, to be sent again with the plan's hash."""
    left_out = ("csrfmiddlewaretoken", "hash")
    return [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name not in left_out and isinstance(value, str)
    ]


@require_safe
@plain_refusals
@members_only(MANAGER, VIEWER)
def dry_run(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """How far it is; once it is closed, its agreement, its gate, and its items by how far the experts differ."""
    return _page(request, member, number)


@require_POST
@plain_refusals
@members_only(MANAGER)
def dry_run_close(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Close it, with or without the answers that are missing, and compute its agreement."""
    without = request.POST.get("without_missing") == "yes"
    round_ = close_and_decide(_round(member, number), without_missing=without, by=request.user)
    _tell(request, round_)
    return redirect("dry_run", member.campaign.slug, number)


@require_POST
@plain_refusals
@members_only(MANAGER)
def dry_run_decide(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Compute the agreement of one that is closed and undecided."""
    _tell(request, decide_now(_round(member, number), by=request.user))
    return redirect("dry_run", member.campaign.slug, number)


def _tell(request: PersonRequest, round_: Round) -> None:
    decision = decision_of(round_)
    if decision == Decision.NOT_PASSED:
        messages.warning(request, _("The dry run is closed. Its agreement did not reach the gate."))
    elif decision == Decision.PASSED:
        messages.success(request, _("The dry run is closed. Its agreement reached the gate."))
    else:
        messages.success(request, _("The dry run is closed."))


@require_POST
@plain_refusals
@members_only(MANAGER)
def dry_run_override(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Go on although the gate was not passed, with a reason that is kept."""
    round_ = _round(member, number)
    form = OverrideForm(request.POST)
    if form.is_valid():
        override(round_, reason=form.cleaned_data["reason"], by=request.user)
        messages.success(request, _("The reason is kept. The main round may begin."))
        return redirect("dry_run", member.campaign.slug, number)
    return _page(request, member, number, form=form, status=400)


@require_POST
@plain_refusals
@members_only(MANAGER)
def dry_run_reopen(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Let it be judged again, for who comes late."""
    reopen_dry_run(_round(member, number), by=request.user)
    messages.success(request, _("The dry run is open again."))
    return redirect("dry_run", member.campaign.slug, number)


@require_POST
@plain_refusals
@members_only(MANAGER)
def dry_run_take_back(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """Undo the opening while nobody has answered."""
    take_back(_round(member, number), by=request.user)
    messages.success(request, _("The dry run is taken back; its units stand as they stood."))
    return redirect("rounds", member.campaign.slug)


def _round(member: Membership, number: int) -> Round:
    found = round_of(member.campaign, Round.Kind.DRY_RUN, number)
    if found is None:
        raise NotYours(_("There is no such dry run in this campaign."))
    return found


def _page(
    request: PersonRequest,
    member: Membership,
    number: int,
    *,
    form: OverrideForm | None = None,
    status: int = 200,
) -> HttpResponse:
    line = line_of(member.campaign, Round.Kind.DRY_RUN, number)
    round_, decision = line.round, decision_of(line.round)
    last = last_dry_run(member.campaign)
    asked = gate_of(round_)
    outcome = round_.outcome or {}
    ranked = ranking(round_) if _tells(line, decision) else None
    is_last = last is not None and last.pk == round_.pk
    goes_on = is_last and decision is not None and member.role == MANAGER and not member.campaign.closed_at
    context = {
        "line": line,
        "round": round_,
        "outcome": outcome,
        "decision": decision,
        "is_last": is_last,
        "ways": ways_on(round_) if goes_on else None,
        "gate": asked,
        "gate_title": asked and FIGURES[asked.coefficient].title,
        "figures": [
            (FIGURES[name], outcome["coefficients"][name])
            for name in SHOWN[member.campaign.protocol]
            if name in outcome.get("coefficients", ())
        ],
        "ranking": ranked,
        "standings": standings(member.campaign, [one.item for one in ranked.items]) if ranked else {},
        "form": form or OverrideForm(),
        "causes": {one.code: one.words for one in get_protocol(member.campaign.protocol).cannot_judge_causes},
    }
    return campaign_page(request, member, "scoring/dry_run.html", context, tab="rounds", status=status)


def _tells(line: RoundLine, decision: Decision | None) -> bool:
    """Whether the experts' answers may be seen."""
    return not line.is_open and decision != Decision.TAKEN_BACK
