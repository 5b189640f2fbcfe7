"""Every page there is, in each language: axe finds nothing in light or dark, nothing is cut off at 320 px or 200 %.

The pages are the routes of the permission table, so a new one is looked at without being named here.
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize
from pytest_django.live_server_helper import LiveServer

from annotation.models import Assignment, Surplus, User
from annotation.services import questions
from annotation.services.labels import finalize
from tests.browser.conftest import COLOURS_ONLY, Seat, axe, sign_in
from tests.factories import Cast, answer, make_assignment, make_cast, make_compound, make_part, make_triple
from tests.test_permissions import ANONYMOUS, EXPERT, MANAGER, ROUTES, Route, needs_slug

pytestmark = pytest.mark.browser

# These answer with something else than a page of the site.
FILES = {
    *("audit_export", "hours_export", "own_data_file"),
    *("healthz", "offline_worker", "export", "report_file", "job_state", "import_findings", "wording_file"),
    *("submission_items", "submission_file", "board_file", "release_file"),
    *("gold_file", "evaluation_set_file", "export_in_shape"),
    *("accuracies_file", "benchmark_file", "benchmark_questions"),
}
OF_TRIPLES = {"differing_triples", "evaluation_set_preview"}
OF_COMPOUNDS = ("compound_set",)  # the permission table's campaign has none
NARROW: ViewportSize = {"width": 320, "height": 640}
ZOOMED: ViewportSize = {"width": 683, "height": 384}  # 1366 × 768 at 200 %


def pages(role: str) -> Iterator[tuple[str, Route]]:
    """The routes whose page this role may see; a page of several roles is looked at once, as the first of them."""
    for name, route in ROUTES.items():
        if name in FILES or name.startswith("api_"):
            continue
        seen_by = [one for one in (ANONYMOUS, EXPERT, MANAGER) if route.expected(one, "get") == 200]
        if seen_by and seen_by[0] == role:
            yield name, route


def judged_campaign(protocol: str) -> Cast:
    """Two experts' answers that agree, differ and say nothing, labels, questions, and an answer that came late."""
    cast = make_cast(protocol=protocol, k=2)
    part = make_part(cast.campaign.rounds.get(), index=3)
    given = {11: ("1", "1"), 12: ("1", "0")}
    for position in range(11, 15):
        items = (
            make_compound(cast.campaign, position)
            if protocol == "compound"
            else [make_triple(cast.campaign, position)]
        )
        for item in items:
            for slot, expert in enumerate((cast.ada, cast.lin), start=1):
                row = make_assignment(item, expert, slot=slot, part=part)
                if position in given:
                    answer(row, given[position][slot - 1])
    finalize(cast.campaign)
    for text in ("Which dog?", "\u05e9\u05dc\u05d5\u05dd?"):
        row = Assignment.objects.filter(expert=cast.ada)[0]
        asked = questions.ask(cast.campaign, cast.ada, screen_id=row.pk, text=text, client_key=uuid4())
    questions.answer(cast.campaign, pk=asked.pk, text="The nearest one.", by=cast.mei)
    kept = {"label": "1", "cannot_judge": "", "problem": "", "detail": "", "note": "late", "unsure": True}
    Surplus.objects.create(assignment=row, client_key=uuid4(), answer=kept)
    return cast


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Axe is put into the page, which the content policy would forbid; no colour is caught half-faded."""
    made = browser.new_context(bypass_csp=True, reduced_motion="reduce")
    yield made
    made.close()


def is_cut_off(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def lost_rows(page: Page) -> list[str]:
    """Tables that scroll although their cells stand below one another, or without a head that stays beside its row."""
    return list(
        page.evaluate(
            """() => [...document.querySelectorAll(".table-wrap")].filter((wrap) => {
              if (wrap.scrollWidth <= wrap.clientWidth + 1) return false;
              const head = wrap.querySelector("tbody th");
              return wrap.querySelector(".stacked") || !head || getComputedStyle(head).position !== "sticky";
            }).map((wrap) => "a table scrolls: " + wrap.textContent.trim().slice(0, 60))"""
        )
    )


def is_open_tab_in_sight(page: Page) -> bool:
    """Or there is none."""
    return bool(
        page.evaluate(
            """async () => {
              await new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)));
              const tab = document.querySelector(".tabs [aria-current]")?.getBoundingClientRect();
              return !tab || (tab.left >= 0 && tab.right <= innerWidth);
            }"""
        )
    )


@pytest.mark.parametrize(
    ("role", "protocol", "language"),
    [
        (ANONYMOUS, "triple", "en"),
        (ANONYMOUS, "triple", "zh-hans"),
        # Pages differ little by protocol; the judging screens have tests of their own (test_seat_access.py).
        (EXPERT, "compound", "en"),
        (EXPERT, "triple", "zh-hans"),
        (MANAGER, "compound", "en"),
        (MANAGER, "triple", "zh-hans"),
    ],
)
def test_it_shuts_nobody_out(
    role: str,
    protocol: str,
    language: str,
    context: BrowserContext,
    live_server: LiveServer,
    transactional_db: None,
) -> None:
    cast = judged_campaign(protocol)
    seat = Seat(live_server.url, cast)
    reader: dict[str, User] = {EXPERT: cast.ada, MANAGER: cast.mei}
    context.add_cookies([{"name": "django_language", "value": language, "url": seat.address}])
    if role in reader:
        sign_in(context, seat, reader[role])
    page = context.new_page()
    made: dict[Callable[[Cast], dict[str, Any]], dict[str, Any]] = {}

    found: dict[tuple[str, str], list[str]] = {}
    for name, route in pages(role):
        if protocol == "compound" and name in OF_TRIPLES:
            continue
        if route.with_ not in made:
            made[route.with_] = route.with_(cast)
        place = {"slug": cast.campaign.slug} if needs_slug(name) else {}
        address = seat.address + reverse(name, kwargs={**place, **made[route.with_]})
        found |= {(name, how): faults for how, faults in look_at(page, address, status=200).items()}
    for name in OF_COMPOUNDS if (role, protocol) == (MANAGER, "compound") else ():
        address = seat.address + reverse(name, args=[cast.campaign.slug])
        found |= {(name, how): faults for how, faults in look_at(page, address, status=200).items()}
    found |= {("nowhere", how): faults for how, faults in look_at(page, f"{seat.address}/no/", 404).items()}

    assert len(found) > 10
    assert {place: faults for place, faults in found.items() if faults} == {}


def look_at(page: Page, address: str, status: int) -> dict[str, list[str]]:
    """What is wrong with one page, by the way it was looked at."""
    page.set_viewport_size({"width": 1366, "height": 768})
    page.emulate_media(color_scheme="light")
    response = page.goto(address)
    assert response is not None
    assert response.status == status, address
    seen = {"light": axe(page)}
    page.emulate_media(color_scheme="dark")
    seen["dark"] = axe(page, **COLOURS_ONLY)
    for how, size in (("320 px", NARROW), ("200 %", ZOOMED)):
        page.set_viewport_size(size)
        seen[how] = ["the page scrolls sideways"] if is_cut_off(page) else []
        seen[how] += lost_rows(page) if size is NARROW else []
        seen[how] += [] if is_open_tab_in_sight(page) else ["the open tab is out of sight"]
    return seen
