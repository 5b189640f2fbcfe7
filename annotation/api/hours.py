"""Time an expert spent beside judging. 404 for everybody else."""

from typing import Annotated, Literal
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from msgspec import Meta, Struct
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import read_body, schema_of
from annotation.api.expert import expert_in
from annotation.services.hours import record


class TimeBody(Struct, forbid_unknown_fields=True):
    """How long the guidelines, practice or a discussion were before somebody."""

    kind: Literal["guideline", "practice", "discussion"]
    seconds: Annotated[float, Meta(ge=0, le=1e7)]
    client_key: UUID


@extend_schema(request={"application/json": schema_of(TimeBody)}, responses={200: OpenApiTypes.OBJECT})
@api_view(["POST"])
def add_time(request: Request, slug: str) -> Response:
    """Add a line to one's own hours, at most what such a line may count for; sent again, it counts once."""
    user, campaign = expert_in(request, slug)
    body = read_body(request._request, TimeBody)
    line = record(campaign, user, kind=body.kind, seconds=body.seconds, client_key=body.client_key)
    return Response({"kind": line.kind, "seconds": line.seconds, "day": line.day.isoformat()})
