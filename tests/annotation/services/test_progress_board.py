"""Progress by part, expert and day, and hours: counted right, at a fixed cost, and nothing of any answer."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Annotation, HandIn, Round, TimeEntry
from annotation.services.errors import NotYours
from annotation.services.hours import statement
from annotation.services.progress_board import HOURS_COLUMNS, hours_rows, pay_statement, progress_board
from tests.factories import Cast, make_annotation, make_assignment, make_cast, make_part, make_triple

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def judge(cast: Cast, positions: range, *, days_ago: int, label: str = "1") -> None:
    """Ada judges these triples on one day; Lin has them before her."""
    round_ = cast.campaign.rounds.get(kind="main")
    part = round_.parts.first() or make_part(round_)
    at = timezone.now() - timedelta(days=days_ago)
    for position in positions:
        item = make_triple(cast.campaign, position)
        make_annotation(make_assignment(item, cast.ada, part=part), label, at=at, seconds=200.0)
        make_assignment(item, cast.lin, slot=2, part=part)


def test_it_counts_by_part_expert_and_day(cast: Cast) -> None:
    for n, days_ago in enumerate((3, 2, 1)):
        judge(cast, range(10 * n + 1, 10 * n + 6), days_ago=days_ago)
    cast.campaign.rounds.update(due_on=timezone.localdate() - timedelta(days=1))
    HandIn.objects.create(part=cast.campaign.rounds.get().parts.get(), expert=cast.ada)

    board = progress_board(cast.campaign)

    ada, lin = board.experts
    assert [(line.member.pseudonym, line.given, line.answered) for line in board.parts] == [
        ("A1", 15, 15),
        ("A2", 15, 0),
    ]
    assert [bool(line.handed_in_at) for line in board.parts] == [True, False]
    assert [list(line.counts) for line in board.days] == [[5, 0]] * 3
    assert (ada.finish.left, ada.due_on, ada.late) == (0, None, False)
    assert ada.paid == 15 * 120.0  # 200 seconds count as two minutes at most
    assert lin.finish.day is None
    assert "fewer than 3 days" in str(lin.finish.reason)
    assert lin.due_on == timezone.localdate() - timedelta(days=1)


def test_who_is_expected_after_the_due_date_is_late(cast: Cast) -> None:
    for n, days_ago in enumerate((3, 2, 1)):
        judge(cast, range(10 * n + 1, 10 * n + 3), days_ago=days_ago)
    part = cast.campaign.rounds.get().parts.get()
    for position in range(100, 110):
        make_assignment(make_triple(cast.campaign, position), cast.ada, part=part)
    cast.campaign.rounds.update(due_on=timezone.localdate() + timedelta(days=2))

    (ada, _lin) = progress_board(cast.campaign).experts

    assert ada.finish.day == timezone.localdate() + timedelta(days=5)
    assert ada.late


def test_answers_of_files_have_no_day_and_closed_rounds_no_finish(cast: Cast) -> None:
    judge(cast, range(1, 4), days_ago=1)
    Annotation.objects.update(source=Annotation.Source.IMPORT)
    cast.campaign.rounds.update(state=Round.State.CLOSED)

    board = progress_board(cast.campaign)

    assert board.days == []
    assert [line.given for line in board.experts] == [0, 0]


def test_a_hidden_repeat_stands_apart_in_its_part(cast: Cast) -> None:
    judge(cast, range(1, 3), days_ago=1)
    repeats = Round.objects.create(
        campaign=cast.campaign,
        kind=Round.Kind.REPEAT,
        number=2,
        k=1,
        guideline=cast.campaign.guidelines.get(),
    )
    part = cast.campaign.rounds.get(kind="main").parts.get()
    item = cast.campaign.items.first()
    assert item is not None
    make_assignment(item, cast.ada, round=repeats, part=part, position=90, queue=90)

    board = progress_board(cast.campaign)

    (line,) = (line for line in board.parts if line.member.user == cast.ada)
    assert (line.index, line.given, line.answered) == (part.index, 2, 2)
    assert (line.repeats_given, line.repeats_answered, line.complete) == (1, 0, False)
    (ada, _lin) = board.experts
    assert (ada.given, ada.answered, ada.before) == (2, 2, 0)
    assert (ada.repeats_given, ada.repeats_answered) == (1, 0)
    assert ada.finish.left == 1  # it is work all the same


def test_how_anybody_answered_changes_nothing_on_it(cast: Cast) -> None:
    judge(cast, range(1, 6), days_ago=1, label="1")
    before = progress_board(cast.campaign)
    Annotation.objects.update(label="0")
    cast.ada.assignments.update(label="0")

    assert progress_board(cast.campaign) == before


def test_it_costs_the_same_for_any_number(cast: Cast) -> None:
    costs = set()
    for n in range(3):
        judge(cast, range(10 * n + 1, 10 * n + 3 + n), days_ago=n + 1)
        with CaptureQueriesContext(connection) as queries:
            progress_board(cast.campaign)
        costs.add(len(queries))

    assert costs == {7}


def test_hours_of_everybody_are_those_of_each(cast: Cast) -> None:
    judge(cast, range(1, 4), days_ago=1)
    TimeEntry.objects.create(
        campaign=cast.campaign, user=cast.lin, kind="guideline", seconds=60.0, day=timezone.localdate(),
        client_key="0b1d3b54-9d1a-4a5b-8c57-6d7c0b0f2c11",
    )  # fmt: skip

    rows = [dict(zip(HOURS_COLUMNS, row, strict=True)) for row in hours_rows(cast.campaign)]

    assert [(row["expert"], row["counted_seconds"]) for row in rows] == [("A1", 360.0), ("A2", 60.0)]
    member = cast.campaign.memberships.get(user=cast.ada)
    assert pay_statement(cast.campaign, member.pk)[1] == statement(cast.campaign, cast.ada)
    with pytest.raises(NotYours):
        pay_statement(cast.campaign, cast.campaign.memberships.get(user=cast.mei).pk)
