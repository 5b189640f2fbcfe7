"""How far a campaign is, for programs: its rounds and batches, and what its managers did. Nothing of any answer."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils.dateparse import parse_date
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.parameters import person, plain_text, whole_number
from annotation.formats.writers import CONTENT_TYPES, Cell, content_disposition, write_table
from annotation.models import Campaign, Round
from annotation.permissions import MANAGER, VIEWER, campaign_for
from annotation.services.audit_trail import COLUMNS, Entry, Wanted, export_rows, trail
from annotation.services.batches import Batch, batches_of
from annotation.services.dry_runs import decision_of
from annotation.services.round_progress import RoundLine, round_lines
from annotation.services.snapshot import snapshot

STREAMS = ("csv", "jsonl")

Document = dict[str, Any]


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def rounds(request: Request, slug: str) -> Response:
    """Every round in the order in which they were made: its state, by when it is due, how far each expert is in items.

    People stand under their pseudonyms. `decision` is how a dry run ended.
    """
    campaign = campaign_for(person(request), slug, MANAGER, VIEWER)
    return Response({"results": [_round(line) for line in round_lines(campaign)]})


def _round(line: RoundLine) -> Document:
    round_ = line.round
    return {
        "kind": round_.kind,
        "number": round_.number,
        "state": round_.state,
        "experts_per_item": round_.k,
        "guideline": round_.guideline.version,
        "began_at": line.began_at,
        "due_on": round_.due_on,
        "late": line.late,
        "closed_at": round_.closed_at,
        **({"decision": decision_of(round_)} if round_.kind == Round.Kind.DRY_RUN else {}),
        "given": line.given,
        "answered": line.answered,
        "experts": [
            {"expert": share.member.pseudonym, "given": share.given, "answered": share.answered}
            for share in line.shares
        ],
    }


@extend_schema(responses={200: OpenApiTypes.OBJECT})
@api_view(["GET"])
def batches(request: Request, slug: str) -> Response:
    """What was given out of the main round at a time, the first batch first: its parts, how far it is, whether it is
    frozen, and what it was closed without. People stand under their pseudonyms; parts count from 1.

    `repeats` are the hidden repeats among its units: no items, and counted apart; `missing` and `closed_without` count
    all answers, theirs too.
    """
    campaign = campaign_for(person(request), slug, MANAGER, VIEWER)
    return Response({"results": [_batch(batch) for batch in batches_of(campaign)]})


def _batch(batch: Batch) -> Document:
    return {
        "number": batch.number,
        "parts": [index + 1 for index in batch.parts],
        "items": batch.n_items,
        "given": batch.given,
        "answered": batch.answered,
        "repeats": {"given": batch.repeats_given, "answered": batch.repeats_answered},
        "missing": dict(batch.missing),
        "not_handed_in": list(batch.not_handed_in),
        "closed_at": batch.closed_at,
        "closed_without": dict(batch.missed),
        "reason": batch.reason or None,
        "opened_to_discussion": batch.opened,
        "decided_by_an_arbiter": batch.decided,
    }


@extend_schema(
    parameters=[
        OpenApiParameter(
            "format", str, enum=["json", *STREAMS], description="csv and jsonl stream everything"
        ),
        OpenApiParameter("action", str),
        OpenApiParameter("day", OpenApiTypes.DATE),
        OpenApiParameter("before", int, description="the `next` of the page before"),
    ],
    responses={200: OpenApiTypes.OBJECT, (200, "text/csv"): OpenApiTypes.STR},
)
@api_view(["GET"])
def audit(request: Request, slug: str) -> HttpResponseBase:
    """What was done here, the latest first, fifty a page; people under their pseudonyms. For managers only."""
    campaign = campaign_for(person(request), slug, MANAGER)
    wanted = Wanted(action=plain_text(request, "action"), day=_day(request))
    form = request.query_params.get("format", "json")
    if form in STREAMS:
        return _stream(campaign, wanted, form)
    if form != "json":
        raise serializers.ValidationError({"format": f"There is json, {' and '.join(STREAMS)}."})
    found = trail(campaign, wanted, before=whole_number(request, "before"))
    return Response({"next": found.next_before, "results": [_entry(entry) for entry in found.entries]})


def _day(request: Request) -> date | None:
    raw = request.query_params.get("day", "")
    if not raw:
        return None
    try:
        found = parse_date(raw)
    except ValueError:
        found = None
    if found is None or not date(1970, 1, 2) <= found <= date(9999, 1, 1):
        raise serializers.ValidationError({"day": "This is a day such as 2026-12-14."})
    return found


def _entry(entry: Entry) -> Document:
    return {
        "at": entry.at,
        "who": entry.who,
        "action": entry.action,
        "changes": [
            {"what": what, "before": before, "after": after} for what, before, after in entry.changes
        ],
        "detail": dict(entry.facts),
    }


def _stream(campaign: Campaign, wanted: Wanted, form: str) -> StreamingHttpResponse:
    def rows() -> Iterator[list[Cell]]:
        with snapshot():
            yield from export_rows(campaign, wanted)

    response = StreamingHttpResponse(
        write_table(form, COLUMNS, rows(), mark=False), content_type=CONTENT_TYPES[form]
    )
    response.headers["Content-Disposition"] = content_disposition(f"{campaign.slug}-audit.{form}")
    return response
