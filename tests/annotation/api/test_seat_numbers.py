"""Hidden repeats and gold come with nothing that tells them from the units around them: no number, no order."""

from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Annotation, Assignment, Campaign, Gold
from annotation.services import screens
from annotation.services.seat_numbers import LARGEST
from tests.annotation.services.test_repeats import drawn, expert, judge, made, near, text
from tests.factories import seat_number, signed_in
from tests.walking import told_apart

__all__ = ["near"]  # a fixture

pytestmark = pytest.mark.django_db

HERE = "/api/v1/campaigns/main"
Screen = dict[str, Any]
UNKNOWN = {"detail": "There is no such unit among your work.", "code": "not_found"}


@pytest.fixture(params=["triple", "compound"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Campaign:
    """Sixty units; Ada has judged a third of hers, the last two in a sitting of today. Every fifth item is gold."""
    protocol = request.param
    campaign = made(tmp_path, 60 if protocol == "triple" else 100, protocol=protocol)
    judge(campaign, "ada", 18, session="monday")
    judge(campaign, "ada", 2, session="tuesday")
    for item in campaign.items.filter(position__in=range(5, 200, 5)):
        Gold.objects.create(item=item, label="1")
    return campaign


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"{HERE}/{path}", body, content_type="application/json")


def sheet(screen: Screen, **more: Any) -> dict[str, Any]:
    rows = [
        {"assignment": row["assignment"], "revision": row["revision"], "label": "1"} for row in screen["rows"]
    ]
    return {"client_key": str(uuid4()), "answers": rows, "count": 1, **more}


def to_the_end(client: Client) -> Iterator[Screen]:
    """Everything that is left, screen by screen as a reply to the last, which an expert's program may keep."""
    (screen,) = client.get(f"{HERE}/next/").json()["units"]
    while screen:
        yield screen
        saved = post(client, f"units/{screen['id']}/answers/", sheet(screen, after=screen["queue"])).json()
        assert [row["assignment"] for row in saved["saved"]] == [row["assignment"] for row in screen["rows"]]
        screen = next(iter(saved["next"]["units"]), None)


def repeats_and_gold(shown: list[Screen], again: set[str]) -> tuple[set[int], set[int]]:
    """Which of the screens are: their places."""
    gold = set(Gold.objects.values_list("item__unit__compound", flat=True))
    gold |= set(Gold.objects.values_list("item__head", flat=True))
    return (
        {place for place, screen in enumerate(shown) if text(screen) in again},
        {place for place, screen in enumerate(shown) if text(screen) in gold},
    )


def test_nothing_that_came_with_a_screen_tells_repeats_and_gold_apart(campaign: Campaign) -> None:
    again = drawn(campaign, percent=100)
    client = signed_in(expert("ada"))
    ahead = client.get(f"{HERE}/next/?count=200").json()["units"]
    one_by_one = list(to_the_end(client))
    afterwards = client.get(f"{HERE}/recent/?count=200").json()["units"]
    by_place = [client.get(f"{HERE}/screens/{one['position']}/").json() for one in one_by_one]

    assert len(again) > 10
    for shown in (ahead, one_by_one, afterwards, by_place):
        for marked in repeats_and_gold(shown, again):
            assert len(marked) > 5
            found = told_apart(shown, marked)
            assert {
                "id",
                "position",
                "queue",
                "part",
                "postponed",
                "rows[0].assignment",
                "rows[0].revision",
            } <= set(found)
            assert not {field: how for field, how in found.items() if not 0.15 < how < 0.85}


def test_the_places_of_an_experts_list_go_on_without_a_gap(campaign: Campaign) -> None:
    drawn(campaign, percent=100)
    shown = list(to_the_end(signed_in(expert("ada"))))

    assert [screen["position"] for screen in shown] == list(range(21, 21 + len(shown)))
    steps = {after["queue"] - before["queue"] for before, after in pairwise(shown)}
    assert steps <= {1, *(step for step in steps if step > 900)}  # between two parts there is room
    assert [screen["part"] for screen in shown] == sorted(screen["part"] for screen in shown)


def test_primary_keys_would_tell_them_apart(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "number_of", lambda row, *, expert: row)
    again = drawn(campaign, percent=100)
    shown = signed_in(expert("ada")).get(f"{HERE}/next/?count=200").json()["units"]
    repeats, _gold = repeats_and_gold(shown, again)

    found = told_apart(shown, repeats)

    assert found["id"] > 0.85
    assert found["rows[0].assignment"] > 0.85


def test_a_number_stays_the_same_over_a_draw(campaign: Campaign) -> None:
    """A page that was open may send answers for days."""
    client = signed_in(expert("ada"))
    before = {text(one): one["id"] for one in client.get(f"{HERE}/next/?count=200").json()["units"]}
    drawn(campaign, percent=100)

    after = {text(one): one["id"] for one in client.get(f"{HERE}/next/?count=200").json()["units"]}

    assert before.items() <= after.items()


def test_every_made_up_or_strange_number_gets_the_same_answer(campaign: Campaign) -> None:
    """Primary keys too, one's own among them."""
    client, screen = signed_in(expert("ada")), None
    (screen,) = client.get(f"{HERE}/next/").json()["units"]
    mine, lins = (
        Assignment.objects.filter(expert=expert(name), answered_at=None)[0] for name in ("ada", "lin")
    )
    stored = Annotation.objects.count()
    fresh = count(1)
    for number in (1, mine.pk, lins.pk, seat_number(lins), screen["id"] + 1, LARGEST, LARGEST + 1, 2**63 - 1):
        row = {"assignment": number, "revision": 0, "label": "1"}
        wrong = {"client_key": str(uuid4()), "answers": [row]}
        ask = {"client_key": str(uuid4()), "text": f"Which {next(fresh)}?"}
        rows = [one["assignment"] for one in screen["rows"]]
        replies = [
            post(client, f"units/{number}/answers/", wrong),
            post(client, f"units/{screen['id']}/answers/", wrong),
            post(client, f"units/{number}/answers/", sheet(screen)),
            post(client, f"units/{number}/later/", {"assignments": [number]}),
            post(client, f"units/{screen['id']}/later/", {"assignments": [number]}),
            post(client, f"units/{number}/later/", {"assignments": rows}),
            post(client, f"units/{number}/later/back/", {"assignments": rows}),
            post(client, f"units/{number}/questions/", ask),
        ]
        assert [(reply.status_code, reply.json()) for reply in replies] == [(404, UNKNOWN)] * 8, number
    assert Annotation.objects.count() == stored


def test_a_number_of_no_row_is_looked_up_like_anothers(campaign: Campaign) -> None:
    client = signed_in(expert("ada"))
    (screen,) = client.get(f"{HERE}/next/").json()["units"]
    lins = Assignment.objects.filter(expert=expert("lin"))[0]
    lookups = []
    for number in (screen["id"] + 1, lins.pk, seat_number(lins), LARGEST):
        body = {**sheet(screen), "answers": [{"assignment": number, "revision": 0, "label": "1"}]}
        with CaptureQueriesContext(connection) as queries:
            assert post(client, f"units/{number}/answers/", body).status_code == 404
        lookups.append([query["sql"].split("(")[0] for query in queries])
    assert lookups == [lookups[0]] * 4
    assert lookups[0]
