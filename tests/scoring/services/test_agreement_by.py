"""Agreement told apart by guideline version and month, on each label, and of people with themselves."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Annotation, Assignment, Campaign, Guideline, Membership, Round
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from scoring.records import records
from scoring.reports import as_latex, as_markdown
from scoring.services.evaluations import request_agreement
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.tasks import agreement
from tests.factories import make_user
from tests.material import answer_everything, load_rows, new_campaign, triples
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Ten triples judged by two; they differ on every fifth."""
    made = new_campaign("triple", k=2)
    load_rows(made, triples(10), tmp_path)
    assign_parts(made, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(made, lambda row: "0" if row.item.position % 5 == 0 and row.slot == 1 else "1")
    return made


def judge_again(campaign: Campaign, *, differently: int) -> None:
    """A repeat round: one expert judges all their items again, and changes so many answers."""
    main = campaign.rounds.get(kind=Round.Kind.MAIN)
    again = Round.objects.create(campaign=campaign, kind=Round.Kind.REPEAT, k=1, guideline=main.guideline)
    first = main.assignments.filter(slot=1).order_by("item__position")
    for place, row in enumerate(first):
        label = ("0" if row.label == "1" else "1") if place < differently else row.label
        Assignment.objects.create(
            round=again, unit=row.unit, item=row.item, expert=row.expert, slot=1, position=place + 1,
            queue=place + 1, revision=1, label=label, answered_at=row.answered_at,
        )  # fmt: skip


def test_versions_and_months_are_told_apart_where_there_are_several(campaign: Campaign) -> None:
    assert set(report(campaign, "agreement", Options())["by"]) == {"part", "relation"}
    second = Guideline.objects.create(campaign=campaign, version=2, text_en="new", text_zh="新")
    late = Assignment.objects.filter(item__position__gt=6)
    Annotation.objects.filter(assignment__in=late).update(guideline=second)
    Annotation.objects.filter(assignment__item__position=6, assignment__slot=1).update(guideline=second)
    Round.objects.update(created_at=datetime(2026, 3, 1, tzinfo=UTC))
    Assignment.objects.update(answered_at=datetime(2026, 3, 5, tzinfo=UTC))
    late.update(answered_at=datetime(2026, 4, 5, tzinfo=UTC))

    by = report(campaign, "agreement", Options())["by"]

    assert {name: found["n_items"] for name, found in by["guideline"].items()} == {"1": 5, "2": 4, "mixed": 1}
    assert {name: found["n_items"] for name, found in by["month"].items()} == {"2026-03": 6, "2026-04": 4}
    assert by["month"]["2026-03"]["coefficients"]["raw"]["value"] == pytest.approx(5 / 6)


def test_an_imported_label_stands_under_no_version(campaign: Campaign) -> None:
    second = Guideline.objects.create(campaign=campaign, version=2, text_en="new", text_zh="新")
    Annotation.objects.filter(assignment__item__position__gt=6).update(guideline=second)
    Annotation.objects.filter(assignment__item__position=1).update(source=Annotation.Source.IMPORT)
    half = Annotation.objects.filter(assignment__item__position=7, assignment__slot=1)
    half.update(source=Annotation.Source.IMPORT)

    by = report(campaign, "agreement", Options())["by"]

    assert {name: found["n_items"] for name, found in by["guideline"].items()} == {
        "1": 5,
        "2": 3,
        "mixed": 1,
        "not recorded": 1,
    }


def test_it_is_counted_on_each_label(campaign: Campaign) -> None:
    document = report(campaign, "agreement", Options())
    # 2 of the 10 items are 0/1: of the 18 answers 1, 16 meet another 1.
    assert document["specific_agreement"]["1"]["value"] == pytest.approx(16 / 18)
    assert document["specific_agreement"]["0"]["value"] == 0
    assert "Specific agreement on each label" in as_markdown("agreement", document)
    rows = [row for row in records("agreement", document) if row["by"] == "label"]
    assert {row["group"] for row in rows} == {"0", "0.5", "1"}


def test_people_are_compared_with_themselves_where_they_judged_again(campaign: Campaign) -> None:
    assert "self_consistency" not in report(campaign, "agreement", Options())
    judge_again(campaign, differently=3)
    document = report(campaign, "agreement", Options(real_names=True))

    found = document["self_consistency"]
    assert found["overall"]["coefficients"]["raw"]["value"] == pytest.approx(0.7)
    assert (found["shift"]["n"], found["shift"]["up"] + found["shift"]["down"]) == (10, 3)
    assert set(found["by_person"]) <= {"ada", "bo"}
    assert document["coefficients"]["raw"]["value"] == pytest.approx(0.8)  # the repeats are no overlap
    assert "Self-consistency" in as_latex("agreement", document)
    assert any(row["by"] == "self-consistency" for row in records("agreement", document))


def test_the_page_tells_the_prevalence_and_the_repeats(campaign: Campaign) -> None:
    judge_again(campaign, differently=3)
    mei = make_user("mei")
    add_member(campaign, mei, Membership.Role.MANAGER)
    for job in request_agreement(campaign, by=None):
        agreement(job.pk)
    client = client_of(mei)
    with CaptureQueriesContext(connection) as found:
        page = text_of(client.get("/campaigns/main/reports/agreement/"))
    assert len(found) < 20
    assert "with 90.00 % of the judgements" in page
    assert "so lopsided that" in page
    assert "Self-consistency" in page
    assert "Specific agreement" in page


def test_a_campaign_of_one_month_is_told_apart_by_thirds_of_its_time(campaign: Campaign) -> None:
    assert "third" not in report(campaign, "agreement", Options())["by"]
    for row in Assignment.objects.select_related("item"):
        day = 1 + row.item.position + (5 if row.item.position == 3 and row.slot == 2 else 0)
        Assignment.objects.filter(pk=row.pk).update(answered_at=datetime(2026, 3, day, 9, tzinfo=UTC))
    Round.objects.update(created_at=datetime(2026, 3, 1, tzinfo=UTC))

    by = report(campaign, "agreement", Options())["by"]

    assert "month" not in by
    assert {name: found["n_items"] for name, found in by["third"].items()} == {
        "early": 2, "middle": 4, "late": 3, "mixed": 1,
    }  # fmt: skip
