"""A campaign's reports, submissions and releases for programs.

Reports and releases are for managers and viewers, submissions for whom the board lets in; 404 to everybody else.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal

from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
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
from annotation.formats.errors import FormatError
from annotation.formats.writers import CONTENT_TYPES, content_disposition
from annotation.models import Campaign, Membership, Round, User
from annotation.permissions import campaign_for
from annotation.protocol.errors import ProtocolError
from annotation.protocol.labels import RULE_NAMES
from annotation.services.errors import Refused
from annotation.services.readings import record_names
from annotation.services.sentences import translated
from scoring.bodies import MANY, not_taken, read_rows, refuse_long, taken
from scoring.figures import FORMS, draw
from scoring.models import Release, Submission
from scoring.permissions import Submitter, submitter_for
from scoring.records import as_csv, as_jsonl
from scoring.services.boards import board_document, document_for, leaderboard, over_runs
from scoring.services.files import NamedFile
from scoring.services.human_line import human_line
from scoring.services.kept_reports import document_now
from scoring.services.measure import MANAGERS_ONLY, REPORTS
from scoring.services.options import WITH_NAMES, Options
from scoring.services.peeks import record_peek
from scoring.services.pictures import curve_of, picture_of
from scoring.services.plans import A_DAY, GOALS, plan
from scoring.services.plans import Wish as PlanWish
from scoring.services.scores import SPLITS, Wish
from scoring.services.submissions import submit
from scoring.services.targets import SubmissionError
from scoring.stats.aggregation import MODELS
from scoring.stats.artifacts import RULES as ARTIFACT_RULES
from scoring.stats.classification import DEFAULT_THRESHOLD
from scoring.views.releases import archive_response

LABELS = ("imported", "final")
WHAT_IF = "what-if"
TEXTS = ("yes", "no")
WITH_FILES = ("compound-check", "estimate", "statistics", "bleu")
FORMATS = ("json", "csv", "jsonl", *FORMS)


def _choice(request: Request, name: str, choices: tuple[str, ...], default: str | None = None) -> str | None:
    value = request.query_params.get(name, default)
    if value is not None and value not in choices:
        raise serializers.ValidationError({name: f"There is {', '.join(choices)}."})
    return value


def _number(request: Request) -> int | None:
    """The number of a round, where one is named."""
    value = request.query_params.get("number")
    if value is not None and not (value.isascii() and value.isdecimal() and len(value) < 6):
        raise serializers.ValidationError({"number": "A round's number is a whole number from 1."})
    return None if value is None else int(value)


class ReportFiles(serializers.Serializer[Any]):
    """What a report measures with, where it needs a file: read, and not kept."""

    lexicon = serializers.FileField(required=False)
    judge = serializers.FileField(required=False)
    training = serializers.FileField(required=False)
    texts = serializers.FileField(required=False)
    hypotheses = serializers.FileField(required=False)
    references = serializers.FileField(required=False)
    derive_classes = serializers.BooleanField(default=False)
    compatible = serializers.BooleanField(default=False)
    column = serializers.CharField(default=None, max_length=100)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for name, file in attrs.items():
            if isinstance(file, UploadedFile):
                refuse_long(name, file)
        return attrs


QUERY = [
    OpenApiParameter(
        "kind",
        str,
        OpenApiParameter.PATH,
        enum=tuple(REPORTS),
        description=f"For managers only: {', '.join(sorted(MANAGERS_ONLY))}.",
    ),
    OpenApiParameter("system", str),
    OpenApiParameter("run", str),
    OpenApiParameter("round", str, enum=Round.Kind.values),
    OpenApiParameter(
        "number",
        int,
        description="Which of several rounds of this kind; of dry runs and of the spot checks the last.",
    ),
    OpenApiParameter("labels", str, enum=LABELS),
    OpenApiParameter(
        "rule",
        str,
        enum=(*ARTIFACT_RULES, *RULE_NAMES),
        description="Of the artifacts, or of the what-if: a label rule.",
    ),
    OpenApiParameter("model", str, enum=tuple(MODELS), description="Of the what-if: a label model instead."),
    OpenApiParameter("a", str, description="Of the comparison: the first of two runs, as “system / run”."),
    OpenApiParameter("b", str, description="The second of them."),
    OpenApiParameter(
        "among", str, many=True, description="Of the comparison: the systems; all, if left out."
    ),
    OpenApiParameter(
        "release", str, description="Of the comparison of triples: what was submitted against it."
    ),
    OpenApiParameter("split", str, enum=SPLITS),
    OpenApiParameter(
        "texts", str, enum=TEXTS, description="yes compares BLEU and chrF too, which takes long."
    ),
    OpenApiParameter("format", str, enum=FORMATS),
]


@extend_schema(parameters=QUERY, responses={200: OpenApiTypes.OBJECT}, methods=["GET"])
@extend_schema(
    parameters=QUERY,
    request={"multipart/form-data": ReportFiles},
    responses={200: OpenApiTypes.OBJECT},
    methods=["POST"],
)
@api_view(["GET", "POST"])
@parser_classes([MultiPartParser])
def report_of(request: Request, slug: str, kind: str) -> HttpResponseBase:
    """One report of the campaign as of now; people under pseudonyms, but for managers.

    The comparison and BLEU take seconds, unless they were computed on their pages since anything changed.

    POST measures with a file: the compound check and the estimate with a judge's verdicts or a lexicon, the statistics
    with a training set's nodes, BLEU with a test set that is none of the campaign's. While answers are open, who asked
    for figures that rest on them is written down; so is a reading with names, which the agreement and the what-if hold.
    """
    user = person(request)
    campaign = campaign_for(user, slug, *READERS)
    if kind not in REPORTS or (request.method == "POST" and kind not in WITH_FILES):
        raise Http404
    manages = Membership.objects.filter(campaign=campaign, user=user, role=Membership.Role.MANAGER).exists()
    if kind in MANAGERS_ONLY and not manages:
        raise Http404
    form = _choice(request, "format", FORMATS, "json")
    options = Options(
        system=request.query_params.get("system"),
        run=request.query_params.get("run"),
        round=_choice(request, "round", tuple(Round.Kind.values)) or Round.Kind.MAIN,
        number=_number(request),
        labels=_choice(request, "labels", LABELS),
        rule=_choice(request, "rule", RULE_NAMES if kind == WHAT_IF else ARTIFACT_RULES),
        model=_choice(request, "model", tuple(MODELS)),
        a=request.query_params.get("a"),
        b=request.query_params.get("b"),
        among=request.query_params.getlist("among"),
        release=request.query_params.get("release"),
        split=_choice(request, "split", SPLITS),
        texts=_choice(request, "texts", TEXTS) == "yes",
        real_names=manages,
    )
    if request.method == "POST":
        options = _with_files(request, options)
    try:
        if form in FORMS:
            drawn = draw(kind, picture_of(campaign, kind, options), form)
            _record(campaign, kind, options, by=user)
            return HttpResponse(drawn, content_type=FORMS[form])
        document = document_now(campaign, kind, options)
    except (Refused, ProtocolError) as error:  # not of this campaign, or not without saying which system
        raise serializers.ValidationError({"detail": translated(error.message)}) from None
    except FormatError as error:
        raise serializers.ValidationError({"detail": translated(error.sentence)}) from None
    _record(campaign, kind, options, by=user)
    if form == "json":
        return Response(document)
    assert form is not None
    text = as_csv(kind, document) if form == "csv" else as_jsonl(kind, document)
    response = HttpResponse(text, content_type=CONTENT_TYPES[form])
    response.headers["Content-Disposition"] = content_disposition(f"{slug}-{kind}.{form}")
    return response


def _record(campaign: Campaign, kind: str, options: Options, *, by: User) -> None:
    """Interim figures, and figures of people under their names, are not read without a trace."""
    record_peek(campaign, kind, by=by, round_kind=options.round)
    if options.real_names and kind in WITH_NAMES:
        record_names(campaign, kind, by=by)


def _with_files(request: Request, options: Options) -> Options:
    sent = ReportFiles(data=request.data)
    sent.is_valid(raise_exception=True)
    data = sent.validated_data
    judge, lexicon = data.get("judge"), data.get("lexicon")
    return replace(
        options,
        compatible=data["compatible"],
        column=data["column"],
        lexicon=lexicon.read() if lexicon else None,
        judge=judge.read() if judge else None,
        judge_name=str(judge.name) if judge else options.judge_name,
        training=_named(data.get("training")),
        derive_classes=data["derive_classes"],
        test_set=_named(data.get("texts")),
        hypotheses=_named(data.get("hypotheses")),
        references=_named(data.get("references")),
    )


def _named(file: UploadedFile | None) -> NamedFile | None:
    return None if file is None else NamedFile(str(file.name), file.read())


class PlanQuery(serializers.Serializer[Any]):
    """A goal and what is known beforehand; the rest is what the campaign has shown so far."""

    goal = serializers.ChoiceField(GOALS)
    of = serializers.CharField(required=False)
    width = serializers.FloatField(required=False, min_value=0.01, max_value=49.9)
    rate = serializers.FloatField(required=False, min_value=0, max_value=100)
    auc = serializers.FloatField(required=False, min_value=50, max_value=99.9)
    difference = serializers.FloatField(required=False, min_value=0.01, max_value=100)
    spread = serializers.FloatField(required=False, min_value=0.01, max_value=200)
    correlation = serializers.FloatField(required=False, min_value=0, max_value=0.99)
    seed_sd = serializers.FloatField(required=False, min_value=0, max_value=100)
    run_spread = serializers.FloatField(required=False, min_value=0, max_value=200)
    runs = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    comparisons = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    population = serializers.IntegerField(required=False, min_value=1)
    experts = serializers.IntegerField(required=False, min_value=1, max_value=99)
    seconds = serializers.FloatField(required=False, min_value=0, max_value=A_DAY)
    acceptable = serializers.FloatField(required=False, min_value=0, max_value=100)
    rejectable = serializers.FloatField(required=False, min_value=0, max_value=100)
    alpha = serializers.FloatField(required=False, min_value=0.001, max_value=0.999)
    beta = serializers.FloatField(required=False, min_value=0.001, max_value=0.999)
    lot = serializers.IntegerField(required=False, min_value=1)


@extend_schema(parameters=[PlanQuery], responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def plan_of(request: Request, slug: str) -> Response:
    """How many compounds or triples, and hours, a goal takes; or how many to spot-check."""
    campaign = campaign_for(person(request), slug, *READERS)
    asked = PlanQuery(data=request.query_params)
    asked.is_valid(raise_exception=True)
    try:
        return Response(plan(campaign, PlanWish(**asked.validated_data)))
    except (Refused, ProtocolError) as error:
        raise serializers.ValidationError({"detail": translated(error.message)}) from None


# Submissions -----------------------------------------------------------------------------------------------------


Name = Annotated[str, Meta(max_length=100, pattern=r"^[^\x00]*$")]
Cell = str | float | int | bool | None


class SubmissionBody(Struct, forbid_unknown_fields=True):
    """One run of a system: a row for each item, its columns as in a file."""

    system: Name
    rows: Annotated[list[dict[str, Cell]], Meta(min_length=1)]
    run: Name = ""
    split: Literal["test", "dev", "all"] = "test"
    threshold: float | Literal["tune"] = DEFAULT_THRESHOLD
    release: Name | None = None
    by_position: bool = False
    column: Name | None = None


class FileSerializer(serializers.Serializer[Any]):
    """The same with a file of the rows."""

    file = serializers.FileField()
    system = serializers.CharField(max_length=100)
    run = serializers.CharField(max_length=100, default="", allow_blank=True)
    split = serializers.ChoiceField(SPLITS, default="test")
    threshold = serializers.RegexField(r"\A(tune|[+-]?[0-9.]+([eE][+-]?[0-9]+)?)\Z", default="0.5")
    release = serializers.CharField(default=None, max_length=40)
    by_position = serializers.BooleanField(default=False)
    column = serializers.CharField(default=None, max_length=100)


@extend_schema(
    request={"application/json": schema_of(SubmissionBody), "multipart/form-data": FileSerializer},
    responses={200: OpenApiTypes.OBJECT, 201: OpenApiTypes.OBJECT},
    methods=["POST"],
)
@extend_schema(
    operation_id="v1_campaigns_submissions_list", responses={200: OpenApiTypes.OBJECT}, methods=["GET"]
)
@api_view(["GET", "POST"])
@parser_classes([JSONParser, MultiPartParser])
def submissions(request: Request, slug: str) -> Response:
    """One's own submissions (a manager: all); a new one, scored and stored whole or not at all."""
    submitter = submitter_for(person(request), slug)
    if request.method == "GET":
        found = _visible(submitter).select_related("evaluation", "release")[:MANY]
        return Response({"results": [_short(submission) for submission in found]})
    if not submitter.may_submit:
        raise Http404
    sent = read_rows(request, body=SubmissionBody, form=FileSerializer)
    wish = _wish(submitter, sent.fields)
    try:
        done = submit(
            submitter.campaign,
            sent.data,
            name=sent.name,
            wish=wish,
            by=submitter.user,
            board=None if submitter.manages else submitter.board,
        )
    except SubmissionError as error:
        return not_taken(error)
    return taken(
        _whole(done.submission, submitter),
        unknown_columns=done.unknown_columns,
        warnings=done.warnings,
        repeated=done.repeated,
    )


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def submission(request: Request, slug: str, pk: int) -> Response:
    """The figures of one submission: one's own, or any for a manager."""
    submitter = submitter_for(person(request), slug)
    found = _visible(submitter).filter(pk=pk).select_related("evaluation", "campaign", "release").first()
    if found is None:
        raise Http404
    return Response(_whole(found, submitter))


