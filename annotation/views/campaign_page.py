"""What all pages of one campaign share: its title, its tabs, and who is looking."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest


def campaign_page(
    request: PersonRequest,
    member: Membership,
    template: str,
    context: dict[str, Any],
    *,
    tab: str,
    status: int = 200,
) -> HttpResponse:
    """A page under the campaign's tabs. `manages` says whether to offer actions; permissions are the views'."""
    shared = {
        "campaign": member.campaign,
        "member": member,
        "manages": member.role == MANAGER,
        "tab": tab,
    }
    return render(request, template, {**shared, **context}, status=status)


def parts_tab(member: Membership) -> str:
    """The tab of a page about parts: viewers, who give none out, come to it from the rounds."""
    return "assign" if member.role == MANAGER else "rounds"
