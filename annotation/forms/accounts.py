"""Signing in, passwords, tokens."""

from contextlib import suppress
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import PlainInput, Text
from annotation.models import User
from annotation.services.access import TOKEN_NAME_LENGTH


class SignInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": _("Name and password do not match. Mind capital letters in the password."),
        "inactive": _("This account is closed."),
    }

    def clean(self) -> dict[str, Any]:
        """Every spelling of a name counts as that person's attempt, or changing its case would never lock."""
        name = self.cleaned_data.get("username")
        if name:
            with suppress(User.DoesNotExist):
                self.cleaned_data["username"] = User.objects.get_by_natural_key(name).username
        return super().clean()


class TokenForm(forms.Form):
    """The name of a new personal key."""

    name = Text(
        label=_("Name of the token"),
        max_length=TOKEN_NAME_LENGTH,
        help_text=_("What it is for, such as “laptop script”."),
        widget=PlainInput(),
    )


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A first password, or a new one for who forgot theirs: typed twice."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        plain_password_words(self)


class ChangePasswordForm(PasswordChangeForm):
    """A new password for who knows the old one."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        plain_password_words(self)
        self.fields["old_password"].label = _("Your password now")


def plain_password_words(form: forms.Form) -> None:
    """The framework's list of password rules, in one sentence."""
    form.fields["new_password1"].label = _("New password")
    form.fields["new_password1"].help_text = _(
        "At least 10 characters. Three or four unrelated words do well; birthdays, common words and runs of "
        "digits do not."
    )
    form.fields["new_password2"].label = _("The same again")
    form.fields["new_password2"].help_text = ""
