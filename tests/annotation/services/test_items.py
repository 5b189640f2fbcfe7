"""Withdrawing and restoring an item, whatever comes between: it stands if and only if its assignments do."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Campaign, Item, User
from annotation.services import items as module
from annotation.services.items import restore, withdraw
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    triple_campaign,
)


@pytest.fixture
def mei(db: None) -> User:
    return make_user("mei")


@pytest.fixture
def campaign(db: None, tmp_path: Path) -> Campaign:
    """Three items, judged by two."""
    made = triple_campaign(tmp_path, 3, experts=["ada", "lin"])
    answer_everything(made)
    return made


def standing() -> list[int]:
    """How many assignments of each item stand."""
    return [
        item.assignments.filter(withdrawn_at__isnull=True).count()
        for item in Item.objects.order_by("position")
    ]


def before_its_turn(monkeypatch: pytest.MonkeyPatch, between: Callable[[], object]) -> None:
    """Let `between` happen after an action was called and before it has the campaign's turn."""
    waiting = [between]
    turn: Callable[[Campaign], AbstractContextManager[None]] = vars(module)["turn"]

    def late(campaign: Campaign) -> AbstractContextManager[None]:
        if waiting:
            waiting.pop()()
        return turn(campaign)

    monkeypatch.setattr(module, "turn", late)


def test_restoring_brings_back_what_a_later_withdrawal_took_away(
    campaign: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = Item.objects.get(position=2)
    withdraw(campaign, item.pk, reason="broken", by=mei)

    def somebody_else() -> None:
        restore(campaign, item.pk, by=mei)
        withdraw(campaign, item.pk, reason="broken after all", by=mei)

    before_its_turn(monkeypatch, somebody_else)
    restored = restore(campaign, item.pk, by=mei)

    assert (restored.retired_at, restored.retired_why) == (None, "")
    assert standing() == [2, 2, 2]
    assert verify(campaign) == []


def test_both_at_once_leave_an_item_that_stands_or_falls_with_its_assignments(
    transactional_db: None, campaign: Campaign, mei: User
) -> None:
    item = Item.objects.get(position=2)
    barrier = threading.Barrier(6)
    failed: list[Exception] = []

    def act(number: int) -> None:
        try:
            barrier.wait()
            for turn in range(4):
                if (number + turn) % 2:
                    withdraw(campaign, item.pk, reason="broken", by=mei)
                else:
                    restore(campaign, item.pk, by=mei)
        except Exception as error:  # a thread has nobody to raise to
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    item.refresh_from_db()
    assert failed == []
    assert standing() == [2, 2 if item.retired_at is None else 0, 2]
    restore(campaign, item.pk, by=mei)
    assert standing() == [2, 2, 2]
    assert verify(campaign) == []


@pytest.mark.parametrize("withdrawn_first", [True, False])
def test_an_item_whose_assignments_stayed_behind_gets_them_back(
    withdrawn_first: bool, campaign: Campaign, mei: User
) -> None:
    item = Item.objects.get(position=2)
    Assignment.objects.filter(item=item).update(withdrawn_at=timezone.now())
    (violation,) = verify(campaign)
    assert violation.where == (
        "item at position 2 has 0 experts in the main round, not 2; withdraw and restore it: what was taken "
        "away with it comes back"
    )

    if withdrawn_first:
        withdraw(campaign, item.pk, reason="to bring it back", by=mei)
    restore(campaign, item.pk, by=mei)

    assert standing() == [2, 2, 2]
    assert verify(campaign) == []
    assert AuditEntry.objects.filter(action="item restored").count() == 1


def test_repeated_they_change_nothing_and_are_written_down_once(campaign: Campaign, mei: User) -> None:
    item = Item.objects.get(position=2)
    for _ in range(2):
        withdraw(campaign, item.pk, reason="broken", by=mei)
    for _ in range(2):
        restore(campaign, item.pk, by=mei)

    assert standing() == [2, 2, 2]
    actions = AuditEntry.objects.filter(action__startswith="item ").order_by("pk")
    assert list(actions.values_list("action", flat=True)) == ["item withdrawn", "item restored"]
