"""One place where errors become answers: a sentence, a stable code, the right status."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import status
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotation.formats.errors import FormatError
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import KeptAside, KeyReused, NotYours, Refused, Stale


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """What went wrong, for a program and for the person behind it."""
    match error:
        case NotYours():
            return _response(404, "not_found", error.message)
        case KeyReused():
            return _response(422, "key_reused", error.message)
        case KeptAside():
            return _response(409, "kept_aside", error.message)
        case Stale():
            return _response(409, "stale", error.message, current=error.current)
        case Refused():
            return _response(409, "closed", error.message)
        case ProtocolError() | FormatError():
            return _response(400, "invalid", error.message)
        case Http404():
            return _response(404, "not_found", "There is nothing here, or it is not yours to see.")
        case PermissionDenied():
            return _response(403, "forbidden", "This is not yours to do.")
    response = exception_handler(error, context)
    if response is not None and isinstance(error, APIException) and isinstance(response.data, dict):
        response.data.setdefault("code", getattr(error, "default_code", "error"))
    return response


def _response(code: int, name: str, sentence: str, **more: object) -> Response:
    assert status.is_client_error(code)
    return Response({"detail": sentence, "code": name, **more}, status=code)
