"""One place where errors become answers: a sentence, a stable code, the right status."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.views.defaults import page_not_found
from rest_framework import status
from rest_framework.exceptions import APIException, NotAuthenticated, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotation.formats.errors import FormatError
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import (
    KeptAside,
    KeyReused,
    NotAcknowledged,
    NoticeUnread,
    NotYours,
    Refused,
    SignedOut,
    Stale,
)
from annotation.services.sentences import translated

# Those that say no more than their sentence.
_REFUSALS: dict[type[Refused], tuple[int, str]] = {
    NotYours: (404, "not_found"),
    KeyReused: (422, "key_reused"),
    KeptAside: (409, "kept_aside"),
    NotAcknowledged: (409, "guidelines_unread"),
    NoticeUnread: (409, "notice_unread"),
}


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """What went wrong, for a program and for the person behind it."""
    if isinstance(error, SignedOut):
        error = NotAuthenticated()
        error.auth_header = "Bearer"  # type: ignore[attr-defined]
    for kind, (code, name) in _REFUSALS.items():
        if isinstance(error, kind):
            return _response(code, name, error.message)
    match error:
        case Stale():
            return _response(409, "stale", error.message, current=error.current)
        case Refused():
            return _response(409, "closed", translated(error.message))
        case ProtocolError() | FormatError() | ValidationError():
            return _response(400, "invalid", _invalid(error))
        case Http404():
            return _response(404, "not_found", "There is nothing here, or it is not yours to see.")
        case PermissionDenied():
            return _response(403, "forbidden", "This is not yours to do.")
    response = exception_handler(error, context)
    if response is not None and isinstance(error, APIException) and isinstance(response.data, dict):
        response.data.setdefault("code", getattr(error, "default_code", "error"))
    return response


def plain_answer(error: Exception) -> HttpResponse | None:
    """The same for a view that goes past Django REST framework; None where it is no answer but a fault."""
    response = answer(error, {})
    if response is None:
        return None
    body = JSONRenderer().render(response.data)
    kept = {name: text for name, text in response.items() if name == "WWW-Authenticate"}
    return HttpResponse(body, status=response.status_code, headers=kept, content_type="application/json")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An address that leads nowhere: JSON where programs ask, a page everywhere else."""
    answered = plain_answer(Http404()) if request.path_info.startswith("/api/") else None
    return answered or page_not_found(request, exception)


def _invalid(error: ProtocolError | FormatError | ValidationError) -> str:
    if isinstance(error, ValidationError):
        return _sentence(error.detail)
    return translated(error.sentence if isinstance(error, FormatError) else error.message)


def _sentence(found: Any) -> str:
    """What a serializer found wrong, field by field, as one text."""
    if isinstance(found, Mapping):
        return " ".join(
            _sentence(of_field) if name in _OF_NO_FIELD else f"{name}: {_sentence(of_field)}"
            for name, of_field in found.items()
        )
    if isinstance(found, list):
        return " ".join(map(_sentence, found))
    return str(found)


_OF_NO_FIELD = ("detail", "non_field_errors")


def _response(code: int, name: str, sentence: str, **more: object) -> Response:
    assert status.is_client_error(code)
    return Response({"detail": sentence, "code": name, **more}, status=code)
