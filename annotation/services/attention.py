"""What needs a manager: answers that say "cannot judge" or report a problem, and what became of them.

Who reported stands under a pseudonym. A reported problem is shown without the answer it stands beside: what needs a
decision is the text, and answers stay closed while experts judge.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import Count, Exists, OuterRef, Q

from annotation.models import Annotation, Campaign, Design, Item, Job, Return, Round, Thread
from annotation.services.batches import reopenable
from annotation.services.looked_at import answers_looked_at, notes_of, reporting
from annotation.services.returns import is_outstanding
from annotation.services.uploads import Upload, unfinished

PAGE = 50


@dataclass(frozen=True, kw_only=True)
class Report:
    """One answer that reports something. `ruling` is what it was given back with and waits for, "" where it was not;
    `looked_at` the note with which a manager left it as it is. `reopenable` is the closed batch that can still be
    opened again, so that more can be done about it.
    """

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
    looked_at: str = ""
    reopenable: int | None = None


@dataclass(frozen=True, kw_only=True)
class ReportPage:
    """A page of reports, and the key after which the next begins; None on the last."""

    lines: Sequence[Report]
    next_after: int | None = None


@dataclass(frozen=True, kw_only=True)
class ReportCounts:
    """How many answers wait for a manager, and how many were given back and wait for their experts.

    Those that wait are told apart: who could not judge, and who reported a problem beside an answer.
    """

    cannot_judge: int
    problems: int
    returned: int

    @property
    def waiting(self) -> int:
        return self.cannot_judge + self.problems


class Stage(StrEnum):
    """Where a report stands: it waits for a manager, for its expert, or for nobody."""

    WAITING = "waiting"
    RETURNED = "returned"
    LOOKED_AT = "looked_at"


def reports(campaign: Campaign, stage: Stage = Stage.WAITING, *, after: int = 0) -> ReportPage:
    """What waits for a manager, what was given back, or what was left as it is, the earliest first.

    Three queries, and one more each where batches are closed and where notes are to be shown. Pages are cut by key,
    which never moves: what is settled in between makes no repeat and no gap.
    """
    rows = reporting(campaign).filter(_in_stage(campaign, stage), pk__gt=after)
    found = list(
        rows.annotate(discussed=Exists(Thread.objects.filter(item=OuterRef("assignment__item"))))
        .select_related("assignment__item__unit", "assignment__item__context", "assignment__round")
        .select_related("assignment__part__design")
        .order_by("pk")[: PAGE + 1]
    )
    shown = found[:PAGE]
    about = _About(
        pseudonyms=dict(campaign.memberships.values_list("user", "pseudonym")),
        rulings={
            (key, revision): text
            for key, revision, text in Return.objects.filter(
                assignment__in=[row.assignment_id for row in shown]
            ).values_list("assignment", "revision", "ruling")
        },
        notes=notes_of(campaign, [row.pk for row in shown] if stage == Stage.LOOKED_AT else []),
        reopenable=reopenable({design.pk for row in shown if (design := _closed_batch(row))}),
    )
    lines = [_line(row, about) for row in shown]
    return ReportPage(lines=lines, next_after=shown[-1].pk if len(found) > PAGE else None)


def _in_stage(campaign: Campaign, stage: Stage) -> Q:
    gone_back = Q(is_outstanding("assignment"))
    if stage == Stage.RETURNED:
        return gone_back
    left = Q(pk__in=answers_looked_at(campaign))
    return ~gone_back & (left if stage == Stage.LOOKED_AT else ~left)


def report_counts(campaign: Campaign) -> ReportCounts:
    """One query."""
    waiting = _in_stage(campaign, Stage.WAITING)
    counted = reporting(campaign).aggregate(
        n_cannot=Count("pk", filter=waiting & ~Q(cannot_judge="")),
        n_problems=Count("pk", filter=waiting & Q(cannot_judge="")),
        n_returned=Count("pk", filter=_in_stage(campaign, Stage.RETURNED)),
    )
    return ReportCounts(
        cannot_judge=counted["n_cannot"], problems=counted["n_problems"], returned=counted["n_returned"]
    )


@dataclass(frozen=True, kw_only=True)
class _About:
    """What is read once for all reports of a page."""

    pseudonyms: Mapping[int, str]
    rulings: Mapping[tuple[int, int], str]
    notes: Mapping[int, str]
    reopenable: Collection[int]


def _closed_batch(row: Annotation) -> Design | None:
    """The batch of the main round that froze the answer, if one did."""
    part = row.assignment.part
    in_main = row.assignment.round.kind == Round.Kind.MAIN
    return part.design if in_main and part is not None and part.design.closed_at is not None else None


def _line(row: Annotation, about: _About) -> Report:
    given = row.assignment
    open_round = given.round.state == Round.State.OPEN and given.part is not None
    frozen = row.discussed or (given.part is not None and given.part.design.closed_at is not None)  # type: ignore[attr-defined]
    ruling = about.rulings.get((given.pk, row.revision), "")
    batch = _closed_batch(row)
    return Report(
        annotation=row.pk,
        assignment=given.pk,
        pseudonym=about.pseudonyms.get(given.expert_id, "–"),
        item=given.item,
        round=given.round,
        cause=row.cannot_judge or row.problem,
        cannot_judge=bool(row.cannot_judge),
        note=row.note,
        at=row.created_at,
        ruling=ruling,
        returnable=open_round and not frozen and not ruling,
        fixable=open_round and not frozen,
        looked_at=about.notes.get(row.pk, ""),
        reopenable=batch.pk if batch is not None and batch.pk in about.reopenable and open_round else None,
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
