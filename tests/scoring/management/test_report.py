"""The report command: one document on stdout, in the format asked for."""

import json
from pathlib import Path

import pytest

from annotation.models import Campaign
from annotation.services.parts import assign_parts
from scoring.management.commands.report import USES
from scoring.services.measure import REPORTS
from tests.material import answer_everything, compounds, load_rows, new_campaign, run

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Two compounds judged by one expert."""
    made = new_campaign("compound")
    load_rows(made, compounds(2), tmp_path, system="base")
    assign_parts(made, experts=["ada"], design="single", seed=1)
    answer_everything(made, "1")
    return made


def test_it_prints_markdown_for_people(campaign: Campaign) -> None:
    ran = run("report", campaign.slug, "--kind", "error-rates")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("**Error rates, by context**")
    assert "Signature: `" in ran.out


def test_it_takes_json_by_either_name(campaign: Campaign) -> None:
    by_format = run("report", campaign.slug, "--kind", "error-rates", "--format", "json")
    assert by_format.document == run("report", campaign.slug, "--kind", "error-rates", "--json").document
    assert (by_format.code, by_format.err) == (0, "")
    failed = run("report", campaign.slug, "--kind", "statistics", "--format", "json")
    assert failed.code == 1
    assert failed.document["errors"][0]["message"] in failed.err


def test_it_writes_to_a_file_and_says_so(campaign: Campaign, tmp_path: Path) -> None:
    target = tmp_path / "rates.json"
    ran = run("report", campaign.slug, "--kind", "error-rates", "--json", "-o", target)
    assert ran.document == {"output": str(target)}
    assert json.loads(target.read_text())["instance"]["n"] == 10
    ran = run("report", campaign.slug, "--kind", "error-rates", "-o", tmp_path / "rates.md")
    assert ran.out.strip() == f"Written to {tmp_path / 'rates.md'}."
    assert (tmp_path / "rates.md").read_text().startswith("**Error rates, by context**")
    ran = run("report", campaign.slug, "--kind", "error-rates", "-o", tmp_path / "none" / "x.md")
    assert ran.code == 1
    assert "cannot be written" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.csv", "rates.json", "rates.md"]


def test_it_holds_the_keys_of_the_contract(campaign: Campaign) -> None:
    rates = run("report", campaign.slug, "--kind", "error-rates", "--json").document
    assert set(rates) >= {
        "campaign", "system", "run", "n_items", "cannot_judge", "instance", "aggregate", "all_contexts_wrong", "by",
        "wrong_contexts_histogram", "labels", "signature",
    }  # fmt: skip
    assert set(rates["by"]) >= {"type", "pattern", "words", "atoms"}
    assert set(rates["aggregate"]) >= {"n", "errors", "percent", "ci95", "undecided", "bounds"}
    assert set(rates["instance"]) >= {"n", "errors", "percent", "ci95"}
    assert set(rates["labels"]) >= {"rule", "version"}
    agreement = run("report", campaign.slug, "--kind", "agreement", "--json").document
    assert set(agreement) >= {
        "n_items", "coefficients", "mean_over_pairs", "pairs", "by", "after_resolution", "signature",
    }  # fmt: skip
    assert set(agreement["coefficients"]) >= {
        "raw", "contrast", "cohen", "cohen_linear", "cohen_quadratic", "fleiss", "alpha_nominal", "alpha_ordinal",
        "alpha_interval", "gwet_ac1", "gwet_ac2",
    }  # fmt: skip
    for found in agreement["coefficients"].values():
        assert set(found) >= {"value", "ci95", "n", "reason"}
    bleu = run("report", campaign.slug, "--kind", "bleu", "--json").document
    assert set(bleu) >= {"system", "run", "n", "left_out", "score", "signature"}


@pytest.mark.parametrize(
    ("kind", "options", "beside"),
    [
        ("error-rates", ("--lexicon", "none.txt"), "--lexicon"),
        ("statistics", ("--system", "zz"), "--system"),
        ("bleu", ("--round", "repeat", "--derive-classes"), "--round, --derive-classes"),
        ("comparison", ("--among", "x", "--model", "mace"), "--model"),
    ],
)
def test_it_refuses_options_that_the_kind_does_not_go_by(
    campaign: Campaign, kind: str, options: tuple[str, ...], beside: str
) -> None:
    ran = run("report", campaign.slug, "--kind", kind, *options)
    assert (ran.code, ran.err.strip()) == (2, f"The report {kind} does not go by {beside}; leave that out.")


def test_it_knows_of_every_kind_what_it_goes_by() -> None:
    assert set(USES) == set(REPORTS)
