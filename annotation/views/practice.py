"""Practice before the first unit: judge, see at once whether it was right and why. Only its time is stored."""

import time
import uuid
from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Membership, TimeEntry
from annotation.permissions import EXPERT, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import KeyReused
from annotation.services.hours import record
from annotation.services.practice import Mark, PracticeUnit, choices, mark, units_for
from annotation.services.wording import wording_of
from annotation.views.notice import after_notice

_SALT = "practice.page"


@require_safe
@members_only(EXPERT)
@after_notice
def practice(request: PersonRequest, member: Membership) -> HttpResponse:
    """What practice is, and its units."""
    campaign = member.campaign
    units = units_for(campaign)
    return render(request, "annotation/practice.html", {"campaign": campaign, "units": units})


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(EXPERT)
@after_notice
def practice_unit(request: PersonRequest, member: Membership, number: int) -> HttpResponse:
    """One unit: the empty form, then the same with explanations, then on to the next."""
    units = units_for(member.campaign)
    unit = next((unit for unit in units if unit.number == number), None)
    if unit is None:
        raise Http404
    if request.method != "POST":
        return _unit_page(request, member, unit)
    _record_time(request, member)
    if request.POST.get("action") == "next":
        return _after(member, unit, last=unit is units[-1])
    given = [request.POST.get(f"row-{row}", "") for row, _row in enumerate(unit.rows, start=1)]
    try:
        marks = mark(unit, given, campaign=member.campaign)
    except ProtocolError:
        messages.warning(request, _("Answer every row first."))
        return _unit_page(request, member, unit, given=given, status=400)
    return _unit_page(request, member, unit, given=given, marks=marks)


def _unit_page(
    request: PersonRequest,
    member: Membership,
    unit: PracticeUnit,
    *,
    given: list[str] | None = None,
    marks: tuple[Mark, ...] = (),
    status: int = 200,
) -> HttpResponse:
    campaign = member.campaign
    answers = given or [""] * len(unit.rows)
    context: dict[str, Any] = {
        "campaign": campaign,
        "unit": unit,
        "wording": wording_of(campaign),
        "total": len(units_for(campaign)),
        "choices": choices(campaign),
        "rows": [
            {"row": row, "given": answer, "mark": made}
            for row, answer, made in zip(unit.rows, answers, marks or [None] * len(unit.rows), strict=True)
        ],
        "marks": marks,
        "right": sum(made.right for made in marks),
        "stamp": signing.dumps({"at": time.time(), "key": str(uuid.uuid4())}, salt=_SALT),
    }
    return render(request, "annotation/practice_unit.html", context, status=status)


def _after(member: Membership, unit: PracticeUnit, *, last: bool) -> HttpResponse:
    if not last:
        return redirect("practice_unit", member.campaign.slug, unit.number + 1)
    return redirect("work", member.campaign.slug)


def _record_time(request: PersonRequest, member: Membership) -> None:
    """From the moment the page was made. A stamp that is missing or was changed brings no time, no error either."""
    with suppress(signing.BadSignature, KeyReused):  # reused: the same form was sent again
        stamp = signing.loads(request.POST.get("stamp", ""), salt=_SALT)
        record(
            member.campaign,
            request.user,
            kind=TimeEntry.Kind.PRACTICE,
            seconds=max(0.0, time.time() - stamp["at"]),
            client_key=uuid.UUID(stamp["key"]),
        )
