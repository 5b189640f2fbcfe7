"""Evidence about how experts worked: shown once nobody judges blindly any more, or by a recorded look."""

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
        context["document"] = evidence_report(member.campaign)
    return campaign_page(request, member, "scoring/evidence.html", context, tab="reports")
