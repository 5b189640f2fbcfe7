"""A personal link: it greets, sets one password, signs in, and is over."""

import re
from datetime import timedelta
from http import HTTPStatus

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Invitation, User
from annotation.services.access import create_invitation
from tests.factories import PASSWORD, Cast, make_cast, signed_in, with_password


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def is_signed_in(client: Client) -> bool:
    return client.get("/").status_code == HTTPStatus.OK


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def test_it_greets_the_invited_by_name_and_changes_nothing(cast: Cast, client: Client) -> None:
    path = path_of(create_invitation(cast.ada, cast.mei)[1])

    for _time in range(3):  # a mail scanner looks first
        response = client.get(path)

    assert response.status_code == HTTPStatus.OK
    assert "Welcome, ada" in response.content.decode()
    assert Invitation.objects.get().used_at is None


def test_it_sets_the_password_and_signs_in(cast: Cast, client: Client) -> None:
    path = path_of(create_invitation(cast.ada, cast.mei)[1])

    response = client.post(path, {"new_password1": PASSWORD, "new_password2": PASSWORD}, follow=True)

    assert response.redirect_chain == [("/", 302)]
    assert response.context["user"] == cast.ada
    other = Client()
    other.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    assert is_signed_in(other)


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ("short", "short", "too short"),
        ("password123", "password123", "too common"),
        (PASSWORD, PASSWORD + "!", "match"),
    ],
)
def test_it_keeps_the_link_good_when_the_password_is_refused(
    cast: Cast, client: Client, first: str, second: str, sentence: str
) -> None:
    path = path_of(create_invitation(cast.ada, cast.mei)[1])

    response = client.post(path, {"new_password1": first, "new_password2": second})

    assert response.status_code == HTTPStatus.OK
    assert sentence in response.content.decode()
    assert Invitation.objects.get().used_at is None


def test_it_answers_a_used_link_as_gone(cast: Cast, client: Client) -> None:
    path = path_of(create_invitation(cast.ada, cast.mei)[1])
    client.post(path, {"new_password1": PASSWORD, "new_password2": PASSWORD})
    stranger = Client()

    shown = stranger.get(path)
    sent = stranger.post(path, {"new_password1": "another password", "new_password2": "another password"})

    for response in (shown, sent):
        assert response.status_code == HTTPStatus.GONE
        assert "This link does not work" in response.content.decode()
    assert not is_signed_in(stranger)


def test_it_answers_every_dead_link_with_one_page(cast: Cast, client: Client) -> None:
    expired = path_of(create_invitation(cast.ada, cast.mei)[1])
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=1))
    replaced = path_of(create_invitation(cast.lin, cast.mei)[1])
    create_invitation(cast.lin, cast.mei)
    closed = path_of(create_invitation(cast.vera, cast.mei)[1])
    User.objects.filter(pk=cast.vera.pk).update(is_active=False)

    answers = [client.get(path) for path in (expired, replaced, closed, "/invitation/unknown/")]

    assert [response.status_code for response in answers] == [410, 410, 410, 404]
    for response in answers:
        assert "ask your manager for a new link" in response.content.decode()
        assert not re.search(r"\b(ada|lin|vera)\b", response.content.decode())


def test_it_lets_the_second_of_two_who_use_one_link_at_once_out(
    cast: Cast, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(create_invitation(cast.ada, cast.mei)[1])
    monkeypatch.setattr("annotation.views.accounts.is_open", lambda invitation: True)  # both looked before
    client.post(path, {"new_password1": PASSWORD, "new_password2": PASSWORD})
    late = Client()

    response = late.post(path, {"new_password1": "another password", "new_password2": "another password"})

    assert response.status_code == HTTPStatus.GONE
    cast.ada.refresh_from_db()
    assert cast.ada.check_password(PASSWORD)


def test_it_ends_what_was_signed_in_before_a_forgotten_password_was_replaced(cast: Cast) -> None:
    with_password(cast.ada, "an older password")
    before = signed_in(cast.ada)
    path = path_of(create_invitation(cast.ada, cast.mei)[1])

    Client().post(path, {"new_password1": PASSWORD, "new_password2": PASSWORD})

    assert not is_signed_in(before)


def test_it_opens_a_locked_door_with_an_invitation(cast: Cast, client: Client) -> None:
    with_password(cast.ada, "an older password")
    for _attempt in range(10):
        client.post("/sign-in/", {"username": "ada", "password": "wrong"})
    path = path_of(create_invitation(cast.ada, cast.mei)[1])

    client.post(path, {"new_password1": PASSWORD, "new_password2": PASSWORD})
    client.post("/sign-out/")
    client.post("/sign-in/", {"username": "ada", "password": PASSWORD})

    assert is_signed_in(client)


@pytest.mark.parametrize("known", [True, False])
def test_it_tells_the_address_of_a_link_to_nobody(cast: Cast, client: Client, known: bool) -> None:
    path = path_of(create_invitation(cast.ada, cast.mei)[1]) if known else "/invitation/unknown/"

    response = client.get(path)

    assert response["Referrer-Policy"] == "strict-origin"
    assert response["Cache-Control"] == "no-store"
    assert "http://" not in response.content.decode().replace("http://www.w3.org", "")
