"""Threads: who may open and read them, what is said in them, what is unread."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.models import Assignment, Comment, Item, Membership, Round, Thread
from annotation.protocol.errors import ProtocolError
from annotation.services.arbitration import arbitrate
from annotation.services.batches import close_batch
from annotation.services.campaign_state import close_campaign, reopen_campaign
from annotation.services.discussion import (
    as_lines,
    mark_seen,
    open_thread,
    open_threads,
    reopen,
    resolve,
    say,
    thread_lines,
    thread_page,
    threads_for,
    unread_threads,
)
from annotation.services.errors import KeyReused, NotYours, Refused
from tests.factories import Cast, make_assignment, make_cast, make_judged, make_member, make_user, save_label

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    """Two triples of a closed batch, the first one open to discussion."""
    made = make_cast()
    close_batch(made.campaign, make_judged(made, ("1", "0"), ("1", "1")).pk, by=made.mei)
    open_thread(made.campaign, item_at(made, 1), by=made.mei)
    return made


def item_at(cast: Cast, position: int) -> int:
    return Item.objects.get(campaign=cast.campaign, position=position).pk


def member(cast: Cast, name: str) -> Membership:
    return Membership.objects.get(campaign=cast.campaign, user__username=name)


def thread() -> Thread:
    return Thread.objects.get()


def said(cast: Cast, who: str, text: str) -> Comment:
    return say(member(cast, who), thread().pk, text=text, client_key=uuid4())


# Opening


@pytest.mark.parametrize("answers", [("1", None), ("1", "1")])
def test_it_opens_nothing_of_an_open_batch(answers: tuple[str, str | None]) -> None:
    cast = make_cast()
    make_judged(cast, answers)

    with pytest.raises(Refused, match="cannot be discussed yet"):
        open_thread(cast.campaign, item_at(cast, 1), by=cast.mei)


def test_it_opens_nothing_that_lacks_an_answer() -> None:
    cast = make_cast()
    close_batch(cast.campaign, make_judged(cast, ("1", None)).pk, by=cast.mei, reason="left")

    with pytest.raises(Refused, match="an answer is missing"):
        open_thread(cast.campaign, item_at(cast, 1), by=cast.mei)


def test_it_opens_once_and_knows_no_item_of_another_campaign(cast: Cast) -> None:
    assert open_thread(cast.campaign, item_at(cast, 1), by=cast.mei) == thread()
    with pytest.raises(NotYours):
        open_thread(cast.otto.memberships.get().campaign, item_at(cast, 1), by=cast.otto)


def test_it_opens_items_of_a_dry_run_that_is_over(cast: Cast) -> None:
    round_ = cast.campaign.rounds.create(kind="dry_run", k=3, guideline=cast.campaign.guidelines.get())
    first = Assignment.objects.filter(item__position=2)[0]
    for slot, expert in enumerate((cast.ada, cast.lin, make_user("eve")), start=1):
        row = make_assignment(first.item, expert, slot=slot, round=round_, position=50, queue=50)
        if slot < 3:
            save_label(row, "1")
    with pytest.raises(Refused):
        open_thread(cast.campaign, first.item_id, by=cast.mei)

    Round.objects.filter(pk=round_.pk).update(state="closed")  # without the third
    assert open_thread(cast.campaign, first.item_id, by=cast.mei).item_id == first.item_id


def test_its_number_does_not_follow_the_file() -> None:
    """Experts see it in addresses; in the file the classes stand in blocks."""
    cast = make_cast()
    close_batch(cast.campaign, make_judged(cast, *[("1", "0")] * 12).pk, by=cast.mei)

    open_threads(cast.campaign, list(Item.objects.values_list("pk", flat=True)), by=cast.mei)

    order = list(Thread.objects.order_by("pk").values_list("item__position", flat=True))
    assert sorted(order) == list(range(1, 13))
    assert order not in (sorted(order), sorted(order, reverse=True))


# Who


def test_it_is_there_for_managers_and_for_who_judged_the_item(cast: Cast) -> None:
    make_member(cast.campaign, make_user("eve"), "expert", "A3")

    seen = {name: threads_for(member(cast, name)).count() for name in ("mei", "ada", "lin", "eve", "vera")}

    assert seen == {"mei": 1, "ada": 1, "lin": 1, "eve": 0, "vera": 0}
    for name in ("eve", "vera"):
        for act in (thread_page, reopen):
            with pytest.raises(NotYours):
                act(member(cast, name), thread().pk)
        with pytest.raises(NotYours):
            said(cast, name, "Hello")


def test_names_are_hidden_or_shown_as_the_campaign_says(cast: Cast) -> None:
    hidden = thread_page(member(cast, "ada"), thread().pk)
    managed = thread_page(member(cast, "mei"), thread().pk)
    cast.campaign.names_in_discussion = True
    cast.campaign.save()
    shown = thread_page(member(cast, "ada"), thread().pk)

    assert [(one.person.name, one.own) for one in hidden.independent] == [
        ("Expert 1", True),
        ("Expert 2", False),
    ]
    assert [one.person.name for one in managed.independent] == ["Expert 1 (A1)", "Expert 2 (A2)"]
    assert [one.person.name for one in shown.independent] == ["A1", "A2"]
    assert [one.note for one in hidden.independent] == ["note-1-of-1", "note-2-of-1"]


def test_answers_given_again_are_shown_once_their_round_is_closed(cast: Cast) -> None:
    round_ = cast.campaign.rounds.create(kind="resolution", k=2, guideline=cast.campaign.guidelines.get())
    item = Item.objects.get(position=1)
    row = make_assignment(item, cast.lin, slot=2, round=round_, position=70, queue=70)
    save_label(row, "1", note="now I see")
    make_assignment(item, cast.ada, slot=1, round=round_, position=71, queue=71)

    before = thread_page(member(cast, "ada"), thread().pk)
    assert (before.again, before.position) == ([], 71)
    Round.objects.filter(pk=round_.pk).update(state="closed")

    after = thread_page(member(cast, "ada"), thread().pk)
    assert ([one.note for one in after.again], after.position) == (["now I see"], None)


# Saying


def test_sent_twice_it_is_said_once(cast: Cast) -> None:
    key = uuid4()
    for _ in range(2):
        say(member(cast, "ada"), thread().pk, text="A marathon tires.\r\nSurely.", client_key=key)

    assert Comment.objects.get().text == "A marathon tires.\nSurely."
    with pytest.raises(KeyReused):
        say(member(cast, "ada"), thread().pk, text="Otherwise.", client_key=key)


@pytest.mark.parametrize("text", ["", " \n ", "长" * 2001, "a\0b"])
def test_it_says_nothing_and_no_novel(cast: Cast, text: str) -> None:
    with pytest.raises(ProtocolError):
        said(cast, "ada", text)
    assert said(cast, "ada", "𠮷" * 2000).text


def test_one_turns_to_people_by_name(cast: Cast) -> None:
    """Where names are hidden, an expert's pseudonym does not tell another expert whose it is."""
    assert set(said(cast, "mei", "@a2 and @E1, not @A9 or mail@A1x").mentions.all()) == {cast.lin, cast.ada}
    assert set(said(cast, "ada", "@A2 @M1 @E2").mentions.all()) == {cast.mei, cast.lin}
    assert set(said(cast, "ada", "@A2").mentions.all()) == set()
    cast.campaign.names_in_discussion = True
    cast.campaign.save()
    assert set(said(cast, "ada", "@A2").mentions.all()) == {cast.lin}


