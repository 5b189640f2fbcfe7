"""What programs are told where there is nothing for them: always JSON, with a sentence and a code."""

import pytest
from django.test import Client

from tests.factories import Cast, make_cast, signed_in

NOTHING = {"detail": "There is nothing here, or it is not yours to see.", "code": "not_found"}


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.mark.parametrize(
    "address",
    [
        "/api/",
        "/api/v1/",
        "/api/v2/campaigns/",
        "/api/v1/campaigns/main/nothing/",
        "/api/v1/campaigns/main/units/x/answers/",
        "/api/v1/campaigns/main/next/more/",
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_an_address_that_there_is_not_answers_in_json(address: str, method: str, cast: Cast) -> None:
    for client in (Client(), signed_in(cast.ada)):
        response = client.generic(method.upper(), address, "{}", "application/json")

        assert response.status_code == 404
        assert response.headers["Content-Type"] == "application/json"
        assert response.json() == NOTHING


def test_a_page_that_there_is_not_stays_a_page(cast: Cast) -> None:
    response = signed_in(cast.ada).get("/nothing/api/")

    assert response.status_code == 404
    assert "text/html" in response.headers["Content-Type"]


def test_no_address_describes_itself_to_who_has_no_role_there(cast: Cast) -> None:
    """c51: what a manager's address is for is nobody else's to read."""
    for user in (cast.ada, cast.otto, cast.mei):
        response = signed_in(user).options("/api/v1/campaigns/main/annotations/")

        assert response.status_code == 405
        assert "description" not in response.json()
