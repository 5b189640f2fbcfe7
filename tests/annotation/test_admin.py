"""The admin: superusers look, and change next to nothing."""

import pytest
from django.contrib import admin
from django.test import Client

from annotation.models import Item, User
from tests.factories import Cast, answer, make_assignment, make_cast, make_triple
from tests.pages import body_of, client_of

pytestmark = pytest.mark.django_db

OURS = [model for model in admin.site._registry if model._meta.app_label in ("annotation", "scoring")]


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    answer(
        make_assignment(make_triple(cast.campaign, 1, tail="<script>alert(1)</script> {{ 7*7 }}"), cast.ada)
    )
    return cast


@pytest.fixture
def root() -> Client:
    return client_of(User.objects.create_superuser("root"))


@pytest.mark.parametrize("model", OURS, ids=lambda model: model._meta.model_name)
def test_it_lists_rows_and_lets_nobody_add_or_delete_any(model: type[Item], cast: Cast, root: Client) -> None:
    base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"

    assert root.get(base).status_code == 200
    assert root.get(base + "add/").status_code == 403
    row = model._default_manager.first()
    if row is not None:
        assert root.get(f"{base}{row.pk}/change/").status_code == 200
        assert root.get(f"{base}{row.pk}/delete/").status_code == 403


def test_it_shows_markup_in_texts_literally(cast: Cast, root: Client) -> None:
    body = body_of(root.get("/admin/annotation/item/"))

    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ 7*7 }}" in body
    assert "<script>alert(1)" not in body


def test_it_closes_accounts_but_changes_no_names(cast: Cast, root: Client) -> None:
    address = f"/admin/annotation/user/{cast.ada.pk}/change/"

    root.post(address, {"username": "other", "email": "", "is_staff": "on"})

    cast.ada.refresh_from_db()
    assert (cast.ada.username, cast.ada.is_active, cast.ada.is_staff) == ("ada", False, True)
