"""The guidelines as pages: experts read what is new before their next unit, managers write the next version."""

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.models import Acknowledgement, Annotation, Guideline, Question, Thread
from annotation.services.guidelines import acknowledge
from tests.annotation.views.test_seat import filled_in, make_work, rows_of
from tests.factories import Cast, make_cast, make_guideline, make_triple, seat_number
from tests.pages import body_of, client_of, hidden, text_of

pytestmark = pytest.mark.django_db

HOME, VERSIONS, NEW = (
    "/campaigns/main/",
    "/campaigns/main/guidelines/versions/",
    "/campaigns/main/guidelines/versions/new/",
)
CHANGE, JUDGE, WORK = "/campaigns/main/guidelines/change/", "/campaigns/main/judge/", "/campaigns/main/work/"


class TestReadingWhatIsNew:
    def test_the_judging_page_asks_once_and_goes_on_where_one_was(self) -> None:
        cast = make_work("triple", units=2)
        ada = client_of(cast.ada)
        make_guideline(cast.campaign, text_en="Judge with care.", change_en="Care is new.")

        asked = ada.get(JUDGE, {"position": 2})
        assert asked.headers["Location"] == f"{CHANGE}?next={quote(f'{JUDGE}?position=2', safe='')}"
        page = ada.get(asked.headers["Location"])
        assert "version 2; you know version 1" in text_of(page)
        assert "Care is new." in text_of(page)
        assert "<ins>version 2" not in body_of(page)
        sent = {"version": hidden(page, "version"), "next": f"{JUDGE}?position=2"}
        done = ada.post(CHANGE, sent)
        ada.post(CHANGE, sent)

        assert done.headers["Location"] == f"{JUDGE}?position=2"
        assert Acknowledgement.objects.get().guideline.version == 2
        assert ada.get(JUDGE, {"position": 2}).status_code == 200

    def test_a_form_filled_in_before_is_stored_under_the_version_it_showed(self) -> None:
        cast = make_work("triple", units=2)
        ada, row = client_of(cast.ada), rows_of(cast.ada)[0]
        shown = cast.campaign.guidelines.get()
        form = filled_in(ada, 1, **{f"label_{seat_number(row)}": "often"}) | {"guideline": shown.pk}
        make_guideline(cast.campaign)

        saved = ada.post(JUDGE, form, follow=True)

        assert Annotation.objects.get().guideline == shown
        assert "New in the guidelines" in text_of(saved)  # before the next unit

    def test_what_scripts_and_programs_ask_is_answered(self) -> None:
        cast = make_work("triple", units=1)
        before, version = cast.campaign.guidelines.get(), make_guideline(cast.campaign)
        ada = client_of(cast.ada)

        told = ada.get("/api/v1/campaigns/main/next/").json()  # what she knows, and what to read
        assert (told["guideline"], told["read_first"]) == (before.pk, [f"{settings.ASSAY_URL}{CHANGE}"])
        assert ada.get(WORK, headers={"accept": "application/json"}).json()["guideline"] == version.pk

    def test_a_part_is_handed_in_once_it_is_read(self) -> None:
        cast = make_work("triple", units=1)
        version = make_guideline(cast.campaign)
        ada, page = client_of(cast.ada), "/campaigns/main/parts/0/hand-in/"

        assert ada.get(page).headers["Location"] == f"{CHANGE}?next={quote(page, safe='')}"
        Acknowledgement.objects.create(guideline=version, user=cast.ada)
        assert ada.get(page).status_code == 200

    @pytest.mark.parametrize("page", [WORK, "/campaigns/main/guidelines/"])
    def test_other_pages_say_it_in_a_notice_until_it_is_acknowledged(self, page: str) -> None:
        cast = make_work("triple", units=1)
        ada = client_of(cast.ada)
        assert "The guidelines have changed" not in text_of(ada.get(page))
        make_guideline(cast.campaign, change_en="Care is new.")

        said = ada.get(page)

        assert "The guidelines have changed: version 2 holds now. version 2" in text_of(said)
        assert "Care is new." in text_of(said)
        acknowledge(cast.campaign.memberships.get(user=cast.ada), version=2)
        assert "The guidelines have changed" not in text_of(ada.get(page))

    def test_it_shows_both_texts_the_one_of_the_page_first(self) -> None:
        cast = make_work("triple", units=1)
        make_guideline(cast.campaign, text_en="Judge with care.", text_zh="请仔细判断。")

        page = body_of(client_of(cast.ada, language="zh-hans").get(CHANGE))

        assert page.index("<ins>仔细</ins>") < page.index("with care")

    def test_a_text_with_markup_in_it_stays_text(self) -> None:
        cast = make_work("triple", units=1)
        make_guideline(cast.campaign, text_en="<script>alert(1)</script>", change_en="<b>x</b>")

        page = body_of(client_of(cast.ada).get(CHANGE))

        assert "<script>alert" not in page
        assert "<b>x</b>" not in page

    def test_it_leads_nowhere_outside_the_site(self) -> None:
        cast = make_work("triple", units=1)
        ada = client_of(cast.ada)

        assert ada.get(CHANGE, {"next": "https://example.com/"}).headers["Location"] == "/"
        make_guideline(cast.campaign)
        posted = ada.post(CHANGE, {"version": "2", "next": "//example.com/"})
        assert posted.headers["Location"] == "/"

    @pytest.mark.parametrize("version", ["", "x", "3", "99999999999"])
    def test_it_acknowledges_no_version_that_is_not_there(self, version: str) -> None:
        cast = make_work("triple", units=1)
        make_guideline(cast.campaign)

        assert client_of(cast.ada).post(CHANGE, {"version": version}).status_code == 404
        assert not Acknowledgement.objects.exists()


