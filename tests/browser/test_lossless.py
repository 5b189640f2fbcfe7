"""Nothing acknowledged is lost, nothing is stored twice: whatever the network, the session or another tab does."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Dialog, Page, Route, expect
from playwright.sync_api import Error as PlaywrightError

from annotation.models import Annotation, Assignment, Round, Surplus
from annotation.services.answers import save_answers
from annotation.services.sheets import Answer, Sheet
from tests.browser.conftest import (
    BETWEEN_PRESSES,
    Seat,
    alive,
    all_saved,
    open_seat,
    position,
    press,
    sign_in,
    try_again,
)
from tests.conftest import eventually
from tests.factories import PASSWORD, make_assignment, make_triple, seat_number

pytestmark = pytest.mark.browser

SeatOf = Callable[..., Seat]
ANSWERS = "**/api/v1/campaigns/*/units/*/answers/"


def badge_says(page: Page, text: str) -> None:
    expect(page.locator("#badge")).to_contain_text(text)


@pytest.mark.parametrize("trouble", [500, 409, 403, 0])
def test_it_keeps_page_and_choice_whatever_the_server_says(
    context: BrowserContext, seat_of: SeatOf, trouble: int
) -> None:
    """c24: the save fails in four ways; a plain message with a retry; after recovery one press stores one row."""
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)

    def fail(route: Route) -> None:
        if trouble:
            body = '{"detail": "No.", "code": "closed"}'
            route.fulfill(status=trouble, content_type="application/json", body=body)
        else:
            route.abort()

    page.route(ANSWERS, fail)
    press(page, "2")
    expect(page.locator("#notices .notice")).to_have_count(1)
    expect(page.locator("#badge .sign")).not_to_have_text("✓")
    assert seat.annotations() == 0
    assert position(page) == "2"  # the work goes on

    page.unroute(ANSWERS)
    try_again(page)
    all_saved(page)
    assert seat.answers() == ["0.5", "", ""]
    assert seat.annotations() == 1
    expect(page.locator("#notices .notice")).to_have_count(0)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", "<html>Welcome to our network</html>"),
        ("application/json", "{}"),
        ("application/json", '{"saved": []}'),
        ("application/json", '{"saved": [{"assignment": 0, "revision": 1}]}'),
        ("application/json", ""),
    ],
)
def test_it_takes_no_other_servers_word_for_saved(
    context: BrowserContext, seat_of: SeatOf, content_type: str, body: str
) -> None:
    """A proxy or a network's own page answers 200 in our server's place."""
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    page.route(ANSWERS, lambda route: route.fulfill(status=200, content_type=content_type, body=body))
    press(page, "1")
    badge_says(page, "1 waiting")

    page.unroute(ANSWERS)
    try_again(page)
    all_saved(page)
    assert seat.answers() == ["1", "", ""]
    assert seat.annotations() == 1


def test_it_works_on_where_the_browsers_store_never_answers(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    context.add_init_script("indexedDB.open = () => ({});")
    page = open_seat(context, seat)
    expect(page.locator("#notices .notice")).to_have_count(1)

    press(page, "1", "3")
    all_saved(page)

    assert seat.answers() == ["1", "0", ""]


def test_it_goes_on_once_somebody_signed_in_in_another_tab(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    context.clear_cookies()
    press(page, "1")
    badge_says(page, "signed out · 1 waiting")

    sign_in(context, seat, seat.cast.ada)
    context.add_cookies([{"name": "csrftoken", "value": "x" * 32, "url": seat.address}])
    page.evaluate("dispatchEvent(new Event('focus'))")

    all_saved(page)
    assert seat.answers() == ["1", "", ""]


def test_it_stores_once_what_was_sent_twice(context: BrowserContext, seat_of: SeatOf) -> None:
    """The server stored the answer, but its reply was lost."""
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    lost: list[int] = []

    def lose_the_reply(route: Route) -> None:
        if not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route(ANSWERS, lose_the_reply)
    press(page, "1")
    expect(page.locator("#notices .notice")).to_have_count(1)
    assert (lost, seat.annotations()) == ([200], 1)

    try_again(page)
    all_saved(page)
    assert seat.answers() == ["1", "", ""]
    assert seat.annotations() == 1


def test_it_works_on_without_network_and_sends_everything_later(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=30)
    page = open_seat(context, seat)
    context.set_offline(True)

    press(page, *("123" * 7))
    badge_says(page, "offline · 21 waiting")
    assert seat.annotations() == 0

    context.set_offline(False)
    all_saved(page)
    assert seat.answers() == [*(["1", "0.5", "0"] * 7), *([""] * 9)]
    assert seat.annotations() == 21


@pytest.mark.parametrize(
    ("language", "title"), [("en", "No network"), ("zh-hans", "\u6ca1\u6709\u7f51\u7edc")]
)
def test_a_reload_without_network_says_where_the_answers_are(
    context: BrowserContext, seat_of: SeatOf, language: str, title: str
) -> None:
    seat = seat_of("triple", units=3)
    context.add_cookies([{"name": "django_language", "value": language, "url": seat.address}])
    page = open_seat(context, seat)
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    context.set_offline(True)
    press(page, "1")
    page.reload()
    expect(page.locator("h1")).to_have_text(title)
    assert seat.cast.campaign.title not in page.content()
    assert page.evaluate("caches.keys()") == []

    context.set_offline(False)
    alive(page)  # by itself
    all_saved(page)
    assert seat.answers() == ["1", "", ""]


def test_the_worker_that_says_so_stands_in_nothing_elses_way(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    """Under it as without it the page's requests go to the network, and other pages do."""
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    page.reload()
    alive(page)
    assert page.evaluate("Boolean(navigator.serviceWorker.controller)")
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    page.route(ANSWERS, lambda route: route.abort())
    press(page, "1")
    expect(page.locator("#notices .notice")).to_have_count(1)  # the route of this test stops it
    page.unroute(ANSWERS)
    all_saved(page)
    assert any(address.endswith("/answers/") for address in seen)

    context.set_offline(True)
    with pytest.raises(PlaywrightError):
        page.goto(seat.url("work/"))


