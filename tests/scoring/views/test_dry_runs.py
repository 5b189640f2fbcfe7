"""The pages of dry runs: planned and confirmed, watched without any answer, closed, decided, and the way on."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Campaign, Item, Membership, Round, User
from annotation.services.access import create_token
from annotation.services.dry_runs import Decision, Source, decision_of, open_dry_run
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from scoring.services.gates import close_and_decide, gate
from tests.factories import make_user
from tests.material import compounds, load_rows, new_campaign, run, save, sheet, triples
from tests.pages import body_of, client_of, hidden, text_of

pytestmark = pytest.mark.django_db

ROUNDS = "/campaigns/main/rounds/"
NEW = f"{ROUNDS}dry-run/new/"
ONE = f"{ROUNDS}dry-run/1/"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Mei's campaign of 40 triples; Ada and Lin are experts with passwords, Vera looks on."""
    made = new_campaign()
    for name, role in (("mei", "manager"), ("ada", "expert"), ("lin", "expert"), ("vera", "viewer")):
        add_member(made, make_user(name, password="seven green rivers"), role)
    load_rows(made, triples(40), tmp_path)
    return made


@pytest.fixture
def mei(campaign: Campaign) -> Client:
    return client_of(User.objects.get(username="mei"))


def asked(**more: Any) -> dict[str, Any]:
    members = Membership.objects.filter(role="expert").order_by("pk").values_list("pk", flat=True)
    return {
        "members": [str(pk) for pk in members], "names": "", "n": "12", "source": "set_aside", "threshold": "",
        "coefficient": "alpha_ordinal", "bound": "value", "due_on": "", "seed": "7", **more,
    }  # fmt: skip


def opened(campaign: Campaign, **more: Any) -> Round:
    return open_dry_run(campaign, experts=["ada", "lin"], **{"n": 12, **more}, by=None)


def judged(round_: Round, second: str = "1", *, only: str = "") -> None:
    """Ada says 1 to everything, Lin says `second`."""
    for row in round_.assignments.select_related("expert"):
        if only in ("", row.expert.username):
            save(sheet([row], "1" if row.slot == 1 else second), row.expert_id)


# Opening


def test_a_manager_sees_the_plan_and_confirms_it(mei: Client, campaign: Campaign) -> None:
    shown = mei.post(NEW, asked(threshold="0.6", bound="lower", due_on="2026-12-14"))
    assert shown.status_code == 200
    said = text_of(shown)
    assert "12 of 40 that nobody was given yet, drawn by the seed 7" in said
    assert "Krippendorff's α, ordinal: the lower end of the 95 % interval reaches 0.6000" in said
    assert "Judgements 24" in said
    assert not Round.objects.filter(kind=Round.Kind.DRY_RUN).exists()
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', body_of(shown))
    again: dict[str, list[str]] = {}
    for name, value in fields:
        again.setdefault(name, []).append(value)
    done = mei.post(NEW, {**again, "hash": hidden(shown, "hash")}, follow=True)
    assert done.redirect_chain == [(ONE, 302)]
    assert "Dry run 1 is open." in text_of(done)
    round_ = Round.objects.get(kind=Round.Kind.DRY_RUN)
    assert round_.settings["gate"] == {"coefficient": "alpha_ordinal", "threshold": 0.6, "bound": "lower"}
    assert (str(round_.due_on), round_.assignments.count()) == ("2026-12-14", 24)


def test_new_experts_get_their_links(mei: Client, campaign: Campaign) -> None:
    data = asked(names="bo, chen")
    shown = mei.post(NEW, data)
    done = mei.post(NEW, {**data, "hash": hidden(shown, "hash")})
    assert body_of(done).count("/invitation/") >= 2
    assert Round.objects.get(kind=Round.Kind.DRY_RUN).k == 4


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"n": "41"}, "A sample of 41 cannot be drawn from 40 units: ask for 10 to 40."),
        ({"n": "0"}, "greater than or equal to 1"),
        ({"members": [], "names": "bo"}, "name at least two experts"),
        ({"threshold": "2"}, "less than or equal to 1"),
        ({"due_on": "yesterday"}, "Enter a valid date"),
        ({"members": [], "names": ""}, "Say who judges"),
    ],
)
def test_a_refused_form_keeps_what_was_typed(
    mei: Client, campaign: Campaign, more: dict[str, Any], said: str
) -> None:
    response = mei.post(NEW, asked(**{"seed": "99", **more}))
    assert response.status_code == 400
    assert said in text_of(response)
    assert 'value="99"' in body_of(response)


def test_a_plan_that_changed_meanwhile_is_shown_again(mei: Client, campaign: Campaign) -> None:
    response = mei.post(NEW, {**asked(), "hash": "0" * 64})
    assert response.status_code == 409
    assert "The campaign changed since this plan was shown" in text_of(response)
    assert not Round.objects.filter(kind=Round.Kind.DRY_RUN).exists()


# While it is open


