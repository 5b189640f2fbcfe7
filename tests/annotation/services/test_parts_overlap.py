"""An overlap of a design for one expert per item: a second answer for agreement, the first one's verdict for labels."""

from pathlib import Path

import pytest
from django.db.models import Q

from annotation.models import Assignment, Campaign, FinalLabel
from annotation.services.items import chosen_lines
from annotation.services.labels import finalize, stale_labels
from annotation.services.parts import assign_parts, plan_parts
from annotation.services.verify import verify
from scoring.services.measure import report
from scoring.services.options import Options
from tests.material import answer_everything, compounds, load_rows, new_campaign, run_json

pytestmark = pytest.mark.django_db

THREE = ["ada", "bo", "chen"]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Twelve compounds, one expert each, four of them with a second."""
    made = new_campaign("compound", k=1)
    load_rows(made, compounds(12), tmp_path, system="base")
    assign_parts(made, experts=THREE, design="single", seed=1, overlap=4)
    return made


def second(campaign: Campaign) -> list[Assignment]:
    return list(Assignment.objects.filter(round__campaign=campaign, slot=2))


def test_so_many_units_have_a_second_expert(campaign: Campaign) -> None:
    rows = second(campaign)
    assert len({row.unit_id for row in rows}) == 4
    assert Assignment.objects.filter(slot=1).count() == 60
    assert verify(campaign) == []


def test_the_first_experts_verdict_is_the_label(campaign: Campaign) -> None:
    answer_everything(campaign, lambda row: "1" if row.slot == 1 else "0")
    assert finalize(campaign).labelled == 60
    assert set(FinalLabel.objects.values_list("label", flat=True)) == {"1"}
    assert stale_labels(campaign) == 0
    assert verify(campaign) == []
    assert not any(line.stale for line in chosen_lines(campaign, Q()))


def test_a_change_of_the_second_answer_makes_no_label_stale(campaign: Campaign) -> None:
    answer_everything(campaign, "1")
    finalize(campaign)
    answer_everything(campaign, lambda row: "1" if row.slot == 1 else "0")
    assert stale_labels(campaign) == 60  # everybody saved once more
    finalize(campaign)
    row = second(campaign)[0]
    Assignment.objects.filter(pk=row.pk).update(revision=row.revision + 1)
    assert stale_labels(campaign) == 0


def test_agreement_and_the_noise_rest_on_the_units_that_two_judged(campaign: Campaign) -> None:
    answer_everything(campaign, lambda row: "1" if row.slot == 1 or row.unit_id % 2 else "0")
    agreed = report(campaign, "agreement", Options(resamples=100))
    assert agreed["coefficients"]["raw"]["n"] == 20
    rates = report(campaign, "error-rates", Options(resamples=100))
    assert rates["instance"]["n"] == 60
    assert rates["noise_corrected"] is not None


def test_somebody_beyond_k_without_an_overlap_is_found(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(3), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    row = Assignment.objects.all()[0]
    assert verify(campaign) == []
    row.pk, row.slot, row.position = None, 2, 99
    row.expert = type(row.expert).objects.create_user("bo")
    row.save()
    assert "slot 2" in verify(campaign)[0].where


def test_the_command_shows_and_stores_it(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(6), tmp_path)
    asked = ("assign_parts", campaign.slug, "--experts", "ada,bo", "--overlap", "2")
    shown = run_json(*asked, "--preview")
    assert shown["overlap"] == 2
    assert shown["pairs"] == [{"a": "ada", "b": "bo", "n_items": 10}]
    assert run_json(*asked)["hash"] == shown["hash"]
    assert plan_parts(campaign, experts=["ada"], design="single", seed=1).parts[0].unit_keys == ()


def test_shares_are_given_by_command(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(8), tmp_path)
    done = run_json(
        "assign_parts", campaign.slug, "--experts", "ada,bo", "--design", "quotas", "--quotas", "3,1"
    )
    assert done["loads"] == {"ada": 30, "bo": 10}
    assert verify(campaign) == []
