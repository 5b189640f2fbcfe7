"""Rounds, batches and the audit for programs: as the pages tell them, under pseudonyms, nothing of any answer."""

import csv
import io
import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import AuditEntry, Round, User
from annotation.services.access import create_token
from annotation.services.batches import close_batch
from annotation.services.people import audit
from tests.factories import Cast, make_cast, make_judged

pytestmark = pytest.mark.django_db

HERE = "/api/v1/campaigns/main"


@pytest.fixture
def cast() -> Cast:
    """Two triples that both have judged, and one that Lin has not, in a batch that was closed without that."""
    made = make_cast()
    design = make_judged(made, ("1", "0"), ("1", "1"), ("1", None))
    close_batch(made.campaign, design.pk, by=made.mei, reason="Lin is ill.")
    return made


def answered(user: User, path: str) -> Any:
    headers = {"Authorization": f"Bearer {create_token(user, 'program')[1]}"}
    return Client().get(f"{HERE}/{path}", headers=headers)


def get(user: User, path: str) -> Any:
    answer = answered(user, path)
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


@pytest.mark.parametrize("name", ["mei", "vera"])
def test_rounds_say_how_far_they_are(name: str, cast: Cast) -> None:
    Round.objects.update(due_on="2030-12-14")

    (main,) = get(getattr(cast, name), "rounds/")["results"]

    assert (main["kind"], main["state"], main["due_on"], main["late"]) == (
        "main",
        "open",
        "2030-12-14",
        False,
    )
    assert (main["given"], main["answered"], main["guideline"]) == (5, 5, 1)
    assert main["experts"] == [
        {"expert": "A1", "given": 3, "answered": 3},
        {"expert": "A2", "given": 2, "answered": 2},
    ]


def test_batches_say_what_they_were_closed_without(cast: Cast) -> None:
    (batch,) = get(cast.vera, "batches/")["results"]

    assert (batch["number"], batch["given"], batch["answered"], batch["reason"]) == (1, 5, 5, "Lin is ill.")
    assert batch["closed_without"] == {"A2": 1}
    assert batch["closed_at"]
    assert batch["missing"] == {}


def test_the_audit_is_read_page_by_page_and_as_a_file(cast: Cast) -> None:
    for number in range(60):
        audit(cast.campaign, cast.mei, "names shown", {"page": str(number)})

    first = get(cast.mei, "audit/")
    second = get(cast.mei, f"audit/?before={first['next']}")
    rows = list(csv.reader(io.StringIO(streamed(answered(cast.mei, "audit/?format=csv")))))

    assert [len(page["results"]) for page in (first, second)] == [50, 11]
    assert second["next"] is None
    assert first["results"][0]["who"] == "M1"
    (closing,) = get(cast.mei, "audit/?action=batch closed")["results"]
    assert closing["changes"] == [{"what": "state", "before": "open", "after": "closed"}]
    assert closing["detail"]["reason"] == "Lin is ill."
    assert len(rows) == 1 + AuditEntry.objects.filter(campaign=cast.campaign).count() == 62
    assert rows[0] == ["at", "who", "action", "before", "after", "detail"]
    everything = json.dumps([first, second]) + str(rows)
    assert not any(name in everything for name in ("mei", "ada", "lin"))


def streamed(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


@pytest.mark.parametrize("query", ["day=soon", "day=2026-02-30", "format=pdf", "before=x"])
def test_a_query_that_means_nothing_is_refused(query: str, cast: Cast) -> None:
    assert answered(cast.mei, f"audit/?{query}").status_code == 400


@pytest.mark.parametrize("path", ["rounds/", "batches/", "audit/"])
def test_it_costs_the_same_however_much_there_is(path: str, cast: Cast) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            get(cast.mei, path)
        return len(seen)

    few = queries()
    for _more in range(3):
        design = make_judged(cast, *[("1", "0")] * 5)
        close_batch(cast.campaign, design.pk, by=cast.mei)
    assert queries() == few
