"""The settings of a campaign: what can be changed, until when, and its trace."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.models import AuditEntry, Campaign
from annotation.services.campaign_settings import change_settings
from annotation.services.errors import Refused
from tests.annotation.views.test_seat import make_work, rows_of
from tests.factories import Cast, answer, make_cast, signed_in
from tests.pages import text_of

pytestmark = pytest.mark.django_db

ADDRESS = "/campaigns/main/settings/"
COMPOUND = {
    "title": "Main",
    "display": "alone",
    "reference": "on_demand",
    "highlight": "source",
    "reasons": "optional",
}
LEXICON = "lazy\t懒/懒惰\ndog\t狗\nthe\t/\n"
TRIPLE = {"title": "Main", "zero_detail": "off", "order": "shuffled"}


def fields(cast: Cast) -> set[str]:
    return set(signed_in(cast.mei).get(ADDRESS).context["form"].fields)


def stored(cast: Cast, *names: str) -> list[Any]:
    cast.campaign.refresh_from_db()
    return [getattr(cast.campaign, name) for name in names]


def test_it_offers_the_settings_of_the_campaign_s_protocol() -> None:
    assert fields(make_cast(protocol="compound", k=1)) == set(COMPOUND) | {"lexicon", "names_in_discussion"}


def test_it_offers_other_settings_for_triples() -> None:
    assert fields(make_cast()) == set(TRIPLE) | {"names_in_discussion"}


def test_it_says_whether_experts_see_pseudonyms_in_discussions() -> None:
    cast = make_cast()

    signed_in(cast.mei).post(ADDRESS, {**TRIPLE, "names_in_discussion": "on"})
    assert stored(cast, "names_in_discussion") == [True]
    signed_in(cast.mei).post(ADDRESS, TRIPLE)

    assert stored(cast, "names_in_discussion") == [False]


def test_it_stores_what_was_changed_and_writes_down_what_was_there() -> None:
    cast = make_cast(protocol="compound", k=1)

    response = signed_in(cast.mei).post(
        ADDRESS, {**COMPOUND, "title": "新标题", "reference": "hidden", "reasons": "required"}
    )

    assert response.status_code == 302
    assert stored(cast, "title", "reference", "reasons") == ["新标题", "hidden", "required"]
    entry = AuditEntry.objects.get(action="settings changed")
    assert (entry.actor, entry.campaign) == (cast.mei, cast.campaign)
    assert entry.detail == {
        "title": ["Main", "新标题"],
        "reference": ["on_demand", "hidden"],
        "reasons": ["optional", "required"],
    }


def test_it_writes_nothing_down_where_nothing_was_changed() -> None:
    cast = make_cast()

    response = signed_in(cast.mei).post(ADDRESS, TRIPLE, follow=True)

    assert "Nothing was changed." in response.content.decode()
    assert not AuditEntry.objects.filter(action="settings changed").exists()


def test_it_asks_for_the_kind_of_the_third_answer() -> None:
    cast = make_cast()

    signed_in(cast.mei).post(ADDRESS, {**TRIPLE, "zero_detail": "on", "order": "runs"})

    assert stored(cast, "zero_detail", "order") == [True, "runs"]


@pytest.mark.parametrize(
    "change",
    [
        {"title": " "},
        {"title": "x" * 201},
        {"title": "a\u202eb"},
        {"title": "a\r\nb"},
        {"order": "backwards"},
    ],
)
def test_it_refuses_values_that_are_none(change: dict[str, str]) -> None:
    cast = make_cast()

    response = signed_in(cast.mei).post(ADDRESS, {**TRIPLE, **change})

    assert response.status_code == 400
    assert stored(cast, "title", "order") == ["Main", "shuffled"]


def test_it_fixes_the_order_once_parts_are_given_out() -> None:
    cast = make_work("triple", units=1)
    client = signed_in(cast.mei)

    body = client.get(ADDRESS).content.decode()
    client.post(ADDRESS, {**TRIPLE, "order": "runs", "zero_detail": "on"})

    assert "order was drawn: this can no longer be changed." in body
    assert "Judging has begun" not in body
    assert stored(cast, "order", "zero_detail") == ["shuffled", True]


@pytest.mark.parametrize(
    ("protocol", "form", "fixed"),
    [
        ("triple", {**TRIPLE, "zero_detail": "on"}, ("zero_detail", False)),
        ("compound", {**COMPOUND, "reference": "shown"}, ("reference", "on_demand")),
        ("compound", {**COMPOUND, "highlight": "translation"}, ("highlighted_forms", {})),
    ],
)
def test_it_fixes_the_conditions_of_judging_once_it_began(
    protocol: str, form: dict[str, str], fixed: tuple[str, object]
) -> None:
    cast = make_work(protocol, units=1)
    answer(rows_of(cast.ada)[0])
    client = signed_in(cast.mei)

    body = client.get(ADDRESS).content.decode()
    client.post(ADDRESS, {**form, "title": "New title"})

    assert "Judging has begun" in body
    assert stored(cast, fixed[0], "title") == [fixed[1], "New title"]


def test_it_lets_reasons_be_asked_for_at_any_time() -> None:
    cast = make_work("compound", units=1)
    answer(rows_of(cast.ada)[0])

    signed_in(cast.mei).post(ADDRESS, {**COMPOUND, "reasons": "off"})

    assert stored(cast, "reasons") == ["off"]


def test_it_refuses_a_change_whose_time_ran_out_meanwhile() -> None:
    """The form was open while the parts were given out: nothing of it is stored."""
    cast = make_work("triple", units=1)

    with pytest.raises(Refused, match="Parts are given out"):
        change_settings(cast.campaign, {"order": "runs", "title": "New title"}, by=cast.mei)
    with pytest.raises(Refused, match="no setting “reference”"):
        change_settings(cast.campaign, {"reference": "hidden"}, by=cast.mei)
    assert Campaign.objects.get(slug="main").title == "Main"


def test_it_shows_what_was_fixed_from_the_beginning() -> None:
    cast = make_cast()

    body = signed_in(cast.mei).get(ADDRESS).content.decode()

    assert "Fixed since the campaign was opened" in body
    assert '<dd translate="no">main</dd>' in body


def lexicon(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("lexicon", text.encode())


def test_it_highlights_the_forms_of_a_lexicon_until_it_is_told_otherwise() -> None:
    cast = make_cast(protocol="compound", k=1)
    client = signed_in(cast.mei)
    assert stored(cast, "highlighted_forms") == [{}]
    forms = {"lazy": ["懒", "懒惰"], "dog": ["狗"], "the": []}

    client.post(ADDRESS, {**COMPOUND, "highlight": "translation", "lexicon": lexicon(LEXICON)})
    assert stored(cast, "highlighted_forms") == [forms]
    assert AuditEntry.objects.get().detail == {"highlighted_forms": [{"atoms": 0}, {"atoms": 3}]}
    client.post(ADDRESS, {**COMPOUND, "highlight": "translation", "title": "New title"})  # the file is kept
    assert stored(cast, "highlighted_forms", "title") == [forms, "New title"]
    client.post(ADDRESS, COMPOUND)
    assert stored(cast, "highlighted_forms") == [{}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "Bring the lexicon"),
        ("dog 狗", "line 1: Each line needs an atom, one tab"),
        ("the\t/", "holds no form"),
        ("dog\t狗\n" * 30_000, "at most 200000 bytes"),
    ],
)
def test_it_highlights_nothing_without_a_lexicon(text: str | None, said: str) -> None:
    cast = make_cast(protocol="compound", k=1)
    file = {} if text is None else {"lexicon": lexicon(text)}

    response = signed_in(cast.mei).post(ADDRESS, {**COMPOUND, "highlight": "translation", **file})

    assert response.status_code == 400
    assert said in text_of(response)
    assert stored(cast, "highlighted_forms") == [{}]
