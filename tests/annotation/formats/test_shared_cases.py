"""The small hard files beside the project, each read as what it is. Kinds are tested in the other modules."""

import hashlib
import json
from collections import Counter
from typing import Any

import pytest

from annotation.formats.cognition import read_cognition
from annotation.formats.compound_units import CompoundRow
from annotation.formats.compounds import read_compounds
from annotation.formats.judgements import JudgementRow, read_judgements
from annotation.formats.rows import FileRows, Table
from annotation.formats.tables import read_table
from annotation.formats.triples import TripleRow, read_triples
from annotation.formats.writers import write_table
from tests.annotation.formats.files import contents
from tests.shared import shared

GARDENER = [
    "那个困倦的园丁忘了他的帽子。",
    "我们向那个困倦的园丁挥手。",
    "雨水吵醒了那个困倦的园丁。",
    "没有人看见那个困倦的园丁离开。",
    "那个困倦的园丁笑了，然后打了个哈欠。",
]
Places = list[tuple[int | None, str | None]]


def table(name: str) -> Table:
    return read_table(shared(f"cases/{name}"), name=name)


def compounds(name: str) -> FileRows[CompoundRow]:
    return read_compounds(table(name))


def triples(name: str) -> FileRows[TripleRow]:
    return read_triples(table(name))


def places(found: FileRows[Any], kind: str = "errors") -> Places:
    return [(issue.line, issue.column) for issue in getattr(found, kind)]


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("c01_utf8_bom_quoted_header.csv", "utf-8-sig"),
        ("c02_utf16le_bom.tsv", "utf-16-le"),
        ("c12_cr_only.csv", "utf-8"),
    ],
)
def test_it_reads_the_gardener_in_every_encoding_and_line_end(name: str, encoding: str) -> None:
    found = compounds(name)
    assert (found.encoding, found.errors, found.unknown_columns) == (encoding, (), ())
    assert [row.translation for row in found.rows] == GARDENER
    assert [row.item_id for row in found.rows] == ["g01", "g02", "g03", "g04", "g05"]
    assert {row.type for row in found.rows} == {"NP"}
    assert found.columns["item_id"] == "item_id"
    assert found.columns["pattern"] == "type"


def test_it_keeps_line_breaks_within_cells() -> None:
    found = compounds("c03_embedded_newlines.csv")
    assert [row.line for row in found.rows] == [2, 4, 6]
    assert found.rows[0].translation == "那个困倦的园丁\n忘了他的帽子。"
    assert found.rows[1].translation == "我们向那个困倦的园丁\r\n挥手。"
    assert found.rows[2].source == 'rain woke "the sleepy gardener" , again .'


def test_it_takes_words_for_words_and_reports_the_tail_that_is_empty() -> None:
    found = triples("c04_missing_word_lookalikes.csv")
    assert [row.tail for row in found.rows] == ["null", "NA", "None", "nan", "N/A"]
    assert places(found) == [(7, "tail")]


def test_it_reads_numeric_cells_of_a_workbook_as_items_and_as_judgements() -> None:
    found = compounds("c05_xlsx_numeric_cells.xlsx")
    assert [(row.item_id, row.context_no) for row in found.rows] == [("1", 1), ("2", 2), ("4", 4), ("5", 5)]
    assert (found.unknown_columns, found.sheet) == (("label",), "items")
    assert places(found) == [(4, "item_id")]
    judged: FileRows[JudgementRow] = read_judgements(
        table("c05_xlsx_numeric_cells.xlsx"), protocol="compound", annotator="a"
    )
    assert [(row.key and row.key.given, row.label) for row in judged.rows] == [
        ("1", "1"),
        ("2", "1"),
        ("4", "0"),
        ("5", "1"),
    ]
    assert places(judged) == [(4, "item_id")]


def test_it_matches_names_with_spaces_around_them_and_lists_the_unknown_one() -> None:
    found = compounds("c06_header_whitespace.csv")
    assert found.columns[" Compound "] == "compound"
    assert found.columns["translation\u00a0"] == "translation"
    assert found.unknown_columns == ("remarkz",)
    assert len(found.rows) == 5


