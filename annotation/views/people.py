"""Who takes part in a campaign: adding people, inviting them, closing their accounts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms.base import ConfirmWordForm
from annotation.forms.people import PersonForm
from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services import accounts
from annotation.services.access import revoke_invitations
from annotation.services.erasure import erase, what_stays
from annotation.services.errors import Refused
from annotation.services.invitations import Offer, invite, invite_new, open_invitations
from annotation.services.people import (
    add_member,
    audit,
    deactivate,
    find_or_create_experts,
    may_administer,
    remove_member,
)
from annotation.services.personal_data import export_for
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page
from annotation.views.own_data import data_file
from annotation.views.refusals import plain_refusals


@dataclass(frozen=True, kw_only=True)
class PersonLine:
    """Somebody's place in the campaign, and whether they can sign in."""

    member: Membership
    state: str  # active, invited, uninvited, closed or erased
    until: datetime | None = None


@require_safe
@members_only(MANAGER)
def people(request: PersonRequest, member: Membership) -> HttpResponse:
    """Everybody who takes part, under their pseudonyms."""
    return _people_page(request, member, PersonForm())


@require_POST
@members_only(MANAGER, archived=True)
def people_names(request: PersonRequest, member: Membership) -> HttpResponse:
    """The same page with names, this once; asking for them is written down."""
    audit(member.campaign, request.user, "names shown", {"page": "people"})
    return _people_page(request, member, PersonForm(), names=True)


@require_POST
@members_only(MANAGER)
def person_add(request: PersonRequest, member: Membership) -> HttpResponse:
    """Somebody joins, with an account of their own or a new one."""
    form = PersonForm(request.POST)
    if not form.is_valid():
        return _people_page(request, member, form, status=400)
    try:
        user = find_or_create_experts([form.cleaned_data["name"]], request.user)[0]
        joined = add_member(member.campaign, user, form.cleaned_data["role"], by=request.user)
    except Refused as refusal:
        form.add_error("name", translated(refusal.message))
        return _people_page(request, member, form, status=409)
    done = _("%(name)s takes part as %(pseudonym)s.") % {"name": user.username, "pseudonym": joined.pseudonym}
    offers = invite_new(member.campaign, [user], request.user)
    if offers:
        return _offers(request, member, offers, done)
    messages.success(request, done)
    return redirect("people", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def person_invite(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """A new link to set a password, for who has none or forgot it; shown in the answer and nowhere else."""
    person = _person(member, pk)
    offer = invite(person, request.user)
    audit(member.campaign, request.user, "names shown", {"page": "invitation", "pseudonym": person.pseudonym})
    return _offers(request, member, [offer], _("The new link is ready; an older one no longer works."))


@require_POST
@plain_refusals
@members_only(MANAGER)
def person_revoke(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """End an unused link; who follows it is told so."""
    person = _person(member, pk)
    if revoke_invitations(person.user, request.user):
        messages.success(
            request, _("The link of %(who)s has ended; nobody gets in with it.") % {"who": person.pseudonym}
        )
    else:
        messages.info(request, _("%(who)s has no unused link.") % {"who": person.pseudonym})
    return redirect("people", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER, archived=True)
def person_data(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """What is kept about somebody, for who was asked for it; written down."""
    person = _person(member, pk)
    if not (person.user_id == request.user.pk or may_administer(request.user, person.user)):
        raise Refused(_("Only who manages all campaigns of this person may do this."))
    return data_file(export_for(person, request.user), name=f"{member.campaign.slug}-{person.pseudonym}")


@require_http_methods(["GET", "HEAD", "POST"])
@plain_refusals
@members_only(MANAGER)
def person_erase(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Erase somebody for good, after a word of confirmation; their work stays under the pseudonym."""
    person = _person(member, pk)
    form = ConfirmWordForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            erase(person.user, typed=form.cleaned_data["word"], expected=person.pseudonym, by=request.user)
        except Refused as refusal:
            form.add_error("word", translated(refusal.message))
        else:
            messages.success(
                request, _("%(who)s is erased; the work stays under that name.") % {"who": person.pseudonym}
            )
            return redirect("people", member.campaign.slug)
    context = {"form": form, "person": person, "stays": what_stays(person.user)}
    status = 400 if form.errors else 200
    return campaign_page(
        request, member, "annotation/person_erase.html", context, tab="people", status=status
    )


@require_POST
@plain_refusals
@members_only(MANAGER)
def person_close(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Close an account; its work stays."""
    person = _person(member, pk)
    deactivate(person.user, request.user)
    messages.success(
        request, _("The account of %(who)s is closed; the work stays.") % {"who": person.pseudonym}
    )
    return redirect("people", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def person_reopen(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Open a closed account again."""
    person = _person(member, pk)
    accounts.reopen(person.user, request.user)
    messages.success(request, _("The account of %(who)s is open again.") % {"who": person.pseudonym})
    return redirect("people", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def person_remove(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Take somebody out who has no work here."""
    person = _person(member, pk)
    myself = person.pk == member.pk
    remove_member(person, request.user)
    messages.success(request, _("%(who)s no longer takes part.") % {"who": person.pseudonym})
    return redirect("home") if myself else redirect("people", member.campaign.slug)


def _person(member: Membership, pk: int) -> Membership:
    found = (
        Membership.objects.select_related("user", "campaign").filter(campaign=member.campaign, pk=pk).first()
    )
    if found is None:
        raise Http404
    return found


def _offers(request: PersonRequest, member: Membership, offers: list[Offer], done: str) -> HttpResponse:
    context: dict[str, Any] = {"offers": offers, "done": done}
    return campaign_page(request, member, "annotation/invitations.html", context, tab="people")


def _people_page(
    request: PersonRequest, member: Membership, form: PersonForm, *, names: bool = False, status: int = 200
) -> HttpResponse:
    members = list(
        Membership.objects.filter(campaign=member.campaign).select_related("user").order_by("role", "id")
    )
    waiting = open_invitations(members)
    lines = [_line(one, waiting.get(one.user_id)) for one in members]
    context = {"form": form, "lines": lines, "names": names}
    return campaign_page(request, member, "annotation/people.html", context, tab="people", status=status)


def _line(member: Membership, until: datetime | None) -> PersonLine:
    if member.user.erased_at:
        return PersonLine(member=member, state="erased")
    if not member.user.is_active:
        return PersonLine(member=member, state="closed")
    if member.user.has_usable_password():
        return PersonLine(member=member, state="active")
    return PersonLine(member=member, state="invited" if until else "uninvited", until=until)
