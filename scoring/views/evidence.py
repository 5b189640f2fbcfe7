"""Evidence about how experts worked: shown once nobody judges blindly any more, or by a recorded look."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services.peeks import open_answers, write_peek
from annotation.views.campaign_page import campaign_page
from scoring.services.evidence import KIND, evidence_report


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, archived=True)
def evidence(request: PersonRequest, member: Membership) -> HttpResponse:
    """By expert, under pseudonyms, in the order they joined: nobody is ranked."""
    still = open_answers(member.campaign)
    context: dict[str, Any] = {"interim": still}
    if not still or request.method == "POST":
        if still:
            write_peek(member.campaign, KIND, by=request.user, still=still)
        context["document"] = document = evidence_report(member.campaign)
        context["shown"] = _shown(document["experts"])
    return campaign_page(request, member, "scoring/evidence.html", context, tab="reports")


def _shown(experts: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    """Which of the notes under the figures have something to explain: `untimed`, where screens came without a time."""
    return {
        "rest": any(one["rest"] for one in experts),
        "timed": any(one["seconds"]["n"] for one in experts),
        "untimed": any(one["seconds"]["n"] == 0 for one in experts),
    }
