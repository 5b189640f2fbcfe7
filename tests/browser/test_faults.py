"""Faults put in on purpose: the server killed in the middle of a save, ten minutes without network, requests that
come twice or in another order. After each the database holds exactly the answers that were acknowledged."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings
from playwright.sync_api import BrowserContext, Page, Request, Response, Route, expect

from annotation.models import Annotation, Assignment
from annotation.services.seat_numbers import number_of
from tests.browser.conftest import Seat, alive, all_saved, open_seat, press, try_again
from tests.config.site import Site
from tests.conftest import StartManage, eventually
from tests.factories import PASSWORD, seat_number

pytestmark = pytest.mark.browser

SeatOf = Callable[..., Seat]
ANSWERS = "**/api/v1/campaigns/*/units/*/answers/"


class Acknowledged:
    """What the server told the page was saved."""

    def __init__(self, page: Page) -> None:
        self.replies: list[Response] = []
        page.on("response", self._hear)

    def _hear(self, response: Response) -> None:
        if response.url.endswith("/answers/") and response.status == 200:
            self.replies.append(response)

    def saved(self) -> set[tuple[int, int]]:
        """As (assignment, revision), however often it was said."""
        rows = [row for response in self.replies for row in response.json()["saved"]]
        return {(row["assignment"], row["revision"]) for row in rows}


def stored() -> Counter[tuple[int, int]]:
    """As a page is told of it."""
    rows = Annotation.objects.values_list("assignment", "assignment__expert", "revision")
    return Counter((number_of(row, expert=expert), revision) for row, expert, revision in rows)


# The server killed ------------------------------------------------------------------------------------------------


@pytest.fixture
def site(start_manage: StartManage, tmp_path: Path) -> Site:
    return Site(start_manage, tmp_path / "data")


def rows_on_disk(site: Site) -> list[tuple[int, int, str]]:
    """(assignment, revision, label) of every annotation in the site's file, assignments as the page knows them."""
    with sqlite3.connect(site.folder / "assay.sqlite3") as database:
        rows = database.execute(
            "SELECT n.assignment_id, a.expert_id, n.revision, n.label FROM annotation_annotation n "
            "JOIN annotation_assignment a ON a.id = n.assignment_id ORDER BY n.id"
        ).fetchall()
    with override_settings(SECRET_KEY=(site.folder / "secret_key").read_text().strip()):
        return [(number_of(row, expert=expert), revision, label) for row, expert, revision, label in rows]


def open_seat_by_invitation(page: Page, site: Site, log: str) -> None:
    """Ada takes up her invitation, reads what is recorded and opens the triples."""
    link = re.search(r"ada \(expert\): (\S+)", log)
    assert link
    page.goto(link[1])
    for field in page.locator("[type=password]").all():
        field.fill(PASSWORD)
    page.click("main button.primary")
    page.wait_for_url(re.compile(r"^(?!.*invitation).*$"))
    page.goto(f"http://127.0.0.1:{site.port}/campaigns/sample-triples/judge/")
    page.wait_for_url("**/recorded/**")
    page.click("main form button.primary")
    alive(page)


def test_it_loses_and_doubles_nothing_when_the_server_is_killed_in_the_middle_of_a_save(
    context: BrowserContext, site: Site
) -> None:
    started = site.up("--sample")
    page = context.new_page()
    context.set_default_timeout(30_000)
    open_seat_by_invitation(page, site, started.log.read_text())
    acknowledged = Acknowledged(page)
    press(page, "1")
    all_saved(page)

    sent: list[Request] = []

    def kill(route: Route) -> None:
        sent.append(route.request)
        route.continue_()
        if len(sent) == 2:
            started.kill()

    page.route(ANSWERS, kill)
    press(page, *"231312")
    expect(page.locator("#badge .sign")).not_to_have_text("✓")
    assert eventually(site.all_gone)
    before = rows_on_disk(site)
    assert acknowledged.saved() <= {(assignment, revision) for assignment, revision, _label in before}
    page.unroute(ANSWERS)
    press(page, "3")  # work goes on while the server is away

    site.up("--sample")
    expect(page.locator("#badge .sign")).to_have_text("✓", timeout=90_000)

    rows = rows_on_disk(site)
    assert [label for *_row, label in rows] == ["1", "0.5", "0", "1", "0", "1", "0.5", "0"]
    assert {(assignment, revision) for assignment, revision, _label in rows} == acknowledged.saved()
    assert len(rows) == len(acknowledged.saved()) == 8


# The network away -------------------------------------------------------------------------------------------------


