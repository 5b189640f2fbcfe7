"""Downstream benchmarks for programs: what there is, what is asked, sending in, and the figures.

For managers and viewers, as on the pages; what is right is given to neither.
"""

from typing import Annotated, Any

import msgspec
from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from msgspec import Meta, Struct
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import read_body, schema_of
from annotation.api.campaigns import READERS
from annotation.api.parameters import person
from annotation.formats.writers import CONTENT_TYPES, content_disposition, write_table
from annotation.models import Membership
from annotation.permissions import membership_for
from annotation.services.uploads import LIMIT
from annotation.tasks import wake
from scoring.api import issue_of
from scoring.models import Benchmark, BenchmarkSubmission
from scoring.permissions import may_send_in
from scoring.services.benchmarks import NAME_LENGTH, open_questions
from scoring.services.downstream.kept import Kept, kept_accuracies, kept_board
from scoring.services.downstream.work import Taken, take_in
from scoring.services.targets import SubmissionError

Name = Annotated[str, Meta(max_length=NAME_LENGTH)]
Cell = str | list[str]
FORMATS = ("jsonl", "csv")
MANY = 1000  # submissions in one answer


class AnswersBody(Struct):
    """What a model said: a row for each hypothesis or choice, its columns as in a file."""

    system: Name
    rows: Annotated[list[dict[str, Cell]], Meta(min_length=1)]
    run: Name = ""
    human: bool = False


class AnswersFile(serializers.Serializer[Any]):
    """The same with a file of the rows."""

    file = serializers.FileField()
    system = serializers.CharField(max_length=NAME_LENGTH)
    run = serializers.CharField(max_length=NAME_LENGTH, default="", allow_blank=True)
    human = serializers.BooleanField(default=False)


@extend_schema(
    operation_id="v1_campaigns_benchmarks_list", responses={200: OpenApiTypes.OBJECT}, methods=["GET"]
)
@api_view(["GET"])
def benchmarks(request: Request, slug: str) -> Response:
    """Every benchmark of the campaign, and the accuracies over those of choices."""
    campaign = membership_for(person(request), slug, *READERS).campaign
    found = [_short(benchmark) for benchmark in campaign.benchmarks.all()]
    return Response({"results": found, "accuracies": _kept(kept_accuracies(campaign))})


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def benchmark(request: Request, slug: str, pk: int) -> Response:
    """One benchmark with its board: figures, intervals, groups and the differences of models."""
    found = _find(membership_for(person(request), slug, *READERS), pk)
    return Response({**_short(found), "board": _kept(kept_board(found))})


@extend_schema(
    operation_id="v1_campaigns_benchmarks_questions_retrieve",
    parameters=[OpenApiParameter("format", str, enum=FORMATS)],
    responses={(200, "application/x-ndjson"): OpenApiTypes.STR, (200, "text/csv"): OpenApiTypes.STR},
)
@api_view(["GET"])
def questions(request: Request, slug: str, pk: int) -> HttpResponseBase:
    """What a model is to answer: no references, no gold options."""
    found = _find(membership_for(person(request), slug, *READERS), pk)
    form = request.query_params.get("format", FORMATS[0])
    if form not in FORMATS:
        raise serializers.ValidationError({"format": f"There is {', '.join(FORMATS)}."})
    columns, rows = open_questions(found)
    response = StreamingHttpResponse(
        write_table(form, list(columns), rows, mark=False), content_type=CONTENT_TYPES[form]
    )
    name = f"{slug}-benchmark-{found.pk}-questions.{form}"
    response.headers["Content-Disposition"] = content_disposition(name)
    return response


@extend_schema(
    request={"application/json": schema_of(AnswersBody), "multipart/form-data": AnswersFile},
    responses={200: OpenApiTypes.OBJECT, 201: OpenApiTypes.OBJECT},
    methods=["POST"],
)
@extend_schema(
    operation_id="v1_campaigns_benchmarks_submissions_list",
    responses={200: OpenApiTypes.OBJECT},
    methods=["GET"],
)
@api_view(["GET", "POST"])
@parser_classes([JSONParser, MultiPartParser])
def submissions(request: Request, slug: str, pk: int) -> Response:
    """What was sent in; something new, checked and stored whole or not at all. The worker scores it."""
    member = membership_for(person(request), slug, *READERS)
    found = _find(member, pk)
    if request.method == "GET":
        sent = found.submissions.defer("statistics")[:MANY]
        return Response({"results": [_sent(submission) for submission in sent]})
    if not may_send_in(member):
        raise Http404
    name, data, names = _body(request)
    try:
        taken = take_in(
            found,
            data,
            file_name=name,
            **names,
            by=person(request),
            replaces_others=member.role == Membership.Role.MANAGER,
        )
    except SubmissionError as error:
        issues = [issue_of(issue) for issue in error.issues]
        return Response({"detail": error.message, "code": "invalid", "errors": issues}, status=400)
    return _taken(taken)


def _body(request: Request) -> tuple[str, bytes, dict[str, Any]]:
    """The file's name and bytes, and under which names it is sent in, from either kind of body."""
    if (request.content_type or "").startswith("multipart/"):
        sent = AnswersFile(data=request.data)
        sent.is_valid(raise_exception=True)
        fields = dict(sent.validated_data)
        file = fields.pop("file")
        if file.size > LIMIT:
            raise serializers.ValidationError({"file": f"At most {LIMIT} bytes are taken at once."})
        return str(file.name), file.read(), fields
    body = read_body(request._request, AnswersBody)
    data = b"\n".join(msgspec.json.encode(row) for row in body.rows)
    return "rows.jsonl", data, {"system": body.system, "run": body.run, "human": body.human}


def _taken(taken: Taken) -> Response:
    if taken.job is not None:
        wake(taken.job)
    document = {
        **_sent(taken.submission),
        "job": None if taken.job is None else taken.job.pk,
        "unknown_columns": list(taken.sent.unknown_columns),
        "file_warnings": [issue_of(warning) for warning in taken.sent.warnings],
    }
    return Response(document, status=200 if taken.stored.repeated else 201)


def _find(member: Membership, pk: int) -> Benchmark:
    found = Benchmark.objects.filter(campaign=member.campaign, pk=pk).select_related("campaign").first()
    if found is None:
        raise Http404
    return found


def _short(found: Benchmark) -> dict[str, Any]:
    return {
        "id": found.pk,
        "name": found.name,
        "kind": found.kind,
        "hypotheses": found.hypotheses,
        "cased": found.cased,
        "file": found.file_name,
        "sha256": found.sha256,
    }


def _sent(submission: BenchmarkSubmission) -> dict[str, Any]:
    return {
        "id": submission.pk,
        "system": submission.system,
        "run": submission.run,
        "human": submission.human,
        "file": submission.file_name,
        "sha256": submission.sha256,
        "scored_at": None if submission.scored_at is None else submission.scored_at.isoformat(),
    }


def _kept(kept: Kept) -> dict[str, Any]:
    """The last document there is, and whether it is of what was sent in by now."""
    return {
        "document": kept.document,
        "computed_at": None if kept.computed_at is None else kept.computed_at.isoformat(),
        "is_current": kept.is_current,
        "waits": kept.waits,
        "failed": kept.failed,
    }
