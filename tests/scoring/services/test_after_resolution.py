"""Agreement after a resolution: effective scores, described beside the independent ones."""

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Campaign, Membership, Round
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from scoring.records import records
from scoring.reports import as_markdown
from scoring.services.evaluations import request_agreement
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.tasks import agreement
from tests.factories import answer, make_assignment, make_user
from tests.material import answer_everything, load_rows, new_campaign, triples
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Ten triples of two experts; on items 5 and 10 the first says 0, the second 1."""
    made = new_campaign("triple", k=2)
    load_rows(made, triples(10), tmp_path)
    assign_parts(made, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(made, lambda row: "0" if row.item.position % 5 == 0 and row.slot == 1 else "1")
    return made


def opened(campaign: Campaign, kind: str = Round.Kind.RESOLUTION, number: int = 1) -> Round:
    main = campaign.rounds.get(kind=Round.Kind.MAIN)
    return Round.objects.create(campaign=campaign, kind=kind, number=number, k=2, guideline=main.guideline)


def judge(round_: Round, position: int, slot: int, label: str) -> Assignment:
    """The expert of this slot of the item judges it again."""
    first = Assignment.objects.get(
        round__kind=Round.Kind.MAIN, round__campaign=round_.campaign, item__position=position, slot=slot
    )
    place = 1 + round_.assignments.count()
    again = make_assignment(
        first.item, first.expert, slot=slot, round=round_, position=place, queue=place, row=1
    )
    return answer(again, label)


def after(campaign: Campaign) -> dict[str, Any]:
    found: dict[str, Any] = report(campaign, "agreement", Options(resamples=100))["after_resolution"]
    return found


def test_without_a_resolution_it_says_so(campaign: Campaign) -> None:
    opened(campaign)  # nobody has answered yet

    assert after(campaign) == {"value": None, "reason": "there was no resolution"}


def test_it_takes_the_last_answer_and_leaves_the_independent_ones_alone(campaign: Campaign) -> None:
    resolution, later = opened(campaign), opened(campaign, Round.Kind.REJUDGEMENT)
    for slot, label in ((1, "0"), (2, "0")):
        judge(resolution, 5, slot, label)
    for slot in (1, 2):
        judge(later, 5, slot, "1")

    document = report(campaign, "agreement", Options(resamples=100))

    found = document["after_resolution"]
    assert (found["judged_again"], found["changed"], found["waiting"]) == (1, 1, 0)
    assert found["n_items"] == 10
    assert found["coefficients"]["raw"]["value"] == pytest.approx(0.9)
    assert found["coefficients"]["raw"]["ci95"] is None
    assert found["coefficients"]["raw"]["ci95_reason"] == "no interval was asked for"
    assert document["coefficients"]["raw"]["value"] == pytest.approx(0.8)
    assert document["coefficients"]["raw"]["ci95"] is not None


def test_an_item_waits_where_one_of_two_has_judged_again(campaign: Campaign) -> None:
    resolution = opened(campaign)
    judge(resolution, 5, 1, "1")
    for slot in (1, 2):
        judge(resolution, 10, slot, "1")

    found = after(campaign)

    assert (found["judged_again"], found["waiting"], found["n_items"]) == (2, 1, 9)
    assert found["coefficients"]["raw"]["value"] == 1


def test_an_arbiter_gives_no_score(campaign: Campaign) -> None:
    item = Assignment.objects.filter(item__position=5)[0].item
    answer(make_assignment(item, make_user("arbiter"), round=opened(campaign)), "1")

    assert after(campaign)["reason"] == "there was no resolution"


def test_cannot_judge_the_second_time_counts_as_missing(campaign: Campaign) -> None:
    resolution = opened(campaign)
    judge(resolution, 5, 2, "1")
    again = judge(resolution, 5, 1, "1")
    Assignment.objects.filter(pk=again.pk).update(label="", cannot_judge="other")

    found = after(campaign)

    assert (found["waiting"], found["coefficients"]["raw"]["n"]) == (0, 9)


def test_page_and_files_show_it(campaign: Campaign) -> None:
    mei = make_user("mei")
    add_member(campaign, mei, Membership.Role.MANAGER)
    resolution = opened(campaign)
    for slot in (1, 2):
        judge(resolution, 5, slot, "1")
    for job in request_agreement(campaign, by=mei):
        agreement(job.pk)

    page = text_of(client_of(mei).get("/campaigns/main/reports/agreement/"))

    assert "After resolution Items judged again: 1; answers changed: 1; items that wait" in page
    document = report(campaign, "agreement", Options(resamples=100))
    assert "**After resolution**" in as_markdown("agreement", document)
    rows = [row for row in records("agreement", document) if row["by"] == "after resolution"]
    assert [row["value"] for row in rows if row["coefficient"] == "raw"] == [pytest.approx(0.9)]
