"""Coming in and going out, one's own account, language and colours."""

import re
from http import HTTPStatus
from unittest import mock

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from annotation.models import Token, User
from annotation.services.access import create_token, token_user
from tests.factories import (
    PASSWORD,
    Cast,
    answer,
    make_assignment,
    make_cast,
    make_triple,
    make_user,
    signed_in,
    with_password,
)


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def is_signed_in(client: Client) -> bool:
    return client.get("/").status_code == HTTPStatus.OK


# Sign in and out


def test_it_sends_a_stranger_to_the_sign_in_page(db: None, client: Client) -> None:
    response = client.get("/", follow=True)

    assert response.redirect_chain == [("/sign-in/?next=/", 302)]
    assert response.status_code == HTTPStatus.OK
    assert "annotation/sign_in.html" in [template.name for template in response.templates]


@pytest.mark.parametrize("name", ["ada", "ADA", "ａｄａ", " Ada "])
def test_it_signs_in_whatever_the_case_and_width_of_the_name(cast: Cast, client: Client, name: str) -> None:
    """c48: one way to sign in, however the name is typed."""
    with_password(cast.ada)

    response = client.post("/sign-in/", {"username": name, "password": PASSWORD})

    assert (response.status_code, response["Location"]) == (302, "/")
    assert is_signed_in(client)


def test_it_says_one_sentence_for_a_wrong_name_and_a_wrong_password(cast: Cast, client: Client) -> None:
    with_password(cast.ada)

    wrong_password = client.post("/sign-in/", {"username": "ada", "password": "wrong password"})
    wrong_name = client.post("/sign-in/", {"username": "nobody", "password": PASSWORD})

    for response in (wrong_password, wrong_name):
        assert response.status_code == HTTPStatus.OK
        assert "Name and password do not match" in response.content.decode()
    assert not is_signed_in(client)


def test_it_signs_in_nobody_whose_account_is_closed(cast: Cast, client: Client) -> None:
    with_password(cast.ada)
    User.objects.filter(pk=cast.ada.pk).update(is_active=False)

    response = client.post("/sign-in/", {"username": "ada", "password": PASSWORD})

    assert "Name and password do not match" in response.content.decode()
    assert not is_signed_in(client)


def test_it_signs_in_nobody_without_a_password(cast: Cast, client: Client) -> None:
    client.post("/sign-in/", {"username": "ada", "password": ""})
    client.post("/sign-in/", {"username": "ada", "password": "!"})

    assert not is_signed_in(client)


