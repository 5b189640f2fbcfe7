"""Files that a page measures with: read, and not kept."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import UploadedTable


class EstimateForm(forms.Form):
    """An automatic judge: its verdicts in a file, or the word list of the compound check."""

    judge = UploadedTable(
        label=_("A judge's verdicts"),
        required=False,
        help_text=_(
            "CSV, TSV, JSONL or XLSX with item_id (or compound and context_no) and label, 1 for correct and 0 for "
            "wrong, of every item. It is read and not kept."
        ),
    )
    lexicon = UploadedTable(
        label=_("Or the word list of the compound check"),
        required=False,
        help_text=_("A line for each atom: the atom, a tab, its translations apart by “/”."),
    )
    compatible = forms.BooleanField(label=_("The published check with its quirks"), required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and bool(data.get("judge")) == bool(data.get("lexicon")):
            raise forms.ValidationError(_("Choose one file: a judge's verdicts or a word list."))
        return data


class CheckForm(EstimateForm):
    """The same, the word list first."""

    field_order = ("lexicon", "compatible", "judge")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["lexicon"].label = _("Word list")
        self.fields["lexicon"].help_text = _(
            "A line for each atom: the atom, a tab, its translations apart by “/”. It is read and not kept."
        )
        self.fields["judge"].label = _("Or another judge's verdicts")


class TextsForm(forms.Form):
    """A test set that is none of the campaign's: one table, or two texts line by line."""

    texts = UploadedTable(
        label=_("Translations and references"),
        required=False,
        help_text=_(
            "CSV, TSV, JSONL or XLSX with the columns translation and reference. It is read and not kept."
        ),
    )
    hypotheses = UploadedTable(
        label=_("Or a text of the translations"),
        required=False,
        help_text=_("One translation a line; an empty line is an empty translation."),
    )
    references = UploadedTable(
        label=_("and a text of the references"),
        required=False,
        help_text=_("The reference of each translation on the same line."),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        sent = tuple(bool(data.get(name)) for name in ("texts", "hypotheses", "references"))
        if not self.errors and sent not in ((True, False, False), (False, True, True)):
            raise forms.ValidationError(
                _("Choose one table, or a text of translations and one of references.")
            )
        return data


class TrainingForm(forms.Form):
    """The nodes of a training set, for what a table of triples says of them."""

    training = UploadedTable(
        label=_("Nodes of a training set"),
        help_text=_(
            "A text with one node a line, or triples (CSV, TSV, JSONL or XLSX with the columns head and tail). It is "
            "read and not kept."
        ),
    )
    derive_classes = forms.BooleanField(
        label=_("Derive ID and OOD from these nodes, beside the classes that are stored"), required=False
    )
