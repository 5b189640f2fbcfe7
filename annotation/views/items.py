"""A campaign's items: looking them up, taking one out, bringing it back."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.forms.base import ReasonForm
from annotation.forms.items import ItemFilterForm
from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.services import items, jobs
from annotation.services.gold import gold_among
from annotation.services.items import Wanted, groups_of, item_page
from annotation.services.labels import passed_over
from annotation.services.readings import LABELS, answers_to_come
from annotation.tasks import wake
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals


@require_safe
@members_only(MANAGER, VIEWER)
def campaign_items(request: PersonRequest, member: Membership) -> HttpResponse:
    """Fifty items a page, their texts exactly as they are; how many answers each has, never which.

    Nor which label, or whether the answers are split, while answers that labels rest on are still to come: a page that
    is read writes nothing down.
    Which of them are gold, managers alone see.
    """
    campaign = member.campaign
    hidden = answers_to_come(campaign, LABELS) > 0
    splits_hidden = hidden and campaign.annotators_per_item > 1
    form = ItemFilterForm(
        request.GET, groups=groups_of(campaign), protocol=campaign.protocol, splits_hidden=splits_hidden
    )
    wanted, after = Wanted(), 0
    if form.is_valid():
        data = form.cleaned_data
        after = data["after"] or 0
        wanted = Wanted(
            first=data["first"], last=data["last"], group=data["group"], text=data["q"], state=data["state"]
        )
    page = item_page(campaign, wanted, after=after)
    context = {
        "form": form,
        "filtered": wanted != Wanted(),
        "after": after,
        "page": page,
        "gold": gold_among([line.item.pk for line in page.lines]) if member.role == MANAGER else (),
        "labels_hidden": hidden,
        "splits_hidden": splits_hidden,
        "next": _address(form, page.next_after) if page.next_after else None,
        "first_page": _address(form, None) if after else None,
        "causes": {cause.code: cause.words for cause in get_protocol(campaign.protocol).cannot_judge_causes},
    }
    return campaign_page(
        request,
        member,
        "annotation/campaign_items.html",
        context,
        tab="items",
        status=200 if form.is_valid() else 400,
    )


def _address(form: ItemFilterForm, after: int | None) -> str:
    """The same search, further on."""
    kept = {name: value for name, value in form.cleaned_data.items() if value and name != "after"}
    return "?" + urlencode(kept | ({"after": after} if after else {}))


@require_POST
@plain_refusals
@members_only(MANAGER)
def item_withdraw(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Take an item out, with a reason."""
    form = ReasonForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    item = items.withdraw(member.campaign, pk, reason=reason, by=request.user)
    messages.success(
        request, _("Item %(position)d is withdrawn; it can be restored.") % {"position": item.position}
    )
    return redirect(_back(request, member))


@require_POST
@plain_refusals
@members_only(MANAGER)
def item_restore(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Bring a withdrawn item back, with its answers."""
    item = items.restore(member.campaign, pk, by=request.user)
    if passed_over(member.campaign):  # what it was judged counts again, and its label does not say so yet
        wake(jobs.request(campaign=member.campaign, kind="finalize", arguments={}, by=request.user))
    messages.success(request, _("Item %(position)d counts again.") % {"position": item.position})
    if left := items.still_to_give(item):
        messages.warning(request, left)
    return redirect(_back(request, member))


def _back(request: HttpRequest, member: Membership) -> str:
    """The page the form stood on, if that is a page of ours."""
    target = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if ours else reverse("campaign_items", args=[member.campaign.slug])
