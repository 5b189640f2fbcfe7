"""Jobs under a real worker: with Celery over Redis, and without a broker by looking for rows."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction

from annotation import tasks
from annotation.models import AuditEntry, Campaign, Job, Worker
from annotation.services import jobs
from config.celery import app
from tests.conftest import ROOT, Started, StartManage, eventually
from tests.factories import make_campaign

StartWorker = Callable[[], Started]

ROWS = pytest.param("rows", id="rows")
REDIS = pytest.param("redis", id="redis", marks=pytest.mark.services)


@pytest.fixture
def redis_url(monkeypatch: pytest.MonkeyPatch) -> str:
    """A Redis database of this test process's own, so that parallel ones do not take each other's messages."""
    if not settings.REDIS_URL:
        pytest.skip("REDIS_URL is not set")
    number = 1 + int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "0")))
    url = re.sub(r"/\d*$", f"/{number}", settings.REDIS_URL)
    monkeypatch.setattr(settings, "REDIS_URL", url)
    publish_to(url, monkeypatch)
    return url


def publish_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.conf, "broker_url", url)
    monkeypatch.setattr(app.amqp, "_producer_pool", None)  # it would keep the connections to another broker


@pytest.fixture
def start_worker(
    request: pytest.FixtureRequest,
    live_database_url: str,
    start_manage: StartManage,
    monkeypatch: pytest.MonkeyPatch,
) -> StartWorker:
    """Starts `manage.py worker`, of the kind that the test's parameter names, and waits until it beats."""
    redis = request.getfixturevalue("redis_url") if request.param == "redis" else None
    if redis is None:
        monkeypatch.setattr(settings, "REDIS_URL", "")
    monkeypatch.setitem(jobs._task_names, "slow", "tests.slow")

    def start() -> Started:
        before = Worker.objects.count()
        worker = start_manage(
            "worker",
            DJANGO_SETTINGS_MODULE="tests.live_settings",
            DATABASE_URL=live_database_url,
            REDIS_URL=redis,
            ASSAY_JOB_LEASE="2",
        )
        assert eventually(lambda: Worker.objects.count() > before)
        return worker

    return start


@pytest.fixture
def campaign(start_worker: StartWorker) -> Campaign:
    return make_campaign()


def ask_slow(campaign: Campaign, *, tenths: int, **more: Any) -> Job:
    """What a view does: ask for the job, and wake the worker on commit."""
    with transaction.atomic():
        job = jobs.request(campaign=campaign, kind="slow", arguments={"tenths": tenths, **more}, by=None)
        tasks.wake(job)
    return job


def has_ended(job: Job) -> bool:
    job.refresh_from_db()
    return job.state in ("done", "failed")


def has_begun(job: Job) -> bool:
    job.refresh_from_db()
    return job.state == "running" and job.progress > 0


def stored() -> list[int]:
    """By which attempts something was stored."""
    return [entry.detail["attempt"] for entry in AuditEntry.objects.filter(action="slow").order_by("pk")]


@pytest.mark.parametrize("start_worker", [ROWS, REDIS], indirect=True)
def test_it_runs_what_a_page_asked_for(start_worker: StartWorker, campaign: Campaign) -> None:
    start_worker()
    several = [ask_slow(campaign, tenths=2, which=number) for number in range(5)]
    assert all(eventually(partial(has_ended, job)) for job in several)
    assert [(job.state, job.attempt) for job in several] == [("done", 1)] * 5
    assert stored() == [1] * 5
    assert jobs.worker_health() == jobs.WorkerHealth(alive=True, waiting=0)


@pytest.mark.parametrize("start_worker", [ROWS, REDIS], indirect=True)
def test_it_redoes_what_a_killed_worker_left_and_stores_it_once(
    start_worker: StartWorker, campaign: Campaign
) -> None:
    """c44: the lease ends, the next attempt does it anew."""
    worker = start_worker()
    job = ask_slow(campaign, tenths=15)
    assert eventually(lambda: has_begun(job))
    worker.kill()
    assert stored() == []
    start_worker()
    assert eventually(lambda: has_ended(job))
    assert (job.state, job.attempt, job.result) == ("done", 2, {"attempt": 2})
    assert stored() == [2]


