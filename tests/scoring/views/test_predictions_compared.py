"""The page that compares submitted systems, and the one with the triples behind a difference."""

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation.models import Campaign, Membership, User
from annotation.services.labels import finalize
from annotation.services.people import add_member
from scoring.services.boards import set_board
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from tests.factories import make_user
from tests.material import load_rows, new_campaign, triples
from tests.pages import body_of, client_of, text_of
from tests.scoring.kept import computed
from tests.scoring.services.test_comparing_predictions import N, labelled, labels, predicted, send

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/reports/comparison/"
TRIPLES = f"{PAGE}triples/"
BOTH = "?a=right&b=wrong"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """One system is right about everything, one about everything but every tenth triple."""
    made = labelled(tmp_path)
    right = [float(label) for label in labels()]
    send(made, right, "right")
    send(made, [1 - score if place % 10 == 0 else score for place, score in enumerate(right)], "wrong")
    for name, role in (("mei", Membership.Role.MANAGER), ("vera", Membership.Role.VIEWER)):
        add_member(made, make_user(name), role)
    return made


def visitor(name: str) -> Client:
    return client_of(User.objects.get(username=name))


def test_it_shows_systems_differences_and_two_runs(campaign: Campaign) -> None:
    page = computed(visitor("mei"), f"{PAGE}{BOTH}")
    text, body = text_of(page), body_of(page)

    for words in (
        "Systems",
        "Differences",
        "Two runs side by side",
        "right and wrong call 5 triples differently.",
    ):
        assert words in text
    assert "n = 48" in text
    assert "Signature: compare-predictions|" in text
    assert f'{TRIPLES}?split=test&amp;a=right&amp;b=wrong"' in body
    assert "figure.svg" not in body


def test_it_lists_the_triples_that_two_runs_call_differently(campaign: Campaign) -> None:
    page = visitor("vera").get(f"{TRIPLES}{BOTH}")
    text, body = text_of(page), body_of(page)

    assert [place for place in range(1, N + 1) if f"first={place}&amp;last={place}" in body] == [
        1,
        11,
        21,
        31,
        41,
    ]
    assert "PersonX writes letter 11" in text
    assert "right (0)" in text
    assert "wrong (5)" in text
    assert "plausible" in text
    assert "No item is like this." in text_of(visitor("vera").get(f"{TRIPLES}{BOTH}&wrong=a"))
    adversarial = body_of(visitor("vera").get(f"{TRIPLES}{BOTH}&group=ID"))
    assert [place for place in range(1, N + 1) if f"first={place}&amp;" in adversarial] == [1, 21, 41]


def test_triples_stand_fifty_a_page(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoring.views.differing.AT_ONCE", 3)
    second = visitor("mei").get(f"{TRIPLES}{BOTH}&wrong=b&page=2")
    assert "Page 2 of 2" in text_of(second)
    assert "a=right&amp;b=wrong&amp;group=all&amp;wrong=b&amp;page=1#triples" in body_of(second)


def test_a_submitter_never_sees_it(campaign: Campaign) -> None:
    """c51: a submitter sees no label; neither does an expert."""
    set_board(campaign, audience="accounts", quota=5, by=None)
    add_member(campaign, make_user("ada"), Membership.Role.EXPERT)
    otto = make_user("otto")
    send(campaign, predicted(0.1, 1), "ottos", by=otto)
    programs = APIClient()
    for name in ("otto", "ada"):
        for address in (f"{PAGE}{BOTH}", f"{TRIPLES}{BOTH}", "/campaigns/main/reports/comparison.csv"):
            assert visitor(name).get(address).status_code == 404
        programs.force_authenticate(User.objects.get(username=name))
        assert programs.get("/api/v1/campaigns/main/reports/comparison/").status_code == 404
    board = visitor("otto").get("/campaigns/main/submissions/")
    assert board.status_code == 200
    assert "reports/comparison" not in body_of(board)


def test_the_board_and_the_reports_lead_to_it(campaign: Campaign) -> None:
    freeze(campaign, "v1", wish=SplitWish(), by=None)
    send(campaign, predicted(0.1, 1), "right", release=campaign.releases.get())

    assert f'href="{PAGE}"' in body_of(visitor("vera").get("/campaigns/main/reports/"))
    board = body_of(visitor("vera").get("/campaigns/main/submissions/?release=v1&split=test"))
    assert f'href="{PAGE}?split=test&amp;release=v1"' in board
    page = text_of(computed(visitor("vera"), f"{PAGE}?split=test&release=v1"))
    assert "There is one system here, so there is nothing to compare it with." in page


def test_labels_are_chosen_where_there_are_two_kinds(campaign: Campaign) -> None:
    finalize(campaign)
    page = computed(visitor("mei"), f"{PAGE}?labels=imported")
    assert "Labels: those that were imported with the items." in text_of(page)
    assert 'name="labels" value="imported"' in body_of(page)
    assert "No triple that all runs score has a label" in text_of(computed(visitor("mei"), PAGE))


def test_files_and_programs_get_the_same(campaign: Campaign) -> None:
    computed(visitor("mei"), f"{PAGE}{BOTH}")
    for form in ("md", "tex", "csv", "json"):
        assert visitor("mei").get(f"/campaigns/main/reports/comparison.{form}{BOTH}").status_code == 200
    programs = APIClient()
    programs.force_authenticate(User.objects.get(username="vera"))
    address = "/api/v1/campaigns/main/reports/comparison/"
    found = programs.get(address, {"split": "test", "among": ["right", "wrong"]}).json()
    assert [one["item"] for one in found["differing"]["triples"]] == [1, 11, 21, 31, 41]
    assert programs.get(address, {"split": "dev"}).status_code == 400
    assert programs.get(address, {"release": "v9"}).status_code == 400
    assert programs.get(f"{address}?format=svg").status_code == 400


def test_without_submissions_it_says_what_to_do(tmp_path: Path) -> None:
    made = new_campaign()
    load_rows(made, triples(3, label="1"), tmp_path)
    add_member(made, make_user("mei"), Membership.Role.MANAGER)
    assert "No system has sent in predictions yet" in text_of(visitor("mei").get(PAGE))
    assert visitor("mei").get(TRIPLES).status_code == 409


def test_of_compounds_there_is_no_such_list(tmp_path: Path) -> None:
    made = new_campaign("compound")
    add_member(made, make_user("mei"), Membership.Role.MANAGER)
    assert visitor("mei").get(TRIPLES).status_code == 404


def test_its_queries_are_few(campaign: Campaign) -> None:
    client = visitor("mei")
    computed(client, f"{PAGE}{BOTH}")
    for address, most in ((f"{PAGE}{BOTH}", 12), (f"{TRIPLES}{BOTH}", 11)):
        with CaptureQueriesContext(connection) as found:
            client.get(address)
        assert len(found) <= most
