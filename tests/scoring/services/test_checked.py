"""Verdicts given with the check's forms highlighted take no part in how well the check does."""

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Annotation
from annotation.services.parts import assign_parts
from scoring.services.measure import report
from scoring.services.options import Options
from tests.material import answer_everything, as_csv, compounds, load_rows, new_campaign

pytestmark = pytest.mark.django_db

JUDGE = as_csv([{"item_id": row["item_id"], "label": 0} for row in compounds(3)]).encode()


@pytest.fixture
def judged(tmp_path: Path) -> Any:
    """Three compounds whose fifteen instances one expert held for wrong, as the judge's file does."""
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(3), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "0")
    return campaign


def test_all_count_where_nothing_was_highlighted_but_the_source(judged: Any) -> None:
    Annotation.objects.update(conditions={"highlight": "source"})
    document = report(judged, "compound-check", Options(judge=JUDGE, resamples=100))
    assert (document["judged"], document["prompted"], document["warnings"]) == (15, 0, [])


def test_prompted_verdicts_are_left_out_and_counted(judged: Any) -> None:
    first = Annotation.objects.order_by("assignment__item__position")[:5]
    Annotation.objects.filter(pk__in=[one.pk for one in first]).update(
        conditions={"highlight": "translation"}
    )
    check = report(judged, "compound-check", Options(judge=JUDGE, resamples=100))
    assert (check["n"], check["judged"], check["prompted"]) == (15, 10, 5)
    assert "5 instances were judged with the check's forms highlighted" in check["warnings"][-1]
    estimate = report(judged, "estimate", Options(judge=JUDGE, resamples=100))
    assert estimate["prompted"] == 5
    assert estimate["instance"]["sample"] == 2  # compounds
    rates = report(judged, "error-rates", Options(resamples=100))
    assert rates["instance"]["errors"] == 15
