"""Freezing a release."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Campaign
from annotation.protocol.splits import RULES
from scoring.forms.base import PLAIN
from scoring.services.release_content import KEEP, NONE


class ReleaseForm(forms.Form):
    """A name, and how the items are split."""

    name = forms.RegexField(
        label=_("Name"),
        regex=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,39}\Z",
        max_length=40,
        help_text=_("Such as v1 or 2.0. The file does not hold it, so that equal states give equal files."),
        error_messages={"invalid": _("Use letters without accents, digits, dots, dashes and underscores.")},
        widget=forms.TextInput(attrs=PLAIN),
    )
    split = forms.ChoiceField(label=_("Split"), widget=forms.RadioSelect)
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("Which items fall into dev. Without a new split it is not used."),
    )
    by_head = forms.BooleanField(
        label=_("Triples of one head stay on one side"),
        required=False,
        help_text=_("Then nothing of a test item's head can be learnt from dev."),
    )

    def __init__(self, *args: Any, campaign: Campaign, has_splits: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["seed"].initial = campaign.seed
        split = self.fields["split"]
        assert isinstance(split, forms.ChoiceField)
        split.choices = _split_choices(campaign, has_splits=has_splits)
        split.initial = split.choices[0][0]
        if campaign.protocol == Campaign.Protocol.COMPOUND:
            del self.fields["by_head"]


SPLIT_WORDS = {
    KEEP: _("as the items were imported"),
    "default": _("a fifth for dev, spread evenly over class, relation and label"),
    "ckbp-released": _("as in the released CKBP v2: a fifth of every cell, rounded down"),
    NONE: _("not split"),
}


def _split_choices(campaign: Campaign, *, has_splits: bool) -> Sequence[tuple[str, Any]]:
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        return [
            (NONE, SPLIT_WORDS[NONE]),
            ("default", _("a fifth of the compounds for dev, as whole compounds")),
        ]
    rules = [KEEP, *RULES, NONE] if has_splits else [*RULES, NONE]
    return [(rule, SPLIT_WORDS[rule]) for rule in rules]