def test_it_keeps_unicode_separators_in_json() -> None:
    found = triples("c07_jsonl_unicode_separators.jsonl")
    assert [row.head for row in found.rows] == [
        "PersonX reads\u2028a poem",
        "PersonX opens\u0085the door",
        "PersonX types\u000ba tab",
    ]
    assert found.errors == ()


def test_it_gives_the_same_keys_for_the_same_file_and_for_a_corrected_one() -> None:
    first, second = compounds("c08_reimport_v1.csv"), compounds("c08_reimport_v2.csv")
    assert [row.key for row in first.rows] == [row.key for row in second.rows]
    pairs = zip(first.rows, second.rows, strict=True)
    assert [a.translation == b.translation for a, b in pairs].count(False) == 1


def test_it_keeps_a_very_long_cell_whole() -> None:
    found = compounds("c09_very_long_cell.csv")
    assert (len(found.rows), found.errors) == (3, ())
    assert max(len(row.source) for row in found.rows) == 140_000


def test_it_warns_of_wrong_numbers_of_contexts_and_of_a_repeated_one() -> None:
    found = compounds("c10_contexts_four_six_scattered.csv")
    assert (len(found.rows), found.errors) == (20, ())
    text = " ".join(issue.message for issue in found.warnings)
    assert len(found.warnings) == 3
    assert "“every tired clerk” has 4 contexts" in text
    assert "“painted the old fence” has 6 contexts" in text
    assert "Context 3 of “under the green bridge”" in text


def test_it_misses_only_the_compound_that_is_not_there() -> None:
    found = compounds("c11_compound_not_in_sentence.csv")
    missing = [issue.line for issue in found.warnings if "not found in its source" in issue.message]
    assert (missing, found.errors) == ([2], ())


def test_it_reports_three_clashes_of_look_alike_ids() -> None:
    assert places(triples("c13_lookalike_ids.csv")) == [(3, "triple_id"), (5, "triple_id"), (7, "triple_id")]


def test_it_parses_quoted_commas_and_refuses_relations_that_are_not_exact() -> None:
    found = triples("c14_triples_quoted_commas.csv")
    assert found.n_rows == 4
    assert (found.rows[0].head, found.rows[0].tail) == ("PersonX saves 10,000 coins", "to buy a bike, maybe")
    assert found.rows[1].relation == "general Effect"
    assert places(found) == [(4, "relation"), (5, "relation")]
    assert "did you mean “xWant”" in found.errors[0].message


def test_it_reads_seven_compounds_of_five_contexts() -> None:
    found = compounds("c19_seven_compounds.csv")
    assert set(Counter(row.unit_key for row in found.rows).values()) == {5}
    assert (len(found.rows), found.errors) == (35, ())
    assert places(found, "warnings") == [(17, "type")]  # a prepositional phrase that the file calls NP


def test_it_keeps_numbers_as_they_are_written() -> None:
    assert [row.tail for row in triples("c23_numeric_only_tails.csv").rows] == ["42", "0", "3.10", "1e3"]


@pytest.mark.parametrize("protocol", ["compound", "triple"])
def test_it_reads_the_files_of_judgements(protocol: str) -> None:
    name = {"compound": "c17_removed_annotator_labels.csv", "triple": "c26_agr_worded_scale.csv"}[protocol]
    found = read_judgements(table(name), protocol=protocol)
    assert (len(found.rows), found.errors) == (found.n_rows, ())
    assert {row.label for row in found.rows} == ({"0", "1"} if protocol == "compound" else {"0", "0.5", "1"})


def test_it_asks_for_revision_numbers_where_labels_were_revised() -> None:
    found = read_judgements(table("c28_agr_revisions.csv"), protocol="compound")
    assert len(found.errors) == 3
    assert found.unknown_columns == ("t",)


@pytest.mark.parametrize(
    "name", ["c36_bleu_subword_output.tsv", "c38_bleu_pairs_axes.tsv", "c53_bleu_pairs_segmenter.tsv"]
)
def test_it_reads_tab_separated_pairs(name: str) -> None:
    rows = contents(table(name))
    assert len(rows) == 5
    assert all(output and reference for output, reference in rows)


def test_it_keeps_the_row_of_an_empty_output() -> None:
    rows = contents(table("c37_bleu_empty_output.tsv"))
    assert [row[0] == "" for row in rows] == [False, True, False, False, False]