def typed(base: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "base": base,
        "text_en": "Judge with care.",
        "text_zh": "请仔细判断。",
        "change_en": "Care is new.",
        "change_zh": "新增：仔细。",
        **fields,
    }


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def mei(cast: Cast) -> Client:
    return client_of(cast.mei)


class TestWriting:
    def test_the_form_begins_with_the_latest_texts(self, cast: Cast, mei: Client) -> None:
        page = mei.get(NEW)

        assert hidden(page, "base") == "1"
        assert "Judge." in body_of(page)
        assert "请判断。" in body_of(page)
        assert "This becomes version 2" in text_of(page)

    def test_it_stores_the_next_version_with_what_it_touches(self, cast: Cast, mei: Client) -> None:
        response = mei.post(NEW, typed(relations=["xWant", "xNeed"], items="3, 5-6"), follow=True)

        stored = cast.campaign.guidelines.get(version=2)
        assert stored.touches == {"relations": ["xWant", "xNeed"], "items": [3, 5, 6]}
        assert "Version 2 is in force" in text_of(response)
        assert "Care is new." in text_of(response)

    def test_it_counts_the_items_before_anything_is_stored(self, cast: Cast, mei: Client) -> None:
        make_triple(cast.campaign, 1)
        make_triple(cast.campaign, 2, relation="xNeed")

        page = mei.post(NEW, typed(relations="xNeed", action="count", change_en="half a sen"))

        assert "1 item of 2" in text_of(page)
        assert "half a sen" in body_of(page)
        assert hidden(page, "base") == "1"
        assert cast.campaign.guidelines.count() == 1

    @pytest.mark.parametrize(
        ("field", "value", "said"),
        [
            ("items", "three", "is no position"),
            ("relations", "xWish", "xWish"),
            ("text_zh", "", "This field is required."),
        ],
    )
    def test_it_keeps_what_was_typed_where_something_is_wrong(
        self, cast: Cast, mei: Client, field: str, value: str, said: str
    ) -> None:
        page = mei.post(NEW, typed() | {field: value})

        assert page.status_code == 400
        assert said in text_of(page)
        assert "Judge with care." in body_of(page)
        assert cast.campaign.guidelines.count() == 1

    def test_an_atom_that_no_compound_holds_is_a_slip(self) -> None:
        cast = make_work("compound", units=1)
        cast.campaign.units.update(atoms=[["N", "dog", 5, 8]])
        mei = client_of(cast.mei)

        assert "the atom “cat”" in text_of(mei.post(NEW, typed(atoms="dog, cat")))
        mei.post(NEW, typed(atoms="Dog，dog"))

        assert cast.campaign.guidelines.get(version=2).touches == {"atoms": ["dog"]}

    def test_the_second_of_two_managers_sees_the_difference_and_can_save_on_top(
        self, cast: Cast, mei: Client
    ) -> None:
        make_guideline(cast.campaign, text_en="Judge in haste.")

        refused = mei.post(NEW, typed())

        assert refused.status_code == 409
        assert "Somebody else has stored version 2 meanwhile" in text_of(refused)
        assert "Judge with care." in body_of(refused)
        assert "in haste" in text_of(refused)
        assert hidden(refused, "base") == "2"
        assert mei.post(NEW, typed(base=2)).status_code == 302
        assert cast.campaign.guidelines.get(version=3).text_en == "Judge with care."

    def test_a_form_sent_twice_stores_one_version(self, cast: Cast, mei: Client) -> None:
        assert [mei.post(NEW, typed()).status_code for _time in range(2)] == [302, 302]
        assert Guideline.objects.filter(campaign=cast.campaign).count() == 2

    def test_a_question_becomes_a_rule(self, cast: Cast, mei: Client) -> None:
        item = make_triple(cast.campaign, 1)
        question = Question.objects.create(
            campaign=cast.campaign, unit=item.unit, asked_by=cast.ada, client_key=uuid4(), text="Which dog?"
        )
        assert f'href="{NEW}?question={question.pk}"' in body_of(mei.get("/campaigns/main/questions/"))
        address = f"{NEW}?question={question.pk}"

        assert "Which dog?" in text_of(mei.get(address))
        mei.post(address, typed())

        assert "version 2 of the guidelines" in text_of(
            client_of(cast.ada).get("/campaigns/main/my-questions/")
        )

    def test_a_discussion_is_tied_to_the_version(self, cast: Cast, mei: Client) -> None:
        thread = Thread.objects.create(item=make_triple(cast.campaign, 1), decision="The nearest.")
        address = f"{NEW}?thread={thread.pk}"

        assert "The nearest." in text_of(mei.get(address))
        mei.post(address, typed())

        thread.refresh_from_db()
        assert thread.guideline is not None
        assert thread.guideline.version == 2

    @pytest.mark.parametrize("address", ["?question=77", "?thread=77", "?question=x", "?thread=-1"])
    def test_it_knows_no_source_outside_the_campaign(self, cast: Cast, mei: Client, address: str) -> None:
        other = cast.otto.memberships.get().campaign
        item = make_triple(other, 1)
        Thread.objects.create(pk=77, item=item)
        Question.objects.create(
            pk=77, campaign=other, unit=item.unit, asked_by=cast.otto, client_key=uuid4(), text="?"
        )

        assert mei.get(NEW + address).status_code == 404
        assert mei.post(NEW + address, typed()).status_code == 404


