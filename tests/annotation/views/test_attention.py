"""The list of what needs a manager, and its three ways out, as managers and experts meet them."""

import pytest

from annotation.models import Annotation, HandIn, Item, Return
from annotation.services.batches import close_batch
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_part,
    make_report,
    make_triple,
)
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/attention/"
RULING = "Judge the words as they stand."


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def report(cast: Cast) -> Annotation:
    part = make_part(cast.campaign.rounds.get())
    item = make_triple(cast.campaign, 1, head="PersonX zorb")
    make_assignment(item, cast.lin, slot=2, part=part)
    return make_report(make_assignment(item, cast.ada, part=part), note="What is to zorb?")


def test_it_shows_text_cause_and_note_and_no_name(cast: Cast, report: Annotation) -> None:
    page = text_of(client_of(cast.mei).get(PAGE))

    for shown in ("zorb", "What is to zorb?", "A1", "cannot judge", "other", "Fix the text"):
        assert shown in page
    assert "ada" not in page


def test_a_label_beside_a_reported_problem_is_not_shown(cast: Cast) -> None:
    part = make_part(cast.campaign.rounds.get())
    row = make_assignment(make_triple(cast.campaign, 1), cast.ada, part=part)
    pages = set()
    for label in ("1", "0.5", "0"):
        Annotation.objects.all().delete()
        row.revision = 0
        kept = make_annotation(row, label, problem="source_broken")
        Annotation.objects.filter(pk=kept.pk).update(created_at="2026-01-02T00:00:00Z")
        pages.add(text_of(client_of(cast.mei).get(PAGE)))

    assert len(pages) == 1


def test_returned_it_stands_on_the_experts_page_with_the_way_to_it(cast: Cast, report: Annotation) -> None:
    assert report.assignment.part is not None
    HandIn.objects.create(part=report.assignment.part, expert=cast.ada)
    response = client_of(cast.mei).post(
        f"{PAGE}{report.assignment_id}/return/", {"ruling": RULING}, follow=True
    )

    assert "Returned, waiting for their experts" in text_of(response)
    adas = client_of(cast.ada).get("/campaigns/main/work/")
    assert RULING in text_of(adas)
    assert f"?position={report.assignment.position}" in body_of(adas)
    assert (
        client_of(cast.ada).get(f"/campaigns/main/judge/?position={report.assignment.position}").status_code
        == 200
    )
    for address in ("work/", "judge/", "history/", "my-questions/"):
        assert RULING not in body_of(client_of(cast.lin).get(f"/campaigns/main/{address}"))
    assert "1 returned answer waits" in text_of(client_of(cast.mei).get("/campaigns/main/"))


def test_a_refused_ruling_keeps_what_was_typed(cast: Cast, report: Annotation) -> None:
    response = client_of(cast.mei).post(f"{PAGE}{report.assignment_id}/return/", {"ruling": "x" * 1001})

    assert response.status_code == 400
    assert "x" * 1001 in body_of(response)
    assert "1000" in text_of(response)
    assert not Return.objects.exists()


def test_an_excluded_item_leaves_the_list_and_comes_back_to_it(cast: Cast, report: Annotation) -> None:
    client = client_of(cast.mei)
    response = client.post(
        f"/campaigns/main/items/{report.assignment.item_id}/withdraw/",
        {"reason": "no English", "next": PAGE},
        follow=True,
    )

    assert response.redirect_chain == [(PAGE, 302)]
    assert "Nothing waits here." in text_of(response)


def test_a_corrected_text_is_asked_of_both(cast: Cast, report: Annotation) -> None:
    client = client_of(cast.mei)
    address = f"/campaigns/main/items/{report.assignment.item_id}/fix/"
    form = text_of(client.get(address))
    assert "1 answer was given to the old text" in form

    response = client.post(address, {"head": "PersonX run", "tail": "PersonX rest 1"}, follow=True)

    assert "Nothing waits here." in text_of(response)
    assert Item.objects.active().get().head == "PersonX run"
    assert "PersonX run" in body_of(client_of(cast.ada).get("/campaigns/main/judge/"))


def test_an_unchanged_text_is_said_to_be_so(cast: Cast, report: Annotation) -> None:
    item = report.assignment.item
    response = client_of(cast.mei).post(
        f"/campaigns/main/items/{item.pk}/fix/", {"head": item.head, "tail": item.tail}
    )

    assert response.status_code == 400
    assert "Nothing differs" in text_of(response)


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30, "²"])
def test_a_broken_address_shows_the_first_page(cast: Cast, report: Annotation, after: str) -> None:
    assert "zorb" in text_of(client_of(cast.mei).get(PAGE, {"after": after}))


def test_an_answer_is_left_as_it_is_with_a_note(cast: Cast, report: Annotation) -> None:
    client, address = client_of(cast.mei), f"/campaigns/main/attention/{report.assignment_id}/leave/"
    refused = client.post(address, {"note": " "})
    assert (refused.status_code, "1 to 500 characters" in text_of(refused)) == (400, True)

    done = client.post(address, {"note": "Looked at, nothing to change."}, follow=True)

    page = text_of(done)
    assert "It is noted; the answer stays as it is." in page
    assert "Looked at, left as they are" in page
    assert "cannot judge" not in text_of(client.get("/campaigns/main/"))
    audit = text_of(client.get("/campaigns/main/audit/"))
    assert "report looked at" in audit
    assert "Looked at, nothing to change." in audit
    for page_of_an_expert in ("work/", "judge/", "history/", "my-questions/"):
        assert (
            b"nothing to change"
            not in client_of(cast.ada).get(f"/campaigns/main/{page_of_an_expert}").content
        )


def test_of_a_closed_batch_it_offers_to_open_it_again(cast: Cast, report: Annotation) -> None:
    design = report.assignment.part.design_id  # type: ignore[union-attr]
    close_batch(cast.campaign, design, by=cast.mei, reason="Enough.")
    client = client_of(cast.mei)
    page = client.get("/campaigns/main/attention/")
    assert "Once the batch is open again" in text_of(page)
    assert f'action="/campaigns/main/batches/{design}/reopen/"' in body_of(page)

    client.post(f"/campaigns/main/batches/{design}/reopen/")

    assert "Return with a ruling" in text_of(client.get("/campaigns/main/attention/"))
