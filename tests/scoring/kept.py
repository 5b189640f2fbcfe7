"""Pages of reports that the worker computes: asked for, computed, and then read."""

from typing import Any

from django.test import Client

from annotation.models import Job
from scoring.services.kept_reports import JOB
from scoring.tasks import measure


def computed(client: Client, address: str) -> Any:
    """The page at this address once its figures were asked for there and the worker has been through."""
    asked = client.post(address)
    assert asked.status_code == 302, asked.content.decode()
    run_waiting()
    return client.get(address)


def run_waiting() -> None:
    """What the worker would do with the reports that wait."""
    for job in Job.objects.filter(kind=JOB, state=Job.State.PENDING).order_by("pk"):
        measure(job.pk)
