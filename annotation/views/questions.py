"""Questions between one expert and the managers: the expert's page, and the managers'."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms.base import OnceForm, Text
from annotation.models import Membership
from annotation.permissions import EXPERT, MANAGER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services import questions as service
from annotation.services.errors import Refused
from annotation.services.screens import next_screens, screen_at
from annotation.services.seat_numbers import assignment_of
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals


class QuestionForm(OnceForm):
    """A question about the unit on one screen."""

    text = Text(
        label=gettext_lazy("Your question"),
        max_length=service.LENGTH,
        widget=forms.Textarea(attrs={"rows": 4}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(EXPERT)
def my_questions(request: PersonRequest, member: Membership) -> HttpResponse:
    """One's own questions with their answers; with `?position=…`, the form for another one about that screen."""
    campaign, user = member.campaign, request.user
    screen = _screen(request, member)
    form = QuestionForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if screen is None:
            raise Http404
        if form.is_valid():
            try:
                screen_id = assignment_of(screen["id"], expert=user.pk)
                service.ask(campaign, user, screen_id=screen_id, **form.cleaned_data)
            except (Refused, ProtocolError) as refusal:
                form.add_error(None, translated(refusal.message))
            else:
                messages.success(request, _("Your question is asked. The answer will appear here."))
                return redirect("my_questions", campaign.slug)
    context = {
        "campaign": campaign,
        "wording": wording_of(campaign),
        "screen": screen,
        "form": form,
        "lines": service.own_questions(campaign, user),
        "next": next(iter(next_screens(campaign, expert_id=user.pk)), None),
    }
    status = 400 if form.errors else 200
    return render(request, "annotation/my_questions.html", context, status=status)


def _screen(request: PersonRequest, member: Membership) -> dict[str, Any] | None:
    """The screen that the address names, if any; Http404 where it is not this expert's."""
    raw = request.GET.get("position", "")
    if not raw:
        return None
    if not (raw.isascii() and raw.isdigit() and len(raw) < 10):
        raise Http404
    found = screen_at(member.campaign, expert_id=request.user.pk, position=int(raw))
    if found is None:
        raise Http404
    return found


@require_POST
@plain_refusals
@members_only(EXPERT)
def question_read(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """An answer was read: it is no longer marked as new."""
    service.read(member.campaign, request.user, pk=pk)
    return redirect("my_questions", member.campaign.slug)


@require_safe
@members_only(MANAGER)
def questions(request: PersonRequest, member: Membership) -> HttpResponse:
    """Every question, those without an answer first. Who asked stands there under their pseudonym."""
    return _questions_page(request, member)


@require_POST
@plain_refusals
@members_only(MANAGER)
def question_answer(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Answer a question, or change the answer."""
    try:
        service.answer(member.campaign, pk=pk, text=request.POST.get("text", ""), by=request.user)
    except ProtocolError as refusal:
        messages.error(request, translated(refusal.message))
        return _questions_page(request, member, tried={pk: request.POST.get("text", "")}, status=400)
    messages.success(request, _("The answer is stored; the expert sees it at the next look."))
    return redirect("questions", member.campaign.slug)


def _questions_page(
    request: PersonRequest,
    member: Membership,
    *,
    tried: dict[int, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """`tried` holds an answer that could not be stored, by its question, so that nothing typed is lost."""
    lines = service.all_questions(member.campaign)
    here = reverse("questions", args=[member.campaign.slug])
    context = {
        "wording": wording_of(member.campaign),
        "lines": lines,
        "tried": tried or {},
        "limit": service.LENGTH,
        "here": here,
    }
    return campaign_page(
        request, member, "annotation/questions.html", context, tab="questions", status=status
    )
