"""Labels whose answers changed are computed again, without a word from the page that saved the answer."""

from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.models import Assignment, Job
from annotation.services import jobs
from annotation.services.answers import save_answers
from annotation.services.items import restore, withdraw
from annotation.services.labels import StaleWatch, finalize, finalize_work, passed_over, stale_labels
from annotation.services.sheets import Answer, Sheet
from tests.annotation.views.test_seat import make_work
from tests.factories import Cast
from tests.pages import client_of

pytestmark = pytest.mark.django_db


def answer(rows: list[Assignment], label: str) -> None:
    for row in rows:
        row.refresh_from_db()
        given = Answer(assignment=row.pk, revision=row.revision, label=label)
        sheet = Sheet(screen=row.pk, client_key=uuid4(), answers=(given,))
        save_answers(sheet, slug="main", expert_id=row.expert_id)


def of_unit(cast: Cast, position: int) -> list[Assignment]:
    return list(Assignment.objects.filter(item__position=position).order_by("slot"))


@pytest.fixture
def cast() -> Cast:
    """Two triples: the first one judged by both, the second by nobody; labels were computed."""
    cast = make_work("triple", units=2)
    answer(of_unit(cast, 1), "often")
    finalize(cast.campaign)
    return cast


def test_it_asks_once_for_new_labels_after_a_change(cast: Cast) -> None:
    watch = StaleWatch()
    watch.look()
    assert not Job.objects.exists()

    answer(of_unit(cast, 1)[:1], "rarely")
    for _ in range(2):
        watch.look()

    job = Job.objects.get()
    assert (job.kind, job.campaign, job.arguments) == ("finalize", cast.campaign, {})
    jobs.run(job.pk, finalize_work)
    assert stale_labels(cast.campaign) == 0
    watch.look()
    assert Job.objects.count() == 1


def test_it_finds_what_changed_while_no_worker_ran(cast: Cast) -> None:
    answer(of_unit(cast, 1)[:1], "rarely")

    StaleWatch().look()

    assert Job.objects.count() == 1


def test_it_leaves_items_alone_whose_answers_are_still_to_come(cast: Cast) -> None:
    watch = StaleWatch()
    watch.look()
    answer(of_unit(cast, 2)[:1], "often")
    watch.look()

    assert not Job.objects.exists()


def test_it_leaves_campaigns_without_labels_alone() -> None:
    cast = make_work("triple", units=1)
    answer(of_unit(cast, 1), "often")

    StaleWatch().look()

    assert not Job.objects.exists()


def test_it_costs_one_query_while_nothing_is_saved(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    watch = StaleWatch()
    watch.look()

    with django_assert_num_queries(1):
        watch.look()


def test_a_restored_item_waits_for_new_labels(cast: Cast) -> None:
    """Withdrawn, its label went with the next run; restored, it has answers and no label."""
    item = Assignment.objects.filter(item__position=1)[0].item_id
    withdraw(cast.campaign, item, reason="by mistake", by=cast.mei)
    assert finalize(cast.campaign).changed == 1
    assert passed_over(cast.campaign) == 0

    restore(cast.campaign, item, by=cast.mei)

    assert passed_over(cast.campaign) == 1
    assert finalize(cast.campaign).changed == 1
    assert passed_over(cast.campaign) == 0


def test_restoring_an_item_asks_for_new_labels(cast: Cast) -> None:
    item = Assignment.objects.filter(item__position=1)[0].item_id
    withdraw(cast.campaign, item, reason="by mistake", by=cast.mei)
    finalize(cast.campaign)

    client_of(cast.mei).post(f"/campaigns/main/items/{item}/restore/")

    assert [job.kind for job in Job.objects.all()] == ["finalize"]


def test_it_counts_the_labels_that_changed(cast: Cast) -> None:
    """Items that only moved from one reason without a label to another are no changed labels."""
    assert finalize(cast.campaign).changed == 0
    answer(of_unit(cast, 2)[:1], "rarely")
    assert finalize(cast.campaign).changed == 0
    answer(of_unit(cast, 2)[1:], "rarely")
    assert finalize(cast.campaign).changed == 1
    answer(of_unit(cast, 2), "often")
    assert finalize(cast.campaign).changed == 1
