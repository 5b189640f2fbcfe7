"""The pages of a spot check: planned, opened, judged, read, decided."""

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.models import Campaign, Design, HandIn, Round
from annotation.services.batches import close_batch
from annotation.services.screens import next_screens
from scoring.forms.spot_checks import NewSpotCheckForm
from tests.annotation.services.test_repeats import answer, expert
from tests.factories import make_user, signed_in
from tests.material import triple_campaign
from tests.pages import body_of, hidden, text_of
from tests.scoring.services.test_spot_checks import check, member, opened, ready

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return ready(tmp_path)


@pytest.fixture
def mei(campaign: Campaign) -> Client:
    return signed_in(expert("mei"))


def form(campaign: Campaign, **more: object) -> dict[str, object]:
    rates = {"acceptable": "5", "rejectable": "30", "alpha": "0.1", "beta": "0.1"}
    chosen = {"checker": member(campaign, "chen"), "parts": ["0", "1"], "error": "contrast", "seed": "5"}
    return {**rates, **chosen, "n": "", **more}


def test_a_plan_is_shown_with_its_cost_and_opened_by_its_hash(campaign: Campaign, mei: Client) -> None:
    address = reverse("spot_check_new", args=["main"])

    page = mei.get(address)
    shown = mei.post(address, form(campaign))
    stored_by_looking = Round.objects.filter(kind="spot_check").exists()
    done = mei.post(address, form(campaign, hash=hidden(shown, "hash")), follow=True)

    assert "Plan a spot check" in text_of(page)
    assert "a whole point apart" in text_of(page)
    assert "verdict" not in text_of(page)
    assert "A compound is one unit" not in text_of(page)
    assert "Nothing is stored yet." in text_of(shown)
    assert "A3 was given none of these units" in text_of(shown)
    assert "Accept with at most 1 error among them" in text_of(shown)
    assert not stored_by_looking
    assert "Spot check 1 is open." in text_of(done)
    assert "items are still to be judged" in text_of(done)
    assert Round.objects.get(kind="spot_check").settings["rule"]["c"] == 1


def test_a_campaign_of_compounds_is_told_of_verdicts_and_not_of_points() -> None:
    shown = str(NewSpotCheckForm(protocol="compound", checkers=[], ready=[]))
    assert "the opposite verdict" in shown
    assert "A compound is one unit" in shown
    assert "whole point" not in shown


@pytest.mark.parametrize("typed", ["0.1", "10 %", "10%", "10\u00a0%", " 10％ "])
def test_a_risk_may_be_written_as_a_share_or_in_per_cent(typed: str, campaign: Campaign, mei: Client) -> None:
    address = reverse("spot_check_new", args=["main"])
    assert text_of(mei.get(address)).count("As a share or in per cent, such as 0.05 or 5 %.") == 2

    shown = mei.post(address, form(campaign, alpha=typed, beta=typed))

    assert "Accept with at most 1 error among them" in text_of(shown)


@pytest.mark.parametrize("typed", ["5", "100 %", "0 %", "nan", "five %", "%"])
def test_what_is_no_risk_is_refused(typed: str, campaign: Campaign, mei: Client) -> None:
    assert mei.post(reverse("spot_check_new", args=["main"]), form(campaign, alpha=typed)).status_code == 400


