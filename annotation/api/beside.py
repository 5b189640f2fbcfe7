"""What an expert's page asks for beside answers: "later", questions, words. 404 for everybody else."""

from collections.abc import Callable
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from msgspec import Struct
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import LaterBody, read_body, schema_of
from annotation.api.expert import expert_in, own_screen
from annotation.services import questions
from annotation.services.seat import postpone, take_back
from annotation.services.seat_numbers import assignment_of
from annotation.services.words import word_starts


@extend_schema(request={"application/json": schema_of(LaterBody)}, responses={200: OpenApiTypes.OBJECT})
@api_view(["POST"])
def later(request: Request, slug: str, unit: int) -> Response:
    """Put a screen at the end of one's own part."""
    return _moved(request, slug, unit, postpone)


@extend_schema(request={"application/json": schema_of(LaterBody)}, responses={200: OpenApiTypes.OBJECT})
@api_view(["POST"])
def later_back(request: Request, slug: str, unit: int) -> Response:
    """Take it back that a screen was put at the end of its part: it comes up next."""
    return _moved(request, slug, unit, take_back)


def _moved(request: Request, slug: str, unit: int, move: Callable[..., int]) -> Response:
    user, campaign = expert_in(request, slug)
    body = read_body(request._request, LaterBody)
    queue = move(
        campaign,
        expert_id=user.pk,
        screen_id=assignment_of(unit, expert=user.pk),
        assignments=[assignment_of(number, expert=user.pk) for number in body.assignments],
    )
    return Response({"queue": queue})


class QuestionBody(Struct, forbid_unknown_fields=True):
    """A question to the campaign's managers."""

    client_key: UUID
    text: str


@extend_schema(request={"application/json": schema_of(QuestionBody)}, responses={200: OpenApiTypes.OBJECT})
@api_view(["POST"])
def ask(request: Request, slug: str, unit: int) -> Response:
    """Ask the managers about a unit of one's own work; sent again under its key, it is asked once."""
    user, campaign = expert_in(request, slug)
    body = read_body(request._request, QuestionBody)
    screen = assignment_of(unit, expert=user.pk)
    asked = questions.ask(campaign, user, screen_id=screen, text=body.text, client_key=body.client_key)
    return Response({"question": asked.pk, "asked_at": asked.asked_at.isoformat()})


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def words(request: Request, slug: str, position: int) -> Response:
    """Where words begin in the translations of one of one's own screens, by assignment, counted in code points."""
    rows = [row for row in own_screen(request, slug, position)["rows"] if "translation" in row]
    return Response({"starts": {row["assignment"]: word_starts(row["translation"]) for row in rows}})
