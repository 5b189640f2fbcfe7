"""Checking a compositional test set."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import TABLES, UploadedTable

TEXT = forms.FileInput(attrs={"accept": ".txt,.en"})


class CompoundSetForm(forms.Form):
    """The set, and what it is checked against."""

    set = UploadedTable(
        label=_("The set"),
        help_text=_("A table with compound and source; or sources alone, one a line, such as NP.en."),
        widget=forms.FileInput(attrs={"accept": f"{TABLES},.en"}),
    )
    compounds = UploadedTable(
        label=_("Compounds"),
        required=False,
        help_text=_("Where the set holds sources alone: the compound of each line, such as NP.compound."),
    )
    training = UploadedTable(
        label=_("Training text"),
        required=False,
        help_text=_(
            "Sentences of the source language, one a line: without it nobody can say what is new in the set."
        ),
        widget=TEXT,
    )
    contexts = UploadedTable(
        label=_("Known contexts"),
        required=False,
        help_text=_("One a line, with ___ where the compound goes; beside those of the training text."),
        widget=TEXT,
    )
    inventory = UploadedTable(
        label=_("Atoms and patterns"),
        required=False,
        help_text=_("A JSON file for another list or another language; CoGnition's without one."),
        widget=forms.FileInput(attrs={"accept": ".json"}),
    )
