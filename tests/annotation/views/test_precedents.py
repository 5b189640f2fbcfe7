"""Precedents as pages: managers write them, experts find them above their own answers."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.models import Item, Precedent, Thread
from annotation.services.batches import close_batch
from annotation.services.labels import finalize
from tests.annotation.views.test_seat import make_work
from tests.factories import Cast, make_cast, make_judged, make_precedent
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

PAGE, HISTORY, JUDGE = "/campaigns/main/precedents/", "/campaigns/main/history/", "/campaigns/main/judge/"
JSON = {"accept": "application/json"}
TYPED = {"subject": "relation:xWant", "text_en": "A wish that comes later.", "text_zh": "之后才有的愿望。"}


def settled_campaign() -> Cast:
    cast = make_cast()
    design = make_judged(cast, ("1", "1"))
    close_batch(cast.campaign, design.pk, by=cast.mei)
    finalize(cast.campaign)
    return cast


def asked(cast: Cast, **query: Any) -> dict[str, Any]:
    found: dict[str, Any] = client_of(cast.ada).get(HISTORY, query, headers=JSON).json()
    return found


def test_a_manager_adds_one_and_takes_it_back() -> None:
    cast = settled_campaign()
    mei = client_of(cast.mei)

    page = mei.post(PAGE, TYPED | {"items": "1", "version": "1"}, follow=True)
    assert "xWant version 1 A wish that comes later." in text_of(page)
    assert "PersonX rest 1" in text_of(page)
    made = Precedent.objects.get()
    mei.post(f"{PAGE}{made.pk}/retire/")

    assert "taken back" in text_of(mei.get(PAGE))
    assert asked(cast, q="wish")["precedents"] == []


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("items", "2", "not settled: 2"),
        ("items", "one", "is no position"),
        ("text_zh", "", "This field is required."),
        ("subject", "relation:xWish", "xWish"),
    ],
)
def test_it_keeps_what_was_typed_where_something_is_wrong(field: str, value: str, said: str) -> None:
    cast = settled_campaign()

    page = client_of(cast.mei).post(PAGE, TYPED | {field: value})

    assert page.status_code == 400
    assert said in text_of(page)
    assert "A wish that comes later." in body_of(page)
    assert not Precedent.objects.exists()


def test_an_expert_finds_them_by_words_and_by_the_unit_on_the_screen() -> None:
    cast = make_work("triple", units=1)
    make_precedent(cast.campaign)
    make_precedent(cast.campaign, key="xNeed", text_en="Beforehand.")
    expected = {"about": "relation", "key": "xWant", "text": "A wish that comes later.", "items": []}

    assert asked(cast, q="later")["precedents"] == [expected]
    assert asked(cast, position="1") == {"units": [], "precedents": [expected]}
    assert asked(cast)["precedents"] == []
    chinese = client_of(cast.ada, language="zh-hans").get(HISTORY, {"q": "later"}, headers=JSON)
    assert chinese.json()["precedents"][0]["text"] == "之后才有的愿望。"
    page = client_of(cast.ada).get(HISTORY, {"position": "1"})
    assert "A wish that comes later." in text_of(page)
    assert f'href="{HISTORY}?position=1"' in body_of(client_of(cast.ada).get(JUDGE))


def test_it_tells_nothing_about_a_screen_that_is_not_ones_own() -> None:
    cast = make_work("triple", units=1)
    make_precedent(cast.campaign)

    assert asked(cast, position="9")["precedents"] == []
    assert client_of(cast.ada).get(HISTORY, {"position": "x"}).status_code == 404


def test_an_item_under_discussion_is_named_to_no_expert() -> None:
    cast = settled_campaign()
    client_of(cast.mei).post(PAGE, TYPED | {"items": "1"})
    assert "PersonX rest 1" in str(asked(cast, q="wish")["precedents"])
    Thread.objects.create(item=Item.objects.get())

    found = asked(cast, q="wish")["precedents"]

    assert [one["items"] for one in found] == [[]]


def test_the_search_costs_the_same_for_few_and_many(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    cast = settled_campaign()
    ada = client_of(cast.ada)
    for number in range(12):
        made = make_precedent(cast.campaign, text_en=f"wish {number}")
        made.items.set(Item.objects.all())
        if number in (1, 11):
            with django_assert_num_queries(5):
                ada.get(HISTORY, {"q": "wish"}, headers=JSON)
