"""The pages beside judging in a real browser: practice by keys, time for reading, a rest, and use by everybody."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import TimeEntry
from tests.browser.conftest import Seat, open_seat, press, sign_in

pytestmark = pytest.mark.browser

SeatOf = Callable[..., Seat]


def open_page(context: BrowserContext, seat: Seat, path: str) -> Page:
    """A page of the campaign, or of the site; the manager's as Mei, the others as Ada."""
    sign_in(context, seat, seat.cast.mei if path == "settings/" else seat.cast.ada)
    page = context.new_page()
    page.goto(f"{seat.address}{path}" if path.startswith("/") else seat.url(path))
    return page


def broken_rules(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:120]}" for rule in found]


def test_it_practises_a_compound_by_keys(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_page(context, seat_of("compound", units=1), "practice/1/")

    press(page, "1", "1", "2", "2", "3", "4", "5", "5", "Enter")

    expect(page.locator(".notice strong")).to_have_text("5 of 5 right.")
    assert broken_rules(page) == []
    press(page, "Enter")
    expect(page).to_have_url(re.compile("/practice/2/$"))


def test_it_marks_the_rest_correct_in_practice_and_says_what_is_missing_until_it_is_there(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    page = open_page(context, seat_of("compound", units=1), "practice/1/")
    correct = page.locator(".context .verdict.correct input:checked")

    press(page, "2", "Enter")
    expect(page.locator("#cue")).to_have_text("Answer every row first.")
    press(page, "a")
    expect(correct).to_have_count(4)
    expect(page.locator("#cue")).to_be_empty()
    press(page, "a")
    expect(correct).to_have_count(0)
    page.get_by_role("button", name="rest correct").click()
    press(page, "Enter")

    expect(page.locator(".practice-mark")).to_have_count(5)


def test_it_practises_a_triple_by_keys_and_leaves_other_keys_alone(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    page = open_page(context, seat_of("triple", units=1), "practice/2/")

    press(page, "Control+2", "7", "Enter")
    expect(page.locator(".practice-mark")).to_have_count(0)
    press(page, "Numpad2")

    expect(page.locator(".practice-mark .badge")).to_have_text("✓right")


def test_a_text_is_cut_after_so_many_code_points(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_page(context, seat_of("triple", units=1), "my-questions/?position=1")

    page.locator("[name=text]").fill("𠮷" * 1001)

    assert page.evaluate("Array.from(document.querySelector('[name=text]').value).length") == 1000


def test_it_counts_the_time_the_guidelines_were_in_sight(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=1)
    page = open_page(context, seat, "guidelines/")

    page.wait_for_timeout(5_300)
    with page.expect_response("**/time/") as told:
        page.evaluate("window.dispatchEvent(new Event('pagehide'))")

    assert told.value.status == 200
    line = TimeEntry.objects.get()
    assert (line.user, line.kind) == (seat.cast.ada, "guideline")
    assert 5 < line.seconds < 60


def test_it_suggests_a_rest_after_the_time_the_site_says(
    context: BrowserContext, seat_of: SeatOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.views.seat_page.REST_MINUTES", 0.0001)
    context.clock.install()
    page = open_seat(context, seat_of("triple", units=3))

    press(page, "1")
    page.clock.run_for(61_000)

    expect(page.locator("#notices")).to_contain_text("A short rest keeps judgements steady.")
