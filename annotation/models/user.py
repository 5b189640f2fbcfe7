"""A person with an account."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.protocol.text import fold_name


class UserManager(BaseUserManager["User"]):
    """Finds people by name whatever its case or width: Mei, mei and ｍｅｉ are one person."""

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(username_folded=fold_name(username or ""))

    def create_user(self, username: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(username=username, username_folded=fold_name(username), **fields)
        user.set_password(password)  # None: unusable, until an invitation is taken up
        user.save(using=self._db)
        return user

    def create_superuser(self, username: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(username, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """An account. What a person may do is said by their memberships, not here."""

    username = models.CharField(_("name"), max_length=150, unique=True)
    username_folded = models.CharField(max_length=200, unique=True, editable=False)
    email = models.EmailField(_("email"), blank=True)
    is_active = models.BooleanField(_("active"), default=True)
    is_staff = models.BooleanField(_("may open the admin"), default=False)
    notice_read_at = models.DateTimeField(
        null=True, editable=False
    )  # of what is recorded, by whom seen, how long
    erased_at = models.DateTimeField(null=True, editable=False)  # name and address are gone, the work stays
    date_joined = models.DateTimeField(default=timezone.now, editable=False)

    objects = UserManager()

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS = []

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")

    def __str__(self) -> str:
        return self.username

    def natural_key(self) -> tuple[str]:
        return (self.username,)

    def clean(self) -> None:
        super().clean()
        self.username_folded = fold_name(self.username)