class TestVersions:
    def test_it_compares_any_two(self, cast: Cast, mei: Client) -> None:
        make_guideline(cast.campaign, text_en="Judge with care.", text_zh="请仔细判断。")
        make_guideline(cast.campaign, text_en="Judge with care, always.", text_zh="请仔细判断。")

        latest = mei.get(VERSIONS)
        assert "From version 2 to version 3" in text_of(latest)
        assert "<ins>, always</ins>" in body_of(latest)
        assert "The text is the same." in text_of(latest)  # in Chinese
        far = mei.get(VERSIONS, {"from": "1", "to": "3"})
        assert "From version 1 to version 3" in text_of(far)
        assert "<ins>仔细</ins>" in body_of(far)
        assert mei.get(VERSIONS, {"from": "x", "to": "99"}).status_code == 200

    def test_it_costs_the_same_for_few_and_many_versions(
        self, cast: Cast, mei: Client, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for touches in ({}, {"relations": ["xWant"]}):
            make_guideline(cast.campaign, touches=touches)
        with django_assert_num_queries(6):
            mei.get(VERSIONS)
        for _version in range(4):
            make_guideline(cast.campaign, touches={"relations": ["xNeed"], "items": [1]})

        with django_assert_num_queries(6):
            mei.get(VERSIONS)

    def test_the_campaigns_page_says_who_has_acknowledged(self, cast: Cast, mei: Client) -> None:
        assert "Guidelines v1" in text_of(mei.get(HOME))
        make_guideline(cast.campaign)
        acknowledge(cast.campaign.memberships.get(user=cast.ada), version=2)

        shown = text_of(mei.get(HOME))
        assert "Guidelines v2 · acknowledged by 1 of the 2 experts who were there before it" in shown
        assert "Who joined later began with it and is not asked." in text_of(mei.get(VERSIONS))
