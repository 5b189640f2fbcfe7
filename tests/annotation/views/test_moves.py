"""The page for moving open units: shown first, stored by its hash, no more queries for more units."""

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Campaign, Membership
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from tests.factories import make_user
from tests.material import load_rows, new_campaign, triple_campaign, triples
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/moves/"
FOUR = ["ada", "bo", "chen", "dan"]


def manager_of(campaign: Campaign) -> Client:
    mei = make_user("mei")
    add_member(campaign, mei, Membership.Role.MANAGER)
    return client_of(mei)


def asked(campaign: Campaign, giver: str, *takers: str) -> dict[str, object]:
    place = dict(campaign.memberships.values_list("user__username", "pk"))
    return {"giver": place[giver], "takers": [place[name] for name in takers], "n": ""}


def test_it_shows_the_moves_and_stores_them_when_they_are_confirmed(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 8, experts=FOUR)
    client = manager_of(campaign)
    assert "A1: 4 units not begun" in text_of(client.get(PAGE))
    shown = client.post(PAGE, asked(campaign, "ada", "bo", "chen", "dan"))
    assert shown.status_code == 200
    assert "A1 −4 0" in text_of(shown)
    assert not Assignment.objects.filter(withdrawn_at__isnull=False).exists()
    moves = shown.context["moves"]
    done = client.post(PAGE, {**asked(campaign, "ada", "bo", "chen", "dan"), "hash": moves.hash}, follow=True)
    assert "4 units were moved." in text_of(done)
    assert Assignment.objects.filter(withdrawn_at__isnull=False).count() == 4


def test_moves_that_are_out_of_date_are_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 8, experts=FOUR)
    client = manager_of(campaign)
    refused = client.post(PAGE, {**asked(campaign, "ada", "chen"), "hash": "0" * 64})
    assert refused.status_code == 409
    assert "since this was shown" in text_of(refused)
    assert not Assignment.objects.filter(withdrawn_at__isnull=False).exists()


@pytest.mark.parametrize(("takers", "said"), [(("ada",), "cannot take them"), ((), "required")])
def test_it_says_who_cannot_take_them(takers: tuple[str, ...], said: str, tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 8, experts=FOUR)
    refused = manager_of(campaign).post(PAGE, asked(campaign, "ada", *takers))
    assert refused.status_code == 400
    assert said in text_of(refused)


def test_who_takes_them_is_optional_only_where_nobody_has_to(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 8, experts=FOUR)
    page = manager_of(campaign).get(PAGE)
    assert "Who takes them (optional)" not in text_of(page)
    assert "How many units (optional)" in text_of(page)
    assert "moves.js" in page.content.decode()


def test_there_is_nothing_to_choose_where_nothing_is_open(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 8)
    assert "Nobody has units that were not begun." in text_of(manager_of(campaign).get(PAGE))


def test_the_plan_costs_the_same_for_few_and_many_units(tmp_path: Path) -> None:
    counts = []
    for n, slug in ((8, "main"), (80, "large")):
        campaign = triple_campaign(tmp_path, n, experts=FOUR, slug=slug)
        mei = make_user(f"mei-{slug}")
        add_member(campaign, mei, Membership.Role.MANAGER)
        client = client_of(mei)
        with CaptureQueriesContext(connection) as found:
            response = client.post(f"/campaigns/{slug}/moves/", asked(campaign, "ada", "bo", "chen", "dan"))
        assert response.status_code == 200
        counts.append(len(found))
    assert counts[0] == counts[1]


def test_who_alone_has_open_units_is_not_offered_to_take_them(tmp_path: Path) -> None:
    campaign = new_campaign(k=1)
    load_rows(campaign, triples(4), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    client = manager_of(campaign)
    assert "There is nobody else yet." in text_of(client.get(PAGE))

    add_member(campaign, make_user("bo"), Membership.Role.EXPERT)

    page = client.get(PAGE)
    assert [name for _pk, name in page.context["form"].fields["takers"].choices] == ["A2"]
    assert "There is nobody else yet." not in text_of(page)
