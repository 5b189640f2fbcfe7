"""What is recorded about somebody's work: read and confirmed once before the first unit, open ever after."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.models import Membership
from annotation.permissions import PersonRequest, signed_in
from annotation.services.notice import has_to_read, managers_of, mark_read
from annotation.views.accounts import safe_page

P = ParamSpec("P")
MemberView = Callable[Concatenate[PersonRequest, Membership, P], HttpResponseBase]


def after_notice(view: MemberView[P]) -> MemberView[P]:
    """A page that opens once its person has read what is recorded; below `members_only`.

    Only pages wait: what a script or a program asks, and a form that was filled in, is answered.
    """

    @wraps(view)
    def checked(
        request: PersonRequest, member: Membership, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        asks_for_page = request.method in ("GET", "HEAD") and request.accepts("text/html")
        if asks_for_page and request.user.notice_read_at is None:
            return redirect(f"{reverse('recorded')}?{urlencode({'next': request.get_full_path()})}")
        return view(request, member, *args, **kwargs)

    return checked


@require_http_methods(["GET", "HEAD", "POST"])
def recorded(request: HttpRequest) -> HttpResponse:
    """What is recorded and what is not, who sees it, for how long, and whom to ask."""
    user = signed_in(request).user
    if request.method == "POST":
        mark_read(user)
        return redirect(safe_page(request, request.POST.get("next", "")))
    return render(
        request,
        "annotation/recorded.html",
        {
            "next": safe_page(request, request.GET.get("next", "")),
            "back": safe_page(request, request.GET.get("next") or reverse("account")),
            "managers": managers_of(user),
            "asks": has_to_read(user),
        },
    )
