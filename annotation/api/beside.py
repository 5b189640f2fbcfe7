"""What an expert's page asks for beside answers: taking "later" back, questions, words. 404 for everybody else."""

from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from msgspec import Struct
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import LaterBody, read_body, schema_of
from annotation.api.parameters import person
from annotation.models import Membership
from annotation.permissions import campaign_for
from annotation.services import questions
from annotation.services.errors import NotYours
from annotation.services.screens import screen_at
from annotation.services.seat import take_back
from annotation.services.words import word_starts


@extend_schema(request={"application/json": schema_of(LaterBody)}, responses={200: OpenApiTypes.OBJECT})
@api_view(["POST"])
def later_back(request: Request, slug: str, unit: int) -> Response:
    """Take it back that a screen was put at the end of its part: it comes up next."""
    user = person(request)
    campaign = campaign_for(user, slug, Membership.Role.EXPERT)
    body = read_body(request._request, LaterBody)
    queue = take_back(campaign, expert_id=user.pk, screen_id=unit, assignments=body.assignments)
    return Response({"queue": queue})


class QuestionBody(Struct):
    """A question to the campaign's managers."""

    client_key: UUID
    text: str


@extend_schema(request={"application/json": schema_of(QuestionBody)}, responses={200: OpenApiTypes.OBJECT})
@api_view(["POST"])
def ask(request: Request, slug: str, unit: int) -> Response:
    """Ask the managers about a unit of one's own work; sent again under its key, it is asked once."""
    user = person(request)
    campaign = campaign_for(user, slug, Membership.Role.EXPERT)
    body = read_body(request._request, QuestionBody)
    asked = questions.ask(campaign, user, screen_id=unit, text=body.text, client_key=body.client_key)
    return Response({"question": asked.pk, "asked_at": asked.asked_at.isoformat()})


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def words(request: Request, slug: str, position: int) -> Response:
    """Where words begin in the translations of one of one's own screens, by assignment, counted in code points."""
    user = person(request)
    campaign = campaign_for(user, slug, Membership.Role.EXPERT)
    found = screen_at(campaign, expert_id=user.pk, position=position)
    if found is None:
        raise NotYours("There is no such screen among your work.")
    rows = [row for row in found["rows"] if "translation" in row]
    return Response({"starts": {row["assignment"]: word_starts(row["translation"]) for row in rows}})