CURVE_FORMATS = ("json", "csv", *FORMS)


@extend_schema(
    operation_id="campaigns_submissions_curve_retrieve",
    parameters=[OpenApiParameter("format", str, enum=CURVE_FORMATS)],
    responses={200: OpenApiTypes.OBJECT},
)
@api_view(["GET"])
def curve(request: Request, slug: str, pk: str, name: str) -> HttpResponseBase:
    """Precision against recall, or how far scores are probabilities. Points tell labels: for managers only."""
    campaign = campaign_for(person(request), slug, Membership.Role.MANAGER)
    found = Submission.objects.filter(campaign=campaign, pk=pk).select_related("campaign", "release").first()
    if found is None:
        raise Http404
    form = _choice(request, "format", CURVE_FORMATS, "json")
    try:
        data = curve_of(found, name)
    except (Refused, ProtocolError) as error:
        raise serializers.ValidationError({"detail": translated(error.message)}) from None
    if form in FORMS:
        return HttpResponse(draw(name, data, form), content_type=FORMS[form])
    if form == "json":
        return Response(data)
    response = HttpResponse(as_csv(name, data), content_type=CONTENT_TYPES["csv"])
    response.headers["Content-Disposition"] = content_disposition(f"{slug}-{found.pk}-{name}.csv")
    return response


