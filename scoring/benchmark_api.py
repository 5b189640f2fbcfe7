"""Downstream benchmarks for programs: what there is, what is asked, sending in, and the figures.

For managers and viewers, as on the pages; what is right is given to neither.
"""

from typing import Annotated, Any

from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from msgspec import Meta, Struct
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import schema_of
from annotation.api.campaigns import READERS
from annotation.api.parameters import person
from annotation.formats.writers import CONTENT_TYPES, content_disposition
from annotation.models import Membership
from annotation.permissions import membership_for
from annotation.tasks import wake
from scoring.bodies import MANY, not_taken, read_rows, taken
from scoring.models import Benchmark, BenchmarkSubmission
from scoring.permissions import may_send_in
from scoring.services.benchmarks import NAME_LENGTH, questions_file
from scoring.services.downstream.kept import Kept, kept_accuracies, kept_board
from scoring.services.downstream.work import take_in
from scoring.services.targets import SubmissionError

Name = Annotated[str, Meta(max_length=NAME_LENGTH, pattern=r"^[^\x00]*$")]
Cell = str | list[str]
FORMATS = ("jsonl", "csv")


class AnswersBody(Struct, forbid_unknown_fields=True):
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
    response = StreamingHttpResponse(
        questions_file(found, form, mark=False), content_type=CONTENT_TYPES[form]
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
    rows = read_rows(request, body=AnswersBody, form=AnswersFile)
    try:
        new = take_in(
            found,
            rows.data,
            file_name=rows.name,
            **rows.fields,
            by=person(request),
            replaces_others=member.role == Membership.Role.MANAGER,
        )
    except SubmissionError as error:
        return not_taken(error)
    if new.job is not None:
        wake(new.job)
    return taken(
        {**_sent(new.submission), "job": None if new.job is None else new.job.pk},
        unknown_columns=new.sent.unknown_columns,
        warnings=new.sent.warnings,
        repeated=new.stored.repeated,
    )


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