def test_it_sends_after_a_reload_what_waited_before_it(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=5)
    page = open_seat(context, seat)
    page.route(ANSWERS, lambda route: route.abort())
    press(page, "1", "3")
    badge_says(page, "2 waiting")

    page.unroute(ANSWERS)
    page.reload()
    alive(page)
    all_saved(page)

    assert seat.answers() == ["1", "0", "", "", ""]
    assert position(page) == "3"


@pytest.mark.parametrize("before", ["no network", "no answer"])
def test_answers_that_waited_at_a_reload_arrive_in_the_order_they_were_given(
    context: BrowserContext, seat_of: SeatOf, before: str
) -> None:
    """The order in which one looks back is that of arrival; it is the same where the page has gone meanwhile."""
    seat = seat_of("triple", units=20)
    page = open_seat(context, seat)
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    if before == "no network":
        context.set_offline(True)
    else:
        page.route(ANSWERS, lambda route: route.abort())
    press(page, *("123" * 4))
    badge_says(page, "12 waiting")
    page.reload()
    context.set_offline(False)
    page.unroute_all(behavior="ignoreErrors")
    alive(page)
    all_saved(page)

    arrived = Annotation.objects.order_by("created_at", "id").values_list("assignment__position", flat=True)
    assert list(arrived) == list(range(1, 13))
    press(page, "u")
    assert position(page) == "12"


def test_it_signs_in_again_in_place(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=5)
    seat.cast.ada.set_password(PASSWORD)
    seat.cast.ada.save()
    page = open_seat(context, seat)
    press(page, "1")
    all_saved(page)

    context.clear_cookies()
    press(page, "2", "3")
    badge_says(page, "signed out · 2 waiting")
    assert seat.annotations() == 1

    page.get_by_role("button", name="Sign in").click()
    page.fill("#again-password", "wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#sign-in-said")).to_contain_text("do not match")
    page.fill("#again-password", PASSWORD)
    page.keyboard.press("Enter")
    all_saved(page)

    assert seat.answers() == ["1", "0.5", "0", "", ""]
    assert position(page) == "4"
    press(page, "1")
    all_saved(page)
    assert seat.annotations() == 4


