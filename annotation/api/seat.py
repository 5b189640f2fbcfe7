"""An expert's own work: what comes next, and saving answers. 404 for everybody else."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, authentication_classes
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.authentication import SeatAuthentication, SeatCaller, TokenAuthentication
from annotation.api.parameters import person, whole_number
from annotation.models import Annotation, Membership, User
from annotation.permissions import campaign_for
from annotation.services.answers import save_answers
from annotation.services.errors import NotYours
from annotation.services.screens import next_screens, progress, recent_screens, screen_at
from annotation.services.seat import postpone
from annotation.services.sheets import Answer, Sheet, Timing


class LabelField(serializers.Field[str, Any, str, Any]):
    """A label in any accepted spelling: correct, 正确, 1, true …"""

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, bool):
            return str(data).lower()
        if isinstance(data, str | int | float):
            return str(data)
        raise serializers.ValidationError("A label is a word or a number.")

    def to_representation(self, value: str) -> str:
        return value


class AnswerSerializer(serializers.Serializer[Any]):
    """One row's answer: a label, or the cause why it cannot be judged."""

    assignment = serializers.IntegerField(min_value=1)
    revision = serializers.IntegerField(min_value=0)
    label = LabelField(required=False, allow_null=True)  # type: ignore[assignment]
    cannot_judge = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    problem = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    detail = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    reasons = serializers.ListField(child=serializers.CharField(max_length=40), required=False, max_length=10)
    atoms = serializers.ListField(child=serializers.IntegerField(min_value=0), required=False, max_length=10)
    note = serializers.CharField(required=False, allow_null=True, allow_blank=True, trim_whitespace=False)
    flag = serializers.BooleanField(required=False, default=False)


class SheetSerializer(serializers.Serializer[Any]):
    """The answers to one screen."""

    client_key = serializers.UUIDField()
    answers = serializers.ListField(child=AnswerSerializer(), allow_empty=False, max_length=100)
    seconds = serializers.FloatField(required=False, allow_null=True, min_value=0)
    visible_seconds = serializers.FloatField(required=False, allow_null=True, min_value=0)
    active_seconds = serializers.FloatField(required=False, allow_null=True, min_value=0)
    session = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=36)
    session_position = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    reference_seen = serializers.BooleanField(required=False, allow_null=True, default=None)
    after = serializers.IntegerField(required=False, allow_null=True, min_value=0)
    count = serializers.IntegerField(required=False, min_value=0, max_value=200, default=1)


class LaterSerializer(serializers.Serializer[Any]):
    """The rows of the screen to put at the end of one's part."""

    assignments = serializers.ListField(
        child=serializers.IntegerField(min_value=1), allow_empty=False, max_length=100
    )


class NextSerializer(serializers.Serializer[Any]):
    """Screens in the order they come up; progress is counted only where it was asked for."""

    units = serializers.ListField(child=serializers.DictField())
    progress = serializers.DictField(allow_null=True)


class SavedSerializer(serializers.Serializer[Any]):
    """What was acknowledged, and what comes next."""

    saved = serializers.ListField(child=serializers.DictField())
    next = NextSerializer()


@extend_schema(
    parameters=[OpenApiParameter("count", int), OpenApiParameter("after", int)], responses=NextSerializer
)
@api_view(["GET"])
def next_units(request: Request, slug: str) -> Response:
    """The screens to judge next."""
    user = person(request)
    campaign = campaign_for(user, slug, Membership.Role.EXPERT)
    count, after = whole_number(request, "count", 1) or 1, whole_number(request, "after", None)
    return Response(
        {
            "units": next_screens(campaign, expert_id=user.pk, count=count, after=after),
            "progress": progress(campaign, expert_id=user.pk),
        }
    )


@extend_schema(responses={200: dict})
@api_view(["GET"])
def screen(request: Request, slug: str, position: int) -> Response:
    """One of one's own screens, answered or not."""
    user = person(request)
    campaign = campaign_for(user, slug, Membership.Role.EXPERT)
    found = screen_at(campaign, expert_id=user.pk, position=position)
    if found is None:
        raise NotYours("There is no such screen among your work.")
    return Response(found)


@extend_schema(parameters=[OpenApiParameter("count", int)], responses=NextSerializer)
@api_view(["GET"])
def recent(request: Request, slug: str) -> Response:
    """The screens one answered last."""
    user = person(request)
    campaign = campaign_for(user, slug, Membership.Role.EXPERT)
    count = min(whole_number(request, "count", 50) or 50, 200)
    return Response({"units": recent_screens(campaign, expert_id=user.pk, count=count), "progress": None})


@extend_schema(request=SheetSerializer, responses=SavedSerializer)
@api_view(["POST"])
@authentication_classes([TokenAuthentication, SeatAuthentication])
def answers(request: Request, slug: str, unit: int) -> Response:
    """Save the answers to one screen, all or nothing; the same key and body again get the same reply."""
    body = SheetSerializer(data=request.data)
    body.is_valid(raise_exception=True)
    given = body.validated_data
    caller: User | SeatCaller = request.user  # type: ignore[assignment]
    by_session = isinstance(caller, SeatCaller)
    judged = save_answers(
        sheet_of(unit, given),
        slug=slug,
        expert_id=caller.pk,
        source=Annotation.Source.SEAT if by_session else Annotation.Source.API,
        after=given.get("after") or 0,
        count=given["count"],
        admit=(lambda place: caller.admit(place.password))
        if isinstance(caller, SeatCaller)
        else lambda place: True,
    )
    return Response(
        {
            "saved": [{"assignment": row.assignment, "revision": row.revision} for row in judged.saved],
            "next": {"units": judged.screens, "progress": None},
        }
    )


@extend_schema(request=LaterSerializer, responses={200: dict})
@api_view(["POST"])
def later(request: Request, slug: str, unit: int) -> Response:
    """Put a screen at the end of one's own part."""
    user = person(request)
    campaign = campaign_for(user, slug, Membership.Role.EXPERT)
    body = LaterSerializer(data=request.data)
    body.is_valid(raise_exception=True)
    queue = postpone(
        campaign, expert_id=user.pk, unit_id=unit, assignments=body.validated_data["assignments"]
    )
    return Response({"queue": queue})


def sheet_of(unit: int, given: dict[str, Any]) -> Sheet:
    """The request's body as the service takes it."""
    return Sheet(
        unit=unit,
        client_key=given["client_key"],
        answers=tuple(
            Answer(
                assignment=row["assignment"],
                revision=row["revision"],
                label=row.get("label") or "",
                cannot_judge=row.get("cannot_judge") or "",
                problem=row.get("problem") or "",
                detail=row.get("detail") or "",
                reasons=tuple(row.get("reasons", ())),
                atoms=tuple(row.get("atoms", ())),
                note=row.get("note") or "",
                unsure=row["flag"],
            )
            for row in given["answers"]
        ),
        timing=Timing(
            seconds=given.get("seconds"),
            visible_seconds=given.get("visible_seconds"),
            active_seconds=given.get("active_seconds"),
            session=given.get("session") or "",
            session_position=given.get("session_position"),
        ),
        reference_seen=given.get("reference_seen"),
    )
