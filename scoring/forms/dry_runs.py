"""Opening a dry run, and going on without its gate."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import DayField, Text
from annotation.forms.people import ExpertsForm
from annotation.services.dry_runs import REASON_LENGTH, Bound, Source


class DryRunForm(ExpertsForm):
    """Who judges how many units in a dry run, what becomes of these, and what agreement it must reach."""

    n = forms.IntegerField(
        label=_("Units"),
        min_value=1,
        max_value=100_000,
    )
    source = forms.ChoiceField(
        label=_("What becomes of these units"),
        choices=[
            (Source.SET_ASIDE, _("set aside: they are no part of what the campaign evaluates")),
            (
                Source.EXPOSED,
                _("they stay and are judged again in the main round, but count in no agreement"),
            ),
        ],
        widget=forms.RadioSelect,
    )
    threshold = forms.FloatField(
        label=_("Gate: the agreement to reach"),
        min_value=-1,
        max_value=1,
        required=False,
        help_text=_("Such as 0.6. Left empty: no gate, the main round may begin once the dry run is closed."),
    )
    coefficient = forms.ChoiceField(label=_("Gate: by which figure"), choices=())
    bound = forms.ChoiceField(
        label=_("Gate: what has to reach it"),
        choices=[
            (Bound.VALUE, _("the figure itself")),
            (Bound.LOWER, _("the lower end of its 95 % interval: stricter, the more so with few units")),
        ],
        widget=forms.RadioSelect,
    )
    due_on = DayField(label=_("Due on"), required=False)
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("Which units are drawn. The same seed draws the same ones."),
    )

    def __init__(self, *args: Any, figures: Mapping[str, Any], compound: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["n"].help_text = (
            _("Drawn at random, at least one of each pattern. Usual are 24 compounds.")
            if compound
            else _("Drawn at random, at least one of each relation. Usual are 60 triples.")
        )
        coefficient = self.fields["coefficient"]
        assert isinstance(coefficient, forms.ChoiceField)
        coefficient.choices = list(figures.items())


class OverrideForm(forms.Form):
    """Why a campaign goes on although its dry run did not pass."""

    reason = Text(
        label=_("Why you go on"),
        max_length=REASON_LENGTH,
        help_text=_("It is kept with the dry run and written down."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )
