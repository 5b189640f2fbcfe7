"""Bringing files in through the pages: look first, then store, all or nothing."""

import csv
import hashlib
import io
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http.response import HttpResponseBase
from django.test import Client

from annotation.formats.tables import read_table
from annotation.formats.triples import read_triples
from annotation.forms import base
from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Context,
    ImportBatch,
    Item,
    Job,
    Membership,
    User,
)
from annotation.services import uploads
from annotation.services.batches import batches_of, close_batch
from annotation.services.imports import LEASE, preview
from annotation.services.jobs import due
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from annotation.tasks import import_items
from tests.factories import make_user
from tests.material import answer_everything, as_csv, compounds, load_rows, new_campaign, triples
from tests.pages import body_of, client_of, hidden, text_of
from tests.shared import shared

pytestmark = pytest.mark.django_db

IMPORT = "/campaigns/main/import/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def campaign_of(mei: User, protocol: str = "triple") -> Campaign:
    campaign = new_campaign(protocol)
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


def send(
    client: Client, data: bytes | str, *, name: str = "items.csv", kind: str = "items", **fields: Any
) -> HttpResponseBase:
    """The upload form, filled in and followed to the preview."""
    content = data.encode() if isinstance(data, str) else data
    posted = {f"{kind}-{field}": value for field, value in fields.items()}
    file = SimpleUploadedFile(name, content)
    return client.post(IMPORT, {"kind": kind, f"{kind}-file": file, **posted}, follow=True)


def confirm(client: Client, preview: Any, **fields: str) -> Any:
    token = preview.request["PATH_INFO"].split("/")[-2]
    return client.post(f"{IMPORT}{token}/confirm/", {"seen": hidden(preview, "seen"), **fields}, follow=True)


def folders() -> list[str]:
    root = Path(settings.MEDIA_ROOT) / "uploads"
    return sorted(path.name for path in root.iterdir()) if root.is_dir() else []


# From the file to the items


def test_it_shows_what_a_file_holds_and_stores_it_when_confirmed(mei: User) -> None:
    campaign = campaign_of(mei)
    client = client_of(mei)

    preview: Any = send(client, as_csv(triples(3, remarkz="x")), name="triples 1.csv")

    page = text_of(preview)
    assert "triples 1.csv" in page
    assert "3 rows · 3 new · 0 there already" in page
    assert "csv, utf-8" in page.lower()
    assert "Columns not used remarkz" in page
    assert Item.objects.count() == 0
    done = text_of(confirm(client, preview))
    assert "3 rows · 3 added · 0 there already" in done
    assert list(Item.objects.values_list("key", flat=True)) == ["t1", "t2", "t3"]
    entry = AuditEntry.objects.get(campaign=campaign, action="items imported")
    assert entry.actor == mei
    token = preview.request["PATH_INFO"].split("/")[-2]
    assert not list((Path(settings.MEDIA_ROOT) / "uploads" / token).glob("file/*"))


@pytest.mark.parametrize("kind", ["items", "judgements", "shape"])
@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.pdf", b"%PDF-1.7\n1 0 obj\n", "The file seems to be a PDF"),
        ("x.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "The file seems to be an image"),
    ],
)
def test_a_file_of_another_kind_is_told_as_such_under_every_choice(
    kind: str, name: str, data: bytes, said: str, mei: User
) -> None:
    campaign_of(mei)

    answer: Any = send(client_of(mei), data, name=name, kind=kind)

    assert answer.status_code == 400
    assert f"{name}: {said}" in text_of(answer)


def test_it_says_that_a_file_sent_again_brings_nothing_new(mei: User) -> None:
    campaign_of(mei)
    client = client_of(mei)
    confirm(client, send(client, as_csv(triples(2))))

    page = text_of(send(client, as_csv(triples(2))))

    assert "2 rows · 0 new · 2 there already" in page
    assert "Everything in this file is there already" in page
    assert "Store" not in page


