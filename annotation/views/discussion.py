"""Discussions of single items: the list, a thread, what is said and decided. For managers and the item's experts."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms.base import OnceForm, Text
from annotation.models import Campaign, Item, Membership
from annotation.permissions import EXPERT, MANAGER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services import arbitration, jobs
from annotation.services import discussion as service
from annotation.services.again_rounds import is_being_judged_again
from annotation.services.errors import NotYours, Refused
from annotation.services.frozen import standings
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from annotation.tasks import wake
from annotation.templatetags.manage import label_word
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals

PAGE = 50


class CommentForm(OnceForm):
    """Something to say."""

    text = Text(
        label=gettext_lazy("Your comment"),
        max_length=service.LENGTH,
        widget=forms.Textarea(attrs={"rows": 4}),
    )


class DecisionForm(forms.Form):
    """What a discussion comes to."""

    decision = Text(
        label=gettext_lazy("What was decided, as a rule"),
        max_length=service.LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class LabelForm(forms.Form):
    """The label that an arbiter decides, and why."""

    label = forms.ChoiceField(label=gettext_lazy("The label"), widget=forms.RadioSelect)
    reason = Text(
        label=gettext_lazy("Why"),
        max_length=service.LENGTH,
        help_text=gettext_lazy("The item's experts read it."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, data: Any = None, *, campaign: Campaign) -> None:
        super().__init__(data)
        self.fields["label"].choices = [  # type: ignore[attr-defined]
            (label, label_word(label, campaign)) for label in arbitration.LABELS
        ]


@require_safe
@members_only(MANAGER, EXPERT)
def discussions(request: PersonRequest, member: Membership) -> HttpResponse:
    """The threads that this person may open, fifty a page."""
    show = request.GET.get("show", service.SHOWS[0])
    if show not in service.SHOWS:
        raise Http404
    numbers = service.thread_counts(member)
    pages = Paginator(service.thread_lines(member, show=show), PAGE)
    pages.count = numbers[show]
    page = pages.get_page(request.GET.get("page"))
    context = {
        "show": show,
        "numbers": numbers,
        "shows": service.SHOWS,
        "page": page,
        "lines": service.as_lines(list(page.object_list)),
        "wording": wording_of(member.campaign),
    }
    return _page(request, member, "annotation/discussions.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, EXPERT)
def discussion(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """One item with its answers and what is said about it; the form says something more."""
    form = CommentForm(request.POST if request.method == "POST" else None)
    try:
        if request.method == "POST" and form.is_valid():
            try:
                service.say(member, pk, **form.cleaned_data)
            except NotYours:
                raise
            except (Refused, ProtocolError) as refusal:
                form.add_error(None, translated(refusal.message))
            else:
                messages.success(request, _("Your comment is stored."))
                return redirect("discussion", member.campaign.slug, pk)
        return _thread_page(request, member, pk, form=form)
    except NotYours:
        raise Http404 from None


def _thread_page(
    request: PersonRequest,
    member: Membership,
    pk: int,
    *,
    form: CommentForm | None = None,
    decision: DecisionForm | None = None,
) -> HttpResponse:
    found = service.thread_page(member, pk)
    form = form or CommentForm()
    decision = decision or DecisionForm(initial={"decision": found.thread.decision})
    context = {
        "found": found,
        "thread": found.thread,
        "item": found.item,
        "form": form,
        "decision_form": decision,
        **_words(member.campaign),
    }
    status = 400 if form.errors or decision.errors else 200
    return _page(request, member, "annotation/discussion.html", context, status=status)


def _words(campaign: Campaign) -> dict[str, Any]:
    """How answers are put in words."""
    wording = wording_of(campaign)
    causes = get_protocol(campaign.protocol).cannot_judge_causes
    return {
        "causes": {cause.code: cause.words for cause in causes},
        "reasons": {reason.code: reason.words for reason in wording.reasons},
        "wording": wording,
    }


def _page(
    request: PersonRequest, member: Membership, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    parent = "annotation/campaign_base.html" if member.role == MANAGER else "base.html"
    return campaign_page(
        request, member, template, {"parent": parent, **context}, tab="discussions", status=status
    )


@require_POST
@plain_refusals
@members_only(MANAGER, EXPERT)
def discussion_seen(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """A thread was read up to a moment: what came until then is no longer marked as new."""
    until = parse_datetime(request.POST.get("until", "")) if request.POST.get("until", "").isascii() else None
    if until is None or until.tzinfo is None:
        raise Refused(_("This form is incomplete; open the page again."))
    service.mark_seen(member, pk, until=until)
    return redirect("discussion", member.campaign.slug, pk)


@require_POST
@plain_refusals
@members_only(MANAGER)
def discussion_resolve(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Close a thread with its decision."""
    form = DecisionForm(request.POST)
    if form.is_valid():
        try:
            service.resolve(member, pk, decision=form.cleaned_data["decision"])
        except NotYours:
            raise
        except Refused as refusal:
            form.add_error(None, translated(refusal.message))
        else:
            messages.success(request, _("The decision is stored; the item's experts see it."))
            return redirect("discussion", member.campaign.slug, pk)
    return _thread_page(request, member, pk, decision=form)


