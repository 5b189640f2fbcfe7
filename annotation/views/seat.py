"""The expert's pages: what there is to do, the judging page, looking back, handing in, the guidelines."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Annotation, Campaign, Membership, Precedent
from annotation.permissions import EXPERT, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services import jobs, questions
from annotation.services.answers import save_answers
from annotation.services.campaign_state import closing_reason
from annotation.services.errors import NotYours, Refused, Stale
from annotation.services.examples import relations_shown
from annotation.services.guidelines import pending
from annotation.services.hours import paid_seconds, time_so_far
from annotation.services.news import news_for
from annotation.services.precedents import PrecedentLine, precedents_about
from annotation.services.returns import returned_to
from annotation.services.screens import (
    judged_before,
    looked_back,
    next_screens,
    out_of_sight,
    progress,
    screen_at,
)
from annotation.services.seat import (
    SEARCH_LIMIT,
    find_screens,
    guideline_shown,
    postpone,
    review_part,
)
from annotation.services.seat import (
    hand_in as hand_in_part,
)
from annotation.services.seat_numbers import assignment_of
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from annotation.tasks import wake
from annotation.templatetags.seat import in_language
from annotation.views.accounts import safe_page
from annotation.views.guidelines import after_change
from annotation.views.notice import after_notice
from annotation.views.seat_form import Blank, SheetForm, stamp, stamp_again
from annotation.views.seat_page import (
    CLOSED,
    HELD,
    closed_by,
    is_side_by_side,
    lines_of,
    page_data,
    reason_keys,
)

# What the script copies for each context of the next compound.
EMPTY_ROW = {"assignment": 0, "revision": 0, "source": "", "span": None, "translation": "", "answer": None}

page = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
@members_only(EXPERT)
@after_notice
def work(request: PersonRequest, member: Membership) -> HttpResponse:
    """Where an expert's work stands, and the way on."""
    campaign, expert = member.campaign, request.user
    if _wants_json(request):  # the script asks whose sign-in this browser holds by now, and what is new
        guideline = guideline_shown(campaign)
        return JsonResponse(
            {
                "user": expert.pk,
                "new_answers": questions.new_answers(campaign, expert),
                "guideline": guideline and guideline.pk,
            }
        )
    upcoming = next_screens(campaign, expert_id=expert.pk)
    standing, news = progress(campaign, expert_id=expert.pk), news_for(member)
    so_far = time_so_far(campaign, expert_id=expert.pk)
    return render(
        request,
        "annotation/work.html",
        {
            "campaign": campaign,
            "progress": standing,
            "standing": _standing(standing),
            "judged_before": not standing["parts"] and judged_before(campaign, expert_id=expert.pk),
            "next": upcoming[0] if upcoming else None,
            "new_answers": news.answers,
            "unread_threads": news.threads,
            "settled_open": news.settled,
            "seconds": so_far.seconds,
            "practised": so_far.practised,
            "wording": wording_of(campaign),
            "returned": returned_to(campaign, expert),
            "closing_reason": closing_reason(campaign),
            "pending": pending(member, shown=guideline_shown(campaign)),
        },
    )


def _standing(progress: dict[str, Any]) -> str:
    """What is left to do, in a word: judge, hand_in, or nothing (handed_in, frozen in closed batches, closed)."""
    if progress["parts"] and all(part["closed"] for part in progress["parts"]):
        return "closed"
    if progress["parts"] and all(part["closed"] or part["frozen"] for part in progress["parts"]):
        return "frozen"
    if progress["done"] < progress["total"]:
        return "judge"
    return "handed_in" if all(part["handed_in"] for part in progress["parts"]) else "hand_in"


@page
@members_only(EXPERT)
@after_notice
@after_change
def judge(request: PersonRequest, member: Membership) -> HttpResponse:
    """One screen at a time. The script takes over from here; without it every button sends the form."""
    campaign, expert = member.campaign, request.user
    position = _whole(request, "position")
    if request.method == "POST":
        return _save(request, campaign, position=_whole(request, "position", posted=True))
    held = next_screens(campaign, expert_id=expert.pk, count=HELD[campaign.protocol])
    if position is None:
        return _judge_page(request, campaign, held[0] if held else None, held=held)
    found = screen_at(campaign, expert_id=expert.pk, position=position)
    if found is None:
        return _none_there(request, campaign)
    return _judge_page(request, campaign, found, held=held)


def _none_there(request: PersonRequest, campaign: Campaign) -> HttpResponse:
    """No screen at this address; who has answers out of sight is told so, whatever the address."""
    if not out_of_sight(campaign, expert_id=request.user.pk).exists():
        raise Http404
    return render(request, "annotation/out_of_sight.html", {"campaign": campaign}, status=404)


