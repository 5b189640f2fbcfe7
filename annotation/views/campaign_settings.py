"""The settings of a campaign."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation.forms import PlainInput
from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services.campaign_settings import FIELDS, change_settings, locked
from annotation.services.campaigns import TITLE_LENGTH
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page


class SettingsForm(forms.Form):
    """The settings of this campaign's protocol; what is fixed by now is shown, and says why."""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=TITLE_LENGTH,
        help_text=gettext_lazy("What everybody sees. The address stays as it is."),
        widget=PlainInput(),
    )
    reference = forms.ChoiceField(
        label=gettext_lazy("Reference translation"),
        choices=[
            (
                Campaign.Reference.HIDDEN,
                gettext_lazy("hidden: experts judge from source and translation alone"),
            ),
            (
                Campaign.Reference.ON_DEMAND,
                gettext_lazy("on demand: shown while a key is held; whether it was seen is stored"),
            ),
            (Campaign.Reference.SHOWN, gettext_lazy("always shown, below each translation")),
        ],
        help_text=gettext_lazy(
            "A reference helps with unclear sources, and draws verdicts towards its own wording."
        ),
        widget=forms.RadioSelect,
    )
    reasons = forms.ChoiceField(
        label=gettext_lazy("Why a compound is wrong"),
        choices=[
            (Campaign.Reasons.OFF, gettext_lazy("not asked: a verdict is one key")),
            (
                Campaign.Reasons.OPTIONAL,
                gettext_lazy("may be given: missing, mistranslated, attached wrongly …"),
            ),
            (
                Campaign.Reasons.REQUIRED,
                gettext_lazy("must be given: takes more time for each wrong context"),
            ),
        ],
        help_text=gettext_lazy(
            "Beside the verdict and never part of it. A change holds from the next answer on; stored answers stay."
        ),
        widget=forms.RadioSelect,
    )
    zero_detail = forms.TypedChoiceField(
        label=gettext_lazy("The third answer to a triple"),
        choices=[
            ("off", gettext_lazy("one key: rarely, never, ambiguous or invalid")),
            (
                "on",
                gettext_lazy("four keys: rarely, never, ambiguous, invalid; which of them is stored apart"),
            ),
        ],
        coerce=lambda value: value == "on",
        help_text=gettext_lazy("All four mean the same to labels and agreement."),
        widget=forms.RadioSelect,
    )
    order = forms.ChoiceField(
        label=gettext_lazy("Order of triples"),
        choices=[
            (Campaign.Order.SHUFFLED, gettext_lazy("fully shuffled, for each expert anew")),
            (
                Campaign.Order.RUNS,
                gettext_lazy(
                    "in runs of about 20 of one relation: quicker to judge, but neighbours colour each other"
                ),
            ),
        ],
        widget=forms.RadioSelect,
    )

    def __init__(self, data: Any = None, *, campaign: Campaign) -> None:
        stored = {name: getattr(campaign, name) for name in FIELDS[campaign.protocol]}
        if "zero_detail" in stored:
            stored["zero_detail"] = "on" if stored["zero_detail"] else "off"
        super().__init__(data, initial=stored)
        for name in set(self.fields) - stored.keys():
            del self.fields[name]
        for name, reason in locked(campaign).items():
            if name in self.fields:
                self.fields[name].disabled = True
                self.fields[name].help_text = reason


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def campaign_settings(request: PersonRequest, member: Membership) -> HttpResponse:
    """What may be changed about the campaign, and what is fixed."""
    campaign = member.campaign
    form = SettingsForm(request.POST if request.method == "POST" else None, campaign=campaign)
    if request.method == "POST" and form.is_valid():
        try:
            changed = change_settings(campaign, form.cleaned_data, by=request.user)
        except Refused as refusal:  # an expert began, or parts were given out, while this page was open
            form.add_error(None, translated(refusal.message))
        else:
            messages.success(request, _("The settings are stored.") if changed else _("Nothing was changed."))
            return redirect("campaign_settings", campaign.slug)
    return campaign_page(
        request,
        member,
        "annotation/campaign_settings.html",
        {"form": form},
        tab="settings",
        status=400 if form.errors else 200,
    )
