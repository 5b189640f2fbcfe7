"""Invitations and tokens: the secret goes out once, is stored as a hash, and works once."""

import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth import authenticate
from django.test import RequestFactory
from django.utils import timezone

from annotation.models import AuditEntry, Invitation, Token, User
from annotation.services.access import (
    accept_invitation,
    create_invitation,
    create_token,
    find_invitation,
    is_open,
    revoke_token,
    token_user,
)
from annotation.services.errors import NotYours, Refused
from tests.factories import PASSWORD, Cast, make_campaign, make_cast, make_member, make_user


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def secret(url: str) -> str:
    return url.rstrip("/").rsplit("/", 1)[1]


# Invitations


def test_it_makes_a_link_under_the_public_address_for_two_weeks(cast: Cast, settings: object) -> None:
    settings.ASSAY_URL = "https://assay.example.org"  # type: ignore[attr-defined]

    invitation, url = create_invitation(cast.ada, cast.mei)

    assert url == f"https://assay.example.org/invitation/{secret(url)}/"
    assert abs(invitation.expires_at - timezone.now() - timedelta(days=14)) < timedelta(minutes=1)
    assert invitation.created_by == cast.mei


def test_it_stores_only_the_hash_of_a_link(cast: Cast) -> None:
    invitation, url = create_invitation(cast.ada, cast.mei)

    assert len(secret(url)) >= 43  # 256 bits
    assert invitation.token_hash == hashlib.sha256(secret(url).encode()).hexdigest()
    assert not AuditEntry.objects.filter(detail__icontains=secret(url)).exists()


def test_it_sets_the_password_and_uses_the_link_up(cast: Cast) -> None:
    invitation, url = create_invitation(cast.ada, cast.mei)

    user = accept_invitation(secret(url), PASSWORD)

    assert user == cast.ada
    invitation.refresh_from_db()
    assert invitation.used_at is not None
    assert authenticate(RequestFactory().post("/"), username="ADA", password=PASSWORD) == cast.ada


def test_it_takes_a_link_only_once(cast: Cast) -> None:
    _invitation, url = create_invitation(cast.ada, cast.mei)
    accept_invitation(secret(url), PASSWORD)

    with pytest.raises(NotYours):
        accept_invitation(secret(url), "another long password")

    cast.ada.refresh_from_db()
    assert cast.ada.check_password(PASSWORD)


def test_it_refuses_an_expired_link(cast: Cast) -> None:
    invitation, url = create_invitation(cast.ada, cast.mei, days=1)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    with pytest.raises(NotYours):
        accept_invitation(secret(url), PASSWORD)

    invitation.refresh_from_db()
    assert invitation.used_at is None
    cast.ada.refresh_from_db()
    assert not cast.ada.has_usable_password()


def test_it_ends_older_links_when_a_new_one_is_made(cast: Cast) -> None:
    _first, old = create_invitation(cast.ada, cast.mei)
    _second, new = create_invitation(cast.ada, cast.mei)

    with pytest.raises(NotYours):
        accept_invitation(secret(old), PASSWORD)
    assert accept_invitation(secret(new), PASSWORD) == cast.ada


def test_it_refuses_a_link_of_a_closed_account(cast: Cast) -> None:
    _invitation, url = create_invitation(cast.ada, cast.mei)
    User.objects.filter(pk=cast.ada.pk).update(is_active=False)
    found = find_invitation(secret(url))

    assert found is not None
    assert not is_open(found)
    with pytest.raises(NotYours):
        accept_invitation(secret(url), PASSWORD)


def test_it_makes_no_link_for_a_closed_account(cast: Cast) -> None:
    cast.ada.is_active = False

    with pytest.raises(Refused, match="closed"):
        create_invitation(cast.ada, cast.mei)

    assert not Invitation.objects.exists()