def test_it_maps_headers_and_lists_those_it_does_not_know(mei: User) -> None:
    """c06: headers are matched after trimming and case folding; what is unknown is listed before storing."""
    campaign_of(mei, "compound")

    page = text_of(
        send(client_of(mei), shared("cases/c06_header_whitespace.csv").read_bytes(), name="c06.csv")
    )

    assert "remarkz" in page.partition("Columns not used")[2]
    assert "→ compound" in page
    assert "→ source" in page


def test_it_lists_the_first_columns_it_does_not_know_and_counts_the_rest(mei: User) -> None:
    campaign = campaign_of(mei)
    more = {f"remark{number}": "x" for number in range(25)}
    client = client_of(mei)

    page = text_of(send(client, as_csv([{**more, **triples(1)[0]}])))

    assert "remark19" in page
    assert "remark20" not in page
    assert "… and 5 more" in page
    assert "9 more columns are not shown." in page
    assert "PersonX seals it 1" in page  # what is used is shown, wherever it stands
    assert len(_unknown(campaign, more)) == 25


def _unknown(campaign: Campaign, more: dict[str, str]) -> list[str]:
    """What the document for programs lists."""
    rows = read_triples(read_table(as_csv([{**triples(1)[0], **more}]).encode(), name="t.csv"))
    found: list[str] = preview(campaign, rows).as_json()["unknown_columns"]
    return found


def test_it_lists_every_bad_row_with_line_column_and_message_and_offers_nothing_to_store(mei: User) -> None:
    campaign_of(mei)
    bad = "head,relation,tail\r\nPersonX eat,xWish,sleep\r\nPersonX run,xWant,\r\nPersonX go,xWant,home\r\n"
    client = client_of(mei)

    preview = send(client, bad)

    page = text_of(preview)
    assert "Nothing can be stored: 2 places in the file are wrong." in page
    assert re.search(r"2 relation .*xWish", page)
    assert re.search(r"3 tail ", page)
    assert 'name="seen"' not in body_of(preview)
    token = preview.request["PATH_INFO"].split("/")[-2]  # type: ignore[attr-defined]
    forced = client.post(f"{IMPORT}{token}/confirm/", {"seen": "0" * 64})
    assert forced.status_code == 409
    assert "nothing of it was stored" in text_of(forced)
    assert Item.objects.count() == 0


def test_it_shows_the_first_five_hundred_bad_rows_and_counts_them_all(mei: User) -> None:
    campaign_of(mei)
    rows = "".join(f"PersonX eat {i},xWish,sleep\r\n" for i in range(601))

    page = text_of(send(client_of(mei), "head,relation,tail\r\n" + rows))

    assert "What is wrong 601" in page
    assert "The first 500 of 601." in page
    assert page.count("relation ") >= 500


def found_in(client: Client, preview: HttpResponseBase) -> list[dict[str, str]]:
    """The table of everything that was found, by way of the page's own link."""
    link = re.search(r'href="([^"]+/findings\.csv)"', body_of(preview))
    assert link
    response: Any = client.get(link[1])
    assert response.headers["Content-Disposition"].startswith("attachment; filename=")
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_it_gives_every_bad_row_as_a_table(mei: User) -> None:
    campaign_of(mei)
    client = client_of(mei)
    bad = "".join(f"PersonX eat {i},xWish,sleep\r\n" for i in range(601))

    preview = send(client, "head,relation,tail\r\n" + bad + "PersonX nap,xWant,sleep\r\n" * 2)

    rows = found_in(client, preview)
    errors = [row for row in rows if row["kind"] == "error"]
    assert [int(row["line"]) for row in errors] == list(range(2, 603))
    assert errors[-1]["column"] == "relation"
    assert "“xWish” is no relation" in errors[-1]["message"]
    assert [(row["kind"], row["line"]) for row in rows[601:]] == [("warning", "604")]
    assert not Item.objects.exists()
    chinese = found_in(client_of(mei, language="zh-hans"), preview)
    assert "“xWish”" in chinese[0]["message"]
    assert chinese[0]["message"] != errors[0]["message"]


