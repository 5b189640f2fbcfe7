"""What is recorded: read once before the first unit, and found again later."""

import json
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Annotation
from tests.annotation.views.test_seat import filled_in, make_work, rows_of
from tests.factories import Cast, seat_number, signed_in

NOTICE = "/recorded/"


@pytest.fixture
def cast(db: None) -> Cast:
    """Ada has work and has not read the notice."""
    cast = make_work("triple", units=2)
    cast.ada.notice_read_at = None
    cast.ada.save()
    return cast


@pytest.fixture
def ada(cast: Cast) -> Client:
    return signed_in(cast.ada)


@pytest.mark.parametrize("page", ["work/", "judge/", "judge/?position=2", "practice/", "practice/1/"])
def test_it_comes_before_the_page_one_wanted(ada: Client, page: str) -> None:
    wanted = f"/campaigns/main/{page}"

    shown = ada.get(wanted, follow=True)
    went_on = ada.post(NOTICE, {"next": shown.context["next"]})

    assert shown.request["PATH_INFO"] == NOTICE
    assert went_on["Location"] == wanted
    assert ada.get(wanted).status_code == 200


def test_it_is_confirmed_once(cast: Cast, ada: Client) -> None:
    before = timezone.now()
    ada.post(NOTICE)
    cast.ada.refresh_from_db()
    first = cast.ada.notice_read_at
    ada.post(NOTICE)
    cast.ada.refresh_from_db()

    assert first is not None
    assert before <= first == cast.ada.notice_read_at
    body = ada.get(NOTICE).content.decode()
    assert "You confirmed on" in body
    assert "go on" not in body


def test_it_confirms_nothing_by_being_opened(cast: Cast, ada: Client) -> None:
    ada.get(NOTICE)

    cast.ada.refresh_from_db()
    assert cast.ada.notice_read_at is None


def test_it_goes_on_to_pages_of_this_site_only(ada: Client) -> None:
    for elsewhere in ("https://example.org/", "//example.org/", "1", "-1", "home", ""):
        assert ada.post(NOTICE, {"next": elsewhere})["Location"] == "/"


def test_it_keeps_the_wanted_page_over_a_change_of_language(ada: Client) -> None:
    ada.post("/language/", {"language": "zh-hans", "next": "/recorded/?next=/campaigns/main/judge/"})

    shown = ada.get("/recorded/?next=/campaigns/main/judge/")

    assert shown.context["next"] == "/campaigns/main/judge/"
    assert "记录哪些信息" in shown.content.decode()


def test_it_says_whom_to_ask(ada: Client, cast: Cast) -> None:
    body = ada.get(NOTICE).content.decode()

    assert "<dt>Main</dt><dd" in body
    assert "mei" in body
    assert "otto" not in body  # manages another campaign
    assert "vera" not in body


def test_it_does_not_stand_before_programs_and_scripts(cast: Cast, ada: Client) -> None:
    row = rows_of(cast.ada)[0]
    body = {
        "client_key": str(uuid4()),
        "answers": [{"assignment": seat_number(row), "revision": 0, "label": "often"}],
    }

    saved = ada.post(
        f"/api/v1/campaigns/main/units/{seat_number(row)}/answers/",
        json.dumps(body),
        content_type="application/json",
    )
    asked = ada.get("/campaigns/main/work/", headers={"accept": "application/json"})

    assert (saved.status_code, asked.status_code) == (200, 200)
    assert asked.json()["user"] == cast.ada.pk


def test_it_loses_no_form_that_was_filled_in(cast: Cast, ada: Client) -> None:
    row = rows_of(cast.ada)[0]
    ada.post(NOTICE)
    form = filled_in(ada, 1, **{f"label_{seat_number(row)}": "often"})
    cast.ada.notice_read_at = None
    cast.ada.save()

    ada.post("/campaigns/main/judge/", form)

    assert Annotation.objects.count() == 1


def test_it_tells_a_stranger_nothing(cast: Cast) -> None:
    cast.otto.notice_read_at = None
    cast.otto.save()

    assert signed_in(cast.otto).get("/campaigns/main/work/").status_code == 404


def test_it_is_found_on_the_account_page(ada: Client) -> None:
    assert f'href="{NOTICE}"' in ada.get("/account/").content.decode()


def test_it_names_the_one_key_that_is_recorded(ada: Client) -> None:
    body = ada.get(NOTICE).content.decode()

    assert "how many rows you answered with “rest correct”" in body
    assert "Other keystrokes, and movements of the mouse" in body


@pytest.mark.parametrize(
    ("address", "back"),
    [
        (NOTICE, "/account/"),
        (f"{NOTICE}?next=/campaigns/main/hours/", "/campaigns/main/hours/"),
        (f"{NOTICE}?next=https://elsewhere.example/", "/"),
        ("/campaigns/main/guidelines/", "/campaigns/main/work/"),
        ("/campaigns/main/guidelines/?next=/campaigns/main/judge/", "/campaigns/main/judge/"),
        ("/campaigns/main/guidelines/?next=//elsewhere.example/", "/"),
    ],
)
def test_what_is_read_beside_the_work_leads_back_to_it(
    cast: Cast, ada: Client, address: str, back: str
) -> None:
    ada.post(NOTICE)

    body = ada.get(address).content.decode()

    assert f'<a class="button" href="{back}">' in body


def test_who_does_not_judge_is_asked_to_confirm_nothing(cast: Cast) -> None:
    cast.vera.notice_read_at = None
    cast.vera.save()

    body = signed_in(cast.vera).get(NOTICE).content.decode()

    assert "Experts read this before they judge the first unit." in body
    assert "Please read this before you judge" not in body
    assert "go on" not in body
    assert '<a class="button" href="/account/">' in body


def test_the_start_page_says_who_one_is_in_a_sentence(cast: Cast, ada: Client) -> None:
    assert "You are an expert, A1" in ada.get("/").content.decode()
    assert "You are a viewer, " in signed_in(cast.vera).get("/").content.decode()
    assert "You are a manager, " in signed_in(cast.mei).get("/").content.decode()
