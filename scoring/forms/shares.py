"""Shares as people write them."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _


class ShareField(forms.FloatField):
    """A share between 0 and 1, or in per cent with the sign."""

    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", _("As a share or in per cent, such as 0.05 or 5 %."))
        super().__init__(**kwargs)

    def to_python(self, value: Any) -> Any:
        """The share; what bears the sign is divided by a hundred."""
        typed = value.strip() if isinstance(value, str) else value
        in_percent = isinstance(typed, str) and typed.endswith(("%", "％"))
        found = super().to_python(typed[:-1].strip() if in_percent else typed)
        if in_percent and found is None:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return found / 100 if in_percent and found is not None else found