def test_it_gives_every_text_that_differs_as_a_table(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    client = client_of(mei)

    preview = send(client, changed(tmp_path, campaign))

    (row,) = found_in(client, preview)
    assert (row["kind"], row["line"], row["column"], row["key"]) == ("conflict", "3", "tail", "t2")
    assert (row["stored"], row["in_the_file"]) == ("PersonX seals it 2", "PersonX  <u>tears</u> it")


def test_it_offers_no_table_where_nothing_was_found(mei: User) -> None:
    campaign_of(mei)
    client = client_of(mei)

    preview = send(client, as_csv(triples(1)))

    assert "findings.csv" not in body_of(preview)
    link = preview.request["PATH_INFO"] + "findings.csv"  # type: ignore[attr-defined]
    confirm(client, preview)
    assert client.get(link).status_code == 409  # stored, and the file is gone


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (b"", "empty.csv", "empty"),
        (b"head,relation,tail\r\n", "header.csv", "no data rows"),
        ("﻿head,relation\r\na,b\r\n".encode(), "few.csv", "tail"),
        (b"head,head,tail\r\na,b,c\r\n", "twice.csv", "twice"),
        (b"\xff\xfe\x00", "odd.csv", "UTF-16"),
        (b"PK\x03\x04 not a workbook", "broken.xlsx", "workbook"),
        (b"\x00\x01\x02\x03" * 50, "binary.csv", ""),
    ],
)
def test_it_refuses_a_file_it_cannot_read_with_a_sentence_and_keeps_nothing(
    mei: User, data: bytes, name: str, said: str
) -> None:
    campaign_of(mei)
    before = folders()

    response = send(client_of(mei), data, name=name)

    assert response.status_code == 400
    assert said.lower() in text_of(response).lower()
    assert "Traceback" not in body_of(response)
    assert folders() == before


def test_it_reads_utf16_and_gb18030(mei: User) -> None:
    campaign_of(mei, "compound")
    client = client_of(mei)

    wide = send(client, shared("cases/c02_utf16le_bom.tsv").read_bytes(), name="c02.tsv")
    chinese = send(client, as_csv(compounds(1)).encode("gb18030"), name="gb.csv")

    assert "5 rows · 5 new" in text_of(wide)
    assert "utf-16" in text_of(wide).lower()
    assert "gb18030" in text_of(chinese).lower()


