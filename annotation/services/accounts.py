"""Opening an account again that was closed."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import User
from annotation.services.errors import Refused
from annotation.services.people import audit, may_administer


def reopen(user: User, by: User) -> None:
    """Let somebody sign in again with the password they had. Keys and links that ended stay ended."""
    if not may_administer(by, user):
        raise Refused(_("Only who manages all campaigns of this person may do this."))
    if user.erased_at is not None:
        raise Refused(_("This account was erased; its person needs a new one."))
    with transaction.atomic():
        if not User.objects.filter(pk=user.pk, is_active=False, erased_at__isnull=True).update(
            is_active=True
        ):
            return
        audit(None, by, "account reopened", {"person": user.username})
    user.is_active = True
