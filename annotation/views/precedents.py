"""Precedents as managers write them; experts find them where they search."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from annotation.forms.base import PlainInput, Text
from annotation.models import Membership, Precedent
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services import precedents as service
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.services.subjects import Subjects, subjects_of
from annotation.services.touches import positions_in
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals


class PrecedentForm(forms.Form):
    """A settled decision: what it is about, and what was decided."""

    subject = forms.ChoiceField(label=gettext_lazy("About"))
    text_en = Text(
        label=gettext_lazy("What was decided, English"),
        max_length=service.LENGTH,
        help_text=gettext_lazy("A rule to judge by, with its reason; not the label of one item."),
        widget=forms.Textarea(attrs={"rows": 3, "lang": "en"}),
    )
    text_zh = Text(
        label=gettext_lazy("What was decided, Chinese"),
        max_length=service.LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "lang": "zh-Hans"}),
    )
    version = forms.TypedChoiceField(
        label=gettext_lazy("Version of the guidelines it goes with"),
        required=False,
        coerce=int,
        empty_value=None,
    )
    items = forms.CharField(
        label=gettext_lazy("Positions of settled items it was decided on"),
        required=False,
        max_length=1000,
        help_text=gettext_lazy("Such as: 3, 7, 12-15. Only items with a final label that nobody can change."),
        widget=PlainInput(),
    )

    def __init__(self, data: Any = None, *, subjects: Subjects, versions: list[int]) -> None:
        super().__init__(data)
        groups = [
            (label, [(f"{about}:{key}", key) for key in subjects.of(about)])
            for about, label in Precedent.About.choices
            if subjects.of(about)
        ]
        for name, choices in (
            ("subject", [("", "–"), *groups]),
            ("version", [("", "–"), *((number, str(number)) for number in versions)]),
        ):
            field = self.fields[name]
            if isinstance(field, forms.ChoiceField):
                field.choices = choices

    def clean_items(self) -> list[int]:
        """The positions, ranges written out."""
        try:
            return positions_in(self.cleaned_data["items"])
        except Refused as refusal:
            raise forms.ValidationError(translated(refusal.message)) from None


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def precedents(request: PersonRequest, member: Membership) -> HttpResponse:
    """Every precedent of the campaign, and the form for another one."""
    campaign = member.campaign
    versions = list(campaign.guidelines.order_by("-version").values_list("version", flat=True))
    form = PrecedentForm(
        request.POST if request.method == "POST" else None, subjects=subjects_of(campaign), versions=versions
    )
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        about, _colon, key = given["subject"].partition(":")
        try:
            service.add_precedent(
                campaign,
                about=about,
                key=key,
                text_en=given["text_en"],
                text_zh=given["text_zh"],
                version=given["version"],
                positions=given["items"],
                by=request.user,
            )
        except (Refused, ProtocolError) as refusal:
            form.add_error(None, translated(refusal.message))
        else:
            messages.success(request, _("The precedent is stored; experts find it with the key for search."))
            return redirect("precedents", campaign.slug)
    return campaign_page(
        request,
        member,
        "annotation/precedents.html",
        {"form": form, "lines": service.all_precedents(campaign)},
        tab="guidelines",
        status=400 if form.errors else 200,
    )


@require_POST
@plain_refusals
@members_only(MANAGER)
def precedent_retire(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Experts do not find it any more."""
    service.retire_precedent(member.campaign, pk=pk, by=request.user)
    messages.success(request, _("The precedent is taken back; it stays in this list."))
    return redirect("precedents", member.campaign.slug)
