"""Examples of relations: written, scored blind by others, then shown beside the relation's own."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from annotation.forms.base import PlainInput, Text
from annotation.models import Campaign, Membership
from annotation.permissions import EXPERT, MANAGER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.protocol.triple import TRIPLE
from annotation.protocol.wording import Wording
from annotation.services import examples as service
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from annotation.templatetags.seat import in_language
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals


def choices_of(wording: Wording) -> list[tuple[str, str]]:
    """The answers in words, the highest first: nobody sees a score."""
    return [(answer.key, in_language(wording.answer_words(answer))) for answer in reversed(TRIPLE.scale)]


class ExampleForm(forms.Form):
    """An example with the answer its author holds for right."""

    relation = forms.ChoiceField(label=gettext_lazy("Relation"))
    head = Text(label=gettext_lazy("Head"), max_length=service.TEXT_LENGTH, widget=PlainInput({"lang": "en"}))
    tail = Text(label=gettext_lazy("Tail"), max_length=service.TEXT_LENGTH, widget=PlainInput({"lang": "en"}))
    label = forms.ChoiceField(label=gettext_lazy("The right answer"), widget=forms.RadioSelect)
    why_en = Text(
        label=gettext_lazy("Why, English"),
        max_length=service.TEXT_LENGTH,
        required=False,
        widget=PlainInput({"lang": "en"}),
    )
    why_zh = Text(
        label=gettext_lazy("Why, Chinese"),
        max_length=service.TEXT_LENGTH,
        required=False,
        help_text=gettext_lazy("One of the two languages is enough."),
        widget=PlainInput({"lang": "zh-Hans"}),
    )

    def __init__(self, data: Any = None, *, wording: Wording) -> None:
        super().__init__(data)
        found = {
            "relation": [("", "–"), *((name, name) for name in wording.relations)],
            "label": choices_of(wording),
        }
        for name, choices in found.items():
            field = self.fields[name]
            if isinstance(field, forms.ChoiceField):
                field.choices = choices


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(EXPERT, MANAGER)
def examples(request: PersonRequest, member: Membership) -> HttpResponse:
    """What waits for one's blind score, one's own examples, and the form for another one."""
    campaign, words = member.campaign, wording_of(member.campaign)
    sent = request.POST if request.method == "POST" else None
    form = ExampleForm(sent, wording=words) if campaign.protocol == Campaign.Protocol.TRIPLE else None
    if sent is not None and form is None:
        return redirect("examples", campaign.slug)
    if form is not None and form.is_bound and form.is_valid():
        try:
            service.add_example(campaign, request.user, **form.cleaned_data)
        except (Refused, ProtocolError) as refusal:
            form.add_error(None, translated(refusal.message))
        else:
            messages.success(request, _("The example is stored; it appears once two others have scored it."))
            return redirect("examples", campaign.slug)
    lines = service.lines_for(member)
    context = {
        "campaign": campaign,
        "form": form,
        "choices": choices_of(words),
        "to_score": service.to_score(campaign, request.user),
        "lines": lines,
        "differing": service.differing(lines),
        "wording": words,
    }
    status = 400 if form is not None and form.errors else 200
    if member.role == MANAGER:
        return campaign_page(
            request, member, "annotation/examples.html", context, tab="guidelines", status=status
        )
    return render(request, "annotation/examples_expert.html", context, status=status)


@require_POST
@plain_refusals
@members_only(EXPERT, MANAGER)
def example_score(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """A blind score of somebody else's example."""
    service.score_example(member.campaign, request.user, pk=pk, label=request.POST.get("label", ""))
    messages.success(request, _("Your score is stored."))
    return redirect("examples", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(EXPERT, MANAGER)
def example_retire(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """The example is shown to nobody any more."""
    service.retire_example(member, pk=pk)
    messages.success(request, _("The example is taken back."))
    return redirect("examples", member.campaign.slug)
