"""The description of the interface: valid, complete, and no request that follows it ends in a 500."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, Phase, settings

from annotation.models import Campaign, Membership, User
from annotation.services.access import create_token
from annotation.services.parts import assign_parts
from config.wsgi import application
from tests.factories import make_user
from tests.material import load_rows, new_campaign, triples

pytestmark = pytest.mark.django_db


def test_it_describes_itself_without_a_warning(tmp_path: Path) -> None:
    target = tmp_path / "schema.yml"
    call_command("spectacular", "--validate", "--fail-on-warn", file=str(target))
    described = target.read_text()
    for path in ("items", "labels", "annotations", "reports/{kind}", "next", "units/{unit}/answers"):
        assert f"/api/v1/campaigns/{{slug}}/{path}/:" in described
    assert "scheme: bearer" in described


def test_it_shows_its_description() -> None:
    answer = Client().get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert answer.status_code == 200
    assert json.loads(answer.content)["info"]["title"] == "Assay"


@pytest.fixture
def tokens(tmp_path: Path) -> list[str]:
    """Of a manager and of an expert with work to do."""
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    mei = make_user("mei")
    Membership.objects.create(campaign=Campaign.objects.get(), user=mei, role="manager", pseudonym="M1")
    return [create_token(user, "fuzz")[1] for user in (mei, User.objects.get(username="ada"))]


@pytest.fixture
def in_process() -> Iterator[None]:
    """The application as a server calls it, but on the connection of the test, which a request must not close."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


def test_it_never_breaks_on_what_its_description_allows(tokens: list[str], in_process: None) -> None:
    import schemathesis
    from schemathesis.core.result import Ok

    schema = schemathesis.openapi.from_wsgi(
        "/api/schema/", application, headers={"Authorization": f"Bearer {tokens[0]}"}
    )
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) >= 10
    answered = {status for operation in operations for status in _fuzz(operation, tokens)}
    assert {200, 400, 404} <= answered


def _fuzz(operation: Any, tokens: list[str]) -> set[int]:
    """Everybody sends what the description allows; returns what was answered."""
    from hypothesis import given

    answered: set[int] = set()

    @given(case=operation.as_strategy())
    @settings(
        max_examples=4,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        if "slug" in case.path_parameters:
            case.path_parameters["slug"] = "main"
        for token in tokens:
            answer = case.call(headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code < 500, (operation.label, answer.status_code, case.as_curl_command())
            answered.add(answer.status_code)

    send()
    return answered
