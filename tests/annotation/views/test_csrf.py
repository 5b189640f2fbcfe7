"""A form in a tab that was open while its owner signed in again elsewhere (c47)."""

import pytest
from django.test import Client

from tests.factories import make_cast

pytestmark = pytest.mark.django_db
HERE = "http://testserver"


def sent(**headers: str) -> str:
    client = Client(enforce_csrf_checks=True, headers=headers)
    client.force_login(make_cast().ada, backend="django.contrib.auth.backends.ModelBackend")
    data = {"csrfmiddlewaretoken": "old", "note": "两个词 <b>", "password": "secret words", "label": "0"}
    response = client.post("/campaigns/main/judge/?position=1", data)
    assert response.status_code == 403
    return response.content.decode()


def test_it_keeps_what_was_sent_and_offers_to_send_it_again() -> None:
    page = sent(Origin=HERE)
    assert 'name="note" value="两个词 &lt;b&gt;"' in page
    assert 'name="label" value="0"' in page
    assert 'action="/campaigns/main/judge/?position=1"' in page
    assert "secret words" not in page


def test_it_never_offers_what_another_site_sent() -> None:
    assert "两个词" not in sent(Origin="https://elsewhere.example")
