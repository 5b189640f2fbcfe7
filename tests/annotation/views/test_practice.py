"""Practice: explained at once, stored nowhere but for its time."""

import re
from uuid import uuid4

import pytest
from django.test import Client

from annotation.models import Annotation, TimeEntry
from annotation.services.hours import record
from annotation.services.practice import practice_units
from tests.annotation.views.test_seat import make_work
from tests.factories import Cast, make_cast, signed_in
from tests.pages import text_of

pytestmark = pytest.mark.django_db


def unit_page(number: int) -> str:
    return f"/campaigns/main/practice/{number}/"


def stamp_of(body: str) -> str:
    found = re.search(r'name="stamp" value="([^"]+)"', body)
    assert found
    return found.group(1)


def compound() -> tuple[Cast, Client]:
    cast = make_cast(protocol="compound", k=1)
    return cast, signed_in(cast.ada)


def triple(*, zero_detail: bool = False) -> tuple[Cast, Client]:
    cast = make_cast()
    cast.campaign.zero_detail = zero_detail
    cast.campaign.save()
    return cast, signed_in(cast.ada)


def test_it_explains_nothing_before_an_answer() -> None:
    _cast, client = compound()
    unit = practice_units("compound")[0]
    assert unit.why is not None

    body = client.get(unit_page(1)).content.decode()

    assert unit.rows[0].source.split()[-2] in body
    assert unit.why.en not in body
    assert all(row.why.en[:30] not in body for row in unit.rows)
    assert "checked" not in body  # nothing is chosen beforehand


def test_it_marks_every_row_by_sign_and_word_and_says_why() -> None:
    _cast, client = compound()
    answers = [row.answer for row in practice_units("compound")[0].rows]
    assert answers[3] == "wrong"
    answers[3] = "correct"
    form = {f"row-{number}": answer for number, answer in enumerate(answers, start=1)}

    body = client.post(unit_page(1), {**form, "action": "check"}).content.decode()

    assert "4 of 5 right." in body
    assert body.count('aria-hidden="true">✓</span>right</span>') == 4
    assert body.count('aria-hidden="true">✗</span>not right</span>') == 1
    assert "has to describe the farmer" in body


def test_it_keeps_the_choices_where_a_row_was_left_blank() -> None:
    _cast, client = compound()

    response = client.post(unit_page(1), {"row-1": "wrong", "action": "check"})

    body = response.content.decode()
    assert response.status_code == 400
    assert "Answer every row first." in body
    assert re.search(r'name="row-1" value="wrong" required checked', body)


def test_it_explains_a_triple_after_one_button() -> None:
    _cast, client = triple()

    wrong = client.post(unit_page(3), {"row-1": "often"}).content.decode()
    right = client.post(unit_page(3), {"row-1": "rarely"}).content.decode()

    for body in (wrong, right):
        assert "This is a result, never an aim." in body
    assert "not right" in wrong
    assert "✓</span>right" in right


def test_it_tells_apart_the_reason_where_the_campaign_asks_for_it() -> None:
    _cast, client = triple(zero_detail=True)

    body = client.post(unit_page(3), {"row-1": "ambiguous"}).content.decode()

    assert "right, but for another reason" in body
    assert "<strong>invalid</strong>" in body


def test_it_never_shows_scores() -> None:
    _cast, client = triple(zero_detail=True)

    for body in (client.get(unit_page(1)), client.post(unit_page(1), {"row-1": "often"})):
        assert 'value="1"' not in body.content.decode()
        assert "0.5" not in body.content.decode()


def test_it_leads_through_all_units_and_back_to_work() -> None:
    _cast, client = triple()

    steps = [client.post(unit_page(number), {"action": "next"})["Location"] for number in range(1, 6)]

    assert steps == [*(unit_page(number) for number in range(2, 6)), "/campaigns/main/work/"]
    assert client.get(unit_page(6)).status_code == 404
    assert client.get(unit_page(0)).status_code == 404


def test_it_lists_its_units() -> None:
    _cast, client = triple()

    body = client.get("/campaigns/main/practice/").content.decode()

    assert [unit_page(number) in body for number in range(1, 7)] == [True] * 5 + [False]


def test_it_stores_the_time_once_and_nothing_else() -> None:
    cast, client = triple()
    stamp = stamp_of(client.get(unit_page(1)).content.decode())

    for _ in range(2):
        client.post(unit_page(1), {"row-1": "often", "stamp": stamp})

    line = TimeEntry.objects.get()
    assert (line.kind, line.user, line.campaign) == ("practice", cast.ada, cast.campaign)
    assert 0 <= line.seconds < 60
    assert not Annotation.objects.exists()
    assert "sessionid" not in client.post(unit_page(1), {"row-1": "often"}).cookies


@pytest.mark.parametrize("stamp", ["", "x", "1:2:3"])
def test_it_goes_on_without_time_where_the_stamp_is_no_stamp(stamp: str) -> None:
    _cast, client = triple()

    response = client.post(unit_page(1), {"row-1": "often", "stamp": stamp})

    assert response.status_code == 200
    assert not TimeEntry.objects.exists()


def test_it_is_offered_before_the_first_unit_only() -> None:
    cast = make_work("triple", units=1)
    client = signed_in(cast.ada)

    def offered() -> bool:
        return 'href="/campaigns/main/practice/"' in client.get("/campaigns/main/work/").content.decode()

    before = offered()
    row = cast.ada.assignments.get()
    row.revision, row.label, row.answered_at = 1, "1", cast.campaign.created_at
    row.save()

    assert (before, offered()) == (True, False)


def test_who_has_practised_is_offered_it_again_and_is_no_longer_new() -> None:
    cast = make_work("triple", units=1)
    client = signed_in(cast.ada)
    work = "/campaigns/main/work/"
    assert "New here? Practise first" in text_of(client.get(work))
    record(cast.campaign, cast.ada, kind=TimeEntry.Kind.PRACTICE, seconds=60, client_key=uuid4())

    shown = text_of(client.get(work))

    assert "New here?" not in shown
    assert "Practise again" in shown
