"""What stands beside answering in a real browser: what the badge says, "later" taken back, questions, words."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, Route, expect

from annotation.models import Annotation, Assignment, HandIn, Item, Part, Question, Round, Surplus, TimeEntry
from annotation.services import questions
from tests.browser.conftest import SKIP_TIME, Seat, alive, all_saved, open_seat, position, press, skip
from tests.factories import answer

pytestmark = pytest.mark.browser

SeatOf = Callable[..., Seat]


def badge(page: Page) -> str:
    return page.locator("#badge .word").inner_text()


class TestBadge:
    def test_it_claims_nothing_while_verdicts_are_not_saved(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("compound", units=2))
        expect(page.locator("#badge .word")).to_have_text("saved")

        press(page, "1")
        assert badge(page) == "not saved yet"
        press(page, "Backspace")
        assert badge(page) == "saved"
        press(page, "a", "Enter")
        all_saved(page)
        assert badge(page) == "saved"

    def test_it_says_so_of_half_a_unit_kept_over_a_reload_and_of_a_correction(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("compound", units=2))
        press(page, "a", "Enter", "2")
        page.reload()
        alive(page)
        expect(page.locator("#badge .word")).to_have_text("not saved yet")

        press(page, "u")
        expect(page.locator("#correction")).to_be_visible()
        expect(page.locator("#badge .word")).to_have_text("saved")
        press(page, "1")
        expect(page.locator("#badge .word")).to_have_text("not saved yet")
        press(page, "Escape")
        expect(page.locator("#badge .word")).to_have_text("not saved yet")  # the half unit again


class TestLaterBack:
    def test_it_brings_the_units_back_one_by_one_and_for_good(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("triple", units=4))

        press(page, "s", "s")
        assert position(page) == "3"
        press(page, "u")
        assert position(page) == "2"
        press(page, "u")
        assert position(page) == "1"
        all_saved(page)
        assert not Assignment.objects.filter(postponed_at__isnull=False).exists()

        page.reload()
        alive(page)
        seen = []
        for _unit in range(4):
            seen.append(position(page))
            press(page, "1")
        assert seen == ["1", "2", "3", "4"]

    def test_it_goes_back_to_the_last_answer_after_the_next_one(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("triple", units=4))

        press(page, "s", "2", "u")

        assert position(page) == "2"
        expect(page.locator("#correction")).to_be_visible()

    def test_it_works_without_network(self, context: BrowserContext, seat_of: SeatOf) -> None:
        seat = seat_of("triple", units=3)
        page = open_seat(context, seat)
        context.set_offline(True)

        press(page, "s", "u", "1", "2", "3")
        context.set_offline(False)
        page.evaluate("window.dispatchEvent(new Event('online'))")

        all_saved(page)
        assert seat.answers() == ["1", "0.5", "0"]


def test_one_escape_closes_the_search(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("triple", units=3))
    press(page, "1", "/")
    page.locator("#search-text").fill("marathon")

    press(page, "Escape")

    expect(page.locator("#history-dialog")).not_to_be_visible()
    assert position(page) == "2"


def test_it_counts_parts_from_one(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("triple", units=1))
    expect(page.locator("#part-name")).to_have_text("Part 1")

    press(page, "1")

    expect(page.locator("#notices")).to_contain_text("Part 1 is fully judged.")
    page.get_by_role("link", name="Look through it and hand it in").click()
    expect(page.locator("h1")).to_have_text("Hand in: Part 1")
    assert page.url.endswith("/parts/0/hand-in/")


class TestHandedIn:
    def test_it_shows_an_answer_and_changes_nothing(self, context: BrowserContext, seat_of: SeatOf) -> None:
        seat = seat_of("compound", units=2)
        page = open_seat(context, seat)
        press(page, "a", "Enter", "a", "Enter")
        all_saved(page)
        HandIn.objects.create(part=Part.objects.get(), expert=seat.cast.ada)

        page.goto(seat.url("judge/?position=1"))
        alive(page)
        expect(page.locator("#closed")).to_be_visible()
        expect(page.locator("#correction")).not_to_be_visible()
        press(page, "1")
        expect(page.locator("#cue")).to_contain_text("This part was handed in")
        page.locator(".context").first.locator("input[value=wrong]").click()
        expect(page.locator(".context").first.locator("input[value=correct]")).to_be_checked()
        press(page, "Enter")

        assert badge(page) == "saved"
        assert seat.answers() == ["1"] * 10

    def test_its_controls_are_away_until_something_open_is_shown(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        seat = seat_of("triple", units=2)
        page = open_seat(context, seat)
        press(page, "1")
        all_saved(page)
        HandIn.objects.create(part=Part.objects.get(), expert=seat.cast.ada)
        controls = page.locator("#save, .seat-actions button:not([data-action=exact])")

        page.goto(seat.url("judge/?position=1"))
        alive(page)

        assert not [one for one in controls.all() if one.is_visible()]
        expect(page.locator("#closed")).to_have_text(
            "✓ Part handed in · to look at; the manager can give the part back to you"
        )
        assert page.locator("#leave").inner_text().endswith("Go on judging")
        HandIn.objects.all().delete()
        page.reload()
        alive(page)
        assert [one for one in controls.all() if one.is_visible()]

    def test_the_list_says_that_answers_of_closed_rounds_are_stored(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        seat = seat_of("triple", units=2)
        main = seat.cast.campaign.rounds.get(kind="main")
        part = Part.objects.get()
        before = Round.objects.create(
            campaign=main.campaign, kind="dry_run", guideline=main.guideline, state="closed", k=2
        )
        old = Part.objects.create(round=before, design=part.design, index=10_000)
        first = next(row for row in seat.rows if row.expert == seat.cast.ada)
        Assignment.objects.filter(pk=first.pk).update(round=before, part=old)
        answer(Assignment.objects.get(pk=first.pk))
        page = open_seat(context, seat)

        press(page, "h")

        expect(page.locator("#history-closed")).to_be_visible()
        expect(page.locator("#history-said")).to_be_empty()

    def test_the_list_says_in_words_what_joins_a_triple(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("triple", units=2))
        press(page, "1", "h")
        expect(page.locator("#history-list a")).to_contain_text("afterwards, PersonX wants")
        expect(page.locator("#history-list a")).to_contain_text("(xWant)")


@pytest.mark.parametrize(("rows", "cut"), [(40, False), (60, True)])
def test_a_long_table_scrolls_in_its_box_and_shows_that_there_is_more(
    context: BrowserContext, seat_of: SeatOf, rows: int, cut: bool
) -> None:
    page = open_seat(context, seat_of("triple", units=1))
    box = page.evaluate(
        """(rows) => {
          const row = "<tr><th scope='row'>1</th><td>2</td></tr>";
          const table = `<table class="table stacked"><tbody>${row.repeat(rows)}</tbody></table>`;
          document.querySelector("main").innerHTML = `<div class="table-wrap tall">${table}</div>`;
          const box = document.querySelector(".tall");
          const shades = getComputedStyle(box).backgroundImage.match(/gradient\\(to top/g) ?? [];
          return { cut: box.scrollHeight > box.clientHeight, shades: shades.length };
        }""",
        rows,
    )

    assert box == {"cut": cut, "shades": 2 if cut else 0}


class TestQuestions:
    def test_it_asks_without_network_and_is_told_the_answer(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        seat = seat_of("triple", units=2)
        page = open_seat(context, seat)
        context.set_offline(True)

        press(page, "q")
        page.locator("#question-text").fill("Is 1 a rest?")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("#cue")).to_have_class("cue ok")
        expect(page.locator("#badge .word")).to_have_text("offline · 1 waiting")
        assert position(page) == "1"
        context.set_offline(False)
        page.evaluate("window.dispatchEvent(new Event('online'))")
        all_saved(page)

        asked = Question.objects.get()
        assert (asked.text, asked.unit_id, asked.asked_by) == (
            "Is 1 a rest?",
            seat.rows[0].unit_id,
            seat.cast.ada,
        )
        expect(page.locator("#new-answers")).to_be_hidden()
        questions.answer(seat.cast.campaign, pk=asked.pk, text="Any pause is.", by=seat.cast.mei)
        page.reload()
        alive(page)
        page.locator("#new-answers").click()
        expect(page.locator(".ruling")).to_contain_text("Any pause is.")
        page.get_by_role("button", name="I have read it").click()
        expect(page.locator(".ruling")).to_contain_text("answered")
        assert Question.objects.get().read_at is not None

    def test_it_stores_once_what_was_sent_twice(self, context: BrowserContext, seat_of: SeatOf) -> None:
        page = open_seat(context, seat_of("compound", units=1))
        sent: list[str] = []

        def lose_the_first_reply(route: Route) -> None:
            reply = route.fetch()
            sent.append(route.request.post_data or "")
            if len(sent) == 1:
                route.abort()
            else:
                route.fulfill(response=reply)

        page.route("**/questions/", lose_the_first_reply)
        press(page, "q")
        page.locator("#question-text").fill("Which dog?")
        page.get_by_role("button", name="Ask").click()
        page.get_by_role("button", name="Try again").click()
        all_saved(page)

        assert len(sent) == 2
        assert sent[0] == sent[1]
        assert Question.objects.count() == 1

    @pytest.mark.parametrize("protocol", ["triple", "compound"])
    def test_ctrl_and_enter_send_it_and_answer_nothing(
        self, context: BrowserContext, seat_of: SeatOf, protocol: str
    ) -> None:
        page = open_seat(context, seat_of(protocol, units=2))
        if protocol == "compound":
            press(page, "a")  # Enter would save it now
        press(page, "q")
        box = page.locator("#question-text")
        box.fill("Is 1 a rest?")
        box.press("Enter")
        expect(page.locator("#question-dialog")).to_be_visible()  # a new line
        page.keyboard.down("Control")
        page.keyboard.down("Enter")
        expect(page.locator("#question-dialog")).to_be_hidden()
        page.keyboard.up("Control")
        page.keyboard.down("Enter")  # still held
        page.keyboard.up("Enter")
        if protocol == "compound":
            press(page, "a")  # blank again: nothing is left that was not saved
        all_saved(page)

        assert Question.objects.get().text == "Is 1 a rest?"
        assert position(page) == "1"
        assert not Annotation.objects.exists()

    def test_ctrl_and_enter_send_nothing_where_nothing_was_typed(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("triple", units=1))
        press(page, "q")
        page.locator("#question-text").press("Control+Enter")

        expect(page.locator("#question-dialog")).to_be_visible()
        assert not Question.objects.exists()

    def test_it_keeps_what_was_typed_for_the_unit_until_it_is_sent(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("triple", units=2))
        press(page, "q")
        page.locator("#question-text").fill("Half a question")

        press(page, "Escape", "1", "q")
        expect(page.locator("#question-text")).to_have_value("")
        press(page, "Escape", "u", "q")

        expect(page.locator("#question-text")).to_have_value("Half a question")
        assert not Question.objects.exists()


def test_it_counts_a_question_in_code_points(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("triple", units=1))

    press(page, "q")
    page.locator("#question-text").fill("𠮷" * 1001)
    expect(page.locator("#question-count")).to_have_text("1000 of 1000 characters")
    page.get_by_role("button", name="Ask").click()
    all_saved(page)

    assert Question.objects.get().text == "𠮷" * 1000


@pytest.mark.parametrize("on", [True, False])
def test_it_highlights_forms_in_the_translation_where_the_campaign_does_and_stores_that(
    context: BrowserContext, seat_of: SeatOf, on: bool
) -> None:
    forms = {"lazy": ["懒"], "dog": ["狗睡", "狗"], "the": []}
    seat = seat_of("compound", units=1, highlighted_forms=forms if on else {})
    Item.objects.filter(pk=seat.rows[0].item_id).update(translation="𠮷 那 只 big 懒 狗 睡 着 了 。")
    page = open_seat(context, seat)
    translation = page.locator(".translation").first

    assert translation.locator("mark").all_inner_texts() == (["懒狗睡"] if on else [])
    assert translation.inner_text() == "𠮷那只big懒狗睡着了。"
    press(page, "a", "Enter")
    all_saved(page)

    assert {one.conditions["highlight"] for one in Annotation.objects.all()} == {
        "translation" if on else "source"
    }


class TestTime:
    """What somebody worked is kept whatever becomes of the page."""

    @pytest.fixture(autouse=True)
    def time(self, context: BrowserContext) -> None:
        context.add_init_script(SKIP_TIME)

    @staticmethod
    def seconds() -> list[int]:
        """Of the answers, in the order in which they were given: to the nearest ten."""
        stored = Annotation.objects.order_by("created_at", "pk").values_list("seconds", flat=True)
        return [round(one or 0, -1) for one in stored]  # type: ignore[misc]

    def test_it_goes_on_with_a_unit_that_was_put_off(self, context: BrowserContext, seat_of: SeatOf) -> None:
        page = open_seat(context, seat_of("triple", units=2))

        skip(page, 100)
        press(page, "s")
        skip(page, 40)
        press(page, "1")
        assert position(page) == "1"
        skip(page, 20)
        press(page, "1")
        all_saved(page)

        assert self.seconds() == [40, 120]

    @pytest.mark.parametrize("protocol", ["triple", "compound"])
    def test_it_goes_on_after_a_reload(self, context: BrowserContext, seat_of: SeatOf, protocol: str) -> None:
        page = open_seat(context, seat_of(protocol, units=2))
        answer = ("a", "Enter") if protocol == "compound" else ("1",)

        skip(page, 100)  # nothing was pressed so far
        page.reload()
        alive(page)
        skip(page, 20)
        press(page, *answer)
        all_saved(page)
        skip(page, 60)
        press(page, "u")  # a correction, in which the page is loaded anew
        skip(page, 200)
        page.reload()
        alive(page)
        press(page, "Escape", *answer)
        all_saved(page)

        assert self.seconds() in ([120, 60], [120] * 5 + [60] * 5)

    def test_it_goes_on_after_signing_out(self, context: BrowserContext, seat_of: SeatOf) -> None:
        seat = seat_of("compound", units=2)
        page = open_seat(context, seat)

        press(page, "1")
        skip(page, 100)
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in/**")
        page = open_seat(context, seat)
        expect(page.locator(".context[data-answer=wrong]")).to_have_count(0)
        press(page, "a", "Enter")
        all_saved(page)

        assert self.seconds() == [100] * 5

    def test_what_was_read_counts_while_it_was_in_sight_and_waits_for_the_network(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("triple", units=1))
        context.set_offline(True)

        press(page, "g")
        skip(page, 60)
        for state in ("hidden", "visible"):
            page.evaluate(
                """state => {
                  Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
                  document.dispatchEvent(new Event("visibilitychange"));
                  self.skipped += state === "hidden" ? 1_000_000 : 20_000;
                }""",
                state,
            )
        press(page, "g")
        expect(page.locator("#badge .word")).to_have_text("offline · 1 waiting")
        press(page, "1")
        context.set_offline(False)
        page.evaluate("window.dispatchEvent(new Event('online'))")
        all_saved(page)

        line = TimeEntry.objects.get()
        assert (line.kind, round(line.seconds, -1)) == ("guideline", 80)
        assert self.seconds() == [0]

    def test_what_was_read_counts_though_the_page_was_left(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("triple", units=1))

        press(page, "g")
        skip(page, 60)
        page.reload()
        alive(page)
        all_saved(page)

        assert [round(line.seconds, -1) for line in TimeEntry.objects.all()] == [60]


def test_a_search_that_reaches_nobody_says_so(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("triple", units=3))
    press(page, "1", "/")
    context.set_offline(True)

    page.locator("#search-text").fill("marathon")
    press(page, "Enter")

    expect(page.locator("#history-said")).to_contain_text("nothing was searched")


class TestWords:
    def test_it_marks_words_on_demand_and_leaves_the_text_as_it_is(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("compound", units=2))
        translation = page.locator(".translation").first
        before = translation.inner_text()

        press(page, "b")
        expect(translation.locator(".word-piece").nth(1)).to_be_visible(timeout=30_000)
        assert translation.inner_text() == before
        assert (
            page.evaluate(
                """() => {
              getSelection().selectAllChildren(document.querySelector(".translation"));
              return getSelection().toString();
            }"""
            )
            == before
        )
        press(page, "a", "Enter")
        expect(translation.locator(".word-piece").nth(1)).to_be_visible()
        press(page, "b")
        expect(translation.locator(".word-piece")).to_have_count(0)

    def test_that_they_are_coming_is_said_of_the_unit_where_they_were_asked_for(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("compound", units=3))
        page.route("**/words/", lambda _route: None)  # as long as the server takes
        press(page, "b")
        expect(page.locator("#cue")).to_contain_text("words")

        with page.expect_request("**/words/"):
            press(page, "a", "Enter")

        assert position(page) == "2"
        expect(page.locator("#cue")).to_be_empty(timeout=1000)  # before it goes by itself
        expect(page.locator(".rule")).to_be_visible()
        page.unroute_all(behavior="ignoreErrors")

    def test_it_asks_once_for_a_screen_and_says_where_it_cannot(
        self, context: BrowserContext, seat_of: SeatOf
    ) -> None:
        page = open_seat(context, seat_of("compound", units=2))
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/words/" in request.url else None)

        press(page, "b")
        expect(page.locator(".word-piece").first).to_be_visible(timeout=30_000)
        press(page, "b", "b")
        assert len(asked) == 1
        context.set_offline(True)
        press(page, "a", "Enter")

        expect(page.locator("#cue")).to_contain_text("need the network")
        expect(page.locator(".word-piece")).to_have_count(0)


def test_it_lets_go_of_an_answer_that_came_too_late_and_says_so(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    Assignment.objects.filter(pk=seat.rows[0].pk).update(withdrawn_at=timezone.now())

    press(page, "1", "2")

    expect(page.locator("#notices .notice")).to_contain_text("does not count")
    all_saved(page)
    assert Surplus.objects.count() == 1
    assert seat.answers() == ["", "0.5", ""]
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#notices .notice")).to_have_count(0)


def test_it_says_which_part_of_a_compound_came_too_late(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=2)
    page = open_seat(context, seat)
    Assignment.objects.filter(pk=seat.rows[0].pk).update(withdrawn_at=timezone.now())

    press(page, "a", "Enter")

    expect(page.locator("#notices .notice")).to_contain_text("Part of it was withdrawn")
    all_saved(page)
    assert seat.answers()[:5] == ["", "1", "1", "1", "1"]


@pytest.mark.parametrize(
    ("key", "dialog"), [("g", "guidelines-dialog"), ("i", "define-dialog"), ("?", "keys-dialog")]
)
def test_a_key_opens_its_window_and_closes_it(
    context: BrowserContext, seat_of: SeatOf, key: str, dialog: str
) -> None:
    page = open_seat(context, seat_of("triple", units=2))

    press(page, key)
    expect(page.locator(f"#{dialog}")).to_be_visible()
    press(page, key)

    expect(page.locator(f"#{dialog}")).not_to_be_visible()
    assert position(page) == "1"


def test_it_defines_the_relation_of_the_unit(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("triple", units=1))

    press(page, "i")

    expect(page.locator("#define-dialog .relation-card:visible")).to_have_count(1)
    expect(page.locator("#d-name-xWant")).to_be_visible()


def test_a_unit_that_runs_from_right_to_left_turns_nothing_around_it(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=2)
    Item.objects.update(head="\u05e9\u05dc\u05d5\u05dd")
    page = open_seat(context, seat)
    assert page.locator(".head").evaluate("node => getComputedStyle(node).direction") == "rtl"
    assert page.locator(".tail").evaluate("node => getComputedStyle(node).direction") == "ltr"

    press(page, "1")

    expect(page.locator("#last .said")).to_have_text(
        "Last: \u2068\u05e9\u05dc\u05d5\u05dd\u2069 → always/often"
    )


def test_a_very_long_text_scrolls_in_its_box(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=1)
    Item.objects.update(translation="懒狗睡着了，" * 3000)
    page = open_seat(context, seat)

    box = page.locator(".translation").first
    expect(box).to_have_attribute("tabindex", "0")
    height, inside = box.evaluate("node => [node.clientHeight, node.scrollHeight]")
    assert height < 200 < inside
    assert page.evaluate("document.documentElement.scrollWidth") <= 1366


def test_guidelines_print_as_text_with_whole_relations(context: BrowserContext, seat_of: SeatOf) -> None:
    page = open_seat(context, seat_of("triple", units=1))
    page.goto(page.url.replace("judge/?position=1", "guidelines/"))
    page.emulate_media(media="print")

    styles = page.evaluate(
        """() => [".bar", ".foot", "body", ".relation-card"].map((name) => {
          const style = getComputedStyle(document.querySelector(name));
          return [style.display, style.breakInside];
        })"""
    )

    assert [display for display, _inside in styles] == ["none", "none", "block", "block"]
    assert styles[3][1] == "avoid"
