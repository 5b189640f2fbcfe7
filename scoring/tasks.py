"""Celery is one more entrance: a primary key comes in, one service is called."""

from celery import shared_task

from annotation.services import jobs
from scoring.services.downstream.work import downstream_work
from scoring.services.evaluations import agreement_work
from scoring.services.kept_reports import report_work
from scoring.services.releases import release_work
from scoring.services.submissions import score_work


@shared_task(name="scoring.agreement")
def agreement(job_id: int) -> None:
    """How far the experts agree, over the campaign or in one part."""
    jobs.run(job_id, agreement_work)


@shared_task(name="scoring.score")
def score(job_id: int) -> None:
    """All submissions of a campaign against the labels there are now."""
    jobs.run(job_id, score_work)


@shared_task(name="scoring.measure")
def measure(job_id: int) -> None:
    """A report that takes seconds, to be kept."""
    jobs.run(job_id, report_work)


@shared_task(name="scoring.release")
def release(job_id: int) -> None:
    """A campaign frozen into one file."""
    jobs.run(job_id, release_work)


@shared_task(name="scoring.downstream")
def downstream(job_id: int) -> None:
    """What was sent to a benchmark, and its board."""
    jobs.run(job_id, downstream_work)
