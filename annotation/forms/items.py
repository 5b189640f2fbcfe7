"""Finding items, and what is said of one."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import Text
from annotation.models import Campaign
from annotation.services.returns import RULING_LENGTH

STATES = (
    ("", _("all")),
    ("problem", _("cannot judge or a problem")),
    ("labelled", _("with a final label")),
    ("undecided", _("undecided")),
    ("stale", _("to be updated")),
    ("tie", _("no label: tie")),
    ("cannot_judge", _("no label: cannot judge")),
    ("incomplete", _("no label: answers missing")),
    ("withdrawn", _("withdrawn")),
    ("set_aside", _("set aside for a dry run")),
)
TELL_OF_SPLITS = frozenset({"labelled", "undecided", "tie"})


class ItemFilterForm(forms.Form):
    """Which items to show; while experts judge nothing is looked up by whether their answers are split."""

    q = forms.CharField(
        label=_("Text"), max_length=200, required=False, widget=forms.TextInput(attrs={"type": "search"})
    )
    group = forms.ChoiceField(label=_("Type"), required=False)
    state = forms.ChoiceField(label=_("State"), required=False, choices=STATES)
    first = forms.IntegerField(label=_("From position"), min_value=1, max_value=2**31, required=False)
    last = forms.IntegerField(label=_("to"), min_value=1, max_value=2**31, required=False)
    after = forms.IntegerField(min_value=0, max_value=2**31, required=False, widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, groups: Sequence[str], protocol: str, splits_hidden: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        if splits_hidden:
            state = self.fields["state"]
            assert isinstance(state, forms.ChoiceField)
            state.choices = [one for one in STATES if one[0] not in TELL_OF_SPLITS]
        field = self.fields["group"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("all")), *((group, group) for group in groups)]
        if protocol == Campaign.Protocol.TRIPLE:
            field.label = _("Relation")


class RulingForm(forms.Form):
    """A manager's ruling with which an answer goes back to its expert."""

    ruling = Text(max_length=RULING_LENGTH)
