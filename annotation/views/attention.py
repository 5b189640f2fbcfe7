"""Things that need a manager, in one list, with what can be done about each."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms.base import Text
from annotation.forms.items import RulingForm
from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.services.attention import Stage, failed_jobs, files_with_conflicts, reports
from annotation.services.errors import NotYours, Refused
from annotation.services.fix_text import FIELDS, TEXT_LENGTH, consequences, fix_text, texts_of
from annotation.services.looked_at import NOTE_LENGTH, leave_as_is
from annotation.services.needs import Standing, needs
from annotation.services.returns import RULING_LENGTH, return_answer
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from annotation.views.campaign_page import campaign_page
from annotation.views.jobs import JobLine, job_title, part_numbers
from annotation.views.refusals import plain_refusals

LABELS = {
    "head": gettext_lazy("Head"),
    "tail": gettext_lazy("Tail"),
    "source": gettext_lazy("Source"),
    "translation": gettext_lazy("Translation"),
}


class FixForm(forms.Form):
    """The texts of one item, to be put right."""

    def __init__(self, data: Any = None, *, campaign: Campaign, texts: dict[str, str]) -> None:
        super().__init__(data, initial=texts)
        for name in FIELDS[campaign.protocol]:
            self.fields[name] = Text(
                label=LABELS[name],
                max_length=TEXT_LENGTH,
                strip=False,
                widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
            )


@require_safe
@members_only(MANAGER)
def attention(request: PersonRequest, member: Membership) -> HttpResponse:
    """Everything that needs a manager, and what experts reported, what was returned, conflicts, failed jobs, who is
    late, each with what can be done about it.
    """
    return _attention_page(request, member)


def _attention_page(
    request: PersonRequest, member: Membership, *, tried: dict[int, Any] | None = None, status: int = 200
) -> HttpResponse:
    campaign = member.campaign
    after = request.GET.get("after", "")
    numbers = part_numbers(campaign)
    causes = get_protocol(campaign.protocol).cannot_judge_causes
    standing = Standing.counted(campaign)
    context = {
        "wording": wording_of(campaign),
        "needs": needs(campaign, standing),
        "waiting": reports(campaign, after=int(after) if after.isdecimal() and len(after) < 19 else 0),
        "returned": reports(campaign, Stage.RETURNED),
        "looked_at": reports(campaign, Stage.LOOKED_AT),
        "conflicts": files_with_conflicts(campaign),
        "jobs": [JobLine(job, job_title(job, numbers)) for job in failed_jobs(campaign)],
        "late": [line for line in standing.rounds if line.late],
        "causes": {cause.code: cause.words for cause in causes},
        "limit": RULING_LENGTH,
        "note_limit": NOTE_LENGTH,
        "tried": tried or {},
        "here": reverse("attention", args=[campaign.slug]),
    }
    return campaign_page(
        request, member, "annotation/attention.html", context, tab="attention", status=status
    )


@require_POST
@plain_refusals
@members_only(MANAGER)
def answer_return(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Give an answer back to its expert, with a ruling."""
    form = RulingForm(request.POST)
    try:
        ruling = form.cleaned_data["ruling"] if form.is_valid() else ""
        return_answer(member.campaign, assignment=pk, ruling=ruling, by=request.user)
    except NotYours:
        raise
    except Refused as refusal:
        tried = {pk: {"ruling": request.POST.get("ruling", ""), "error": translated(refusal.message)}}
        return _attention_page(request, member, tried=tried, status=400)
    messages.success(request, _("The answer goes back to its expert, with your ruling."))
    return redirect("attention", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def problem_leave(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Leave an answer that reports something as it is, with a note."""
    note = request.POST.get("note", "")
    try:
        leave_as_is(member.campaign, assignment=pk, note=note, by=request.user)
    except NotYours:
        raise
    except Refused as refusal:
        tried = {pk: {"note": note, "note_error": translated(refusal.message)}}
        return _attention_page(request, member, tried=tried, status=400)
    messages.success(request, _("It is noted; the answer stays as it is."))
    return redirect("attention", member.campaign.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@plain_refusals
@members_only(MANAGER)
def item_fix(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Put an item's text right; its experts are asked for the corrected one."""
    campaign = member.campaign
    item, texts = texts_of(campaign, pk)
    follows = consequences(item)
    form = FixForm(request.POST if request.method == "POST" else None, campaign=campaign, texts=texts)
    if request.method == "POST" and form.is_valid():
        try:
            fix_text(campaign, pk, texts=form.cleaned_data, by=request.user)
        except NotYours:
            raise
        except Refused as refusal:
            form.add_error(None, translated(refusal.message))
        else:
            messages.success(
                request,
                _("The corrected text is stored, and its experts are asked for it.")
                if follows.asked
                else _("The corrected text is stored. Nobody is asked for it."),
            )
            return redirect("attention", campaign.slug)
    context = {"form": form, "item": item, "follows": follows}
    return campaign_page(
        request,
        member,
        "annotation/item_fix.html",
        context,
        tab="attention",
        status=400 if form.errors else 200,
    )
