"""The manager's page of hidden repeats: look, confirm, take out."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.models import Campaign, Membership, Round
from annotation.services.people import add_member
from annotation.services.repeat_draws import draws_of
from tests.annotation.services.test_repeats import campaign, near, upcoming
from tests.factories import make_user, signed_in
from tests.pages import hidden, text_of

__all__ = ["campaign", "near"]  # fixtures

pytestmark = pytest.mark.django_db

WISH = {"percent": "20", "seed": "3"}


@pytest.fixture
def mei(campaign: Campaign) -> Client:
    user = make_user("mei")
    add_member(campaign, user, Membership.Role.MANAGER)
    return signed_in(user)


def test_a_look_stores_nothing_and_a_confirmation_draws(campaign: Campaign, mei: Client) -> None:
    address = reverse("repeats", args=["main"])

    page = mei.get(address)
    shown = mei.post(address, WISH)
    assert draws_of(campaign) == []
    done = mei.post(address, {**WISH, "after": hidden(shown, "after")}, follow=True)

    assert "Drawn so far" not in text_of(page)
    assert "A1 20 18 20 4 A2 0 0 40 0" in text_of(shown)
    assert "The repeats are drawn" in text_of(done)
    assert "A1 0 / 4" in text_of(done)
    assert len(upcoming(campaign)) == 24


def test_where_nothing_is_open_it_offers_no_plan(campaign: Campaign, mei: Client) -> None:
    address = reverse("repeats", args=["main"])
    assert "Look at the plan" in text_of(mei.get(address))
    campaign.rounds.get(kind="main").assignments.filter(answered_at__isnull=True).update(
        withdrawn_at=timezone.now()
    )
    page = text_of(mei.get(address))
    assert "No repeat can be drawn now" in page
    assert "Look at the plan" not in page


def test_the_second_of_two_confirmations_is_refused(campaign: Campaign, mei: Client) -> None:
    address = reverse("repeats", args=["main"])
    after = hidden(mei.post(address, WISH), "after")
    mei.post(address, {**WISH, "after": after})

    again = mei.post(address, {**WISH, "after": after})

    assert again.status_code == 409
    assert "Repeats were drawn since this was shown" in text_of(again)
    assert hidden(again, "percent") == "20"  # what was typed is kept
    assert Round.objects.filter(kind="repeat").count() == 1


@pytest.mark.parametrize(
    "wish",
    [{}, {"percent": "0", "seed": "3"}, {"percent": "200", "seed": "3"}, {"percent": "5", "seed": "x"}],
)
def test_it_refuses_what_is_no_share(campaign: Campaign, mei: Client, wish: dict[str, str]) -> None:
    page = mei.post(reverse("repeats", args=["main"]), wish)

    assert page.status_code == 400
    assert draws_of(campaign) == []


def test_what_is_not_judged_can_be_taken_out(campaign: Campaign, mei: Client) -> None:
    address = reverse("repeats", args=["main"])
    mei.post(address, {**WISH, "after": "0"})

    done = mei.post(reverse("repeats_take_out", args=["main", 2]), follow=True)

    assert "4 repeats are taken out." in text_of(done)
    assert len(upcoming(campaign)) == 20


def test_a_look_takes_the_same_queries_however_much_there_is(
    campaign: Campaign, mei: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    address = reverse("repeats", args=["main"])
    mei.post(address, {**WISH, "after": "0"})

    mei.post(address, {"percent": "20", "seed": "4", "after": "2"})

    with django_assert_max_num_queries(7):
        page = mei.get(address)
    assert text_of(page).count("A1 0 /") == 2


def test_moving_everything_shows_the_repeats_that_end_with_it(campaign: Campaign, mei: Client) -> None:
    drawn = {**WISH, "after": "0"}
    mei.post(reverse("repeats", args=["main"]), drawn)
    address = reverse("moves", args=["main"])
    add_member(campaign, make_user("bo"), "expert")
    place = dict(campaign.memberships.values_list("user__username", "pk"))
    asked = {"giver": place["ada"], "takers": [place["bo"]], "n": ""}
    shown = mei.post(address, asked)
    n = shown.context["moves"].repeats
    assert f"{n} hidden repeats of this expert are withdrawn" in text_of(shown)
    done = mei.post(address, {**asked, "hash": shown.context["moves"].hash}, follow=True)
    assert f"{n} hidden repeats were withdrawn." in text_of(done)


def test_who_has_nothing_but_repeats_can_leave_without_anybody_who_takes_them(
    campaign: Campaign, mei: Client
) -> None:
    mei.post(reverse("repeats", args=["main"]), {**WISH, "after": "0"})
    campaign.rounds.get(kind="main").assignments.filter(answered_at__isnull=True).update(
        withdrawn_at=timezone.now()
    )
    address = reverse("moves", args=["main"])
    assert "hidden repeats only" in text_of(mei.get(address))
    ada = campaign.memberships.get(user__username="ada").pk
    shown = mei.post(address, {"giver": ada, "n": ""})
    assert "Withdraw the repeats" in text_of(shown)
    mei.post(address, {"giver": ada, "n": "", "hash": shown.context["moves"].hash})
    assert not campaign.rounds.get(kind="repeat").assignments.filter(withdrawn_at__isnull=True).exists()
