"""What people type into the pages of submissions and releases, checked before a service sees it."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms import UploadedTable
from annotation.models import Campaign
from annotation.protocol.splits import RULES
from scoring.models import Board, Release
from scoring.services.release_content import KEEP, NONE
from scoring.services.scores import Wish

PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class SubmissionForm(forms.Form):
    """One file of predictions or translations, and how it is to be read and measured."""

    file = UploadedTable(
        label=_("File"),
        help_text=_(
            "CSV, TSV, JSONL or XLSX. Each row names its item by id or by its texts, as in the file of items above."
        ),
        widget=forms.FileInput(attrs={"accept": ".csv,.tsv,.tab,.txt,.jsonl,.ndjson,.json,.xlsx,.xlsm"}),
    )
    system = forms.CharField(label=_("System"), max_length=100, widget=forms.TextInput(attrs=PLAIN))
    run = forms.CharField(
        label=_("Run"),
        max_length=100,
        required=False,
        help_text=_("Such as a training seed. Runs of one system are shown as mean and spread."),
        widget=forms.TextInput(attrs=PLAIN),
    )
    release = forms.ModelChoiceField(
        label=_("Against"),
        queryset=Release.objects.none(),
        required=False,
        empty_label=_("the campaign today"),
    )
    split = forms.ChoiceField(label=_("Split"), choices=[("test", _("test")), ("dev", _("dev"))])
    threshold = forms.FloatField(
        label=_("Threshold"),
        required=False,
        initial=0.5,
        help_text=_("A score at or above it calls a triple plausible."),
    )
    tune = forms.BooleanField(
        label=_("Choose the threshold on dev instead: the one with the highest F1"), required=False
    )
    column = forms.CharField(
        label=_("Column of the predictions"),
        max_length=100,
        required=False,
        help_text=_("Where it is not called prediction."),
        widget=forms.TextInput(attrs=PLAIN),
    )
    by_position = forms.BooleanField(
        label=_("Row 1 is the first item, row 2 the second, and so on"), required=False
    )

    def __init__(self, *args: Any, campaign: Campaign, manages: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if campaign.protocol == Campaign.Protocol.COMPOUND:
            for name in ("release", "split", "threshold", "tune"):
                del self.fields[name]
            self.fields["column"].label = _("Column of the translations")
            self.fields["column"].help_text = _("Where it is not called translation.")
            return
        release, split = self.fields["release"], self.fields["split"]
        assert isinstance(release, forms.ModelChoiceField)
        assert isinstance(split, forms.ChoiceField)
        release.queryset = campaign.releases.all()
        if manages:
            split.choices = [("test", _("test")), ("dev", _("dev")), ("all", _("all items"))]

    def wish(self) -> Wish:
        """What the service is asked for."""
        data = self.cleaned_data
        threshold = data.get("threshold")
        return Wish(
            system=data["system"],
            run=data["run"],
            split=data.get("split") or "all",
            threshold=None if data.get("tune") else 0.5 if threshold is None else threshold,
            column=data["column"] or None,
            by_position=data["by_position"],
            release=data.get("release"),
        )


class BoardForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """Who may submit, and how often."""

    class Meta:
        model = Board
        fields = ("audience", "quota")
        widgets = {"audience": forms.RadioSelect}
        help_texts = {
            "audience": _(
                "Viewers of a campaign can read its labels in the reports and exports. From accounts that are no "
                "members the labels stay hidden; give them the address of this page."
            ),
            "quota": _("Dev can be used without limit."),
        }


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
        initial=0,
        help_text=_("Which items fall into dev."),
    )
    by_head = forms.BooleanField(
        label=_("Triples of one head stay on one side"),
        required=False,
        help_text=_("Then nothing of a test item's head can be learnt from dev."),
    )

    def __init__(self, *args: Any, campaign: Campaign, has_splits: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
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
