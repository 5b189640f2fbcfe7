"""Gold and spot checks as reports for programs: for managers only, since they tell what is hidden."""

import json
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from annotation.models import Campaign, Membership, User
from annotation.services.gold import mark
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from annotation.services.spot_checks import Decision
from scoring.services.measure import MANAGERS_ONLY, REPORTS
from scoring.services.spot_checks import finish, report_of
from tests.annotation.services.test_repeats import expert
from tests.factories import make_user
from tests.material import run, run_json
from tests.scoring.services.test_spot_checks import check, opened, ready

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/campaigns/main/reports/"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    made = ready(tmp_path)
    mark(made, 1, label="1", note="", by=None)
    add_member(made, make_user("vera"), Membership.Role.VIEWER)
    return made


def programs(name: str) -> APIClient:
    client = APIClient()
    client.force_authenticate(User.objects.get(username=name))
    return client


def test_only_managers_get_them(campaign: Campaign) -> None:
    check_round = opened(campaign)
    check(campaign)
    finish(check_round, Decision.ACCEPT, reason="Fine.", by=expert("mei"))
    for kind in sorted(MANAGERS_ONLY):
        assert programs("mei").get(f"{ADDRESS}{kind}/").status_code == 200
        for name in ("vera", "ada", "chen"):
            assert programs(name).get(f"{ADDRESS}{kind}/").status_code == 404


def test_gold_comes_with_its_figures_in_every_format(campaign: Campaign) -> None:
    found = programs("mei").get(f"{ADDRESS}gold/").json()
    assert (found["n_gold"], [one["right"] for one in found["experts"]]) == (1, [1, 1])
    assert found["signature"].startswith("gold|")
    assert found == run_json("report", "main", "--kind", "gold")
    csv = programs("mei").get(f"{ADDRESS}gold/?format=csv")
    assert csv.headers["Content-Type"].startswith("text/csv")
    assert csv.content.decode().splitlines()[1].startswith("A1,1,1,")


def test_gold_is_a_peek_while_answers_are_open(campaign: Campaign) -> None:
    assert peeks_of(campaign) == []
    campaign.rounds.get(kind="main").assignments.filter(item__position=30, slot=1).update(
        revision=0, label="", answered_at=None
    )
    assert programs("mei").get(f"{ADDRESS}gold/").status_code == 200
    assert [peek.kind for peek in peeks_of(campaign)] == ["gold"]


def test_a_spot_check_is_there_once_everything_is_checked(campaign: Campaign) -> None:
    client = programs("mei")
    none = client.get(f"{ADDRESS}spot-check/")
    assert (none.status_code, "no such spot check" in str(none.json())) == (400, True)
    first = opened(campaign)
    waiting = client.get(f"{ADDRESS}spot-check/")
    assert (waiting.status_code, "items still to be judged 10" in str(waiting.json())) == (400, True)

    check(campaign, wrong=3)

    found = client.get(f"{ADDRESS}spot-check/").json()
    assert found == report_of(first)
    assert (found["checked"], found["errors"], len(found["errors_found"])) == (10, 3, 6)
    assert found["ci95"][0] < found["percent"] < found["ci95"][1]
    assert client.get(f"{ADDRESS}spot-check/?number=2").status_code == 400
    assert run_json("report", "main", "--kind", "spot-check", "--number", 1)["errors"] == 3


def test_a_stopped_check_has_none_and_a_number_chooses_among_several(campaign: Campaign) -> None:
    finish(opened(campaign), Decision.STOPPED, reason="Wrong parts.", by=expert("mei"))
    assert run("report", "main", "--kind", "spot-check", "--json").code == 1
    assert "stopped" in str(programs("mei").get(f"{ADDRESS}spot-check/?number=1").json())


def test_programs_can_read_which_kinds_there_are(campaign: Campaign) -> None:
    given = programs("mei").get("/api/schema/", headers={"accept": "application/vnd.oai.openapi+json"})
    schema = json.loads(given.content)
    parameters = schema["paths"]["/api/v1/campaigns/{slug}/reports/{kind}/"]["get"]["parameters"]
    (kind,) = (one for one in parameters if one["name"] == "kind")
    assert set(kind["schema"]["enum"]) == set(REPORTS)
    assert "gold, spot-check" in kind["description"]
