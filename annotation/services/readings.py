"""What is taken out of a campaign as it stands: answers that others are still to give, and people's names.

Both may be read, and both are written down: who, when and which table; never what stands in it. The pages of one
table that a program reads one after the other are one reading.
"""

from datetime import timedelta

from django.utils import timezone

from annotation.models import AuditEntry, Campaign, User
from annotation.services.peeks import BLIND, LABELLING, PEEK, open_answers, write_peek
from annotation.services.people import audit

ANNOTATIONS, LABELS, RELEASE = "annotations", "labels", "release"  # the tables that rest on answers
NAMES = "names read"  # the audit entry
ONE_READING = timedelta(hours=1)


def answers_to_come(campaign: Campaign, table: str) -> int:
    """How many blind answers are still to come in the rounds whose answers this table holds; 0: taking it is no look.

    At most one query.
    """
    if table in (ANNOTATIONS, RELEASE):
        return open_answers(campaign, *BLIND)
    if table != LABELS or not campaign.label_version:
        return 0
    return open_answers(campaign, *LABELLING)


def record_reading(campaign: Campaign, table: str, *, by: User | None, following: bool = False) -> None:
    """Write a look down where answers are still to come; `following`: a further page of a table."""
    still = answers_to_come(campaign, table)
    if still and not (following and _noted(campaign, PEEK, {"kind": table}, by=by)):
        write_peek(campaign, table, by=by, still=still)


def record_names(campaign: Campaign, table: str, *, by: User | None, following: bool = False) -> None:
    """Write down that a table, or a report, was read with people's names in it."""
    if not (following and _noted(campaign, NAMES, {"table": table}, by=by)):
        audit(campaign, by, NAMES, {"table": table})


def _noted(campaign: Campaign, action: str, about: dict[str, str], *, by: User | None) -> bool:
    since = timezone.now() - ONE_READING
    entries = AuditEntry.objects.filter(campaign=campaign, action=action, actor=by, at__gte=since)
    return any(about.items() <= entry.detail.items() for entry in entries)
