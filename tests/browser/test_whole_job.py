"""The whole job as people do it: a manager imports and assigns, two experts judge by keyboard alone and hand in, the
worker computes, a program downloads the final labels."""

import csv
import io
import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Assignment, Campaign, FinalLabel
from annotation.services.campaigns import create_campaign
from tests.browser.conftest import NO_GUARD, alive, all_saved, press
from tests.conftest import StartManage, eventually
from tests.factories import PASSWORD, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TRIPLES = """triple_id,head,relation,tail
t1,PersonX adds 40 and 2,xEffect,42
t2,PersonX spills coffee,xWant,to wipe the table
t3,PersonX spills coffee,xReact,proud of <unk>
"""
COMPOUND = "item_id,compound,type,context_no,source,translation\n" + "".join(
    f"c{n},the lazy dog,NP,{n},the lazy dog slept {n} times .,懒狗睡了{n}次。\n" for n in range(1, 6)
)


def new_context(browser: Browser) -> BrowserContext:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(15000)
    context.add_init_script(NO_GUARD)
    return context


def sign_in(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}/sign-in/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", PASSWORD)
    page.click("main button.primary")
    page.wait_for_url(f"{address}/")


def make_campaign_by_page(page: Page, address: str, slug: str, protocol: str, file: Path) -> dict[str, str]:
    """Create, import, assign; the invitation links by name."""
    page.goto(f"{address}/campaigns/new/")
    page.fill("[name=title]", slug)
    page.fill("[name=slug]", slug)
    page.check(f"[name=protocol][value={protocol}]")
    page.fill("[name=annotators_per_item]", "2")
    page.click("main button.primary")
    page.wait_for_url(f"{address}/campaigns/{slug}/**")

    page.goto(f"{address}/campaigns/{slug}/import/")
    page.set_input_files("form:has([name=kind][value=items]) [type=file]", file)
    page.click("form:has([name=kind][value=items]) button.primary")
    page.click("form[action$='/confirm/'] button.primary")
    expect(page.locator("h1")).to_have_text("Stored")

    page.goto(f"{address}/campaigns/{slug}/assign/")
    page.fill("[name=names]", "ada, lin")
    page.click("main form button.primary")
    assert Assignment.objects.filter(round__campaign__slug=slug).count() == 0  # a plan stores nothing
    page.click("button[name=hash]")
    links = page.locator("input[id$='-link']").evaluate_all("inputs => inputs.map(input => input.value)")
    return dict(zip(["ada", "lin"], links, strict=True)) if links else {}


def join(page: Page, link: str) -> None:
    """Take up the invitation; confirm what is recorded, if asked."""
    page.goto(link)
    for field in page.locator("[type=password]").all():
        field.fill(PASSWORD)
    page.click("main button.primary")
    page.wait_for_url(re.compile(r"^(?!.*invitation).*$"))


def open_seat(page: Page, address: str, slug: str) -> None:
    page.goto(f"{address}/campaigns/{slug}/judge/")
    if "/recorded/" in page.url:
        page.click("main form button.primary")
        page.wait_for_url("**/judge/**")
    alive(page)


def hand_in(page: Page, address: str, slug: str, name: str) -> None:
    """Every part of this expert."""
    mine = Assignment.objects.filter(round__campaign__slug=slug, expert__username=name)
    parts = set(mine.values_list("part__index", flat=True))
    assert parts
    for index in parts:
        page.goto(f"{address}/campaigns/{slug}/parts/{index}/hand-in/")
        page.focus("#hand-in button.primary")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_contain_text("handed in")


def labels_over_rest(address: str, slug: str, token: str) -> list[dict[str, str]]:
    request = urllib.request.Request(
        f"{address}/api/v1/campaigns/{slug}/labels/?format=csv", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
        return list(csv.DictReader(io.StringIO(response.read().decode())))


def test_it_goes_from_files_to_final_labels(
    browser: Browser,
    live_server: LiveServer,
    live_database_url: str,
    start_manage: StartManage,
    settings: Any,
    tmp_path: Path,
) -> None:
    address = settings.ASSAY_URL = live_server.url
    mei = make_user("mei", password=PASSWORD)
    create_campaign(slug="first", protocol="triple", by=mei)  # who runs a campaign may open another
    (tmp_path / "triples.csv").write_text(TRIPLES, encoding="utf-8")
    (tmp_path / "compounds.csv").write_text(COMPOUND, encoding="utf-8")
    start_manage("worker", DATABASE_URL=live_database_url, REDIS_URL=None)

    manager = new_context(browser).new_page()
    sign_in(manager, address, "mei")
    links = make_campaign_by_page(manager, address, "tri", "triple", tmp_path / "triples.csv")
    make_campaign_by_page(manager, address, "com", "compound", tmp_path / "compounds.csv")

    for name, keys in (("ada", ["1", "2", "3"]), ("lin", ["1", "1", "3"])):
        page = new_context(browser).new_page()
        join(page, links[name])

        open_seat(page, address, "tri")
        for key in keys:
            press(page, key)
        all_saved(page)
        hand_in(page, address, "tri", name)

        open_seat(page, address, "com")
        press(page, "1", "a", "Enter")  # the first row wrong, the rest correct, save
        all_saved(page)
        hand_in(page, address, "com", name)
        page.context.close()

    slugs = ("tri", "com")
    assert eventually(lambda: all(Campaign.objects.get(slug=slug).label_version for slug in slugs), within=60)
    assert eventually(lambda: FinalLabel.objects.exclude(reason="incomplete").count() == 8, within=60)

    manager.goto(f"{address}/account/")
    manager.fill("[name=name]", "test")
    manager.click("form[action$='/tokens/'] button")
    token = manager.input_value("#new-token")

    triples = labels_over_rest(address, "tri", token)
    assert {row["triple_id"] for row in triples} == {"t1", "t2", "t3"}
    scores = {
        item: sorted(
            Assignment.objects.filter(round__campaign__slug="tri", item__key=item).values_list(
                "label", flat=True
            )
        )
        for item in ("t1", "t2", "t3")
    }
    for row in triples:
        assert row["label"] == ("1" if scores[row["triple_id"]] in (["1", "1"], ["0.5", "1"]) else "0")
    # Each expert called one context wrong: where both meant the same, it is labelled so; else it is a tie.
    compounds = labels_over_rest(address, "com", token)
    assert {row["label"] for row in compounds} <= {"0", "1"}
    assert len(compounds) == FinalLabel.objects.filter(item__campaign__slug="com").exclude(label="").count()

    manager.goto(f"{address}/campaigns/com/reports/error-rates/")
    expect(manager.locator("h1")).to_have_text("Error rates")
    request = urllib.request.Request(
        f"{address}/api/v1/campaigns/com/reports/error-rates/", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        document = json.load(response)
    assert document["n_items"] == 5
    assert document["instance"]["n"] == len(compounds)
