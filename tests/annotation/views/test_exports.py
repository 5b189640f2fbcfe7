"""Files to take along."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase

from annotation.models import AuditEntry, Campaign, Membership, User
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from tests.factories import make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, save, sheet, triples
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

EXPORT = "/campaigns/main/export/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def judged(mei: User, folder: Path) -> Campaign:
    campaign = new_campaign()
    add_member(campaign, mei, Membership.Role.MANAGER)
    load_rows(campaign, triples(3), folder)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign)
    return campaign


def fetch(user: User, name: str) -> tuple[StreamingHttpResponse, bytes]:
    response: HttpResponseBase = client_of(user).get(EXPORT + name)
    assert response.status_code == 200
    assert isinstance(response, StreamingHttpResponse)
    return response, response.getvalue()


def streamed(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_it_streams_items_as_csv_with_a_mark_a_name_and_the_number_of_rows(mei: User, tmp_path: Path) -> None:
    """c31 and c32: how many rows there are is said, and spreadsheets see that it is UTF-8."""
    judged(mei, tmp_path)

    response, data = fetch(mei, "items.csv")

    assert data.startswith(b"\xef\xbb\xbf")
    assert response.headers["X-Assay-Rows"] == "3"
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["Content-Disposition"].startswith('attachment; filename="main-items.csv"')
    assert [row["triple_id"] for row in rows_of(data)] == ["t1", "t2", "t3"]


def test_it_reads_its_own_export_back(mei: User, tmp_path: Path) -> None:
    campaign = judged(mei, tmp_path)
    _response, data = fetch(mei, "items.csv")
    (tmp_path / "again.csv").write_bytes(data)
    from tests.material import load

    report = load(campaign, tmp_path / "again.csv")

    assert (report.added, report.unchanged, report.conflicts) == (0, 3, ())


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx", "parquet"])
@pytest.mark.parametrize("what", ["items", "labels", "annotations"])
def test_it_writes_every_table_in_every_format(mei: User, tmp_path: Path, what: str, form: str) -> None:
    finalize(judged(mei, tmp_path))

    _response, data = fetch(mei, f"{what}.{form}")

    match form:
        case "csv":
            assert len(rows_of(data)) == (6 if what == "annotations" else 3)
        case "jsonl":
            assert json.loads(data.splitlines()[0])["triple_id"] == "t1"
        case "xlsx":
            assert "xl/workbook.xml" in zipfile.ZipFile(io.BytesIO(data)).namelist()
        case _:
            assert data[:4] == data[-4:] == b"PAR1"


def test_it_names_nobody_unless_a_manager_asks_which_is_written_down(mei: User, tmp_path: Path) -> None:
    campaign = judged(mei, tmp_path)
    vera = make_user("vera")
    add_member(campaign, vera, Membership.Role.VIEWER)

    def annotators(user: User, query: str = "") -> set[str]:
        return {row["annotator"] for row in rows_of(fetch(user, f"annotations.csv{query}")[1])}

    for user in (mei, vera):
        assert annotators(user) == annotators(user, "?names=real") == {"A1", "A2"}
    assert not AuditEntry.objects.filter(action="names exported").exists()

    asked: HttpResponseBase = client_of(mei).post(EXPORT + "names/annotations.csv")
    assert isinstance(asked, StreamingHttpResponse)
    assert {row["annotator"] for row in rows_of(asked.getvalue())} == {"ada", "lin"}
    entry = AuditEntry.objects.get(action="names exported")
    assert (entry.actor, entry.campaign, entry.detail) == (mei, campaign, {"format": "csv"})
    assert client_of(vera).post(EXPORT + "names/annotations.csv").status_code == 404


def test_it_counts_what_has_no_label_and_lists_it_where_asked(mei: User, tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    add_member(campaign, mei, Membership.Role.MANAGER)
    load_rows(campaign, compounds(1), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: "0" if row.item.position == 2 and row.slot == 2 else "1")
    finalize(campaign)

    response, data = fetch(mei, "labels.csv")
    assert response.headers["X-Assay-Left-Out"] == "tie=1"
    assert len(rows_of(data)) == 4

    response, data = fetch(mei, "labels.csv?unlabelled=yes")
    assert "X-Assay-Left-Out" not in response.headers
    assert [(row["label"], row["reason"]) for row in rows_of(data)] == [
        ("1", ""), ("", "tie"), ("1", ""), ("1", ""), ("1", ""),
    ]  # fmt: skip
    page = client_of(mei).get("/campaigns/main/").content.decode()
    assert "/campaigns/main/export/labels.csv?unlabelled=yes" in page
    assert "/campaigns/main/export/names/annotations.csv" in page


def test_it_says_why_there_are_no_labels(mei: User, tmp_path: Path) -> None:
    """c34: none computed, and none that could be."""
    campaign = judged(mei, tmp_path)

    response, data = fetch(mei, "labels.csv")

    assert response.headers["X-Assay-Rows"] == "0"
    assert response.headers["X-Assay-Reason"].startswith("No item has a final label yet")
    assert rows_of(data) == []
    finalize(campaign)
    response, data = fetch(mei, "labels.csv")
    assert "X-Assay-Reason" not in response.headers
    assert len(rows_of(data)) == 3


def test_it_gives_every_answer_ever_saved_where_asked(mei: User, tmp_path: Path) -> None:
    campaign = judged(mei, tmp_path)
    row = campaign.rounds.get().assignments.order_by("pk").first()
    assert row is not None
    save(sheet([row], "0"), row.expert_id)

    assert len(rows_of(fetch(mei, "annotations.csv")[1])) == 6
    assert len(rows_of(fetch(mei, "annotations.csv?history=all")[1])) == 7


def with_an_open_answer(mei: User, folder: Path) -> Campaign:
    """Labels are there, and one answer is still to come."""
    campaign = judged(mei, folder)
    finalize(campaign)
    row = campaign.rounds.get().assignments.earliest("pk")
    campaign.rounds.get().assignments.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
    return campaign


def test_it_asks_back_while_others_judge_and_writes_down_who_went_on(mei: User, tmp_path: Path) -> None:
    campaign = with_an_open_answer(mei, tmp_path)
    vera = make_user("vera")
    add_member(campaign, vera, Membership.Role.VIEWER)
    assert len(rows_of(fetch(vera, "items.csv")[1])) == 3  # rests on no answer
    for name in ("annotations.csv", "labels.jsonl", "annotations.xlsx?history=all"):
        asked = client_of(vera).get(EXPORT + name)
        page = asked.content.decode()
        assert asked.status_code == 409
        assert "1 answer is open" in page
        assert f'action="{EXPORT}{name}"' in page
    assert peeks_of(campaign) == []

    taken = client_of(vera).post(f"{EXPORT}annotations.csv")
    assert len(rows_of(streamed(taken))) == 5
    assert [(peek.by, peek.kind, peek.open_answers, peek.who) for peek in peeks_of(campaign)] == [
        (vera, "annotations", 1, "V1")
    ]
    assert "Judgements · V1 · 1 answer open" in " ".join(
        text_of(client_of(mei).get("/campaigns/main/")).split()
    )


def test_judgements_with_names_are_asked_for_twice_while_others_judge(mei: User, tmp_path: Path) -> None:
    campaign = with_an_open_answer(mei, tmp_path)
    client, names = client_of(mei), f"{EXPORT}names/annotations.csv"
    asked = client.post(names)
    assert (asked.status_code, 'name="confirmed"' in asked.content.decode()) == (409, True)
    assert not AuditEntry.objects.filter(action="names exported").exists()
    taken = client.post(names, {"confirmed": "yes"})
    assert {row["annotator"] for row in rows_of(streamed(taken))} == {"ada", "lin"}
    assert AuditEntry.objects.filter(action="names exported").count() == 1
    assert [peek.kind for peek in peeks_of(campaign)] == ["annotations"]


def test_a_round_beside_the_main_one_counts_too(mei: User, tmp_path: Path) -> None:
    """The judgements of all rounds stand in the file, so any that is judged blind makes it a look."""
    campaign = with_an_open_answer(mei, tmp_path)
    for kind, asks in (("repeat", 409), ("rejudgement", 409), ("resolution", 200)):
        campaign.rounds.update(kind=kind)
        assert client_of(mei).get(f"{EXPORT}annotations.csv").status_code == asks
    campaign.rounds.update(kind="repeat")
    assert client_of(mei).get(f"{EXPORT}labels.csv").status_code == 200  # makes no label
    campaign.rounds.update(kind="main", state="closed")
    assert client_of(mei).get(f"{EXPORT}annotations.csv").status_code == 200


def test_the_command_is_recorded_as_its_operators(mei: User, tmp_path: Path) -> None:
    campaign = with_an_open_answer(mei, tmp_path)
    for what in ("items", "labels", "annotations"):
        call_command("export", "main", what=what, format="csv", output=str(tmp_path / "out"))
    assert [(peek.by, peek.kind) for peek in peeks_of(campaign)] == [(None, "labels"), (None, "annotations")]


def test_it_has_no_other_tables_or_formats(mei: User, tmp_path: Path) -> None:
    judged(mei, tmp_path)
    client = client_of(mei)

    for name in ("items.exe", "people.csv", "items.", "../items.csv"):
        assert client.get(EXPORT + name).status_code == 404
