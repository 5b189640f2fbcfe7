"""What the addresses for programs have in common: who asks, and numbers in the query."""

from rest_framework import serializers
from rest_framework.request import Request

from annotation.models import User


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
    if not (raw.isascii() and raw.isdigit() and len(raw) < 16):
        raise serializers.ValidationError({name: "This is a whole number."})
    return int(raw)
