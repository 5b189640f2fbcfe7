"""What forms do in a browser: fields of one line are equally high, and nobody is offered their own units."""

import pytest
from playwright.sync_api import BrowserContext
from pytest_django.live_server_helper import LiveServer

from tests.browser.conftest import Seat, sign_in
from tests.browser.test_every_page import judged_campaign

pytestmark = pytest.mark.browser

HEIGHTS = "[...document.querySelectorAll('.fields :is(input, select)')].map(one => one.offsetHeight)"


@pytest.fixture
def seat(live_server: LiveServer, transactional_db: None) -> Seat:
    return Seat(live_server.url, judged_campaign("triple"))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("page", ["items/", "audit/"])
def test_the_fields_of_a_filter_are_equally_high(
    context: BrowserContext, seat: Seat, page: str, language: str
) -> None:
    sign_in(context, seat, seat.cast.mei)
    context.add_cookies([{"name": "django_language", "value": language, "url": seat.address}])
    opened = context.new_page()
    opened.goto(seat.url(page))
    heights = opened.evaluate(HEIGHTS)
    assert len(heights) >= 3
    assert len(set(heights)) == 1


def test_whoever_gives_units_away_is_not_offered_to_take_them(context: BrowserContext, seat: Seat) -> None:
    sign_in(context, seat, seat.cast.mei)
    opened = context.new_page()
    opened.goto(seat.url("moves/"))
    giver, taker = opened.locator("select[name=giver]"), opened.locator("label.check")
    assert taker.locator("visible=true").all_inner_texts() == ["A2"]
    giver.select_option(index=1)
    assert taker.locator("visible=true").all_inner_texts() == ["A1"]
