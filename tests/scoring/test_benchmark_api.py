"""Downstream benchmarks for programs: the same rules as on the pages."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import Job, User
from annotation.services.access import create_token
from scoring.models import BenchmarkSubmission
from scoring.services.boards import set_board
from scoring.tasks import downstream
from tests.factories import Cast, make_cast
from tests.scoring.downstream import PAIRS, SAID, choices_benchmark, chosen, pairs_benchmark

pytestmark = pytest.mark.django_db

API = "/api/v1/campaigns/main/benchmarks/"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def headers(user: User) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_token(user, 'program')[1]}"}


def get(user: User, path: str = "") -> Any:
    return Client().get(f"{API}{path}", headers=headers(user))


def post(user: User, pk: int, **body: Any) -> Any:
    return Client().post(
        f"{API}{pk}/submissions/", json.dumps(body), content_type="application/json", headers=headers(user)
    )


def choices(right: int) -> list[dict[str, str]]:
    return [{"question_id": f"q{place}", "choice": "A" if place <= right else "B"} for place in range(1, 21)]


def run_jobs() -> None:
    for job in Job.objects.filter(kind="downstream", state=Job.State.PENDING).order_by("pk"):
        downstream(job.pk)


def test_a_program_sends_in_and_reads_the_figures(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    sent = post(cast.mei, benchmark.pk, system="base", run="1", rows=choices(15))
    assert sent.status_code == 201
    assert (sent.json()["scored_at"], sent.json()["job"]) == (None, Job.objects.get().pk)
    assert get(cast.mei, f"{benchmark.pk}/").json()["board"]["waits"]
    run_jobs()

    (listed,) = get(cast.vera).json()["results"]
    assert (listed["id"], listed["name"], listed["kind"]) == (benchmark.pk, "csqa", "choice")
    (line,) = get(cast.vera).json()["accuracies"]["document"]["systems"]
    assert line["mean"]["mean"] == 75.0
    board = get(cast.vera, f"{benchmark.pk}/").json()["board"]
    assert board["is_current"]
    assert board["document"]["systems"][0]["figures"]["accuracy"]["mean"] == 75.0
    (kept,) = get(cast.vera, f"{benchmark.pk}/submissions/").json()["results"]
    assert (kept["system"], kept["run"], kept["human"]) == ("base", "1", False)
    again = post(cast.mei, benchmark.pk, system="base", run="1", rows=choices(15))
    assert (again.status_code, again.json()["id"]) == (200, kept["id"])


def test_it_takes_a_file_too(cast: Cast) -> None:
    benchmark = pairs_benchmark(cast.campaign)
    file = SimpleUploadedFile("said.csv", SAID.encode())
    sent = Client().post(
        f"{API}{benchmark.pk}/submissions/",
        {"file": file, "system": "people", "human": "true"},
        headers=headers(cast.mei),
    )
    assert sent.status_code == 201
    assert (sent.json()["file"], sent.json()["human"]) == ("said.csv", True)


def test_hypotheses_may_be_a_list(cast: Cast) -> None:
    benchmark = pairs_benchmark(cast.campaign, hypotheses="all")
    rows = [
        {"head": "PersonX sings", "relation": "xAttr", "hypotheses": ["musical", "loud"]},
        {"head": "PersonX eats pizza", "relation": "xWant", "hypotheses": ["to drink", "to rest"]},
        {"head": "PersonX runs", "relation": "xEffect", "hypotheses": ["gets tired", "sweats"]},
    ]
    assert post(cast.mei, benchmark.pk, system="base", rows=rows).status_code == 201
    assert BenchmarkSubmission.objects.get().responses.get(question__position=3).said == ["musical", "loud"]


def test_every_row_that_does_not_fit_is_named_and_nothing_is_stored(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    rows = [*choices(15)[:-1], {"question_id": "q99", "choice": "A"}]
    refused = post(cast.mei, benchmark.pk, system="base", rows=rows)
    assert refused.status_code == 400
    assert [(one["line"], one["column"]) for one in refused.json()["errors"]] == [
        (20, "question_id"),
        (None, None),  # the question that has no row for it
    ]
    assert "q99" in refused.json()["errors"][0]["message"]
    unnamed = post(cast.mei, benchmark.pk, system=" ", rows=choices(15))
    assert unnamed.json()["detail"] == "Name the system."
    assert not BenchmarkSubmission.objects.exists()
    assert not Job.objects.exists()


def test_what_is_right_is_given_to_nobody(cast: Cast) -> None:
    benchmark = pairs_benchmark(cast.campaign)
    file = b"".join(get(cast.mei, f"{benchmark.pk}/questions/"))
    assert [json.loads(line) for line in file.decode().splitlines()] == [
        {"head": "PersonX eats pizza", "relation": "xWant"},
        {"head": "PersonX runs", "relation": "xEffect"},
        {"head": "PersonX sings", "relation": "xAttr"},
    ]
    table = b"".join(get(cast.mei, f"{benchmark.pk}/questions/?format=csv"))
    assert not table.startswith(b"\xef\xbb\xbf")  # no table for programs begins with a byte-order mark
    assert get(cast.mei, f"{benchmark.pk}/questions/?format=xlsx").status_code == 400
    seen = "".join(get(cast.mei, path).content.decode() for path in ("", f"{benchmark.pk}/"))
    assert not any(line.rsplit(",", 1)[1] in seen for line in PAIRS.splitlines()[1:])


def test_viewers_send_in_where_the_board_lets_them(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    assert post(cast.vera, benchmark.pk, system="base", rows=choices(15)).status_code == 404
    set_board(cast.campaign, audience="members", quota=3, by=cast.mei)
    assert post(cast.vera, benchmark.pk, system="base", rows=choices(15)).status_code == 201
    assert post(cast.ada, benchmark.pk, system="base", rows=choices(15)).status_code == 404
    post(cast.mei, benchmark.pk, system="mine", rows=choices(15))
    taken = post(cast.vera, benchmark.pk, system="mine", rows=choices(12))
    assert taken.status_code == 409
    assert "Somebody else sent in this run" in taken.json()["detail"]


def test_the_file_of_the_page_is_that_of_the_program(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    sent = Client().post(
        f"{API}{benchmark.pk}/submissions/",
        {"file": SimpleUploadedFile("said.csv", chosen(12).encode()), "system": "base"},
        headers=headers(cast.mei),
    )
    assert sent.status_code == 201
    run_jobs()
    (line,) = get(cast.mei, f"{benchmark.pk}/").json()["board"]["document"]["systems"]
    assert line["figures"]["accuracy"]["mean"] == 60.0
