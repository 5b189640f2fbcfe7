"""A job that fails: what people are told, what the log gets, and what neither gets."""

import logging
from collections.abc import Callable

import pytest

from annotation.formats.errors import FormatError
from annotation.models import Campaign, Job
from annotation.protocol.errors import ProtocolError
from annotation.services import jobs
from annotation.services.errors import Refused
from tests.annotation.services.test_jobs import ask
from tests.factories import make_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def quick(_job: Job, _progress: jobs.Progress) -> jobs.Store:
    return lambda: {"done": True}


def failing(error: Exception) -> jobs.Work:
    def work(_job: Job, _progress: jobs.Progress) -> jobs.Store:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ProtocolError("The rule needs two answers."), "The rule needs two answers."),
        (Refused("There is nothing to label yet."), "There is nothing to label yet."),
        (FormatError("An empty cell.", line=7, column="tail"), "line 7, column “tail”: An empty cell."),
        (ValueError("item 17 is gold 0"), "This failed unexpectedly (ValueError); see the log."),
    ],
)
def test_it_says_what_a_person_can_act_on(campaign: Campaign, error: Exception, message: str) -> None:
    job = ask(campaign)
    jobs.run(job.pk, failing(error))
    job.refresh_from_db()
    assert (job.state, job.message, job.lease_until) == ("failed", message, None)
    assert job.finished_at is not None


@pytest.mark.parametrize("kind", [ProtocolError, FormatError, ValueError])
def test_it_keeps_cell_text_out_of_the_message_and_the_log(
    campaign: Campaign, kind: Callable[[str], Exception], caplog: pytest.LogCaptureFixture
) -> None:
    """c46: the error path is as careful as the normal one."""
    cell = "\x00\ud800" + "懒狗" * 1_000_000
    job = ask(campaign)
    with caplog.at_level(logging.DEBUG, logger="assay.jobs"):
        jobs.run(job.pk, failing(kind(f"Bad cell:\n{cell}")))
    job.refresh_from_db()
    assert job.state == "failed"
    assert len(job.message) <= 500
    assert not set(job.message) & {"\x00", "\n", "\ud800"}
    assert "懒狗" not in caplog.text
    assert kind.__name__ in caplog.text


def test_it_logs_where_it_failed_and_what_led_there(
    campaign: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    cell = "secret cell"

    def work(_job: Job, _progress: jobs.Progress) -> jobs.Store:
        try:
            int(cell)
        except ValueError as error:
            raise RuntimeError(cell) from error
        return dict

    jobs.run(ask(campaign).pk, work)
    assert "int(cell)" in caplog.text
    assert caplog.text.index("\nValueError") < caplog.text.index("\nRuntimeError")
    assert cell not in caplog.text


def test_it_lets_a_failed_job_be_asked_for_again(campaign: Campaign) -> None:
    first = ask(campaign)
    jobs.run(first.pk, failing(ValueError()))
    again = ask(campaign)
    jobs.run(again.pk, quick)
    again.refresh_from_db()
    assert (again.state, again.pk != first.pk) == ("done", True)


def test_it_leaves_a_job_to_its_lease_when_the_process_ends(campaign: Campaign) -> None:
    job = ask(campaign)

    def work(_job: Job, _progress: jobs.Progress) -> jobs.Store:
        raise SystemExit

    with pytest.raises(SystemExit):
        jobs.run(job.pk, work)
    job.refresh_from_db()
    assert job.state == "running"
