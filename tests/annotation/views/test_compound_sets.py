"""Checking a compositional test set on its page: what is violated and where, and nothing stored."""

import csv
import io
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from annotation.models import Campaign, ImportBatch
from annotation.services import uploads
from annotation.views import compound_sets
from tests.factories import Cast, make_cast
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/compound-set/"
FIVE = ("one", "two", "three", "four", "five")
GOOD = "compound,source\n" + "".join(f"the dog,{word} the dog ran .\n" for word in FIVE)


@pytest.fixture
def cast() -> Cast:
    return make_cast(protocol="compound")


@pytest.fixture
def mei(cast: Cast) -> Client:
    return client_of(cast.mei)


def send(client: Client, **files: str) -> Any:
    sent = {name: SimpleUploadedFile(f"{name}.txt", text.encode()) for name, text in files.items()}
    if "set" in files:
        sent["set"] = SimpleUploadedFile("set.csv", files["set"].encode())
    return client.post(PAGE, sent, follow=True)


def test_what_is_violated_stands_by_rule_and_place(mei: Client) -> None:
    before = len(uploads.unfinished(Campaign.objects.get(slug="main")))  # the folder is that of all tests
    found = send(mei, set=GOOD, training="see the dog\n", contexts="one ___ ran .\n")

    text = text_of(found)
    assert "1 compound in 5 contexts, by the atoms and patterns of CoGnition." in text
    assert "Sentences of the training text: 1. Known contexts given: 1." in text
    assert "the compound stands in the training text 1" in text
    assert "the context is not known 4" in text  # of five; one is given
    assert "NP:DET+N 1" in text
    rows = list(csv.DictReader(io.StringIO(text_of_file(mei, found))))
    assert [(row["rule"], row["line"]) for row in rows] == [
        ("seen", "2"),
        *(("context", str(line)) for line in range(3, 7)),
    ]
    assert not ImportBatch.objects.exists()
    assert len(uploads.unfinished(Campaign.objects.get(slug="main"))) == before  # it waits for nothing


def kept() -> set[Path]:
    return set((settings.MEDIA_ROOT / "uploads").glob("*-*"))


def text_of_file(client: Client, page: Any) -> str:
    address = page.redirect_chain[-1][0]
    file = client.get(f"{address}violations.csv")
    assert file.headers["X-Assay-Rows"] == "5"
    return b"".join(file).decode("utf-8-sig")


def test_a_good_set_is_said_to_be_good_as_far_as_it_was_looked_at(mei: Client) -> None:
    training = "".join(f"{word} a farmer ran .\n" for word in FIVE) + "the end\ndog\n"

    assert "Nothing is violated." in text_of(send(mei, set=GOOD, training=training))
    alone = text_of(send(mei, set=GOOD))
    assert "Nothing is violated of what could be checked." in alone
    assert alone.count("not checked") == 3 + 1  # the rules that need a training text, and why


def test_in_chinese_too(cast: Cast) -> None:
    found = send(client_of(cast.mei, language="zh-hans"), set=GOOD, training="see the dog\n")

    assert "组合短语出现在训练文本中" in text_of(found)
    assert "see the dog" not in text_of(found).replace("“see the dog”", "")


@pytest.mark.parametrize(
    ("files", "field", "says"),
    [
        ({"set": "compound\nthe dog\n"}, "set", "source"),
        ({"set": GOOD, "training": "\n\n"}, "training", "holds no sentence"),
        ({"set": GOOD, "inventory": "{"}, "inventory", "not JSON"),
        (
            {"set": "One the dog ran .\n", "compounds": "the dog\nthe cat\n"},
            "set",
            "1 lines and the compounds 2",
        ),
        ({}, "set", "This field is required"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_at_its_field(
    files: dict[str, str], field: str, says: str, mei: Client
) -> None:
    before = kept()
    refused = send(mei, **files)

    assert refused.status_code == 400
    assert field in refused.context["form"].errors
    assert says in text_of(refused)
    assert kept() == before, "the files were kept"


def test_a_long_list_is_cut_on_the_page_and_whole_in_the_file(
    mei: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compound_sets, "SHOWN", 2)

    found = send(mei, set=GOOD, training="see the dog\n", contexts="one ___ ran .\n")

    assert "The first 2 of 5." in text_of(found)
    assert body_of(found).count('data-label="Line"') == 2
    assert len(text_of_file(mei, found).splitlines()) == 1 + 5


def test_it_is_gone_after_a_day_and_nobody_elses(mei: Client, cast: Cast) -> None:
    address = send(mei, set=GOOD).redirect_chain[-1][0]
    assert client_of(cast.vera).get(address).status_code == 404
    assert client_of(cast.ada).get(PAGE).status_code == 404

    for folder in kept():
        long_ago = (timezone.now() - timedelta(days=2)).timestamp()
        os.utime(folder, (long_ago, long_ago))
    uploads.remove_left_behind()
    assert mei.get(address).status_code == 404


def test_a_campaign_of_triples_has_no_such_page() -> None:
    cast = make_cast()
    assert client_of(cast.mei).get(PAGE).status_code == 404


def test_it_costs_few_queries(mei: Client, django_assert_max_num_queries: Any) -> None:
    address = send(mei, set=GOOD, training="see the dog\n").redirect_chain[-1][0]
    with django_assert_max_num_queries(4):
        assert mei.get(address).status_code == 200
