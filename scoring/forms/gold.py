"""Items whose label is known."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import TABLES, Text, UploadedTable
from annotation.services.gold import NOTE_LENGTH


class GoldForm(forms.Form):
    """An item whose label is known."""

    position = forms.IntegerField(
        label=_("Position of the item"),
        min_value=1,
        max_value=2**31 - 1,
        help_text=_("As the page of items shows it."),
    )
    label = forms.ChoiceField(label=_("Its label"), choices=())
    note = Text(
        label=_("Where that is known from"),
        required=False,
        max_length=NOTE_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, labels: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["label"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(labels)


class GoldFileForm(forms.Form):
    """A table of such items."""

    file = UploadedTable(
        label=_("Table"),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )

    def __init__(self, *args: Any, compound: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = (
            _("Columns item_id, label, and note if you like.")
            if compound
            else _("Columns triple_id (or head, relation, tail), label, and note if you like.")
        )
