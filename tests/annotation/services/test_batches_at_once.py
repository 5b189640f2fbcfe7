"""Batches while people are still judging: nothing is lost, and nothing counts twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection

from annotation.models import Assignment, AuditEntry, Surplus
from annotation.services.answers import save_answers
from annotation.services.batches import batches_of, close_batch
from annotation.services.discussion import open_thread
from annotation.services.errors import KeptAside, Refused
from annotation.services.resolution import open_resolution
from annotation.services.sheets import Answer, Sheet
from annotation.services.verify import verify
from tests.factories import make_cast, make_judged

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls: Callable[[], str]) -> list[str]:
    """Each in a thread and on a connection of its own."""

    def alone(call: Callable[[], str]) -> str:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(alone, calls))


def test_an_answer_counts_or_is_kept_aside_whenever_the_batch_is_closed() -> None:
    cast = make_cast()
    design = make_judged(cast, *[("1", None)] * 30)
    open_rows = list(Assignment.objects.filter(answered_at__isnull=True).order_by("pk"))

    def answer() -> str:
        told = []
        for row in open_rows:
            given = Answer(assignment=row.pk, revision=0, label="often")
            try:
                save_answers(
                    Sheet(screen=row.pk, client_key=uuid4(), answers=(given,)),
                    slug="main",
                    expert_id=row.expert_id,
                )
            except KeptAside:
                told.append("aside")
            else:
                told.append("saved")
        return " ".join(told)

    def close() -> str:
        close_batch(cast.campaign, design.pk, by=None, reason="time is up")
        return "closed"

    told = at_once(answer, close)[0].split()

    stored = Assignment.objects.filter(expert=cast.lin, withdrawn_at__isnull=True, revision=1).count()
    assert (told.count("saved"), told.count("aside")) == (stored, Surplus.objects.count())
    assert stored + Surplus.objects.count() == 30
    assert sum(batches_of(cast.campaign)[0].missed.values()) == 30 - stored
    assert verify(cast.campaign) == []


def test_two_managers_close_open_and_resolve_once() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", "0"), ("1", "0"))
    item = Assignment.objects.filter(item__position=1)[0].item_id

    def told(call: Callable[[], object]) -> Callable[[], str]:
        def tried() -> str:
            try:
                call()
            except Refused:
                return "refused"
            return "done"

        return tried

    close = told(lambda: close_batch(cast.campaign, design.pk, by=cast.mei))
    assert at_once(close, close) == ["done", "done"]
    assert AuditEntry.objects.filter(action="batch closed").count() == 1
    discuss = told(lambda: open_thread(cast.campaign, item, by=cast.mei))
    assert at_once(discuss, discuss) == ["done", "done"]
    resolve = told(lambda: open_resolution(cast.campaign, by=cast.mei))
    assert sorted(at_once(resolve, resolve)) == ["done", "refused"]
    assert Assignment.objects.filter(round__kind="resolution").count() == 4
    assert verify(cast.campaign) == []
