"""Late answers, for the manager."""

from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.models import Assignment, Campaign
from annotation.services.answers import save_answers
from annotation.services.errors import KeptAside, KeyReused
from annotation.services.sheets import Answer, Sheet
from annotation.services.surplus import surplus_count, surplus_lines
from tests.annotation.views.test_seat import client_of, make_work, rows_of
from tests.pages import text_of

pytestmark = pytest.mark.django_db


def answer_late(row: Assignment, **given: object) -> None:
    """The row is taken away; its answer comes afterwards."""
    Assignment.objects.filter(pk=row.pk).update(withdrawn_at=timezone.now())
    answer = Answer(assignment=row.pk, revision=0, **given)  # type: ignore[arg-type]
    with pytest.raises(KeptAside):
        save_answers(
            Sheet(screen=row.pk, client_key=uuid4(), answers=(answer,)),
            slug="main",
            expert_id=row.expert_id,
        )


def test_it_shows_what_was_answered_and_by_whom_under_a_pseudonym() -> None:
    cast = make_work("compound", units=1)
    first, second = rows_of(cast.ada)[:2]
    answer_late(first, label="wrong", note="too late")
    answer_late(second, cannot_judge="source_broken")

    newest, oldest = surplus_lines(cast.campaign)

    assert (newest.answer["label"], newest.cause, newest.pseudonym) == ("", "source_broken", "A1")
    assert (oldest.answer["label"], oldest.note, oldest.item) == ("wrong", "too late", first.item)
    assert surplus_count(cast.campaign) == 2
    assert surplus_count(Campaign.objects.get(slug="other")) == 0


def test_it_leads_a_manager_from_the_overview_to_the_page() -> None:
    cast = make_work("triple", units=1)
    answer_late(rows_of(cast.ada)[0], label="sometimes", problem="text_broken")

    page = client_of(cast.mei).get("/campaigns/main/surplus/")

    assert "1 late answer, not counted" in text_of(client_of(cast.mei).get("/campaigns/main/"))
    assert "late answer" not in text_of(client_of(cast.vera).get("/campaigns/main/"))
    assert "PersonX rest 1 (xWant) A1 sometimes" in text_of(page)


def test_another_answer_under_the_same_key_is_not_taken_for_the_one_that_is_kept() -> None:
    cast = make_work("triple", units=1)
    row = rows_of(cast.ada)[0]
    Assignment.objects.filter(pk=row.pk).update(withdrawn_at=timezone.now())
    key = uuid4()

    def send(label: str) -> None:
        answer = Answer(assignment=row.pk, revision=0, label=label)
        save_answers(
            Sheet(screen=row.pk, client_key=key, answers=(answer,)), slug="main", expert_id=cast.ada.pk
        )

    for _time in range(2):
        with pytest.raises(KeptAside):
            send("often")
    with pytest.raises(KeyReused):
        send("rarely")
    assert [line.answer["label"] for line in surplus_lines(cast.campaign)] == ["often"]


def test_an_answer_that_counts_after_all_is_not_listed() -> None:
    cast = make_work("triple", units=1)
    row = rows_of(cast.ada)[0]
    Assignment.objects.filter(pk=row.pk).update(withdrawn_at=timezone.now())
    sheet = Sheet(
        screen=row.pk, client_key=uuid4(), answers=(Answer(assignment=row.pk, revision=0, label="often"),)
    )
    with pytest.raises(KeptAside):
        save_answers(sheet, slug="main", expert_id=cast.ada.pk)
    Assignment.objects.filter(pk=row.pk).update(withdrawn_at=None)

    save_answers(sheet, slug="main", expert_id=cast.ada.pk)

    assert (surplus_count(cast.campaign), list(surplus_lines(cast.campaign))) == (0, [])
