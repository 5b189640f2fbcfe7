"""Erasing a person: what goes, what stays, and who is refused."""

import json
from typing import Any

import pytest
from axes.models import AccessLog
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import AuditEntry, Design, Invitation, TimeEntry, Token, User
from annotation.services import uploads
from annotation.services.access import create_invitation, create_token, find_invitation, token_user
from annotation.services.accounts import reopen
from annotation.services.erasure import erase, what_stays
from annotation.services.errors import NotYours, Refused
from annotation.services.overview import overview
from annotation.services.parts import assign_parts
from annotation.services.people import add_person, audit, deactivate
from tests.factories import (
    PASSWORD,
    Cast,
    make_annotation,
    make_cast,
    make_triple,
    with_password,
)

pytestmark = pytest.mark.django_db

NAME = "Adelheid"


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    User.objects.filter(pk=cast.ada.pk).update(
        username=NAME, username_folded=NAME.casefold(), email="adelheid@example.org"
    )
    cast.ada.refresh_from_db()
    return cast


def erased(cast: Cast) -> str:
    return erase(cast.ada, typed="a1", expected="A1", by=cast.mei)


def everything_stored() -> str:
    """Every value of every table."""
    rows: list[Any] = []
    for model in apps.get_models():
        rows += list(model._default_manager.values_list())
    return json.dumps(rows, default=str, ensure_ascii=False).casefold()


def test_the_name_is_nowhere_any_more_and_the_work_is_still_there(cast: Cast) -> None:
    with_password(cast.ada)
    for position in range(1, 5):
        make_triple(cast.campaign, position)
    assign_parts(cast.campaign, experts=[NAME, "lin"], design="cyclic", seed=1, by=cast.mei)
    for row in cast.ada.assignments.all():
        make_annotation(row, "1", note="a note")
    create_token(cast.ada, "laptop")
    create_invitation(cast.ada, cast.mei)
    AccessLog.objects.create(username=NAME)
    assert NAME.casefold() in everything_stored()
    before = what_stays(cast.ada)

    new = erased(cast)

    assert new == f"erased-{cast.ada.pk}"
    assert NAME.casefold() not in everything_stored()
    assert "example.org" not in everything_stored()
    assert what_stays(cast.ada) == before
    assert before.answers == 4
    assert cast.campaign.memberships.get(user=cast.ada).pseudonym == "A1"
    assert overview(cast.campaign).as_planned  # the plan bears the new name, and fits
    assert new in json.dumps(Design.objects.get().plan)


def test_nobody_gets_in_any_more(cast: Cast) -> None:
    with_password(cast.ada)
    _token, raw = create_token(cast.ada, "laptop")
    _invitation, url = create_invitation(cast.ada, cast.mei)

    new = erased(cast)

    assert token_user(raw) is None
    assert not Token.objects.exists()
    assert not Invitation.objects.exists()
    assert find_invitation(url.split("/")[-2]) is None
    for name in (NAME, new):
        sent = Client().post("/sign-in/", {"username": name, "password": PASSWORD})
        assert sent.status_code == 200  # the form again
        assert "_auth_user_id" not in sent.client.session
    with pytest.raises(Refused, match="erased"):
        reopen(cast.ada, cast.mei)
    with pytest.raises(Refused, match="closed"):
        add_person(cast.otto.memberships.get().campaign, new, "expert", cast.otto)


def test_a_word_that_is_no_name_in_a_record_stays(cast: Cast) -> None:
    User.objects.filter(pk=cast.ada.pk).update(username="main", username_folded="main")
    audit(cast.campaign, cast.mei, "round closed", {"round": "main", "person": "Main"})

    new = erased(cast)

    assert AuditEntry.objects.get(action="round closed").detail == {"round": "main", "person": new}


def test_files_and_tokens_called_after_them_lose_their_names(cast: Cast) -> None:
    audit(cast.campaign, cast.mei, "judgements imported", {"file": f"answers of {NAME}.csv", "added": 3})
    audit(cast.campaign, cast.mei, "items imported", {"file": f"{NAME}ine.csv"})  # another word
    audit(None, cast.ada, "token created", {"name": f"laptop of {NAME.upper()}"})
    sent = SimpleUploadedFile("j.csv", b"triple_id,annotator,label")
    options = {"annotator": NAME}
    upload = uploads.keep(cast.campaign, "judgements", {"file": sent}, options=options, by=cast.mei)

    erased(cast)

    details = AuditEntry.objects.filter(action__in=["judgements imported", "items imported", "token created"])
    assert {entry.action: entry.detail for entry in details} == {
        "judgements imported": {"file": "–", "added": 3},
        "items imported": {"file": f"{NAME}ine.csv"},
        "token created": {"name": "–"},
    }
    with pytest.raises(NotYours):
        uploads.find(cast.campaign, upload.token)


def test_reasons_of_hour_corrections_go(cast: Cast) -> None:
    TimeEntry.objects.create(
        campaign=cast.campaign, user=cast.ada, kind="correction", seconds=60.0, day="2026-01-02",
        reason="at the doctor's", client_key="0b1d3b54-9d1a-4a5b-8c57-6d7c0b0f2c11",
    )  # fmt: skip
    erased(cast)

    assert TimeEntry.objects.get().reason == "–"
    assert TimeEntry.objects.get().seconds == 60.0


def test_it_asks_for_the_word(cast: Cast) -> None:
    with pytest.raises(Refused, match="A1"):
        erase(cast.ada, typed="A2", expected="A1", by=cast.mei)

    cast.ada.refresh_from_db()
    assert cast.ada.erased_at is None


def test_the_last_manager_stays_whoever_asks(cast: Cast) -> None:
    with pytest.raises(Refused, match="without a manager"):
        erase(cast.mei, typed="mei", expected="mei", by=cast.mei)
    add_person(cast.campaign, "wei", "manager", cast.mei)
    erase(cast.mei, typed="mei", expected="mei", by=cast.mei)

    assert cast.campaign.memberships.get(user=cast.mei).pseudonym == "M1"
    with pytest.raises(Refused, match="without a manager"):
        erase(User.objects.get(username="wei"), typed="M2", expected="M2", by=None)


def test_a_manager_whose_account_is_closed_is_nobody_to_leave_a_campaign_to(cast: Cast) -> None:
    other = add_person(cast.campaign, "wei", "manager", cast.mei)
    deactivate(other.user, cast.mei)

    with pytest.raises(Refused, match="without a manager"):
        erase(cast.mei, typed="mei", expected="mei", by=cast.mei)


def test_one_manager_does_not_erase_anothers_people(cast: Cast) -> None:
    add_person(cast.otto.memberships.get().campaign, NAME, "expert", cast.otto)

    with pytest.raises(Refused, match="manages all campaigns") as refusal:
        erased(cast)
    assert NAME not in refusal.value.message


def test_done_twice_it_is_done_once(cast: Cast) -> None:
    assert erased(cast) == erased(cast)
    assert AuditEntry.objects.filter(action="person erased").count() == 1


def test_nothing_goes_where_a_step_fails(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    create_token(cast.ada, "laptop")

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("no audit")

    monkeypatch.setattr("annotation.services.erasure.audit", broken)
    with pytest.raises(RuntimeError):
        erased(cast)

    cast.ada.refresh_from_db()
    assert (cast.ada.username, cast.ada.erased_at) == (NAME, None)
    assert Token.objects.count() == 1
