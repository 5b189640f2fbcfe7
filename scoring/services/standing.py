"""How the agreement of a campaign stands: what was computed, from which answers, and what failed.

Each part's agreement is a job of its own, so one that fails leaves the others standing and is named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Max, Q

from annotation.models import Assignment, Campaign, Job, Part, Round
from scoring.models import Evaluation
from scoring.services.evaluations import AGREEMENT


@dataclass(frozen=True, kw_only=True)
class Run:
    """The agreement of the whole campaign, or of one part: the last job, and the last result that was stored."""

    part: Part | None
    job: Job | None
    evaluation: Evaluation | None

    @property
    def state(self) -> str:
        """failed, running (or waiting), done, or none: never asked for."""
        if self.job is None:
            return "done" if self.evaluation else "none"
        if self.job.state == Job.State.FAILED:
            return "failed"
        return "done" if self.job.state == Job.State.DONE else "running"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Everything known about a campaign's agreement. `answered`: judgements there are; `open_answers`: those that are
    still to come.
    """

    whole: Run
    parts: Sequence[Run]
    answered: int
    open_answers: int
    newer_answers: bool

    @property
    def done(self) -> int:
        return sum(run.state == "done" and run.evaluation is not None for run in self.parts)

    @property
    def failed(self) -> Sequence[Run]:
        return [run for run in self.parts if run.state == "failed"]


def agreement_standing(campaign: Campaign) -> Standing:
    """Six queries, whatever the campaign's size."""
    evaluations = {row.part_id: row for row in Evaluation.objects.filter(campaign=campaign, kind=AGREEMENT)}
    jobs = _last_jobs(campaign)
    whole = Run(part=None, job=jobs.get(None), evaluation=evaluations.get(None))
    parts = Part.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN).order_by("index")
    answers = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        item__retired_at__isnull=True,
    ).aggregate(
        answered=Count("answered_at"),
        open=Count("pk", filter=Q(answered_at__isnull=True)),
        last=Max("answered_at"),
    )
    return Standing(
        whole=whole,
        parts=[Run(part=part, job=jobs.get(part.pk), evaluation=evaluations.get(part.pk)) for part in parts],
        answered=answers["answered"],
        open_answers=answers["open"],
        newer_answers=bool(
            whole.evaluation and answers["last"] and answers["last"] > whole.evaluation.created_at
        ),
    )


def _last_jobs(campaign: Campaign) -> Mapping[int | None, Job]:
    """The last job by part; under None that of the whole campaign."""
    jobs = Job.objects.filter(campaign=campaign, kind=AGREEMENT)
    last = jobs.order_by().values("digest").annotate(last=Max("pk")).values("last")
    return {job.arguments.get("part"): job for job in jobs.filter(pk__in=last)}
