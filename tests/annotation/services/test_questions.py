"""Questions about units: asked once, seen by two sides, answered with a rule."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries

from annotation.models import AuditEntry, HandIn, Question, User
from annotation.protocol.errors import ProtocolError
from annotation.services import questions
from annotation.services.errors import KeyReused, NotYours
from tests.annotation.views.test_seat import make_work, rows_of
from tests.factories import Cast, answer, make_repeat, make_triple

pytestmark = pytest.mark.django_db


def ask(
    cast: Cast, *, text: str = "Which dog?", user: User | None = None, key: UUID | None = None
) -> Question:
    asker = user or cast.ada
    screen = (rows_of(asker) or rows_of(cast.ada))[0].pk
    return questions.ask(cast.campaign, asker, screen_id=screen, text=text, client_key=key or uuid4())


class TestAsking:
    def test_it_stores_once_what_was_sent_twice(self) -> None:
        cast, key = make_work("triple", units=2), uuid4()

        first, second = ask(cast, key=key), ask(cast, key=key)

        assert first == second
        assert Question.objects.get().text == "Which dog?"
        with pytest.raises(KeyReused):
            ask(cast, key=key, text="Another one?")

    @pytest.mark.parametrize("text", ["", " \n ", "a\0b", "长" * 1001])
    def test_it_refuses_what_is_no_question(self, text: str) -> None:
        cast = make_work("triple", units=1)

        with pytest.raises(ProtocolError):
            ask(cast, text=text)

        assert not Question.objects.exists()

    def test_it_takes_a_thousand_rare_characters(self) -> None:
        cast = make_work("triple", units=1)

        assert ask(cast, text="𠮷" * 1000).text == "𠮷" * 1000

    def test_it_knows_no_unit_outside_ones_own_work(self) -> None:
        cast = make_work("triple", units=1)
        other = make_triple(cast.campaign, 9)

        with pytest.raises(NotYours):
            questions.ask(cast.campaign, cast.ada, screen_id=other.pk, text="?", client_key=uuid4())


class TestTheWayBack:
    """From a question to the unit's screen."""

    def test_it_leads_to_no_repeat_that_was_drawn_later(self) -> None:
        cast = make_work("triple", units=2)
        original = answer(rows_of(cast.ada)[0])
        ask(cast)
        assert self._ways(cast) == [original.position]

        repeat = make_repeat(original, position=90)
        assert self._ways(cast) == [None]  # nor to the original, which is out of sight

        ask_at: dict[str, Any] = {"screen_id": repeat.pk, "text": "And here?", "client_key": uuid4()}
        questions.ask(cast.campaign, cast.ada, **ask_at)
        assert self._ways(cast) == [repeat.position, None]

        answer(repeat)
        assert self._ways(cast) == [repeat.position, None]  # until the part is handed in
        HandIn.objects.create(part_id=repeat.part_id, expert=cast.ada)  # type: ignore[misc]
        assert self._ways(cast) == [original.position] * 2

    def _ways(self, cast: Cast) -> list[int | None]:
        return [line.position for line in questions.own_questions(cast.campaign, cast.ada)]


class TestAnswering:
    def test_it_tells_the_one_who_asked_until_they_have_read_it(self) -> None:
        cast = make_work("triple", units=1)
        asked = ask(cast)
        assert (questions.unanswered(cast.campaign), questions.new_answers(cast.campaign, cast.ada)) == (1, 0)

        questions.answer(cast.campaign, pk=asked.pk, text="The nearest one.", by=cast.mei)

        assert (questions.unanswered(cast.campaign), questions.new_answers(cast.campaign, cast.ada)) == (0, 1)
        questions.read(cast.campaign, cast.ada, pk=asked.pk)
        questions.read(cast.campaign, cast.ada, pk=asked.pk)
        assert questions.new_answers(cast.campaign, cast.ada) == 0
        detail = AuditEntry.objects.get().detail
        assert detail == {"question": asked.pk, "before": None, "after": "The nearest one."}

    def test_it_is_new_again_where_the_answer_changed_only(self) -> None:
        cast = make_work("triple", units=1)
        asked = ask(cast)
        questions.answer(cast.campaign, pk=asked.pk, text="The nearest one.", by=cast.mei)
        questions.read(cast.campaign, cast.ada, pk=asked.pk)

        questions.answer(cast.campaign, pk=asked.pk, text="The nearest one.", by=cast.mei)
        assert questions.new_answers(cast.campaign, cast.ada) == 0
        questions.answer(cast.campaign, pk=asked.pk, text="Any of them.", by=cast.mei)

        assert questions.new_answers(cast.campaign, cast.ada) == 1

    def test_it_answers_nothing_of_another_campaign(self) -> None:
        cast = make_work("triple", units=1)
        other = cast.otto.memberships.get().campaign

        with pytest.raises(NotYours):
            questions.answer(other, pk=ask(cast).pk, text="No.", by=cast.otto)

        assert Question.objects.get().answer == ""

    def test_it_lets_nobody_else_mark_an_answer_as_read(self) -> None:
        cast = make_work("triple", units=1)
        asked = ask(cast)
        questions.answer(cast.campaign, pk=asked.pk, text="The nearest one.", by=cast.mei)

        with pytest.raises(NotYours):
            questions.read(cast.campaign, cast.lin, pk=asked.pk)

        assert questions.new_answers(cast.campaign, cast.ada) == 1

    def test_no_answer_is_without_its_author(self) -> None:
        cast = make_work("triple", units=1)
        asked = ask(cast)

        with pytest.raises(IntegrityError), transaction.atomic():
            Question.objects.filter(pk=asked.pk).update(answer="The nearest one.")


class TestLooking:
    def test_it_shows_ones_own_with_the_text_and_the_way_to_it(self) -> None:
        cast = make_work("compound", units=2)
        ask(cast, text="Which dog?")
        ask(cast, text="Whose?", user=cast.lin)

        (line,) = questions.own_questions(cast.campaign, cast.ada)

        assert (line.question.text, line.unit.compound, line.position) == ("Which dog?", "lazy dog 1", 1)
        assert line.unit.sentences[0] == ("lazy dog 1 slept (1).", "懒狗睡着了（1）。")

    def test_it_shows_managers_what_waits_first_under_pseudonyms(self) -> None:
        cast = make_work("triple", units=2)
        first = ask(cast, text="First?")
        ask(cast, text="Second?", user=cast.lin)
        questions.answer(cast.campaign, pk=first.pk, text="Yes, by the rule.", by=cast.mei)

        lines = questions.all_questions(cast.campaign)

        assert [(line.question.text, line.pseudonym) for line in lines] == [
            ("Second?", "A2"),
            ("First?", "A1"),
        ]
        assert lines[0].unit.tail == "PersonX rest 1"

    def test_it_costs_the_same_for_many_questions(
        self, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        cast = make_work("triple", units=3)
        for number in range(5):
            ask(cast, text=f"{number}?")

        with django_assert_num_queries(3):
            questions.own_questions(cast.campaign, cast.ada)
        with django_assert_num_queries(3):
            questions.all_questions(cast.campaign)
