"""The page of the what-if: what it shows, to whom, and that it closes itself while experts judge."""

import html
import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, AuditEntry, Campaign, Membership, User
from annotation.services.access import create_token
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from tests.factories import make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, triples
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/labels/what-if/"
ITEMS = "/campaigns/main/reports/what-if/items/"
ANSWERS = (("1", "1"), ("1", "0.5"), ("0", "0"), ("1", "0"))


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def judged(mei: User, folder: Path, *, n: int = 8, slug: str = "main") -> Campaign:
    """Triples, two of three experts each, on which the rule and the majority part; finalised."""
    campaign = new_campaign("triple", k=2, slug=slug)
    add_member(campaign, mei, Membership.Role.MANAGER)
    load_rows(campaign, triples(n), folder)
    assign_parts(campaign, experts=["ada", "bo", "chen"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: ANSWERS[row.item.position % 4][row.slot - 1])
    finalize(campaign)
    return campaign


def judged_compounds(mei: User, folder: Path) -> Campaign:
    campaign = new_campaign("compound", k=2)
    add_member(campaign, mei, Membership.Role.MANAGER)
    load_rows(campaign, compounds(3), folder, system="base", run="1")
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, by=mei)
    answer_everything(
        campaign,
        lambda row: "" if row.item.position == 4 and row.slot == 1 else str(int(row.item.position % 5 > 0)),
        cause="source_broken",
    )
    finalize(campaign)
    return campaign


def reopened(campaign: Campaign) -> None:
    """One answer is still to come."""
    row = Assignment.objects.filter(round__campaign=campaign)[0]
    Assignment.objects.filter(pk=row.pk).update(label="", answered_at=None, revision=0)


def test_it_shows_what_turns_and_how_figures_move(mei: User, tmp_path: Path) -> None:
    judged(mei, tmp_path)
    page = text_of(client_of(mei).get(f"{PAGE}?rule=majority"))

    assert (
        "Compared with the rule “Majority of the experts” ( majority , version 1) over the answers as they are now."
        in page
    )
    assert "Nothing is stored" in page
    # ckbp2 labels all eight; {1, 0.5} and {1, 0} tie under majority.
    assert "Stay as they are 4 Turn 0 Gain a label 0 Lose their label 4" in page
    assert re.search(
        r"Now → not plausible → plausible → the answers are split not plausible 2 0 2 plausible 0 2 2", page
    )
    assert re.search(r"Share of plausible triples 50\.00 [\d. –]+ 50\.00 [\d. –]+ 0\.00", page)
    assert "Experts (human performance) AUC" in page
    assert re.search(r"Expert Now % Then % Difference A1 ", page)
    assert "ada" not in page
    assert "Signature: label-changes|" in page


@pytest.mark.parametrize("asked", ["", "?rule=ckbp2"])
def test_compared_with_the_rule_in_force_it_says_that_nothing_can_differ(
    asked: str, mei: User, tmp_path: Path
) -> None:
    judged(mei, tmp_path)

    page = text_of(client_of(mei).get(f"{PAGE}{asked}"))

    assert "Both sides are the rule in force, “CKBP v2” ( ckbp2 , version 1)." in page
    assert "It is the same rule over the same answers, so nothing can differ." in page
    assert "Compared with" not in page


def test_it_tells_the_same_rule_from_answers_that_came_since(mei: User, tmp_path: Path) -> None:
    campaign = judged(mei, tmp_path)
    row = Assignment.objects.filter(round__campaign=campaign, label="1")[0]
    Assignment.objects.filter(pk=row.pk).update(label="0", revision=2)

    page = text_of(client_of(mei).get(PAGE))

    assert "only items that were answered since the labels were computed can differ" in page


def test_rules_go_by_names_in_both_languages(mei: User, tmp_path: Path) -> None:
    judged(mei, tmp_path)
    page = text_of(client_of(mei, language="zh-hans").get(f"{PAGE}?rule=majority"))

    assert "标签规则 CKBP v2 规则 多数专家的意见 全体专家一致" in page
    assert "与规则“多数专家的意见”（ majority ，第 1 版）比较" in page
    assert "标签：最终标签，规则“CKBP v2 规则”（ ckbp2 ，第 1 版），标签第 1 版。" in page
    assert "版本 1" not in page