def _judge_page(
    request: PersonRequest,
    campaign: Campaign,
    screen: dict[str, Any] | None,
    *,
    held: list[dict[str, Any]],
    form: dict[str, str] | None = None,
    stored: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page of this screen. Where it comes back unsaved, with what its form carried, and as it is stored."""
    expert = request.user
    standing = progress(campaign, expert_id=expert.pk)
    before = looked_back(campaign, expert_id=expert.pk, count=1)
    guideline, wording = request.guideline or guideline_shown(campaign), wording_of(campaign)
    correcting = screen is not None and all(row["answer"] for row in (stored or screen)["rows"])
    closed = CLOSED.get(_closed_by(campaign, standing, screen["part"])) if screen else None
    return render(
        request,
        "annotation/judge.html",
        {
            "campaign": campaign,
            "protocol": get_protocol(campaign.protocol),
            "wording": wording,
            "zero_details": wording.details if campaign.zero_detail else (),
            "reasons": wording.reasons,
            "reason_keys": reason_keys(wording),
            "relations": relations_shown(campaign),
            "guideline": guideline,
            "screen": screen,
            "lines": lines_of(screen) if screen else [],
            "side_by_side": is_side_by_side(screen),
            "correcting": correcting,
            "part_name": _name_of(standing["parts"], screen["part"]) if screen else "",
            "closed": closed,
            "standing": _standing(standing),
            "resolving": any(part["resolution"] and not part["closed"] for part in standing["parts"]),
            "judged_before": not standing["parts"] and judged_before(campaign, expert_id=expert.pk),
            "new_answers": questions.new_answers(campaign, expert),
            "last": before.screens[0] if before.screens else None,
            "progress": standing,
            "form": form or stamp(),
            "empty_row": EMPTY_ROW,
            "data": page_data(
                campaign,
                expert=expert,
                guideline=guideline,
                shown=screen,
                held=held,
                standing=standing,
                before=before,
            ),
        },
        status=status,
    )


def _name_of(parts: list[dict[str, Any]], index: int) -> str:
    return next((str(part["name"]) for part in parts if part["index"] == index), "")


def _closed_by(campaign: Campaign, standing: dict[str, Any], index: int) -> str:
    return next((closed_by(campaign, part) for part in standing["parts"] if part["index"] == index), "")


# The same page as a form


def _save(request: PersonRequest, campaign: Campaign, *, position: int | None) -> HttpResponse:
    """Store what was filled in and go on; what is wrong is said on the same page, with nothing lost."""
    expert = request.user
    screen = position and screen_at(campaign, expert_id=expert.pk, position=position)
    if not screen:
        return _none_there(request, campaign)
    form, sheet = SheetForm(request.POST, screen, campaign, expert=expert.pk), None
    try:
        if request.POST.get("action") == "later":
            rows = [assignment_of(row["assignment"], expert=expert.pk) for row in screen["rows"]]
            postpone(campaign, expert_id=expert.pk, screen_id=rows[0], assignments=rows)
        elif sheet := form.sheet():
            save_answers(
                sheet,
                slug=campaign.slug,
                expert_id=expert.pk,
                source=Annotation.Source.FORM,
                language=get_language() or "",
            )
        if request.POST.get("action") != "later":
            form.refuse_blanks()
    except Blank as blank:
        messages.warning(request, blank.message)
        return _to_screen(campaign, screen) if sheet else _unsaved(request, campaign, form, blank)
    except (Refused, ProtocolError) as error:
        messages.error(request, _said(error))
        return _unsaved(request, campaign, form, error)
    upcoming = next_screens(campaign, expert_id=expert.pk)
    return _to_screen(campaign, upcoming[0] if upcoming else None)


def _unsaved(
    request: PersonRequest, campaign: Campaign, form: SheetForm, error: Blank | Refused | ProtocolError
) -> HttpResponse:
    """The same page again, as it was filled in."""
    return _judge_page(
        request,
        campaign,
        form.filled_in(),
        held=next_screens(campaign, expert_id=request.user.pk, count=HELD[campaign.protocol]),
        form=stamp_again(form, error),
        stored=form.screen,
        status=409 if isinstance(error, Refused) else 400,
    )


def _said(error: Refused | ProtocolError) -> str:
    if not isinstance(error, Stale):
        return translated(error.message)
    return _(
        "This unit was answered elsewhere in the meantime. Your choices are still filled in below; save again to put "
        "them in place of the stored answer, or leave this page to keep it."
    )


def _to_screen(campaign: Campaign, screen: dict[str, Any] | None) -> HttpResponse:
    """Every screen has its own address, so that the browser's Back shows that screen as it is stored."""
    address = reverse("judge", args=[campaign.slug])
    return redirect(f"{address}?{urlencode({'position': screen['position']})}" if screen else address)


def _whole(request: HttpRequest, name: str, *, posted: bool = False) -> int | None:
    raw = (request.POST if posted else request.GET).get(name, "")
    if not raw:
        return None
    if not raw.isascii() or not raw.isdigit() or len(raw) > 9:
        raise Http404
    return int(raw)


def _wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "") == "application/json"


