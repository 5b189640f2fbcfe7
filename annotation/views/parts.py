"""Giving parts to experts, and looking at one part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms.people import AssignForm
from annotation.models import Campaign, Membership, Part, User
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.assignment import Plan, Sample
from annotation.protocol.errors import ProtocolError
from annotation.protocol.text import fold_name
from annotation.services import hand_ins
from annotation.services.batches import batch_of_part
from annotation.services.campaigns import main_round
from annotation.services.carry_over import SHOWN, CarryPlan, shown_pairs
from annotation.services.completion import incomplete_items
from annotation.services.dry_runs import why_main_waits
from annotation.services.errors import Refused
from annotation.services.instances import saving
from annotation.services.invitations import invite_new
from annotation.services.late_items import late_items
from annotation.services.later import plan_later
from annotation.services.later_plans import LaterPlan
from annotation.services.overview import expert_lines
from annotation.services.parts import (
    assign_parts,
    confirmation,
    next_index,
    plan_carrying,
    plan_parts,
    unassigned_units,
)
from annotation.services.people import without_account
from annotation.services.screens import screens_by_expert
from annotation.services.sentences import translated
from annotation.services.spot_checks import likely_to_judge
from annotation.views.campaign_page import campaign_page, parts_tab
from annotation.views.refusals import plain_refusals


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def assign(request: PersonRequest, member: Membership) -> HttpResponse:
    """Choose experts and a design; look at the plan, which stores nothing; confirm it by its hash."""
    campaign = member.campaign
    if request.method != "POST":
        return _assign_page(request, member, _form(campaign))
    form = _form(campaign, request.POST, request.FILES)
    if not form.is_valid():
        return _assign_page(request, member, form, status=400)
    asked = {
        name: form.cleaned_data[name] for name in ("experts", "design", "seed", "parts", "sample", "quotas")
    }
    asked["overlap"] = form.cleaned_data.get("overlap")
    again, wish = form.share_again, form.carry_wish
    if "hash" in request.POST:
        confirmed = {**asked, "again": again, "carry_over": wish}
        return _confirm(request, member, form, confirmed, confirmed_hash=request.POST["hash"])
    try:
        carry = (
            None
            if wish is None
            else plan_carrying(campaign, wish, seed=asked["seed"], sample=asked["sample"])
        )
        planned = plan_parts(campaign, **asked, carry=carry)
        later = plan_later(main_round(campaign), again=again, seed=asked["seed"], carry=carry)
    except (ProtocolError, Refused) as refusal:
        form.add_error(None, translated(refusal.message))
        return _assign_page(request, member, form, status=400)
    return _assign_page(request, member, form, planned=planned, later=later, carry=carry)


def _confirm(
    request: PersonRequest,
    member: Membership,
    form: AssignForm,
    asked: dict[str, Any],
    *,
    confirmed_hash: str,
) -> HttpResponse:
    campaign = member.campaign
    try:
        planned = assign_parts(campaign, **asked, by=request.user, confirmed_hash=confirmed_hash)
    except (ProtocolError, Refused) as refusal:
        form.add_error(None, translated(refusal.message))
        return _assign_page(request, member, form, status=409)
    names = [fold_name(name) for name in planned.loads]
    offers = invite_new(campaign, User.objects.filter(username_folded__in=names), request.user)
    if not offers:
        messages.success(request, _("The parts are given out."))
        return redirect("campaign", campaign.slug)
    context = {"offers": offers, "done": _("The parts are given out.")}
    return campaign_page(request, member, "annotation/invitations.html", context, tab="assign")


def _form(campaign: Campaign, data: Any = None, files: Any = None) -> AssignForm:
    members = (
        campaign.memberships.filter(role=Membership.Role.EXPERT, user__is_active=True)
        .select_related("user")
        .order_by("id")
    )
    chosen = list(members)
    k = campaign.annotators_per_item
    initial = {
        "members": [str(member.pk) for member in likely_to_judge(campaign, chosen)],
        "design": "single" if k == 1 else "cyclic",
        "seed": campaign.seed,
    }
    late = late_items(main_round(campaign)).exists()
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    return AssignForm(data, files, members=chosen, k=k, late=late, compound=compound, initial=initial)


def _assign_page(
    request: PersonRequest,
    member: Membership,
    form: AssignForm,
    *,
    planned: Plan | None = None,
    later: LaterPlan | None = None,
    carry: CarryPlan | None = None,
    status: int = 200,
) -> HttpResponse:
    round_ = main_round(member.campaign)
    waiting = unassigned_units(round_)
    n_begun = incomplete_items(round_).count()
    context = {
        "form": form,
        "waits": translated(why_main_waits(member.campaign) or ""),
        "n_units": len(waiting),
        "n_items": sum(unit.n_items for unit in waiting),
        "has_items": bool(waiting) or member.campaign.items.exists(),
        "n_late": late_items(round_).count(),
        "n_begun": n_begun,
        "plan": planned and shown_plan(planned, form, first=next_index(round_)),
        "new": _new_people(planned, n_begun) if planned else [],
        "later": later if later and later.n_items else None,
        "carry": carry,
        "pairs": shown_pairs(carry.carried[:SHOWN]) if carry else (),
        "confirm": planned and later and confirmation(planned, later, carry),
        "saving": saving(member.campaign) if member.campaign.protocol == Campaign.Protocol.COMPOUND else None,
    }
    return campaign_page(request, member, "annotation/assign.html", context, tab="assign", status=status)


def _new_people(planned: Plan, n_begun: int) -> list[str]:
    """Whose account is made where the plan is carried out; nobody's where only late items are given out."""
    completes = n_begun > 0 and planned.sample is None
    return without_account(list(planned.loads)) if completes or any(planned.loads.values()) else []


