"""Small files that have broken similar platforms, each for its kind, through the import command."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.models import (
    Campaign,
    Context,
    Item,
    Unit,
)
from tests.material import (
    exported,
    in_order,
    load,
    new_campaign,
    run,
    triples,
    write_csv,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db


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