@extend_schema(
    parameters=[OpenApiParameter("split", str, enum=SPLITS), OpenApiParameter("release", str)],
    responses={200: OpenApiTypes.OBJECT},
)
@api_view(["GET"])
def board(request: Request, slug: str) -> Response:
    """Every system's latest runs side by side, the best first."""
    submitter = submitter_for(person(request), slug)
    splits = SPLITS if submitter.manages else SPLITS[:2]
    split = _choice(request, "split", splits, SPLITS[0])
    assert split is not None
    release = _release(submitter.campaign, request.query_params.get("release"))
    lines = leaderboard(
        submitter.campaign, split=split, release=release, viewer=submitter.user, manages=submitter.manages
    )
    human = human_line(submitter.campaign, split=split, release=release, manages=submitter.manages)
    return Response(
        board_document(lines, split=split, release=release, manages=submitter.manages, human=human)
    )


def _visible(submitter: Submitter) -> QuerySet[Submission]:
    found = Submission.objects.filter(campaign=submitter.campaign)
    return found if submitter.manages else found.filter(created_by=submitter.user)


def _short(submission: Submission) -> dict[str, Any]:
    return {
        "id": submission.pk,
        "system": submission.system,
        "run": submission.run,
        "split": submission.split,
        "release": submission.release.name if submission.release else None,
        "file": submission.file_name,
        "sha256": submission.sha256,
        "created_at": submission.created_at.isoformat(),
    }


