"""What a campaign gives out: the state of one moment, in every format, under the right names."""

import csv
import io
import json
import threading
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from annotation.formats.writers import write_table
from annotation.models import Annotation, Assignment, Campaign, FinalLabel, Item
from annotation.services import exports
from annotation.services.exports import NUMERIC, Cells, names_of, table, take
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.snapshot import snapshot
from tests.factories import make_side_by_side
from tests.material import (
    answer_everything,
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    save,
    sheet,
    triple_campaign,
    triples,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Three triples given to ada and bo, who have answered nothing yet."""
    return triple_campaign(tmp_path, 3, experts=["ada", "bo"])


def rows_of(campaign: Campaign, what: str, *, real: bool = True, history: bool = False) -> list[Cells]:
    chosen = table(campaign, what, names=names_of(campaign, real=real), history=history)
    return list(take(chosen).rows)


def file_of(campaign: Campaign, what: str, form: str) -> bytes:
    chosen = table(campaign, what, names=names_of(campaign, real=True))
    cells = ([row[name] for name in chosen.columns] for row in take(chosen).rows)
    return b"".join(write_table(form, chosen.columns, cells, numeric=NUMERIC))


# The state of one moment (c31)


def test_it_pages_without_repeats_and_gaps_while_rows_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = triple_campaign(tmp_path, 40, experts=["ada", "bo"])
    answer_everything(campaign, "1")
    chosen = table(campaign, "annotations", names=names_of(campaign, real=True))
    places = {pk: (position, slot) for pk, position, slot in _places()}
    sent: list[tuple[int, int]] = []
    pages = 0
    after: int | None = 0
    while after is not None:
        page, after = chosen.page(after=after, size=9)
        sent += [(row["position"], row["slot"]) for row in page]
        pages += 1
        if pages == 3:  # rows that were sent disappear, and some that were not get another answer
            Annotation.objects.filter(pk__in=sorted(places)[:20]).delete()
            for row in Assignment.objects.filter(annotations__in=sorted(places)[-5:]):
                save(sheet([row], "0"), row.expert_id)
    assert len(sent) == len(set(sent)) == 80
    assert set(sent) == set(places.values())


def _places() -> list[tuple[int, int, int]]:
    return list(Annotation.objects.values_list("pk", "assignment__item__position", "assignment__slot"))


@pytest.mark.parametrize("what", ["items", "labels", "annotations"])
def test_it_goes_through_every_table_page_by_page(campaign: Campaign, what: str) -> None:
    answer_everything(campaign, "1")
    finalize(campaign)
    chosen = table(campaign, what, names=names_of(campaign, real=True))
    whole = rows_of(campaign, what)
    paged: list[Cells] = []
    after: int | None = 0
    while after is not None:
        page, after = chosen.page(after=after, size=2)
        paged += page
    assert paged == whole
    assert chosen.page(after=0, size=len(whole))[1] is None


@pytest.mark.django_db(transaction=True)
def test_it_streams_one_moment_while_others_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "CHUNK", 5)
    campaign = triple_campaign(tmp_path, 30, experts=["ada", "bo"])
    answer_everything(campaign, "1")
    found = take(table(campaign, "annotations", names=names_of(campaign, real=True)))
    read = list(islice(found.rows, 7))

    def meanwhile() -> None:
        try:
            for row in Assignment.objects.order_by("-pk")[:20]:
                save(sheet([row], "0"), row.expert_id)
            Annotation.objects.filter(
                pk__in=list(Annotation.objects.values_list("pk", flat=True)[:10])
            ).delete()
        finally:
            connection.close()

    thread = threading.Thread(target=meanwhile)  # a writer does not wait for the reader
    thread.start()
    thread.join(timeout=20)
    assert not thread.is_alive()
    read += found.rows
    assert found.total == len(read) == 60
    assert {row["label"] for row in read} == {"1"}
    assert len({(row["position"], row["slot"]) for row in read}) == 60
    assert {row["label"] for row in rows_of(campaign, "annotations")} == {"0", "1"}


@pytest.mark.django_db(transaction=True)
def test_it_lets_go_of_the_moment_when_a_reader_leaves_early(campaign: Campaign) -> None:
    found = take(table(campaign, "items", names=names_of(campaign, real=True)))
    next(found.rows)
    found.rows.close()
    answer_everything(campaign, "1")
    with snapshot():
        assert len(rows_of(campaign, "annotations")) == 6
    assert not connection.in_atomic_block


# What stands in it


def test_it_says_why_there_are_no_labels(campaign: Campaign) -> None:
    answer_everything(campaign, "1")
    ran = run("export", campaign.slug, "--what", "labels", "--format", "jsonl", "--json")
    assert (ran.code, ran.out) == (0, "")
    assert "No item has a final label yet: compute the labels" in ran.err
    finalize(campaign)
    ran = run("export", campaign.slug, "--what", "labels", "--format", "jsonl")
    assert len(ran.out.splitlines()) == 3
    assert ran.err == ""


def test_it_leaves_out_what_is_tied(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(4), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    tied = {3, 11, 17}
    answer_everything(campaign, lambda row: "0" if row.item.position in tied and row.slot == 2 else "1")
    assert rows_of(campaign, "labels") == []
    finalize(campaign)
    labels = rows_of(campaign, "labels")
    assert {row["position"] for row in labels} == set(range(1, 21)) - tied
    assert {row["label"] for row in labels} == {"1"}
    ran = run("export", campaign.slug, "--what", "labels", "--format", "csv")
    assert (len(ran.out.splitlines()), ran.err.strip()) == (
        18,
        "Without a final label and not in the file: 3 tie. --unlabelled lists them too.",
    )
    whole = run("export", campaign.slug, "--what", "labels", "--format", "csv", "--unlabelled")
    rows = list(csv.DictReader(io.StringIO(whole.out.removeprefix("\ufeff"))))
    assert (len(rows), whole.err) == (20, "")
    assert {int(row["position"]) for row in rows if (row["label"], row["reason"]) == ("", "tie")} == tied
    FinalLabel.objects.exclude(label="").delete()
    reason = table(campaign, "labels", names=names_of(campaign, real=True)).empty_reason
    assert reason is not None
    assert "no item could be labelled" in reason


def test_it_writes_whole_numbers_without_a_point_and_gaps_as_gaps(campaign: Campaign, tmp_path: Path) -> None:
    from openpyxl import load_workbook

    answered = list(Assignment.objects.order_by("item__position", "slot"))[:5]  # one item lacks its second
    for row in answered:
        save(sheet([row], "0.5" if row.slot == 2 else "0"), row.expert_id)
    rows = list(csv.DictReader(io.StringIO(file_of(campaign, "annotations", "csv").decode("utf-8-sig"))))
    assert len(rows) == 5
    for cells in rows:
        assert cells["session_position"] == ""
        assert cells["label"] in ("0", "0.5")
        for name in ("position", "slot", "revision", "guideline", "part", "row"):
            assert cells[name].isdecimal()
    (tmp_path / "a.xlsx").write_bytes(file_of(campaign, "annotations", "xlsx"))
    sheet_rows = list(load_workbook(tmp_path / "a.xlsx").worksheets[0].values)
    header = list(sheet_rows[0])
    first = dict(zip(header, sheet_rows[1], strict=True))
    assert (first["position"], first["revision"], first["session_position"]) == (1, 1, None)
    assert first["label"] == "0"
    lines = [json.loads(line) for line in file_of(campaign, "annotations", "jsonl").decode().splitlines()]
    assert (lines[0]["slot"], lines[0]["seconds"]) == (1, None)


def test_it_exports_the_lowest_value_like_any_other(campaign: Campaign) -> None:
    row = Assignment.objects.get(item__position=1, slot=1)
    save(sheet([row], "0"), row.expert_id)
    (exported,) = rows_of(campaign, "annotations")
    assert (exported["label"], exported["cannot_judge"]) == ("0", "")


def test_it_gives_names_or_pseudonyms(campaign: Campaign) -> None:
    answer_everything(campaign, "1")
    assert {row["annotator"] for row in rows_of(campaign, "annotations")} == {"ada", "bo"}
    assert {row["annotator"] for row in rows_of(campaign, "annotations", real=False)} == {"A1", "A2"}
    hidden = run("export", campaign.slug, "--what", "annotations", "--format", "csv", "--pseudonyms").out
    assert "A1" in hidden
    assert "ada" not in hidden


def test_it_gives_the_last_answers_or_all_of_them(campaign: Campaign) -> None:
    answer_everything(campaign, "1")
    row = Assignment.objects.get(item__position=1, slot=1)
    save(sheet([row], "0"), row.expert_id)
    current = rows_of(campaign, "annotations")
    assert len(current) == 6
    assert [r["label"] for r in current if (r["position"], r["slot"]) == (1, 1)] == ["0"]
    history = rows_of(campaign, "annotations", history=True)
    assert [(r["revision"], r["label"]) for r in history if (r["position"], r["slot"]) == (1, 1)] == [
        (1, "1"), (2, "0"),
    ]  # fmt: skip


def test_it_keeps_answers_to_replaced_texts_in_the_history(campaign: Campaign, tmp_path: Path) -> None:
    answer_everything(campaign, "1")
    rows = triples(3)
    rows[0]["tail"] = "PersonX burns it"
    load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert len(rows_of(campaign, "annotations")) == 4
    history = rows_of(campaign, "annotations", history=True)
    assert {row["tail"] for row in history if row["position"] == 1} == {"PersonX seals it 1"}
    assert len(history) == 6


def test_it_never_puts_a_database_id_under_a_key(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = [{name: row[name] for name in ("head", "relation", "tail")} for row in triples(2)]
    load_rows(campaign, rows, tmp_path)
    Item.objects.update(key="derived")
    for what in ("items", "labels", "annotations"):
        chosen = table(campaign, what, names=names_of(campaign, real=True))
        assert "triple_id" not in chosen.columns
        assert "pk" not in chosen.columns
    assert list(rows_of(campaign, "items")[0].values())[1:4] == list(rows[0].values())


def test_it_lists_the_systems_behind_each_translation(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    load_rows(campaign, compounds(1, system="large", run="2"), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    assert {row["systems"] for row in rows_of(campaign, "annotations")} == {"base; large/2"}


# The command


def test_it_writes_a_file_whole_or_not_at_all(campaign: Campaign, tmp_path: Path) -> None:
    target = tmp_path / "items.csv"
    ran = run("export", campaign.slug, "--what", "items", "--format", "csv", "-o", target, "--json")
    assert ran.code == 0
    assert ran.document["rows"] == 3
    assert ran.document["output"] == str(target)
    assert target.read_bytes().startswith(b"\xef\xbb\xbftriple_id")
    ran = run(
        "export", campaign.slug, "--what", "items", "--format", "csv", "-o", tmp_path / "no" / "items.csv"
    )
    assert ran.code == 1
    assert "cannot be written" in ran.err
    Item.objects.filter(position=2).update(tail="长" * 40_000)
    ran = run(
        "export",
        campaign.slug,
        "--what",
        "items",
        "--format",
        "xlsx",
        "-o",
        tmp_path / "items.xlsx",
        "--json",
    )
    assert ran.code == 1
    assert "a cell of a workbook holds 32,767" in ran.document["errors"][0]["message"]
    assert not list(tmp_path.glob("*items.xlsx*"))


@pytest.mark.parametrize("what", ["items", "annotations", "labels"])
def test_it_writes_columns_of_their_types(campaign: Campaign, tmp_path: Path, what: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    answer_everything(campaign, "0.5")
    finalize(campaign)
    target = tmp_path / "out.parquet"
    assert run("export", campaign.slug, "--what", what, "--format", "parquet", "-o", target).code == 0
    found = pq.read_table(target)
    chosen = table(campaign, what, names=names_of(campaign, real=True))
    assert tuple(found.column_names) == chosen.columns
    types: dict[str, Any] = {name: found.schema.field(name).type for name in found.column_names}
    assert types["label"] == pa.string()
    assert types.get("position", pa.int64()) == pa.int64()
    assert found.num_rows == chosen.count()


def test_it_writes_the_document_alone_to_stdout(campaign: Campaign) -> None:
    ran = run("export", campaign.slug, "--what", "items", "--format", "jsonl")
    assert ran.err == ""
    assert [json.loads(line)["triple_id"] for line in ran.out.splitlines()] == ["t1", "t2", "t3"]


def test_an_imported_answer_claims_no_version_of_the_guidelines(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 2, experts=["ada", "bo"])
    row = Assignment.objects.get(item__position=1, slot=1)
    save(sheet([row]), row.expert_id)
    judge_rows(campaign, [{"triple_id": "t2", "annotator": row.expert.username, "label": "1"}])

    rows = csv.DictReader(io.StringIO(file_of(campaign, "annotations", "csv").decode("utf-8-sig")))
    assert {(cells["source_of_answer"], cells["guideline"]) for cells in rows} == {
        ("api", "1"),
        ("import", ""),
    }
    for form in ("xlsx", "parquet", "jsonl"):
        assert file_of(campaign, "annotations", form)


def test_an_answer_says_how_its_item_was_shown(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(2), tmp_path)
    make_side_by_side(campaign)
    assign_parts(campaign, experts=["ada"], design="cyclic", seed=1)
    answer_everything(campaign)

    rows = csv.DictReader(io.StringIO(file_of(campaign, "annotations", "csv").decode("utf-8-sig")))
    assert [cells["display"] for cells in rows] == ["side_by_side"] * 10
