"""The expert's questions and the managers' answers, as pages."""

import re
from uuid import uuid4

import pytest

from annotation.models import Question
from annotation.services import questions
from tests.annotation.views.test_seat import make_work, rows_of
from tests.factories import Cast
from tests.pages import body_of, client_of, hidden, text_of

pytestmark = pytest.mark.django_db

MINE, ALL = "/campaigns/main/my-questions/", "/campaigns/main/questions/"


def a_question(cast: Cast, text: str = "Which dog?") -> Question:
    screen = rows_of(cast.ada)[0].pk
    return questions.ask(cast.campaign, cast.ada, screen_id=screen, text=text, client_key=uuid4())


def test_it_asks_without_a_script_and_stores_a_form_sent_twice_once() -> None:
    cast = make_work("compound", units=2)
    ada = client_of(cast.ada)
    judging = body_of(ada.get("/campaigns/main/judge/"))
    assert f'href="{MINE}?position=1"' in judging

    form = ada.get(MINE, {"position": 1})
    assert "lazy dog 1" in text_of(form)
    sent = {"text": "Which dog is meant?", "client_key": hidden(form, "client_key")}
    ada.post(f"{MINE}?position=1", sent)
    response = ada.post(f"{MINE}?position=1", sent, follow=True)

    assert Question.objects.get().unit.compound == "lazy dog 1"
    assert "Which dog is meant?" in text_of(response)
    assert "waits for an answer" in text_of(response)


def test_it_keeps_the_form_where_nothing_was_written() -> None:
    cast = make_work("triple", units=1)

    response = client_of(cast.ada).post(f"{MINE}?position=1", {"text": " ", "client_key": str(uuid4())})

    assert response.status_code == 400
    assert "This field is required." in text_of(response)
    assert not Question.objects.exists()


def test_it_counts_in_code_points_and_a_line_break_once() -> None:
    """A browser's maxlength would cut five hundred rare characters, and it sends two for a line break."""
    cast = make_work("triple", units=1)
    client = client_of(cast.ada)
    form = client.get(MINE, {"position": 1})
    assert 'data-limit="1000"' in body_of(form)
    assert "maxlength" not in body_of(form)

    for text, status in (("𠮷\r\n" * 499 + "𠮷𠮷𠮷", 400), ("𠮷\r\n" * 499 + "𠮷𠮷", 302)):
        sent = {"text": text, "client_key": hidden(form, "client_key")}
        assert client.post(f"{MINE}?position=1", sent).status_code == status

    assert len(Question.objects.get().text) == 1000
    assert "maxlength" not in body_of(client_of(cast.mei).get(ALL))


@pytest.mark.parametrize("position", ["9", "x", "9999999999"])
def test_it_finds_no_screen_that_is_not_ones_own(position: str) -> None:
    cast = make_work("triple", units=1)

    assert client_of(cast.ada).get(MINE, {"position": position}).status_code == 404


def test_it_goes_from_the_question_to_the_answer_and_back() -> None:
    cast = make_work("triple", units=1)
    asked = a_question(cast, "Is a marathon a noun?")
    ada, mei = client_of(cast.ada), client_of(cast.mei)

    assert re.search(r"Needs you .*1 question\b", text_of(mei.get("/campaigns/main/")))
    assert "question" not in text_of(client_of(cast.vera).get("/campaigns/main/"))
    page = text_of(mei.get(ALL))
    assert "Is a marathon a noun? A1 · " in page
    assert "ada" not in page.replace("Data", "")
    mei.post(f"{ALL}{asked.pk}/answer/", {"text": "By the rule:\nyes."})

    assert "new answers: 1" in text_of(ada.get("/campaigns/main/work/"))
    assert '"new_answers": 1' in body_of(
        ada.get("/campaigns/main/work/", headers={"accept": "application/json"})
    )
    assert "new answer" in text_of(ada.get(MINE))
    assert "By the rule: yes." in text_of(ada.get(MINE))
    assert "By the rule" not in text_of(client_of(cast.lin).get(MINE))
    ada.post(f"{MINE}{asked.pk}/read/")
    assert "new answer" not in text_of(ada.get("/campaigns/main/work/"))
    assert "read by the expert" in text_of(mei.get(ALL))


def test_it_loses_no_answer_that_is_too_long() -> None:
    cast = make_work("triple", units=1)
    asked = a_question(cast)

    response = client_of(cast.mei).post(f"{ALL}{asked.pk}/answer/", {"text": "长" * 1001})

    assert response.status_code == 400
    assert "长" * 1001 in body_of(response)


def test_it_escapes_what_was_written_and_isolates_its_direction() -> None:
    cast = make_work("triple", units=1)
    a_question(cast, "<b>\u05d0</b>?")

    body = body_of(client_of(cast.mei).get(ALL))

    assert '<p class="said" dir="auto">&lt;b&gt;\u05d0&lt;/b&gt;?</p>' in body