@dataclass(frozen=True)
class PlanLine:
    """One part of a plan: its size, and for every expert their slot in it, None where they do not judge it."""

    index: int
    n_units: int
    n_items: int
    slots: Sequence[int | None]


@dataclass(frozen=True)
class ShownPlan:
    """A plan as a table of parts × experts; members stand under their pseudonyms. Without lines where only late
    items are given out.
    """

    hash: str
    sample: Sample | None
    overlap: int | None
    experts: Sequence[str]
    lines: Sequence[PlanLine]
    loads: Sequence[int]
    pairs: Sequence[tuple[str, str, int]]
    stays_empty: str

    @property
    def idle(self) -> str:
        """Who would get nothing to judge although others do."""
        return _(", ").join(
            expert for expert, load in zip(self.experts, self.loads, strict=True) if self.lines and not load
        )


def shown_plan(planned: Plan, form: AssignForm, *, first: int) -> ShownPlan:
    """The plan for people; its parts get the indexes from `first` on."""
    called = _called(planned, form)
    names = list(planned.loads)
    return ShownPlan(
        hash=planned.hash,
        sample=planned.sample,
        overlap=planned.overlap,
        experts=[called[name] for name in names],
        lines=[
            PlanLine(
                first + part.index,
                len(part.unit_keys),
                part.n_items,
                [part.experts.index(name) + 1 if name in part.experts else None for name in names],
            )
            for part in planned.filled
        ],
        loads=[planned.loads[name] for name in names],
        pairs=[(called[pair.a], called[pair.b], pair.n_items) for pair in planned.pairs],
        stays_empty=translated(planned.stays_empty or ""),
    )


def _called(planned: Plan, form: AssignForm) -> Mapping[str, str]:
    pseudonyms = {member.user.username: member.pseudonym for member in form.by_pk.values()}
    chosen = {form.by_pk[pk].user.username for pk in form.cleaned_data.get("members", ())}
    return {name: pseudonyms[name] if name in chosen else name for name in planned.loads}


@require_safe
@members_only(MANAGER, VIEWER)
def part(request: PersonRequest, member: Membership, index: int) -> HttpResponse:
    """One part: its experts, how far each is, who has handed it in."""
    round_ = main_round(member.campaign)
    found = Part.objects.filter(round=round_, index=index).first()
    if found is None:
        raise Http404
    lines = [
        (expert.member, share)
        for expert in expert_lines(round_)
        for share in expert.parts
        if share.index == index
    ]
    compound = member.campaign.protocol == Campaign.Protocol.COMPOUND
    context = {
        "part": found,
        "lines": lines,
        "screens": screens_by_expert(found) if compound else {},
        "given_back": any(share.handed_in_at for _expert, share in lines),
        "n_units": found.part_units.count(),
        "batch": batch_of_part(found),
    }
    return campaign_page(request, member, "annotation/part.html", context, tab=parts_tab(member))


@require_POST
@plain_refusals
@members_only(MANAGER)
def part_give_back(request: PersonRequest, member: Membership, index: int, pk: int) -> HttpResponse:
    """Open a handed-in part again for one expert."""
    expert = hand_ins.give_back(member.campaign, index=index, member=pk, by=request.user)
    messages.success(
        request,
        _("Part %(part)d is open again for %(expert)s.") % {"part": index + 1, "expert": expert.pseudonym},
    )
    return redirect("part", member.campaign.slug, index)
