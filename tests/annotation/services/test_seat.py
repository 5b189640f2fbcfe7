"""Putting off, looking back, handing in."""

from uuid import uuid4

import pytest

from annotation.models import Annotation, Assignment, HandIn, Round
from annotation.services.answers import save_answers
from annotation.services.errors import NotYours, Refused
from annotation.services.screens import next_screens
from annotation.services.seat import (
    find_screens,
    hand_in,
    postpone,
    postponed_positions,
    review_part,
    take_back,
)
from annotation.services.sheets import Answer, Sheet, Timing
from tests.annotation.views.test_seat import make_work, rows_of
from tests.factories import Cast, answer

pytestmark = pytest.mark.django_db


def put_off(cast: Cast, row: Assignment, *, expert_id: int | None = None) -> int:
    return postpone(cast.campaign, expert_id=expert_id or cast.ada.pk, screen_id=row.pk, assignments=[row.pk])


def upcoming(cast: Cast) -> list[int]:
    return [screen["position"] for screen in next_screens(cast.campaign, expert_id=cast.ada.pk, count=50)]


def save(cast: Cast, row: Assignment, *, seconds: float | None = None, **given: object) -> None:
    save_answers(
        Sheet(
            screen=row.pk,
            client_key=uuid4(),
            answers=(Answer(assignment=row.pk, revision=row.revision, **given),),  # type: ignore[arg-type]
            timing=Timing(seconds=seconds),
        ),
        slug=cast.campaign.slug,
        expert_id=row.expert_id,
    )


class TestLater:
    def test_it_puts_a_screen_behind_all_others_of_its_part(self) -> None:
        cast = make_work("triple", units=3)
        rows = rows_of(cast.ada)

        put_off(cast, rows[0])
        put_off(cast, rows[1])

        assert upcoming(cast) == [3, 1, 2]
        assert postponed_positions(cast.campaign, expert_id=cast.ada.pk) == [1, 2]

    def test_it_does_no_harm_to_put_the_last_one_off_again(self) -> None:
        cast = make_work("triple", units=3)
        rows = rows_of(cast.ada)

        assert put_off(cast, rows[0]) == put_off(cast, rows[0])
        assert upcoming(cast) == [2, 3, 1]

    def test_it_refuses_an_eleventh(self) -> None:
        cast = make_work("triple", units=12)
        rows = rows_of(cast.ada)
        for row in rows[:10]:
            put_off(cast, row)

        put_off(cast, rows[0])  # one of the ten again
        with pytest.raises(Refused, match="10 units are put off already"):
            put_off(cast, rows[10])

    def test_it_refuses_what_is_answered_and_hides_what_is_anothers(self) -> None:
        cast = make_work("triple", units=2)
        rows = rows_of(cast.ada)
        answer(rows[0])

        with pytest.raises(Refused, match="answered already"):
            put_off(cast, rows[0])
        with pytest.raises(NotYours):
            put_off(cast, rows[1], expert_id=cast.lin.pk)
        with pytest.raises(NotYours):
            postpone(cast.campaign, expert_id=cast.ada.pk, screen_id=rows[0].pk, assignments=[rows[1].pk])

    def test_it_takes_all_rows_of_a_compound_along(self) -> None:
        cast = make_work("compound", units=2)
        rows = [row for row in rows_of(cast.ada) if row.position == 1]

        postpone(
            cast.campaign,
            expert_id=cast.ada.pk,
            screen_id=rows[0].pk,
            assignments=[row.pk for row in rows],
        )

        assert upcoming(cast) == [2, 1]
        assert len({row.queue for row in rows_of(cast.ada) if row.position == 1}) == 1

    def test_it_is_no_longer_put_off_once_it_is_answered(self) -> None:
        cast = make_work("triple", units=2)
        row = rows_of(cast.ada)[0]
        put_off(cast, row)

        save(cast, row, label="often")

        assert postponed_positions(cast.campaign, expert_id=cast.ada.pk) == []


