"""A round in which items are judged again is opened again only while nobody can have seen the others' new answers."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Membership, Round, Thread, ThreadSeen, TimeEntry
from annotation.services.again_rounds import close_again, reopen_again
from annotation.services.batches import close_batch
from annotation.services.campaign_state import close_campaign, reopen_campaign
from annotation.services.discussion import mark_seen, say, thread_page, unread_threads
from annotation.services.errors import Refused
from annotation.services.resolution import open_resolution
from tests.factories import Cast, make_cast, make_guideline, make_judged, save_label, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    """A contrast that Ada has judged again, and Lin has not; both have read its discussion."""
    made = make_cast()
    close_batch(made.campaign, make_judged(made, ("1", "0")).pk, by=made.mei)
    round_ = open_resolution(made.campaign, by=made.mei)
    for expert in ("ada", "lin"):
        look(made, expert)
    save_label(round_.assignments.get(slot=1), "0")
    return made


def member(cast: Cast, name: str) -> Membership:
    return cast.campaign.memberships.get(user__username=name)


def thread() -> Thread:
    return Thread.objects.get(item__campaign__slug="main")


def look(cast: Cast, name: str) -> None:
    """What the page does: it is marked as read up to the last thing on it."""
    mark_seen(member(cast, name), thread().pk, until=thread_page(member(cast, name), thread().pk).seen_to)


def close(cast: Cast) -> Round:
    return close_again(cast.campaign, "resolution", 1, reason="late", by=cast.mei)


def read_what_was_settled(cast: Cast) -> None:
    TimeEntry.objects.create(
        campaign=cast.campaign,
        user=cast.lin,
        kind=TimeEntry.Kind.DISCUSSION,
        seconds=9,
        day=timezone.localdate(),
        client_key=uuid4(),
    )


LOOKS: list[Callable[[Cast], object]] = [
    lambda cast: look(cast, "lin"),
    lambda cast: say(member(cast, "lin"), thread().pk, text="Ah.", client_key=uuid4()),
    read_what_was_settled,
]


@pytest.mark.parametrize("how", LOOKS, ids=["read", "said", "time"])
def test_it_stays_closed_once_somebody_has_looked(cast: Cast, how: Callable[[Cast], object]) -> None:
    close(cast)
    how(cast)
    with pytest.raises(Refused, match="see one another's new answers"):
        reopen_again(cast.campaign, "resolution", 1, by=cast.mei)
    assert cast.campaign.rounds.get(kind=Round.Kind.RESOLUTION).state == Round.State.CLOSED


@pytest.mark.parametrize("how", LOOKS, ids=["read", "said", "time"])
def test_it_does_not_come_back_with_the_campaign_either(cast: Cast, how: Callable[[Cast], object]) -> None:
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)
    if how is LOOKS[1]:  # nobody says anything in a closed campaign
        ThreadSeen.objects.filter(user=cast.lin).update(seen_at=timezone.now())
    else:
        how(cast)
    reopen_campaign(cast.campaign, by=cast.mei)
    states = dict(cast.campaign.rounds.values_list("kind", "state"))
    assert states == {"main": "open", "resolution": "closed"}


def test_it_opens_again_while_nobody_has_looked(cast: Cast) -> None:
    close(cast)
    look(cast, "mei")  # who judges nothing
    assert reopen_again(cast.campaign, "resolution", 1, by=cast.mei).state == Round.State.OPEN
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)
    reopen_campaign(cast.campaign, by=cast.mei)
    assert set(cast.campaign.rounds.values_list("state", flat=True)) == {"open"}


def test_what_was_read_before_the_closing_does_not_matter(cast: Cast) -> None:
    ThreadSeen.objects.update(seen_at=timezone.now() - timedelta(minutes=1))
    close(cast)
    assert reopen_again(cast.campaign, "resolution", 1, by=cast.mei).state == Round.State.OPEN


def test_new_answers_are_news_once_the_round_is_closed(cast: Cast) -> None:
    assert unread_threads(member(cast, "lin")) == 0
    close(cast)
    assert unread_threads(member(cast, "lin")) == 1
    look(cast, "lin")
    assert unread_threads(member(cast, "lin")) == 0


def test_the_list_of_what_was_settled_records_that_it_was_read(cast: Cast) -> None:
    address = reverse("settled", args=["main"])
    assert "reading.js" not in signed_in(cast.lin).get(address).content.decode()
    close(cast)
    assert 'data-kind="discussion"' in signed_in(cast.lin).get(address).content.decode()


def test_opened_again_it_goes_by_the_newest_guidelines(cast: Cast) -> None:
    close(cast)
    newest = make_guideline(cast.campaign)
    assert reopen_again(cast.campaign, "resolution", 1, by=cast.mei).guideline == newest
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)
    newest = make_guideline(cast.campaign)
    reopen_campaign(cast.campaign, by=cast.mei)
    assert set(cast.campaign.rounds.values_list("guideline", flat=True)) == {newest.pk}