def test_units_may_be_named_by_hand(campaign: Campaign, mei: Client) -> None:
    shown = mei.post(reverse("spot_check_new", args=["main"]), form(campaign, n="6"))

    assert "Units 6 of 30" in text_of(shown)
    assert "Accept with at most" not in text_of(shown)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"checker": "ada"}, "was given"),
        ({"n": "1"}, "too small"),
        ({"acceptable": "40"}, "acceptable error rate below the rejectable one"),
        ({"parts": []}, "This field is required."),
        ({"parts": ["7"]}, "Select a valid choice"),
        ({"error": "any"}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_is_said_on_the_same_page(
    campaign: Campaign, mei: Client, more: dict[str, object], said: str
) -> None:
    if "checker" in more:
        more = {"checker": member(campaign, str(more["checker"]))}

    page = mei.post(reverse("spot_check_new", args=["main"]), form(campaign, **more))

    assert page.status_code == 400
    assert said in text_of(page)
    assert not Round.objects.filter(kind="spot_check").exists()


def test_an_old_plan_is_refused(campaign: Campaign, mei: Client) -> None:
    page = mei.post(reverse("spot_check_new", args=["main"]), form(campaign, hash="0" * 64))

    assert page.status_code == 409
    assert "changed since this plan was shown" in text_of(page)


def test_nothing_can_be_checked_before_a_part_is_in(tmp_path: Path) -> None:
    made = triple_campaign(tmp_path, 4, experts=["ada", "lin"])
    made.memberships.create(user=make_user("mei"), role="manager", pseudonym="M1")

    page = signed_in(expert("mei")).get(reverse("spot_check_new", args=["main"]))

    assert "Nothing can be checked yet" in text_of(page)


class TestReading:
    def test_nothing_is_told_before_all_is_checked(self, campaign: Campaign, mei: Client) -> None:
        opened(campaign)
        check_some(campaign)

        page = mei.get(reverse("spot_check", args=["main", 1]))
        file = mei.get(reverse("spot_check_file", args=["main", 1, "json"]))

        assert "7 items are still to be judged" in text_of(page)
        assert "Units with an error" not in text_of(page)
        assert file.status_code == 404

    def test_until_all_is_checked_it_offers_to_stop_and_nothing_else(
        self, campaign: Campaign, mei: Client
    ) -> None:
        opened(campaign)
        check_some(campaign)
        decide = reverse("spot_check_decide", args=["main", 1])

        page = body_of(mei.get(reverse("spot_check", args=["main", 1])))
        refused = mei.post(decide, {"decision": "accept", "reason": "Few."})
        mei.post(decide, {"decision": "stopped", "reason": "Chen is ill."})

        assert 'name="decision" value="stopped"' in page
        assert not {'value="accept"', 'value="rework"', 'name="rework"'} & set(page.split())
        assert "Stop the check" in page
        assert refused.status_code == 409
        assert "wait until everything is judged, or stop it" in text_of(refused)
        assert Round.objects.get(kind="spot_check").state == "closed"

    def test_managers_read_it_then_and_viewers_once_it_is_decided(
        self, campaign: Campaign, mei: Client
    ) -> None:
        opened(campaign)
        check(campaign, wrong=2)
        vera = make_user("vera")
        campaign.memberships.create(user=vera, role="viewer", pseudonym="V1")
        address = reverse("spot_check", args=["main", 1])

        first = signed_in(vera).get(address)
        shown = mei.get(address)
        decided = mei.post(
            reverse("spot_check_decide", args=["main", 1]),
            {"decision": "accept", "reason": "Few."},
            follow=True,
        )
        later = signed_in(vera).get(address)
        files = [
            mei.get(reverse("spot_check_file", args=["main", 1, name]))
            for name in ("md", "tex", "csv", "json")
        ]

        assert "Units with an error" not in text_of(first)
        assert "Units with an error 2" in text_of(shown)
        assert "20.00" in text_of(shown)
        assert "Accepted. Few." in text_of(decided)
        assert "Units with an error 2" in text_of(later)
        assert 'name="decision"' not in body_of(later)
        assert [file.status_code for file in files] == [200] * 4

    def test_rework_gives_parts_back(self, campaign: Campaign, mei: Client) -> None:
        opened(campaign)
        check(campaign, wrong=5)

        done = mei.post(
            reverse("spot_check_decide", args=["main", 1]),
            {"decision": "rework", "reason": "Look again.", "rework": ["A1:0", "A2:1"]},
            follow=True,
        )

        assert "Given back to be looked through." in text_of(done)
        assert "A1, part 1" in text_of(done)
        assert HandIn.objects.count() == 2

    def test_the_plan_says_whether_the_work_is_accepted_and_units_are_told_from_judgements(
        self, campaign: Campaign, mei: Client
    ) -> None:
        opened(campaign, rule={"n": 10, "c": 1})
        check(campaign, wrong=2)

        shown = text_of(mei.get(reverse("spot_check", args=["main", 1])))

        assert "Units with an error 2 in 10 units checked · 4 judgements count as errors" in shown
        assert (
            "2 units with an error were found; the plan accepts up to 1: by the plan the work is not" in shown
        )
        assert "What counted as an error 4 judgements" in shown

    def test_parts_of_a_closed_batch_are_not_offered_to_be_given_back(
        self, campaign: Campaign, mei: Client
    ) -> None:
        opened(campaign)
        check(campaign, wrong=5)
        address = reverse("spot_check", args=["main", 1])
        assert 'name="rework" value="A1:0"' in body_of(mei.get(address))
        close_batch(campaign, Design.objects.get(round__kind="main").pk, by=expert("mei"))

        page = mei.get(address)
        sent = {"decision": "rework", "reason": "Look again.", "rework": ["A1:0"]}
        refused = mei.post(reverse("spot_check_decide", args=["main", 1]), sent)

        assert 'name="rework"' not in body_of(page)
        assert 'value="rework"' not in body_of(page)
        assert "Not offered to be given back: parts 1, 2. Their batches are closed" in text_of(page)
        assert refused.status_code == 409
        assert "its answers are frozen" in text_of(refused)

    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            ({}, 400),
            ({"decision": "accept", "reason": ""}, 400),
            ({"decision": "rework", "reason": "Why."}, 409),
            ({"decision": "rework", "reason": "Why.", "rework": ["A9:0"]}, 400),
        ],
    )
    def test_a_decision_that_makes_no_sense_is_refused(
        self, campaign: Campaign, mei: Client, sent: dict[str, object], status: int
    ) -> None:
        opened(campaign)
        check(campaign)

        page = mei.post(reverse("spot_check_decide", args=["main", 1]), sent)

        assert page.status_code == status
        assert Round.objects.get(kind="spot_check").state == "open"
        if sent.get("reason"):
            assert "Why." in text_of(page)

    def test_the_page_takes_the_same_queries_however_much_was_checked(
        self, campaign: Campaign, mei: Client, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        opened(campaign, n=30)
        check(campaign, wrong=9)

        with django_assert_max_num_queries(12):  # of ninety answers
            mei.get(reverse("spot_check", args=["main", 1]))


def check_some(campaign: Campaign) -> None:
    for _number in range(3):
        (screen,) = next_screens(campaign, expert_id=expert("chen").pk)
        answer(campaign, "chen", screen)
