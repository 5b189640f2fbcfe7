"""Who is meant: a page that was left open must not act for the next person who signs in to the same browser."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request


class OtherUser(PermissionDenied):
    """The request names somebody who is not signed in here."""

    default_code = "other_user"
    default_detail = _("Somebody else is signed in to this browser now.")


class MeantForCaller(BasePermission):
    """`X-Assay-Expert`, where it is sent, is the account that asks."""

    def has_permission(self, request: Request, view: Any) -> bool:
        named = request.headers.get("X-Assay-Expert")
        if named is not None and named != str(getattr(request.user, "pk", "")):
            raise OtherUser
        return True