class TestTakingBack:
    def take(self, cast: Cast, row: Assignment) -> int:
        return take_back(cast.campaign, expert_id=row.expert_id, screen_id=row.pk, assignments=[row.pk])

    def test_it_brings_a_screen_before_all_others_of_its_part(self) -> None:
        cast = make_work("triple", units=3)
        rows = rows_of(cast.ada)
        put_off(cast, rows[0])
        put_off(cast, rows[1])

        self.take(cast, rows[1])
        self.take(cast, rows[0])
        self.take(cast, rows[0])

        assert upcoming(cast) == [1, 2, 3]
        assert postponed_positions(cast.campaign, expert_id=cast.ada.pk) == []
        queues = [row.queue for row in rows_of(cast.ada)]
        assert len(set(queues)) == len(queues)

    def test_it_leaves_alone_what_was_not_put_off_and_what_is_anothers(self) -> None:
        cast = make_work("triple", units=3)
        last = rows_of(cast.ada)[2]

        self.take(cast, last)

        assert upcoming(cast) == [1, 2, 3]
        with pytest.raises(NotYours):
            take_back(cast.campaign, expert_id=cast.lin.pk, screen_id=last.pk, assignments=[last.pk])

    def test_it_brings_back_the_only_one(self) -> None:
        cast = make_work("compound", units=1)
        rows = rows_of(cast.ada)
        ids = [row.pk for row in rows]
        postpone(cast.campaign, expert_id=cast.ada.pk, screen_id=rows[0].pk, assignments=ids)

        take_back(cast.campaign, expert_id=cast.ada.pk, screen_id=rows[0].pk, assignments=ids)

        assert upcoming(cast) == [1]
        assert postponed_positions(cast.campaign, expert_id=cast.ada.pk) == []


class TestLookingBack:
    def test_it_finds_compounds_by_source_atom_and_unsegmented_translation(self) -> None:
        cast = make_work("compound", units=2)
        for row in rows_of(cast.ada):
            answer(row)
        item = rows_of(cast.ada)[7].item
        item.translation = "他 喜欢 的 狗 睡 着 了 。"
        item.save()

        def found(text: str) -> list[int]:
            screens = find_screens(cast.campaign, expert_id=cast.ada.pk, text=text).screens
            return [screen["position"] for screen in screens]

        assert found("喜欢的狗") == [2]
        assert sorted(found("lazy SLEPT (3)")) == [1, 2]
        assert found("dog 1") != []
        assert found("cat") == []
        assert found("  ") == []

    def test_it_finds_nothing_of_another_expert(self) -> None:
        cast = make_work("triple", units=1)
        answer(rows_of(cast.lin)[0])

        assert find_screens(cast.campaign, expert_id=cast.ada.pk, text="marathon").screens == []


class TestHandingIn:
    def test_it_lists_unsure_postponed_and_reported_once_each(self) -> None:
        cast = make_work("compound", units=3)
        rows = rows_of(cast.ada)
        save(cast, rows[0], label="correct", unsure=True, note="close")
        save(cast, rows[1], cannot_judge="source_broken")
        later = [row for row in rows if row.position == 2]
        postpone(
            cast.campaign,
            expert_id=cast.ada.pk,
            screen_id=later[0].pk,
            assignments=[row.pk for row in later],
        )

        review = review_part(cast.campaign, expert_id=cast.ada.pk, index=0)

        assert (review.total, review.open, review.done) == (3, 3, 0)
        assert [(remark.position, remark.note) for remark in review.unsure] == [(1, "close")]
        assert [remark.position for remark in review.postponed] == [2]
        assert [remark.code for remark in review.reported] == ["source_broken"]

    def test_it_speaks_of_the_latest_answer_only(self) -> None:
        cast = make_work("triple", units=1)
        row = rows_of(cast.ada)[0]
        save(cast, row, label="often", unsure=True)
        row.refresh_from_db()
        save(cast, row, label="often")

        assert review_part(cast.campaign, expert_id=cast.ada.pk, index=0).unsure == ()

    def test_it_closes_the_part_for_answers(self) -> None:
        cast = make_work("triple", units=1)
        row = rows_of(cast.ada)[0]
        save(cast, row, label="often")
        hand_in(cast.campaign, expert_id=cast.ada.pk, index=0)
        row.refresh_from_db()

        with pytest.raises(Refused, match="handed in"):
            save(cast, row, label="rarely")
        assert HandIn.objects.count() == 1
        assert Annotation.objects.count() == 1

    def test_it_refuses_while_a_row_is_open_and_hides_parts_of_others(self) -> None:
        cast = make_work("triple", units=1)

        with pytest.raises(Refused, match="without an answer"):
            hand_in(cast.campaign, expert_id=cast.ada.pk, index=0)
        with pytest.raises(NotYours):
            review_part(cast.campaign, expert_id=cast.vera.pk, index=0)

    def test_it_shows_a_closed_round_and_takes_nothing_for_it(self) -> None:
        cast = make_work("triple", units=1)
        row = Assignment.objects.filter(expert=cast.ada).get()
        save(cast, row, label="rarely")
        Round.objects.update(state=Round.State.CLOSED)

        review = review_part(cast.campaign, expert_id=cast.ada.pk, index=0)

        assert (review.closed, review.done, review.handed_in_at) == (True, 1, None)
        with pytest.raises(Refused, match="This round is closed"):
            hand_in(cast.campaign, expert_id=cast.ada.pk, index=0)
        with pytest.raises(NotYours):
            postpone(cast.campaign, expert_id=cast.ada.pk, screen_id=row.pk, assignments=[row.pk])