def test_while_it_is_open_the_page_tells_how_far_it_is_and_nothing_of_any_answer(
    mei: Client, campaign: Campaign
) -> None:
    judged(opened(campaign), "0", only="ada")
    page = text_of(mei.get(ONE))
    assert "A1 12 / 12" in page
    assert "A2 0 / 12" in page
    assert "always" not in page.lower()
    assert "Disagreement" not in page
    assert "Reminders: Dry run 1" in page
    refused = mei.post(f"{ONE}close/")
    assert refused.status_code == 409
    assert "12 answers are still missing (A2)" in text_of(refused)


def test_it_is_taken_back(mei: Client, campaign: Campaign) -> None:
    opened(campaign)
    assert "Take it back…" in text_of(mei.get(ONE))
    done = mei.post(f"{ONE}take-back/", follow=True)
    assert done.redirect_chain == [(ROUNDS, 302)]
    assert "taken back" in text_of(done)
    assert Item.objects.active().count() == 40
    assert "Its units stand as they stood." in text_of(mei.get(ONE))


def test_a_viewer_looks_on_and_finds_nothing_to_press(mei: Client, campaign: Campaign) -> None:
    round_ = opened(campaign, gate=gate("raw", 0.9))
    vera = client_of(User.objects.get(username="vera"))
    assert '<form method="post" action="/campaigns' not in body_of(vera.get(ONE))
    judged(round_, "0")
    close_and_decide(round_, by=None)
    page = vera.get(ONE)
    assert "The gate is not passed." in text_of(page)
    assert "/override/" not in body_of(page)


def test_an_expert_gets_none_of_it(campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_, "0")
    close_and_decide(round_, by=None)
    ada = client_of(User.objects.get(username="ada"))
    assert [ada.get(address).status_code for address in (ROUNDS, NEW, ONE)] == [404, 404, 404]


# Closing


def test_it_closes_with_all_answers_and_passes(mei: Client, campaign: Campaign) -> None:
    round_ = opened(campaign, gate=gate("raw", 0.9))
    judged(round_)
    done = mei.post(f"{ONE}close/", follow=True)
    assert "Its agreement reached the gate." in text_of(done)
    assert "The gate is passed. Raw agreement: 1.0000" in text_of(done)
    assert "12 items were answered alike and are not listed." in text_of(done)
    again = mei.post(f"{ONE}close/", follow=True)
    assert again.status_code == 200
    round_.refresh_from_db()
    assert decision_of(round_) == Decision.PASSED


def test_it_closes_without_who_is_missing(mei: Client, campaign: Campaign) -> None:
    judged(opened(campaign), only="ada")
    done = mei.post(f"{ONE}close/", {"without_missing": "yes"}, follow=True)
    assert "Closed with answers missing: A2 (12)" in text_of(done)
    assert "undefined" not in text_of(done).lower() or "–" in text_of(done)


def test_a_gate_that_is_not_passed_offers_both_ways_on(mei: Client, campaign: Campaign) -> None:
    round_ = opened(campaign, gate=gate("raw", 0.9))
    judged(round_, "0")
    page = text_of(mei.post(f"{ONE}close/", follow=True))
    assert "The gate is not passed. Raw agreement: 0.0000" in page
    assert "Open another dry run" in page
    # every expert's answer, side by side
    assert re.search(r"PersonX writes letter \d+ \w+ PersonX seals it \d+ 1\.00 always/often rarely", page)
    # each with its position and the way to its discussion
    first = Assignment.objects.filter(round=round_).order_by("item__position")[0].item
    assert f"{first.position} PersonX writes letter" in page
    assert len(re.findall(rf"Discuss {first.position}\b", page)) == 1
    opened_now = mei.post(f"/campaigns/main/items/{first.pk}/discuss/", follow=True)
    assert "The item is open to discussion" in text_of(opened_now)
    assert f"Discussion {first.position}" in text_of(mei.get(ONE))
    assert (
        "Discuss"
        not in text_of(client_of(User.objects.get(username="vera")).get(ONE)).split("What the experts")[1]
    )
    parts = {"members": asked()["members"], "names": "", "design": "cyclic", "seed": "1"}
    shown = mei.post("/campaigns/main/assign/", parts)
    assert "Give out these parts" not in text_of(shown)
    confirmed = {**parts, "hash": shown.context["plan"].hash}
    held = mei.post("/campaigns/main/assign/", confirmed)
    assert held.status_code == 409
    assert "Dry run 1 did not pass its gate" in text_of(held)
    empty = mei.post(f"{ONE}override/", {"reason": " "})
    assert empty.status_code == 400
    done = mei.post(f"{ONE}override/", {"reason": "Two outliers <left>."}, follow=True)
    assert "Gone on with a reason: Two outliers <left>." in text_of(done)
    given = mei.post("/campaigns/main/assign/", confirmed)
    assert given.status_code == 302
    assert Assignment.objects.filter(round__kind=Round.Kind.MAIN).count() == 56


def test_it_is_opened_again(mei: Client, campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_, "0")
    close_and_decide(round_, by=None)
    mei.post(f"{ONE}reopen/")
    round_.refresh_from_db()
    assert (round_.state, round_.outcome) == (Round.State.OPEN, None)


