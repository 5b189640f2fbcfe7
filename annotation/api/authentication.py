"""Programs sign in with a personal token: `Authorization: Bearer …`."""

from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
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


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes it."""

    target_class = "annotation.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}