def test_a_decision_ends_it_until_it_is_opened_again(cast: Cast) -> None:
    resolve(member(cast, "mei"), thread().pk, decision="Tired after a marathon: always.")

    with pytest.raises(Refused, match="is resolved"):
        said(cast, "ada", "But")
    with pytest.raises(Refused, match="Somebody else resolved"):
        resolve(member(cast, "mei"), thread().pk, decision="Never.")
    assert thread().decision == "Tired after a marathon: always."
    reopen(member(cast, "mei"), thread().pk)
    reopen(member(cast, "mei"), thread().pk)
    said(cast, "ada", "But")
    assert thread().resolved_at is None


# Unread


def test_it_ends_with_the_campaign(cast: Cast) -> None:
    """What was decided may still be written down; opened again, talking goes on."""
    key = uuid4()
    comment = say(member(cast, "ada"), thread().pk, text="Hm.", client_key=key)
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)
    for who in ("ada", "mei"):
        with pytest.raises(Refused, match="campaign is closed"):
            said(cast, who, "One more thing.")
    assert say(member(cast, "ada"), thread().pk, text="Hm.", client_key=key) == comment  # sent again
    resolve(member(cast, "mei"), thread().pk, decision="So be it.")
    with pytest.raises(Refused, match="campaign is closed"):
        reopen(member(cast, "mei"), thread().pk)
    reopen_campaign(cast.campaign, by=cast.mei)
    reopen(member(cast, "mei"), thread().pk)
    assert said(cast, "ada", "One more thing.").text == "One more thing."


