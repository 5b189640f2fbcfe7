"""What the judging page asks for beside answers."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Campaign, Question, TimeEntry
from annotation.services.seat import postpone
from tests.annotation.views.test_seat import client_of, make_work, rows_of
from tests.factories import seat_number

pytestmark = pytest.mark.django_db

API = "/api/v1/campaigns/main/"


def post(client: Client, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    response = client.post(API + path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json()


def test_it_takes_a_postponement_back() -> None:
    cast = make_work("triple", units=3)
    row = rows_of(cast.ada)[0]
    postpone(cast.campaign, expert_id=cast.ada.pk, screen_id=row.pk, assignments=[row.pk])

    number = seat_number(row)
    status, _reply = post(client_of(cast.ada), f"units/{number}/later/back/", {"assignments": [number]})

    assert status == 200
    upcoming = client_of(cast.ada).get(API + "next/?count=3").json()["units"]
    assert [unit["position"] for unit in upcoming] == [1, 2, 3]
    assert upcoming[0]["postponed"] is False
    assert post(client_of(cast.lin), f"units/{number}/later/back/", {"assignments": [number]})[0] == 404


def test_it_asks_a_question_once() -> None:
    cast = make_work("triple", units=1)
    unit = seat_number(rows_of(cast.ada)[0])
    body = {"client_key": str(uuid4()), "text": "Which one?"}
    ada = client_of(cast.ada)

    assert post(ada, f"units/{unit}/questions/", body) == post(ada, f"units/{unit}/questions/", body)

    assert Question.objects.get().text == "Which one?"
    assert post(ada, f"units/{unit}/questions/", {**body, "text": "Another?"})[0] == 422
    assert post(ada, f"units/{unit}/questions/", {**body, "text": " ", "client_key": str(uuid4())})[0] == 400
    assert post(ada, f"units/{unit + 99}/questions/", {**body, "client_key": str(uuid4())})[0] == 404


def test_it_tells_where_words_begin_in_what_is_shown() -> None:
    cast = make_work("compound", units=1)
    row = rows_of(cast.ada)[0]
    row.item.translation = "又 一个 懒惰 的 狗 。"
    row.item.save()

    starts = client_of(cast.ada).get(API + "screens/1/words/").json()["starts"]

    assert starts[str(seat_number(row))] == [1, 3, 5, 6]
    assert set(starts) == {str(seat_number(one)) for one in rows_of(cast.ada)}
    assert client_of(cast.ada).get(API + "screens/7/words/").status_code == 404


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("time/", {"kind": "guideline", "seconds": 60, "client_key": str(uuid4())}),
        ("units/1/questions/", {"text": "Which?", "client_key": str(uuid4())}),
        ("units/1/later/", {"assignments": [1]}),
        ("units/1/later/back/", {"assignments": [1]}),
    ],
)
def test_an_archived_campaign_is_only_read(address: str, body: dict[str, Any]) -> None:
    cast = make_work("triple", units=1)
    Campaign.objects.filter(pk=cast.campaign.pk).update(closed_at=timezone.now(), archived_at=timezone.now())

    code, told = post(client_of(cast.ada), address, body)

    assert (code, told["code"]) == (409, "closed")
    assert told["detail"].startswith("This campaign is archived")
    assert not TimeEntry.objects.exists()
