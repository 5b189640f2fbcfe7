"""Rules that hold for every page: what it may load, that it is private, and for people who have signed in."""

from collections.abc import Callable
from typing import Any

from csp.utils import build_policy
from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def content_policy(get_response: GetResponse) -> GetResponse:
    """django-csp's header. It is the same for every page here, so it is put into words once."""
    policy = build_policy()

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers["Content-Security-Policy"] = policy
        return response

    return middleware


def private_responses(get_response: GetResponse) -> GetResponse:
    """Nothing a person sees is kept by their browser or a proxy: Back after signing out shows no item."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not request.path.startswith(settings.STATIC_URL):
            response.headers["Cache-Control"] = "no-store"
            patch_vary_headers(response, ["Cookie"])
        return response

    return middleware


def storable_text(get_response: GetResponse) -> GetResponse:
    """Nobody types U+0000 and PostgreSQL cannot store it: a page's address or form that brings it in is damaged.

    The REST interface says which of its parameters holds it.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith("/api/") and _holds_nul(request):
            raise BadRequest
        return get_response(request)

    return middleware


def _holds_nul(request: HttpRequest) -> bool:
    if "%00" in request.META.get("QUERY_STRING", "") or "\0" in request.path:
        return True
    return request.content_type == "application/x-www-form-urlencoded" and b"%00" in request.body


class SignInRequired(LoginRequiredMiddleware):
    """Django's own, except that a view which is open, or signs people in by itself, costs no query here."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)
