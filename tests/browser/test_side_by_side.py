"""Translations of a context side by side: by keyboard, by touch, offline, after a reload; and the rows stored then."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from annotation.models import Annotation, Assignment
from tests.browser.conftest import NO_GUARD, Seat, alive, all_saved, axe, open_seat, position, press, sign_in
from tests.factories import make_assignment, make_side_by_side, make_variants

pytestmark = pytest.mark.browser

SeatOf = Callable[..., Seat]


def wide(seat_of: SeatOf, *, units: int = 2, more: tuple[int, ...] = (2, 1), **campaign: object) -> Seat:
    """Ada's units of five contexts, the first of which have so many translations more: by default 3, 2, 1, 1, 1."""
    seat = seat_of("compound", units=units, **campaign)
    make_side_by_side(seat.cast.campaign)
    Assignment.objects.filter(expert=seat.cast.lin).delete()
    for first in Assignment.objects.filter(row=1):
        mine = list(Assignment.objects.filter(position=first.position).order_by("row"))
        items = [item for row, n in zip(mine, more, strict=False) for item in make_variants(row.item, n)]
        for place, item in enumerate(items, start=len(mine) + 1):
            where: dict[str, Any] = {
                "part": first.part,
                "position": first.position,
                "row": place,
                "queue": first.queue,
            }
            make_assignment(item, seat.cast.ada, **where)
    return seat


def answers_by_context(unit: int) -> list[str]:
    """Of Ada's unit, the labels of each context's rows in the order in which they are shown."""
    rows = Assignment.objects.filter(position=unit).select_related("item__context").order_by("row")
    contexts = dict.fromkeys(row.item.context for row in rows)
    return [
        " ".join(row.label or row.cannot_judge or "-" for row in rows if row.item.context == context)
        for context in contexts
    ]


def step(page: Page) -> str:
    return page.locator("#step").inner_text()


def shown(page: Page) -> int:
    return page.locator("#rows .context:visible").count()


def all_arrived(page: Page) -> None:
    """Nothing waits to be sent; what is on the screen is begun and not saved."""
    expect(page.locator("#badge .word")).to_have_text("not saved yet")


