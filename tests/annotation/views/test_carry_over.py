"""Carrying verdicts over from the page: planned, confirmed, looked at, ended."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Campaign, CarryOver, Membership, User
from annotation.services.carried import standing
from annotation.services.labels import finalize
from annotation.services.people import add_member
from annotation.services.verify import verify
from tests.carrying import LEXICON, give_out, rows, says, two_systems, wish
from tests.factories import make_user, signed_in
from tests.material import answer_everything, load_rows, new_campaign, triple_campaign
from tests.pages import body_of, client_of, hidden, text_of

pytestmark = pytest.mark.django_db

ASSIGN, PAGE, END = (f"/campaigns/main/{name}/" for name in ("assign", "carry-over", "carry-over/end"))
ASKED = {"names": "ada", "design": "single", "seed": "3", "parts": ""}


@pytest.fixture
def mei() -> User:
    return make_user("mei")


@pytest.fixture
def campaign(mei: User, tmp_path: Path) -> Campaign:
    made = two_systems(tmp_path)
    add_member(made, mei, Membership.Role.MANAGER)
    return made


def lexicon(content: str = LEXICON) -> SimpleUploadedFile:
    return SimpleUploadedFile("lexicon.txt", content.encode())


def carried(**more: Any) -> dict[str, Any]:
    return {**ASKED, "carry_over": "on", "carry_lexicon": lexicon(), **more}


def test_it_is_off_unless_somebody_switches_it_on(mei: User, campaign: Campaign) -> None:
    page = body_of(client_of(mei).get(ASSIGN))
    assert 'name="carry_over"' in page
    assert "checked" not in page.split('name="carry_over"')[1].split(">")[0]

    shown = client_of(mei).post(ASSIGN, {**ASKED, "carry_lexicon": lexicon()})  # a file alone changes nothing

    assert "Carried over" not in text_of(shown)


def test_the_plan_says_how_many_from_how_many_and_what_that_saves(mei: User, campaign: Campaign) -> None:
    response = client_of(mei).post(ASSIGN, carried())

    page = text_of(response)
    assert response.status_code == 200
    assert "translations take the verdict on another one of their sentence" in page
    assert "5 more (10 %) could take one and are judged anyway, unmarked." in page
    assert "The compound was found in 120 of 120 translations" in page
    assert "Rule: carry-over|ver:1|lexicon:" in page
    assert (
        len(set(re.findall(r'name="carry_forms" value="([^"]+)"', body_of(response)))) == 1
    )  # in both forms
    assert not Assignment.objects.exists()
    assert not CarryOver.objects.exists()


def test_what_was_shown_is_what_is_stored(mei: User, campaign: Campaign) -> None:
    client = client_of(mei)
    shown = client.post(ASSIGN, carried(carry_share="50"))
    planned = shown.context["carry"]

    fields = {name: hidden(shown, name) for name in ("carry_over", "carry_share", "carry_forms", "seed")}
    done = client.post(ASSIGN, {**ASKED, **fields, "hash": shown.context["confirm"]})

    assert done.status_code in (200, 302)
    assert set(CarryOver.objects.values_list("item", "source", "checked")) == {
        (pair.item, pair.source, pair.checked) for pair in planned.pairs
    }
    assert verify(campaign) == []


def test_another_lexicon_than_the_one_shown_is_refused(mei: User, campaign: Campaign) -> None:
    client = client_of(mei)
    shown = client.post(ASSIGN, carried())

    done = client.post(ASSIGN, carried(carry_lexicon=lexicon("dog\t狗\n"), hash=shown.context["confirm"]))

    assert done.status_code == 409
    assert not Assignment.objects.exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"carry_lexicon": ""}, "Bring the lexicon"),
        ({"carry_lexicon": "", "carry_forms": "no JSON"}, "holds no form"),
        ({"carry_lexicon": "", "carry_forms": '{"dog": 7}'}, "holds no form"),
        ({"carry_lexicon": lexicon("dog 狗")}, "one tab"),
        ({"carry_share": "0"}, "greater than or equal to 0.1"),
        ({"carry_share": "101"}, "less than or equal to 100"),
    ],
)
def test_what_cannot_be_used_is_said(mei: User, campaign: Campaign, more: dict[str, Any], said: str) -> None:
    response = client_of(mei).post(ASSIGN, carried(**more))

    assert response.status_code == 400
    assert said in text_of(response)


def test_triples_have_no_such_field(mei: User, tmp_path: Path) -> None:
    add_member(triple_campaign(tmp_path, 3), mei, Membership.Role.MANAGER)

    page = body_of(client_of(mei).get(ASSIGN))

    assert "carry" not in page


class TestPage:
    def test_without_anything_it_says_how_to_begin(self, mei: User, campaign: Campaign) -> None:
        page = text_of(client_of(mei).get(PAGE))
        assert "Nothing is carried over" in page
        assert "End carrying over" not in page

    def test_it_shows_what_is_carried_and_ends_it(self, mei: User, campaign: Campaign) -> None:
        give_out(campaign, carry_over=wish())
        answer_everything(campaign, says)
        finalize(campaign)
        n, client = standing().count(), client_of(mei)

        page = text_of(client.get(PAGE))
        assert f"{n} translations, from {n} others" in page
        assert "End carrying over" in page
        first = standing().select_related("item").earliest("item__position")
        assert first.stretch in page
        assert f"position {first.item.position}" in page

        response = client.post(END, follow=True)
        assert f"Nothing is carried over any more: {n} items wait to be given out." in text_of(response)
        assert not standing().exists()
        assert f"{n} items came later into units" in text_of(client.get(ASSIGN))

    def test_viewers_look_and_experts_do_not(self, mei: User, campaign: Campaign) -> None:
        vera = make_user("vera")
        add_member(campaign, vera, Membership.Role.VIEWER)
        give_out(campaign, carry_over=wish())

        page = signed_in(vera).get(PAGE)
        assert page.status_code == 200
        assert "End carrying over" not in text_of(page)
        assert signed_in(vera).post(END).status_code in (403, 404)
        ada = User.objects.get(username="ada")
        assert signed_in(ada).get(PAGE).status_code == 404
        assert standing().exists()

    def test_it_costs_a_fixed_number_of_queries(self, mei: User, campaign: Campaign, tmp_path: Path) -> None:
        client, costs = client_of(mei), []
        give_out(campaign, carry_over=wish(), sample=2)
        for _time in range(2):
            with CaptureQueriesContext(connection) as queries:
                client.get(PAGE)
            costs.append(len(queries))
            give_out(campaign, carry_over=wish())
        assert costs[0] == costs[1]

    def test_items_say_whose_verdict_they_take(self, mei: User, campaign: Campaign) -> None:
        give_out(campaign, carry_over=wish())
        row = standing().select_related("item", "source").earliest("item__position")

        page = text_of(client_of(mei).get(f"/campaigns/main/items/?first={row.item.position}"))

        assert f"takes the verdict on item {row.source.position}" in page

    def test_the_error_rates_and_the_comparison_say_how_many(self, mei: User, campaign: Campaign) -> None:
        give_out(campaign, carry_over=wish())
        answer_everything(campaign, says)
        finalize(campaign)
        client, n = client_of(mei), standing().count()

        rates = text_of(client.get("/campaigns/main/reports/error-rates/?system=later"))

        assert f"{n} verdicts in the rates above were given to other translations" in rates
        assert "carried over" in rates


def test_the_overview_tells_once_what_takes_a_verdict_since_the_labels(mei: User, tmp_path: Path) -> None:
    made = new_campaign("compound", k=1)
    add_member(made, mei, Membership.Role.MANAGER)
    load_rows(made, rows(rest="挥手。"), tmp_path, system="base")
    give_out(made)
    answer_everything(made, "", cause="other")
    load_rows(made, rows(rest="招手！"), tmp_path, system="later")
    finalize(made)
    give_out(made, carry_over=wish())
    n, client = standing().count(), client_of(mei)

    before = text_of(client.get("/campaigns/main/"))
    finalize(made)
    after = text_of(client.get("/campaigns/main/"))

    assert f"No label yet {n} take the verdict on another item since the labels were computed" in before
    assert "answered since" not in before
    assert "older than the answers" not in before
    assert f"an expert could not judge it {n} of them take the verdict on another item" in after


def test_the_item_list_costs_as_before_where_nothing_is_carried(mei: User, campaign: Campaign) -> None:
    give_out(campaign)
    client = client_of(mei)
    with CaptureQueriesContext(connection) as queries:
        client.get("/campaigns/main/items/")
    # joined at most, never asked for by itself
    assert not any('FROM "annotation_carryover"' in query["sql"].split(" WHERE ")[0] for query in queries)
