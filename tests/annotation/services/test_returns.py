"""Answers given back with a ruling: what happens to them, to their part, and who learns of it."""

import pytest
from django.utils import timezone

from annotation.models import AuditEntry, HandIn, Return, Round, Thread
from annotation.services.attention import report_counts, reports
from annotation.services.errors import NotYours, Refused
from annotation.services.returns import outstanding, return_answer, returned_to
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

RULING = "Judge the words as they stand."


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def report(cast: Cast):  # type: ignore[no-untyped-def]
    """Ada could not judge the first triple; Lin has judged it."""
    part = make_part(cast.campaign.rounds.get())
    item = make_triple(cast.campaign, 1)
    make_annotation(make_assignment(item, cast.lin, slot=2, part=part))
    return make_report(make_assignment(item, cast.ada, part=part))


def test_it_goes_back_until_it_is_answered_again(cast: Cast, report) -> None:  # type: ignore[no-untyped-def]
    return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)

    assert [one.ruling for one in returned_to(cast.campaign, cast.ada)] == [RULING]
    assert report_counts(cast.campaign).waiting == 0
    assert report_counts(cast.campaign).returned == 1

    make_annotation(report.assignment, "1")

    assert returned_to(cast.campaign, cast.ada) == []
    assert outstanding(cast.campaign).count() == 0
    assert report_counts(cast.campaign).returned == 0


def test_answered_again_with_a_report_it_waits_for_the_manager_again(cast: Cast, report) -> None:  # type: ignore[no-untyped-def]
    return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)
    make_report(report.assignment, note="Still not.")

    assert [line.note for line in reports(cast.campaign).lines] == ["Still not."]
    return_answer(cast.campaign, assignment=report.assignment_id, ruling="Then leave it.", by=cast.mei)
    assert Return.objects.count() == 2


def test_nobody_else_learns_of_it(cast: Cast, report) -> None:  # type: ignore[no-untyped-def]
    return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)

    assert returned_to(cast.campaign, cast.lin) == []


def test_a_part_that_was_handed_in_is_given_back_with_it(cast: Cast, report) -> None:  # type: ignore[no-untyped-def]
    HandIn.objects.create(part=report.assignment.part, expert=cast.ada)
    HandIn.objects.create(part=report.assignment.part, expert=cast.lin)

    return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)

    assert [one.expert for one in HandIn.objects.all()] == [cast.lin]
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["part given back", "answer returned"]


def test_a_frozen_answer_stays(cast: Cast, report) -> None:  # type: ignore[no-untyped-def]
    design = report.assignment.part.design
    design.closed_at = timezone.now()
    design.save()
    with pytest.raises(Refused, match="closed batch"):
        return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)

    design.closed_at = None
    design.save()
    Thread.objects.create(item=report.assignment.item)
    with pytest.raises(Refused, match="open to discussion"):
        return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)

    Thread.objects.all().delete()
    cast.campaign.rounds.update(state=Round.State.CLOSED)
    with pytest.raises(Refused, match="round is closed"):
        return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)
    assert Return.objects.count() == 0


def test_it_refuses_what_reports_nothing_or_waits_already(cast: Cast, report) -> None:  # type: ignore[no-untyped-def]
    lins = cast.lin.assignments.get()
    with pytest.raises(Refused, match="no problem"):
        return_answer(cast.campaign, assignment=lins.pk, ruling=RULING, by=cast.mei)
    return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)
    with pytest.raises(Refused, match="already"):
        return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)


@pytest.mark.parametrize("ruling", ["", " \n ", "x" * 1001, "a\0b"])
def test_it_asks_for_a_ruling(cast: Cast, report, ruling: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Refused, match="ruling"):
        return_answer(cast.campaign, assignment=report.assignment_id, ruling=ruling, by=cast.mei)


def test_another_campaigns_answer_does_not_exist(cast: Cast, report) -> None:  # type: ignore[no-untyped-def]
    other = cast.otto.memberships.get().campaign
    with pytest.raises(NotYours):
        return_answer(other, assignment=report.assignment_id, ruling=RULING, by=cast.otto)


def test_what_is_hidden_until_its_repeat_is_told_later(cast: Cast, report) -> None:  # type: ignore[no-untyped-def]
    return_answer(cast.campaign, assignment=report.assignment_id, ruling=RULING, by=cast.mei)
    repeats = Round.objects.create(
        campaign=cast.campaign,
        kind=Round.Kind.REPEAT,
        number=2,
        k=1,
        guideline=cast.campaign.guidelines.get(),
    )
    again = make_assignment(
        report.assignment.item,
        cast.ada,
        round=repeats,
        part=report.assignment.part,
        position=300,
        queue=300,
    )

    assert returned_to(cast.campaign, cast.ada) == []
    make_annotation(again)
    assert returned_to(cast.campaign, cast.ada) == []
    repeats.state = Round.State.CLOSED
    repeats.closed_at = timezone.now()
    repeats.save()
    assert len(returned_to(cast.campaign, cast.ada)) == 1
