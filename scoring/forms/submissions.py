"""Submitting, and who may."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import UploadedTable
from annotation.models import Campaign
from scoring.forms.base import PLAIN
from scoring.models import Board, Release
from scoring.services.scores import Wish


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