@pytest.mark.parametrize("model", ["majority", "dawid-skene", "mace"])
def test_it_says_what_competence_is(model: str, mei: User, tmp_path: Path) -> None:
    judged(mei, tmp_path)
    assert "Competence, from 0 to 1: " in text_of(client_of(mei).get(f"{PAGE}?model={model}"))


def test_it_shows_the_error_rates_of_compounds_and_what_a_model_knows(mei: User, tmp_path: Path) -> None:
    judged_compounds(mei, tmp_path)
    page = text_of(client_of(mei).get(f"{PAGE}?model=majority"))
    assert "Compared with the label model “Majority of the answers” over the answers as they are now" in page
    assert re.search(r"base / 1 Aggregate error rate, % 100\.00 ", page)
    assert "Difference Competence A1" in page
    assert "cannot" not in re.findall(r"Gain a label (\S+)", page)
    warned = text_of(client_of(mei).get(f"{PAGE}?model=dawid-skene"))
    assert "No item has three answers." in warned
    assert "The search settled after" in warned
    assert re.search(r"Shares it takes for true: wrong [\d.]+ % ?, correct [\d.]+ %", warned)
    assert "Competence Finds “wrong” Finds “correct” A1" in warned


def test_it_offers_the_rules_that_fit_and_the_models_and_marks_the_chosen_one(
    mei: User, tmp_path: Path
) -> None:
    judged(mei, tmp_path)
    body = body_of(client_of(mei).get(f"{PAGE}?model=mace"))
    links = re.findall(r'<a href="\?(rule|model)=([a-z0-9-]+)"( aria-current="page")?>', body)
    assert {(kind, name) for kind, name, _chosen in links} == {
        *(("rule", name) for name in ("ckbp2", "majority", "unanimous")),
        *(("model", name) for name in ("majority", "dawid-skene", "mace")),
    }
    assert [name for _kind, name, chosen in links if chosen] == ["mace"]
    assert "Label models read the answers as “Majority of the experts” does." in body
    assert (
        "by “Majority of the experts” and “All experts alike” only “always/often” speaks for it, and “sometimes” "
        "against it" in body
    )
    assert "style=" not in body


@pytest.mark.parametrize("query", ["?rule=described", "?rule=nonsense", "?model=glad"])
def test_there_is_no_page_of_a_rule_or_model_that_does_not_exist(
    mei: User, tmp_path: Path, query: str
) -> None:
    judged(mei, tmp_path)
    assert client_of(mei).get(f"{PAGE}{query}").status_code == 404