def test_it_goes_from_context_to_context_and_saves_the_unit_as_one(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = wide(seat_of)
    page = open_seat(context, seat)
    assert (step(page), shown(page)) == ("Sentence 1 of 5", 3)
    expect(page.locator("#save .word")).to_have_text("Next sentence")
    expect(page.locator("#context-source")).to_contain_text("slept")
    assert page.locator("#rows .source:visible").count() == 0

    press(page, "1", "3", "3", "a", "Enter")  # wrong, correct by the rest, correct
    assert (step(page), shown(page)) == ("Sentence 2 of 5", 2)
    assert seat.annotations() == 0
    press(page, "2", "a", "Enter", "a", "Enter", "1", "Enter")
    assert step(page) == "Sentence 5 of 5"
    expect(page.locator("#save .word")).to_have_text("Save")
    assert seat.annotations() == 0
    press(page, "a", "Enter")
    all_saved(page)

    assert answers_by_context(1) == ["0 1 1", "1 0", "1", "0", "1"]
    stored = list(Annotation.objects.all())
    assert len({one.client_key for one in stored}) == 1
    assert {(one.conditions["display"], one.conditions["rest"]) for one in stored} == {("side_by_side", 4)}
    assert len({(one.seconds, one.visible_seconds, one.active_seconds) for one in stored}) == 1
    assert all(one.seconds and one.visible_seconds and one.active_seconds for one in stored)
    assert position(page) == "2"
    assert step(page) == "Sentence 1 of 5"
    expect(page.locator("#progress-text")).to_have_text("1 / 2")
    expect(page.locator("#last .said")).to_contain_text("rows 1.1, 2.2, 4.1 wrong")


def test_the_rest_is_that_of_the_context_before_the_expert(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, wide(seat_of))
    press(page, "a", "Enter", "a", "a")  # the second takes back what it marked here, and no more
    assert page.locator(".context[data-answer=correct]").count() == 0
    press(page, "u")
    assert step(page) == "Sentence 1 of 5"
    assert page.locator(".context[data-answer=correct]").count() == 3


def test_it_goes_on_from_no_context_with_a_blank_row(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of)
    page = open_seat(context, seat)
    press(page, "1", "Enter")
    assert step(page) == "Sentence 1 of 5"
    expect(page.locator("#cue")).to_contain_text("2 rows")
    expect(page.locator(".context[aria-current=true] .context-number")).to_have_text("2")

    press(page, "a", "ArrowDown", "ArrowDown")
    assert step(page) == "Sentence 2 of 5"  # the arrows lead on past the last row
    press(page, "ArrowDown", "ArrowDown", "a", "Enter", "a", "Enter", "a", "Enter")
    assert step(page) == "Sentence 2 of 5"  # which is blank: nothing is saved
    expect(page.locator("#cue")).to_contain_text("2 rows")
    assert seat.annotations() == 0
    press(page, "a", "Enter", "Enter", "Enter", "Enter")
    all_saved(page)
    assert answers_by_context(1) == ["0 1 1", "1 1", "1", "1", "1"]


def test_a_held_enter_moves_on_once(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of)
    page = open_seat(context, seat)
    press(page, "a")
    for _ in range(8):
        page.keyboard.down("Enter")
        page.wait_for_timeout(60)
    page.keyboard.up("Enter")
    assert step(page) == "Sentence 2 of 5"
    assert page.locator(".context[data-answer]:not([data-answer=''])").count() == 0
    for _ in range(8):  # a digit that is held answers once
        page.keyboard.down("1")
        page.wait_for_timeout(60)
    page.keyboard.up("1")
    assert page.locator(".context").first.get_attribute("data-answer") == "wrong"


def test_a_press_too_early_is_dropped_on_every_context(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of)
    page = open_seat(context, seat)
    page.evaluate("localStorage.setItem('assay-seat-prefs', '{\"guard\": 2000}')")
    page.reload()
    alive(page)
    page.wait_for_timeout(2100)
    press(page, "a", "Enter", "1")
    assert step(page) == "Sentence 2 of 5"
    expect(page.locator("#cue")).to_contain_text("Too quick")
    assert page.locator(".context[data-answer=wrong]").count() == 0


def test_it_goes_back_through_the_contexts_and_corrects(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of)
    page = open_seat(context, seat)
    press(page, *["a", "Enter"] * 5)
    all_saved(page)

    press(page, "a", "Enter", "u", "u")  # within the second unit, then to the first: at its last context
    expect(page.locator("#correction")).to_be_visible()
    assert step(page) == "Sentence 5 of 5"
    press(page, "u", "u")
    assert step(page) == "Sentence 3 of 5"
    press(page, "1")
    expect(page.locator("#save .word")).to_have_text("Save the correction")
    press(page, "Enter")
    all_arrived(page)

    assert answers_by_context(1) == ["1 1 1", "1 1", "0", "1", "1"]
    assert Annotation.objects.filter(revision=2).count() == 1
    assert (position(page), step(page)) == ("2", "Sentence 1 of 5")
    assert page.locator(".context[data-answer=correct]").count() == 3  # as it was left


def test_escape_leaves_a_correction_as_it_was(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of)
    page = open_seat(context, seat)
    press(page, *["a", "Enter"] * 5)
    all_saved(page)
    press(page, "u", "1", "u", "1", "Escape")
    assert (position(page), step(page)) == ("2", "Sentence 1 of 5")
    assert answers_by_context(1) == ["1 1 1", "1 1", "1", "1", "1"]


def test_more_than_nine_translations_come_page_by_page(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of, units=1, more=(12,))
    page = open_seat(context, seat)
    assert (step(page), shown(page)) == ("Sentence 1 of 5 · translations 1–9 of 13", 9)
    expect(page.locator("#save .word")).to_have_text("More translations")
    press(page, "9", "a", "Enter")
    assert (step(page), shown(page)) == ("Sentence 1 of 5 · translations 10–13 of 13", 4)
    press(page, "9", "4", "a", "Enter")  # there is no ninth row here
    assert step(page) == "Sentence 2 of 5"
    press(page, *["a", "Enter"] * 4)
    all_saved(page)
    assert answers_by_context(1)[0] == "1 1 1 1 1 1 1 1 0 1 1 1 0"
    assert len({one.client_key for one in Annotation.objects.all()}) == 1
    expect(page.locator("#last .said")).to_contain_text("rows 1.9, 1.13 wrong")


def test_half_a_unit_is_kept_over_a_reload(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of)
    page = open_seat(context, seat)
    press(page, "2", "a", "Enter", "1")
    page.reload()
    alive(page)
    assert step(page) == "Sentence 2 of 5"
    assert page.locator(".context").first.get_attribute("data-answer") == "wrong"
    press(page, "u")
    assert [row.get_attribute("data-answer") for row in page.locator(".context").all()] == [
        "correct",
        "wrong",
        "correct",
    ]
    assert seat.annotations() == 0


def test_units_judged_offline_arrive_whole(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of, units=3)
    page = open_seat(context, seat)
    context.set_offline(True)
    for _unit in range(2):
        press(page, "1", *["a", "Enter"] * 5)
    assert position(page) == "3"
    expect(page.locator("#badge .word")).to_contain_text("offline")
    assert seat.annotations() == 0
    context.set_offline(False)
    all_saved(page)
    assert answers_by_context(1) == answers_by_context(2) == ["0 1 1", "1 1", "1", "1", "1"]
    assert len({one.client_key for one in Annotation.objects.all()}) == 2


def test_the_reference_stands_once_above_the_translations(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of, units=1)
    page = open_seat(context, seat)
    expect(page.locator("#context-reference")).to_be_hidden()
    page.keyboard.down("r")
    expect(page.locator("#context-reference")).to_be_visible()
    assert page.locator(".reference:visible").count() == 1
    page.keyboard.up("r")
    expect(page.locator("#context-reference")).to_be_hidden()
    press(page, *["a", "Enter"] * 5)
    all_saved(page)
    assert set(Annotation.objects.values_list("reference_seen", flat=True)) == {True}


def test_a_reader_is_led_to_each_context_once(context: BrowserContext, seat_of: SeatOf) -> None:
    """The unit's name has the focus first, then each context's heading; nothing says the same a second time."""
    seat = wide(seat_of)
    page = open_seat(context, seat)
    assert page.evaluate("document.activeElement.id") == "unit"
    press(page, "a")
    page.evaluate("document.getElementById('announcer').textContent = ''")
    press(page, "Enter")
    assert page.evaluate("document.activeElement.id") == "context-head"
    assert page.locator("#context-head").get_attribute("aria-labelledby") == "step"
    assert page.locator("#announcer").inner_text() == ""
    press(page, "1")
    assert "Row 1: wrong" in page.locator("#announcer").inner_text()
    press(page, "Tab")
    assert page.evaluate("document.activeElement.closest('#context-head, #rows') !== null")


def test_it_asks_for_reasons_before_it_goes_on(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of, units=1, reasons="required")
    page = open_seat(context, seat)
    press(page, "2", "a", "Enter")
    expect(page.locator("#cue")).to_contain_text("Say why row 2 is wrong")
    assert step(page) == "Sentence 1 of 5"
    press(page, "m", "Enter", *["a", "Enter"] * 4)
    all_saved(page)
    assert Annotation.objects.get(label="0").reasons == ["missing"]


def test_the_rest_of_a_unit_is_put_off_and_taken_back_whole(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = wide(seat_of)
    page = open_seat(context, seat)
    press(page, "1", "a", "Enter", "s")
    assert (position(page), step(page)) == ("2", "Sentence 1 of 5")
    press(page, "u")
    assert (position(page), step(page)) == ("1", "Sentence 2 of 5")
    all_arrived(page)
    assert not Assignment.objects.filter(postponed_at__isnull=False).exists()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_it_works_by_touch_on_a_narrow_screen_and_axe_finds_nothing(
    browser: Browser, seat_of: SeatOf, language: str, colours: Literal["light", "dark"]
) -> None:
    seat = wide(seat_of, units=1)
    context = browser.new_context(
        viewport={"width": 320, "height": 640},
        has_touch=True,
        is_mobile=True,
        color_scheme=colours,
        reduced_motion="reduce",
    )
    context.add_init_script(NO_GUARD)
    context.add_cookies([{"name": "django_language", "value": language, "url": seat.address}])
    page = open_seat(context, seat)
    for number in range(1, 6):
        for row in page.locator("#rows .context").all():
            row.locator(".verdict.correct").tap()
        assert axe(page) == [], number
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.locator("#save").tap()
    all_saved(page)
    assert answers_by_context(1) == ["1 1 1", "1 1", "1", "1", "1"]
    context.close()


def test_the_buttons_of_a_context_lead_on_and_back(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, wide(seat_of))
    back, on = page.locator("[data-action=stepBack]"), page.locator("[data-action=stepOn]")
    expect(back).to_be_disabled()
    on.click()
    assert step(page) == "Sentence 2 of 5"
    back.click()
    assert step(page) == "Sentence 1 of 5"
    for _step in range(4):
        on.click()
    expect(on).to_be_disabled()
    press(page, "1")  # the keys belong to the unit again
    assert page.locator(".context[data-answer=wrong]").count() == 1


def test_it_works_without_a_script(browser: Browser, seat_of: SeatOf) -> None:
    seat = wide(seat_of, units=1)
    context = browser.new_context(viewport={"width": 1366, "height": 768}, java_script_enabled=False)
    sign_in(context, seat, seat.cast.ada)
    page = context.new_page()
    page.goto(seat.url())
    assert shown(page) == 8
    assert page.locator(".context-shared:visible").count() == 5
    assert page.locator("#context-head").is_hidden()
    for row in page.locator("#rows .context").all():
        row.locator("input[value=correct]").check(force=True)
    page.locator("#save").click()
    expect(page.locator("#nothing-left")).to_be_visible()
    assert answers_by_context(1) == ["1 1 1", "1 1", "1", "1", "1"]
    assert {one.conditions["display"] for one in Annotation.objects.all()} == {"side_by_side"}
    context.close()
