"""Several counts in one statement: the same figures as one by one."""

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.models import Arbitration, Membership, Question, Round, Thread
from annotation.services.counts import counts
from annotation.services.discussion import open_threads, unread_threads
from annotation.services.news import News, news_for
from annotation.services.questions import new_answers
from annotation.services.settled import is_open
from tests.factories import make_cast, make_judged

pytestmark = pytest.mark.django_db


def test_it_counts_each_by_itself_in_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    campaign = make_cast().campaign
    of_roles = {
        role.value: campaign.memberships.filter(role=role).order_by("-pk") for role in Membership.Role
    }

    with django_assert_num_queries(1):
        found = counts(
            **of_roles,
            rounds=campaign.rounds.all(),
            nothing=Arbitration.objects.all(),
            none=Question.objects.none(),
        )

    assert found == {"manager": 1, "expert": 2, "viewer": 1, "rounds": 1, "nothing": 0, "none": 0}


def test_where_all_are_known_to_be_empty_there_are_none() -> None:
    assert counts(one=Question.objects.none(), other=Thread.objects.none()) == {"one": 0, "other": 0}


@pytest.mark.parametrize("state", [None, Round.State.OPEN, Round.State.CLOSED])
def test_news_are_what_each_service_says(
    state: str | None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    cast = make_cast()
    make_judged(cast, ("1", "0"), ("0", "1"))
    item, other = cast.campaign.items.order_by("pk")
    open_threads(cast.campaign, [item.pk, other.pk], by=cast.mei)
    if state:
        cast.campaign.rounds.create(
            kind=Round.Kind.RESOLUTION, number=1, k=2, state=state, guideline=cast.campaign.guidelines.get()
        )
    member = Membership.objects.select_related("campaign").get(user=cast.ada)

    with django_assert_num_queries(1):
        news = news_for(member)

    assert news == News(
        answers=new_answers(cast.campaign, cast.ada),
        threads=unread_threads(member),
        settled=is_open(cast.campaign),
    )
    assert news.settled is (state == Round.State.CLOSED)
