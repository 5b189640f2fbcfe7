"""Planning how much to judge."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from scoring.forms.shares import ShareField


class PlanForm(forms.Form):
    """What every plan may be given; an empty field takes what the campaign has shown so far."""

    seconds = forms.FloatField(
        label=_("Seconds a judgement takes"), required=False, min_value=0, max_value=86_400
    )
    experts = forms.IntegerField(label=_("Experts on each item"), required=False, min_value=1, max_value=99)

    def __init__(self, data: Any = None, *, of: Sequence[str], **more: Any) -> None:
        super().__init__(data, **more)
        if "of" in self.fields:
            self.fields["of"] = forms.ChoiceField(
                label=_("Figure"), choices=[(name, PLANNED[name]) for name in of]
            )
        if "auc" in self.fields and "auc" not in of:
            del self.fields["auc"]
            self.fields["rate"].help_text = _("Empty: what was found so far, else 50.")


PLANNED = {
    "aggregate": _("Aggregate error rate"),
    "instance": _("Instance error rate"),
    "share": _("Share of plausible triples"),
    "auc": _("AUC"),
}


class FigureForm(PlanForm):
    """A plan about one figure, and what it is expected to be."""

    of = forms.CharField()
    rate = forms.FloatField(
        label=_("Expected rate in %"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("For an AUC: the share of plausible triples. Empty: what was found so far, else 50."),
    )


class PrecisionForm(FigureForm):
    """A figure to ± so many points."""

    field_order = ("of", "width", "rate", "auc", "population")
    width = forms.FloatField(label=_("± points"), initial=3, min_value=0.1, max_value=49)
    auc = forms.FloatField(
        label=_("Expected AUC"), required=False, min_value=50, max_value=99.9, help_text=_("Empty: 75.")
    )
    population = forms.IntegerField(
        label=_("How many there are"),
        required=False,
        min_value=1,
        help_text=_("Where the figure is about these and no others."),
    )


class DifferenceForm(FigureForm):
    """A difference between two systems to be found."""

    field_order = (
        "of",
        "difference",
        "rate",
        "auc",
        "correlation",
        "spread",
        "seed_sd",
        "runs",
        "comparisons",
    )
    difference = forms.FloatField(label=_("Difference in points"), initial=3, min_value=0.1, max_value=100)
    auc = forms.FloatField(
        label=_("Expected AUC of the better system"),
        required=False,
        min_value=50,
        max_value=99.9,
        help_text=_("Empty: 75."),
    )
    correlation = forms.FloatField(
        label=_("Correlation of the two systems' results"),
        required=False,
        min_value=0,
        max_value=0.99,
        help_text=_("From 0 to below 1: how far what is hard for one is hard for the other. Empty: 0.5."),
    )
    spread = forms.FloatField(
        label=_("Standard deviation of the paired difference, in points"),
        required=False,
        min_value=0.1,
        max_value=200,
        help_text=_(
            "Empty: what was found so far; else, or where a rate, AUC or correlation is given, as follows from these."
        ),
    )
    seed_sd = forms.FloatField(
        label=_("Standard deviation between runs of one system, in points"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("Empty: what was found so far, else 0. With 0 these runs are compared and no others."),
    )
    runs = forms.IntegerField(label=_("Runs of each system"), initial=1, min_value=1, max_value=1000)
    comparisons = forms.IntegerField(label=_("Pairs tested together"), initial=1, min_value=1, max_value=1000)


class SpotCheckForm(PlanForm):
    """A part to be accepted or turned down by a sample."""

    field_order = ("acceptable", "rejectable", "alpha", "beta", "lot")
    acceptable = forms.FloatField(
        label=_("Acceptable error rate in %"), initial=5, min_value=0, max_value=100
    )
    rejectable = forms.FloatField(
        label=_("Rejectable error rate in %"), initial=15, min_value=0, max_value=100
    )
    alpha = ShareField(
        label=_("Risk α to turn down a good part"), initial=0.05, min_value=0.001, max_value=0.999
    )
    beta = ShareField(label=_("Risk β to pass a bad part"), initial=0.1, min_value=0.001, max_value=0.999)
    lot = forms.IntegerField(
        label=_("Units of the part"), required=False, min_value=1, help_text=_("Empty: a large part.")
    )


PLAN_FORMS: dict[str, type[PlanForm]] = {
    "precision": PrecisionForm,
    "difference": DifferenceForm,
    "spot-check": SpotCheckForm,
}
