"""What needs a manager stands in one list: the campaign's page and the other one tell the same kinds and numbers."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Assignment, Job, PartUnit, Question, Surplus
from annotation.services.labels import finalize
from annotation.services.needs import SEEN, Kind, Standing, needs
from annotation.services.overview import overview
from annotation.services.returns import return_answer
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_part,
    make_report,
    make_triple,
    save_label,
)
from tests.pages import body_of, client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    """Something of every kind but a file with conflicts."""
    cast = make_cast()
    round_ = cast.campaign.rounds.get()
    part = make_part(round_)
    rows = [
        (make_assignment(item, cast.ada, part=part), make_assignment(item, cast.lin, slot=2, part=part))
        for item in (make_triple(cast.campaign, position) for position in range(1, 6))
    ]
    make_report(rows[0][0])
    make_annotation(rows[1][0], problem="text_broken")
    make_report(rows[2][0])
    return_answer(cast.campaign, assignment=rows[2][0].pk, ruling="As it stands.", by=cast.mei)
    for row in rows[3]:
        make_annotation(row, "1")
    finalize(cast.campaign)
    save_label(Assignment.objects.get(pk=rows[3][0].pk), "0")
    PartUnit.objects.bulk_create(PartUnit(round=round_, part=part, unit=row.unit) for row, _other in rows)
    rows[4][1].delete()  # an item with one expert
    Question.objects.create(
        campaign=cast.campaign, unit=rows[0][0].unit, asked_by=cast.ada, text="What?",
        client_key="0b1d3b54-9d1a-4a5b-8c57-6d7c0b0f2c11",
    )  # fmt: skip
    Surplus.objects.create(
        assignment=rows[0][1], client_key="0b1d3b54-9d1a-4a5b-8c57-6d7c0b0f2c12", answer={"label": "1"}
    )
    Job.objects.create(
        campaign=cast.campaign, kind="finalize", arguments={}, digest="d", state=Job.State.FAILED
    )
    cast.campaign.rounds.update(due_on=timezone.localdate() - timedelta(days=1))
    return cast


def listed(cast: Cast, page: str) -> list[str]:
    """The entries of the list on a page, their addresses within the page left out."""
    found = re.search(r'<section class="needs".*?</section>', body_of(client_of(cast.mei).get(page)), re.S)
    assert found is not None
    entries = re.findall(r"<li>(.*?)</li>", found[0], re.S)
    return [" ".join(re.sub(r"<[^>]+>", " ", entry).split()) for entry in entries]


def test_both_pages_tell_the_same(cast: Cast) -> None:
    home = listed(cast, "/campaigns/main/")

    assert home == listed(cast, "/campaigns/main/attention/")
    assert home == [
        "1 cannot judge",
        "1 reported problem",
        "1 returned answer waits",
        "1 question",
        "1 late answer, not counted",
        "1 job failed",
        "Main round is late: A1, A2",
        "1 label to be updated",
        "1 item without its full number of experts",
    ]


def test_viewers_are_told_what_concerns_the_work_and_not_what_people_ask(cast: Cast) -> None:
    standing = Standing.of(overview(cast.campaign))

    assert {need.kind for need in needs(cast.campaign, standing)} == {*Kind} - {Kind.CONFLICTS}
    assert {need.kind for need in needs(cast.campaign, standing, manages=False)} == SEEN
    page = body_of(client_of(cast.vera).get("/campaigns/main/"))
    assert "question" not in page.partition('<section class="needs"')[2].partition("</section>")[0]


def test_what_is_counted_for_the_page_of_its_own_is_what_the_overview_counts(cast: Cast) -> None:
    known, counted = Standing.of(overview(cast.campaign)), Standing.counted(cast.campaign)

    assert needs(cast.campaign, known) == needs(cast.campaign, counted)