def test_it_refuses_a_file_that_is_too_large_in_plain_words(
    mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign_of(mei)
    monkeypatch.setattr(base, "LIMIT", 100)

    response = send(client_of(mei), as_csv(triples(9)))

    assert response.status_code == 400
    assert "at most 100" in text_of(response).replace("\xa0", " ")


def test_it_shows_markup_literally_everywhere(mei: User) -> None:
    """c50: tags, attribute breaks, template braces."""
    campaign_of(mei, "compound")
    client = client_of(mei)
    data = shared("cases/c50_markup_text.csv").read_bytes()

    preview = send(client, data, name="<b>c50</b>.csv")
    confirm(client, preview)
    items = client.get("/campaigns/main/items/")

    for response in (preview, items):
        assert not re.search(r"<(script|img|b|unk|svg)\b(?![^>]*(static|viewBox))", body_of(response))
    shown = text_of(items)
    assert "<unk>" in shown
    assert "{{ 7*7 }}" in shown
    assert "a & b" in shown
    broken = send(client, "item_id,compound,source,translation\r\n1,<i>x</i>,,\r\n", name="<script>.csv")
    assert "<script>.csv" in text_of(broken)
    assert "<script>.csv" not in body_of(broken)


# Texts that differ


def changed(folder: Path, campaign: Campaign) -> str:
    """A file in which one of three triples has another tail and one is new."""
    load_rows(campaign, triples(3), folder)
    rows = triples(4)
    rows[1]["tail"] = "PersonX  <u>tears</u> it"
    return as_csv(rows)


def test_it_shows_old_and_new_text_and_decides_nothing_by_itself(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    client = client_of(mei)

    preview = send(client, changed(tmp_path, campaign))

    page = text_of(preview)
    assert "Differs from what is stored 1" in page
    assert "t2 tail PersonX seals it 2 PersonX <u>tears</u> it" in page
    unchosen = confirm(client, preview)
    assert unchosen.status_code == 409
    assert Item.objects.count() == 3


@pytest.mark.parametrize(
    ("choice", "tail", "rows"),
    [("keep", "PersonX seals it 2", 4), ("replace", "PersonX  <u>tears</u> it", 4)],
)
def test_it_keeps_or_takes_the_text_as_chosen(
    mei: User, tmp_path: Path, choice: str, tail: str, rows: int
) -> None:
    campaign = campaign_of(mei)
    client = client_of(mei)

    done = confirm(client, send(client, changed(tmp_path, campaign)), on_conflict=choice)

    assert done.status_code == 200
    assert Item.objects.active().get(key="t2").tail == tail
    assert Item.objects.active().count() == rows


def test_it_names_texts_that_would_be_refused_before_anything_is_chosen(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    sent = changed(tmp_path, campaign)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    (batch,) = batches_of(campaign)
    close_batch(campaign, batch.pk, by=None, reason="enough")

    preview = send(client_of(mei), sent)

    assert "New texts that would be refused 1" in text_of(preview)
    assert "The item at position 2 is in a closed batch" in text_of(preview)
    assert 'value="replace" required disabled' in body_of(preview)
    kept = confirm(client_of(mei), preview, on_conflict="keep")
    assert Item.objects.active().count() == 4, text_of(kept)


def systems(mei: User, folder: Path) -> Campaign:
    """One compound, of which systems a and b say the same, given out."""
    campaign = campaign_of(mei, "compound")
    for name in "ab":
        load_rows(campaign, compounds(1), folder, system=name)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    return campaign


def test_it_counts_the_rows_that_differ(mei: User, tmp_path: Path) -> None:
    systems(mei, tmp_path)
    row = compounds(1)[0] | {"translation": "别的。", "reference": "别的。"}
    preview = send(client_of(mei), as_csv([row, compounds(1)[1]]), system="a")
    assert "2 rows · 0 new · 1 there already · 1 differs" in text_of(preview)
    kept = confirm(client_of(mei), preview, on_conflict="keep")
    assert "2 rows · 0 added · 1 there already · 1 differs, kept as stored" in text_of(kept)


def test_a_new_text_beside_one_that_is_shared_waits_to_be_given_out(mei: User, tmp_path: Path) -> None:
    campaign = systems(mei, tmp_path)
    client = client_of(mei)
    preview = send(client, as_csv([compounds(1)[0] | {"translation": "别的。"}]), system="a")
    assert "A new text of a translation that other systems share is another item" in text_of(preview)

    done = confirm(client, preview, on_conflict="replace")

    assert "1 row · 0 added · 0 there already · 1 text replaced" in text_of(done)
    assert "1 item of the campaign now waits to be given to experts. Give out parts" in text_of(done)
    assert 'href="/campaigns/main/assign/"' in body_of(done)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, again=0)
    token = preview.request["PATH_INFO"].split("/")[-2]  # type: ignore[attr-defined]
    assert "now wait" not in text_of(client.get(f"{IMPORT}{token}/"))


def test_nothing_is_said_to_wait_before_parts_are_given_out(mei: User) -> None:
    campaign_of(mei)
    client = client_of(mei)
    assert "now wait" not in text_of(confirm(client, send(client, as_csv(triples(2)))))


def test_it_asks_again_where_the_campaign_changed_since_the_preview(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    client = client_of(mei)
    preview = send(client, as_csv(triples(3)))
    load_rows(campaign, triples(1), tmp_path)

    again = confirm(client, preview)

    assert again.status_code == 409
    assert "The campaign changed since this was shown" in text_of(again)
    assert "3 rows · 2 new · 1 there already" in text_of(again)
    token = preview.request["PATH_INFO"].split("/")[-2]  # type: ignore[attr-defined]
    done = client.post(f"{IMPORT}{token}/confirm/", {"seen": hidden(again, "seen")}, follow=True)
    assert "2 added" in text_of(done)


def test_it_stores_a_confirmation_that_was_sent_twice_once(mei: User) -> None:
    campaign_of(mei)
    client = client_of(mei)
    preview = send(client, as_csv(triples(3)))
    seen = hidden(preview, "seen")
    token = preview.request["PATH_INFO"].split("/")[-2]  # type: ignore[attr-defined]

    for _time in range(2):
        done = client.post(f"{IMPORT}{token}/confirm/", {"seen": seen}, follow=True)
        assert "3 added" in text_of(done)

    assert Item.objects.count() == 3
    assert ImportBatch.objects.count() == 1


# What was empty and is given now


def test_it_fills_in_references_that_come_later(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, "compound")
    rows = compounds(1)
    load_rows(campaign, [{name: row[name] for name in row if name != "reference"} for row in rows], tmp_path)
    client = client_of(mei)

    preview = send(client, as_csv(rows))

    page = text_of(preview)
    assert "5 rows · 0 new · 0 there already · 5 to be filled in" in page
    assert "To be filled in reference 5" in page
    assert "Fill in 5 rows" in page
    done = text_of(confirm(client, preview))
    assert "0 added · 0 there already · 5 filled in" in done
    assert not Context.objects.filter(reference="").exists()
    assert "Everything in this file is there already" in text_of(send(client, as_csv(rows)))


def test_it_asks_again_where_something_else_would_be_filled_in(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2), tmp_path)
    client = client_of(mei)
    preview = send(client, as_csv(triples(2, split="dev", label="1")))
    load_rows(campaign, triples(2, split="dev"), tmp_path)

    assert confirm(client, preview).status_code == 409
    assert not Item.objects.exclude(imported_label="").exists()


# By the worker


@pytest.fixture
def small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than two rows are long."""
    monkeypatch.setattr("annotation.views.imports.IN_REQUEST", 2)


@pytest.mark.usefixtures("small_requests")
def test_it_leaves_a_long_file_to_the_worker_and_shows_how_far_it_is(mei: User) -> None:
    campaign_of(mei)
    client = client_of(mei)

    waiting = confirm(client, send(client, as_csv(triples(3))))

    assert "It waits for the worker." in text_of(waiting)
    assert "data-poll=" in body_of(waiting)
    assert Item.objects.count() == 0
    (job,) = due()
    import_items(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result) == (
        "done",
        {"file": "items.csv", "rows": 3, "added": 3, "unchanged": 0, "replaced": 0, "filled": 0},
    )
    token = job.arguments["upload"]
    assert "3 rows · 3 added" in text_of(client.get(f"{IMPORT}{token}/"))
    state = client.get(f"/campaigns/main/jobs/{job.pk}/state/")
    assert "data-finished" in body_of(state)
    assert "3 rows · 3 added" in text_of(state)


@pytest.mark.usefixtures("small_requests")
def test_it_adds_nothing_twice_where_the_task_runs_twice(mei: User) -> None:
    """c43: the first run stored everything and was cut off before it could say so."""
    campaign = campaign_of(mei)
    client = client_of(mei)
    confirm(client, send(client, as_csv(triples(3))))
    (job,) = due()
    upload = uploads.find(campaign, job.arguments["upload"])
    folder = Path(settings.MEDIA_ROOT) / "uploads" / upload.token
    note, file = (folder / "upload.json").read_bytes(), next((folder / "file").iterdir()).read_bytes()
    import_items(job.pk)
    (folder / "upload.json").write_bytes(note)
    next(iter([folder / upload.files["file"].stored])).write_bytes(file)
    Job.objects.filter(pk=job.pk).update(state=Job.State.PENDING)

    import_items(job.pk)

    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 2)
    assert Item.objects.count() == 3
    assert ImportBatch.objects.count() == 1


@pytest.mark.usefixtures("small_requests")
def test_it_takes_up_an_import_that_was_killed_in_the_middle(
    mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_of(mei)
    client = client_of(mei)
    confirm(client, send(client, as_csv(triples(3))))
    (job,) = due()

    def killed(*_args: object, **_kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("annotation.services.imports._publish", killed)
        patch.setattr("annotation.services.imports._discard", lambda batch: None)
        with pytest.raises(KeyboardInterrupt):
            import_items(job.pk)
    assert ImportBatch.objects.get(campaign=campaign).published_at is None
    assert Item.objects.active().count() == 0
    Job.objects.filter(pk=job.pk).update(state=Job.State.PENDING)

    import_items(job.pk)

    job.refresh_from_db()
    assert job.state == "done"
    assert Item.objects.active().count() == 3
    assert LEASE.total_seconds() > 60  # which the second attempt did not wait for


@pytest.mark.usefixtures("small_requests")
def test_it_says_why_the_worker_could_not_store_a_file_and_offers_it_again(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    client = client_of(mei)
    waiting = confirm(client, send(client, as_csv(triples(3))))
    load_rows(campaign, triples(1), tmp_path)
    (job,) = due()

    import_items(job.pk)

    job.refresh_from_db()
    assert job.state == "failed"
    page = client.get(waiting.request["PATH_INFO"])
    assert "Storing it failed; nothing of it is there." in text_of(page)
    assert "The campaign changed since this was shown" in text_of(page)
    assert "3 rows · 2 new · 1 there already" in text_of(page)
    confirm(client, page)
    (again,) = due()
    import_items(again.pk)
    assert Item.objects.count() == 3


# Other kinds of files


def test_it_imports_a_cognition_test_set_with_its_verdicts(mei: User) -> None:
    campaign_of(mei, "compound")
    client = client_of(mei)
    source = [f"the lazy dog slept {i} ." for i in range(5)]
    files = {
        "sources": ("NP.en", "\n".join(source)),
        "compounds": ("NP.compound", "\n".join(["the lazy dog"] * 5)),
        "references": ("NP.zh", "\n".join(f"懒狗睡了 {i} 。" for i in range(5))),
        "translations": (
            "out.tsv",
            "src\thyp\thuman eval\n"
            + "\n".join(
                f"{text if i else 'the lazy dog ran .'}\t懒 狗 {i}\t{i % 2}" for i, text in enumerate(source)
            ),
        ),
    }
    posted = {
        f"cognition-{field}": SimpleUploadedFile(name, text.encode()) for field, (name, text) in files.items()
    }

    preview = client.post(IMPORT, {"kind": "cognition", "cognition-system": "base", **posted}, follow=True)

    page = text_of(preview)
    assert "5 rows · 5 new" in page
    assert "Verdicts 5" in page
    assert "Judged on another source 1" in page
    done = text_of(confirm(client, preview))
    assert "5 verdicts were stored with them" in done
    assert Item.objects.values_list("key", flat=True)[0] == "NP-0001"
    assert [row.label for row in Assignment.objects.order_by("item__position")] == ["0", "1", "0", "1", "0"]


def test_it_points_judgements_sent_as_items_to_their_place(mei: User, tmp_path: Path) -> None:
    load_rows(campaign_of(mei), triples(2), tmp_path)
    client = client_of(mei)
    for header, cells in (
        ("triple_id,annotator,label", ("t1,ann,1", "t1,bob,1")),
        ("triple_id,head,relation,tail,annotator,label", ("t1,a,xWant,b,ann,1", "t1,a,xWant,b,bob,1")),
    ):
        answered = send(client, "\r\n".join((header, *cells)) + "\r\n")
        assert "send it under “Judgements made elsewhere”" in text_of(answered)


def test_the_preview_says_whose_accounts_judgements_attach_to(mei: User, tmp_path: Path) -> None:
    load_rows(campaign_of(mei), triples(1), tmp_path)
    make_user("ada")
    preview = send(client_of(mei), "triple_id,annotator,label\r\nt1,ada,1\r\n", kind="judgements")
    assert "“ada” is an existing account and will be an expert of this campaign" in text_of(preview)
    assert not Membership.objects.filter(user__username="ada").exists()


def test_it_imports_judgements_and_says_who_judged(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2), tmp_path)
    client = client_of(mei)
    rows = "triple_id,annotator,label\r\nt1,ann,sometimes\r\nt2,bob,1\r\n"

    preview = send(client, rows, kind="judgements", name="votes.csv")

    assert "Experts in the file ann, bob" in text_of(preview)
    assert User.objects.filter(username="ann").count() == 0
    assert "2 added" in text_of(confirm(client, preview))
    assert sorted(Assignment.objects.values_list("label", flat=True)) == ["0.5", "1"]


def test_it_does_not_overwrite_judgements(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(1), tmp_path)
    client = client_of(mei)
    head = "triple_id,annotator,label\r\n"
    confirm(client, send(client, head + "t1,ann,1\r\n", kind="judgements"))

    preview = send(client, head + "t1,ann,0\r\n", kind="judgements")

    assert "the file contradicts what is there" in text_of(preview)
    assert 'name="seen"' not in body_of(preview)


def test_it_says_what_is_wrong_with_a_file_of_judgements(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(1), tmp_path)

    page = text_of(
        send(
            client_of(mei),
            "triple_id,annotator,label\r\nt1,ann,perhaps\r\nt9,ann,1\r\n",
            kind="judgements",
        )
    )

    assert "perhaps" in page
    assert "Nothing can be stored" in page


# What is kept, and for whom


def test_it_keeps_an_upload_private_to_its_campaign(mei: User) -> None:
    campaign_of(mei)
    otto = make_user("otto")
    add_member(new_campaign(slug="other"), otto, Membership.Role.MANAGER)
    preview = send(client_of(mei), as_csv(triples(1)))
    token = preview.request["PATH_INFO"].split("/")[-2]  # type: ignore[attr-defined]
    client = client_of(otto)

    assert client.get(f"/campaigns/other/import/{token}/").status_code == 404
    assert client.post(f"/campaigns/other/import/{token}/discard/").status_code == 404
    assert token in folders()


def test_it_throws_an_upload_away_when_asked(mei: User) -> None:
    campaign_of(mei)
    client = client_of(mei)
    preview = send(client, as_csv(triples(1)))
    token = preview.request["PATH_INFO"].split("/")[-2]  # type: ignore[attr-defined]

    response = client.post(f"{IMPORT}{token}/discard/", follow=True)

    assert "The upload is thrown away; nothing was stored." in text_of(response)
    assert token not in folders()
    assert client.get(f"{IMPORT}{token}/").status_code == 404


def test_it_removes_what_was_left_behind_a_day_ago(mei: User) -> None:
    campaign_of(mei)
    client = client_of(mei)
    old = send(client, as_csv(triples(1)))
    token = old.request["PATH_INFO"].split("/")[-2]  # type: ignore[attr-defined]
    two_days_ago = time.time() - 2 * 86400
    os.utime(Path(settings.MEDIA_ROOT) / "uploads" / token, (two_days_ago, two_days_ago))

    send(client, as_csv(triples(1)))

    assert token not in folders()


def test_it_keeps_files_under_a_random_name_with_their_fingerprint(mei: User) -> None:
    campaign = campaign_of(mei)
    data = as_csv(triples(1))

    preview = send(client_of(mei), data, name="../../etc/第一批.csv")

    upload = uploads.find(campaign, preview.request["PATH_INFO"].split("/")[-2])  # type: ignore[attr-defined]
    assert upload.files["file"].name == "第一批.csv"
    assert upload.path("file").is_relative_to(Path(settings.MEDIA_ROOT) / "uploads" / upload.token)
    note = json.loads((Path(settings.MEDIA_ROOT) / "uploads" / upload.token / "upload.json").read_text())
    assert note["files"]["file"]["sha256"] == hashlib.sha256(data.encode()).hexdigest()


def test_it_refuses_to_store_a_file_that_was_changed_on_the_way(mei: User) -> None:
    campaign = campaign_of(mei)
    client = client_of(mei)
    preview = send(client, as_csv(triples(1)))
    upload = uploads.find(campaign, preview.request["PATH_INFO"].split("/")[-2])  # type: ignore[attr-defined]
    upload.path("file").write_text(as_csv(triples(2)))

    response = confirm(client, preview)

    assert response.status_code == 409
    assert "Upload it again." in text_of(response)
    assert Item.objects.count() == 0


def test_it_lists_what_was_imported(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2), tmp_path)
    answer_everything(campaign)

    page = text_of(client_of(mei).get(IMPORT))

    assert re.search(r"items\.csv [0-9a-f]{12} 2 2 0", page)


# The beginning of the file


def test_it_shows_the_first_rows_as_they_were_read(mei: User) -> None:
    """A file read in the wrong encoding is seen before it is stored; nothing in it is markup."""
    campaign_of(mei)
    rows = triples(7)
    rows[0]["tail"] = "<b>吃饭</b>\u200b" + "长" * 200

    preview: Any = send(client_of(mei), as_csv(rows).encode("gb18030"))

    page, body = text_of(preview), body_of(preview)
    assert "The first rows, as they were read" in page
    assert "<b>吃饭</b>\\u200b长长" in page
    assert "<b>吃饭" not in body
    assert "长" * 100 not in page
    assert "PersonX writes letter 5" in page
    assert "PersonX writes letter 6" not in page


def test_it_names_compounds_that_tables_by_pattern_do_not_know(mei: User) -> None:
    campaign_of(mei, "compound")

    preview: Any = send(client_of(mei), as_csv(compounds(2)))

    page = text_of(preview)
    assert "2 compounds have a type but no known pattern" in page
    assert "the sleepy gardener 1, the sleepy gardener 2" in page


def test_it_counts_outputs_and_new_texts_before_and_after(mei: User, tmp_path: Path) -> None:
    load_rows(campaign_of(mei, "compound"), compounds(2), tmp_path, system="base")
    rows = compounds(2)
    rows[0]["translation"] = "别的。"
    client = client_of(mei)

    shown = send(client, as_csv(rows), system="large")

    assert "10 outputs, new texts among them: 1" in text_of(shown)
    together = "With them the campaign holds 20 instances and 11 distinct items; each item is judged once."
    assert together in text_of(shown)
    assert together in text_of(confirm(client, shown))
    home = text_of(client.get("/campaigns/main/"))
    assert "11 items from 20 instances" in home
    assert "Systems and runs" in home


@pytest.mark.parametrize("name", ["NP-git.xlsx", "NP.en", "NP.zh", "NP.compound"])
def test_it_points_a_file_of_a_test_set_to_its_place(name: str, mei: User) -> None:
    campaign_of(mei, "compound")
    data = shared(f"data/cognition/{name}").read_bytes()
    answer: Any = send(client_of(mei), data, name=name)
    assert answer.status_code == 400
    assert "send them under “A CoGnition test set: four files”" in text_of(answer)


@pytest.mark.parametrize(
    ("protocol", "header", "said"),
    [
        ("triple", "item_id,compound,source,translation", "These are the columns of compounds"),
        ("compound", "triple_id,head,relation,tail", "These are the columns of triples"),
        ("triple", "头,关系,尾", "“头” → head, “关系” → relation, “尾” → tail"),
        ("compound", "组合短语,原文,译文", "“组合短语” → compound, “原文” → source, “译文” → translation"),
    ],
)
def test_it_says_what_the_columns_seem_to_be(protocol: str, header: str, said: str, mei: User) -> None:
    campaign_of(mei, protocol)
    answer: Any = send(client_of(mei), f"{header}\r\na,b,c,d\r\n")
    assert answer.status_code == 400
    assert said in text_of(answer)
