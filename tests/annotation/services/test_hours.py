"""Paid time: what counts, on which day, and how it is corrected."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.models import Annotation, Assignment, TimeEntry, User
from annotation.protocol.errors import ProtocolError
from annotation.services.answers import save_answers
from annotation.services.errors import KeyReused, Refused
from annotation.services.hours import correct, paid_seconds, record, statement
from annotation.services.sheets import Answer, Sheet, Timing
from tests.annotation.views.test_seat import make_work, rows_of
from tests.factories import Cast, make_cast

pytestmark = pytest.mark.django_db


def save(rows: list[Assignment], *, seconds: float | None, label: str = "wrong", **timing: Any) -> UUID:
    """Rows of one screen, saved together; gives the key under which they are stored."""
    sheet = Sheet(
        screen=rows[0].pk,
        client_key=uuid4(),
        answers=tuple(Answer(assignment=row.pk, revision=row.revision, label=label) for row in rows),
        timing=Timing(seconds=seconds, **timing),
    )
    save_answers(sheet, slug="main", expert_id=rows[0].expert_id)
    return sheet.client_key


def saved_at(key: UUID, moment: datetime) -> None:
    Annotation.objects.filter(client_key=key).update(created_at=moment)


def add(cast: Cast, *, minutes: float, day: date | None = None, reason: str = "on paper") -> TimeEntry:
    day = day or timezone.localdate()
    return correct(cast.campaign, cast.ada, seconds=minutes * 60, day=day, reason=reason, client_key=uuid4())


class TestStatement:
    def test_it_counts_each_screen_once_and_no_lunch_break(self) -> None:
        cast = make_work("compound", units=2)
        rows = rows_of(cast.ada)
        save(rows[:5], seconds=40.0)
        save(rows[5:6], seconds=3000.0)  # 300 count
        save(rows[6:7], seconds=None)
        save(rows_of(cast.lin)[:1], seconds=10.0)

        found = statement(cast.campaign, cast.ada)

        assert (found.total.seat, found.total.paid, found.total.screens) == (340.0, 340.0, 2)
        assert found.total.wall == 3040.0
        assert statement(cast.campaign, cast.vera).days == ()

    def test_it_counts_a_triple_up_to_two_minutes_and_a_correction_of_it_as_well(self) -> None:
        cast = make_work("triple", units=1)
        rows = rows_of(cast.ada)
        save(rows, seconds=500.0, label="often")
        save(rows_of(cast.ada), seconds=7.0, label="rarely")

        assert statement(cast.campaign, cast.ada).total.seat == 127.0

    def test_it_keeps_the_three_clocks_apart_and_says_what_was_not_measured(self) -> None:
        cast = make_work("triple", units=2)
        first, second = rows_of(cast.ada)
        save([first], seconds=100.0, visible_seconds=60.0, active_seconds=20.0, label="often")
        yesterday = save([second], seconds=5.0, label="often")
        saved_at(yesterday, timezone.now() - timedelta(days=1))

        before, today = statement(cast.campaign, cast.ada).days

        assert (today.wall, today.visible, today.active) == (100.0, 60.0, 20.0)
        assert (before.wall, before.visible, before.active) == (5.0, None, None)

    def test_it_takes_the_day_of_the_site_s_time_zone(self) -> None:
        cast = make_work("triple", units=1)
        saved_at(save(rows_of(cast.ada), seconds=5.0, label="often"), datetime(2026, 3, 1, 20, tzinfo=UTC))

        with timezone.override("Asia/Shanghai"):
            (day,) = statement(cast.campaign, cast.ada).days

        assert day.day == date(2026, 3, 2)

    def test_it_leaves_out_answers_from_files(self) -> None:
        cast = make_work("triple", units=1)
        save(rows_of(cast.ada), seconds=50.0, label="often")
        Annotation.objects.update(source=Annotation.Source.IMPORT)

        assert statement(cast.campaign, cast.ada).total.paid == 0
        assert paid_seconds(cast.campaign, expert_id=cast.ada.pk) == 0

    def test_it_adds_the_lines_of_each_kind_and_the_corrections(self) -> None:
        cast = make_work("triple", units=1)
        save(rows_of(cast.ada), seconds=60.0, label="often")
        for kind in ("guideline", "practice", "discussion"):
            record(cast.campaign, cast.ada, kind=kind, seconds=100.0, client_key=uuid4())
        add(cast, minutes=-1, reason="telephone")

        found = statement(cast.campaign, cast.ada)

        assert found.total.paid == 300.0
        assert (found.total.guideline, found.total.practice, found.total.discussion) == (100, 100, 100)
        assert [(entry.seconds, entry.reason) for entry in found.corrections] == [(-60.0, "telephone")]
        assert paid_seconds(cast.campaign, expert_id=cast.ada.pk) == pytest.approx(found.total.paid)

    def test_it_costs_the_same_queries_after_many_days(
        self, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        cast = make_work("triple", units=6)
        for days, row in enumerate(rows_of(cast.ada)):
            saved_at(save([row], seconds=9.0, label="often"), timezone.now() - timedelta(days=days))
            record(cast.campaign, cast.ada, kind="guideline", seconds=9.0, client_key=uuid4())

        with django_assert_num_queries(2):
            assert len(statement(cast.campaign, cast.ada).days) == 6
        with django_assert_num_queries(2):
            paid_seconds(cast.campaign, expert_id=cast.ada.pk)


class TestRecord:
    @pytest.mark.parametrize(
        ("kind", "given", "counted"),
        [("guideline", 90.5, 90.5), ("guideline", 7200.0, 1800.0), ("practice", 7200.0, 300.0)],
    )
    def test_it_counts_up_to_the_published_cap(self, kind: str, given: float, counted: float) -> None:
        cast = make_cast()

        line = record(cast.campaign, cast.ada, kind=kind, seconds=given, client_key=uuid4())

        assert (line.seconds, line.day) == (counted, timezone.localdate())

    def test_it_counts_once_what_is_sent_twice(self) -> None:
        cast, key = make_cast(), uuid4()

        lines = [
            record(cast.campaign, cast.ada, kind="guideline", seconds=9.0, client_key=key) for _ in range(2)
        ]

        assert lines[0] == lines[1]
        assert TimeEntry.objects.count() == 1

    def test_it_refuses_a_key_used_for_something_else(self) -> None:
        cast, key = make_cast(), uuid4()
        record(cast.campaign, cast.ada, kind="guideline", seconds=9.0, client_key=key)

        with pytest.raises(KeyReused):
            record(cast.campaign, cast.ada, kind="guideline", seconds=8.0, client_key=key)
        record(cast.campaign, cast.lin, kind="guideline", seconds=8.0, client_key=key)  # another person's key

    @pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
    def test_it_refuses_what_is_no_time(self, seconds: float) -> None:
        cast = make_cast()

        with pytest.raises(ProtocolError, match="seconds"):
            record(cast.campaign, cast.ada, kind="guideline", seconds=seconds, client_key=uuid4())

    def test_it_takes_no_correction_without_a_reason_this_way(self) -> None:
        cast = make_cast()

        with pytest.raises(ProtocolError, match="guideline, practice, discussion"):
            record(cast.campaign, cast.ada, kind="correction", seconds=1.0, client_key=uuid4())


class TestCorrect:
    def test_it_adds_to_a_day_and_takes_away_again(self) -> None:
        cast = make_cast()
        add(cast, minutes=30)
        add(cast, minutes=-30, reason="typed it twice")

        assert statement(cast.campaign, cast.ada).total.correction == 0
        assert TimeEntry.objects.count() == 2  # what was entered stays

    def test_it_takes_away_no_more_than_counts_on_that_day(self) -> None:
        cast = make_cast()
        add(cast, minutes=30)

        with pytest.raises(Refused, match="Only 30 minutes"):
            add(cast, minutes=-31)

    def test_it_says_how_much_one_minute_is(self) -> None:
        cast = make_cast()
        add(cast, minutes=1)

        with pytest.raises(Refused, match="Only 1 minute counts"):
            add(cast, minutes=-2)

    @pytest.mark.parametrize("minutes", [0, 24 * 60 + 1, -24 * 60 - 1])
    def test_it_refuses_nothing_and_more_than_a_day(self, minutes: int) -> None:
        with pytest.raises(Refused, match="24 hours"):
            add(make_cast(), minutes=minutes)

    @pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
    def test_it_needs_a_reason(self, reason: str) -> None:
        with pytest.raises(Refused, match="reason"):
            add(make_cast(), minutes=1, reason=reason)

    @pytest.mark.parametrize("days", [1, -1])
    def test_it_refuses_days_to_come_and_days_before_the_campaign(self, days: int) -> None:
        with pytest.raises(Refused, match="Choose a day"):
            add(make_cast(), minutes=1, day=timezone.localdate() + timedelta(days=days))

    def test_it_enters_once_what_is_sent_twice(self) -> None:
        cast, key = make_cast(), uuid4()
        add(cast, minutes=5)

        for _ in range(2):  # after the first one nothing is left to take away
            correct(
                cast.campaign,
                cast.ada,
                seconds=-300.0,
                day=timezone.localdate(),
                reason="break",
                client_key=key,
            )

        assert statement(cast.campaign, cast.ada).total.paid == 0

    def test_it_says_nothing_to_others(self) -> None:
        cast = make_cast()
        add(cast, minutes=5)

        assert statement(cast.campaign, User.objects.get(username="lin")).days == ()
