"""The wording as a page: downloaded, sent back changed, looked at, confirmed."""

import copy
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http.response import HttpResponseBase
from django.test import Client

from annotation.models import Campaign
from tests.annotation.views.test_seat import make_work
from tests.factories import Cast, make_cast, make_triple
from tests.pages import body_of, client_of, hidden, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/wording/"
CONFIRM, FILE = f"{PAGE}confirm/", f"{PAGE}present.json"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def mei(cast: Cast) -> Client:
    return client_of(cast.mei)


def send(mei: Client, document: Any) -> HttpResponseBase:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return mei.post(PAGE, {"file": SimpleUploadedFile("wording.json", content)})


def changed(mei: Client) -> dict[str, Any]:
    document: dict[str, Any] = copy.deepcopy(mei.get(FILE).json())
    document["relations"][0]["connector"] = {"en": "so PersonX would like", "zh": "于是 PersonX 想"}
    return document


def test_it_is_downloaded_changed_looked_at_and_confirmed(mei: Client) -> None:
    preview = send(mei, changed(mei))
    assert "relations.xWant.connector.en afterwards, PersonX wants so PersonX would like" in text_of(preview)
    assert Campaign.objects.get(slug="main").wording == {}

    sent = {name: hidden(preview, name) for name in ("base", "document")}
    done = mei.post(CONFIRM, sent, follow=True)
    again = mei.post(CONFIRM, sent, follow=True)

    assert "The new wording holds from now on." in text_of(done)
    assert "Nothing was changed." in text_of(again)
    assert "a wording of its own" in text_of(mei.get(PAGE))
    assert mei.get(FILE).json()["relations"][0]["connector"]["zh"] == "于是 PersonX 想"


def test_a_file_that_changes_nothing_says_so(mei: Client) -> None:
    assert "the file says what holds already" in text_of(send(mei, mei.get(FILE).json()))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"\xff\xfe\x00", "not JSON in UTF-8"),
        (b"{", "not JSON that can be read (1:2)"),
        (b'{"answers": {}, "answers": {}}', "“answers” stands twice"),
        (b"[" * 100_000, "not JSON that can be read"),
        (b" " * (512 * 1024 + 1), "larger than 512 KB"),
        (b"NaN", "not JSON that can be read"),
        (b"[]", "an object with names in it belongs here"),
        (b'{"answers": {"often": {"en": "x"}}, "more": 1}', "answers.often.zh: this text is missing."),
    ],
)
def test_it_says_what_is_wrong_with_a_file(mei: Client, content: bytes, said: str) -> None:
    page = send(mei, content)

    assert page.status_code == 400
    assert said in text_of(page)
    assert Campaign.objects.get(slug="main").wording == {}


def test_it_refuses_to_lose_a_relation_in_use(cast: Cast, mei: Client) -> None:
    make_triple(cast.campaign, 1)
    document = changed(mei)
    document["relations"] = [{**document["relations"][1], "confused_with": []}]

    page = send(mei, document)

    assert page.status_code == 400
    assert "have to stay: xWant" in text_of(page)


@pytest.mark.parametrize("document", ["", "{", '{"relations": []}'])
def test_it_confirms_only_what_can_be_used(mei: Client, document: str) -> None:
    assert mei.post(CONFIRM, {"document": document, "base": "x"}).status_code == 409
    assert Campaign.objects.get(slug="main").wording == {}


def test_the_second_of_two_managers_is_told(mei: Client) -> None:
    preview = send(mei, changed(mei))
    mei.post(
        CONFIRM,
        {
            "document": '{"answers": {"often": {"en": "usually", "zh": "通常"}}}',
            "base": hidden(preview, "base"),
        },
    )

    refused = mei.post(CONFIRM, {name: hidden(preview, name) for name in ("base", "document")})

    assert refused.status_code == 409
    assert "Somebody else changed the wording" in text_of(refused)
    assert "relations" not in Campaign.objects.get(slug="main").wording


def test_a_text_with_markup_in_it_stays_text(mei: Client) -> None:
    document = changed(mei)
    document["relations"][0]["definition"]["en"] = "<script>alert(1)</script>"

    assert "<script>alert" not in body_of(send(mei, document))


def test_reasons_of_ones_own_have_their_keys_at_the_seat() -> None:
    cast = make_work("compound", units=1)
    words = {"en": "wrong tone", "zh": "语气不对"}
    document = {
        "reasons": [
            {"code": "missing", "words": {"en": "left out", "zh": "漏掉"}},
            {"code": "tone", "words": words},
        ]
    }
    mei = client_of(cast.mei)
    preview = send(mei, document)
    mei.post(CONFIRM, {name: hidden(preview, name) for name in ("base", "document")})
    cast.campaign.memberships.update(joined_at=cast.campaign.guidelines.latest("version").created_at)

    page = body_of(client_of(cast.ada).get("/campaigns/main/judge/"))

    assert '{"code": "missing", "word": "left out", "key": "KeyM"}' in page
    assert '{"code": "tone", "word": "wrong tone", "key": "KeyT"}' in page
    assert "Say why row {n} is wrong: m, t." in page
    assert 'data-reason="tone"' in page
