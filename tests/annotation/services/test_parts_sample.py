"""A random sample of units is given out first, and the rest later."""

from pathlib import Path

import pytest

from annotation.models import Assignment, AuditEntry, Campaign, Design, Membership, PartUnit
from annotation.protocol.errors import ProtocolError
from annotation.services.parts import assign_parts, plan_parts
from annotation.services.people import add_member
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
    triple_campaign,
    triples,
)
from tests.pages import client_of, hidden, text_of

pytestmark = pytest.mark.django_db

ASSIGN = ("assign_parts", "main", "--experts", "ada,bo", "--seed", 5)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Thirty triples for two experts each."""
    return triple_campaign(tmp_path, 30)


def given() -> set[str]:
    return set(PartUnit.objects.values_list("unit__key", flat=True))


def test_it_is_previewed_stored_and_kept_in_the_plan(campaign: Campaign) -> None:
    shown = run_json(*ASSIGN, "--sample", 10, "--preview")
    assert (len(shown["sample"]["units"]), shown["sample"]["n"], shown["sample"]["of"]) == (10, 10, 30)
    assert not Design.objects.exists()
    stored = run_json(*ASSIGN, "--sample", 10)
    assert (stored["hash"], stored["sample"]) == (shown["hash"], shown["sample"])
    assert given() == set(shown["sample"]["units"])
    assert Design.objects.get().plan["sample"] == shown["sample"]
    assert Assignment.objects.count() == 20
    assert AuditEntry.objects.get(action="parts assigned").detail["sample"] == 10
    assert verify(campaign) == []
    assert run_json(*ASSIGN, "--preview")["hash"] != shown["hash"]


def test_repeating_assigns_only_what_is_left_and_then_the_rest(campaign: Campaign, tmp_path: Path) -> None:
    first = run_json(*ASSIGN, "--sample", 10)
    again = run(*ASSIGN, "--sample", 10)
    assert (again.code, "Every unit has its experts already." in again.out) == (0, True)
    assert "Random sample: 10 of 30 units, by the seed 5. 10 of them have experts already." in again.out
    assert Design.objects.count() == 1
    larger = run_json(*ASSIGN, "--sample", 14)
    assert set(first["sample"]["units"]) < set(larger["sample"]["units"]) == given()
    assert sum(part["n_units"] for part in larger["parts"]) == 4
    rest = run_json(*ASSIGN)
    assert "sample" not in rest
    assert sum(part["n_units"] for part in rest["parts"]) == 16
    assert len(given()) == 30
    assert Assignment.objects.count() == 60
    assert verify(campaign) == []


def test_only_begun_units_of_the_sample_are_completed(campaign: Campaign) -> None:
    judge_rows(campaign, [{"triple_id": f"t{i}", "annotator": "ann", "label": "1"} for i in range(1, 31)])
    drawn = run_json(*ASSIGN, "--sample", 12)
    assert drawn["completion"]["n_items"] == 12
    assert given() == set(drawn["sample"]["units"])
    assert Design.objects.get().plan["sample"] == drawn["sample"]
    assert run_json(*ASSIGN)["completion"]["n_items"] == 18


@pytest.mark.parametrize("n", [0, 31])
def test_a_sample_that_cannot_be_drawn_is_a_wrong_call(n: int, campaign: Campaign) -> None:
    ran = run(*ASSIGN, "--sample", n)
    assert (ran.code, "ask for 1 to 30" in ran.err) == (2, True)
    with pytest.raises(ProtocolError):
        plan_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, sample=n)
    assert not Design.objects.exists()


def test_a_compound_is_drawn_as_a_whole(tmp_path: Path) -> None:
    made = new_campaign("compound")
    load_rows(made, compounds(9), tmp_path)
    planned = assign_parts(made, experts=["ada", "bo"], design="single", seed=1, sample=4)
    assert (dict(planned.loads), len(given())) == ({"ada": 10, "bo": 10}, 4)
    assert Assignment.objects.values("unit").distinct().count() == 4


def test_the_page_previews_a_sample_and_stores_it(tmp_path: Path) -> None:
    mei = make_user("mei")
    made = new_campaign()
    add_member(made, mei, Membership.Role.MANAGER)
    load_rows(made, triples(12), tmp_path)
    client, address = client_of(mei), "/campaigns/main/assign/"
    asked = {"names": "ada, bo", "design": "cyclic", "seed": "3", "parts": "", "sample": "5"}
    page = client.post(address, asked)
    assert "Random sample: 5 of 12 units, by the seed 3." in text_of(page)
    sent = {name: hidden(page, name) for name in ("names", "design", "seed", "parts", "sample")}
    assert sent["sample"] == "5"
    planned = plan_parts(made, experts=["ada", "bo"], design="cyclic", seed=3, sample=5)
    client.post(address, {**sent, "hash": planned.hash})
    assert (len(given()), Design.objects.get().plan["sample"]["of"]) == (5, 12)
    refused = client.post(address, {**asked, "sample": "13"})
    assert (refused.status_code, "ask for 1 to 12" in text_of(refused)) == (400, True)