def unread(cast: Cast) -> dict[str, int]:
    return {name: unread_threads(member(cast, name)) for name in ("mei", "ada", "lin")}


def test_it_counts_what_others_said_and_decided(cast: Cast) -> None:
    assert unread(cast) == {"mei": 0, "ada": 1, "lin": 1}  # a new thread is news to its experts
    for name in ("ada", "lin"):
        mark_seen(member(cast, name), thread().pk, until=timezone.now())
    assert unread(cast) == {"mei": 0, "ada": 0, "lin": 0}

    comment = said(cast, "ada", "Why?")
    assert unread(cast) == {"mei": 1, "ada": 0, "lin": 1}
    mark_seen(member(cast, "lin"), thread().pk, until=comment.at)
    mark_seen(
        member(cast, "lin"), thread().pk, until=comment.at - timedelta(days=1)
    )  # late: takes nothing back
    assert unread(cast) == {"mei": 1, "ada": 0, "lin": 0}

    resolve(member(cast, "mei"), thread().pk, decision="So.")
    assert unread(cast) == {"mei": 1, "ada": 1, "lin": 1}
    mark_seen(member(cast, "mei"), thread().pk, until=timezone.now() + timedelta(days=9))
    assert unread(cast)["mei"] == 0


def test_what_one_said_oneself_is_no_news(cast: Cast) -> None:
    """Nor is the thread to who has said something in it, whether or not that was told by their browser."""
    said(cast, "ada", "Why?")
    assert unread(cast) == {"mei": 1, "ada": 0, "lin": 1}
    said(cast, "lin", "Because.")
    assert unread(cast) == {"mei": 1, "ada": 1, "lin": 1}
    resolve(member(cast, "mei"), thread().pk, decision="So.")
    assert unread(cast) == {"mei": 1, "ada": 1, "lin": 1}


def test_ones_own_new_answer_is_no_news(cast: Cast) -> None:
    item = Item.objects.get(position=1)
    for name in ("ada", "lin"):
        mark_seen(member(cast, name), thread().pk, until=timezone.now())
    again = cast.campaign.rounds.create(kind="resolution", k=2, guideline=cast.campaign.guidelines.get())
    row = make_assignment(item, cast.ada, slot=1, round=again, position=71, queue=71)
    save_label(row, "1")
    Round.objects.filter(pk=again.pk).update(state="closed", closed_at=timezone.now())
    assert unread(cast) == {"mei": 0, "ada": 0, "lin": 1}


def test_what_is_over_is_no_news_to_who_never_looked(cast: Cast) -> None:
    arbitrate(cast.campaign, item_at(cast, 1), label="1", reason="So.", by=cast.mei)
    assert unread(cast) == {"mei": 0, "ada": 0, "lin": 0}
    said(cast, "ada", "Why?")
    assert unread(cast) == {"mei": 1, "ada": 0, "lin": 1}


def test_the_list_begins_with_what_turns_to_one(cast: Cast) -> None:
    open_thread(cast.campaign, item_at(cast, 2), by=cast.mei)
    second = Thread.objects.get(item__position=2)
    say(member(cast, "mei"), second.pk, text="@E1 what do you think?", client_key=uuid4())
    for one in Thread.objects.exclude(pk=second.pk):
        resolve(member(cast, "mei"), one.pk, decision="So.")

    def listed(show: str) -> list[tuple[int, int, bool]]:
        lines = as_lines(list(thread_lines(member(cast, "ada"), show=show)))
        return [(line.item.position, line.comments, line.to_you) for line in lines]

    assert listed("all") == [(2, 1, True), (1, 0, False)]
    assert listed("open") == [(2, 1, True)]
    assert listed("resolved") == [(1, 0, False)]
    assert len(listed("unread")) == 2


@pytest.mark.parametrize("comments", [1, 30])
def test_it_costs_the_same_however_much_was_said(
    cast: Cast, comments: int, django_assert_num_queries: object
) -> None:
    for number in range(comments):
        said(cast, "ada" if number % 2 else "lin", f"{number} @M1")
    arbitrate(cast.campaign, item_at(cast, 1), label="1", reason="Plain.", by=cast.mei)

    viewer = member(cast, "ada")
    viewer.campaign  # noqa: B018  # pages have it already
    with django_assert_num_queries(12):  # type: ignore[operator]
        assert len(thread_page(viewer, thread().pk).remarks) == comments
