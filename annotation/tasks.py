"""Celery is one more entrance: a primary key comes in, one service is called.

A new kind of job is a task here and a line in the registry of `services/jobs.py`.
"""

import logging
from functools import partial

from celery import current_app, shared_task
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

from annotation.models import Job
from annotation.services import evaluation_set_files, import_files, jobs, labels

log = logging.getLogger("assay.jobs")

STALE = 60  # seconds after which a message in the queue is dropped; the sweep sends another


def wake(job: Job) -> None:
    """Tell the worker, once the job is committed. Without a broker it looks for rows by itself."""
    if settings.REDIS_URL:
        transaction.on_commit(partial(publish, job))


def publish(job: Job) -> bool:
    """Send the job's message, if the broker is there; otherwise the job just waits for the next sweep."""
    try:
        current_app.send_task(jobs.task_name(job.kind), args=[job.pk], expires=STALE, retry=False)
    except OperationalError as error:
        log.warning("Job %s was not announced, the broker is away: %s", job.pk, error)
        return False
    return True


@shared_task(name="annotation.finalize")
def finalize(job_id: int) -> None:
    """The final labels of a campaign."""
    jobs.run(job_id, labels.finalize_work)


@shared_task(name="annotation.import_items")
def import_items(job_id: int) -> None:
    """An uploaded file, too long to be stored while somebody waits for the page."""
    jobs.run(job_id, import_files.import_work)


@shared_task(name="annotation.build_set")
def build_set(job_id: int) -> None:
    """An evaluation set from uploaded files, to be built or to be stored."""
    jobs.run(job_id, evaluation_set_files.work)