def test_it_keeps_markup_as_text() -> None:
    found = compounds("c50_markup_text.csv")
    assert found.errors == ()
    assert found.rows[3].source == '" onmouseover="alert(1)" x="the sleepy gardener'
    assert found.rows[4].source == "</script><script>alert(1)</script> the sleepy gardener"
    assert found.rows[6].source == '{{ 7*7 }} the sleepy gardener {% now "Y" %}'
    assert {row.translation for row in found.rows} == {"译文<unk>&"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_it_carries_rare_characters_through_every_format(kind: str) -> None:
    given = table("c52_astral_text.jsonl")
    rows = [tuple(cell or "" for cell in row) for row in contents(given)]
    back = read_table(b"".join(write_table(kind, given.header, rows)), name=f"t.{kind}")
    assert [tuple(cell or "" for cell in row) for row in contents(back)] == rows
    assert len(rows[3][given.header.index("note")]) == 500


def test_it_reads_the_released_triples() -> None:
    found = read_triples(read_table(shared("data/ckbp/ckbp2.0.csv"), name="ckbp2.0.csv"))
    assert (len(found.rows), found.errors, found.unknown_columns) == (5006, (), ())
    assert [issue.line for issue in found.warnings] == [152]  # the triple that stands in dev and in test
    assert Counter(row.split for row in found.rows) == {"test": 4048, "dev": 958}
    assert sum(row.label == "1" for row in found.rows) == 1089
    assert len({row.key.folded for row in found.rows}) == 5006


def test_it_reads_the_first_evaluation_set_with_its_general_relations() -> None:
    name = "ckbp1_evaluation_set.csv"
    found = read_triples(read_table(shared(f"data/ckbp/{name}"), name=name))
    assert (len(found.rows), found.errors, len(found.warnings)) == (31_731, (), 535)
    assert sum(row.relation.startswith("general ") for row in found.rows) == 798


def test_it_reads_the_experts_columns_by_position() -> None:
    columns = []
    for number in (1, 2):
        given = read_table(shared(f"data/ckbp/human{number}.csv"), name=f"human{number}.csv")
        found = read_judgements(
            given, protocol="triple", annotator="released", column=f"label{number}", by_position=True
        )
        assert (len(found.rows), found.errors) == (5006, ())
        columns.append([row.label for row in found.rows])
    # Known of the released columns: 871 items scored 1 by both, 218 + 144 by one, 3,773 by none.
    assert Counter(map(sorted_pair, *columns)) == {"1 1": 871, "0 1": 218 + 144, "0 0": 3773}


def sorted_pair(first: str, second: str) -> str:
    return " ".join(sorted((first, second)))


@pytest.mark.parametrize("kind", ["NP", "VP"])
def test_it_reads_the_released_translations_with_their_verdicts(kind: str) -> None:
    folder = shared("data/cognition")
    expected = json.loads(shared("reference/expected.json").read_text())["cognition"]
    found = read_cognition(
        sources=folder / f"{kind}.en",
        compounds=folder / f"{kind}.compound",
        references=folder / f"{kind}.zh",
        translations=folder / f"{kind}-git.xlsx",
    )
    assert (len(found.rows), found.errors) == (3600, ())
    assert found.labels.count("0") == expected["by_type"][kind]["instance_wrong"]
    assert found.labels.count(None) == 0
    assert [row.line - 1 for row in found.differing] == expected["traps"][kind][
        "rows_whose_src_differs_from_cg_test"
    ]
    assert sum(bool(row.source_differs) for row in found.rows) == len(found.differing) == len(found.warnings)
    assert set(Counter(row.unit_key for row in found.rows).values()) == {5}
    assert len({row.unit_key for row in found.rows}) == 720


def test_it_changes_no_character_of_the_references() -> None:
    path = shared("data/cognition/NP.zh")
    folder = path.parent
    found = read_cognition(
        sources=folder / "NP.en", compounds=folder / "NP.compound", references=path, translations=path
    )
    text = "".join((row.reference or "") + "\n" for row in found.rows)
    assert hashlib.sha256(text.encode()).digest() == hashlib.sha256(path.read_bytes()).digest()
