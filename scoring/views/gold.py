"""Gold items: marked one by one or by a file, and how often experts give the label that is known."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation.formats.errors import FormatError
from annotation.formats.judgements import read_judgements
from annotation.formats.tables import read_table
from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services import gold as marks
from annotation.services.errors import NotYours, Refused
from annotation.services.sentences import translated, with_sentence
from annotation.services.wording import wording_of
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from scoring.forms.gold import GoldFileForm, GoldForm
from scoring.services.gold import gold_report
from scoring.services.peeks import record_peek, still_open
from scoring.templatetags.figures import answer_title
from scoring.views.reports import refuse_to_read_interim, report_response

GOLD = "gold"  # what a look at these figures is called
PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def gold(request: PersonRequest, member: Membership) -> HttpResponse:
    """The marked items and the figures. While answers are open, only a POST shows these, and is written down."""
    if request.method == "POST":
        record_peek(member.campaign, GOLD, by=request.user)
    return _page(request, member)


def _page(
    request: PersonRequest,
    member: Membership,
    *,
    form: GoldForm | None = None,
    file_form: GoldFileForm | None = None,
    findings: Any = None,
    status: int = 200,
) -> HttpResponse:
    campaign = member.campaign
    interim = still_open(campaign, GOLD)
    after = request.GET.get("after", "")
    start = int(after) if after.isascii() and after.isdigit() and len(after) < 10 else 0
    listed = marks.gold_of(campaign, after=start, limit=PAGE + 1)
    context = {
        "golds": listed[:PAGE],
        "next_after": listed[PAGE - 1].item.position if len(listed) > PAGE else None,
        "n": marks.gold_count(campaign),
        "interim": interim,
        "report": gold_report(campaign) if not interim or _asked(request) else None,
        "form": form or GoldForm(labels=_labels(campaign)),
        "file_form": file_form or GoldFileForm(compound=_of_compounds(campaign)),
        "findings": findings,
    }
    return campaign_page(request, member, "scoring/gold.html", context, tab="items", status=status)


def _labels(campaign: Campaign) -> list[tuple[str, str]]:
    """The answers of the scale, the first one first."""
    codes = reversed(get_protocol(campaign.protocol).labels)
    return [(code, answer_title(code, campaign)) for code in codes]


def _of_compounds(campaign: Campaign) -> bool:
    return campaign.protocol == Campaign.Protocol.COMPOUND


def _asked(request: PersonRequest) -> bool:
    """Whether the figures were asked for, and not something marked on the same page."""
    return request.method == "POST" and "figures" in request.POST


@require_POST
@members_only(MANAGER)
def gold_mark(request: PersonRequest, member: Membership) -> HttpResponse:
    """Mark one item by its position."""
    form = GoldForm(request.POST, labels=_labels(member.campaign))
    if not form.is_valid():
        return _page(request, member, form=form, status=400)
    try:
        marks.mark(member.campaign, **form.cleaned_data, by=request.user)
    except (NotYours, Refused, ProtocolError) as refusal:
        form.add_error(None, translated(refusal.message))
        return _page(request, member, form=form, status=409)
    messages.success(request, _("The item is marked; experts see nothing of it."))
    return redirect("gold", member.campaign.slug)


@require_POST
@members_only(MANAGER)
def gold_upload(request: PersonRequest, member: Membership) -> HttpResponse:
    """Mark the items of a table, all or none."""
    form = GoldFileForm(request.POST, request.FILES, compound=_of_compounds(member.campaign))
    if not form.is_valid():
        return _page(request, member, file_form=form, status=400)
    sent = form.cleaned_data["file"]
    try:
        table = read_table(sent.read(), name=sent.name)
        file = read_judgements(
            table,
            protocol=member.campaign.protocol,
            annotator=marks.NOBODY,
            wording=wording_of(member.campaign),
        )
        report, marked = marks.mark_file(member.campaign, file, by=request.user)
    except (FormatError, Refused) as refusal:
        form.add_error(None, translated(refusal.message))
        return _page(request, member, file_form=form, status=400)
    if marked is None:
        findings = [with_sentence(one) for one in report.as_json()["errors"][:PAGE]]
        return _page(request, member, file_form=form, findings=findings, status=400)
    messages.success(
        request,
        _("%(added)d items are marked, %(changed)d changed, %(unchanged)d were there already.")
        % marked.as_json(),
    )
    return redirect("gold", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def gold_unmark(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Take a mark off."""
    item = marks.unmark(member.campaign, pk, by=request.user)
    messages.success(request, _("Item %(position)d is no gold item any more.") % {"position": item.position})
    return redirect("gold", member.campaign.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@plain_refusals
@members_only(MANAGER)
def gold_file(request: PersonRequest, member: Membership, format: str) -> HttpResponse:  # noqa: A002
    """The figures as Markdown, LaTeX, CSV or JSON; interim ones by POST only, which is written down."""
    refuse_to_read_interim(request, member.campaign, GOLD)
    if request.method == "POST":
        record_peek(member.campaign, GOLD, by=request.user)
    return report_response(member.campaign, GOLD, gold_report(member.campaign), format)
