"""What the addresses for programs have in common: who asks, and what the query may hold."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from annotation.models import User

LARGEST_NUMBER = 10**15 - 1


def person(request: Request) -> User:
    """Who asks; the permission classes have let nobody else in."""
    assert isinstance(request.user, User)
    return request.user


def plain_text(request: Request, name: str) -> str:
    """A text of the query, trimmed; "" where there is none. U+0000, which no stored text holds, is a 400."""
    raw = request.query_params.get(name, "").strip()
    if "\0" in raw:
        raise serializers.ValidationError({name: "The text holds U+0000."})
    return raw


def whole_number(request: Request, name: str, default: int | None = None) -> int | None:
    """A whole number of the query; anything else is a 400 that names it."""
    raw = request.query_params.get(name)
    if raw is None:
        return default
    if not (raw.isascii() and raw.isdigit() and len(raw) <= len(str(LARGEST_NUMBER))):
        raise serializers.ValidationError({name: f"This is a whole number from 0 to {LARGEST_NUMBER}."})
    return int(raw)


class KnownParameters(BasePermission):
    """Whoever may ask at all asks by parameters that the address declares (`extend_schema`); any other is a 400.

    A slip such as `?fromat=csv` would be answered with something else than was asked for. `format=json` says what every
    address gives unless told otherwise.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.query_params:
            return True
        known = _declared(request, view)
        asked = request.query_params
        usual = {"format"} if asked.getlist("format") == ["json"] else set()
        unknown = next((name for name in asked if name not in {*known, *usual}), None)
        if unknown is not None:
            there = f"there are: {', '.join(known)}" if known else "there are none"
            raise serializers.ValidationError(
                {"detail": f"There is no parameter “{unknown[:100]}” here; {there}."}
            )
        return True


def _declared(request: Request, view: Any) -> list[str]:
    """The names of the query parameters in the description of this address and method."""
    handler = getattr(view, str(request.method).lower(), None)
    kind = getattr(handler, "kwargs", {}).get("schema")
    if kind is None:
        return []
    schema = kind()
    schema.view, schema.method = view, request.method
    names: list[str] = []
    for parameter in schema.get_override_parameters():
        if not isinstance(parameter, OpenApiParameter):  # a serializer of all of them
            names += parameter().fields
        elif parameter.location == OpenApiParameter.QUERY:
            names.append(parameter.name)
    return names
