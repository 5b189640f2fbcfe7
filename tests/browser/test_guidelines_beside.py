"""Guidelines beside the seat: precedents in the window for search, and a version that comes while a page is open."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from annotation.models import Annotation
from tests.browser.conftest import Seat, alive, all_saved, axe, open_seat, press
from tests.factories import make_guideline, make_precedent

pytestmark = pytest.mark.browser

SeatOf = Callable[..., Seat]


def test_the_key_for_search_shows_what_was_decided_about_the_unit(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=2)
    make_precedent(seat.cast.campaign, text_en="<b>A wish</b> that comes later.")
    make_precedent(seat.cast.campaign, key="xNeed", text_en="Beforehand.")
    page = open_seat(context, seat)
    found = page.locator("#precedent-list li")

    press(page, "/")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("xWant")
    expect(found).to_contain_text("<b>A wish</b> that comes later.")
    page.locator("#search-text").fill("beforehand")
    page.keyboard.press("Enter")
    expect(found).to_contain_text("xNeed")
    assert axe(page) == []
    page.locator("#search-text").fill("nowhere")
    page.keyboard.press("Enter")
    expect(page.locator("#precedents")).to_be_hidden()
    page.keyboard.press("Escape")

    press(page, "1")
    all_saved(page)
    assert Annotation.objects.count() == 1


def test_an_open_page_is_told_of_a_new_version_and_goes_on_under_its_own(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=3)
    context.clock.install()
    page = open_seat(context, seat)
    make_guideline(seat.cast.campaign)

    page.clock.run_for(301_000)
    page.clock.resume()
    notice = page.locator("[data-notice=guidelines]")
    expect(notice).to_contain_text("The guidelines have changed.")
    press(page, "1")
    all_saved(page)
    assert Annotation.objects.get().guideline.version == 1

    notice.get_by_role("link").click()
    page.locator(".page button.primary").click()
    alive(page)
    press(page, "1")
    all_saved(page)
    assert Annotation.objects.latest("pk").guideline.version == 2
