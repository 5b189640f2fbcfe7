"""An expert's own work: what comes next, and saving answers. 404 for everybody else."""

from typing import Any

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import get_language
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api.authentication import SeatCaller, TokenAuthentication, seat_caller
from annotation.api.bodies import SheetBody, SheetsBody, read_body, schema_of
from annotation.api.errors import plain_answer
from annotation.api.expert import expert_in, own_screen, refuse_for_who_has_not_read
from annotation.api.parameters import person, whole_number
from annotation.api.permissions import refuse_other_user
from annotation.models import Annotation, Campaign, User
from annotation.permissions import EXPERT, membership_for
from annotation.protocol.errors import ProtocolError
from annotation.services.answers import Judged, save_answers
from annotation.services.errors import Refused
from annotation.services.guidelines import known_guideline
from annotation.services.screens import next_screens, progress, recent_screens
from annotation.services.seat import guideline_shown


class NextSerializer(serializers.Serializer[Any]):
    """Screens in the order they come up; progress is counted only where it was asked for.

    A screen's `id` and a row's `assignment` are numbers that only the caller knows them by, the same in every request.
    Where translations are shown side by side, a screen holds a whole compound, and the rows of one context, which bear
    the same `context`, stand together.

    `guideline` is the version that their judge knows, under which answers are stored: send it back with an answer that
    may arrive later. `read_first` are the pages that the person should open before they judge: what is recorded, and
    what is new in the guidelines. Until they have confirmed the latter, answers stand under the version before, and
    those of a re-judgement are refused (409, `guidelines_unread`). Until they have confirmed that they know what is
    recorded, a program that works for them is refused everywhere here (409, `notice_unread`).
    """

    units = serializers.ListField(child=serializers.DictField())
    progress = serializers.DictField(allow_null=True)
    guideline = serializers.IntegerField(required=False, allow_null=True)
    read_first = serializers.ListField(child=serializers.CharField(), required=False)


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
    member = membership_for(person(request), slug, EXPERT)
    refuse_for_who_has_not_read(request)
    campaign, expert = member.campaign, member.user_id
    count, after = whole_number(request, "count", 1), whole_number(request, "after", None)
    shown = guideline_shown(campaign)
    known = known_guideline(member, shown=shown)
    return Response(
        {
            "units": next_screens(campaign, expert_id=expert, count=count or 0, after=after),
            "progress": progress(campaign, expert_id=expert),
            "guideline": known and known.pk,
            "read_first": _to_read(person(request), campaign, news=known != shown),
        }
    )


def _to_read(user: User, campaign: Campaign, *, news: bool) -> list[str]:
    """The addresses of what a person has to confirm before they judge."""
    pages = [reverse("recorded")] if user.notice_read_at is None else []
    pages += [reverse("guideline_change", args=[campaign.slug])] if news else []
    return [settings.ASSAY_URL + page for page in pages]


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def screen(request: Request, slug: str, position: int) -> Response:
    """One of one's own screens, answered or not."""
    return Response(own_screen(request, slug, position))


@extend_schema(parameters=[OpenApiParameter("count", int)], responses=NextSerializer)
@api_view(["GET"])
def recent(request: Request, slug: str) -> Response:
    """The screens one answered last."""
    user, campaign = expert_in(request, slug)
    count = min(whole_number(request, "count", 50) or 0, 200)
    return Response({"units": recent_screens(campaign, expert_id=user.pk, count=count), "progress": None})


class Answers(APIView):
    """Saving what an expert answered: the one address that everybody calls all the time.

    The seat's own calls go past Django REST framework, whose layers take longer than the saving itself; tokens,
    and whatever is no call of the seat, go through it. What is saved and what is answered is the same.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            return super().dispatch(request, *args, **kwargs)
        try:
            caller = seat_caller(request)
            if caller is not None:
                return _answer_seat(request, caller, **kwargs)
        except Exception as error:
            response = plain_answer(error)
            if response is None:
                raise
            return response
        return super().dispatch(request, *args, **kwargs)

    @extend_schema(request={"application/json": schema_of(SheetBody)}, responses=SavedSerializer)
    def post(self, request: Request, slug: str, unit: int) -> Response:
        """Save the answers to one screen, all or nothing; the same key and body again get the same reply."""
        if person(request).notice_read_at is None:
            expert_in(request, slug)  # which says so, but to nobody else's campaign
        body = read_body(request._request, SheetBody)
        expert = person(request).pk
        judged = save_answers(
            body.sheet(unit, expert=expert),
            slug=slug,
            expert_id=expert,
            source=Annotation.Source.API,
            after=body.after or 0,
            count=body.count,
            language=get_language() or "",
        )
        return Response(_saved(judged))


answers = Answers.as_view()


@extend_schema(request={"application/json": schema_of(SheetsBody)}, responses={200: OpenApiTypes.OBJECT})
@api_view(["POST"])
def answers_in_order(request: Request, slug: str) -> Response:
    """Save the answers to several screens, each all or nothing, one after the other in the order given.

    For a page that goes away, which can wait for no reply: `saved` tells for each screen whether it was. What was
    not is told apart by the address for one screen; nothing more of that screen is tried here.
    """
    user, _campaign = expert_in(request, slug)
    by_seat = not isinstance(request.successful_authenticator, TokenAuthentication)
    sheets = read_body(request._request, SheetsBody).sheets
    passed_over: set[int] = set()
    saved = []
    for body in sheets:
        saved.append(body.unit not in passed_over)
        if not saved[-1]:
            continue
        try:
            save_answers(
                body.sheet(body.unit, expert=user.pk),
                slug=slug,
                expert_id=user.pk,
                source=Annotation.Source.SEAT if by_seat else Annotation.Source.API,
                language=get_language() or "",
            )
        except (Refused, ProtocolError):
            saved[-1] = False
            passed_over.add(body.unit)
    return Response({"saved": saved})


def _answer_seat(request: HttpRequest, caller: SeatCaller, slug: str, unit: int) -> HttpResponse:
    refuse_other_user(request, caller.pk)
    body = read_body(request, SheetBody)
    judged = save_answers(
        body.sheet(unit, expert=caller.pk),
        slug=slug,
        expert_id=caller.pk,
        after=body.after or 0,
        count=body.count,
        language=get_language() or "",
        admit=lambda place: caller.admit(place.password),
    )
    return HttpResponse(msgspec.json.encode(_saved(judged)), content_type="application/json")


def _saved(judged: Judged) -> dict[str, Any]:
    return {"saved": [vars(row) for row in judged.saved], "next": {"units": judged.screens, "progress": None}}
