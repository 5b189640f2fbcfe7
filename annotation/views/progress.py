"""Progress by part, expert and day, expected finish, and hours. Counts only: nothing of how anybody answered."""

from django.http import HttpResponse, HttpResponseBase
from django.views.decorators.http import require_safe

from annotation.models import Membership, TimeEntry
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services.hours import LINE_CAP
from annotation.services.progress_board import HOURS_COLUMNS, hours_rows, progress_board
from annotation.services.progress_board import pay_statement as statement_of
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from annotation.views.table_files import csv_file


@require_safe
@members_only(MANAGER)
def progress(request: PersonRequest, member: Membership) -> HttpResponse:
    """Where everybody is and when they may be done; people under their pseudonyms."""
    context = {"board": progress_board(member.campaign)}
    return campaign_page(request, member, "annotation/progress.html", context, tab="progress")


@require_safe
@plain_refusals
@members_only(MANAGER)
def pay_statement(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """One expert's hours under the published rule, day by day."""
    expert, found = statement_of(member.campaign, pk)
    context = {
        "expert": expert,
        "statement": found,
        "cap_minutes": int(found.cap // 60),
        "reading_minutes": int(LINE_CAP[TimeEntry.Kind.GUIDELINE] // 60),
        "practice_minutes": int(LINE_CAP[TimeEntry.Kind.PRACTICE] // 60),
    }
    return campaign_page(request, member, "annotation/pay_statement.html", context, tab="progress")


@require_safe
@members_only(MANAGER)
def hours_export(request: PersonRequest, member: Membership) -> HttpResponseBase:
    """Everybody's hours day by day, as CSV; people under their pseudonyms."""
    return csv_file(f"{member.campaign.slug}-hours", HOURS_COLUMNS, hours_rows(member.campaign))