def _whole(submission: Submission, submitter: Submitter) -> dict[str, Any]:
    document = document_for(submission, manages=submitter.manages)
    return document | {"id": submission.pk, "runs": over_runs(submission, manages=submitter.manages)}


def _wish(submitter: Submitter, fields: dict[str, Any]) -> Wish:
    """What is asked for; takes the fields apart."""
    if fields["split"] not in (SPLITS if submitter.manages else SPLITS[:2]):
        raise serializers.ValidationError({"split": "There is test and dev."})
    release = _release(submitter.campaign, fields.pop("release"))
    threshold = fields.pop("threshold")
    try:
        number = None if threshold == "tune" else float(threshold)
    except ValueError:
        raise serializers.ValidationError({"threshold": "This is a number, or tune."}) from None
    return Wish(**fields, threshold=number, release=release)


def _release(campaign: Campaign, name: str | None) -> Release | None:
    if not name:
        return None
    found = campaign.releases.filter(name=name).first() if "\x00" not in name else None
    if found is None:
        raise serializers.ValidationError({"release": "There is no such release."})
    return found


# Releases --------------------------------------------------------------------------------------------------------


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def releases(request: Request, slug: str) -> Response:
    """What was frozen: names, checksums, and what each release holds."""
    campaign = campaign_for(person(request), slug, *READERS)
    found = [
        {"name": one.name, "sha256": one.sha256, "size": one.size, "created_at": one.created_at.isoformat()}
        | {"manifest": one.manifest}
        for one in campaign.releases.all()
    ]
    return Response({"results": found})


@extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
@api_view(["GET"])
def release_archive(request: Request, slug: str, name: str) -> HttpResponseBase:
    """The archive as it was frozen; its checksum stands in X-Assay-Sha256."""
    campaign = campaign_for(person(request), slug, *READERS)
    found = campaign.releases.filter(name=name).first()
    if found is None:
        raise Http404
    return archive_response(found)
