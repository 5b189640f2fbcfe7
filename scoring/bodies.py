"""What programs send in by file or by rows, and what they are answered: one reading for submissions and benchmarks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from django.core.files.uploadedfile import UploadedFile
from msgspec import Struct
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import read_body
from annotation.formats.errors import RowIssue
from annotation.services.sentences import translated
from annotation.services.uploads import LIMIT
from scoring.services.targets import SubmissionError

MANY = 1000  # of what was sent in, in one answer
NAMED = 500  # of what is wrong, in one answer; the rest is counted


@dataclass(frozen=True)
class SentRows:
    """The name and bytes of a file of rows, and what was said beside it."""

    name: str
    data: bytes
    fields: dict[str, Any]


def read_rows(request: Request, *, body: type[Struct], form: type[serializers.Serializer[Any]]) -> SentRows:
    """What was sent in either kind of body: a structure with `rows`, or a form with a `file` of them."""
    kind, mark, rest = (request.content_type or "").partition(";")
    if kind.lower().startswith("multipart/"):
        request.META["CONTENT_TYPE"] = f"{kind.lower()}{mark}{rest}"  # Django's parser compares case
        sent = form(data=request.data)
        sent.is_valid(raise_exception=True)
        fields = dict(sent.validated_data)
        file = fields.pop("file")
        refuse_long("file", file)
        return SentRows(str(file.name), file.read(), fields)
    fields = msgspec.structs.asdict(read_body(request._request, body))
    rows = fields.pop("rows")
    return SentRows("rows.jsonl", b"\n".join(msgspec.json.encode(row) for row in rows), fields)


def refuse_long(name: str, file: UploadedFile) -> None:
    """Raise a ValidationError under the field's name where a file is longer than one may be."""
    if (file.size or 0) > LIMIT:
        raise serializers.ValidationError({name: f"At most {LIMIT} bytes are taken at once."})


def taken(
    document: dict[str, Any], *, unknown_columns: Iterable[str], warnings: Iterable[RowIssue], repeated: bool
) -> Response:
    """What was stored, with what is odd in its file; 200 where the same had been sent in before."""
    beside = {
        "unknown_columns": list(unknown_columns),
        "file_warnings": [_issue(warning) for warning in warnings],
    }
    return Response(document | beside, status=200 if repeated else 201)


def not_taken(error: SubmissionError) -> Response:
    """Why nothing was stored, row by row; `more_errors` counts those beyond the first."""
    document = {
        "detail": error.message,
        "code": "invalid",
        "errors": [_issue(issue) for issue in error.issues[:NAMED]],
        "more_errors": max(len(error.issues) - NAMED, 0),
    }
    return Response(document, status=400)


def _issue(issue: RowIssue) -> dict[str, Any]:
    return {"line": issue.line, "column": issue.column, "message": translated(issue.message)}