# Looking back


@require_safe
@members_only(EXPERT)
def history(request: PersonRequest, member: Membership) -> HttpResponse:
    """The last fifty screens one answered, or those that hold some words; each can be opened and corrected. Where
    there are fewer, and some are out of sight, it says so.

    Before them the precedents that hold these words, or are about the unit on the screen at `position`.
    """
    campaign, expert = member.campaign, request.user
    text = request.GET.get("q", "").strip()[:200]
    position = _whole(request, "position")
    at = None if position is None else screen_at(campaign, expert_id=expert.pk, position=position)
    precedents = precedents_about(campaign, expert_id=expert.pk, text=text, screen=at)
    told = {"precedents": [_precedent(line) for line in precedents]}
    if _wants_json(request) and request.headers.get("X-Assay-Expert") not in (None, str(expert.pk)):
        raise Http404  # a page that was left open does not search for the next person
    if _wants_json(request) and at is not None and not text:  # the script has the latest answers already
        return JsonResponse({"units": [], **told})
    if text:
        found = find_screens(campaign, expert_id=expert.pk, text=text)
    else:
        found = looked_back(campaign, expert_id=expert.pk, count=SEARCH_LIMIT)
    if _wants_json(request):
        units = {"units": found.screens, "partial": found.partial, "closed": found.closed}
        return JsonResponse({**units, **told})
    upcoming = next_screens(campaign, expert_id=expert.pk)
    standing = progress(campaign, expert_id=expert.pk)
    parts = standing["parts"]
    context = {
        "campaign": campaign,
        "wording": wording_of(campaign),
        "precedents": precedents,
        "screens": [{**screen, "part_name": _name_of(parts, screen["part"])} for screen in found.screens],
        "text": text,
        "partial": found.partial,
        "closed": found.closed,
        "standing": _standing(standing),
        "next": upcoming[0] if upcoming else None,
        "may_correct": not all(part["handed_in"] or part["closed"] for part in parts),
    }
    return render(request, "annotation/history.html", context)


def _precedent(line: PrecedentLine) -> dict[str, Any]:
    """What the script is told of a precedent."""
    return {
        "about": str(Precedent.About(line.about).label),
        "key": line.key,
        "text": in_language(line.text),
        "items": [unit.compound or f"{unit.head} · {unit.tail}" for unit in line.items],
    }


# Handing in


@page
@members_only(EXPERT)
@after_change
def hand_in(request: PersonRequest, member: Membership, index: int) -> HttpResponse:
    """The list to look through before a part is final; afterwards, thanks and what follows."""
    campaign, expert = member.campaign, request.user
    try:
        if request.method == "POST":
            with transaction.atomic():
                part = hand_in_part(campaign, expert_id=expert.pk, index=index)
                for job in jobs.request_after_hand_in(campaign=campaign, part=part.pk, by=expert):
                    wake(job)
            return redirect("hand_in", campaign.slug, index)
        review = review_part(campaign, expert_id=expert.pk, index=index)
    except NotYours:
        raise Http404 from None
    except Refused as error:
        messages.error(request, translated(error.message))
        return redirect("hand_in", campaign.slug, index)
    upcoming = next_screens(campaign, expert_id=expert.pk)
    parts = progress(campaign, expert_id=expert.pk)["parts"]
    return render(
        request,
        "annotation/hand_in.html",
        {
            "campaign": campaign,
            "review": review,
            "wording": wording_of(campaign),
            "part_name": _name_of(parts, index),
            "next_name": _name_of(parts, upcoming[0]["part"]) if upcoming else "",
            "causes": {
                cause.code: cause.words for cause in get_protocol(campaign.protocol).cannot_judge_causes
            },
            "next": upcoming[0] if upcoming else None,
            "to_hand_in": next(
                (
                    part
                    for part in parts
                    if part["done"] == part["total"] and not (part["handed_in"] or part["closed"])
                ),
                None,
            ),
            "seconds": paid_seconds(campaign, expert_id=expert.pk),
            "owner": {"user": expert.pk, "campaign": campaign.slug},
        },
    )


# What to go by


@require_safe
@members_only(EXPERT)
def guidelines(request: PersonRequest, member: Membership) -> HttpResponse:
    """The guidelines in force, with the relations' definitions and examples."""
    campaign = member.campaign
    guideline = guideline_shown(campaign)
    return render(
        request,
        "annotation/guidelines.html",
        {
            "campaign": campaign,
            "guideline": guideline,
            "wording": wording_of(campaign),
            "relations": relations_shown(campaign),
            "pending": pending(member, shown=guideline),
            "back": safe_page(request, request.GET.get("next") or reverse("work", args=[campaign.slug])),
        },
    )
