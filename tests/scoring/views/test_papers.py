"""Why figures differ from those the papers print: on the pages, and in the documents."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from annotation.models import Membership
from annotation.services.people import add_member
from scoring.views.papers import PAPERS
from tests.factories import make_user
from tests.material import new_campaign
from tests.pages import client_of, text_of
from tests.shared import shared

# Printed in a paper or given by `protocols.md`, not among the expected values.
PRINTED = {
    "94.80",
    "87.05",
    "90.55",
    "0.01",
    "25.0",
    "31.9",
    "58.1",
    "66.5",
    "157",
    "1,001",
    "0.9109",
    "0.9055",
    "0.5",
}


def figures_in(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))


def numbers_in(found: Any) -> set[str]:
    """Every number of a document as people write it, whole and with two and four decimals."""
    if isinstance(found, dict):
        return set().union(*(numbers_in(value) for value in found.values()), set())
    if isinstance(found, list):
        return set().union(*(numbers_in(value) for value in found), set())
    if isinstance(found, int | float) and not isinstance(found, bool):
        return {f"{found:,}", f"{found:,.0f}", f"{found:.2f}", f"{found:.4f}"}
    return set()


def test_every_figure_stands_among_the_expected_values() -> None:
    expected = numbers_in(json.loads(shared("reference/expected.json").read_text(encoding="utf-8")))
    texts = {str(text) for _paper, texts in PAPERS.values() for text in texts}

    unknown = {figure for text in texts for figure in figures_in(text)} - expected - PRINTED

    assert unknown - {"3", "2", "0", "1"} == set()


def test_the_documents_hold_the_same_sentences() -> None:
    page = (Path(settings.BASE_DIR) / "docs" / "papers.md").read_text(encoding="utf-8")

    assert [str(text) for _paper, texts in PAPERS.values() for text in texts if str(text) not in page] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("protocol", "address", "sentence"),
    [
        (
            "compound",
            "reports/error-rates/",
            "A published scoring recipe computes “not correct in any context”",
        ),
        ("compound", "reports/bleu/", "3,599 of 3,600 noun phrases"),
        ("compound", "reports/compound-check/", "a precision of 94.80 and a recall of 87.05"),
        ("compound", "reports/comparison/", "One run is no system"),
        ("compound", "submissions/", "3,599 of 3,600 noun phrases"),
        ("triple", "reports/agreement/", "The printed 90.55 % is no share of equal answers"),
        ("triple", "reports/statistics/", "% unseen compares with the nodes of a training set"),
        ("triple", "reports/human/", "The printed human row is that of all 5,006 items"),
        ("triple", "reports/artifacts/", "The paper lists 83 words"),
        ("triple", "reports/comparison/", "is the class all_head alone"),
        ("triple", "releases/", "“ckbp-released”. The default comes to exactly a fifth"),
        ("triple", "submissions/", "is the class all_head alone"),
    ],
)
def test_the_page_of_each_report_says_it(protocol: str, address: str, sentence: str, tmp_path: Path) -> None:
    mei, campaign = make_user("mei"), new_campaign(protocol)
    add_member(campaign, mei, Membership.Role.MANAGER)

    page = text_of(client_of(mei).get(f"/campaigns/main/{address}"))

    assert "Figures in the papers" in page
    assert sentence in page
