"""The items behind a number of a report, fifty a page. Nobody's name stands there but pseudonyms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from annotation.services.items import PAGE, ItemLine, chosen_lines
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page
from scoring.services.behind import Behind, Number, items_behind
from scoring.services.behind.packed import unpacked
from scoring.services.peeks import closed_to_reading, is_interim, open_answers, record_peek
from scoring.templatetags.figures import answer_title, state_word
from scoring.views.reports import choice_of, kind_of
from scoring.views.words import COUNTED, UNITS

PLACES = ("of", "by", "value", "a", "b")
CHECK = "compound-check"  # its lexicon is not kept: the form that leads here carries the items


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, VIEWER)
def report_items(request: PersonRequest, member: Membership, kind: str) -> HttpResponse:
    """One number by what it counts, the row it stands in and, on agreement, a pair of people.

    While answers are open, a list of what they are is an interim figure: a manager's request for it is recorded.
    """
    campaign = member.campaign
    found, choice = kind_of(campaign, kind), choice_of(request, campaign, kind)
    number = Number(**{name: request.GET.get(name, "") for name in PLACES})
    context: dict[str, Any] = {"kind": found, "choice": choice, "number": number}
    if kind != CHECK and is_interim(campaign, kind):
        if request.method != "POST" or member.role != MANAGER:
            context["interim"] = translated(closed_to_reading(open_answers(campaign)))
            return _page(request, member, context, status=409)
        record_peek(campaign, kind, by=request.user)
    try:
        behind = _carried(request) if kind == CHECK else items_behind(campaign, kind, choice.options, number)
    except (Refused, ProtocolError) as refusal:
        context["refusal"] = translated(refusal.message)
        return _page(request, member, context, status=400)
    page = Paginator(behind.items, PAGE).get_page(request.POST.get("page", request.GET.get("page")))
    lines = lines_on(campaign, behind, page)
    context |= {
        "behind": behind,
        "counted": COUNTED.get(number.of, number.of),
        "unit": UNITS[behind.unit],
        "page": page,
        "lines": lines,
        "tells": any(line.told for line in lines),
        "search": {
            "query": "?" + urlencode({name: request.GET[name] for name in request.GET if name != "page"})
        },
        "causes": {cause.code: cause.words for cause in get_protocol(campaign.protocol).cannot_judge_causes},
        "posted": request.method == "POST",
        "carried": request.POST.get("items", ""),
    }
    return _page(request, member, context)


def _page(
    request: PersonRequest, member: Membership, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    return campaign_page(request, member, "scoring/report_items.html", context, tab="reports", status=status)


def _carried(request: PersonRequest) -> Behind:
    items = unpacked(request.POST.get("items", ""))
    return Behind(items=items, n=len(items), unit="contexts")


@dataclass(frozen=True)
class Line:
    """An item as the list of items shows it, and the answers that made the number, in words."""

    line: ItemLine
    told: Sequence[str]


def lines_on(campaign: Campaign, behind: Behind, page: "Page[int]") -> list[Line]:
    """The items of one page, each once, with the answers that made the number."""
    start = max(page.start_index() - 1, 0)
    lines = chosen_lines(campaign, behind.chosen(start, page.end_index()))
    place = {item: start + number for number, item in enumerate(page.object_list)}
    key = "position" if behind.key == "position" else "pk"
    return [Line(line, _told(campaign, behind.said(place[getattr(line.item, key)]))) for line in lines]


def _told(campaign: Campaign, said: Sequence[tuple[str, str]]) -> list[str]:
    """Who answered what, and what after it; without names, the label, or the labels before and after."""
    if not any(name for name, _code in said):
        return [" → ".join(state_word(code, campaign) for _name, code in said)] if said else []
    by_name: dict[str, list[str]] = {}
    for name, code in said:
        by_name.setdefault(name, []).append(str(answer_title(code, campaign)))
    return [f"{name}{_(': ')}{' → '.join(titles)}" for name, titles in by_name.items()]
