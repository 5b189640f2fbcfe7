import pytest

from annotation.formats.compound_units import CompoundRow
from annotation.formats.compounds import read_compounds
from annotation.formats.errors import FormatError
from annotation.formats.rows import FileRows
from annotation.formats.tables import read_table
from tests.annotation.formats.files import COMPOUND_HEADER, csv_table, jsonl_table, workbook

Findings = list[tuple[int | None, str | None]]


def read(*lines: str, system: str | None = None, run: str | None = None) -> FileRows[CompoundRow]:
    return read_compounds(csv_table(*lines), system=system, run=run)


def five(compound: str = "the dog", prefix: str = "d", tail: str = "") -> list[str]:
    """Lines for the header item_id,compound,context_no,source,translation."""
    return [f"{prefix}{i},{compound},{i},{i} saw {compound} .,译文{i}{tail}" for i in range(1, 6)]


SHORT = "item_id,compound,context_no,source,translation"


def places(found: FileRows[CompoundRow], kind: str = "errors") -> Findings:
    return [(issue.line, issue.column) for issue in getattr(found, kind)]


def test_it_reads_every_column_as_given() -> None:
    line = ' d1 , the dog ,np,３,"we saw the dog , twice"," 译文 ",参考,base,1.0'
    found = read(COMPOUND_HEADER, line)
    (row,) = found.rows
    assert found.errors == ()
    assert (row.item_id, row.key.given, row.key.folded, row.key.derived) == (" d1 ", " d1 ", "d1", False)
    assert (row.compound, row.unit_key, row.type, row.context_no) == (" the dog ", "the dog", "NP", 3)
    assert (row.source, row.translation, row.reference) == ("we saw the dog , twice", " 译文 ", "参考")
    assert (row.system, row.run, row.line) == ("base", "1.0", 2)


def test_it_takes_a_pattern_of_just_np_vp_pp_for_the_type() -> None:
    found = read("compound,pattern,source,translation", "the dog, np ,the dog,x")
    assert (found.rows[0].type, found.rows[0].pattern) == ("NP", None)
    assert found.columns["pattern"] == "type"


def test_it_keeps_real_patterns() -> None:
    found = read("compound,pattern,source,translation", "the dog,NP:DET+N,the dog,x", "a cat,NP,a cat,x")
    assert [(row.type, row.pattern) for row in found.rows] == [(None, "NP:DET+N"), ("NP", None)]
    assert found.columns["pattern"] == "pattern"


def test_it_reports_unknown_types_and_a_pattern_that_contradicts_the_type() -> None:
    found = read("compound,type,pattern,source,translation", "a,XP,,a,x", "a,VP,NP,a,x", "a,NP,NP,a,x")
    assert places(found) == [(2, "type"), (3, "pattern")]
    assert [row.type for row in found.rows] == ["NP"]


def test_it_warns_of_a_type_that_the_words_contradict_once_a_compound() -> None:
    header = "compound,type,context_no,source,translation"
    lines = [f"liked the dog,{('NP', 'NP', 'VP')[i % 3]},{i},she liked the dog {i},x" for i in range(1, 6)]
    lines += [f"painted the fence,NP,{i},painted the fence {i},x" for i in range(1, 6)]
    found = read(header, *lines)
    assert (found.errors, places(found, "warnings")) == ((), [(2, "type")])
    assert found.warnings[0].message == (
        "The file says NP; by its words “liked the dog” is VP, which counts."
    )


def test_it_warns_of_a_pattern_that_the_words_contradict_once_a_file() -> None:
    header = "compound,pattern,context_no,source,translation"
    dogs = [f"the dog,{('NP: DET+N', 'DET+N', 'A2')[i % 3]},{i},the dog {i},x" for i in range(1, 6)]
    hats = [f"the hat,A2,{i},the hat {i},x" for i in range(1, 6)]
    found = read(header, *dogs, *hats)
    assert (found.errors, places(found, "warnings")) == ((), [(3, "pattern")])


def test_what_one_row_says_of_its_compound_holds_for_the_others() -> None:
    header = "item_id,compound,type,pattern,context_no,source,translation"
    lines = [f"d{i},painted the fence,,,{i},painted the fence {i},x" for i in range(1, 6)]
    lines[2] = "d3,painted the fence,VP,VP:V+DET+N,3,painted the fence 3,x"
    lines[4] = "d5,painted the fence,NP,,5,painted the fence 5,x"
    found = read(header, *lines)
    assert {(row.type, row.pattern) for row in found.rows} == {("VP", "VP:V+DET+N")}
    assert [(issue.line, issue.message) for issue in found.warnings] == [
        (6, "The type differs from that on line 4, which has the same compound; that one counts.")
    ]


