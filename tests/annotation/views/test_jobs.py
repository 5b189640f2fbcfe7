"""Jobs on the pages: how they stand, and asking again."""

from datetime import timedelta

import pytest

from annotation.models import HandIn, Job
from annotation.services.jobs import GAVE_UP
from tests.factories import Cast, make_cast, make_part
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

JOBS = "/campaigns/main/jobs/"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def make_job(cast: Cast, state: str, **fields: object) -> Job:
    return Job.objects.create(
        campaign=cast.campaign,
        kind=str(fields.pop("kind", "finalize")),
        digest=str(Job.objects.count()),
        state=state,
        **fields,
    )


def test_it_lists_jobs_with_their_state_and_what_they_say(cast: Cast) -> None:
    make_job(cast, "done")
    assert "What it says" not in text_of(client_of(cast.mei).get(JOBS))  # none says anything
    make_job(cast, "failed", kind="agreement", message="<b>line 3</b>: no")
    make_job(cast, "running", kind="agreement", arguments={"part": 12}, progress=3, total=9)

    response = client_of(cast.mei).get(JOBS)

    page = text_of(response)
    assert "Final labels ✓ done" in page
    assert "Agreement ✗ failed <b>line 3</b>: no" in page
    assert "Agreement in part ? › running 3/9" in page
    assert "<b>line" not in body_of(response)
    assert "What it says" in page


def test_it_refreshes_itself_only_while_something_is_unfinished(cast: Cast) -> None:
    client = client_of(cast.mei)
    job = make_job(cast, "pending")

    for address in (JOBS, f"{JOBS}{job.pk}/"):
        assert "data-poll" in body_of(client.get(address))
        assert "<noscript>" in body_of(client.get(address))
    Job.objects.update(state="done")
    for address in (JOBS, f"{JOBS}{job.pk}/"):
        assert "data-poll" not in body_of(client.get(address))
        assert "data-finished" in body_of(client.get(address))


def test_it_gives_the_state_of_a_job_as_a_piece_of_a_page(cast: Cast) -> None:
    job = make_job(cast, "running", progress=5, total=10, attempt=2)

    response = client_of(cast.mei).get(f"{JOBS}{job.pk}/state/")

    assert "<html" not in body_of(response)
    assert "running attempt 2 5 / 10" in text_of(response)


def test_it_asks_for_a_failed_job_again(cast: Cast) -> None:
    failed = make_job(cast, "failed", arguments={"rule": "majority"}, message=GAVE_UP)
    client = client_of(cast.mei)
    assert GAVE_UP in text_of(client.get(f"{JOBS}{failed.pk}/"))

    response = client.post(f"{JOBS}{failed.pk}/retry/", follow=True)

    again = Job.objects.exclude(pk=failed.pk).get()
    assert response.redirect_chain == [(f"{JOBS}{again.pk}/", 302)]
    assert (again.kind, again.arguments, again.state, again.created_by) == (
        "finalize",
        {"rule": "majority"},
        "pending",
        cast.mei,
    )
    failed.refresh_from_db()
    assert failed.state == "failed"


def test_it_shows_no_job_of_another_campaign(cast: Cast) -> None:
    other = cast.otto.memberships.get().campaign
    job = Job.objects.create(campaign=other, kind="finalize", digest="d", state="failed")
    client = client_of(cast.mei)

    assert client.get(f"{JOBS}{job.pk}/").status_code == 404
    assert client.get(f"{JOBS}{job.pk}/state/").status_code == 404
    assert client.post(f"{JOBS}{job.pk}/retry/").status_code == 404


def test_it_says_what_a_job_comes_from(cast: Cast) -> None:
    part = make_part(cast.campaign.rounds.get(), index=2)
    HandIn.objects.create(part=part, expert=cast.ada)
    make_job(cast, "done", created_by=cast.ada)
    make_job(cast, "done", created_by=cast.mei)
    make_job(cast, "done")

    page = text_of(client_of(cast.mei).get(JOBS))

    assert "A1 handed in part 3" in page
    assert "by M1" in page
    assert "by itself, since answers have changed" in page
    assert "ada" not in page


def test_it_names_the_hand_in_of_the_jobs_own_part_and_else_the_last_one_before(cast: Cast) -> None:
    round_ = cast.campaign.rounds.get()
    parts = [make_part(round_, index=index) for index in range(4)]
    own, other = (make_job(cast, "done", kind="agreement", created_by=cast.ada) for _ in range(2))
    labels = make_job(cast, "done", created_by=cast.ada)
    Job.objects.filter(pk=own.pk).update(arguments={"part": parts[0].pk})
    Job.objects.filter(pk=other.pk).update(arguments={"part": parts[3].pk})
    for part, seconds in zip(parts, (-3, -2, -1, 1), strict=True):
        hand_in = HandIn.objects.create(part=part, expert=cast.ada)
        HandIn.objects.filter(pk=hand_in.pk).update(at=own.created_at + timedelta(seconds=seconds))

    client = client_of(cast.mei)

    assert "A1 handed in part 1" in text_of(client.get(f"{JOBS}{own.pk}/"))
    assert "A1 handed in part 3" in text_of(client.get(f"{JOBS}{labels.pk}/"))
    assert "by A1" in text_of(client.get(f"{JOBS}{other.pk}/"))  # part 4 was handed in only later
