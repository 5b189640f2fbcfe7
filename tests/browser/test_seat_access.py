"""The seat for everybody: axe finds nothing, five contexts fit, nothing needs a mouse, a wide window or a script."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from annotation.models import Assignment
from tests.browser.conftest import (
    COLOURS_ONLY,
    NO_GUARD,
    Seat,
    alive,
    all_saved,
    axe,
    open_seat,
    position,
    press,
    sign_in,
)

pytestmark = pytest.mark.browser

SeatOf = Callable[..., Seat]
LONG = "taylor knew that every small building on the floor would be sold to another lawyer before the end of it ."


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("protocol", ["compound", "triple"])
def test_it_has_no_fault_that_axe_finds(
    browser: Browser, seat_of: SeatOf, protocol: str, language: str
) -> None:
    """The judging page and every window on it, in light and dark; the other pages: test_every_page.py."""
    seat = seat_of(protocol, units=3, zero_detail=True)
    context = browser.new_context(
        viewport={"width": 1366, "height": 768}, reduced_motion="reduce", bypass_csp=True
    )
    context.add_init_script(NO_GUARD)
    context.add_cookies([{"name": "django_language", "value": language, "url": seat.address}])
    page = open_seat(context, seat)

    assert axe(page) == []
    press(page, "1", "f")
    for key in ("x", "n", "q", "?", "g", "i", "h"):
        press(page, key)
        page.emulate_media(color_scheme="light")
        assert axe(page) == [], key
        page.emulate_media(color_scheme="dark")
        assert axe(page, **COLOURS_ONLY) == [], key
        press(page, "Escape")
    assert axe(page) == []
    context.close()


def test_it_fits_five_long_contexts_and_save_into_one_window(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    """1366 × 768 at 18 px, with sentences as long as the longest of the released data and a row being explained."""
    seat = seat_of("compound", units=1, reference="shown")
    for row in Assignment.objects.filter(expert=seat.cast.ada):
        assert row.item.context
        row.item.context.source = LONG
        row.item.context.save()
        row.item.translation = "泰勒 知道 ， " * 6
        row.item.save()
    page = open_seat(context, seat)
    press(page, "3")

    assert page.evaluate("document.documentElement.scrollHeight") <= 768
    assert page.evaluate("getComputedStyle(document.querySelector('.source')).fontSize") == "18px"
    for part in (".context:last-child .verdicts", "#save", ".context:first-child"):
        box = page.locator(part).bounding_box()
        assert box
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 768


@pytest.mark.parametrize("protocol", ["compound", "triple"])
def test_it_needs_no_sideways_scrolling_at_320_pixels(
    browser: Browser, seat_of: SeatOf, protocol: str
) -> None:
    seat = seat_of(protocol, units=2)
    context = browser.new_context(viewport={"width": 320, "height": 640})
    page = open_seat(context, seat)

    press(page, "1")

    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    context.close()


@pytest.mark.parametrize(("width", "touch", "least"), [(360, True, 44), (320, False, 28)])
def test_every_button_is_as_high_as_the_kit_says(
    browser: Browser, seat_of: SeatOf, width: int, touch: bool, least: int
) -> None:
    seat = seat_of("compound", units=2)
    context = browser.new_context(viewport={"width": width, "height": 740}, has_touch=touch, is_mobile=touch)
    page = open_seat(context, seat)

    heights = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".seat .button")]
        .filter((one) => one.checkVisibility())
        .map((one) => [one.textContent.trim(), one.getBoundingClientRect().height]))"""
    )
    assert len(heights) > 5
    assert {name: height for name, height in heights.items() if height < least} == {}
    context.close()


