"""Examples of relations: written, scored blind by two others, then shown."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.models import Example, ExampleScore
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import NotYours, Refused
from annotation.services.examples import (
    WAITING,
    add_example,
    lines_for,
    relations_shown,
    retire_example,
    score_example,
    to_score,
)
from tests.factories import Cast, make_cast, make_example, make_member, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    make_member(cast.campaign, make_user("bo"), "expert", "A3")
    return cast


def add(cast: Cast, **fields: Any) -> Example:
    values = {
        "relation": "xWant",
        "head": "PersonX plant a tree",
        "tail": "PersonX water it",
        "label": "often",
        "why_en": "trees need water",
        **fields,
    }
    return add_example(cast.campaign, cast.ada, **values)


def shown(cast: Cast) -> list[str]:
    (relation,) = (one for one in relations_shown(cast.campaign) if one.name == "xWant")
    return [example.tail for example in relation.examples[3:]]


def test_it_is_shown_once_two_others_have_scored_it(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    example = add(cast)
    assert (example.label, shown(cast)) == ("1", [])

    score_example(cast.campaign, cast.lin, pk=example.pk, label="often")
    assert shown(cast) == []
    score_example(cast.campaign, cast.mei, pk=example.pk, label="sometimes")

    with django_assert_num_queries(1):
        assert shown(cast) == ["PersonX water it"]
    (relation,) = (one for one in relations_shown(cast.campaign) if one.name == "xWant")
    assert relation.examples[3].why.zh == "trees need water"


def test_who_scores_sees_neither_author_nor_answer(cast: Cast) -> None:
    example = add(cast)

    (one,) = to_score(cast.campaign, cast.lin)

    assert vars(one) == {
        "pk": example.pk,
        "head": "PersonX plant a tree",
        "relation": "xWant",
        "tail": "PersonX water it",
    }
    assert to_score(cast.campaign, cast.ada) == []


def test_nobody_scores_their_own_or_twice_or_as_a_third(cast: Cast) -> None:
    example = add(cast)

    with pytest.raises(NotYours):
        score_example(cast.campaign, cast.ada, pk=example.pk, label="often")
    score_example(cast.campaign, cast.lin, pk=example.pk, label="often")
    score_example(cast.campaign, cast.lin, pk=example.pk, label="rarely")
    assert ExampleScore.objects.get().label == "1"
    score_example(cast.campaign, cast.mei, pk=example.pk, label="often")
    score_example(cast.campaign, cast.mei, pk=example.pk, label="often")
    with pytest.raises(Refused, match="Two others"):
        score_example(
            cast.campaign, cast.campaign.memberships.get(pseudonym="A3").user, pk=example.pk, label="1"
        )
    assert to_score(cast.campaign, cast.lin) == []
    assert ExampleScore.objects.count() == 2


def test_a_manager_sees_others_answers_only_once_they_are_scored(cast: Cast) -> None:
    example = add(cast)
    mei, ada = (cast.campaign.memberships.get(user=user) for user in (cast.mei, cast.ada))

    assert lines_for(mei) == []
    score_example(cast.campaign, cast.lin, pk=example.pk, label="rarely")
    assert lines_for(mei) == []
    (own,) = lines_for(ada)
    assert (own.mine, own.scores, own.complete) == (True, (), False)
    score_example(cast.campaign, cast.mei, pk=example.pk, label="often")

    (line,) = lines_for(mei)
    assert (line.author, line.mine, sorted(line.scores), line.differs) == ("A1", False, ["0", "1"], True)
    assert lines_for(cast.campaign.memberships.get(user=cast.lin)) == []


def test_only_its_author_and_managers_take_it_back(cast: Cast) -> None:
    example = add(cast)
    mei, lin, ada = (cast.campaign.memberships.get(user=user) for user in (cast.mei, cast.lin, cast.ada))

    with pytest.raises(NotYours):
        retire_example(lin, pk=example.pk)
    retire_example(ada, pk=example.pk)
    retire_example(mei, pk=example.pk)

    assert to_score(cast.campaign, cast.lin) == []
    with pytest.raises(NotYours):
        score_example(cast.campaign, cast.lin, pk=example.pk, label="often")


@pytest.mark.parametrize(
    "fields",
    [
        {"relation": "xWish"},
        {"head": " "},
        {"tail": "a\0b"},
        {"label": "maybe"},
        {"why_en": ""},
        {"why_zh": "长" * 501},
    ],
)
def test_it_refuses_what_is_no_example(cast: Cast, fields: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        add(cast, **fields)

    assert not Example.objects.exists()


def test_it_stores_once_what_was_sent_twice_and_no_endless_list(cast: Cast) -> None:
    assert add(cast) == add(cast)
    for number in range(WAITING - 1):
        make_example(cast.campaign, cast.ada, tail=f"tail {number}")

    with pytest.raises(Refused, match="wait to be scored"):
        add(cast, tail="one more")


def test_it_knows_no_example_of_another_campaign(cast: Cast) -> None:
    other = make_example(cast.otto.memberships.get().campaign, cast.otto)

    with pytest.raises(NotYours):
        score_example(cast.campaign, cast.lin, pk=other.pk, label="often")
    with pytest.raises(NotYours):
        retire_example(cast.campaign.memberships.get(user=cast.mei), pk=other.pk)
    assert to_score(cast.campaign, cast.lin) == []


def test_a_compound_campaign_has_no_relations_to_show(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    cast = make_cast(protocol="compound")

    with django_assert_num_queries(0):
        assert relations_shown(cast.campaign) == ()
