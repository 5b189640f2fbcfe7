"""What the judging page asks for beside answers."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from annotation.models import Assignment, Question
from annotation.services.seat import postpone
from tests.annotation.views.test_seat import client_of, make_work, rows_of

pytestmark = pytest.mark.django_db

API = "/api/v1/campaigns/main/"


def post(client: Client, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    response = client.post(API + path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json()


def test_it_takes_a_postponement_back() -> None:
    cast = make_work("triple", units=3)
    row = rows_of(cast.ada)[0]
    postpone(cast.campaign, expert_id=cast.ada.pk, screen_id=row.pk, assignments=[row.pk])

    status, _reply = post(client_of(cast.ada), f"units/{row.pk}/later/back/", {"assignments": [row.pk]})

    assert status == 200
    upcoming = client_of(cast.ada).get(API + "next/?count=3").json()["units"]
    assert [unit["position"] for unit in upcoming] == [1, 2, 3]
    assert upcoming[0]["postponed"] is False
    assert post(client_of(cast.lin), f"units/{row.pk}/later/back/", {"assignments": [row.pk]})[0] == 404


def test_it_asks_a_question_once() -> None:
    cast = make_work("triple", units=1)
    unit = rows_of(cast.ada)[0].pk
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

    assert starts[str(row.pk)] == [1, 3, 5, 6]
    assert set(starts) == {
        str(pk) for pk in Assignment.objects.filter(expert=cast.ada).values_list("pk", flat=True)
    }
    assert client_of(cast.ada).get(API + "screens/7/words/").status_code == 404