@require_POST
@plain_refusals
@members_only(MANAGER)
def discussion_reopen(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Go on talking."""
    service.reopen(member, pk)
    messages.success(request, _("The discussion is open again."))
    return redirect("discussion", member.campaign.slug, pk)


# By item ---------------------------------------------------------------------------------------------------------


@require_POST
@plain_refusals
@members_only(MANAGER)
def item_discuss(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Open an item to discussion."""
    thread = service.open_thread(member.campaign, pk, by=request.user)
    messages.success(request, _("The item is open to discussion; its answers stay as they are."))
    return redirect("discussion", member.campaign.slug, thread.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@plain_refusals
@members_only(MANAGER)
def item_decide(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Decide the label of an item as its arbiter."""
    campaign = member.campaign
    items = Item.objects.published().filter(campaign=campaign, pk=pk).select_related("unit", "context")
    item = items.first()
    if item is None or (item.retired_at is not None and arbitration.in_force(pk) is None):
        raise Http404  # of a withdrawn item the decision can be taken back, and nothing else
    form = LabelForm(request.POST if request.method == "POST" else None, campaign=campaign)
    if request.method == "POST" and form.is_valid():
        try:
            arbitration.arbitrate(campaign, pk, by=request.user, **form.cleaned_data)
        except (Refused, ProtocolError) as refusal:
            form.add_error(None, translated(refusal.message))
        else:
            _label_anew(request, member)
            messages.success(request, _("The label is decided; the votes stay as they are."))
            return redirect("item_decide", campaign.slug, pk)
    independent, again = service.answers_to_decide(member, item)
    context = {
        "item": item,
        "form": form,
        "decision": arbitration.in_force(pk),
        "thread": _thread_of(item),
        "independent": independent,
        "again": again,
        "openable": standings(campaign, [item])[pk].openable,
        "at_work": is_being_judged_again(item),
        **_words(campaign),
    }
    status = 400 if form.errors else 200
    return campaign_page(
        request, member, "annotation/item_decide.html", context, tab="discussions", status=status
    )


@require_POST
@plain_refusals
@members_only(MANAGER)
def item_decision_back(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Take an arbiter's decision back: the rule decides again."""
    item = arbitration.take_back(member.campaign, pk, by=request.user)
    _label_anew(request, member)
    if item.retired_at is not None:
        messages.success(request, _("The decision is taken back; the item stays withdrawn."))
        return redirect("campaign_items", member.campaign.slug)
    messages.success(request, _("The decision is taken back; the rule decides again."))
    return redirect("item_decide", member.campaign.slug, pk)


def _label_anew(request: PersonRequest, member: Membership) -> None:
    """Final labels that are there follow; where none are, nothing waits."""
    if member.campaign.label_version:
        wake(jobs.request(campaign=member.campaign, kind="finalize", arguments={}, by=request.user))


def _thread_of(item: Item) -> Any:
    return getattr(item, "thread", None)
