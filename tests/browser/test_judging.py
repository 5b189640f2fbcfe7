"""Judging by keyboard, and the accidents that happen on the way. After each, the rows of the database."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from annotation.models import Annotation, Assignment, CarryOver
from tests.browser.conftest import Seat, alive, all_saved, open_seat, position, press
from tests.factories import answer

pytestmark = pytest.mark.browser

SeatOf = Callable[..., Seat]


def test_it_saves_a_triple_with_one_press_each(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=5)
    page = open_seat(context, seat)

    press(page, "1", "2", "3")
    all_saved(page)

    assert seat.answers() == ["1", "0.5", "0", "", ""]
    expect(page.locator("#progress-text")).to_have_text("3 / 5")
    assert "rarely" in page.locator("#last .said").inner_text()


def test_the_last_unit_of_all_is_counted_too(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)

    press(page, "1", "2")
    all_saved(page)

    expect(page.locator("#progress-text")).to_have_text("2 / 2")
    assert page.locator("#progress").evaluate("bar => [bar.value, bar.max]") == [2, 2]
    expect(page.locator("#notices")).to_contain_text("fully judged")


def test_it_takes_a_held_key_as_one_answer(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=5)
    page = open_seat(context, seat)

    for _ in range(12):  # what a keyboard sends while a key is held
        page.keyboard.down("1")
        page.wait_for_timeout(60)
    page.keyboard.up("1")
    all_saved(page)

    assert seat.answers() == ["1", "", "", "", ""]


def test_it_drops_a_press_too_early_and_says_so(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=5)
    page = open_seat(context, seat)

    page.evaluate("localStorage.setItem('assay-seat-prefs', '{}')")
    page.reload()
    alive(page)
    expect(page.locator("#guard")).to_have_value("250")
    # Longer than the default, so that a machine that is slow to press is not taken for a person who has read.
    page.evaluate("localStorage.setItem('assay-seat-prefs', '{\"guard\": 3000}')")
    page.reload()
    alive(page)
    page.wait_for_timeout(3000)
    page.keyboard.press("1")
    page.wait_for_timeout(120)
    page.keyboard.press("1")

    expect(page.locator("#cue")).to_contain_text("Too quick")
    all_saved(page)
    assert seat.answers() == ["1", "", "", "", ""]


# One key down twice in the same moment, as a worn switch sends it; each goes to what has the focus by then. The page
# is busy with the first one for a while, and hears of the second only after that.
BOUNCE = """(code) => {
  const press = {code, key: code.slice(-1).toLowerCase(), bubbles: true, cancelable: true};
  for (const event of [1, 2].map(() => new KeyboardEvent("keydown", press))) {
    document.activeElement.dispatchEvent(event);
    const begun = performance.now();
    while (performance.now() - begun < 50) { /* busy */ }
  }
}"""


def test_a_bounce_of_the_key_that_closed_a_window_is_not_for_the_unit(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)

    press(page, "x")
    page.evaluate(BOUNCE, "Digit1")
    expect(page.locator("#cause-dialog")).not_to_be_visible()
    expect(page.locator(".mark.cannot")).to_have_count(1)
    page.evaluate(BOUNCE, "KeyG")  # opens a window, and does not close it again
    expect(page.locator("#guidelines-dialog")).to_be_visible()

    assert position(page) == "1"
    assert seat.annotations() == 0


def test_the_unit_under_a_window_is_read_before_it_is_answered(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)
    page.evaluate("localStorage.setItem('assay-seat-prefs', '{}')")  # the default: 250 milliseconds
    page.reload()
    alive(page)
    page.wait_for_timeout(250)

    page.keyboard.press("x")
    page.evaluate(
        """() => {
          for (const code of ["Digit1", "Digit2"])
            document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {code, bubbles: true, cancelable: true}));
        }"""
    )
    expect(page.locator("#cue")).to_contain_text("Too quick")
    page.wait_for_timeout(250)
    page.keyboard.press("3")
    all_saved(page)

    assert seat.answers() == ["0", ""]


def test_who_wrote_a_note_about_the_unit_has_read_it(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)
    page.evaluate("localStorage.setItem('assay-seat-prefs', '{\"guard\": 3000}')")
    page.reload()
    alive(page)
    page.wait_for_timeout(3000)

    press(page, "n", "h", "i")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    all_saved(page)

    assert seat.answers() == ["0.5", ""]
    assert Annotation.objects.get().note == "hi"


def test_a_bounced_reason_stays_chosen(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("compound", units=1))

    press(page, "1")
    page.evaluate(BOUNCE, "KeyM")

    expect(page.locator("[data-reason=missing][aria-pressed=true]")).to_have_count(1)


def test_it_answers_once_to_a_double_click(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=5)
    page = open_seat(context, seat)

    page.locator("[data-answer=sometimes]").dblclick()
    all_saved(page)

    assert seat.answers() == ["0.5", "", "", "", ""]


def test_it_reads_the_keypad_with_and_without_numlock(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)

    press(page, "Numpad2")
    # Without NumLock the same key means End; its place is what counts.
    page.evaluate(
        "document.dispatchEvent(new KeyboardEvent('keydown', {code: 'Numpad1', key: 'End', bubbles: true}))"
    )
    page.evaluate(
        "document.dispatchEvent(new KeyboardEvent('keyup', {code: 'Numpad1', key: 'End', bubbles: true}))"
    )
    all_saved(page)
    assert seat.answers() == ["0.5", "1", ""]

    press(page, "NumpadSubtract")
    expect(page.locator("#correction")).to_be_visible()


def test_it_takes_a_full_width_digit_by_its_key(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)

    page.evaluate(
        "document.dispatchEvent(new KeyboardEvent('keydown', {code: 'Digit3', key: '３', bubbles: true}))"
    )
    all_saved(page)

    assert seat.answers() == ["0", "", ""]


def test_it_leaves_ctrl_alt_and_meta_to_the_browser(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)

    for modifier in ("Control", "Alt", "Meta"):
        page.evaluate(
            f"document.dispatchEvent(new KeyboardEvent('keydown', {{code: 'Digit1', key: '1', bubbles: true, "
            f"ctrlKey: {str(modifier == 'Control').lower()}, altKey: {str(modifier == 'Alt').lower()}, "
            f"metaKey: {str(modifier == 'Meta').lower()}}}))"
        )
    page.wait_for_timeout(100)

    assert seat.annotations() == 0


def test_it_saves_five_verdicts_and_nothing_while_one_is_missing(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("compound", units=2)
    page = open_seat(context, seat)

    press(page, "1", "2", "2", "3", "5")
    press(page, "Enter")  # row 4 is blank
    assert seat.annotations() == 0
    expect(page.locator(".context[aria-current=true] .context-number")).to_have_text("4")
    expect(page.locator("#cue")).to_contain_text("One row")

    press(page, "4", "Space")
    all_saved(page)
    assert seat.answers()[:5] == ["0", "1", "0", "0", "0"]
    expect(page.locator("#unit")).to_contain_text("lazy")
    assert position(page) == "2"


def test_it_marks_the_rest_correct_and_undoes_only_that(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=2)
    page = open_seat(context, seat)

    press(page, "2", "a")
    assert page.locator(".context[data-answer=correct]").count() == 4
    press(page, "a")
    assert page.locator(".context[data-answer=correct]").count() == 0
    assert page.locator(".context[data-answer=wrong]").count() == 1

    press(page, "Numpad0", "NumpadEnter")
    all_saved(page)
    assert seat.answers()[:5] == ["1", "0", "1", "1", "1"]


def test_it_marks_a_row_that_was_cleared_meanwhile_and_takes_back_all_it_marked(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    page = open_seat(context, seat_of("compound", units=2))
    correct = page.locator(".context[data-answer=correct]")

    press(page, "a", "Backspace")
    expect(correct).to_have_count(4)
    press(page, "a")
    expect(correct).to_have_count(5)
    press(page, "a")
    expect(correct).to_have_count(0)


def test_it_stores_how_many_rows_the_key_for_the_rest_answered(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("compound", units=4)
    page = open_seat(context, seat)

    press(page, "2", "a", "Enter")  # the other four
    for row in range(1, 6):
        press(page, str(row), str(row))  # correct, one by one
    press(page, "Enter")
    press(page, "a", "a")  # taken back
    for row in range(1, 6):
        press(page, str(row))
    press(page, "Enter")
    page.locator("[data-action=rest]").click()
    press(page, "3", "Enter")  # its button, and one row changed after that
    all_saved(page)

    told = [set(rows_of_unit(seat, number)) for number in range(4)]
    assert told == [{4}, {0}, {0}, {4}]


def rows_of_unit(seat: Seat, number: int) -> list[int]:
    """What was stored beside each answer of one unit, in the order of the screens."""
    units = list(dict.fromkeys(row.unit_id for row in seat.rows))
    answers = Annotation.objects.filter(assignment__unit=units[number])
    return [answer.conditions["rest"] for answer in answers]


def test_it_names_the_rows_of_the_last_answer(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("compound", units=3))
    said = page.locator("#last .said")

    press(page, "2", "a", "Enter")
    expect(said).to_contain_text("row 2 wrong")
    press(page, "2", "4", "a", "Enter")
    expect(said).to_contain_text("rows 2, 4 wrong")


def test_it_stores_reasons_and_atoms_of_a_wrong_row(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=1)
    page = open_seat(context, seat)

    press(page, "3", "m", "d", "Shift+Digit2", "a", "Enter")
    all_saved(page)

    wrong = Annotation.objects.get(label="0")
    assert (wrong.reasons, wrong.atoms) == (["missing", "modifier"], [1])
    assert Annotation.objects.exclude(label="0").filter(reasons=[]).count() == 4


def test_it_stores_a_cause_where_a_row_cannot_be_judged(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=1)
    page = open_seat(context, seat)

    press(page, "ArrowDown", "x", "3", "a", "Enter")
    all_saved(page)

    assert seat.answers() == ["1", "translation_unreadable", "1", "1", "1"]


def test_it_reports_a_problem_beside_the_score_of_a_triple(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=1)
    page = open_seat(context, seat)

    press(page, "x", "1", "f", "3")
    all_saved(page)

    stored = Annotation.objects.get()
    assert (stored.label, stored.problem, stored.unsure) == ("0", "text_broken", True)
    assert stored.seconds is not None
    assert stored.seconds > 0
    assert stored.session_position == 1


def test_it_asks_which_zero_where_the_campaign_wants_it(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=5, zero_detail=True)
    page = open_seat(context, seat)

    press(page, "1", "3", "6")
    all_saved(page)

    stored = list(Annotation.objects.order_by("assignment").values_list("label", "detail"))
    assert stored == [("1", ""), ("0", "rarely"), ("0", "invalid")]


def test_it_goes_back_corrects_and_returns(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=5)
    page = open_seat(context, seat)
    press(page, "1", "1")

    press(page, "u")
    expect(page.locator("#correction")).to_be_visible()
    expect(page.locator("[data-answer=often]")).to_have_attribute("aria-pressed", "true")
    press(page, "3")
    expect(page.locator("#badge .word")).to_have_text("not saved yet")
    assert seat.annotations() == 2  # choosing is not saving

    press(page, "Enter")
    all_saved(page)
    assert seat.answers() == ["1", "0", "", "", ""]
    assert Annotation.objects.filter(revision=2).count() == 1
    assert position(page) == "3"

    press(page, "u", "u", "3", "Escape")
    assert seat.answers() == ["1", "0", "", "", ""]
    assert position(page) == "3"


def test_it_shows_the_stored_answer_after_the_browsers_back(context: BrowserContext, seat_of: SeatOf) -> None:
    """c22: Back shows what is stored, and saving it unchanged stores nothing."""
    seat = seat_of("compound", units=3)
    page = open_seat(context, seat, page="judge/?position=1")
    press(page, "1", "a", "Enter")
    all_saved(page)

    page.go_back()
    alive(page)
    expect(page.locator("#correction")).to_be_visible()
    assert page.locator(".context[data-answer=wrong]").count() == 1
    press(page, "Enter")
    all_saved(page)

    assert seat.annotations() == 5
    assert position(page) == "2"


def test_it_keeps_half_a_compound_over_a_reload(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=2)
    page = open_seat(context, seat)
    press(page, "1", "3", "3")

    page.reload()
    alive(page)

    assert page.locator(".context[data-answer=wrong]").count() == 1
    assert page.locator(".context[data-answer=correct]").count() == 1
    assert seat.annotations() == 0


def test_it_ignores_the_enter_that_ends_composing(context: BrowserContext, seat_of: SeatOf) -> None:
    """Pinyin in a note: digits choose a character, Enter ends the composition, none of it answers."""
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)
    press(page, "n")
    session = context.new_cdp_session(page)

    session.send("Input.imeSetComposition", {"text": "shi", "selectionStart": 3, "selectionEnd": 3})
    page.keyboard.press("1")
    page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', "
        "{code: 'Enter', key: 'Enter', isComposing: true, bubbles: true}))"
    )
    session.send("Input.insertText", {"text": "是的"})
    page.wait_for_timeout(100)
    assert seat.annotations() == 0

    press(page, "Escape", "1")
    all_saved(page)
    stored = Annotation.objects.get()
    assert stored.label == "1"
    assert "是的" in stored.note


def test_it_says_after_a_reload_what_the_last_answer_was(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    press(page, "2")
    all_saved(page)
    expect(page.locator("#last .said")).to_contain_text("sometimes")

    page.reload()
    alive(page)

    expect(page.locator("#last .said")).to_contain_text("sometimes")


def test_it_puts_a_unit_off_to_the_end(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)

    press(page, "s", "1", "2")
    all_saved(page)
    assert position(page) == "1"
    assert Assignment.objects.get(expert=seat.cast.ada, position=1).postponed_at is not None

    press(page, "3")
    all_saved(page)
    assert seat.answers() == ["0", "1", "0.5"]
    expect(page.locator("#nothing-left")).to_be_visible()


def test_it_shows_the_reference_while_the_key_is_held_and_says_so(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("compound", units=1)
    page = open_seat(context, seat)
    reference = page.locator(".context .reference").first

    expect(reference).to_be_hidden()
    page.keyboard.down("r")
    expect(reference).to_be_visible()
    page.keyboard.up("r")
    expect(reference).to_be_hidden()
    page.reload()
    alive(page)
    press(page, "a", "Enter")
    all_saved(page)

    assert set(Annotation.objects.values_list("reference_seen", flat=True)) == {True}


def test_it_shows_numbers_and_markup_exactly_as_written(context: BrowserContext, seat_of: SeatOf) -> None:
    """c23 and c50: 3.10 keeps its zero, 1e3 is not 1000, tags are text."""
    seat = seat_of("triple", units=5)
    tails = ["42", "0", "3.10", "1e3", "<b>x</b></script>{{ 7*7 }}"]
    for row, tail in zip(
        Assignment.objects.filter(expert=seat.cast.ada).order_by("position"), tails, strict=True
    ):
        row.item.tail = tail
        row.item.save()
    page = open_seat(context, seat)

    for tail in tails:
        assert page.locator("[data-slot=tail]").inner_text() == tail
        press(page, "1")


def test_the_list_says_that_what_was_answered_is_out_of_sight_for_now(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("compound", units=2)
    rows = [row for row in seat.rows if row.expert == seat.cast.ada]
    for row in rows[:5]:
        answer(row)
    CarryOver.objects.create(
        campaign=seat.cast.campaign,
        item=rows[5].item,
        source=rows[0].item,
        stretch="狗",
        rule="r",
        checked=True,
    )
    page = open_seat(context, seat)

    press(page, "h")
    expect(page.locator("#history-partial")).to_contain_text("They are stored and count, and come back")
    expect(page.locator("#history-partial")).to_be_visible()
    expect(page.locator("#history-said")).to_be_empty()
    page.fill("#search-text", "dog")
    page.locator("#search-form button").click()
    expect(page.locator("#history-said")).to_have_text("Nothing found.")
    expect(page.locator("#history-partial")).to_be_visible()


def test_it_jumps_to_an_older_answer_from_the_list(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=4)
    page = open_seat(context, seat)
    press(page, "1", "2", "/")

    page.fill("#search-text", "rest 1")
    page.keyboard.press("Enter")
    expect(page.locator("#history-list li")).to_have_count(1)
    page.locator("#history-list a").click()

    expect(page.locator("#correction")).to_be_visible()
    assert position(page) == "1"


def test_it_opens_the_guidelines_without_losing_the_place(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=1)
    page = open_seat(context, seat)
    press(page, "2", "g")
    expect(page.locator("#guidelines-dialog")).to_be_visible()

    press(page, "3", "g")

    expect(page.locator("#guidelines-dialog")).to_be_hidden()
    assert page.locator(".context[data-answer=wrong]").count() == 1


def test_it_lets_single_keys_be_switched_off(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)
    press(page, "?")
    page.uncheck("#shortcuts")
    page.keyboard.press("Escape")
    press(page, "1")
    assert seat.annotations() == 0

    page.locator("[data-answer=often]").focus()
    press(page, "Enter")
    all_saved(page)
    assert seat.answers() == ["1", ""]


def test_it_asks_for_the_cause_where_the_question_mark_is_clicked(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("compound", units=1)
    page = open_seat(context, seat)

    page.locator(".context").nth(1).locator(".verdict.cannot").click()
    press(page, "Escape")
    assert page.locator(".context[data-answer=cannot_judge]").count() == 0
    page.locator(".context").nth(1).locator(".verdict.cannot").click()
    press(page, "1", "a")
    page.locator("#save").click()
    all_saved(page)

    assert seat.answers() == ["1", "source_broken", "1", "1", "1"]


def test_it_asks_why_a_row_is_wrong_where_the_campaign_does(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=1, reasons="required")
    page = open_seat(context, seat)

    press(page, "1", "a", "Enter")
    expect(page.locator("#cue")).to_contain_text("Say why row 1 is wrong")
    assert seat.annotations() == 0
    press(page, "t", "Enter")
    all_saved(page)

    assert Annotation.objects.get(label="0").reasons == ["mistranslated"]


def test_it_looks_back_from_a_page_with_nothing_left(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=1)
    page = open_seat(context, seat)
    press(page, "1")
    all_saved(page)
    page.goto(seat.url())
    alive(page)
    expect(page.locator("#nothing-left")).to_be_visible()

    press(page, "u")
    page.wait_for_url("**position=1")
    alive(page)

    expect(page.locator("#correction")).to_be_visible()


def test_it_takes_another_key_for_an_action(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=1)
    page = open_seat(context, seat)
    press(page, "?")
    page.locator("[data-key=unsure] button").click()
    press(page, "m")  # says why a compound is wrong, in other campaigns of this browser
    expect(page.locator("#keys-said")).to_have_text("That key is taken by: why a row is wrong: missing")
    page.locator("[data-key=unsure] button").click()
    press(page, "j", "Escape", "f", "j")

    expect(page.locator(".mark.unsure")).to_have_count(1)
    expect(page.locator("[data-action=unsure] kbd")).to_have_text("j")
    page.reload()
    alive(page)
    expect(page.locator("[data-action=unsure] kbd")).to_have_text("j")


def test_it_shows_hidden_characters_on_demand_and_copies_the_text_as_it_is(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=1)
    text = "PersonX eat\u200b a\u00a0𠮷 e\u0301clair\u206a\u0085\u000b\ufe0f\u115f\u3164\U000e0041"
    for row in Assignment.objects.all():
        row.item.head = text
        row.item.save()
    page = open_seat(context, seat)
    head = page.locator("[data-slot=head]")
    assert head.evaluate("node => node.textContent") == text
    assert page.locator(".hidden-character").count() == 0

    press(page, "w")

    codes = page.locator(".hidden-character").evaluate_all("nodes => nodes.map(node => node.dataset.code)")
    assert codes == [
        *("U+200B", "U+00A0", "U+206A", "U+0085", "U+000B", "U+FE0F", "U+115F", "U+3164", "U+E0041"),
    ]
    assert head.evaluate("node => node.textContent") == text


def test_it_counts_a_note_in_code_points(context: BrowserContext, seat_of: SeatOf) -> None:
    """c52: five hundred rare characters are five hundred, and the next one is too many."""
    seat = seat_of("triple", units=1)
    page = open_seat(context, seat)

    press(page, "n")
    page.fill("#note-text", "𠮷" * 501)
    expect(page.locator("#note-count")).to_have_text("500 of 500 characters")
    press(page, "Escape", "1")
    all_saved(page)

    assert Annotation.objects.get().note == "𠮷" * 500
