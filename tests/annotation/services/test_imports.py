"""Importing items: whole or not at all, invisible until published, the same file twice adds nothing."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from annotation.formats.writers import write_table
from annotation.models import (
    AuditEntry,
    Campaign,
    Context,
    ImportBatch,
    Item,
    Output,
    Unit,
)
from annotation.services import import_store, imports
from annotation.services.errors import Refused
from annotation.services.exports import NUMERIC, names_of, table, take
from annotation.services.imports import store
from annotation.services.item_files import read_item_file
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from scoring.services.measure import Options, report
from tests.material import (
    Rows,
    as_csv,
    compounds,
    load,
    load_rows,
    new_campaign,
    run,
    triples,
    write_csv,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db


def in_order(campaign: Campaign) -> list[tuple[Any, ...]]:
    """Everything an item says, in import order; texts of compounds with their contexts."""
    fields: tuple[str, ...]
    if campaign.protocol == "triple":
        fields = ("position", "key", "head", "relation", "tail", "item_class", "split", "imported_label")
    else:
        fields = (
            "position", "key", "translation", "unit__compound", "unit__type", "unit__pattern", "unit__position",
            "context__number", "context__source", "context__reference",
        )  # fmt: skip
    return list(Item.objects.active().filter(campaign=campaign).order_by("position").values_list(*fields))


def stored_rows() -> list[int]:
    return [model._default_manager.count() for model in (Unit, Context, Item, Output, ImportBatch)]


# All or nothing


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_it_stores_the_same_whatever_the_size_of_a_chunk(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_store, "CHUNK", chunk)
    rows = compounds(3)
    # Contexts scattered over the file, so that units, contexts and items meet in different chunks.
    mixed = rows[::3] + rows[1::3] + rows[2::3]
    campaign = new_campaign("compound")
    found = load_rows(campaign, mixed, tmp_path, system="base")
    assert (found.stored, found.rows, found.added, found.units, found.items) == (True, 15, 15, 3, 15)
    assert [row[1] for row in in_order(campaign)] == [row["item_id"] for row in mixed]
    assert [row[0] for row in in_order(campaign)] == list(range(1, 16))
    assert Context.objects.count() == 15
    assert verify(campaign) == []


def test_it_stores_nothing_where_one_row_is_wrong(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = triples(4)
    rows[2]["relation"] = "xWish"
    found = load_rows(campaign, rows, tmp_path)
    assert not found.stored
    assert [(issue.line, issue.column) for issue in found.errors] == [(4, "relation")]
    assert (found.rows, found.added) == (4, 0)
    assert stored_rows() == [0, 0, 0, 0, 0]


def test_it_leaves_nothing_behind_when_the_third_chunk_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_store, "CHUNK", 5)
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2), tmp_path, system="base")
    before = (stored_rows(), in_order(campaign))

    def break_off(done: int, total: int) -> None:
        if done == 15:
            raise OSError("the disk is full")

    file = read_item_file(campaign, write_csv(tmp_path / "more.csv", compounds(6)), system="large")
    with pytest.raises(OSError, match="disk is full"):
        store(campaign, file.rows, sha256=file.sha256, progress=break_off)
    assert (stored_rows(), in_order(campaign)) == before
    assert load_rows(campaign, compounds(6), tmp_path, system="large").added == 30


def leave_behind(campaign: Campaign, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ImportBatch:
    """Five compounds of which a killed import wrote two chunks of five rows."""
    monkeypatch.setattr(import_store, "CHUNK", 5)
    monkeypatch.setattr(imports, "_discard", lambda batch: None)  # a killed process tidies nothing up

    def kill(done: int, total: int) -> None:
        if done == 10:
            raise KeyboardInterrupt

    file = read_item_file(campaign, write_csv(folder / "killed.csv", compounds(5)), system="killed")
    with pytest.raises(KeyboardInterrupt):
        store(campaign, file.rows, sha256=file.sha256, progress=kill)
    monkeypatch.undo()
    return ImportBatch.objects.get(campaign=campaign, published_at__isnull=True)


def test_it_sweeps_what_a_killed_import_left_once_its_lease_has_lapsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = new_campaign("compound")
    left = leave_behind(campaign, tmp_path, monkeypatch)
    assert Item.objects.count() == 10
    with pytest.raises(Refused, match="under way"):
        load_rows(campaign, compounds(3), tmp_path, system="base")
    ImportBatch.objects.filter(pk=left.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    found = load_rows(campaign, compounds(3), tmp_path, system="base")
    assert (found.added, found.items) == (15, 15)
    assert not ImportBatch.objects.filter(pk=left.pk).exists()
    assert [row[0] for row in in_order(campaign)] == list(range(1, 16))
    assert verify(campaign) == []


def test_it_stops_an_import_whose_place_another_one_has_taken(tmp_path: Path) -> None:
    campaign = new_campaign()
    file = read_item_file(campaign, write_csv(tmp_path / "items.csv", triples(3)))

    def taken_over(done: int, total: int) -> None:
        ImportBatch.objects.filter(campaign=campaign).update(published_at=timezone.now())

    with pytest.raises(Refused, match="another one has replaced it"):
        store(campaign, file.rows, sha256=file.sha256, progress=taken_over)


@pytest.mark.django_db(transaction=True)
def test_it_refuses_a_second_import_at_the_same_time(tmp_path: Path) -> None:
    campaign = new_campaign()
    first = read_item_file(campaign, write_csv(tmp_path / "a.csv", triples(4)))
    second = read_item_file(campaign, write_csv(tmp_path / "b.csv", triples(6)))
    refused: list[str] = []

    def other() -> None:
        try:
            store(Campaign.objects.get(), second.rows, sha256=second.sha256)
        except Refused as error:
            refused.append(error.message)
        finally:
            connection.close()

    def in_between(done: int, total: int) -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    found = store(campaign, first.rows, sha256=first.sha256, progress=in_between)
    assert refused == ["Another import into this campaign is under way; wait until it is done."]
    assert found.added == Item.objects.active().count() == 4
    assert load(campaign, tmp_path / "b.csv").added == 2


# Invisible until published


def readers(campaign: Campaign, expert: int) -> dict[str, Any]:
    """What everybody who reads items sees."""
    names = names_of(campaign, real=True)
    rates = report(campaign, "error-rates", Options(system="base"))
    return {
        "items": list(take(table(campaign, "items", names=names)).rows),
        "labels": list(take(table(campaign, "labels", names=names)).rows),
        "annotations": list(take(table(campaign, "annotations", names=names)).rows),
        "screens": next_screens(campaign, expert_id=expert, count=50),
        "rates": rates,
        "bleu": report(campaign, "bleu", Options()),
        "preview": run("assign_parts", campaign.slug, "--experts", "ada", "--preview", "--json").out,
        "dry run": run("export", campaign.slug, "--what", "items", "--format", "jsonl").out,
        "verify": verify(campaign),
    }


def test_it_shows_unpublished_rows_to_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    expert = campaign.memberships.get().user_id
    before = readers(campaign, expert)
    # The killed import holds further outputs of the two compounds that are there, and the rest of five.
    leave_behind(campaign, tmp_path, monkeypatch)
    monkeypatch.setattr(import_store, "CHUNK", 5)
    assert Output.objects.filter(system__name="killed").count() == 10
    assert readers(campaign, expert) == before


def test_it_finds_no_judged_item_in_an_unpublished_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = new_campaign("compound")
    leave_behind(campaign, tmp_path, monkeypatch)
    judgements = [{"item_id": "c1-1", "annotator": "ann", "label": "1"}]
    ran = run("import_annotations", campaign.slug, write_csv(tmp_path / "j.csv", judgements), "--json")
    assert ran.code == 1
    assert "There is no item “c1-1”" in ran.document["errors"][0]["message"]


# The same file again, and further systems


def test_it_adds_nothing_the_second_time(tmp_path: Path) -> None:
    campaign = new_campaign()
    first = load_rows(campaign, triples(5), tmp_path)
    again = load_rows(campaign, triples(5), tmp_path)
    assert (first.added, first.unchanged) == (5, 0)
    assert (again.stored, again.added, again.unchanged, again.items) == (True, 0, 5, 0)
    assert ImportBatch.objects.count() == 1
    assert AuditEntry.objects.filter(action="items imported").count() == 1


def test_it_tells_a_repeated_triple_without_ids_from_the_first(tmp_path: Path) -> None:
    rows = [{name: row[name] for name in ("head", "relation", "tail")} for row in triples(3)]
    twice = [rows[0], rows[1], rows[0], rows[2]]
    campaign = new_campaign()
    found = load_rows(campaign, twice, tmp_path)
    assert (found.added, len(found.warnings)) == (4, 1)
    assert load_rows(campaign, twice, tmp_path).unchanged == 4
    assert load_rows(campaign, [*twice, rows[0]], tmp_path).added == 1
    assert Item.objects.filter(head=rows[0]["head"]).count() == 3


def test_it_shares_one_item_between_identical_outputs(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    rows = compounds(2)
    load_rows(campaign, rows, tmp_path, system="base")
    # Segmentation is no difference: it is taken away before anybody reads.
    large = [{**row, "translation": str(row["translation"]).replace(" ", "")} for row in rows]
    large[3]["translation"] = "另一句。"
    found = load_rows(campaign, large, tmp_path, system="large", run="2")
    assert (found.added, found.items, found.units) == (10, 1, 0)
    assert Item.objects.count() == 11
    assert Output.objects.count() == 20
    assert Output.objects.filter(system__name="large", run="2").count() == 10
    assert (
        Output.objects.get(system__name="large", context__key="c1-1").translation == large[0]["translation"]
    )
    assert Item.objects.get(translation="另一句。").position == 11


def test_it_reads_both_systems_of_one_file(tmp_path: Path) -> None:
    rows = compounds(1, system="base") + compounds(1, system="large")
    campaign = new_campaign("compound")
    found = load_rows(campaign, rows, tmp_path)
    assert (found.added, found.items) == (10, 5)
    assert load_rows(campaign, rows, tmp_path).unchanged == 10
    rates = run("report", campaign.slug, "--kind", "error-rates", "--json")
    assert rates.code == 1
    assert "--system base" in rates.err
    assert "--system large" in rates.err


def test_it_takes_a_withdrawn_item_for_there_already(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    Item.objects.filter(key="t2").update(retired_at=timezone.now(), retired_why="withdrawn")
    again = load_rows(campaign, triples(3), tmp_path)
    assert (again.stored, again.added, again.unchanged) == (True, 0, 3)


def test_it_reports_changed_texts_as_conflicts_and_stores_nothing(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    rows = triples(5)
    rows[1]["tail"] = "PersonX burns it"
    found = load_rows(campaign, rows, tmp_path)
    assert not found.stored
    assert (found.added, found.unchanged) == (0, 2)
    assert [(c["line"], c["key"], c["field"], c["old"], c["new"]) for c in found.conflicts] == [
        (3, "t2", "tail", "PersonX seals it 2", "PersonX burns it")
    ]
    assert Item.objects.count() == 3


def test_it_stores_the_other_rows_where_the_old_text_is_kept(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    rows = triples(5)
    rows[1]["tail"] = "PersonX burns it"
    found = load_rows(campaign, rows, tmp_path, on_conflict="keep")
    assert (found.stored, found.added, found.replaced) == (True, 2, 0)
    assert Item.objects.get(key="t2").tail == "PersonX seals it 2"
    assert Item.objects.active().count() == 5


def test_it_keeps_a_new_output_whose_reference_differs(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="base")
    rows = compounds(1, translation="别的。")
    rows[0]["reference"] = "另一个参考。"
    kept = load_rows(campaign, rows, tmp_path, system="large", on_conflict="keep")
    assert (kept.added, len(kept.conflicts)) == (5, 1)
    assert Output.objects.filter(system__name="large").count() == 5
    assert Context.objects.get(key="c1-1").reference == compounds(1)[0]["reference"]


def test_it_says_which_text_is_longer_than_can_be_stored(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = triples(2)
    rows[0]["triple_id"] = "x" * 1001
    rows[1]["class"] = "y" * 41
    rows[0]["class"] = "adv"
    found = load_rows(campaign, rows, tmp_path)
    assert [(issue.line, issue.column) for issue in found.errors] == [(2, "triple_id"), (3, "class")]
    assert "1,001 characters; at most 1,000" in found.errors[0].message
    compound = new_campaign("compound", slug="compounds")
    found = load_rows(compound, compounds(1, system="s" * 101, run="r" * 101, pattern="p" * 61), tmp_path)
    assert {issue.column for issue in found.errors} == {"system", "run", "pattern"}


# The input cases, through the command


def import_case(protocol: str, name: str, *options: object, slug: str = "main") -> Any:
    ran = run(
        "import_items", new_campaign(protocol, slug=slug).slug, shared(f"cases/{name}"), *options, "--json"
    )
    assert ran.code == (1 if ran.document["errors"] or ran.document["conflicts"] else 0)
    stored = ran.document["added"] if ran.code == 0 else 0
    assert Item.objects.filter(campaign__slug=slug).count() == stored
    return ran.document


# From the README of the cases: the sleepy gardener's texts.
GARDENER = [
    "那个困倦的园丁忘了他的帽子。",
    "我们向那个困倦的园丁挥手。",
    "雨水吵醒了那个困倦的园丁。",
    "没有人看见那个困倦的园丁离开。",
    "那个困倦的园丁笑了，然后打了个哈欠。",
]


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("c01_utf8_bom_quoted_header.csv", "utf-8"),
        ("c02_utf16le_bom.tsv", "utf-16"),
        ("c12_cr_only.csv", "utf-8"),
    ],
)
def test_it_reads_marks_encodings_and_line_ends(name: str, encoding: str) -> None:
    document = import_case("compound", name)
    assert document["columns"]["item_id"] == "item_id"
    assert document["encoding"].lower().startswith(encoding)
    assert list(Item.objects.order_by("position").values_list("translation", flat=True)) == GARDENER
    assert list(Unit.objects.values_list("type", flat=True)) == ["NP"]


def test_it_keeps_line_breaks_and_quotes_inside_cells() -> None:
    import_case("compound", "c03_embedded_newlines.csv")
    texts = dict(Item.objects.values_list("key", "translation"))
    assert texts["m01"].split("\n") == ["那个困倦的园丁", "忘了他的帽子。"]
    assert [line.strip("\r") for line in texts["m02"].split("\n")] == ["我们向那个困倦的园丁", "挥手。"]
    assert Context.objects.get(key="m03").source == 'rain woke "the sleepy gardener" , again .'


def test_it_takes_words_that_look_like_missing_values_for_words(tmp_path: Path) -> None:
    document = import_case("triple", "c04_missing_word_lookalikes.csv")
    assert [(issue["line"], issue["column"]) for issue in document["errors"]] == [(7, "tail")]
    lines = shared("cases/c04_missing_word_lookalikes.csv").read_text().splitlines()[:6]
    mended = tmp_path / "mended.csv"
    mended.write_text("\n".join(lines))
    campaign = Campaign.objects.get()
    load(campaign, mended)
    tails = list(Item.objects.order_by("position").values_list("tail", flat=True))
    assert tails == ["null", "NA", "None", "nan", "N/A"]


def test_it_reads_numbers_in_cells_as_they_are_meant(tmp_path: Path) -> None:
    from openpyxl import load_workbook

    document = import_case("compound", "c05_xlsx_numeric_cells.xlsx")
    assert [issue["column"] for issue in document["errors"]] == ["item_id"]
    assert document["unknown_columns"] == ["label"]
    book = load_workbook(shared("cases/c05_xlsx_numeric_cells.xlsx"))
    book.worksheets[0].delete_rows(document["errors"][0]["line"])
    book.save(tmp_path / "mended.xlsx")
    campaign = Campaign.objects.get()
    load(campaign, tmp_path / "mended.xlsx")
    assert list(Context.objects.order_by("pk").values_list("key", "number")) == [
        ("1", 1), ("2", 2), ("4", 4), ("5", 5),
    ]  # fmt: skip
    for form in ("csv", "jsonl", "xlsx"):
        copy = tmp_path / f"copy.{form}"
        assert run("export", campaign.slug, "--what", "items", "--format", form, "-o", copy).code == 0
        again = new_campaign("compound", slug=f"copy-{form}")
        load(again, copy)
        assert in_order(again) == in_order(campaign)
    # The same workbook read as judgements: 0 stays 0.
    ran = run("import_annotations", campaign.slug, tmp_path / "mended.xlsx", "--annotator", "ann", "--json")
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in exported(campaign, "annotations", "jsonl").decode().splitlines()]
    assert {row["item_id"]: row["label"] for row in rows} == {"1": "1", "2": "1", "4": "0", "5": "1"}


def test_it_matches_headers_whatever_their_case_and_space() -> None:
    document = import_case("compound", "c06_header_whitespace.csv")
    assert {name.strip(): canonical for name, canonical in document["columns"].items()} == {
        "item_id": "item_id", "Compound": "compound", "pattern": "type", "context_no": "context_no",
        "SOURCE": "source", "translation": "translation",
    }  # fmt: skip
    assert document["unknown_columns"] == ["remarkz"]
    assert document["added"] == 5


def test_it_keeps_unusual_separators_inside_text() -> None:
    import_case("triple", "c07_jsonl_unicode_separators.jsonl")
    heads = list(Item.objects.order_by("position").values_list("head", flat=True))
    assert heads == ["PersonX reads\u2028a poem", "PersonX opens\x85the door", "PersonX types\x0ba tab"]


def test_it_keeps_a_very_long_cell_whole() -> None:
    document = import_case("compound", "c09_very_long_cell.csv")
    assert (document["rows"], document["added"]) == (3, 3)
    assert sorted(len(source) for source in Context.objects.values_list("source", flat=True))[-1] == 140_000


def test_it_counts_the_contexts_of_each_compound_wherever_they_stand() -> None:
    document = import_case("compound", "c10_contexts_four_six_scattered.csv")
    said = [warning["message"] for warning in document["warnings"]]
    assert any("every tired clerk” has 4 contexts" in message for message in said)
    assert any("painted the old fence” has 6 contexts" in message for message in said)
    assert any("Context 3 of “under the green bridge”" in message for message in said)
    assert not any("sleepy gardener" in message for message in said)
    assert document["added"] == document["rows"]


def test_it_warns_of_a_compound_that_is_not_in_its_sentence() -> None:
    document = import_case("compound", "c11_compound_not_in_sentence.csv")
    not_found = [
        warning for warning in document["warnings"] if "not found in its source" in warning["message"]
    ]
    assert [warning["line"] for warning in not_found] == [2]
    assert document["added"] == 4


def test_it_takes_ids_that_look_alike_for_the_same() -> None:
    document = import_case("triple", "c13_lookalike_ids.csv")
    assert [(issue["line"], issue["column"]) for issue in document["errors"]] == [
        (3, "triple_id"), (5, "triple_id"), (7, "triple_id"),
    ]  # fmt: skip


def test_it_keeps_commas_and_knows_its_relations(tmp_path: Path) -> None:
    document = import_case("triple", "c14_triples_quoted_commas.csv")
    assert document["rows"] == 4
    assert [(issue["line"], issue["column"]) for issue in document["errors"]] == [
        (4, "relation"), (5, "relation"),
    ]  # fmt: skip
    assert "did you mean “xWant”" in document["errors"][0]["message"]
    lines = shared("cases/c14_triples_quoted_commas.csv").read_text().splitlines()[:3]
    (tmp_path / "mended.csv").write_text("\n".join(lines))
    load(Campaign.objects.get(), tmp_path / "mended.csv")
    assert list(Item.objects.order_by("position").values_list("head", "relation", "tail")) == [
        ("PersonX saves 10,000 coins", "xWant", "to buy a bike, maybe"),
        ("it rains all week", "general Effect", "the river rises"),
    ]


def test_it_keeps_numbers_in_tails_as_they_were_written() -> None:
    import_case("triple", "c23_numeric_only_tails.csv")
    assert list(Item.objects.order_by("position").values_list("tail", flat=True)) == [
        "42",
        "0",
        "3.10",
        "1e3",
    ]


def test_it_keeps_markup_as_text() -> None:
    import_case("compound", "c50_markup_text.csv")
    text = shared("cases/c50_markup_text.csv").read_text(encoding="utf-8")
    sources = list(Context.objects.values_list("source", flat=True))
    assert any("<script" in source for source in sources)
    assert all(source.replace('"', '""') in text for source in sources)
    exported_text = exported(Campaign.objects.get(), "items", "csv").decode("utf-8-sig")
    assert all(source.replace('"', '""') in exported_text for source in sources)


def test_it_keeps_the_message_about_a_huge_cell_short(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = triples(2)
    rows[1]["relation"] = "\x07" + "长" * 2_000_000
    rows[0]["head"] = "nul\x00byte"
    ran = run("import_items", campaign.slug, write_csv(tmp_path / "huge.csv", rows), "--json")
    assert ran.code == 1
    assert [issue["line"] for issue in ran.document["errors"]] == [2, 3]
    assert len(ran.out) < 3000
    assert len(ran.err) < 3000
    assert "\x00" not in ran.out + ran.err


# Texts come back as they went in


def exported(campaign: Campaign, what: str, form: str) -> bytes:
    chosen = table(campaign, what, names=names_of(campaign, real=True))
    cells = ([row[name] for name in chosen.columns] for row in take(chosen).rows)
    return b"".join(write_table(form, chosen.columns, cells, numeric=NUMERIC))


def astral_rows() -> list[dict[str, object]]:
    lines = shared("cases/c52_astral_text.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines if line]
    return [
        {
            "item_id": record["item_id"],
            "compound": record["source"].split()[1],
            "source": record["source"],
            "translation": record["translation"],
            "note": record.get("note", ""),
        }
        for record in records
    ]


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
def test_it_keeps_rare_characters_code_point_for_code_point(form: str, tmp_path: Path) -> None:
    rows = astral_rows()
    campaign = new_campaign("compound")
    load_rows(campaign, [{k: v for k, v in row.items() if k != "note"} for row in rows], tmp_path)
    (tmp_path / f"copy.{form}").write_bytes(exported(campaign, "items", form))
    again = new_campaign("compound", slug="again")
    load(again, tmp_path / f"copy.{form}")
    assert [row[2] for row in in_order(again)] == [row["translation"] for row in rows]
    assert in_order(again) == in_order(campaign)


def without(rows: Rows, *names: str) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def labelled_triples() -> list[dict[str, object]]:
    rows = triples(6, split="test", label="1")
    classes = ("test_set", "cs_head", "all_head", "adv", "adv", "test_set")
    for i, (row, item_class) in enumerate(zip(rows, classes, strict=True)):
        row |= {"class": item_class, "split": ("dev", "test")[i % 2], "label": ("0", "1", "")[i % 3]}
    return rows


def two_systems() -> list[dict[str, object]]:
    large = compounds(3, system="large", run="seed 2")
    for row in large[::2]:
        row["translation"] = f"{row['translation']}！"
    return compounds(3, system="base", run="") + large


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
@pytest.mark.parametrize(
    ("protocol", "make"),
    [
        ("triple", labelled_triples),
        ("triple", lambda: without([*triples(4), triples(4)[1]], "triple_id")),
        ("compound", lambda: compounds(3)),
        ("compound", lambda: without(compounds(3), "item_id", "reference")),
        ("compound", lambda: without(compounds(3), "item_id", "context_no")),
        ("compound", two_systems),
    ],
    ids=["triples", "triples without ids", "compounds", "without ids", "without numbers", "two systems"],
)
def test_it_gives_the_same_items_again_from_its_own_export(
    protocol: str, make: Callable[[], list[dict[str, object]]], form: str, tmp_path: Path
) -> None:
    campaign = new_campaign(protocol)
    assert load_rows(campaign, make(), tmp_path).stored
    copy = tmp_path / f"copy.{form}"
    copy.write_bytes(exported(campaign, "items", form))
    again = new_campaign(protocol, slug="again")
    found = load(again, copy)
    assert found.stored, found.errors
    if protocol == "compound":  # a number that was given by place is stated from now on
        assert [row[2:] for row in in_order(again)] == [row[2:] for row in in_order(campaign)]
        outputs = Output.objects.order_by("pk").values_list(
            "system__name", "run", "context__source", "translation"
        )
        assert list(outputs.filter(system__campaign=again)) == list(outputs.filter(system__campaign=campaign))
    else:
        assert in_order(again) == in_order(campaign)
    assert load(again, copy).unchanged == found.rows
    assert exported(again, "items", "jsonl") == exported(campaign, "items", "jsonl")


def test_it_reads_back_a_table_of_chinese_with_its_mark(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    data = exported(campaign, "items", "csv")
    assert data.startswith(b"\xef\xbb\xbf")
    (tmp_path / "marked.csv").write_bytes(data)
    found = load(campaign, tmp_path / "marked.csv")
    assert (found.stored, found.unchanged, found.added) == (True, 5, 0)


def test_it_shows_without_storing_what_a_file_would_change(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(2), tmp_path)
    found = load_rows(campaign, triples(4), tmp_path, dry_run=True)
    assert (found.stored, found.added, found.unchanged) == (False, 2, 2)
    assert Item.objects.count() == 2
    assert as_csv(triples(4)).count("\n") == 5
