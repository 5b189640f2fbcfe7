"""How often experts give the label that is known."""

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Campaign
from annotation.services.gold import mark
from scoring.records import as_csv
from scoring.reports import as_latex, as_markdown
from scoring.services.gold import gold_report
from scoring.services.measure import report as measure
from scoring.services.options import Options
from scoring.stats.proportions import clopper_pearson
from tests.material import answer_everything, triple_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Ten triples, five of them gold; everybody says always."""
    made = triple_campaign(tmp_path, 10, experts=["ada", "lin"])
    answer_everything(made, lambda row: "1")
    for position, label in enumerate(["1", "1", "1", "0.5", "0"], start=1):
        mark(made, position, label=label, note="", by=None)
    return made


def test_each_expert_has_a_share_with_an_exact_interval(campaign: Campaign) -> None:
    report = gold_report(campaign)

    low, high = clopper_pearson(3, 5)
    assert report["n_gold"] == 5
    for pseudonym, one in zip(("A1", "A2"), report["experts"], strict=True):
        assert one == {
            "expert": pseudonym, "n": 5, "right": 3, "contrasts": 1, "cannot_judge": 0, "percent": 60.0,
            "ci95": [100 * low, 100 * high],
        }  # fmt: skip


def test_cannot_judge_is_neither_right_nor_wrong(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position__lte=5, slot=1).update(label="", cannot_judge="other")

    report = gold_report(campaign)

    assert sum(one["n"] for one in report["experts"]) == 5
    assert sum(one["cannot_judge"] for one in report["experts"]) == 5


def test_who_could_judge_none_has_no_share(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position__lte=5).update(label="", cannot_judge="other")

    for one in gold_report(campaign)["experts"]:
        assert (one["n"], one["percent"], one["ci95"]) == (0, None, None)
        assert one["reason"] == "no gold item was judged"


def test_gold_items_stay_in_agreement(campaign: Campaign) -> None:
    assert measure(campaign, "agreement", Options())["n_items"] == 10


def test_it_is_a_table_in_every_format_and_takes_three_queries(campaign: Campaign) -> None:
    with CaptureQueriesContext(connection) as queries:
        report = gold_report(campaign)

    assert len(queries) == 3  # one asks whether a spot check has sent parts back
    assert "| A1 | 5 | 3 | 60.00 |" in as_markdown("gold", report)
    assert "A2 & 5 & 3" in as_latex("gold", report)
    assert as_csv("gold", report).splitlines()[1].startswith("A1,5,3,1,0,60.0,")
