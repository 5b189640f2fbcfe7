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


@pytest.mark.parametrize(
    ("address", "unknown", "known"),
    [
        ("campaigns/?page=999", "page", "there are none"),
        ("campaigns/main/items/?fromat=csv", "fromat", "there are: format, after, size"),
        (
            "campaigns/main/labels/?unlabelled=yes&Size=3",
            "Size",
            "there are: format, after, size, unlabelled",
        ),
        ("campaigns/main/plan/?goal=rate&off=1", "off", "there are: goal, of, width, "),
        ("campaigns/main/reports/agreement/?kind=agreement", "kind", "there are: system, run, round, "),
        ("campaigns/main/leaderboard/?format=csv", "format", "there are: split, release"),
    ],
)
def test_a_parameter_that_there_is_not_is_named(address: str, unknown: str, known: str, cast: Cast) -> None:
    response = signed_in(cast.mei).get(f"/api/v1/{address}")

    assert response.status_code == 400
    assert response.json()["code"] == "invalid"
    assert response.json()["detail"].startswith(f"There is no parameter “{unknown}” here; {known}")
    assert Client().get(f"/api/v1/{address}").status_code == 401
    assert signed_in(cast.mei).head(f"/api/v1/{address}").status_code == 400


def test_each_method_has_parameters_of_its_own(cast: Cast) -> None:
    for method in ("get", "post"):
        response = signed_in(cast.mei).generic(
            method.upper(), "/api/v1/campaigns/main/submissions/?system=a", "{}", "application/json"
        )
        assert response.status_code == 400
        assert "no parameter “system” here; there are none" in response.json()["detail"]


def test_json_may_be_asked_for_everywhere(cast: Cast) -> None:
    client = signed_in(cast.mei)
    assert client.get("/api/v1/campaigns/main/?format=json").status_code == 200
    assert client.get("/api/v1/campaigns/main/?format=json&format=csv").status_code == 400