def test_what_one_system_says_of_a_context_holds_for_the_others() -> None:
    header = SHORT + ",reference,source_differs,system"
    lines = [f"{line},,,a" for line in five()] + [f"{line},参考,yes,b" for line in five()]
    found = read(header, *lines)
    assert (found.errors, found.warnings) == ((), ())
    assert {(row.reference, row.source_differs) for row in found.rows} == {("参考", True)}
    against = read(header, f"{five()[0]},,no,a", f"{five()[0]},,yes,b")
    assert places(against) == [(3, "source_differs")]


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "three", "1e9", "100000"])
def test_it_reports_context_numbers_that_are_none(text: str) -> None:
    assert places(read(SHORT, f"d1,the dog,{text},the dog,x")) == [(2, "context_no")]


def test_it_reports_every_needed_cell_that_is_empty() -> None:
    found = read(
        SHORT,
        ",the dog,1,the dog,x",
        "d2, \u3000,1,the dog,x",
        "d3,the dog,1,\u200b,x",
        "d4,the dog,9,the dog,x",
    )
    assert places(found) == [(2, "item_id"), (3, "compound"), (4, "source")]
    assert (found.n_rows, len(found.rows)) == (4, 1)


def test_it_keeps_an_empty_translation_with_a_warning() -> None:
    found = read(SHORT, *five()[:4], "d5,the dog,5,the dog,")
    assert (found.errors, places(found, "warnings")) == ((), [(6, "translation")])
    assert found.rows[4].translation == ""


def test_it_reports_the_same_id_twice_and_names_the_first_line() -> None:
    found = read(SHORT, *five(), "d２\u200b,the dog,6,the dog,x")
    assert places(found) == [(7, "item_id")]
    assert "line 3" in found.errors[0].message
    assert "d２\\u200b" in found.errors[0].message


def test_it_lets_systems_share_an_id_but_not_a_context_under_two_ids() -> None:
    header = SHORT + ",system,run"
    lines = [
        f"{line},{system},{run}" for system, run in (("a", "1"), ("a", "2"), ("b", "")) for line in five()
    ]
    found = read(header, *lines)
    assert (found.errors, found.warnings) == ((), ())
    assert {(row.system, row.run) for row in found.rows} == {("a", "1"), ("a", "2"), ("b", None)}


def test_it_reports_a_shared_id_that_stands_for_another_context() -> None:
    header = SHORT + ",reference,system"
    found = read(
        header,
        "d1,the dog,1,the dog ran,x,参,a",
        "d1,the dog,2,the dog sat,x,考,b",
        "d1,the dog,1,the dog ran,x,,c",
    )
    assert places(found) == [(3, "source"), (3, "context_no"), (3, "reference")]
    assert len(found.rows) == 2


def test_it_fills_in_system_and_run_where_a_row_names_none() -> None:
    found = read(
        SHORT + ",system", "d1,the dog,1,the dog,x,", "d2,the dog,2,the dog,x,mine", system="base", run="7"
    )
    assert [(row.system, row.run) for row in found.rows] == [("base", "7"), ("mine", "7")]


def test_it_reports_the_same_output_twice_after_filling_in() -> None:
    found = read(SHORT + ",system", "d1,the dog,1,the dog,x,", "d1,the dog,1,the dog,y,base", system="base")
    assert places(found) == [(3, "item_id")]


def test_it_knows_contexts_without_ids_by_compound_and_number() -> None:
    header = "compound,context_no,source,translation,system"
    lines = [f"the dog,{i},{i} the dog,x,{system}" for system in "ab" for i in range(1, 6)]
    found = read(header, *lines)
    assert (found.errors, found.warnings) == ((), ())
    assert len({row.key.folded for row in found.rows}) == 5
    assert found.rows[2].key.given == "the dog | context 3"
    assert all(row.key.derived and row.item_id is None for row in found.rows)


def test_it_knows_contexts_without_ids_or_numbers_by_their_place() -> None:
    lines = [f"{compound},{i} {compound},x" for i in range(1, 6) for compound in ("the dog", "a cat")]
    found = read("compound,source,translation", *lines)
    again = read("compound,source,translation", *lines)
    assert (found.errors, found.warnings) == ((), ())
    assert len({row.key.folded for row in found.rows}) == 10
    assert [row.key for row in found.rows] == [row.key for row in again.rows]