def test_it_offers_only_what_can_be_done(mei: Client, campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_)
    close_and_decide(round_, by=None)
    before = text_of(mei.get(ONE))
    for words in ("Give out parts", "Open another dry run", "Open again…"):
        assert words in before

    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    page = text_of(mei.get(ONE))
    for words in ("Give out parts", "Open another dry run", "Open again…"):
        assert words not in page
    assert "Every unit has been given to experts. There is no unit left for another dry run." in page
    assert "The main round has begun; a dry run before it stays closed." in page

    new = text_of(mei.get(NEW))
    assert "There is no unit left that nobody was given" in new
    assert "Show the plan" not in new


def test_a_gate_that_is_not_passed_offers_no_dry_run_where_nothing_is_left(
    mei: Client, campaign: Campaign
) -> None:
    round_ = opened(campaign, n=40, gate=gate("alpha_ordinal", 0.9, "value"))
    judged(round_, "0")
    close_and_decide(round_, by=None)
    page = text_of(mei.get(ONE))
    assert "Open another dry run" not in page
    assert "bring in more items, or go on, and say why" in page
    assert "Go on all the same" in page


def test_one_that_is_closed_and_undecided_is_decided(mei: Client, campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_)
    Round.objects.filter(pk=round_.pk).update(state=Round.State.CLOSED, outcome={"missing": {}})
    assert "The agreement was not computed yet." in text_of(mei.get(ONE))
    mei.post(f"{ONE}decide/")
    round_.refresh_from_db()
    assert decision_of(round_) == Decision.NO_GATE


def test_there_is_no_other_dry_run(mei: Client, campaign: Campaign) -> None:
    assert mei.get(f"{ROUNDS}dry-run/7/").status_code == 404
    assert mei.post(f"{ROUNDS}dry-run/7/close/").status_code == 404


def test_the_page_costs_the_same_whatever_the_size(mei: Client, tmp_path: Path) -> None:
    def queries(n: int, slug: str) -> int:
        made = new_campaign(slug=slug)
        add_member(made, User.objects.get(username="mei"), "manager")
        load_rows(made, triples(n), tmp_path)
        round_ = open_dry_run(made, experts=["ada", "lin", "bo"][: 2 + n // 80], n=n, by=None)
        for row in round_.assignments.all():
            save(sheet([row], "1" if row.slot == 1 else "0"), row.expert_id, slug=slug)
        close_and_decide(round_, by=None)
        with CaptureQueriesContext(connection) as seen:
            assert mei.get(f"/campaigns/{slug}/rounds/dry-run/1/").status_code == 200
        return len(seen)

    few = queries(10, "few")
    assert queries(80, "many") == few <= 15


def test_compounds_are_shown_in_their_contexts(tmp_path: Path) -> None:
    made = new_campaign("compound", slug="words", k=1)
    for name, role in (("mei", "manager"), ("ada", "expert"), ("lin", "expert")):
        add_member(made, make_user(name, password="seven green rivers"), role)
    load_rows(made, compounds(3), tmp_path)
    round_ = open_dry_run(made, experts=["ada", "lin"], source=Source.EXPOSED, by=None)
    screens: dict[tuple[int, int], list[Assignment]] = {}
    for row in round_.assignments.order_by("expert", "position", "row"):
        screens.setdefault((row.expert_id, row.position), []).append(row)
    for rows in screens.values():
        save(sheet(rows, "1" if rows[0].slot == 1 else "0"), rows[0].expert_id, slug="words")
    close_and_decide(round_, by=None)
    page = text_of(client_of(User.objects.get(username="mei")).get("/campaigns/words/rounds/dry-run/1/"))
    assert "the sleepy gardener 1 today the sleepy gardener 1 waved , time 1 ." in page
    assert "judged again in the main round, and counted in no agreement" in page
    assert page.count(" 1.00 ") == 15


def test_programs_get_the_agreement_of_a_dry_run_by_its_number(campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_, "0", only="ada")
    token = create_token(User.objects.get(username="mei"), "program")[1]

    def ask(query: str) -> Any:
        return Client().get(
            f"/api/v1/campaigns/main/reports/agreement/?round=dry_run{query}",
            headers={"Authorization": f"Bearer {token}"},
        )

    ask("")
    assert [peek.open_answers for peek in peeks_of(campaign)] == [12]  # what was set aside counts here
    judged(round_, "0", only="lin")
    close_and_decide(round_, by=None)
    found = ask("&number=1").json()
    assert (found["number"], found["n_items"], found["coefficients"]["raw"]["value"]) == (1, 12, 0)
    assert ask("").json() == found
    assert ask("&number=2").status_code == 400
    assert len(peeks_of(campaign)) == 1
    assert ask("&number=one").status_code == 400


def test_the_page_of_parts_says_why_the_main_round_waits(mei: Client, campaign: Campaign) -> None:
    assert "is open: parts of the main round" not in text_of(mei.get("/campaigns/main/assign/"))
    opened(campaign)
    assert "Dry run 1 is open: parts of the main round" in text_of(mei.get("/campaigns/main/assign/"))
    refused = run("assign_parts", "main", "--experts", "ada,lin")
    assert (refused.code, "Dry run 1 is open" in refused.err) == (1, True)
