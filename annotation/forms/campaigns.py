"""Opening a campaign."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import PlainInput
from annotation.models import Campaign
from annotation.services.campaigns import MAX_EXPERTS, SLUG, TITLE_LENGTH

RESERVED_SLUGS = ("new",)  # addresses that mean something else


def display_field(*, required: bool) -> forms.ChoiceField:
    """How the translations of a compound are shown."""
    return forms.ChoiceField(
        label=_("Display of translations"),
        choices=[
            (
                Campaign.Display.ALONE,
                _("alone: one translation of each sentence on a screen; the others come up far apart"),
            ),
            (
                Campaign.Display.SIDE_BY_SIDE,
                _("side by side: one sentence at a time, all its different translations below it"),
            ),
        ],
        required=required,
        initial=Campaign.Display.ALONE,
        help_text=_(
            "For compounds that several systems or runs translated. Alone is the published way; side by side is "
            "quicker, and translations colour each other. Stored with every answer; fixed with the first answer of the "
            "main round."
        ),
        widget=forms.RadioSelect,
    )


class CampaignForm(forms.Form):
    """A new campaign."""

    title = forms.CharField(
        label=_("Title"),
        max_length=TITLE_LENGTH,
        help_text=_("What experts see, such as “CKBP v2, Chinese”."),
        widget=PlainInput(),
    )
    slug = forms.RegexField(
        label=_("Address"),
        regex=rf"\A{SLUG.pattern}\Z",
        max_length=80,
        help_text=_(
            "Stands in links and commands: letters, digits, and single hyphens or underscores between them, such "
            "as ckbp-zh."
        ),
        error_messages={
            "invalid": _(
                "Use letters, digits, and single hyphens or underscores between them, such as ckbp-zh."
            )
        },
        widget=PlainInput({"spellcheck": "false"}),
    )
    protocol = forms.ChoiceField(
        label=_("What is judged"),
        choices=[
            (Campaign.Protocol.COMPOUND, _("Compounds: is each of five translations correct?")),
            (Campaign.Protocol.TRIPLE, _("Triples: does the sentence usually hold?")),
        ],
        widget=forms.RadioSelect,
    )
    annotators_per_item = forms.IntegerField(
        label=_("Experts per item"),
        min_value=1,
        max_value=MAX_EXPERTS,
        required=False,
        help_text=_(
            "How many experts judge each item on their own. Left empty: 1 for compounds, 2 for triples."
        ),
    )
    display = display_field(required=False)

    def clean_display(self) -> str:
        """Triples have no choice: what the field says for compounds does not concern them."""
        compound = self.cleaned_data.get("protocol") == Campaign.Protocol.COMPOUND
        return (
            str(self.cleaned_data["display"])
            if compound and self.cleaned_data["display"]
            else Campaign.Display.ALONE
        )

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug in RESERVED_SLUGS:
            raise forms.ValidationError(_("This address is taken by a page of the site; choose another one."))
        return slug


class SetCampaignForm(CampaignForm):
    """A campaign for an evaluation set, which is one of triples."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for fixed in ("protocol", "display"):
            del self.fields[fixed]
        self.fields["annotators_per_item"].help_text = _(
            "How many experts judge each item on their own. Left empty: 2."
        )

    def clean(self) -> dict[str, Any]:
        return {
            **self.cleaned_data,
            "protocol": Campaign.Protocol.TRIPLE,
            "display": Campaign.Display.ALONE,
        }
