"""A campaign's items, labels and annotations for programs: managers and viewers; 404 to everybody else."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.parameters import person, whole_number
from annotation.formats.writers import CONTENT_TYPES, content_disposition, write_table
from annotation.models import Campaign, Membership
from annotation.permissions import membership_for
from annotation.services.exports import Cells, Names, Table, names_of, table, take
from annotation.services.readings import ANNOTATIONS, record_names, record_reading

READERS = (Membership.Role.MANAGER, Membership.Role.VIEWER)
PAGE = 1000
STREAMS = ("csv", "jsonl")
FORMAT = OpenApiParameter("format", str, enum=["json", *STREAMS], description="csv and jsonl stream all rows")
PAGING = [FORMAT, OpenApiParameter("after", int), OpenApiParameter("size", int)]


class CampaignSerializer(serializers.ModelSerializer[Campaign]):
    """A campaign and its settings."""

    role = serializers.SerializerMethodField()

    class Meta:
        model = Campaign
        fields = [
            "slug", "title", "protocol", "annotators_per_item", "seed", "rule", "label_version", "created_at", "role",
        ]  # fmt: skip

    def get_role(self, campaign: Campaign) -> str:
        return str(campaign.role)  # type: ignore[attr-defined]


class PageSerializer(serializers.Serializer[Any]):
    """One page of rows; `next` is the `after` of the next page, null at the end."""

    count = serializers.IntegerField(help_text="all rows at this moment")
    next = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(allow_null=True, help_text="why there are no rows")
    left_out = serializers.DictField(help_text="labels: how many items have none, by reason")
    results = serializers.ListField(child=serializers.DictField())


@extend_schema(responses=CampaignSerializer(many=True))
@api_view(["GET"])
def campaigns(request: Request) -> Response:
    """The campaigns one manages or may look at."""
    members = (
        Membership.objects.filter(user=person(request), role__in=READERS)
        .select_related("campaign")
        .order_by("campaign__slug")
    )
    return Response([_campaign(member.campaign, member.role) for member in members])


@extend_schema(responses=CampaignSerializer)
@api_view(["GET"])
def campaign(request: Request, slug: str) -> Response:
    """One campaign."""
    found, role = _readable(request, slug)
    return Response(_campaign(found, role))


def _campaign(found: Campaign, role: str) -> dict[str, Any]:
    found.role = role  # type: ignore[attr-defined]
    return CampaignSerializer(found).data


@extend_schema(parameters=PAGING, responses={200: PageSerializer, (200, "text/csv"): OpenApiTypes.STR})
@api_view(["GET"])
def items(request: Request, slug: str) -> HttpResponseBase:
    """What is judged."""
    return _rows(request, slug, "items")


@extend_schema(
    parameters=[*PAGING, OpenApiParameter("unlabelled", str, enum=["yes", "no"])],
    responses={200: PageSerializer, (200, "text/csv"): OpenApiTypes.STR},
)
@api_view(["GET"])
def labels(request: Request, slug: str) -> HttpResponseBase:
    """The final labels; where there are none, why. `unlabelled=yes` adds the items without, each with its reason."""
    return _rows(request, slug, "labels")


@extend_schema(parameters=PAGING, responses={200: PageSerializer, (200, "text/csv"): OpenApiTypes.STR})
@api_view(["GET"])
def annotations(request: Request, slug: str) -> HttpResponseBase:
    """Every current answer; people under pseudonyms, but for managers, and a reading with names is written down.

    So is one while others still judge on their own.
    """
    return _rows(request, slug, "annotations")


def _readable(request: Request, slug: str) -> tuple[Campaign, str]:
    member = membership_for(person(request), slug, *READERS)
    return member.campaign, member.role


def _rows(request: Request, slug: str, what: str) -> HttpResponseBase:
    found, role = _readable(request, slug)
    unlabelled = request.query_params.get("unlabelled", "no")
    if unlabelled not in ("yes", "no"):
        raise serializers.ValidationError({"unlabelled": "There is yes and no."})
    form = request.query_params.get("format", "json")
    if form not in ("json", *STREAMS):
        raise serializers.ValidationError({"format": f"There is json, {' and '.join(STREAMS)}."})
    size = min(whole_number(request, "size", PAGE) or PAGE, PAGE)
    after = whole_number(request, "after", 0) or 0
    named = role == Membership.Role.MANAGER
    chosen = table(
        found,
        what,
        names=names_of(found, real=named) if what == ANNOTATIONS else Names({}),  # other tables name nobody
        unlabelled=unlabelled == "yes",
    )
    record_reading(found, what, by=person(request), following=after > 0)
    if named and what == ANNOTATIONS:
        record_names(found, what, by=person(request), following=after > 0)
    if form in STREAMS:
        return stream(chosen, form, name=f"{slug}-{what}.{form}")
    rows, following = chosen.page(after=after, size=size)
    return Response(
        {
            "count": chosen.count(),
            "next": following,
            "reason": chosen.empty_reason,
            "left_out": chosen.left_out,
            "results": rows,
        }
    )


def stream(chosen: Table, form: str, *, name: str) -> StreamingHttpResponse:
    """All rows of one moment. X-Assay-Rows tells how many there are, so that a cut stream can be seen."""
    found = take(chosen)
    chunks = write_table(form, chosen.columns, _cells(chosen, found.rows), mark=False)
    response = StreamingHttpResponse(chunks, content_type=CONTENT_TYPES[form])
    response.headers["Content-Disposition"] = content_disposition(name)
    response.headers["X-Assay-Rows"] = str(found.total)
    return response


def _cells(chosen: Table, rows: Iterator[Cells]) -> Iterator[list[Any]]:
    return ([row[name] for name in chosen.columns] for row in rows)
