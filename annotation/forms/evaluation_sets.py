"""Building an evaluation set from a pool."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import TABLES, PlainInput, UploadedTable
from annotation.protocol.candidates import FILTERS, KEEPING, LIMITED, THRESHOLD
from annotation.protocol.diversity import SOFT_LIMIT
from annotation.protocol.triple import GENERAL_RELATIONS

FILTER_WORDS = [
    ("self-bleu", _("self-BLEU: the most novel stay")),
    ("soft-uniqueness", _("soft uniqueness: each stays that is unlike those before it")),
    ("g-daug", _("new words: each next one adds the most of them")),
    ("none", _("none")),
]


class EvaluationSetForm(forms.Form):
    """What an evaluation set is built from, and how. Each half needs its file and its number."""

    pool = UploadedTable(
        label=_("Annotated pool"),
        required=False,
        help_text=_("With head, relation and tail; class, label and triple_id where it has them."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    n = forms.IntegerField(
        label=_("Items to draw from it"),
        min_value=1,
        required=False,
        help_text=_("Each relation gets its share, such as 2498 of CKBP v1."),
    )
    minimum = forms.IntegerField(
        label=_("At least, of each relation"), min_value=0, max_value=1000, required=False, initial=0
    )
    leave_out = forms.CharField(
        label=_("Relations to leave out"),
        required=False,
        max_length=2000,
        initial=", ".join(GENERAL_RELATIONS),
        help_text=_("Separated by commas. They are left out of the candidates too."),
        widget=PlainInput({"spellcheck": "false"}),
    )
    candidates = UploadedTable(
        label=_("Candidates with scores"),
        required=False,
        help_text=_("The same columns, and score: how plausible a model finds each."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    adversarial_n = forms.IntegerField(
        label=_("Candidates to choose"), min_value=1, required=False, help_text=_("They get the class adv.")
    )
    threshold = forms.FloatField(label=_("Score at least"), initial=THRESHOLD)
    training = UploadedTable(
        label=_("Training data"),
        required=False,
        help_text=_("Triples that no candidate may be one of: head, relation and tail."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    filter = forms.ChoiceField(label=_("Diversity filter"), choices=FILTER_WORDS)
    keep = forms.IntegerField(
        label=_("Candidates that pass the filter"),
        min_value=1,
        required=False,
        help_text=_(
            "For self-BLEU and new words. Left empty: by self-BLEU half of those that come to the filter, but at least "
            "as many as are chosen; by new words as many as are chosen."
        ),
    )
    below = forms.FloatField(
        label=_("Limit of soft uniqueness"),
        min_value=0.01,
        max_value=1,
        required=False,
        help_text=format_lazy(
            _("BLEU against those that were kept before must stay below it. Left empty: {limit}."),
            limit=SOFT_LIMIT,
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("The same files, settings and seed make the same set."),
    )

    def clean_leave_out(self) -> list[str]:
        names = re.split(r"[,，、;；\n\r]+", self.cleaned_data["leave_out"])
        return list(dict.fromkeys(name.strip() for name in names if name.strip()))

    def clean(self) -> dict[str, Any]:
        """Each half as a whole, and one of them at least."""
        data = super().clean() or self.cleaned_data
        for file, number in (("pool", "n"), ("candidates", "adversarial_n")):
            if file in data and number in data and bool(data[file]) != bool(data[number]):
                missing = number if data[file] else file
                self.add_error(
                    missing, _("A file and the number of its items go together: give both or neither.")
                )
        if not self.errors and not data["pool"] and not data["candidates"]:
            raise forms.ValidationError(_("Give a pool to draw from, or candidates to choose from, or both."))
        if not self.errors and data["training"] and not data["candidates"]:
            self.add_error(
                "training", _("Training data only matter for candidates; give a file of these too.")
            )
        self._refuse_without_effect(data)
        return data

    def _refuse_without_effect(self, data: Mapping[str, Any]) -> None:
        """Who changes what changes nothing meant something else."""
        if data.get("minimum") and not data.get("pool"):
            self.add_error("minimum", _("This only matters for a pool; give one, or leave this empty."))
        if "candidates" in data and not data["candidates"]:
            changed = {
                "threshold": data.get("threshold") not in (None, THRESHOLD),
                "filter": data.get("filter") not in (None, FILTERS[0]),
                "keep": data.get("keep") is not None,
                "below": data.get("below") is not None,
            }
            for name, is_changed in changed.items():
                if is_changed:
                    self.add_error(
                        name, _("This only matters for candidates; give some, or leave it as it was.")
                    )
            return
        for name, filters in (("keep", KEEPING), ("below", LIMITED)):
            if data.get(name) is not None and data.get("filter") and data["filter"] not in filters:
                self.add_error(name, _("The filter chosen does not use this; leave it empty."))
