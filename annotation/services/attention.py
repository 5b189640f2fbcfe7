"""What needs a manager: answers that say "cannot judge" or report a problem, and what became of them.

Who reported stands under a pseudonym. A reported problem is shown without the answer it stands beside: what needs a
decision is the text, and answers stay closed while experts judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Annotation, Campaign, Item, Job, Return, Round, Thread
from annotation.models.item import in_play
from annotation.services.returns import is_outstanding
from annotation.services.uploads import Upload, unfinished

PAGE = 50


@dataclass(frozen=True, kw_only=True)
class Report:
    """One answer that reports something. `ruling` is what it was given back with and waits for, "" where it was not."""

    annotation: int
    assignment: int
    pseudonym: str
    item: Item
    round: Round
    cause: str
    cannot_judge: bool
    note: str
    at: datetime
    ruling: str
    returnable: bool
    fixable: bool


@dataclass(frozen=True, kw_only=True)
class ReportPage:
    """A page of reports, and the key after which the next begins; None on the last."""

    lines: Sequence[Report]
    next_after: int | None = None


@dataclass(frozen=True, kw_only=True)
class ReportCounts:
    """How many answers wait for a manager, and how many were given back and wait for their experts."""

    waiting: int
    returned: int


def reports(campaign: Campaign, *, returned: bool = False, after: int = 0) -> ReportPage:
    """What waits for a manager, or what was given back, the earliest first. Three queries.

    Pages are cut by key, which never moves: what is settled in between makes no repeat and no gap.
    """
    gone_back = is_outstanding("assignment")
    rows = _reporting(campaign).filter(gone_back if returned else ~gone_back, pk__gt=after)
    found = list(
        rows.annotate(discussed=Exists(Thread.objects.filter(item=OuterRef("assignment__item"))))
        .select_related("assignment__item__unit", "assignment__item__context", "assignment__round")
        .select_related("assignment__part__design")
        .order_by("pk")[: PAGE + 1]
    )
    pseudonyms = dict(campaign.memberships.values_list("user", "pseudonym"))
    given = Return.objects.filter(assignment__in=[row.assignment_id for row in found])
    rulings = {
        (key, revision): text for key, revision, text in given.values_list("assignment", "revision", "ruling")
    }
    lines = [_line(row, pseudonyms.get(row.assignment.expert_id, "–"), rulings) for row in found[:PAGE]]
    return ReportPage(lines=lines, next_after=found[PAGE - 1].pk if len(found) > PAGE else None)


def report_counts(campaign: Campaign) -> ReportCounts:
    """One query."""
    return ReportCounts(
        **_reporting(campaign)
        .annotate(gone_back=is_outstanding("assignment"))
        .aggregate(
            waiting=Count("pk", filter=Q(gone_back=False)), returned=Count("pk", filter=Q(gone_back=True))
        )
    )


def _reporting(campaign: Campaign) -> QuerySet[Annotation]:
    """Current answers that report something, of items that count."""
    return Annotation.objects.filter(
        in_play("assignment__item__"),
        assignment__round__campaign=campaign,
        assignment__withdrawn_at__isnull=True,
        revision=F("assignment__revision"),
    ).exclude(cannot_judge="", problem="")


def _line(row: Annotation, pseudonym: str, rulings: dict[tuple[int, int], str]) -> Report:
    given = row.assignment
    open_round = given.round.state == Round.State.OPEN and given.part is not None
    frozen = row.discussed or (given.part is not None and given.part.design.closed_at is not None)  # type: ignore[attr-defined]
    ruling = rulings.get((given.pk, row.revision), "")
    return Report(
        annotation=row.pk,
        assignment=given.pk,
        pseudonym=pseudonym,
        item=given.item,
        round=given.round,
        cause=row.cannot_judge or row.problem,
        cannot_judge=bool(row.cannot_judge),
        note=row.note,
        at=row.created_at,
        ruling=ruling,
        returnable=open_round and not frozen and not ruling,
        fixable=open_round and not frozen,
    )


def failed_jobs(campaign: Campaign) -> list[Job]:
    """Jobs that failed and were not asked for again since, the latest first."""
    again = Job.objects.filter(
        campaign=OuterRef("campaign"), kind=OuterRef("kind"), digest=OuterRef("digest"), pk__gt=OuterRef("pk")
    )
    failed = Job.objects.filter(~Exists(again), campaign=campaign, state=Job.State.FAILED)
    return list(failed.order_by("-pk")[:PAGE])


def files_with_conflicts(campaign: Campaign) -> list[Upload]:
    """Files that were looked at and not stored because their texts differ, the latest first; kept for a day."""
    return [upload for upload in unfinished(campaign) if _n_conflicts(upload)]


def _n_conflicts(upload: Upload) -> int:
    preview = upload.preview or {}
    return int(preview.get("counts", {}).get("conflicts", 0))