@pytest.mark.parametrize("start_worker", [REDIS], indirect=True)
def test_it_stores_once_what_is_delivered_often(start_worker: StartWorker, campaign: Campaign) -> None:
    start_worker()
    job = ask_slow(campaign, tenths=10)
    for _ in range(5):
        assert tasks.publish(job)
        time.sleep(0.2)
    assert eventually(lambda: has_ended(job))
    later = ask_slow(campaign, tenths=1)  # the queue is worked off when this one is done
    assert eventually(lambda: has_ended(later))
    assert (job.state, job.attempt, stored()) == ("done", 1, [1, 1])


@pytest.mark.parametrize("start_worker", [ROWS, REDIS], indirect=True)
def test_it_shares_the_work_of_two_workers_without_doing_it_twice(
    start_worker: StartWorker, campaign: Campaign
) -> None:
    start_worker()
    start_worker()
    several = [ask_slow(campaign, tenths=1, which=number) for number in range(12)]
    assert all(eventually(partial(has_ended, job)) for job in several)
    assert {(job.state, job.attempt) for job in several} == {("done", 1)}
    assert stored() == [1] * 12


@pytest.mark.parametrize("start_worker", [ROWS, REDIS], indirect=True)
def test_it_finishes_what_it_does_when_asked_to_stop(start_worker: StartWorker, campaign: Campaign) -> None:
    worker = start_worker()
    job = ask_slow(campaign, tenths=15)
    assert eventually(lambda: has_begun(job))
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(timeout=20) == 0
    assert has_ended(job)
    assert (job.state, job.attempt, stored()) == ("done", 1, [1])
    assert not jobs.worker_health().alive


@pytest.mark.parametrize("start_worker", [REDIS], indirect=True)
def test_it_comes_to_jobs_that_were_never_announced(start_worker: StartWorker, campaign: Campaign) -> None:
    job = jobs.request(campaign=campaign, kind="slow", arguments={"tenths": 1}, by=None)
    start_worker()
    assert eventually(lambda: has_ended(job))
    assert (job.state, stored()) == ("done", [1])


@pytest.mark.parametrize("start_worker", [ROWS], indirect=True)
def test_it_labels_a_campaign(start_worker: StartWorker, campaign: Campaign) -> None:
    start_worker()
    with transaction.atomic():
        job = jobs.request(campaign=campaign, kind="finalize", arguments={}, by=None)
        tasks.wake(job)
    assert eventually(lambda: has_ended(job))
    assert (job.state, job.message) == ("done", "")
    assert job.result is not None
    assert job.result["labelled"] == 0


@pytest.mark.django_db
def test_it_names_a_task_for_every_kind_of_job() -> None:
    app.loader.import_default_modules()
    assert {jobs.task_name(kind) for kind in jobs._task_names} <= set(app.tasks)


def test_it_knows_the_celery_application_in_every_process() -> None:
    """A process that did not ask for it by name would announce jobs to a broker that is nobody's."""
    web = "import config.wsgi, celery; print(celery.current_app.main)"
    said = subprocess.run([sys.executable, "-c", web], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "assay\n"


@pytest.mark.django_db(transaction=True)
def test_it_announces_on_commit_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[Job] = []
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(tasks, "publish", published.append)
    with transaction.atomic():
        job = jobs.request(campaign=make_campaign(), kind="finalize", arguments={}, by=None)
        tasks.wake(job)
        assert published == []
    assert published == [job]
    monkeypatch.setattr(settings, "REDIS_URL", "")
    tasks.wake(job)
    assert published == [job]


@pytest.mark.django_db
def test_it_goes_on_where_the_broker_is_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    publish_to("redis://127.0.0.1:1/0", monkeypatch)
    job = jobs.request(campaign=make_campaign(), kind="finalize", arguments={}, by=None)
    began = time.monotonic()
    assert not tasks.publish(job)
    assert time.monotonic() - began < 5
    assert "the broker is away" in caplog.text