def test_it_keeps_a_repeated_context_number_with_a_warning_with_or_without_ids() -> None:
    lines = [f"d{n},the dog,{i},{n} the dog,x" for n, i in enumerate([1, 2, 3, 3, 5])]
    assert places(read(SHORT, *lines), "warnings") == [(5, "context_no")]
    without = read(SHORT.removeprefix("item_id,"), *[line.split(",", 1)[1] for line in lines])
    assert (without.errors, places(without, "warnings")) == ((), [(5, "context_no")])
    assert len({row.key.folded for row in without.rows}) == 5


def test_it_warns_of_compounds_without_exactly_five_contexts_wherever_they_stand() -> None:
    lines = [
        *five("a cat", "c")[:4],
        *five("the dog")[:2],
        *five("a bee", "b"),
        "b6,a bee,6,a bee,x",
        *five("the dog")[2:],
    ]
    found = read(SHORT, *lines)
    assert places(found, "warnings") == [(2, "compound"), (8, "compound")]
    assert "4 contexts" in found.warnings[0].message
    assert "6 contexts" in found.warnings[1].message


def test_it_counts_no_contexts_of_a_compound_some_of_whose_rows_have_errors() -> None:
    lines = [
        *five()[:3],
        "d4,the dog,two,4 saw the dog .,x",
        "d1,the dog,5,5 saw the dog .,x",
        *five("a cat", "c")[:4],
    ]
    found = read(SHORT, *lines)
    assert places(found) == [(5, "context_no"), (6, "item_id")]
    assert places(found, "warnings") == [(7, "compound")]


def test_it_warns_of_a_compound_that_its_source_does_not_hold() -> None:
    header = "compound,context_no,source,translation"
    sources = [
        "The  Sleepy Gardener waved .",
        "the gardener",
        "a sleepy gardener",
        "the sleepy gardeners",
        "(the sleepy gardener)",
    ]
    found = read(header, *[f"the sleepy gardener,{i},{source},x" for i, source in enumerate(sources, 1)])
    assert places(found, "warnings") == [(3, "compound"), (4, "compound"), (5, "compound")]


def test_it_reports_an_empty_reference_beside_filled_ones() -> None:
    header = SHORT + ",reference"
    lines = [f"{line},{'' if i == 2 else '参考'}" for i, line in enumerate(five())]
    assert places(read(header, *lines)) == [(4, "reference")]
    assert read(header, *[f"{line}," for line in five()]).errors == ()


def test_it_accepts_a_reference_that_another_system_row_of_the_context_holds() -> None:
    header = SHORT + ",reference,system"
    lines = [f"{line},参考,a" for line in five()] + [f"{line},,b" for line in five()]
    assert (read(header, *lines).errors, read(header, *lines).warnings) == ((), ())


def test_it_takes_null_in_json_for_a_reference_that_does_not_exist() -> None:
    items = [
        {
            "item_id": i,
            "compound": "the dog",
            "source": f"{i} the dog",
            "translation": "x",
            "reference": reference,
        }
        for i, reference in enumerate(["参", None, "", "考", "文"], 1)
    ]
    del items[3]["reference"]
    found = read_compounds(jsonl_table(*items))
    assert places(found) == [(3, "reference")]
    assert places(found, "warnings") == [(2, "reference"), (4, "reference")]


def test_it_reads_ids_and_numbers_of_a_workbook_without_points() -> None:
    rows: list[list[object]] = [[i, "the dog", float(i), f"{i} the dog", "x"] for i in range(1, 6)]
    found = read_compounds(read_table(workbook(SHORT.split(","), *rows), name="t.xlsx"))
    assert [(row.item_id, row.context_no) for row in found.rows] == [(str(i), i) for i in range(1, 6)]


def test_it_lists_all_errors_in_line_order_and_cuts_long_cells_short() -> None:
    found = read(
        SHORT, f"d1,the dog,{'9' * 2_000_000}\0,the dog,x", "d2", f"d3,the dog,{'x' * 2_000_000},the dog,x"
    )
    assert places(found) == [(2, "context_no"), (3, None), (4, "context_no")]
    assert all(len(issue.message) < 300 and issue.message.isprintable() for issue in found.errors)


def test_it_refuses_a_file_of_triples() -> None:
    with pytest.raises(FormatError, match="lacks the columns compound, source, translation"):
        read("head,relation,tail", "a,xWant,b")
