"""What needs a manager: which answers are listed, page by page, and what can be done about each."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Annotation, AuditEntry, Campaign, Job
from annotation.services import attention
from annotation.services.arbitration import arbitrate
from annotation.services.attention import Stage, failed_jobs, report_counts, reports
from annotation.services.batches import close_batch, reopen_batch
from annotation.services.campaign_state import close_campaign
from annotation.services.discussion import open_thread
from annotation.services.errors import NotYours, Refused
from annotation.services.items import withdraw
from annotation.services.jobs import request as request_job
from annotation.services.looked_at import leave_as_is
from annotation.services.rejudgement import open_rejudgement
from annotation.services.returns import return_answer
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_judged,
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


class TestLeftAsItIs:
    def test_it_waits_no_longer_and_the_note_is_kept(self, cast: Cast) -> None:
        row = report_on(cast, 1)
        leave_as_is(cast.campaign, assignment=row.assignment_id, note=" Looked at. ", by=cast.mei)

        assert reports(cast.campaign).lines == []
        assert report_counts(cast.campaign).waiting == 0
        (line,) = reports(cast.campaign, Stage.LOOKED_AT).lines
        assert (line.annotation, line.looked_at, line.returnable) == (row.pk, "Looked at.", True)
        entry = AuditEntry.objects.get(action="report looked at")
        assert (entry.actor, entry.detail["note"], entry.detail["pseudonym"]) == (
            cast.mei,
            "Looked at.",
            "A1",
        )

    def test_sent_again_it_is_written_down_once(self, cast: Cast) -> None:
        row = report_on(cast, 1)
        for note in ("Looked at.", "And again."):
            leave_as_is(cast.campaign, assignment=row.assignment_id, note=note, by=cast.mei)

        assert [line.looked_at for line in reports(cast.campaign, Stage.LOOKED_AT).lines] == ["Looked at."]

    def test_another_answer_waits_anew(self, cast: Cast) -> None:
        row = report_on(cast, 1)
        leave_as_is(cast.campaign, assignment=row.assignment_id, note="Looked at.", by=cast.mei)
        make_report(row.assignment, note="Still no word.")

        assert [line.note for line in reports(cast.campaign).lines] == ["Still no word."]
        assert reports(cast.campaign, Stage.LOOKED_AT).lines == []

    def test_it_can_still_be_returned(self, cast: Cast) -> None:
        row = report_on(cast, 1)
        leave_as_is(cast.campaign, assignment=row.assignment_id, note="Looked at.", by=cast.mei)
        return_answer(cast.campaign, assignment=row.assignment_id, ruling="Two words are one.", by=cast.mei)

        assert [line.annotation for line in reports(cast.campaign, Stage.RETURNED).lines] == [row.pk]
        assert reports(cast.campaign, Stage.LOOKED_AT).lines == []

    def test_it_refuses_without_a_note_and_what_reports_nothing(self, cast: Cast) -> None:
        row = report_on(cast, 1)
        with pytest.raises(Refused, match="1 to 500 characters"):
            leave_as_is(cast.campaign, assignment=row.assignment_id, note=" ", by=cast.mei)
        make_annotation(row.assignment, "1")
        with pytest.raises(Refused, match="reports no problem any more"):
            leave_as_is(cast.campaign, assignment=row.assignment_id, note="x", by=cast.mei)
        with pytest.raises(NotYours):
            leave_as_is(
                Campaign.objects.get(slug="other"), assignment=row.assignment_id, note="x", by=cast.otto
            )
        assert not AuditEntry.objects.exists()


class TestClosedBatch:
    def closed(self, cast: Cast) -> Annotation:
        """A batch that was closed with a report in it."""
        make_judged(cast, ("", "1"), ("1", "1"))
        row = Annotation.objects.get(assignment__cannot_judge="other")
        close_batch(cast.campaign, row.assignment.part.design_id, by=cast.mei)  # type: ignore[union-attr]
        return row

    def test_its_batch_can_be_opened_again_while_nobody_has_seen_anything(self, cast: Cast) -> None:
        row = self.closed(cast)
        (line,) = reports(cast.campaign).lines
        design = row.assignment.part.design_id  # type: ignore[union-attr]
        assert (line.returnable, line.fixable, line.reopenable) == (False, False, design)

        reopen_batch(cast.campaign, design, by=cast.mei)

        (line,) = reports(cast.campaign).lines
        assert (line.returnable, line.fixable, line.reopenable) == (True, True, None)

    @pytest.mark.parametrize("why", ["discussion", "arbiter", "again", "closed campaign"])
    def test_it_is_offered_only_where_it_would_be_done(self, why: str, cast: Cast) -> None:
        row = self.closed(cast)
        design = row.assignment.part.design_id  # type: ignore[union-attr]
        other = cast.campaign.items.exclude(pk=row.assignment.item_id).get()
        if why == "discussion":
            open_thread(cast.campaign, other.pk, by=cast.mei)
        elif why == "arbiter":
            arbitrate(cast.campaign, other.pk, label="1", reason="clear", by=cast.mei)
        elif why == "again":
            touches = {"items": [other.position]}
            cast.campaign.guidelines.create(version=2, text_en="New.", text_zh="新。", touches=touches)
            open_rejudgement(cast.campaign, 2, by=cast.mei)
        else:
            close_campaign(cast.campaign, reason="done", by=cast.mei)

        (line,) = [one for one in reports(cast.campaign).lines if one.annotation == row.pk]
        assert line.reopenable is None
        with pytest.raises(Refused):
            reopen_batch(cast.campaign, design, by=cast.mei)

    def test_the_answer_can_be_left_as_it_is(self, cast: Cast) -> None:
        row = self.closed(cast)
        leave_as_is(cast.campaign, assignment=row.assignment_id, note="Nothing to change.", by=cast.mei)
        row.assignment.refresh_from_db()
        assert row.assignment.cannot_judge == "other"
        assert reports(cast.campaign).lines == []
