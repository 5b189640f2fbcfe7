"""A real browser before a real server; skipped, with a word, where Chromium is absent."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from pytest_django.live_server_helper import LiveServer

from annotation.models import Annotation, Assignment, Design, ImportBatch, Part, User
from tests.factories import Cast, make_assignment, make_batch, make_cast, make_compound, make_triple

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
# Most tests here are about other things than hasty presses: for them none is dropped.
NO_GUARD = """
if (!localStorage.getItem("assay-seat-prefs"))
  localStorage.setItem("assay-seat-prefs", JSON.stringify({guard: 0}));
"""
BETWEEN_PRESSES = 40  # milliseconds: longer than a worn switch bounces
BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"There is no Chromium at {CHROMIUM} (apt-get install chromium).")
    # Playwright runs a loop of its own in this thread; Django would take that for an async view.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Seat:
    """The cast, their work, and the address of the server."""

    address: str
    cast: Cast
    rows: list[Assignment] = field(default_factory=list)

    def url(self, page: str = "judge/") -> str:
        return f"{self.address}/campaigns/{self.cast.campaign.slug}/{page}"

    def answers(self, expert: User | None = None) -> list[str]:
        """What is stored for an expert (Ada), in the order of their screens: labels and causes, "" for open rows."""
        rows = Assignment.objects.filter(expert=expert or self.cast.ada).order_by("position", "row")
        return [row.label or row.cannot_judge for row in rows]

    def annotations(self) -> int:
        return Annotation.objects.count()


@pytest.fixture
def seat_of(live_server: LiveServer, transactional_db: None) -> Callable[..., Seat]:
    """Make the campaign: `seat_of("triple", units=10)`; Ada and Lin both judge all of it."""

    def make(protocol: str, *, units: int, **campaign: Any) -> Seat:
        cast = make_cast(protocol=protocol, k=2)
        for name, value in campaign.items():
            setattr(cast.campaign, name, value)
        cast.campaign.save()
        seat = Seat(live_server.url, cast)
        part, batch = _part(cast)
        for position in range(1, units + 1):
            if protocol == "triple":
                items = [make_triple(cast.campaign, position, batch=batch)]
            else:
                items = make_compound(cast.campaign, position, batch=batch, **COMPOUND)
            for slot, expert in enumerate((cast.ada, cast.lin), start=1):
                for item in items:
                    seat.rows.append(make_assignment(item, expert, slot=slot, part=part))
        return seat

    return make


COMPOUND: dict[str, Any] = {"atoms": [["ADJ", "lazy", 0, 4], ["N", "dog", 5, 8]]}


def _part(cast: Cast) -> tuple[Part, ImportBatch]:
    round_ = cast.campaign.rounds.get()
    design = Design.objects.create(round=round_, name="single", seed=1, hash="0" * 64, plan={})
    return Part.objects.create(round=round_, design=design, index=0), make_batch(cast.campaign)


# `self.skipped` milliseconds pass without being waited for.
SKIP_TIME = """
self.skipped = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + self.skipped;
"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1366, "height": 768})
    made.set_default_timeout(20_000)
    made.add_init_script(NO_GUARD)
    yield made
    made.close()


def sign_in(context: BrowserContext, seat: Seat, user: User) -> None:
    """The session cookie, without the form (which has tests of its own)."""
    client = Client()
    client.force_login(user, backend=BACKEND)
    cookie = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": seat.address}])


def open_seat(context: BrowserContext, seat: Seat, user: User | None = None, page: str = "judge/") -> Page:
    """Ada's (or another's) judging page, alive."""
    sign_in(context, seat, user or seat.cast.ada)
    opened = context.new_page()
    opened.goto(seat.url(page))
    alive(opened)
    return opened


def alive(page: Page) -> None:
    page.wait_for_selector("html[data-seat=ready]", state="attached")


def press(page: Page, *keys: str) -> None:
    """Press keys one after the other."""
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_timeout(BETWEEN_PRESSES)


def skip(page: Page, seconds: int) -> None:
    """Let time pass in a page that was opened with SKIP_TIME."""
    page.evaluate("seconds => { self.skipped += seconds * 1000; }", seconds)


def all_saved(page: Page) -> None:
    expect(page.locator("#badge .sign")).to_have_text("✓")


def try_again(page: Page) -> None:
    """Press the button of that name, unless the page has tried by itself in the meantime."""
    with suppress(PlaywrightTimeout):
        page.get_by_role("button", name="Try again").click(timeout=3000)


def axe(page: Page, **options: Any) -> list[str]:
    """What axe finds, as `rule: where`. The script is big: it is put into a page once."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    options["resultTypes"] = ["violations"]
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]


COLOURS_ONLY = {"runOnly": ["color-contrast"]}


def position(page: Page) -> str | None:
    """Which screen is before the expert."""
    return page.locator("#sheet").get_attribute("data-position")
