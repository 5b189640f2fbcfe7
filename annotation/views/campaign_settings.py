"""The settings of a campaign."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation.formats.errors import FormatError
from annotation.formats.lexicon import LIMIT, read_forms
from annotation.forms.base import PlainInput
from annotation.forms.campaigns import display_field
from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services.campaign_settings import FIELDS, change_settings, locked, settings_of
from annotation.services.campaigns import TITLE_LENGTH
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page

# A setting that takes more than one field.
PARTS = {"highlighted_forms": ("highlight", "lexicon")}


class SettingsForm(forms.Form):
    """The settings of this campaign's protocol; what is fixed by now is shown, and says why."""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=TITLE_LENGTH,
        help_text=gettext_lazy("What everybody sees. The address stays as it is."),
        widget=PlainInput(),
    )
    display = display_field(required=True)
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
    highlight = forms.ChoiceField(
        label=gettext_lazy("What is highlighted"),
        choices=[
            ("source", gettext_lazy("the compound in its source, and nothing in the translation")),
            (
                "translation",
                gettext_lazy(
                    "in the translation, too, every form by which the automatic check finds an atom"
                ),
            ),
        ],
        help_text=gettext_lazy(
            "Highlighting the translation hands the automatic check's verdict to the judge. Which it was is stored "
            "with every answer; answers given so cannot tell how good the check is."
        ),
        widget=forms.RadioSelect,
    )
    lexicon = forms.FileField(
        label=gettext_lazy("Lexicon of forms"),
        required=False,
        help_text=gettext_lazy(
            "A line for each atom: the atom, a tab, its Chinese forms apart by “/”. Needed to highlight translations."
        ),
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
            ("off", gettext_lazy("one key: rarely/never/ambiguous/invalid")),
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

    names_in_discussion = forms.BooleanField(
        label=gettext_lazy("In discussions, experts see each other's pseudonyms"),
        required=False,
        help_text=gettext_lazy("Otherwise they are Expert 1, Expert 2 … of each item."),
    )

    def __init__(self, data: Any = None, files: Any = None, *, campaign: Campaign) -> None:
        stored = settings_of(campaign)
        if "zero_detail" in stored:
            stored["zero_detail"] = "on" if stored["zero_detail"] else "off"
        self.stored_forms = stored.get("highlighted_forms") or {}
        stored["highlight"] = "translation" if self.stored_forms else "source"
        super().__init__(data, files, initial=stored)
        here = {part for name in FIELDS[campaign.protocol] for part in PARTS.get(name, (name,))}
        for name in set(self.fields) - here:
            del self.fields[name]
        if campaign.archived_at:
            for shown in self.fields.values():
                shown.disabled = True
        for name, reason in locked(campaign).items():
            for part in PARTS.get(name, (name,)):
                if part in self.fields:
                    self.fields[part].disabled = True
                    self.fields[part].help_text = reason

    def clean_lexicon(self) -> dict[str, list[str]] | None:
        """The forms of the file; None where none was sent."""
        file = self.cleaned_data["lexicon"]
        try:
            return read_forms(file.read(LIMIT + 1)) if file else None
        except FormatError as error:
            raise forms.ValidationError(translated(error.sentence)) from None

    def clean(self) -> dict[str, Any]:
        """The highlighting and its lexicon are one setting."""
        given = self.cleaned_data
        if "highlight" not in self.fields or self.errors:
            return given
        new, highlight = given.pop("lexicon"), given.pop("highlight")
        if highlight == "translation" and not (new or self.stored_forms):
            self.add_error("lexicon", _("Bring the lexicon whose forms are to be highlighted."))
        return {
            **given,
            "highlighted_forms": (new or self.stored_forms) if highlight == "translation" else {},
        }


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def campaign_settings(request: PersonRequest, member: Membership) -> HttpResponse:
    """What may be changed about the campaign, and what is fixed."""
    campaign = member.campaign
    sent = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = SettingsForm(*sent, campaign=campaign)
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
