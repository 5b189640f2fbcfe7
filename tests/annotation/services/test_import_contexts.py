"""Contexts of a compound that come in several files: what is there already counts."""

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Context
from annotation.services.imports import Report
from tests.material import compounds, load_rows, new_campaign
from tests.shared import case

pytestmark = pytest.mark.django_db


def said(found: Report) -> list[tuple[int | None, str]]:
    return [(issue.line, issue.message) for issue in found.warnings]


def further(number: int, **more: object) -> dict[str, Any]:
    """A context of the sleepy gardener besides the first five."""
    row = compounds(1)[0]
    return row | {
        "item_id": f"n{number}",
        "context_no": number,
        "source": f"{row['source']} {number}",
        **more,
    }


def test_it_says_that_a_later_file_brings_a_sixth_context(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    found = load_rows(campaign, [further(6)], tmp_path)
    assert found.added == 1
    assert said(found) == [
        (
            2,
            "The compound “the sleepy gardener 1” has 6 contexts, in the campaign and this file together, instead "
            "of five.",
        )
    ]


def test_it_says_that_a_later_file_repeats_a_number(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1)[:4], tmp_path)
    found = load_rows(campaign, [compounds(1)[0], further(3)], tmp_path)
    assert said(found) == [
        (
            3,
            "Context 3 of “the sleepy gardener 1” is in the campaign already, as “c1-3”; this is another one.",
        )
    ]


def test_it_says_nothing_of_a_fifth_context_or_of_a_part_that_is_there(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    assert "has 4 contexts in this file" in said(load_rows(campaign, compounds(1)[:4], tmp_path))[0][1]
    assert said(load_rows(campaign, compounds(1)[4:], tmp_path)) == []
    assert said(load_rows(campaign, compounds(1)[2:3], tmp_path, system="large")) == []


def test_it_says_the_same_of_the_same_file_again(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    rows = case("c10_contexts_four_six_scattered.csv")
    first, again = load_rows(campaign, rows, tmp_path), load_rows(campaign, rows, tmp_path)
    assert again.unchanged == 20
    assert [line for line, _message in said(again)] == [line for line, _message in said(first)] == [3, 9, 19]


def test_contexts_without_a_number_get_those_that_are_free(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    rows = compounds(1)
    for row, number in zip(rows, (2, "", 4, "", 1), strict=True):
        row["context_no"] = number
    assert said(load_rows(campaign, rows, tmp_path)) == []
    assert list(Context.objects.order_by("pk").values_list("number", flat=True)) == [2, 3, 4, 5, 1]
    load_rows(campaign, [further(6, context_no="")], tmp_path)
    assert Context.objects.get(key="n6").number == 6