def test_it_says_why_there_is_nothing_to_compare(mei: User, tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    add_member(campaign, mei, Membership.Role.MANAGER)
    load_rows(campaign, compounds(1), tmp_path, system="base")
    page = text_of(client_of(mei).get(f"{PAGE}?model=mace"))
    assert "This model gives no labels here: no item has an answer." in page


def test_every_number_opens_its_items_with_the_label_now_and_then(mei: User, tmp_path: Path) -> None:
    judged(mei, tmp_path)
    client = client_of(mei)
    body = body_of(client.get(f"{PAGE}?rule=majority"))
    links = [
        (html.unescape(link), number)
        for link, number in re.findall(r'<a class="behind" href="([^"]+)">([\d,]+)</a>', body)
    ]
    assert len(links) == 2 + 4
    assert ">→&nbsp;plausible<" in body  # the arrow stays beside its word
    for link, number in links:
        assert f'id="n">{number}<' in body_of(client.get(link))
    lost = text_of(client.get(f"{ITEMS}?rule=majority&of=lost"))
    assert "Items that lose their label" in lost
    assert "not plausible → the answers are split" in lost
    assert "Compared with the rule “Majority of the experts” ( majority , version 1)" in lost
    assert "Labels: final, by the rule “CKBP v2”" in lost
    cell = client.get(f"{ITEMS}?rule=majority&of=cell&a=1&b=tie")
    assert "Items of one cell: plausible → the answers are split" in text_of(cell)
    assert f'href="{PAGE}?rule=majority"' in body_of(cell)


def test_the_list_of_items_says_that_labels_are_provisional(mei: User, tmp_path: Path) -> None:
    campaign = new_campaign("triple", k=2)
    add_member(campaign, mei, Membership.Role.MANAGER)
    load_rows(campaign, triples(4), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: "1")
    page = text_of(client_of(mei).get(f"{ITEMS}?of=kept&rule=majority"))
    assert "These figures are provisional: final labels were not computed yet" in page


def test_it_is_closed_while_experts_judge_and_writes_down_who_looks(mei: User, tmp_path: Path) -> None:
    campaign = judged(mei, tmp_path)
    reopened(campaign)
    client = client_of(mei)

    closed = text_of(client.get(f"{PAGE}?rule=majority"))
    assert "1 answer is open, so these figures are not shown by themselves" in closed
    assert "Stay as they are" not in closed
    assert client.get("/campaigns/main/reports/what-if.json?rule=majority").status_code == 409
    assert client.get(f"{ITEMS}?of=kept&rule=majority").status_code == 409
    assert not peeks_of(campaign)

    shown = text_of(client.post(f"{PAGE}?rule=majority"))
    assert "Interim figures" in shown
    assert "Stay as they are" in shown
    assert client.post("/campaigns/main/reports/what-if.json?rule=majority").status_code == 200
    assert client.post(f"{ITEMS}?of=kept&rule=majority").status_code == 200
    assert [peek.kind for peek in peeks_of(campaign)] == ["what-if"] * 3


def test_reading_writes_nothing_once_all_have_answered(mei: User, tmp_path: Path) -> None:
    judged(mei, tmp_path)
    client = client_of(mei)
    before = AuditEntry.objects.count()
    with CaptureQueriesContext(connection) as queries:
        client.get(f"{PAGE}?model=mace")
    assert not [query for query in queries if query["sql"].split()[0] in ("INSERT", "UPDATE", "DELETE")]
    assert AuditEntry.objects.count() == before


def test_it_costs_as_many_queries_for_forty_items_as_for_eight(mei: User, tmp_path: Path) -> None:
    judged(mei, tmp_path)
    judged(mei, tmp_path, n=40, slug="large")
    client = client_of(mei)
    client.get(PAGE)
    with CaptureQueriesContext(connection) as few:
        client.get(PAGE)
    with CaptureQueriesContext(connection) as many:
        client.get("/campaigns/large/labels/what-if/")
    assert len(few) == len(many) <= 26


@pytest.mark.parametrize("form", ["md", "tex", "csv", "json"])
def test_it_can_be_taken_along(mei: User, tmp_path: Path, form: str) -> None:
    judged(mei, tmp_path)
    response = client_of(mei).get(f"/campaigns/main/reports/what-if.{form}?model=mace")
    assert response.status_code == 200
    assert f"main-what-if.{form}" in response["Content-Disposition"]


def test_experts_and_strangers_find_nothing_and_viewers_look(mei: User, tmp_path: Path) -> None:
    campaign = judged(mei, tmp_path)
    vera, otto = make_user("vera"), make_user("otto")
    add_member(campaign, vera, Membership.Role.VIEWER)
    assert client_of(vera).get(PAGE).status_code == 200
    assert client_of(otto).get(PAGE).status_code == 404
    assert client_of(User.objects.get(username="ada")).get(PAGE).status_code == 404


def test_programs_get_the_same_document(mei: User, tmp_path: Path) -> None:
    campaign = judged(mei, tmp_path)
    bearer = {"headers": {"Authorization": f"Bearer {create_token(mei, 'program')[1]}"}}
    address = "/api/v1/campaigns/main/reports/what-if/"
    found = Client().get(f"{address}?rule=majority", **bearer)  # type: ignore[arg-type]
    assert found.json()["lost"] == 4
    assert Client().get(f"{address}?model=mace", **bearer).json()["to"]["model"]["model"] == "mace"  # type: ignore[arg-type]
    for wrong in ("?rule=described", "?model=glad", "?rule=majority&model=mace"):
        assert Client().get(address + wrong, **bearer).status_code == 400  # type: ignore[arg-type]
    assert not peeks_of(campaign)
    reopened(campaign)
    Client().get(address, **bearer)  # type: ignore[arg-type]
    assert [peek.kind for peek in peeks_of(campaign)] == ["what-if"]


def test_the_campaign_page_leads_to_it(mei: User, tmp_path: Path) -> None:
    judged(mei, tmp_path)
    assert f'href="{PAGE}"' in body_of(client_of(mei).get("/campaigns/main/"))
