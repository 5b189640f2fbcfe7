"""Jobs: asked for once, claimed once, stored once, and never stuck."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from annotation.models import AuditEntry, Campaign, Job
from annotation.services import jobs
from annotation.services.errors import Refused
from tests.factories import make_campaign, make_user

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def ask(campaign: Campaign, **arguments: Any) -> Job:
    return jobs.request(campaign=campaign, kind="finalize", arguments=arguments, by=None)


def traced(job: Job, _progress: jobs.Progress) -> jobs.Store:
    """Work whose storing leaves an entry behind."""

    def store() -> dict[str, Any]:
        AuditEntry.objects.create(campaign=job.campaign, action="stored", detail={"attempt": job.attempt})
        return {"attempt": job.attempt}

    return store


def let_lapse(job: Job, *, attempt: int = 1) -> None:
    """As it stands when the worker that ran it was killed an hour ago."""
    Job.objects.filter(pk=job.pk).update(state="running", attempt=attempt, lease_until=Now() - HOUR)


# Asking -------------------------------------------------------------------------------------------------------


def test_it_makes_a_job_that_waits(campaign: Campaign) -> None:
    mei = make_user("mei")
    job = jobs.request(campaign=campaign, kind="finalize", arguments={"rule": "ckbp2"}, by=mei)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.arguments, job.created_by) == ("pending", 0, {"rule": "ckbp2"}, mei)


def test_it_returns_the_job_that_waits_already(campaign: Campaign) -> None:
    assert ask(campaign, a=1, b=2) == ask(campaign, b=2, a=1)
    assert ask(campaign, a=1, b=2) != ask(campaign, a=1, b=3)
    assert ask(campaign) != ask(make_campaign("other"))


@pytest.mark.parametrize("state", ["running", "done", "failed"])
def test_it_makes_a_new_job_where_the_last_one_no_longer_waits(campaign: Campaign, state: str) -> None:
    first = ask(campaign)
    Job.objects.filter(pk=first.pk).update(state=state)
    assert ask(campaign) != first


def test_it_refuses_a_kind_that_nobody_runs(campaign: Campaign) -> None:
    with pytest.raises(KeyError):
        jobs.request(campaign=campaign, kind="unheard of", arguments={}, by=None)


def test_it_refuses_to_register_a_kind_twice_for_different_tasks() -> None:
    jobs.register("finalize", "annotation.finalize")
    with pytest.raises(ValueError, match="already"):
        jobs.register("finalize", "another.task")
    assert jobs.task_name("finalize") == "annotation.finalize"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("inside_transaction", [False, True])
def test_it_makes_one_job_when_many_ask_at_once(inside_transaction: bool) -> None:
    campaign, start = make_campaign(), Barrier(6)

    def ask_once(_: int) -> int:
        try:
            start.wait()
            if inside_transaction:
                with transaction.atomic():
                    return ask(campaign).pk
            return ask(campaign).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(ask_once, range(6)))) == 1
    assert Job.objects.count() == 1


# Running ------------------------------------------------------------------------------------------------------


def test_it_stores_the_result_together_with_the_end(campaign: Campaign) -> None:
    job = ask(campaign)
    jobs.run(job.pk, traced)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.result) == ("done", 1, {"attempt": 1})
    assert job.lease_until is None
    assert job.started_at is not None
    assert job.finished_at is not None
    assert AuditEntry.objects.count() == 1


def test_it_hands_the_arguments_and_the_campaign_to_the_work(campaign: Campaign) -> None:
    seen = []

    def work(job: Job, _progress: jobs.Progress) -> jobs.Store:
        seen.append((job.campaign, job.arguments, job.state))
        return dict

    jobs.run(ask(campaign, rule="ckbp2").pk, work)
    assert seen == [(campaign, {"rule": "ckbp2"}, "running")]


@pytest.mark.parametrize("state", ["done", "failed"])
def test_it_stops_quietly_where_the_job_has_ended(campaign: Campaign, state: str) -> None:
    job = ask(campaign)
    Job.objects.filter(pk=job.pk).update(state=state)
    jobs.run(job.pk, traced)
    job.refresh_from_db()
    assert (job.state, AuditEntry.objects.count()) == (state, 0)


def test_it_stops_quietly_where_there_is_no_such_job() -> None:
    jobs.run(987654, traced)
    assert AuditEntry.objects.count() == 0


def test_it_stores_once_however_often_it_is_run(campaign: Campaign) -> None:
    job = ask(campaign)

    def work(job: Job, progress: jobs.Progress) -> jobs.Store:
        jobs.run(job.pk, traced)  # the message came a second time in mid-job
        return traced(job, progress)

    for _ in range(3):
        jobs.run(job.pk, work)
    assert AuditEntry.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_it_lets_one_of_many_workers_have_the_job() -> None:
    job, start = ask(make_campaign()), Barrier(5)

    def run(_: int) -> None:
        start.wait()
        try:
            jobs.run(job.pk, traced)
        finally:
            connection.close()

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(run, range(5)))
    job.refresh_from_db()
    assert (job.state, job.attempt, AuditEntry.objects.count()) == ("done", 1, 1)


def test_it_shows_progress_and_renews_the_lease(campaign: Campaign) -> None:
    seen = []

    def work(job: Job, progress: jobs.Progress) -> jobs.Store:
        Job.objects.filter(pk=job.pk).update(lease_until=Now() + timedelta(seconds=1))
        progress(3, 10, "part 2\x00")
        now = Job.objects.annotate(now=Now()).get(pk=job.pk)
        assert now.lease_until is not None
        seen.append((now.progress, now.total, now.message, now.lease_until > now.now + jobs.LEASE / 2))
        return dict

    jobs.run(ask(campaign).pk, work)
    assert seen == [(3, 10, "part 2", True)]


def take_over(job: Job) -> None:
    """Another worker has taken the job up in the meantime."""
    Job.objects.filter(pk=job.pk).update(attempt=2, lease_until=Now() + HOUR)


def test_it_stops_at_the_next_progress_where_the_lease_was_lost(campaign: Campaign) -> None:
    job, reached = ask(campaign), []

    def work(job: Job, progress: jobs.Progress) -> jobs.Store:
        take_over(job)
        progress(1, 2)
        reached.append(job)
        return traced(job, progress)

    jobs.run(job.pk, work)
    job.refresh_from_db()
    assert (job.state, job.attempt, reached, AuditEntry.objects.count()) == ("running", 2, [], 0)


@pytest.mark.parametrize("ends_with", [None, ValueError("late")])
def test_it_neither_stores_nor_fails_a_job_that_is_another_attempts(
    campaign: Campaign, ends_with: Exception | None
) -> None:
    job = ask(campaign)

    def work(job: Job, progress: jobs.Progress) -> jobs.Store:
        take_over(job)
        if ends_with:
            raise ends_with
        return traced(job, progress)

    jobs.run(job.pk, work)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.message, AuditEntry.objects.count()) == ("running", 2, "", 0)


def test_it_stores_nothing_where_storing_fails(campaign: Campaign) -> None:
    job = ask(campaign)

    def work(job: Job, progress: jobs.Progress) -> jobs.Store:
        def store() -> dict[str, Any]:
            traced(job, progress)()
            raise Refused("The labels were changed in the meantime; ask again.")

        return store

    jobs.run(job.pk, work)
    job.refresh_from_db()
    assert (job.state, job.message) == ("failed", "The labels were changed in the meantime; ask again.")
    assert AuditEntry.objects.count() == 0


def test_it_waits_while_another_with_the_same_arguments_runs(campaign: Campaign) -> None:
    running = ask(campaign)

    def work(job: Job, progress: jobs.Progress) -> jobs.Store:
        waiting = ask(campaign)
        jobs.run(waiting.pk, traced)
        waiting.refresh_from_db()
        assert waiting.state == "pending"
        assert waiting not in jobs.due()
        return traced(job, progress)

    jobs.run(running.pk, work)
    [waiting] = jobs.due()
    jobs.run(waiting.pk, traced)
    waiting.refresh_from_db()
    assert (waiting.state, AuditEntry.objects.count()) == ("done", 2)


# Looking after them -------------------------------------------------------------------------------------------


def test_it_takes_up_a_job_whose_lease_lapsed(campaign: Campaign) -> None:
    job = ask(campaign)
    let_lapse(job)
    assert jobs.sweep() == jobs.due() == [job]
    jobs.run(job.pk, traced)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.result) == ("done", 2, {"attempt": 2})


def test_it_leaves_a_job_alone_whose_lease_holds(campaign: Campaign) -> None:
    job = ask(campaign)
    Job.objects.filter(pk=job.pk).update(state="running", attempt=1, lease_until=Now() + HOUR)
    jobs.run(job.pk, traced)
    assert jobs.sweep() == jobs.due() == []
    assert AuditEntry.objects.count() == 0


def test_it_gives_up_after_the_last_attempt_and_says_so(campaign: Campaign) -> None:
    job = ask(campaign)
    let_lapse(job, attempt=jobs.ATTEMPTS)
    jobs.run(job.pk, traced)
    assert AuditEntry.objects.count() == 0
    assert jobs.sweep() == []
    job.refresh_from_db()
    assert (job.state, job.message) == ("failed", jobs.GAVE_UP)
    assert ask(campaign) != job


def test_it_announces_again_what_has_waited_for_some_seconds(campaign: Campaign) -> None:
    fresh, old = ask(campaign, a=1), ask(campaign, a=2)
    Job.objects.filter(pk=old.pk).update(created_at=Now() - HOUR)
    assert jobs.sweep() == [old]
    assert jobs.due() == [fresh, old]


def test_it_passes_over_kinds_that_this_version_does_not_know(campaign: Campaign) -> None:
    job = ask(campaign)
    Job.objects.filter(pk=job.pk).update(kind="of the future", created_at=Now() - HOUR)
    assert jobs.sweep() == jobs.due() == []


@pytest.mark.django_db(transaction=True)
def test_it_may_be_swept_by_two_at_once() -> None:
    campaign, start = make_campaign(), Barrier(4)
    dead = ask(campaign, a=1)
    let_lapse(dead, attempt=jobs.ATTEMPTS)
    lapsed = ask(campaign, a=2)
    let_lapse(lapsed)

    def sweep(_: int) -> list[Job]:
        start.wait()
        try:
            return jobs.sweep()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(sweep, range(4))) == [[lapsed]] * 4
    dead.refresh_from_db()
    assert dead.state == "failed"


def test_it_tells_whether_a_worker_is_there_and_how_many_jobs_wait(campaign: Campaign) -> None:
    from annotation.models import Worker

    ask(campaign)
    assert jobs.worker_health() == jobs.WorkerHealth(alive=False, waiting=1)
    jobs.beat("one")
    jobs.beat("one")
    assert jobs.worker_health() == jobs.WorkerHealth(alive=True, waiting=1)
    Worker.objects.update(beat_at=Now() - jobs.ALIVE)
    assert not jobs.worker_health().alive
    jobs.beat("two")
    jobs.retire("two")
    assert not jobs.worker_health().alive
    assert Worker.objects.get().name == "one"
