"""Error rates by what a compound holds and by how it was judged; the aggregate without the experts' noise."""

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Annotation, Campaign
from annotation.services.parts import assign_parts
from scoring.records import records
from scoring.reports import as_latex, as_markdown
from scoring.services.measure import report
from scoring.services.options import Options
from tests.material import answer_everything, compounds, load_rows, new_campaign

pytestmark = pytest.mark.django_db


def judged(folder: Path, *, n: int = 2, k: int = 1) -> Campaign:
    """Compounds judged by k experts; the first context of every compound is wrong."""
    campaign = new_campaign("compound", k=k)
    load_rows(campaign, compounds(n), folder, system="base")
    assign_parts(campaign, experts=["ada", "bo"][:k], design="single" if k == 1 else "cyclic", seed=1)
    answer_everything(campaign, lambda row: "0" if row.item.position % 5 == 1 else "1")
    return campaign


def test_a_compound_stands_in_the_row_of_each_atom(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    rows = [
        {
            "compound": compound, "context_no": number, "source": f"{compound} {'slept ' * number}.",
            "translation": f"{compound} {number}",
        }
        for compound in ("the small dog", "the small car")
        for number in range(1, 6)
    ]  # fmt: skip
    load_rows(campaign, rows, tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, lambda row: "0" if "dog" in row.item.translation else "1")

    document = report(campaign, "error-rates", Options())
    by, shown = document["by"], as_markdown("error-rates", document)

    assert {name: (row["instance"]["n"], row["instance"]["errors"]) for name, row in by["atom"].items()} == {
        "ADJ small": (10, 5),
        "DET the": (10, 5),
        "N car": (5, 0),
        "N dog": (5, 5),
    }
    assert list(by["context_length"]) == ["5", "6", "7", "8+"]
    assert shown.count("only where all its contexts fall into that row") == 1
    assert "so are 0 of 2 compounds with five contexts." in shown


def test_conditions_of_judging_are_rows_where_they_were_kept(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    assert report(campaign, "error-rates", Options())["by"]["reference_seen"] == {}
    answers = Annotation.objects.filter(assignment__item__unit__position=1)
    answers.update(reference_seen=True, session_position=3)
    Annotation.objects.exclude(pk__in=answers).update(reference_seen=False, session_position=30)

    document = report(campaign, "error-rates", Options())

    seen = document["by"]["reference_seen"]
    assert [(name, row["instance"]["n"], row["instance"]["errors"]) for name, row in seen.items()] == [
        ("hidden", 5, 1),
        ("seen", 5, 1),
    ]
    assert seen["seen"]["aggregate"]["n"] == 1
    assert list(document["by"]["session_position"]) == ["1-10", "26-50"]
    rows = [row for row in records("error-rates", document) if row["by"] == "reference_seen"]
    assert {row["group"] for row in rows} == {"hidden", "seen"}


def test_experts_under_different_conditions_are_mixed(tmp_path: Path) -> None:
    campaign = judged(tmp_path, k=2)
    Annotation.objects.filter(assignment__slot=1).update(reference_seen=True)
    Annotation.objects.filter(assignment__slot=2).update(reference_seen=False)
    assert list(report(campaign, "error-rates", Options())["by"]["reference_seen"]) == ["mixed"]


def test_without_overlap_the_noise_is_not_known(tmp_path: Path) -> None:
    document = report(judged(tmp_path), "error-rates", Options())
    assert document["noise_corrected"] is None
    assert document["noise_corrected_reason"] in as_markdown("error-rates", document)


def test_overlap_corrects_the_aggregate_by_named_models(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(30), tmp_path, system="base")
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    slips = (3, 47, 81)
    answer_everything(
        campaign,
        lambda row: "0" if row.item.position <= 50 or (row.item.position + row.slot) in slips else "1",
    )
    document = report(campaign, "error-rates", Options(resamples=100))

    found = document["noise_corrected"]
    assert (found["model"], found["source"], found["doubles"]) == ("symmetric", "overlap", 150)
    assert found["differing"] > 0
    assert list(found["by_model"]) == ["symmetric", "false-alarms", "misses"]
    # A slip turns a right compound wrong: the corrected rate is below what single judgements give.
    assert found["by_model"]["false-alarms"]["aggregate"]["percent"] < found["single"]["aggregate_percent"]
    assert found["signature"].startswith("noise-corrected|")
    shown = as_markdown("error-rates", document)
    assert "Corrected for the experts' noise" in shown
    assert f"differing: {found['differing']}" in as_latex("error-rates", document)
    names = {row["rate"] for row in records("error-rates", document)}
    assert "aggregate, noise-corrected (symmetric)" in names


def test_too_little_overlap_says_why(tmp_path: Path) -> None:
    found = report(judged(tmp_path, k=2), "error-rates", Options())["noise_corrected"]
    assert found["aggregate"]["percent"] is None
    assert found["reason"] == "10 instances were judged twice; fewer than 50 say too little about noise"


def test_the_queries_do_not_grow(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    with CaptureQueriesContext(connection) as few:
        report(campaign, "error-rates", Options())
    (tmp_path / "more").mkdir()
    load_rows(campaign, compounds(6), tmp_path / "more", system="base")
    with CaptureQueriesContext(connection) as many:
        report(campaign, "error-rates", Options())
    assert len(few) == len(many)
