"""The page that compares systems."""

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation.models import Campaign, Membership, User
from annotation.services.people import add_member
from tests.factories import make_user
from tests.pages import body_of, client_of, text_of
from tests.scoring.kept import computed, run_waiting
from tests.scoring.services.test_comparing import judged, same_so_far

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/reports/comparison"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def two_systems(mei: User, folder: Path) -> Campaign:
    campaign = judged(folder, ("base", ""), ("big", ""))
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


def test_it_shows_differences_and_the_instances_behind_them(mei: User, tmp_path: Path) -> None:
    two_systems(mei, tmp_path)
    client = client_of(mei)
    page = computed(client, f"{PAGE}/?a=base&b=big")
    text, body = text_of(page), body_of(page)
    assert "8 instances on which base and big differ" in text
    assert "译错0base" in text
    assert "?first=1&amp;last=1" in body
    assert 'class="num heat-1">20' in body
    assert "BLEU and chrF too" in text
    assert "Signature: nrefs" not in text
    assert "chrF" in text_of(computed(client, f"{PAGE}/?texts=yes"))


def test_it_says_of_how_many_labels_its_figures_are(mei: User, tmp_path: Path) -> None:
    add_member(same_so_far(tmp_path), mei, Membership.Role.MANAGER)
    page = computed(client_of(mei), f"{PAGE}/")
    assert "Labelled Undecided" in text_of(page)
    assert re.search(r"big \S+ error rate 1 20 20 20\.00", text_of(page))
    assert text_of(page).count("one run says nothing about the spread over runs") == 4 + 1
    assert (
        body_of(page).count('<p class="small muted">–: All instances that both have labels for are the same')
        == 2
    )


def test_a_page_holds_fifty_instances(mei: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_systems(mei, tmp_path)
    monkeypatch.setattr("scoring.views.reports.AT_ONCE", 5)
    client = client_of(mei)
    assert body_of(computed(client, f"{PAGE}/?a=base&b=big")).count("译错") == 5
    second = client.get(f"{PAGE}/?a=base&b=big&page=2")
    assert body_of(second).count("译错") == 3
    assert "Page 2 of 2" in text_of(second)


def test_it_says_that_figures_are_being_computed_until_they_are_there(mei: User, tmp_path: Path) -> None:
    two_systems(mei, tmp_path)
    client = client_of(mei)
    assert "Not computed yet" in text_of(client.get(f"{PAGE}/"))
    client.post(f"{PAGE}/")
    asked = text_of(client.get(f"{PAGE}/"))
    assert "Being computed" in asked
    assert "Not computed yet" not in asked
    run_waiting()
    assert "Being computed" not in text_of(client.get(f"{PAGE}/"))


def test_it_speaks_plainly_where_there_is_one_system(mei: User, tmp_path: Path) -> None:
    add_member(judged(tmp_path, ("base", "")), mei, Membership.Role.MANAGER)
    assert "There is one system here" in text_of(computed(client_of(mei), f"{PAGE}/"))


def test_two_runs_of_one_system_stand_side_by_side(mei: User, tmp_path: Path) -> None:
    add_member(judged(tmp_path, ("base", "1"), ("base", "2")), mei, Membership.Role.MANAGER)
    text = text_of(computed(client_of(mei), f"{PAGE}/"))
    assert "its 2 runs can be, two at a time" in text
    assert "nothing to compare it with" not in text
    assert "Instance error rate base / 1 – base / 2 8 20.00 0.00 +20.00" in text
    assert "p after Holm is held over all rows of this table." in text


def test_it_gives_files_and_an_address_for_programs(mei: User, tmp_path: Path) -> None:
    two_systems(mei, tmp_path)
    client = client_of(mei)
    not_yet = client.get(f"{PAGE}.md?a=base&b=big")
    assert (not_yet.status_code, "have not been computed yet" in text_of(not_yet)) == (409, True)
    computed(client, f"{PAGE}/?a=base&b=big")
    for form in ("md", "tex", "csv", "json"):
        assert client.get(f"{PAGE}.{form}?a=base&b=big").status_code == 200
    programs = APIClient()
    programs.force_authenticate(mei)
    address = "/api/v1/campaigns/main/reports/comparison/"
    assert len(programs.get(address).json()["differing"]["instances"]) == 8
    assert programs.get(address, {"texts": "yes"}).json()["texts"]["bleu"]["units"] == 8
    assert programs.get(address, {"a": "none"}).status_code == 400


def test_its_queries_are_few(mei: User, tmp_path: Path) -> None:
    two_systems(mei, tmp_path)
    client = client_of(mei)
    client.get(f"{PAGE}/")
    with CaptureQueriesContext(connection) as found:
        client.get(f"{PAGE}/")
    assert len(found) <= 8
