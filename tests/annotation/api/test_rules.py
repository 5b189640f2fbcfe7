"""Guidelines, wording, precedents and questions for programs: what each role gets, and what none may."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Campaign, Question, User
from annotation.services.access import create_token
from annotation.services.guidelines import acknowledge
from tests.factories import (
    Cast,
    make_assignment,
    make_cast,
    make_guideline,
    make_part,
    make_precedent,
    make_triple,
)

pytestmark = pytest.mark.django_db

HERE = "/api/v1/campaigns/main"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def get(user: User, path: str) -> Any:
    headers = {"Authorization": f"Bearer {create_token(user, 'program')[1]}"}
    answer = Client().get(f"{HERE}/{path}", headers=headers)
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


def test_an_expert_gets_the_version_in_force_and_nothing_of_whom_it_touches(cast: Cast) -> None:
    make_guideline(cast.campaign, touches={"items": [3, 7]})

    found = get(cast.ada, "guidelines/")

    assert set(found) == {"in_force", "acknowledged"}
    assert set(found["in_force"]) == {"version", "created_at", "text", "change"}
    assert (found["in_force"]["version"], found["acknowledged"]) == (2, False)
    assert found["in_force"]["text"] == {"en": "Judge, version 2.", "zh": "请判断，第 2 版。"}
    acknowledge(cast.campaign.memberships.get(user=cast.ada), version=2)
    assert get(cast.ada, "guidelines/")["acknowledged"] is True


@pytest.mark.parametrize("name", ["mei", "vera"])
def test_who_looks_on_gets_every_version(name: str, cast: Cast) -> None:
    make_guideline(cast.campaign, touches={"items": [3, 7]})

    versions = get(getattr(cast, name), "guidelines/")["versions"]

    assert [one["version"] for one in versions] == [2, 1]
    assert (versions[0]["touches"], versions[0]["acknowledged"], versions[0]["asked"]) == (
        {"items": [3, 7]}, 0, 2,
    )  # fmt: skip


def test_the_wording_is_the_campaigns_and_an_expert_gets_no_classes(cast: Cast) -> None:
    own = {"answers": {"sometimes": {"en": "now and then", "zh": "时有"}}}
    Campaign.objects.filter(pk=cast.campaign.pk).update(wording=own)

    mine, theirs = get(cast.ada, "wording/"), get(cast.mei, "wording/")

    assert mine["answers"]["sometimes"] == own["answers"]["sometimes"]
    assert mine["answers"]["often"]["en"]
    assert "class_groups" not in mine
    assert theirs["class_groups"]["adv"] == "Adv"
    assert {name: value for name, value in theirs.items() if name != "class_groups"} == mine


def test_experts_find_precedents_that_are_in_force(cast: Cast) -> None:
    make_precedent(cast.campaign)
    make_precedent(cast.campaign, key="xNeed", text_en="A condition.", retired_at=timezone.now())

    (mine,) = get(cast.ada, "precedents/")["results"]

    assert (mine["about"], mine["key"], mine["retired"], mine["items"]) == ("relation", "xWant", False, [])
    assert mine["text"] == {"en": "A wish that comes later.", "zh": "之后才有的愿望。"}
    assert len(get(cast.ada, "precedents/?q=wish later")["results"]) == 1
    assert get(cast.ada, "precedents/?q=condition")["results"] == []
    assert [one["key"] for one in get(cast.mei, "precedents/")["results"]] == ["xWant", "xNeed"]


def test_an_expert_gets_their_own_questions_only(cast: Cast) -> None:
    row = make_assignment(make_triple(cast.campaign, 1), cast.ada, part=make_part(cast.campaign.rounds.get()))
    Question.objects.create(
        campaign=cast.campaign, unit=row.unit, asked_by=cast.ada, client_key=uuid4(), text="Which one?"
    )

    (mine,) = get(cast.ada, "questions/")["results"]

    assert (mine["text"], mine["answer"], mine["position"]) == ("Which one?", None, 1)
    assert mine["unit"] == {"head": row.item.head, "relation": row.item.relation, "tail": row.item.tail}
    assert get(cast.lin, "questions/")["results"] == []
    (theirs,) = get(cast.mei, "questions/")["results"]
    assert (theirs["expert"], "position" in theirs) == ("A1", False)


def test_what_no_text_holds_is_refused(cast: Cast) -> None:
    headers = {"Authorization": f"Bearer {create_token(cast.mei, 'program')[1]}"}
    for path in ("precedents/?q=%00", "audit/?action=%00"):
        assert Client().get(f"{HERE}/{path}", headers=headers).status_code == 400