@pytest.mark.parametrize(
    ("target", "goes_to"),
    [
        ("/account/", "/account/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ],
)
def test_it_goes_on_to_pages_of_ours_only(cast: Cast, client: Client, target: str, goes_to: str) -> None:
    with_password(cast.ada)

    response = client.post("/sign-in/", {"username": "ada", "password": PASSWORD, "next": target})

    assert response["Location"] == goes_to


def test_it_locks_the_door_after_too_many_wrong_passwords_whatever_the_spelling(
    cast: Cast, client: Client
) -> None:
    with_password(cast.ada)
    spellings = ["ada", "Ada", "ADA", "ａｄａ", "aDa", "adA", "ＡＤＡ", "aDA", "AdA", "ada"]
    for name in spellings[:-1]:
        assert client.post("/sign-in/", {"username": name, "password": "wrong"}).status_code == HTTPStatus.OK

    locked = client.post("/sign-in/", {"username": spellings[-1], "password": "wrong"})
    right = client.post("/sign-in/", {"username": "ada", "password": PASSWORD})

    for response in (locked, right):
        assert response.status_code == HTTPStatus.TOO_MANY_REQUESTS
        assert "quarter of an hour" in response.content.decode()
    assert not is_signed_in(client)


def test_it_locks_one_name_and_not_the_others(cast: Cast, client: Client) -> None:
    with_password(cast.lin)
    for _attempt in range(10):
        client.post("/sign-in/", {"username": "ada", "password": "wrong"})

    response = client.post("/sign-in/", {"username": "lin", "password": PASSWORD})

    assert response.status_code == HTTPStatus.FOUND


def test_it_signs_out_by_post_only(cast: Cast) -> None:
    client = signed_in(cast.ada)

    assert client.get("/sign-out/").status_code == HTTPStatus.METHOD_NOT_ALLOWED
    assert is_signed_in(client)
    response = client.post("/sign-out/")

    assert response["Location"] == "/sign-in/"
    assert not is_signed_in(client)


def test_it_keeps_every_page_out_of_caches(cast: Cast) -> None:
    assert signed_in(cast.ada).get("/account/")["Cache-Control"] == "no-store"


# One's own account


def test_it_changes_the_password_and_ends_other_sign_ins(cast: Cast) -> None:
    with_password(cast.ada)
    here, elsewhere = signed_in(cast.ada), signed_in(cast.ada)
    new = "eight quiet lakes"

    response = here.post(
        "/account/password/", {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    )

    assert response["Location"] == "/account/"
    assert is_signed_in(here)
    assert not is_signed_in(elsewhere)
    cast.ada.refresh_from_db()
    assert cast.ada.check_password(new)


def test_it_changes_no_password_without_the_old_one(cast: Cast) -> None:
    with_password(cast.ada)
    new = "eight quiet lakes"

    response = signed_in(cast.ada).post(
        "/account/password/", {"old_password": "wrong", "new_password1": new, "new_password2": new}
    )

    assert response.status_code == HTTPStatus.OK
    cast.ada.refresh_from_db()
    assert cast.ada.check_password(PASSWORD)


def test_it_shows_a_new_token_once(cast: Cast) -> None:
    client = signed_in(cast.ada)

    response = client.post("/account/tokens/", {"name": "laptop"})

    raw = response.context["raw_token"]
    assert token_user(raw) == cast.ada
    assert raw in response.content.decode()
    again = client.get("/account/").content.decode()
    assert "laptop" in again
    assert raw not in again
    assert raw not in client.cookies.output()


def test_an_expert_reads_what_is_recorded_before_a_program_may_judge(cast: Cast) -> None:
    User.objects.update(notice_read_at=None)
    client = signed_in(cast.ada)
    page = client.get("/account/").content.decode()
    assert 'action="/account/tokens/"' not in page
    assert 'href="/recorded/?next=/account/"' in page
    refused = client.post("/account/tokens/", {"name": "laptop"})
    assert refused.headers["Location"] == "/recorded/?next=%2Faccount%2F"
    assert not Token.objects.exists()
    client.post("/recorded/")
    assert 'action="/account/tokens/"' in client.get("/account/").content.decode()
    signed_in(cast.mei).post("/account/tokens/", {"name": "report"})  # nothing is recorded of how she judges
    assert Token.objects.get().user == cast.mei


def test_it_makes_no_token_without_a_name(cast: Cast) -> None:
    response = signed_in(cast.ada).post("/account/tokens/", {"name": " "})

    assert "This field is required" in response.content.decode()
    assert not Token.objects.exists()


def test_it_comes_back_to_the_account_page_from_the_page_that_shows_a_token(cast: Cast) -> None:
    response = signed_in(cast.ada).post("/account/tokens/", {"name": "laptop"})

    assert '<input type="hidden" name="next" value="/account/">' in response.content.decode()
    assert 'value="/account/tokens/"' not in response.content.decode()


def test_it_revokes_ones_own_token(cast: Cast) -> None:
    token, raw = create_token(cast.ada, "laptop")

    response = signed_in(cast.ada).post(f"/account/tokens/{token.pk}/revoke/", follow=True)

    assert token_user(raw) is None
    assert "The token “laptop” is revoked." in response.content.decode()


def test_it_does_not_know_somebody_elses_token(cast: Cast) -> None:
    token, raw = create_token(cast.ada, "Adas notebook")

    response = signed_in(cast.mei).post(f"/account/tokens/{token.pk}/revoke/")

    assert response.status_code == HTTPStatus.NOT_FOUND
    assert token_user(raw) == cast.ada
    assert "Adas notebook" not in signed_in(cast.mei).get("/account/").content.decode()


# Home


def test_it_shows_ones_own_campaigns_only(cast: Cast) -> None:
    shown = signed_in(cast.otto).get("/").content.decode()

    assert "Other" in shown
    assert "Main" not in shown


def test_it_leads_an_expert_on_to_their_work(cast: Cast) -> None:
    client = signed_in(cast.ada)
    item = make_triple(cast.campaign, 1)
    assert "Nothing has been given to you yet." in client.get("/").content.decode()

    assignment = make_assignment(item, cast.ada)
    assert ">Start<" in client.get("/").content.decode()
    make_assignment(make_triple(cast.campaign, 2), cast.ada)
    answer(assignment)

    shown = client.get("/").content.decode()
    assert ">Continue<" in shown
    assert 'href="/campaigns/main/work/"' in shown
    assert '<progress value="1" max="2"' in shown


def test_it_shows_an_expert_nothing_of_anybody_else(cast: Cast) -> None:
    answer(make_assignment(make_triple(cast.campaign, 1), cast.lin))

    shown = signed_in(cast.ada).get("/").content.decode()

    assert not re.search(r"\b(lin|A2)\b", shown)
    assert "1 / 1" not in shown


def test_it_tells_somebody_without_a_campaign_what_to_do(cast: Cast) -> None:
    shown = signed_in(make_user("nora")).get("/").content.decode()

    assert "No campaign yet" in shown
    assert "as soon as a manager adds you" in shown


# Language and colours


def test_it_speaks_the_language_that_was_chosen(cast: Cast) -> None:
    client = signed_in(cast.ada)

    response = client.post("/language/", {"language": "zh-hans", "next": "/account/"})

    assert response["Location"] == "/account/"
    shown = client.get("/account/").content.decode()
    assert '<html lang="zh-Hans"' in shown
    assert "我的账号" in shown
    client.post("/language/", {"language": "en", "next": "/account/"})
    assert '<html lang="en"' in client.get("/account/").content.decode()


def test_it_speaks_the_browsers_language_at_first(db: None, client: Client) -> None:
    shown = client.get("/sign-in/", headers={"accept-language": "zh-CN,zh;q=0.9,en;q=0.5"}).content.decode()

    assert '<html lang="zh-Hans"' in shown
    assert "登录" in shown


def test_it_keeps_the_colours_that_were_chosen(db: None, client: Client) -> None:
    assert "data-theme" not in client.get("/sign-in/").content.decode()

    client.post("/theme/", {"theme": "dark", "next": "/sign-in/"})
    assert '<html lang="en" data-theme="dark">' in client.get("/sign-in/").content.decode()

    client.post("/theme/", {"theme": "device", "next": "/sign-in/"})
    assert "data-theme" not in client.get("/sign-in/").content.decode()


def test_it_puts_no_foreign_word_into_the_page_from_the_cookie(db: None, client: Client) -> None:
    client.cookies["assay_theme"] = '"><script>'

    assert "data-theme" not in client.get("/sign-in/").content.decode()


@pytest.mark.parametrize("address", ["/language/", "/theme/"])
def test_it_returns_to_pages_of_ours_only(db: None, client: Client, address: str) -> None:
    sent = {"theme": "dark", "language": "en", "next": "https://evil.example/"}

    assert client.post(address, sent)["Location"] == "/"


# Health


def test_it_says_that_it_is_up(db: None, client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (HTTPStatus.OK, b"ok\n")
    assert not response.cookies


def test_it_says_that_the_database_is_away(db: None, client: Client) -> None:
    with mock.patch.object(connection, "cursor", side_effect=DatabaseError("a host name")):
        response = client.get("/healthz")

    assert response.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert b"host" not in response.content
