"""How much to judge: by command, page and program, from given and from measured figures."""

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation.models import Annotation, Campaign, Membership, User
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from scoring.services.plans import measured
from tests.factories import make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, run, run_json, triples
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/reports/plan/"
API = "/api/v1/campaigns/main/plan/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def empty(mei: User, protocol: str) -> Campaign:
    campaign = new_campaign(protocol)
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


def test_the_command_says_what_a_width_takes(mei: User) -> None:
    empty(mei, "compound")
    document = run_json("plan", "main", "--goal", "precision", "--width", 5, "--rate", 50, "--seconds", 9)
    assert (document["units"], document["judgements"]) == (381, 1905)
    assert document["hours"] == pytest.approx(1905 * 9 / 3600)
    shown = run("plan", "main", "--goal", "precision", "--width", 5).out
    assert "| units | 381 |" in shown
    by_csv = run("plan", "main", "--goal", "precision", "--width", 5, "--format", "csv").out
    assert ",381," in by_csv


def test_a_spot_check_is_that_of_the_textbook(mei: User) -> None:
    empty(mei, "triple")
    document = run_json("plan", "main", "--goal", "spot-check", "--acceptable", 5, "--rejectable", 15)
    assert (document["n"], document["c"]) == (77, 7)
    ran = run("plan", "main", "--goal", "spot-check", "--acceptable", 15, "--rejectable", 5)
    assert (ran.code, "below the rejectable one" in ran.err) == (1, True)


def test_seeds_may_hide_a_difference(mei: User) -> None:
    empty(mei, "triple")
    arguments = ("--difference", 3, "--spread", 45, "--seed-sd", 2.5, "--runs", 3)
    document = run_json("plan", "main", "--goal", "difference", *arguments)
    assert document["units"] is None
    assert document["reason"].endswith("at least 11 runs are needed")
    assert document["reason"] in run("plan", "main", "--goal", "difference", *arguments).out
    enough = run_json("plan", "main", "--goal", "difference", "--difference", 5, "--spread", 45)
    assert (enough["units"], enough["unit"]) == (636, "triples")


def test_it_takes_what_the_campaign_has_shown(mei: User, tmp_path: Path) -> None:
    campaign = empty(mei, "compound")
    load_rows(campaign, compounds(6), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, lambda row: "0" if row.item.position <= 10 else "1")
    Annotation.objects.update(active_seconds=40.0)

    found = measured(campaign)

    assert found.rates["aggregate"] == pytest.approx(100 / 3)
    assert found.design_effect == pytest.approx(6)  # whole compounds fail: 5, over 5 / 6
    assert found.seconds == 8  # a screen of five rows
    document = run_json("plan", "main", "--goal", "precision")
    assert document["assumed"]["rate"] == pytest.approx(1 / 3)
    assert document["assumed"]["seconds"] == 8


def test_the_page_fills_in_and_shows(mei: User) -> None:
    empty(mei, "triple")
    client = client_of(mei)
    assert client.get(PAGE).status_code == 200
    with CaptureQueriesContext(connection) as found:
        page = client.get(f"{PAGE}?goal=precision&of=share&width=3&rate=22&experts=2&seconds=10")
    assert len(found) < 12
    text = text_of(page)
    assert "731" in text
    assert "4.1" in text
    check = client.get(f"{PAGE}?goal=spot-check&acceptable=5&rejectable=15&alpha=0.05&beta=0.1")
    assert "77" in text_of(check)
    hidden = f"{PAGE}?goal=difference&of=share&difference=3&spread=45&seed_sd=2.5&runs=3&comparisons=1"
    assert "at least 11 runs are needed" in text_of(client.get(hidden))
    assert client.get(f"{PAGE}?goal=precision&of=share&width=70").status_code == 400
    assert client.get(f"{PAGE}?goal=precision&of=share&width=0.1&rate=50").status_code == 200
    assert client.get(f"{PAGE}?goal=nothing").status_code == 404
    for form in ("md", "tex", "csv", "json"):
        file = client.get(f"{PAGE}?goal=precision&of=share&width=3&rate=22&as={form}")
        assert f"main-plan.{form}" in file.headers["Content-Disposition"]


def test_an_auc_is_planned_too(mei: User, tmp_path: Path) -> None:
    campaign = empty(mei, "triple")
    load_rows(campaign, triples(4, label="1"), tmp_path)
    document = run_json("plan", "main", "--goal", "precision", "--of", "auc", "--width", 2, "--rate", 22)
    assert (document["units"], document["unit"]) == (3971, "triples")
    assert run("plan", "main", "--goal", "precision", "--of", "instance").code == 1


def test_programs_ask_as_well(mei: User) -> None:
    empty(mei, "compound")
    programs = APIClient()
    programs.force_authenticate(mei)
    found = programs.get(API, {"goal": "precision", "width": "5", "rate": "50"}).json()
    assert found["units"] == 381
    assert programs.get(API, {"goal": "precision", "of": "auc"}).status_code == 400
    assert programs.get(API).status_code == 400
