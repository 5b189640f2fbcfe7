"""Fields and forms that pages of several nouns use."""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _

from annotation.services.items import REASON_LENGTH
from annotation.services.uploads import LIMIT

# What a browser offers where a table is asked for.
SHAPE_FILES = ".json,.jsonl,.ndjson,.zip,.csv,.tsv,.txt,.xlsx"


TABLES = ".csv,.tsv,.tab,.txt,.jsonl,.ndjson,.json,.xlsx,.xlsm"


class PlainInput(forms.TextInput):
    """A line of text for which the browser proposes nothing."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({"autocomplete": "off"} | (attrs or {}))


class Text(forms.CharField):
    """A text with a limit in code points. The browser counts by limit.js: its own maxlength counts UTF-16 units."""

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """The limit for the script, in place of maxlength."""
        attrs = super().widget_attrs(widget)
        return {"data-limit" if name == "maxlength" else name: value for name, value in attrs.items()}

    def to_python(self, value: Any) -> str:
        """Browsers send a line break as two characters, of which the person typed one."""
        return super().to_python(value.replace("\r\n", "\n") if isinstance(value, str) else value) or ""


class OnceForm(forms.Form):
    """A form that may be sent twice and counts once: it bears a key from the moment it is shown."""

    client_key = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial={"client_key": uuid.uuid4(), **(initial or {})})

    def clean(self) -> dict[str, Any]:
        """A hidden field cannot show its own error."""
        if "client_key" not in self.cleaned_data:
            raise forms.ValidationError(_("This form is incomplete; open the page again."))
        return self.cleaned_data


class UploadedTable(forms.FileField):
    """A file of bearable size."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        file = super().clean(data, initial)
        if file is not None and file.size > LIMIT:
            raise forms.ValidationError(
                _(
                    "This file has %(size)s; at most %(limit)s are taken at once. Split it, or use the command line."
                ),
                params={"size": filesizeformat(file.size), "limit": filesizeformat(LIMIT)},
            )
        return file


class ReasonForm(forms.Form):
    """Why something is done."""

    reason = forms.CharField(label=_("Reason"), max_length=REASON_LENGTH)


class DayField(forms.DateField):
    """A day, as the browser's own calendar writes it."""

    def __init__(self, **kwargs: Any) -> None:
        day = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
        super().__init__(widget=day, input_formats=["%Y-%m-%d"], **kwargs)


class ConfirmWordForm(forms.Form):
    """A word typed to say that one means what cannot be undone."""

    word = forms.CharField(
        label=_("To confirm, type the name shown above"),
        max_length=150,
        widget=PlainInput({"spellcheck": "false"}),
    )
