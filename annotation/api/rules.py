"""What judging goes by, for programs: guidelines, wording, precedents, and the questions that were asked.

An expert gets what their pages show them; managers and viewers get every version as well.
"""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.parameters import person, plain_text
from annotation.models import Guideline, Membership
from annotation.permissions import EXPERT, MANAGER, VIEWER, membership_for
from annotation.protocol.definition import Words
from annotation.services.guidelines import pending, version_lines
from annotation.services.precedents import PrecedentLine, all_precedents, precedents_in_force
from annotation.services.questions import QuestionLine, UnitText, all_questions, own_questions
from annotation.services.seat import guideline_shown
from annotation.services.wording import wording_of

Document = dict[str, Any]


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def guidelines(request: Request, slug: str) -> Response:
    """The guidelines in force, in both languages; for managers and viewers every version, the latest first.

    An expert is told whether they have acknowledged the version in force. What a version touches, and who has read it,
    is told to managers and viewers only.
    """
    member = membership_for(person(request), slug, EXPERT, MANAGER, VIEWER)
    shown = guideline_shown(member.campaign)
    found: Document = {"in_force": None if shown is None else _version(shown)}
    if member.role == EXPERT:
        return Response(found | {"acknowledged": pending(member, shown=shown) is None})
    versions = [
        {
            **_version(line.guideline),
            "touches": line.guideline.touches,
            "touched_items": line.touched,
            "acknowledged": line.acknowledged,
            "asked": line.asked,
        }
        for line in version_lines(member.campaign)
    ]
    return Response(found | {"versions": versions})


def _version(guideline: Guideline) -> Document:
    return {
        "version": guideline.version,
        "created_at": guideline.created_at,
        "text": _said(Words(guideline.text_en, guideline.text_zh)),
        "change": _said(Words(guideline.change_en, guideline.change_zh)),
    }


def _said(words: Words) -> Mapping[str, str]:
    return {"en": words.en, "zh": words.zh}


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def wording(request: Request, slug: str) -> Response:
    """How the campaign calls its relations, answers and reasons, in both languages: the protocol's words where it has
    none of its own. Groups of classes are told to managers and viewers only.
    """
    member = membership_for(person(request), slug, EXPERT, MANAGER, VIEWER)
    document = wording_of(member.campaign).as_json()
    if member.role == EXPERT:
        document.pop("class_groups", None)
    return Response(document)


@extend_schema(
    parameters=[OpenApiParameter("q", str, description="every one of these words stands in it")],
    responses={200: OpenApiTypes.OBJECT},
)
@api_view(["GET"])
def precedents(request: Request, slug: str) -> Response:
    """Settled decisions that are in force, each with the settled items it names; for managers also those taken back."""
    member = membership_for(person(request), slug, EXPERT, MANAGER)
    text = plain_text(request, "q")
    if member.role == MANAGER and not text:
        lines = all_precedents(member.campaign)
    else:
        lines = precedents_in_force(member.campaign, text=text)
    return Response({"results": [_precedent(line) for line in lines]})


def _precedent(line: PrecedentLine) -> Document:
    return {
        "about": line.about,
        "key": line.key,
        "text": _said(line.text),
        "guideline": line.version,
        "items": [_unit(item) for item in line.items],
        "retired": line.retired,
    }


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def questions(request: Request, slug: str) -> Response:
    """An expert's own questions with their answers; for managers everybody's, under pseudonyms, what waits first."""
    member = membership_for(person(request), slug, EXPERT, MANAGER)
    mine = member.role == EXPERT
    lines = own_questions(member.campaign, person(request)) if mine else all_questions(member.campaign)
    return Response({"results": [_question(line, member) for line in lines]})


def _question(line: QuestionLine, member: Membership) -> Document:
    question = line.question
    return {
        "id": question.pk,
        "asked_at": question.asked_at,
        **({"position": line.position} if member.role == EXPERT else {"expert": line.pseudonym}),
        "unit": _unit(line.unit),
        "text": question.text,
        "answer": question.answer or None,
        "answered_at": question.answered_at,
        "read_at": question.read_at,
    }


def _unit(unit: UnitText) -> Document:
    if unit.compound:
        sentences = [{"source": source, "translation": translation} for source, translation in unit.sentences]
        return {"compound": unit.compound, "sentences": sentences}
    return {"head": unit.head, "relation": unit.relation, "tail": unit.tail}
