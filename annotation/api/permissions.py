"""Who is meant: a page that was left open must not act for the next person who signs in to the same browser."""

from typing import Any

from django.http import HttpRequest
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
        refuse_other_user(request._request, getattr(request.user, "pk", None))
        return True


def refuse_other_user(request: HttpRequest, caller: int | None) -> None:
    """Raises OtherUser where the request was meant for another account than the caller's."""
    named = request.META.get("HTTP_X_ASSAY_EXPERT")
    if named is not None and named != str(caller):
        raise OtherUser