def test_it_saves_after_signing_out_and_in_again_in_another_tab(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    """c47: the CSRF token changed at the sign-in; the page reads it anew."""
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    context.add_cookies([{"name": "csrftoken", "value": "x" * 32, "url": seat.address}])
    sign_in(context, seat, seat.cast.ada)

    press(page, "1")
    all_saved(page)

    assert seat.answers() == ["1", "", ""]


def test_it_never_sends_one_persons_answers_under_anothers_sign_in(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=5)
    page = open_seat(context, seat)
    context.set_offline(True)
    press(page, "1", "1")
    page.close()
    context.set_offline(False)

    other = open_seat(context, seat, seat.cast.lin)
    press(other, "3")
    all_saved(other)
    other.close()
    assert seat.answers(seat.cast.lin) == ["0", "", "", "", ""]
    # A page that is closed may still get an answer through, but only as Ada's.
    assert set(seat.answers()) <= {"", "1"}

    again = open_seat(context, seat)
    all_saved(again)
    assert seat.answers() == ["1", "1", "", "", ""]
    assert seat.annotations() == 3


def test_it_stops_where_somebody_else_signed_in_meanwhile(context: BrowserContext, seat_of: SeatOf) -> None:
    """Ada's page is still open when Lin signs in beside it: nothing goes out under Lin's name."""
    seat = seat_of("triple", units=5)
    page = open_seat(context, seat)
    sign_in(context, seat, seat.cast.lin)

    press(page, "1", "1")
    expect(page.locator("#notices .notice")).to_contain_text("Somebody else signed in")
    assert seat.annotations() == 0

    sign_in(context, seat, seat.cast.ada)
    try_again(page)
    all_saved(page)
    assert seat.answers() == ["1", "1", "", "", ""]
    assert seat.answers(seat.cast.lin) == [""] * 5


def test_it_keeps_two_tabs_apart(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=4)
    first = open_seat(context, seat)
    second = open_seat(context, seat)
    assert position(second) == "1"

    press(first, "1")
    all_saved(first)
    expect(second.locator("#sheet")).to_have_attribute("data-position", "2")
    press(second, "2")
    press(first, "3")
    all_saved(first)
    all_saved(second)

    assert sorted(seat.answers()) == sorted(["1", "0.5", "0", ""])
    assert seat.annotations() == 3


def test_it_shows_at_once_how_far_the_part_is_in_both_tabs(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=4)
    first = open_seat(context, seat)
    second = open_seat(context, seat)

    press(first, "1", "2")
    expect(second.locator("#progress-text")).to_have_text("2 / 4")
    press(first, "u")
    expect(first.locator("#sheet")).to_have_attribute("data-position", "2")
    press(first, "3", "Enter")  # a correction is none more
    all_saved(first)
    assert seat.answers() == ["1", "0", "", ""]
    press(second, "1")
    expect(second.locator("#progress-text")).to_have_text("3 / 4")
    expect(first.locator("#progress-text")).to_have_text("3 / 4")
    assert second.locator("#progress").evaluate("bar => bar.value") == 3


def progress_says(page: Page, text: str) -> None:
    expect(page.locator("#progress-text")).to_have_text(text)


def test_a_unit_answered_in_two_tabs_counts_once(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("compound", units=2)
    first = open_seat(context, seat)
    second = open_seat(context, seat)

    press(second, "2", "3")  # stays in view, whatever the other tab does
    press(first, "2", "a", "Enter")
    all_saved(first)
    progress_says(second, "1 / 2")
    press(second, "a", "Enter")
    assert position(second) == "2"
    progress_says(second, "1 / 2")

    press(second, "a", "Enter")
    for page in (first, second):
        progress_says(page, "2 / 2")
        assert page.locator("#progress").evaluate("bar => bar.value") == 2
    expect(second.locator("[data-notice=part-0]")).to_have_count(1)


def _given_out(seat: Seat) -> None:
    """One more unit for both in the same part."""
    row = seat.rows[0]
    key = seat.cast.campaign.units.count() + 1
    item = make_triple(seat.cast.campaign, key, batch=row.item.unit.batch)
    for slot, expert in enumerate((seat.cast.ada, seat.cast.lin), start=1):
        make_assignment(item, expert, slot=slot, part=row.part)


def test_it_never_counts_more_than_there_is(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=1)
    second = open_seat(context, seat)
    press(second, "1")
    all_saved(second)
    progress_says(second, "1 / 1")

    _given_out(seat)
    _given_out(seat)
    first = open_seat(context, seat)
    progress_says(first, "1 / 3")
    press(first, "1")
    for page in (first, second):
        progress_says(page, "2 / 3")
        assert page.locator("#progress").evaluate("bar => [bar.value, bar.max]") == [2, 3]


def test_what_is_given_out_while_one_judges_belongs_to_the_part(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=1)
    page = open_seat(context, seat)
    _given_out(seat)
    press(page, "1")
    expect(page.locator("#sheet")).to_have_attribute("data-position", "2")
    progress_says(page, "1 / 2")
    press(page, "1")
    progress_says(page, "2 / 2")


def test_what_is_refused_counts_in_no_tab_until_it_is_stored(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=2)
    first = open_seat(context, seat)
    second = open_seat(context, seat)
    rounds = seat.cast.campaign.rounds
    rounds.update(state=Round.State.CLOSED)
    press(first, "1", "1")
    badge_says(first, "2 to look at")
    for page in (first, second):
        progress_says(page, "0 / 2")
    expect(first.locator("[data-notice=part-0]")).to_have_count(0)
    progress_says(open_seat(context, seat), "0 / 2")

    first.get_by_role("button", name="Discard my answer").last.click()
    for page in (first, second):
        badge_says(page, "1 to look at")
        progress_says(page, "0 / 2")
    rounds.update(state=Round.State.OPEN)
    first.get_by_role("button", name="Try again").click()
    all_saved(first)
    for page in (first, second):
        progress_says(page, "1 / 2")
    assert seat.answers() == ["1", ""]


@pytest.mark.parametrize("units", [1, 3])
def test_a_unit_whose_answer_was_discarded_comes_up_again(
    context: BrowserContext, seat_of: SeatOf, units: int
) -> None:
    """Next, or at once where nothing else is left; in a second tab as well."""
    seat = seat_of("triple", units=units)
    page = open_seat(context, seat)
    second = open_seat(context, seat)
    refused = '{"detail": "No.", "code": "invalid"}'
    page.route(
        ANSWERS, lambda route: route.fulfill(status=400, content_type="application/json", body=refused)
    )
    press(page, "1")
    badge_says(page, "1 to look at")
    page.unroute(ANSWERS)

    page.get_by_role("button", name="Discard my answer").click()
    all_saved(page)
    page.wait_for_timeout(1000)  # for what the server says is open
    if units > 1:
        assert position(page) == "2"
        press(page, "2")
    expect(page.locator("#sheet")).to_be_visible()
    expect(page.locator("#sheet")).to_have_attribute("data-position", "1")
    press(page, "3")
    assert eventually(lambda: seat.answers() == ["0", "0.5", ""][:units])
    progress_says(second, f"{min(units, 2)} / {units}")


def test_a_tab_opened_while_answers_wait_counts_them(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=4)
    first = open_seat(context, seat)
    context.route(ANSWERS, lambda route: route.abort())
    press(first, "1", "1", "u", "2", "Enter")  # a correction is none more
    progress_says(first, "2 / 4")
    second = open_seat(context, seat)
    assert position(second) == "3"
    progress_says(second, "2 / 4")

    context.unroute(ANSWERS)
    try_again(first)
    all_saved(first)
    all_saved(second)
    press(second, "1")
    for page in (first, second):
        all_saved(page)
        progress_says(page, "3 / 4")


def test_an_answer_whose_reply_was_lost_counts_once_after_a_reload(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=4)
    page = open_seat(context, seat)

    def lose_the_reply(route: Route) -> None:
        route.fetch()
        route.abort()

    context.route(ANSWERS, lose_the_reply)
    press(page, "1")
    assert eventually(lambda: seat.annotations() == 1)
    page.reload()
    alive(page)
    progress_says(page, "1 / 4")
    badge_says(page, "1 waiting")

    context.unroute(ANSWERS)
    try_again(page)
    all_saved(page)
    press(page, "1")
    progress_says(page, "2 / 4")


def test_it_counts_nothing_that_another_tab_tells_of_once_it_is_gone(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    """One tab may send what another kept before that one has told of it."""
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)
    other = open_seat(context, seat)
    owner = {"user": seat.cast.ada.pk, "campaign": seat.cast.campaign.slug, "kind": "later"}
    for kind, seq in (("removed", 999), ("added", 999), ("added", 1000)):
        message = {"kind": kind, "entry": {**owner, "seq": seq}, "elsewhere": True}
        other.evaluate("message => new BroadcastChannel('assay-seat').postMessage(message)", message)
    badge_says(page, "1 waiting")  # of the two that were added, the one that was not removed before


def _answered_elsewhere(seat: Seat, row: Assignment, label: str) -> None:
    """The same expert at another machine."""
    save_answers(
        Sheet(
            screen=row.pk,
            client_key=uuid4(),
            answers=(Answer(assignment=row.pk, revision=row.revision, label=label),),
        ),
        slug=seat.cast.campaign.slug,
        expert_id=row.expert_id,
    )


@pytest.mark.parametrize(
    ("button", "label", "rows"), [("Keep what is stored", "0", 1), ("Save mine", "1", 2)]
)
def test_it_shows_an_answer_from_elsewhere_and_lets_the_expert_choose(
    context: BrowserContext, seat_of: SeatOf, button: str, label: str, rows: int
) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    _answered_elsewhere(seat, seat.rows[0], "0")

    press(page, "1")
    notice = page.locator("#notices .notice")
    expect(notice).to_contain_text("stored: rarely")
    expect(notice).to_contain_text("yours: always/often")
    press(page, "2")  # the next one is not held up
    expect(page.locator("#badge")).to_contain_text("1 to look at")
    assert eventually(lambda: seat.answers() == ["0", "0.5", ""])

    page.get_by_role("button", name=button).click()
    all_saved(page)
    assert seat.answers() == [label, "0.5", ""]
    assert Annotation.objects.filter(assignment=seat.rows[0]).count() == rows


def test_it_does_not_ask_where_both_answers_agree(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)
    _answered_elsewhere(seat, seat.rows[0], "1")

    press(page, "1")
    all_saved(page)

    expect(page.locator("#notices .notice")).to_have_count(0)
    assert seat.annotations() == 1


def test_it_settles_a_unit_that_was_answered_elsewhere_and_withdrawn_in_part(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    """The server speaks only of the rows that are left; what was answered to the other is kept aside."""
    seat = seat_of("compound", units=2)
    page = open_seat(context, seat)
    mine = seat.rows[:5]
    answers = tuple(Answer(assignment=row.pk, revision=0, label="0") for row in mine)
    slug, ada = seat.cast.campaign.slug, seat.cast.ada
    save_answers(Sheet(screen=mine[0].pk, client_key=uuid4(), answers=answers), slug=slug, expert_id=ada.pk)
    Assignment.objects.filter(pk=mine[0].pk).update(withdrawn_at=timezone.now())

    press(page, "a", "Enter")
    expect(page.locator("#notices")).to_contain_text("Part of it was withdrawn")
    badge_says(page, "1 to look at")
    page.reload()
    alive(page)
    badge_says(page, "1 to look at")
    press(page, "a", "Enter")  # the next one is not held up
    assert eventually(lambda: seat.answers()[5:] == ["1"] * 5)
    expect(page.locator("#notices .said-rows li")).to_have_count(4)
    page.get_by_role("button", name="Save mine").click()
    all_saved(page)

    assert seat.answers()[:5] == ["0", "1", "1", "1", "1"]
    assert Surplus.objects.count() == 1


# Puts entries into the browser's store as another version of the page, or a fault of it, might have left them.
STORE = """async (entries) => {
  const opening = indexedDB.open("assay-seat", 1);
  await new Promise((resolve) => { opening.onsuccess = resolve; });
  const storing = opening.result.transaction("outbox", "readwrite");
  for (const entry of entries) storing.objectStore("outbox").add(entry);
  await new Promise((resolve) => { storing.oncomplete = resolve; });
}"""


def test_one_broken_entry_stops_no_other(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=4)
    page = open_seat(context, seat)
    owner = {"user": seat.cast.ada.pk, "campaign": seat.cast.campaign.slug, "kind": "answers", "position": 4}
    stale = {"status": 409, "code": "stale", "detail": ""}
    broken = [
        {**owner, "unit": 1},
        {**owner, "unit": 1, "held": {**stale, "current": None}},
        {**owner, "unit": 1, "held": {**stale, "current": []}},
    ]
    page.evaluate(STORE, broken)

    press(page, "1")
    assert eventually(lambda: seat.answers()[0] == "1")
    page.reload()
    alive(page)
    press(page, "2")
    assert eventually(lambda: seat.answers()[1] == "0.5")
    expect(page.locator("#notices .notice")).to_have_count(3)
    for left in (2, 1, 0):
        page.get_by_role("button", name="Discard my answer").first.click()
        expect(page.locator("#notices .notice")).to_have_count(left)
    all_saved(page)


def test_an_answer_on_which_the_server_fails_holds_up_only_what_comes_after_it_on_its_screen(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=4)
    page = open_seat(context, seat)
    first = f"**/units/{seat_number(seat.rows[0])}/answers/"
    page.route(first, lambda route: route.fulfill(status=500, body="No."))

    press(page, "1", "u", "3", "Enter", "2")
    badge_says(page, "2 waiting")
    assert seat.answers() == ["", "0.5", "", ""]

    page.unroute(first)
    try_again(page)
    all_saved(page)
    assert seat.answers() == ["0", "0.5", "", ""]
    assert list(Annotation.objects.filter(assignment=seat.rows[0]).values_list("label", flat=True)) == [
        "1",
        "0",
    ]


def test_an_answer_that_waited_keeps_the_guideline_and_the_language_it_was_given_under(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=2)
    shown = seat.cast.campaign.guidelines.get()
    page = open_seat(context, seat)
    context.set_offline(True)
    press(page, "1")
    badge_says(page, "1 waiting")

    seat.cast.campaign.rounds.update(guideline=seat.cast.campaign.guidelines.create(version=2))
    context.set_offline(False)
    context.add_cookies([{"name": "django_language", "value": "zh-hans", "url": seat.address}])
    page.reload()
    page.locator(".page button.primary").click()  # the new version, read and acknowledged
    alive(page)
    all_saved(page)
    press(page, "1")
    all_saved(page)

    stored = [
        (one.guideline.version, one.conditions["language"]) for one in Annotation.objects.order_by("pk")
    ]
    assert stored == [(shown.version, "en"), (2, "zh-hans")]


def test_a_campaign_may_go_by_a_number(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=1, slug="0")
    page = open_seat(context, seat)

    press(page, "1")
    all_saved(page)
    page.get_by_role("link", name="Look through it and hand it in").click()

    expect(page.locator("h1")).to_have_text("Hand in: Part 1")
    assert seat.answers() == ["1"]


def test_it_warns_at_sign_out_and_forgets_half_filled_screens(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("compound", units=3)
    page = open_seat(context, seat)
    page.route(ANSWERS, lambda route: route.abort())
    press(page, "a", "Enter", "1")
    badge_says(page, "1 waiting")
    warnings: list[str] = []

    def accept(dialog: Dialog) -> None:
        warnings.append(dialog.message)
        dialog.accept()

    page.once("dialog", accept)

    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/**")
    assert warnings[0].startswith("One answer has not reached the server.")

    page.unroute(ANSWERS)
    again = open_seat(context, seat)
    all_saved(again)
    assert seat.answers()[:5] == ["1"] * 5
    assert again.locator(".context[data-answer=wrong]").count() == 0


def test_it_shows_no_item_after_signing_out_and_going_back(context: BrowserContext, seat_of: SeatOf) -> None:
    """c49: the browser keeps no copy of a private page."""
    seat = seat_of("triple", units=2)
    page = open_seat(context, seat)
    expect(page.locator("#unit")).to_contain_text("rest")

    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/**")
    page.go_back()

    expect(page.locator("[name=username]")).to_be_visible()
    assert page.locator("#unit").count() == 0


def test_it_hands_in_only_when_nothing_waits(context: BrowserContext, seat_of: SeatOf) -> None:
    seat = seat_of("triple", units=1)
    page = open_seat(context, seat)
    page.route(ANSWERS, lambda route: route.abort())
    press(page, "1")
    other = context.new_page()
    _answered_elsewhere(seat, seat.rows[0], "1")
    other.goto(seat.url("parts/0/hand-in/"))
    expect(other.locator("#still-waiting")).to_be_visible()
    expect(other.locator("#hand-in button")).to_be_disabled()


def test_it_paints_the_next_unit_from_memory(
    context: BrowserContext, seat_of: SeatOf, record_property: Callable[[str, object], None]
) -> None:
    """From key to paint over 200 units with 100 ms of network delay added. The figures are printed at the end."""
    seat = seat_of("triple", units=220)
    context.add_init_script("self.assayMetrics = [];")
    page = open_seat(context, seat)
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    conditions = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", {**conditions, "latency": 100})
    for _ in range(200):
        page.keyboard.press("1")
        page.wait_for_timeout(BETWEEN_PRESSES)
    network.send("Network.emulateNetworkConditions", {**conditions, "latency": 0})
    expect(page.locator("#badge .sign")).to_have_text("✓", timeout=30_000)

    times = sorted(page.evaluate("assayMetrics"))
    median, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
    record_property(
        "measured",
        f"key to paint, n={len(times)}: median {median:.1f} ms, p99 {p99:.1f} ms, worst {times[-1]:.1f} ms",
    )
    assert len(times) == 200
    assert seat.annotations() == 200
