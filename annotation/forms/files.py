"""Files of items and judgements."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.formats.adapters.registry import shapes_for
from annotation.forms.base import SHAPE_FILES, TABLES, PlainInput, UploadedTable
from annotation.models import Campaign


class SystemFields(forms.Form):
    """Whose translations the file holds, where it does not say."""

    system = forms.CharField(
        label=_("System"),
        max_length=100,
        required=False,
        help_text=_("For rows that do not name their system."),
        widget=PlainInput(),
    )
    run = forms.CharField(
        label=_("Run"),
        max_length=100,
        required=False,
        help_text=_("For rows that do not name their run, such as a seed."),
        widget=PlainInput(),
    )


class ItemFileForm(SystemFields):
    """One file of items."""

    file = UploadedTable(
        label=_("File"),
        help_text=_("CSV, TSV, JSONL or XLSX; UTF-8, UTF-16 with a mark, or GB18030."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )

    field_order = ["file", "system", "run"]

    def __init__(self, *args: Any, protocol: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if protocol != Campaign.Protocol.COMPOUND:
            del self.fields["system"], self.fields["run"]


class CognitionForm(SystemFields):
    """The four files of a CoGnition test set."""

    sources = UploadedTable(
        label=_("Sources"), help_text=_("One sentence a line, such as NP.en. Its name is in the items' keys.")
    )
    compounds = UploadedTable(label=_("Compounds"), help_text=_("One compound a line, such as NP.compound."))
    references = UploadedTable(
        label=_("References"), help_text=_("One reference translation a line, such as NP.zh.")
    )
    translations = UploadedTable(
        label=_("Translations"),
        help_text=_("A workbook with src, hyp and human eval, or a text file with one translation a line."),
    )
    annotator = forms.CharField(
        label=_("Whose verdicts the workbook holds"),
        max_length=150,
        required=False,
        help_text=_("Left empty: the account “released”, with which nobody can sign in."),
        widget=PlainInput(),
    )

    field_order = ["sources", "compounds", "references", "translations", "system", "run", "annotator"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["system"].required = True
        self.fields["system"].help_text = _("The system that made the translations.")


class JudgementFileForm(forms.Form):
    """A file of judgements that were made elsewhere."""

    file = UploadedTable(
        label=_("File"),
        help_text=_("With item_id or triple_id (or the texts of the items), annotator and label."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    annotator = forms.CharField(
        label=_("Expert"),
        max_length=150,
        required=False,
        help_text=_(
            "Who judged, where the file has no column annotator. Left empty: the account “released”."
        ),
        widget=PlainInput(),
    )
    column = forms.CharField(
        label=_("Column of the labels"),
        max_length=100,
        required=False,
        help_text=_("Where it is not called label."),
        widget=PlainInput(),
    )
    by_position = forms.BooleanField(
        label=_("Row 1 is the first item, row 2 the second, and so on"),
        required=False,
    )
    repeats = forms.BooleanField(
        label=_("Repeats: the same experts judged the same items a second time"),
        required=False,
        help_text=_(
            "They do not count for labels; the agreement report compares each expert with themselves."
        ),
    )


class ShapeFileForm(SystemFields):
    """A file that another program wrote: items, judgements, or both."""

    file = UploadedTable(
        label=_("File"),
        help_text=_("One file, or a zip archive where the shape is several."),
        widget=forms.FileInput(attrs={"accept": SHAPE_FILES}),
    )
    shape = forms.ChoiceField(label=_("Shape of the file"), required=False)
    annotator = forms.CharField(
        label=_("Expert"),
        max_length=150,
        required=False,
        help_text=_("Who judged, where the file does not say. Left empty: the account “released”."),
        widget=PlainInput(),
    )
    column = forms.CharField(
        label=_("Column of the labels"),
        max_length=100,
        required=False,
        help_text=_(
            "Where the file holds several choices for each item, the name of the one that is the label."
        ),
        widget=PlainInput(),
    )

    field_order = ["file", "shape", "annotator", "column", "system", "run"]

    def __init__(self, *args: Any, protocol: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["shape"]
        assert isinstance(field, forms.ChoiceField)
        titles = [(adapter.name, adapter.title) for adapter in shapes_for(protocol)]
        field.choices = [("", _("recognise it")), *titles]
        if protocol != Campaign.Protocol.COMPOUND:
            del self.fields["system"], self.fields["run"]


class ConfirmImportForm(forms.Form):
    """Storing what a preview showed."""

    seen = forms.RegexField(regex=r"\A[0-9a-f]{64}\Z")
    on_conflict = forms.ChoiceField(choices=[("refuse", ""), ("keep", ""), ("replace", "")], required=False)
