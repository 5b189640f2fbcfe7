"""What a manager may want to settle, as the overview tells it."""

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.models import Design, HandIn, Item, Part
from annotation.services.arbitration import arbitrate
from annotation.services.batches import close_batch
from annotation.services.campaign_state import close_campaign
from annotation.services.resolution import open_resolution
from annotation.services.unsettled import Unsettled, unsettled
from tests.factories import Cast, make_cast, make_judged

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    """Three triples of a batch, judged by both; the second and the third contrast."""
    made = make_cast()
    make_judged(made, ("1", "1"), ("1", "0"), ("0", "1"))
    return made


def hand_in(cast: Cast) -> None:
    """Everybody hands in all they were given."""
    pairs = {
        (part, expert)
        for part in Part.objects.all()
        for expert in part.assignments.values_list("expert", flat=True)
    }
    for part, expert in pairs:
        HandIn.objects.get_or_create(part=part, expert_id=expert)


def test_a_batch_is_to_be_closed_once_all_of_it_is_judged_and_handed_in(cast: Cast) -> None:
    HandIn.objects.all().delete()
    assert unsettled(cast.campaign, imported=False) == Unsettled()
    hand_in(cast)
    assert unsettled(cast.campaign, imported=False) == Unsettled(to_close=(1,))


def test_contrasts_are_told_of_closed_batches_only_and_end_with_what_settles_them(cast: Cast) -> None:
    hand_in(cast)
    assert unsettled(cast.campaign, imported=False).contrasts == 0
    close_batch(cast.campaign, Design.objects.get().pk, by=cast.mei)
    assert unsettled(cast.campaign, imported=False) == Unsettled(contrasts=2)
    arbitrate(cast.campaign, Item.objects.get(position=2).pk, label="1", reason="Often so.", by=cast.mei)
    assert unsettled(cast.campaign, imported=False) == Unsettled(contrasts=1)
    open_resolution(cast.campaign, by=cast.mei)
    assert unsettled(cast.campaign, imported=False) == Unsettled()


def test_nothing_is_asked_of_a_closed_campaign(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    close_batch(cast.campaign, Design.objects.get().pk, by=cast.mei)
    close_campaign(cast.campaign, reason="The money is gone.", by=cast.mei)
    with django_assert_num_queries(0):
        assert not unsettled(cast.campaign, imported=False)


def test_it_costs_one_query_while_batches_are_open_and_six_with_frozen_answers(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        unsettled(cast.campaign, imported=False)
    close_batch(cast.campaign, Design.objects.get().pk, by=cast.mei)
    for more in ((("1", "0"),), (("1", "1"), ("0", "1"))):
        with django_assert_num_queries(6):
            unsettled(cast.campaign, imported=False)
        design = make_judged(cast, *more)
        close_batch(cast.campaign, design.pk, by=cast.mei)
