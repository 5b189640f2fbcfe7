"""A campaign's reports for programs: managers and viewers; 404 to everybody else."""

from django.http import Http404, HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.campaigns import READERS
from annotation.api.parameters import person
from annotation.formats.writers import CONTENT_TYPES, content_disposition
from annotation.models import Membership, Round
from annotation.permissions import campaign_for
from annotation.services.errors import Refused
from scoring.records import as_csv, as_jsonl
from scoring.services.measure import REPORTS, Options, report

LABELS = ("imported", "final")
RULES = ("described", "as-published")
FORMATS = ("json", "csv", "jsonl")


def _choice(request: Request, name: str, choices: tuple[str, ...], default: str | None = None) -> str | None:
    value = request.query_params.get(name, default)
    if value is not None and value not in choices:
        raise serializers.ValidationError({name: f"There is {', '.join(choices)}."})
    return value


@extend_schema(
    parameters=[
        OpenApiParameter("system", str),
        OpenApiParameter("run", str),
        OpenApiParameter("round", str, enum=Round.Kind.values),
        OpenApiParameter("labels", str, enum=LABELS),
        OpenApiParameter("rule", str, enum=RULES),
        OpenApiParameter("format", str, enum=FORMATS),
    ],
    responses={200: OpenApiTypes.OBJECT},
)
@api_view(["GET"])
def report_of(request: Request, slug: str, kind: str) -> HttpResponseBase:
    """One report of the campaign, worked out now; people under pseudonyms, but for managers."""
    user = person(request)
    campaign = campaign_for(user, slug, *READERS)
    if kind not in REPORTS:
        raise Http404
    manages = Membership.objects.filter(campaign=campaign, user=user, role=Membership.Role.MANAGER).exists()
    form = _choice(request, "format", FORMATS, "json")
    options = Options(
        system=request.query_params.get("system"),
        run=request.query_params.get("run"),
        round=_choice(request, "round", tuple(Round.Kind.values)) or Round.Kind.MAIN,
        labels=_choice(request, "labels", LABELS),
        rule=_choice(request, "rule", RULES) or RULES[0],
        real_names=manages,
    )
    try:
        document = report(campaign, kind, options)
    except Refused as error:  # not of this campaign, or not without saying which system
        raise serializers.ValidationError({"detail": error.message}) from None
    if form == "json":
        return Response(document)
    assert form is not None
    text = as_csv(kind, document) if form == "csv" else as_jsonl(kind, document)
    response = HttpResponse(text, content_type=CONTENT_TYPES[form])
    response.headers["Content-Disposition"] = content_disposition(f"{slug}-{kind}.{form}")
    return response
