"""A form that was sent with an old token: the token changes at sign-in, and a page in another tab keeps the old one."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

SECRETS = ("csrfmiddlewaretoken", "password", "old_password", "new_password1", "new_password2")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Nothing is lost: the page holds what was sent, with a new token, and offers to send it again.

    Only where the browser says that the form was ours (its Origin): what another site sent is never offered.
    Passwords and files are left out.
    """
    ours = request.headers.get("Origin") in (
        *settings.CSRF_TRUSTED_ORIGINS,
        f"{request.scheme}://{request.get_host()}",
    )
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in SECRETS
        for value in values
        if isinstance(value, str)
    ]
    again = ours and not request.FILES and fields
    return render(request, "annotation/csrf_failure.html", {"fields": fields if again else []}, status=403)
