"""Releases as pages: freezing by the worker, what was frozen, and the file."""

import hashlib
import re
from pathlib import Path

import pytest

from annotation.models import Campaign, Job, Membership, Round, User
from annotation.services.batches import close_batch
from annotation.services.labels import finalize
from annotation.services.people import add_member
from scoring.services.release_content import SplitWish
from scoring.services.releases import archive_of, freeze
from scoring.tasks import release as release_task
from tests.factories import make_cast, make_judged, make_user
from tests.material import load_rows, new_campaign, triples
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

RELEASES = "/campaigns/main/releases/"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    made = new_campaign()
    load_rows(made, triples(10, label="1"), tmp_path)
    for name, role in (("mei", "manager"), ("vera", "viewer")):
        add_member(made, make_user(name), Membership.Role(role))
    return made


def person(name: str) -> User:
    return User.objects.get(username=name)


FORM = {"name": "v1", "split": "default", "seed": "3"}


def test_a_manager_freezes_and_everybody_who_may_look_gets_the_file(campaign: Campaign) -> None:
    client = client_of(person("mei"))
    assert "Nothing was frozen yet" in text_of(client.get(RELEASES))

    page = text_of(client.post(RELEASES, FORM, follow=True))
    assert "A release waits to be frozen" in page
    release_task(Job.objects.get(campaign=campaign, kind="release").pk)

    release = campaign.releases.get()
    page = text_of(client_of(person("vera")).get(f"{RELEASES}v1/"))
    for words in (
        release.sha256,
        "seed 3",
        "dev: 2 test: 8",
        "0 triples stand on both sides",
        "data/dev.parquet",
    ):
        assert words in page
    answer = client_of(person("vera")).get(f"{RELEASES}v1/archive/")
    content = b"".join(answer)
    assert hashlib.sha256(content).hexdigest() == release.sha256 == answer.headers["X-Assay-Sha256"]
    assert 'filename="main-v1.zip"' in answer.headers["Content-Disposition"]


def test_where_final_labels_are_it_says_so_and_warns_of_what_is_not_settled() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", "1"), ("1", "0"))
    vera, mei = client_of(cast.vera), client_of(cast.mei)
    assert "A release needs final labels" in text_of(vera.get(RELEASES))
    close_batch(cast.campaign, design.pk, by=cast.mei)
    finalize(cast.campaign)

    assert "A manager makes releases." in text_of(vera.get(RELEASES))
    page = text_of(mei.get(RELEASES))
    assert (
        "Labels were computed, version 1. Whether items lack one, or have answers that came later, stands"
        in page
    )
    assert "Before you make one: The answers to 1 item contrast" in page
    assert "contrast" not in text_of(vera.get(RELEASES))

    assert "A resolution is open" not in page
    cast.campaign.rounds.create(
        kind=Round.Kind.RESOLUTION, number=1, k=2, guideline=cast.campaign.guidelines.get()
    )
    assert "A resolution is open: the labels of its items may still change" in text_of(mei.get(RELEASES))


def test_the_seed_is_the_campaigns_unless_another_is_typed(campaign: Campaign) -> None:
    Campaign.objects.update(seed=20)
    assert 'name="seed" value="20"' in body_of(client_of(person("mei")).get(RELEASES))


def test_it_says_which_labels_a_release_holds_and_whether_there_are_newer_ones() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", "1"), ("1", "0.5"))
    close_batch(cast.campaign, design.pk, by=cast.mei)
    finalize(cast.campaign)
    freeze(cast.campaign, "v1", wish=SplitWish(), by=None)
    mei = client_of(cast.mei)
    cast.campaign.refresh_from_db()
    held = cast.campaign.label_version
    assert held
    assert re.search(rf"v1 \d+ version {held} ", text_of(mei.get(RELEASES)))
    assert "not the newest" not in text_of(mei.get(RELEASES))

    Campaign.objects.filter(pk=cast.campaign.pk).update(label_version=held + 1)

    assert f"version {held} ! not the newest" in text_of(mei.get(RELEASES))
    assert f"A release holds version {held} of the labels" in text_of(mei.get("/campaigns/main/"))


def test_a_viewer_freezes_nothing(campaign: Campaign) -> None:
    client = client_of(person("vera"))

    assert client.post(RELEASES, FORM).status_code == 404
    assert "Freeze" not in text_of(client.get(RELEASES))


def test_it_says_what_is_wrong_with_a_name(campaign: Campaign) -> None:
    freeze(campaign, "v1", wish=SplitWish(), by=None)
    client = client_of(person("mei"))

    taken = client.post(RELEASES, FORM)
    odd = client.post(RELEASES, {**FORM, "name": "v 1"})

    assert (taken.status_code, "and it never changes" in text_of(taken)) == (409, True)
    assert (odd.status_code, "letters without accents" in text_of(odd)) == (400, True)
    assert not Job.objects.exists()


def test_it_says_why_freezing_failed(campaign: Campaign) -> None:
    campaign.items.update(imported_label="")
    client = client_of(person("mei"))
    client.post(RELEASES, FORM)
    release_task(Job.objects.get(campaign=campaign).pk)

    assert "No item has a label yet" in text_of(client.get(RELEASES))
    assert "Release v1" in text_of(client.get("/campaigns/main/jobs/"))


def test_it_gives_no_file_that_is_not_what_was_frozen(campaign: Campaign) -> None:
    release = freeze(campaign, "v1", wish=SplitWish(), by=None)
    archive_of(release).unlink()

    answer = client_of(person("vera")).get(f"{RELEASES}v1/archive/")

    assert (answer.status_code, release.sha256 in text_of(answer)) == (409, True)
    assert client_of(person("vera")).get(f"{RELEASES}v2/").status_code == 404