def test_it_lets_no_manager_open_the_account_of_an_administrator(cast: Cast) -> None:
    root = User.objects.create_superuser("root")
    make_member(cast.campaign, root, "expert", "A3")

    with pytest.raises(Refused):
        create_invitation(root, cast.mei)


def test_it_lets_no_manager_open_an_account_that_works_elsewhere_too(cast: Cast) -> None:
    other = make_campaign("third")
    make_member(other, cast.ada, "expert", "A1")

    with pytest.raises(Refused, match="manages all campaigns"):
        create_invitation(cast.ada, cast.mei)
    with pytest.raises(Refused):
        create_invitation(make_user("nobody"), cast.mei)

    make_member(other, cast.mei, "manager", "M1")
    assert create_invitation(cast.ada, cast.mei)[0].user == cast.ada


def test_it_lets_the_command_line_and_superusers_invite_everybody(cast: Cast) -> None:
    root = User.objects.create_superuser("root")

    assert create_invitation(root, None)[0].user == root
    assert create_invitation(cast.otto, root)[0].user == cast.otto


def test_it_finds_nothing_for_an_unknown_link(cast: Cast) -> None:
    assert find_invitation("nothing") is None
    with pytest.raises(NotYours):
        accept_invitation("nothing", PASSWORD)


# Tokens


def test_it_stores_only_the_hash_of_a_token(cast: Cast) -> None:
    token, raw = create_token(cast.ada, " laptop ")

    assert raw.startswith("assay_")
    assert token.name == "laptop"
    assert token.token_hash == hashlib.sha256(raw.encode()).hexdigest()
    assert not AuditEntry.objects.filter(detail__icontains=raw).exists()


def test_it_knows_the_owner_of_a_token_in_one_query(
    cast: Cast, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    _token, raw = create_token(cast.ada, "laptop")
    create_token(cast.lin, "laptop")

    with django_assert_num_queries(1):  # type: ignore[operator]
        assert token_user(raw) == cast.ada


@pytest.mark.parametrize("raw", ["", "assay_", "assay_nothing", "ä" * 50, "assay_\x00"])
def test_it_knows_nobody_for_what_is_no_token(cast: Cast, raw: str) -> None:
    create_token(cast.ada, "laptop")

    assert token_user(raw) is None


def test_it_does_not_take_the_hash_for_the_token(cast: Cast) -> None:
    token, _raw = create_token(cast.ada, "laptop")

    assert token_user(token.token_hash) is None
    assert token_user(f"assay_{token.token_hash}") is None


def test_it_knows_nobody_for_a_revoked_token(cast: Cast) -> None:
    token, raw = create_token(cast.ada, "laptop")
    _other, kept = create_token(cast.ada, "server")

    revoke_token(cast.ada, token.pk)

    assert token_user(raw) is None
    assert token_user(kept) == cast.ada


def test_it_keeps_the_hour_of_the_first_revocation(cast: Cast) -> None:
    token, _raw = create_token(cast.ada, "laptop")
    first = revoke_token(cast.ada, token.pk).revoked_at

    assert revoke_token(cast.ada, token.pk).revoked_at == first
    assert AuditEntry.objects.filter(action="token revoked").count() == 1


def test_it_revokes_nobody_elses_token(cast: Cast) -> None:
    token, raw = create_token(cast.ada, "laptop")

    with pytest.raises(NotYours):
        revoke_token(cast.mei, token.pk)

    assert token_user(raw) == cast.ada


def test_it_knows_nobody_for_a_token_of_a_closed_account(cast: Cast) -> None:
    _token, raw = create_token(cast.ada, "laptop")
    User.objects.filter(pk=cast.ada.pk).update(is_active=False)

    assert token_user(raw) is None


@pytest.mark.parametrize("name", ["", "   ", "x" * 101])
def test_it_wants_a_name_for_a_token(cast: Cast, name: str) -> None:
    with pytest.raises(Refused, match="1 to 100"):
        create_token(cast.ada, name)

    assert not Token.objects.exists()
