"""What file readers and rules say, in the language of who reads it."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.models import Job, Membership
from annotation.protocol.sentences import say
from annotation.services import sentences
from annotation.services.errors import Refused
from annotation.services.jobs import Progress, Store, request
from annotation.services.jobs import run as run_job
from annotation.services.people import add_member
from annotation.services.sentences import message_of, translated, with_sentence
from tests.factories import make_user
from tests.material import new_campaign
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language in which every message stands in brackets."""
    monkeypatch.setattr(sentences, "gettext", lambda text: f"[{text}]")
    monkeypatch.setattr(sentences, "ngettext", lambda one, many, n: f"[{one if n == 1 else many}]")


def test_it_translates_sentences_and_leaves_other_texts_alone() -> None:
    assert translated(say("Line {line} is empty.", line=3)) == "[Line 3 is empty.]"
    assert translated("Line 3 is empty.") == "Line 3 is empty."


def test_it_translates_what_was_kept() -> None:
    kept = with_sentence({"line": 2, "message": say("“{text}” is no split.", text="x")})
    assert (kept["message"], message_of(kept)) == ("“x” is no split.", "[“x” is no split.]")
    assert message_of({"message": "as it was"}) == "as it was"


def test_a_preview_says_what_is_wrong_in_the_language_of_the_page() -> None:
    mei = make_user("mei")
    add_member(new_campaign(), mei, Membership.Role.MANAGER)
    file = SimpleUploadedFile("items.csv", b"head,relation,tail\nPersonX eats,xWish,sleep\n")

    page = text_of(
        client_of(mei).post("/campaigns/main/import/", {"kind": "items", "items-file": file}, follow=True)
    )

    assert "[“xWish” is no relation; [the relations are " in page


def test_a_file_that_cannot_be_read_is_refused_in_the_language_of_the_page() -> None:
    mei = make_user("mei")
    add_member(new_campaign(), mei, Membership.Role.MANAGER)
    file = SimpleUploadedFile("items.csv", b"PAR1 and so on PAR1")

    page = text_of(
        client_of(mei).post("/campaigns/main/import/", {"kind": "items", "items-file": file}, follow=True)
    )

    assert "[This is a Parquet file; those are written here, not read." in page


def test_a_failed_job_says_why_in_the_language_of_the_page() -> None:
    mei = make_user("mei")
    campaign = new_campaign()
    add_member(campaign, mei, Membership.Role.MANAGER)
    job = request(campaign=campaign, kind="finalize", arguments={}, by=mei)

    def refuse(job: Job, progress: Progress) -> Store:
        raise Refused(say("There are {n} rows too many.", n=3))

    run_job(job.pk, refuse)
    job.refresh_from_db()
    assert (job.state, job.message) == ("failed", "There are 3 rows too many.")
    found: Any = client_of(mei).get(f"/campaigns/main/jobs/{job.pk}/state/")
    assert "[There are 3 rows too many.]" in text_of(found)
