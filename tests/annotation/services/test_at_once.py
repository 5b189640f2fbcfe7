"""Two who act on the same rows at the same moment: nothing is lost, and nothing counts twice."""

from uuid import uuid4

import pytest

from annotation.models import Annotation, Assignment, AuditEntry, Design, Item, Surplus
from annotation.services.access import accept_invitation, create_invitation
from annotation.services.answers import save_answers
from annotation.services.batches import batches_of, close_batch
from annotation.services.discussion import open_thread
from annotation.services.fix_text import fix_text
from annotation.services.resolution import open_resolution
from annotation.services.sheets import Answer, Sheet
from annotation.services.verify import verify
from tests.at_once import Act, at_once, told, while_in_work
from tests.factories import Cast, make_cast, make_judged

pytestmark = pytest.mark.django_db(transaction=True)


def answer_to(row: Assignment) -> Act:
    """Their answer to this row, as a page sends it that was loaded by now."""
    given = Answer(assignment=row.pk, revision=0, label="often")
    sheet = Sheet(screen=row.pk, client_key=uuid4(), answers=(given,))
    return told("saved", lambda: save_answers(sheet, slug="main", expert_id=row.expert_id))


def closing(cast: Cast, design: Design) -> Act:
    return told("closed", lambda: close_batch(cast.campaign, design.pk, by=cast.mei, reason="time is up"))


def test_a_batch_is_closed_while_an_answer_is_being_saved() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", None), ("1", None))
    row, late = Assignment.objects.filter(answered_at__isnull=True).order_by("pk")

    assert while_in_work(answer_to(row), closing(cast, design)) == ["saved", "closed"]

    row.refresh_from_db()
    assert (row.label, row.withdrawn_at) == ("1", None)
    assert batches_of(cast.campaign)[0].missed == {"A2": 1}
    assert answer_to(late)() == "aside"
    assert verify(cast.campaign) == []


def test_an_answer_is_saved_while_its_batch_is_being_closed() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", None))
    row = Assignment.objects.get(answered_at__isnull=True)

    assert while_in_work(closing(cast, design), answer_to(row)) == ["closed", "aside"]

    row.refresh_from_db()
    assert (row.label, row.withdrawn_at is None) == ("", False)
    assert Surplus.objects.get().assignment == row


def test_a_text_is_corrected_while_an_answer_to_it_is_being_saved() -> None:
    cast = make_cast()
    make_judged(cast, ("1", None), ("1", None))
    row, late = Assignment.objects.filter(answered_at__isnull=True).order_by("pk")

    def correct(item: Item) -> Act:
        texts = {"head": "PersonX wins", "tail": item.tail}
        return told("replaced", lambda: fix_text(cast.campaign, item.pk, texts=texts, by=cast.mei))

    assert while_in_work(answer_to(row), correct(row.item)) == ["saved", "replaced"]
    assert Annotation.objects.get(assignment__expert=cast.lin).assignment.item == row.item

    # Who looks at the old text when it is corrected answers the old text.
    assert while_in_work(correct(late.item), answer_to(late)) == ["replaced", "aside"]
    assert answer_to(late)() == "aside"

    asked = Assignment.objects.filter(expert=cast.lin, withdrawn_at__isnull=True)
    assert [(one.item.head, one.label) for one in asked] == [("PersonX wins", "")] * 2
    assert verify(cast.campaign) == []


def test_two_follow_one_invitation() -> None:
    cast = make_cast()
    _invitation, url = create_invitation(cast.ada, cast.mei)
    raw = url.rstrip("/").rsplit("/", 1)[1]

    def accept(password: str) -> Act:
        return told("done", lambda: accept_invitation(raw, password))

    both = while_in_work(accept("the first long password"), accept("the other long password"))

    assert both == ["done", "refused"]
    cast.ada.refresh_from_db()
    assert cast.ada.check_password("the first long password")


def test_an_answer_counts_or_is_kept_aside_whenever_the_batch_is_closed() -> None:
    cast = make_cast()
    design = make_judged(cast, *[("1", None)] * 30)
    open_rows = list(Assignment.objects.filter(answered_at__isnull=True).order_by("pk"))

    def answer() -> list[object]:
        return [answer_to(row)() for row in open_rows]

    said, _closed = at_once(answer, closing(cast, design))
    assert isinstance(said, list)

    stored = Assignment.objects.filter(expert=cast.lin, withdrawn_at__isnull=True, revision=1).count()
    assert (said.count("saved"), said.count("aside")) == (stored, Surplus.objects.count())
    assert stored + Surplus.objects.count() == 30
    assert sum(batches_of(cast.campaign)[0].missed.values()) == 30 - stored
    assert verify(cast.campaign) == []


def test_two_managers_close_open_and_resolve_once() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", "0"), ("1", "0"))
    item = Assignment.objects.filter(item__position=1)[0].item_id

    close = told("done", lambda: close_batch(cast.campaign, design.pk, by=cast.mei))
    assert at_once(close, close) == ["done", "done"]
    assert AuditEntry.objects.filter(action="batch closed").count() == 1
    discuss = told("done", lambda: open_thread(cast.campaign, item, by=cast.mei))
    assert at_once(discuss, discuss) == ["done", "done"]
    resolve = told("done", lambda: open_resolution(cast.campaign, by=cast.mei))
    assert sorted(map(str, at_once(resolve, resolve))) == ["done", "refused"]
    assert Assignment.objects.filter(round__kind="resolution").count() == 4
    assert verify(cast.campaign) == []
