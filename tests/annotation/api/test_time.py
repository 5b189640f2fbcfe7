"""POST …/time/: lines of an expert's own hours."""

import json
from typing import Any
from uuid import uuid4

import pytest

from annotation.models import TimeEntry
from tests.factories import Cast, make_cast, signed_in

ADDRESS = "/api/v1/campaigns/main/time/"


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def post(cast: Cast, **body: Any) -> tuple[int, dict[str, Any]]:
    given = {"kind": "guideline", "seconds": 75.5, "client_key": str(uuid4()), **body}
    response = signed_in(cast.ada).post(ADDRESS, json.dumps(given), content_type="application/json")
    return response.status_code, response.json()


def test_it_adds_a_line_and_tells_what_counts(cast: Cast) -> None:
    status, reply = post(cast, seconds=5000)

    assert (status, reply["kind"], reply["seconds"]) == (200, "guideline", 1800.0)
    assert TimeEntry.objects.get().user == cast.ada


def test_it_gives_the_same_reply_to_the_same_request(cast: Cast) -> None:
    key = str(uuid4())

    assert post(cast, client_key=key) == post(cast, client_key=key)
    assert TimeEntry.objects.count() == 1


def test_it_answers_422_to_the_same_key_with_another_body(cast: Cast) -> None:
    key = str(uuid4())
    post(cast, client_key=key)

    status, reply = post(cast, client_key=key, seconds=1)

    assert (status, reply["code"]) == (422, "key_reused")


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "correction"},
        {"kind": "lunch"},
        {"seconds": -1},
        {"seconds": "long"},
        {"client_key": "mine"},
    ],
)
def test_it_refuses_what_is_no_such_line(cast: Cast, wrong: dict[str, Any]) -> None:
    status, reply = post(cast, **wrong)

    assert (status, reply["code"]) == (400, "invalid")
    assert not TimeEntry.objects.exists()


def test_it_is_open_to_who_has_not_read_the_notice(cast: Cast) -> None:
    cast.ada.notice_read_at = None
    cast.ada.save()

    assert post(cast)[0] == 200
