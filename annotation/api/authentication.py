"""Programs sign in with a personal token: `Authorization: Bearer …`; the seat by its session."""

from dataclasses import dataclass
from functools import lru_cache

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from annotation.models import Token, User
from annotation.services.access import token_user


class TokenAuthentication(BaseAuthentication):
    """A token does what its owner may do; only its hash is stored."""

    def authenticate(self, request: Request) -> tuple[User, Token | None] | None:
        scheme, _space, raw = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() not in ("bearer", "token"):
            return None
        user = token_user(raw.strip())
        if user is None:
            raise AuthenticationFailed(_("This token is unknown, revoked, or its owner's account is closed."))
        return user, None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


@dataclass(frozen=True)
class SeatCaller:
    """Whoever a session says it is; `admit` compares with the account once it has been read."""

    pk: int
    session_hash: str

    def admit(self, password: str) -> bool:
        """A changed password ends the session here as everywhere."""
        return constant_time_compare(self.session_hash, _session_hash(password))


@lru_cache(maxsize=1000)
def _session_hash(password: str) -> str:
    return User(password=password).get_session_auth_hash()


class _Csrf(CsrfViewMiddleware):
    def _reject(self, request: HttpRequest, reason: str) -> str:
        return reason


_csrf = _Csrf(lambda request: HttpResponse())


def seat_caller(request: HttpRequest) -> SeatCaller | None:
    """Who calls by their session, without the query for the account; None where nobody does, or by a token.

    Raises PermissionDenied without the CSRF token.
    """
    if "HTTP_AUTHORIZATION" in request.META:
        return None
    session = request.session
    if SESSION_KEY not in session or HASH_SESSION_KEY not in session:
        return None
    reason = _csrf.process_view(request, HttpResponse, (), {})  # the middleware has read the cookie already
    if reason:
        raise PermissionDenied(f"CSRF Failed: {reason}")
    return SeatCaller(int(session[SESSION_KEY]), str(session[HASH_SESSION_KEY]))


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes it."""

    target_class = "annotation.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}