@pytest.mark.parametrize("width", [920, 1100, 1200, 1366])
def test_the_title_keeps_its_room_beside_new_answers(
    context: BrowserContext, seat_of: SeatOf, width: int
) -> None:
    page = open_seat(context, seat_of("compound", units=2, title="Quality of translated compounds"))
    page.set_viewport_size({"width": width, "height": 768})
    page.evaluate(
        """() => {
          const link = document.getElementById("new-answers");
          link.hidden = false;
          link.querySelector(".word").textContent = "new answers: 2";
        }"""
    )

    title, place = page.locator(".place > a"), page.locator(".place")
    box = title.bounding_box()
    assert box
    assert box["width"] >= 80
    assert place.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_it_answers_by_touch_and_offers_to_take_it_back(browser: Browser, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = open_seat(context, seat)
    page.wait_for_timeout(300)

    page.locator("[data-answer=rarely]").tap()
    expect(page.locator("#undo-bar")).to_be_visible()
    all_saved(page)
    assert seat.answers() == ["0", "", ""]

    page.get_by_role("button", name="Undo").tap()
    expect(page.locator("#correction")).to_be_visible()
    assert position(page) == "1"
    context.close()


# Of all answers within the window: those that are not on top at their middle and at their corners.
COVERED = """() => [...document.querySelectorAll(".answer, .verdict, #save")].filter((answer) => {
  const { left, right, top, bottom } = answer.getBoundingClientRect();
  if (!answer.checkVisibility()) return false;
  const points = [[(left + right) / 2, (top + bottom) / 2], [left + 6, top + 6], [right - 6, bottom - 6]];
  const inside = points.filter(([x, y]) => y > 0 && y < innerHeight);
  return inside.some(([x, y]) => !answer.contains(document.elementFromPoint(x, y)));
}).map((answer) => answer.textContent.trim())"""


@pytest.mark.parametrize("protocol", ["compound", "triple"])
@pytest.mark.parametrize(("width", "height"), [(320, 640), (820, 1100), (1366, 768)])
def test_the_bar_that_takes_an_answer_back_covers_no_answer(
    browser: Browser, seat_of: SeatOf, protocol: str, width: int, height: int
) -> None:
    seat = seat_of(protocol, units=2)
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=True)
    page = open_seat(context, seat)
    page.wait_for_timeout(300)

    if protocol == "compound":
        page.locator("[data-action=rest]").tap()
        page.locator("#save").tap()
    else:
        page.locator("[data-answer=rarely]").tap()

    expect(page.locator("#undo-bar")).to_be_visible()
    assert position(page) == "2"
    bar = page.locator("#undo-bar").bounding_box()
    assert bar
    assert bar["y"] >= 0
    assert page.evaluate(COVERED) == []
    context.close()


def test_it_moves_the_focus_to_the_new_unit(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)

    press(page, "1")

    assert page.evaluate("document.activeElement.id") == "unit"
    assert "rest 2" in page.locator("#unit").inner_text()


def test_what_was_said_of_one_unit_is_gone_on_the_next(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("compound", units=2))
    press(page, "1")
    press(page, "a")
    expect(page.locator("#announcer")).to_contain_text("rows marked correct")

    press(page, "Enter")

    expect(page.locator("#unit")).to_contain_text("lazy")
    expect(page.locator("#announcer")).to_be_empty()


def test_what_was_said_of_the_last_unit_is_gone_where_nothing_is_left(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    page = open_seat(context, seat_of("compound", units=1))
    press(page, "1", "a")
    expect(page.locator("#announcer")).to_contain_text("rows marked correct")

    press(page, "Enter")

    expect(page.locator("#nothing-left")).to_be_visible()
    expect(page.locator("#announcer")).to_be_empty()


def test_it_works_without_a_script(browser: Browser, seat_of: SeatOf) -> None:
    """The same page as a form: verdicts, a cause, a note; blanks are asked for; Back shows what is stored."""
    seat = seat_of("compound", units=2)
    context = browser.new_context(java_script_enabled=False)
    sign_in(context, seat, seat.cast.ada)
    page = context.new_page()
    page.goto(seat.url("judge/?position=1"))

    for row in range(4):
        page.locator(".context").nth(row).locator(".verdict.correct").click()
    page.locator("#save").click()
    expect(page.locator(".notice")).to_contain_text("One row of this unit has no answer yet.")
    page.locator(".context").nth(4).locator(".verdict.cannot").click()
    page.locator(".context").nth(4).get_by_text("Cause, reasons, note").click()
    page.locator(".context").nth(4).locator("select").select_option("source_broken")
    page.locator(".context").nth(4).locator("textarea").fill("看不懂")
    page.locator("#save").click()

    expect(page.locator("#unit")).to_contain_text("lazy")
    assert seat.answers()[:5] == ["1", "1", "1", "1", "source_broken"]
    page.go_back()
    expect(page.locator("#correction")).to_be_visible()
    context.close()


def test_it_does_a_whole_part_by_keyboard_alone(context: BrowserContext, seat_of: SeatOf) -> None:
    """From the first page to the thanks, in Chinese, without a mouse."""
    seat = seat_of("triple", units=2)
    context.add_cookies([{"name": "django_language", "value": "zh-hans", "url": seat.address}])
    sign_in(context, seat, seat.cast.ada)
    page = context.new_page()
    page.goto(seat.url("work/"))

    page.get_by_role("link", name="开始标注").focus()
    page.keyboard.press("Enter")
    alive(page)
    press(page, "1", "2")
    all_saved(page)
    page.get_by_role("link", name="检查后提交").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="提交").focus()
    page.keyboard.press("Enter")

    expect(page.locator("h1")).to_contain_text("已提交")
    assert seat.answers() == ["1", "0.5"]
