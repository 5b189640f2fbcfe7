"""A job that takes its time and leaves a trace each time it stores something."""

import time
from typing import Any

from celery import shared_task

from annotation.models import AuditEntry, Job
from annotation.services import jobs


def slow_work(job: Job, progress: jobs.Progress) -> jobs.Store:
    """Takes as many tenths of a second as the argument `tenths` says."""
    tenths = job.arguments["tenths"]
    for done in range(tenths):
        progress(done, tenths)
        time.sleep(0.1)

    def store() -> dict[str, Any]:
        AuditEntry.objects.create(campaign=job.campaign, action="slow", detail={"attempt": job.attempt})
        return {"attempt": job.attempt}

    return store


@shared_task(name="tests.slow")
def slow(job_id: int) -> None:
    """As every task: a primary key in, one service called."""
    jobs.run(job_id, slow_work)
