"""Celery is one more entrance: a primary key comes in, one service is called."""

from celery import shared_task

from annotation.services import jobs
from scoring.services.evaluations import agreement_work


@shared_task(name="scoring.agreement")
def agreement(job_id: int) -> None:
    """How far the experts agree, over the campaign or in one part."""
    jobs.run(job_id, agreement_work)
