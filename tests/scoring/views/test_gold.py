"""The manager's page of gold items."""

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.models import Assignment, AuditEntry, Campaign, Gold
from annotation.services.gold import mark
from annotation.services.peeks import PEEK
from annotation.services.people import add_member
from tests.factories import make_user, signed_in
from tests.material import answer_everything, new_campaign, triple_campaign
from tests.pages import hidden, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return triple_campaign(tmp_path, 60, experts=["ada", "lin"])


@pytest.fixture
def mei(campaign: Campaign) -> Client:
    user = make_user("mei")
    add_member(campaign, user, "manager")
    return signed_in(user)


def send(mei: Client, text: str) -> object:
    file = SimpleUploadedFile("gold.csv", text.encode())
    return mei.post(reverse("gold_upload", args=["main"]), {"file": file}, follow=True)


def test_an_item_is_marked_and_the_mark_taken_off(campaign: Campaign, mei: Client) -> None:
    marked = mei.post(
        reverse("gold_mark", args=["main"]),
        {"position": "3", "label": "0.5", "note": "Two linguists."},
        follow=True,
    )
    item = Gold.objects.get(item__campaign=campaign).item
    off = mei.post(reverse("gold_unmark", args=["main", item.pk]), follow=True)

    assert "The item is marked" in text_of(marked)
    assert "PersonX writes letter 3" in text_of(marked)
    assert "Two linguists." in text_of(marked)
    assert "Item 3 is no gold item any more." in text_of(off)
    assert not Gold.objects.exists()


def test_what_is_wrong_is_said_beside_what_was_typed(campaign: Campaign, mei: Client) -> None:
    page = mei.post(reverse("gold_mark", args=["main"]), {"position": "99", "label": "1", "note": "Mine."})

    assert page.status_code == 409
    assert "There is no item at position 99." in text_of(page)
    assert "Mine." in text_of(page)


def test_a_table_is_stored_whole_or_not_at_all(campaign: Campaign, mei: Client) -> None:
    refused = send(mei, "triple_id,label\nt1,1\nt99,1\n")
    assert not Gold.objects.exists()
    stored = send(mei, "triple_id,label\nt1,1\nt2,0\n")
    broken = send(mei, "a,b\n")

    assert "There is no item “t99” in this campaign." in text_of(refused)  # type: ignore[arg-type]
    assert "Line 3" in text_of(refused)  # type: ignore[arg-type]
    assert "2 items are marked, 0 changed, 0 were there already." in text_of(stored)  # type: ignore[arg-type]
    assert broken.status_code == 400  # type: ignore[attr-defined]
    assert Gold.objects.count() == 2


def test_figures_while_answers_are_open_are_a_recorded_look(campaign: Campaign, mei: Client) -> None:
    mark(campaign, 1, label="1", note="", by=None)
    answer_everything(campaign)
    last = Assignment.objects.filter(item__position=60)
    last.update(revision=0, answered_at=None, label="")
    address = reverse("gold", args=["main"])

    read = mei.get(address)
    assert not AuditEntry.objects.filter(action=PEEK).exists()
    file = mei.get(reverse("gold_file", args=["main", "csv"]))
    taken = mei.post(address, {"figures": hidden(read, "figures")})

    assert "are still open, so these figures are interim" in text_of(read)
    assert "A1 1 1 100.00" not in text_of(read)
    assert file.status_code == 409
    assert "A1 1 1 100.00" in text_of(taken)
    assert AuditEntry.objects.get(action=PEEK).detail["kind"] == "gold"


def test_afterwards_they_are_simply_there(campaign: Campaign, mei: Client) -> None:
    mark(campaign, 1, label="1", note="", by=None)
    answer_everything(campaign, lambda row: "1")

    page = mei.get(reverse("gold", args=["main"]))
    files = [mei.get(reverse("gold_file", args=["main", form])) for form in ("md", "tex", "csv", "json")]

    assert "A1 1 1 100.00" in text_of(page)
    assert [file.status_code for file in files] == [200] * 4
    assert not AuditEntry.objects.filter(action=PEEK).exists()


def test_the_list_comes_in_pages_with_the_same_queries(
    campaign: Campaign, mei: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    mark(campaign, 1, label="1", note="", by=None)
    address = reverse("gold", args=["main"])
    for position in range(2, 61):
        mark(campaign, position, label="1", note="", by=None)
    with django_assert_max_num_queries(9):  # of sixty items
        first = mei.get(address)

    rest = mei.get(address, {"after": "50"})

    assert "letter 50" in text_of(first)
    assert "letter 51" not in text_of(first)
    assert "letter 51" in text_of(rest)


@pytest.mark.parametrize(
    ("protocol", "there", "absent"), [("triple", "head", "item_id"), ("compound", "item_id", "head")]
)
def test_the_form_names_the_columns_of_the_campaign_s_kind(
    protocol: str, there: str, absent: str, db: None
) -> None:
    made = new_campaign(protocol, slug="other")
    mei = make_user("mei")
    add_member(made, mei, "manager")

    page = text_of(signed_in(mei).get(reverse("gold", args=["other"])))

    assert there in page
    assert absent not in page