def test_it_works_through_ten_minutes_without_network(context: BrowserContext, seat_of: SeatOf) -> None:
    """A hundred triples at six seconds each, on the browser's own clock; then everything arrives, with its time."""
    seat = seat_of("triple", units=110)
    page = open_seat(context, seat)
    page.clock.install()
    page.reload()
    alive(page)
    acknowledged = Acknowledged(page)
    assert seat.annotations() == 0
    context.set_offline(True)

    for turn in range(100):
        page.clock.run_for(6_000)
        page.keyboard.press("123"[turn % 3])
    expect(page.locator("#badge")).to_contain_text("offline · 100 waiting")
    expect(page.locator("#notices")).to_contain_text("waiting for the network")
    assert (seat.annotations(), acknowledged.replies) == (0, [])

    context.set_offline(False)
    page.clock.run_for(60_000)
    page.clock.resume()
    expect(page.locator("#badge .sign")).to_have_text("✓", timeout=60_000)

    assert seat.answers() == ["1", "0.5", "0"] * 33 + ["1"] + [""] * 10
    assert stored() == Counter(acknowledged.saved())
    seconds = sorted(row.seconds or 0.0 for row in Annotation.objects.all())
    assert 5.9 < seconds[1] <= seconds[-1] < 8


# Requests twice and in another order ------------------------------------------------------------------------------


def replay(seat: Seat, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The very request again, by another way."""
    client = Client()
    client.force_login(seat.cast.ada, "django.contrib.auth.backends.ModelBackend")
    response = client.post(request["path"], request["body"], content_type="application/json")
    return response.status_code, response.json()


def test_it_keeps_the_correction_where_the_first_answer_arrives_again_after_it(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    acknowledged = Acknowledged(page)
    sent: list[dict[str, Any]] = []
    page.on(
        "request",
        lambda request: (
            sent.append({"path": request.url.removeprefix(seat.address), "body": request.post_data})
            if request.url.endswith("/answers/")
            else None
        ),
    )
    press(page, "1")
    all_saved(page)
    press(page, "u", "3", "Enter")
    all_saved(page)
    assert len(sent) == 2

    first = [replay(seat, sent[0]) for _ in range(3)]
    second = [replay(seat, sent[1]) for _ in range(3)]

    assert {status for status, _body in first + second} == {200}
    number = seat_number(seat.rows[0])
    assert first[0][1]["saved"] == [{"assignment": number, "revision": 1}]
    assert second[0][1]["saved"] == [{"assignment": number, "revision": 2}]
    assert seat.answers() == ["0", "", ""]
    assert stored() == Counter(acknowledged.saved()) == Counter([(number, 1), (number, 2)])


def test_it_refuses_an_older_answer_that_arrives_for_the_first_time_after_a_newer_one(
    context: BrowserContext, seat_of: SeatOf
) -> None:
    """A proxy holds the first request back, the page gives it up and sends again; then the held one arrives."""
    seat = seat_of("triple", units=3)
    page = open_seat(context, seat)
    acknowledged = Acknowledged(page)
    held: list[dict[str, Any]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
            return
        body = route.request.post_data
        held.append({"path": route.request.url.removeprefix(seat.address), "body": body})
        route.abort("timedout")

    page.route(ANSWERS, hold)
    press(page, "2")
    try_again(page)
    all_saved(page)
    press(page, "u", "1", "Enter")
    all_saved(page)

    older = json.loads(held[0]["body"])
    status, body = replay(seat, held[0])
    other_key = json.dumps({**older, "client_key": "00000000-0000-4000-8000-000000000001"})
    stale, refused = replay(seat, {**held[0], "body": other_key})

    assert (status, body["saved"][0]["revision"]) == (200, 1)
    assert (stale, refused["code"]) == (409, "stale")
    assert seat.answers() == ["1", "", ""]
    assert stored() == Counter(acknowledged.saved())


def test_it_answers_a_doubled_request_once(context: BrowserContext, seat_of: SeatOf) -> None:
    """Every save is sent twice at the same time, as a retrying proxy does."""
    seat = seat_of("compound", units=3)
    page = open_seat(context, seat)
    acknowledged = Acknowledged(page)
    doubled: list[int] = []

    def twice(route: Route) -> None:
        doubled.append(route.fetch().status)
        route.continue_()

    page.route(ANSWERS, twice)
    press(page, "2", "a", "Enter", "a", "Enter")
    all_saved(page)

    assert doubled == [200, 200]
    assert seat.answers()[:10] == ["1", "0", "1", "1", "1", *["1"] * 5]
    assert stored() == Counter(acknowledged.saved())
    assert Assignment.objects.filter(expert=seat.cast.ada, revision=1).count() == 10
