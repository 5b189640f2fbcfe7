"""What needs a manager: which answers are listed, page by page, and what can be done about each."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Job
from annotation.services import attention
from annotation.services.attention import failed_jobs, report_counts, reports
from annotation.services.items import withdraw
from annotation.services.jobs import request as request_job
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_part,
    make_report,
    make_triple,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def report_on(cast: Cast, position: int, **fields: str):  # type: ignore[no-untyped-def]
    part = cast.campaign.rounds.get().parts.first() or make_part(cast.campaign.rounds.get())
    return make_report(make_assignment(make_triple(cast.campaign, position), cast.ada, part=part), **fields)


def test_it_lists_both_kinds_of_reports_under_pseudonyms(cast: Cast) -> None:
    report_on(cast, 1, note="No such compound.")
    row = make_assignment(make_triple(cast.campaign, 2), cast.lin)
    make_annotation(row, "0", problem="source_broken")

    lines = reports(cast.campaign).lines

    assert [(line.pseudonym, line.cannot_judge, line.cause) for line in lines] == [
        ("A1", True, "other"),
        ("A2", False, "source_broken"),
    ]
    assert [line.returnable for line in lines] == [True, False]  # the second came without a part


def test_what_is_withdrawn_or_answered_again_is_settled(cast: Cast) -> None:
    first, second = report_on(cast, 1), report_on(cast, 2)
    withdraw(cast.campaign, first.assignment.item_id, reason="broken", by=cast.mei)
    make_annotation(second.assignment, "1")

    assert reports(cast.campaign).lines == []
    assert report_counts(cast.campaign).waiting == 0


def test_pages_are_cut_by_a_key_that_never_moves(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "PAGE", 2)
    made = [report_on(cast, position) for position in range(1, 6)]
    first = reports(cast.campaign)
    make_annotation(made[0].assignment, "1")  # settled between two pages
    assert first.next_after is not None
    second = reports(cast.campaign, after=first.next_after)
    assert second.next_after is not None
    third = reports(cast.campaign, after=second.next_after)

    seen = [line.annotation for page in (first, second, third) for line in page.lines]
    assert seen == [one.pk for one in made]
    assert third.next_after is None


def test_it_costs_the_same_for_any_number(cast: Cast) -> None:
    counts = []
    for position in (1, 2, 3, 4, 5, 6):
        report_on(cast, position)
        with CaptureQueriesContext(
            connection,
        ) as seen:
            reports(cast.campaign)
            report_counts(cast.campaign)
        counts.append(len(seen))

    assert set(counts) == {4}


def test_a_failed_job_is_listed_until_it_is_asked_for_again(cast: Cast) -> None:
    job = request_job(campaign=cast.campaign, kind="finalize", arguments={}, by=cast.mei)
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED)
    assert [one.pk for one in failed_jobs(cast.campaign)] == [job.pk]

    request_job(campaign=cast.campaign, kind="finalize", arguments={}, by=cast.mei)
    assert failed_jobs(cast.campaign) == []
