"""The estimate rests on the sample that the design drew, not on whatever has answers."""

from pathlib import Path

import pytest

from annotation.models import Assignment, Campaign
from annotation.services.parts import assign_parts
from scoring.services.drawn import sample_of
from scoring.services.files import NamedFile
from scoring.services.measure import report
from scoring.services.options import Options
from tests.material import (
    answer_everything,
    as_csv,
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Forty compounds, of which twenty are drawn and judged: those of an odd number are wrong throughout."""
    made = new_campaign("compound", k=1)
    load_rows(made, compounds(40), tmp_path, system="base")
    assign_parts(made, experts=["ada"], design="single", seed=3, sample=20)
    answer_everything(made, lambda row: "0" if int(row.unit.compound.split()[-1]) % 2 else "1")
    return made


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    """Says that everything is right."""
    path = tmp_path / "judge.csv"
    rows = [{"item_id": row["item_id"], "label": "1"} for row in compounds(40)]
    path.write_text(as_csv(rows), encoding="utf-8")
    return path


def test_the_estimate_takes_the_sample_of_the_design(campaign: Campaign, judge: Path) -> None:
    wrong = Assignment.objects.filter(label="0").count() / 5
    document = run_json("report", "main", "--kind", "estimate", "--judge", judge)
    assert document["sample"] == {"n": 20, "of": 40, "seed": 3}
    assert (document["warnings"], document["aggregate"]["sample"]) == ([], 20)
    assert document["aggregate"]["percent"] == pytest.approx(100 * wrong / 20)
    assert "|drawn:20-by-design|" in document["signature"]
    shown = run("report", "main", "--kind", "estimate", "--judge", judge).out
    assert "sample: 20 of 40 units, drawn by the design with seed 3" in shown


def test_answers_outside_of_the_sample_do_not_move_it(campaign: Campaign, judge: Path) -> None:
    before = run_json("report", "main", "--kind", "estimate", "--judge", judge)
    judged = set(Assignment.objects.values_list("item__key", flat=True))
    # What is easy to find wrong is judged on top: as a sample it would mislead.
    more = [
        {"item_id": row["item_id"], "label": "0"} for row in compounds(40) if row["item_id"] not in judged
    ][:25]
    judge_rows(campaign, more, annotator="bo")
    document = run_json("report", "main", "--kind", "estimate", "--judge", judge)
    assert document["aggregate"] == before["aggregate"]
    assert document["warnings"] == [
        "5 compounds with an expert's answer were not drawn and do not count here."
    ]


def test_what_was_drawn_and_not_judged_in_full_is_counted(campaign: Campaign, judge: Path) -> None:
    row = Assignment.objects.order_by("pk")[0]
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
    document = run_json("report", "main", "--kind", "estimate", "--judge", judge)
    assert (document["aggregate"]["sample"], document["incomplete"]) == (19, 1)


def test_units_that_come_later_are_said(campaign: Campaign, judge: Path, tmp_path: Path) -> None:
    load_rows(campaign, compounds(41), tmp_path, system="base")
    rows = [{"item_id": row["item_id"], "label": "1"} for row in compounds(41)]
    file = NamedFile("judge.csv", as_csv(rows).encode())
    document = report(campaign, "estimate", Options(judge=file.data, judge_name=file.name))
    assert "drawn from 40 units, and the campaign holds 41 today" in document["warnings"][0]


def test_a_larger_sample_by_the_same_seed_holds_the_smaller_one(campaign: Campaign, judge: Path) -> None:
    first = sample_of(campaign)
    assign_parts(campaign, experts=["ada"], design="single", seed=3, sample=30)
    second = sample_of(campaign)
    assert first is not None
    assert second is not None
    assert (second.n, first.units < second.units) == (30, True)
    assign_parts(campaign, experts=["ada"], design="single", seed=3)
    assert sample_of(campaign) == second


def test_without_a_sample_every_judged_compound_counts(judge: Path, tmp_path: Path) -> None:
    made = new_campaign("compound", k=1)
    load_rows(made, compounds(40), tmp_path, system="base")
    judge_rows(
        made, [{"item_id": row["item_id"], "label": "1"} for row in compounds(40)[:60]], annotator="bo"
    )
    document = run_json("report", "main", "--kind", "estimate", "--judge", judge)
    assert (document["sample"], document["aggregate"]["sample"]) == (None, 12)
    assert "|drawn:12-as-answered|" in document["signature"]
    shown = run("report", "main", "--kind", "estimate", "--judge", judge).out
    assert "sample: every compound with an expert's answer" in shown
