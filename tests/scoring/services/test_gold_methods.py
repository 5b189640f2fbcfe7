"""The methods paragraph names gold items, how often they were answered as is known, and where they count."""

from pathlib import Path

import pytest

from annotation.models import Assignment, Campaign
from annotation.services.gold import mark
from scoring.services.gold_methods import gold_sentences
from tests.material import answer_everything, run_json, triple_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Ten triples for two experts, four of them gold; everybody says always."""
    made = triple_campaign(tmp_path, 10, experts=["ada", "lin"])
    for position, label in enumerate(["1", "1", "1", "0"], start=1):
        mark(made, position, label=label, note="", by=None)
    return made


def paragraph(language: str = "en") -> str:
    found: str = run_json("report", "main", "--kind", "methods")["text"][language]
    return found


def test_it_says_how_many_where_they_count_and_what_came_of_them(campaign: Campaign) -> None:
    answer_everything(campaign, lambda row: "1")
    Assignment.objects.filter(item__position=4, slot=1).update(label="", cannot_judge="other")

    told = paragraph()

    assert (
        "Items whose label was known beforehand: 4. Experts were not told which; in agreement, labels and figures they "
        "count like all others."
    ) in told
    assert (
        "Of 7 answers to them, 6 were the known label (85.71 %); 1 said that the item cannot be judged"
        in told
    )


def test_while_answers_are_open_it_gives_no_figure_made_of_them(campaign: Campaign) -> None:
    row = Assignment.objects.order_by("pk").first()
    assert row is not None
    answer_everything(campaign, lambda row: "1")
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)

    told = paragraph()

    assert "Items whose label was known beforehand: 4." in told
    assert "were the known label" not in told


def test_without_a_gold_item_it_says_nothing(tmp_path: Path) -> None:
    assert gold_sentences(triple_campaign(tmp_path, 3, experts=["ada", "lin"]), figures=True) == []


def test_nobody_who_could_judge_makes_no_share(campaign: Campaign) -> None:
    answer_everything(campaign, lambda row: "1")
    Assignment.objects.filter(item__position__lte=4).update(label="", cannot_judge="other")
    assert "Of 0 answers to them, 0 were the known label (– %); 8 said" in str(
        gold_sentences(campaign, figures=True)[1]
    )


def test_both_languages_have_the_same_sentences(campaign: Campaign) -> None:
    answer_everything(campaign, lambda row: "1")
    sentences = run_json("report", "main", "--kind", "methods")["sentences"]
    assert len(sentences["en"]) == len(sentences["zh-hans"])
