import json
import re
from pathlib import Path

import pytest

from annotation.formats.errors import FormatError
from annotation.formats.tables import read_table
from tests.annotation.formats.files import contents, csv_table, lines_of, problems, workbook

LONG = "x" * 140_000


def test_it_keeps_every_cell_as_it_stands() -> None:
    table = csv_table("a,b", " NA ,null", "None,nan", '"N/A",3.10', "1e3,0", "\u3000x\u00a0,007", "=1+1,-")
    assert contents(table) == [
        (" NA ", "null"),
        ("None", "nan"),
        ("N/A", "3.10"),
        ("1e3", "0"),
        ("\u3000x\u00a0", "007"),
        ("=1+1", "-"),
    ]
    assert (table.format, table.encoding, table.header) == ("csv", "utf-8", ("a", "b"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_it_counts_physical_lines_whatever_ends_them(end: str) -> None:
    text = end.join(["a,b", f'"1{end}2{end}",x', "", ",", " ,\u200b", f'3,"{end}"', "4,y"])
    rows = list(read_table(text.encode(), name="t.csv").rows)
    assert lines_of(rows) == [2, 8, 10]
    assert [row.cells for row in rows] == [(f"1{end}2{end}", "x"), ("3", end), ("4", "y")]


def test_it_says_that_lone_carriage_returns_were_taken_for_row_ends() -> None:
    table = csv_table("a,b", "1,x", "2,y", end="\r")
    assert contents(table) == [("1", "x"), ("2", "y")]
    assert "lone CR" in table.warnings[0].message


def test_it_leaves_no_carriage_return_in_the_last_column() -> None:
    assert contents(read_table(b"a,b\r\r\n1,x\r\r\n2,y\n3,z\r\n", name="t.csv")) == [
        ("1", "x"),
        ("2", "y"),
        ("3", "z"),
    ]


def test_it_keeps_unicode_line_separators_in_cells() -> None:
    assert contents(csv_table("a,b", "1\u2028\x85,\x0b\u2029\x1c2")) == [("1\u2028\x85", "\x0b\u2029\x1c2")]


def test_it_reads_quoted_separators_doubled_quotes_and_quotes_within_text() -> None:
    table = csv_table('"a" ,"b"'.replace(" ", ""), '"10,000","say ""hi"""', '5" nail,it\'s "so"')
    assert contents(table) == [("10,000", 'say "hi"'), ('5" nail', 'it\'s "so"')]


def test_it_has_no_limit_on_a_cell() -> None:
    assert contents(csv_table("a,b", f"{LONG},x", f'"{LONG}",y')) == [(LONG, "x"), (LONG, "y")]


def test_it_reads_a_marked_file_whose_first_name_is_quoted() -> None:
    assert read_table(b'\xef\xbb\xbf" item_id ","b"\r\n1,2\r\n', name="t.csv").header == (" item_id ", "b")


def test_it_warns_of_a_mark_within_the_text() -> None:
    table = csv_table("a,b", "1,2", "\ufeff3,4")
    assert contents(table) == [("1", "2"), ("\ufeff3", "4")]
    assert [(w.line, "U+FEFF" in w.message) for w in table.warnings] == [(3, True)]


@pytest.mark.parametrize("name", ["t.tsv", "t.tab", "t.csv", "t.txt", "t"])
def test_it_reads_tabs_under_the_same_quoting_rule(name: str) -> None:
    table = read_table(b'a\tb\n"x\ty"\t1,5\n', name=name)
    assert table.format == "tsv"
    assert contents(table) == [("x\ty", "1,5")]


def test_it_takes_the_first_line_that_is_not_blank_for_the_header() -> None:
    table = csv_table("", ",,", "a,b", "1,2")
    assert (table.header, lines_of(list(table.rows))) == (("a", "b"), [4])


def test_it_reports_every_bad_row_and_goes_on() -> None:
    table = csv_table("a,b", "1", "1,2,3", '"x"y,2', "o\0k,2", "1,2", ",,", '"open,2', "swallowed,1")
    assert [(line, column) for line, column, _ in problems(table)] == [
        (2, None),
        (3, None),
        (4, None),
        (5, "a"),
        (8, None),
    ]


def test_it_says_how_many_cells_are_missing_and_which_quote_is_open() -> None:
    found = problems(csv_table("a,b", "1", '"open,2', "swallowed,1"))
    assert "1 cell where the header has 2" in found[0][2]
    assert "never closed" in found[1][2]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\n \n,,\n", "empty"),
        (b"a,b\n", "no data rows"),
        (b"a,b\r\n,\r\n , \r\n", "no data rows"),
        (b"a,b,A \n1,2,3\n", "column “a” twice, as “a” and as “A "),
        (b"compound,b,compound\n1,2,3\n", "names the column “compound” twice\\.$"),
        ("a,\u200bb,B\u3000\n1,2,3\n".encode(), "column “b” twice"),
        ("caf\u00e9,cafe\u0301\n1,2\n".encode(), "twice"),
        (b"a;b;c\n1;2;3\n", "separated by semicolons"),
        (b"a|b\n1|2\n", "separated by bars"),
        ("a，b\n1，2\n".encode(), "full-width commas"),
        (b'"a,b\n1,2\n', "never closed"),
        (b"a,b\0\n1,2\n", "U\\+0000"),
    ],
)
def test_it_refuses_files_that_cannot_be_used(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_table(data, name="t.csv")


def test_it_refuses_commas_in_a_file_named_tsv() -> None:
    with pytest.raises(FormatError, match="separated by commas"):
        read_table(b"a,b\n1,2\n", name="t.tsv")


def test_it_says_that_a_file_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        read_table(tmp_path / "none.csv", name="none.csv")


def test_it_reads_a_single_column_without_separators() -> None:
    assert contents(csv_table("label1", "1", "0", "1")) == [("1",), ("0",), ("1",)]


def test_it_lets_columns_without_a_name_be_several() -> None:
    assert read_table(b",a,\n0,x,\n", name="t.csv").header == ("", "a", "")


def test_it_turns_json_values_into_text_as_they_are_written() -> None:
    lines = [
        '{"a": 3.10, "b": 1e3, "c": true}',
        '{"a": 12345678901234567890, "b": "NA", "d": null}',
        '{"c": false, "a": -0, "b": ""}',
    ]
    table = read_table("\n".join(lines).encode(), name="t.jsonl")
    assert table.header == ("a", "b", "c", "d")
    assert contents(table) == [
        ("3.10", "1e3", "true", None),
        ("12345678901234567890", "NA", None, None),
        ("-0", "", "false", None),
    ]


def test_it_cuts_json_lines_at_line_feeds_only_and_skips_blank_ones() -> None:
    text = '{"a": "x\u2028y"}\r\n\r\n{"a": "x\x85y"}\r\n{"a": "x\\u000by"}\r\n{}\r\n{"a": " "}\r\n'
    rows = list(read_table(text.encode(), name="t.jsonl").rows)
    assert [(row.line, row.cells) for row in rows] == [(1, ("x\u2028y",)), (3, ("x\x85y",)), (4, ("x\x0by",))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1, "a": 1}', "“a” twice"),
        ('{"z": {"x": 1, "x": 2}}', "“x” twice"),
        ('{"z": NaN}', "NaN"),
        ('{"z": [1, -Infinity]}', "-Infinity"),
        ('{"a": 1e999}', "1e999, which is larger"),
        ('{"z": [-1.5E+4000]}', r"-1\.5E\+4000, which is larger"),
        ("[1, 2]", "no object"),
        ('"text"', "no object"),
        ("{'a': 1}", "not a JSON object: at character 2 a name in double quotes is missing"),
        ('{"a": "half \\ud83d"}', "surrogate"),
        ('{"a": "zero \\u0000"}', "U\\+0000"),
        ('{"a": "raw \t tab"}', "at character 12 a text holds a tab or another control character"),
        ('{"a": "raw', "the text that begins at character 7 has no end"),
        ('{"a": "\\q"}', "at character 8 stands an escape that JSON does not have"),
        ('{"a": }', "at character 7 a value is missing"),
        ('{"a" 1}', "at character 6 a colon is missing"),
        ('{"a": 1 "b": 2}', "at character 9 a comma is missing"),
        ('{"a": 1} {"b": 2}', "at character 10 something follows the object"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_it_reports_bad_json_lines_with_their_number(line: str, message: str) -> None:
    text = '{"a": 1}\n' + line + '\n{"a": 2}\n'
    found = problems(read_table(text.encode(), name="t.jsonl"))
    assert [number for number, _, _ in found] == [2]
    assert re.search(message, found[0][2])


def test_it_marks_nested_values_for_whoever_reads_the_column() -> None:
    rows = list(read_table(b'{"a": "x", "b": [1], "c": {"d": 2}}\n', name="t.jsonl").rows)
    assert (rows[0].nested, rows[0].problems) == ((1, 2), ())


@pytest.mark.parametrize("data", [b"\n\n", b"[\n", b"{}\n", b'{"a": 1, "A": 2}\n', b'{"a\\u0000": 1}\n'])
def test_it_refuses_json_without_rows_or_with_names_that_clash(data: bytes) -> None:
    with pytest.raises(FormatError):
        read_table(data, name="t.jsonl")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "an image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "an image"),
        (b"GIF89a\x01\x00", "an image"),
        (b"\x1f\x8b\x08\x00", "a packed archive"),
        (b"7z\xbc\xaf\x27\x1c", "a packed archive"),
        (b"<!DOCTYPE html>\n<html>", "a web page"),
        (b"{\\rtf1\\ansi", "a text document"),
    ],
)
@pytest.mark.parametrize("name", ["items.csv", "items.jsonl", "items"])
def test_it_says_what_a_file_seems_to_be_that_is_no_table(data: bytes, kind: str, name: str) -> None:
    with pytest.raises(FormatError) as refusal:
        read_table(data, name=name)
    assert refusal.value.message == (
        f"The file seems to be {kind}, which is not read as a table. Send CSV, TSV, JSONL or XLSX."
    )


def test_it_knows_json_lines_by_content() -> None:
    assert read_table(b'{"a": 1}\n', name="t.txt").format == "jsonl"


def test_it_joins_json_surrogate_pairs() -> None:
    text = json.dumps({"a": "\U00020bb7"})
    assert "\\ud842" in text
    assert contents(read_table(text.encode(), name="t.jsonl")) == [("\U00020bb7",)]


@pytest.mark.parametrize("data", [b"PAR1\x15\x04\x00PAR1", b"PAR1\x15\x04", b"broken\x15\x04PAR1"])
def test_it_says_that_parquet_is_not_read(data: bytes) -> None:
    with pytest.raises(FormatError, match="This is a Parquet file; those are written here, not read"):
        read_table(data, name="items.parquet")


def test_it_keeps_the_first_rows_for_people_to_look_at() -> None:
    table = read_table(("a\n" + "".join(f"{i}\n" for i in range(9))).encode(), name="x.csv")
    assert [row.cells for row in table.first_rows] == [("0",), ("1",), ("2",), ("3",), ("4",)]
    assert len(list(table.rows)) == 9


@pytest.mark.parametrize(
    ("data", "name", "line"),
    [
        (b"a,b,A \n1,2,3\n", "t.csv", 1),
        (b"\n \na,b,A \n1,2,3\n", "t.csv", 3),
        (b'{"a": 1}\n\n{"a": 2, "A": 3}\n', "t.jsonl", 3),
    ],
)
def test_it_says_on_which_line_a_column_is_named_again(data: bytes, name: str, line: int) -> None:
    with pytest.raises(FormatError, match="twice") as refused:
        read_table(data, name=name)
    assert refused.value.line == line


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ((",".join(f"c{n}" for n in range(1001)) + "\n" + "," * 1000 + "x\n").encode(), "a.csv"),
        ("".join(f'{{"c{n}": 1}}\n' for n in range(1001)).encode(), "a.jsonl"),
        (workbook([*[None] * 1000, "a"], ["x"]), "a.xlsx"),
    ],
)
def test_it_refuses_a_header_without_end(data: bytes, name: str) -> None:
    """Every row is as wide as the header, so that lines of a few characters could fill the memory."""
    with pytest.raises(FormatError, match=r"1,001 columns; at most 1,000 are read\. Leave out those"):
        read_table(data, name=name)


@pytest.mark.parametrize("text", ['[{"a": 1}]', '[{"a": 1},\n{"a": 2}]'])
def test_it_says_that_a_file_is_one_json_array(text: str) -> None:
    with pytest.raises(FormatError, match="The line is or begins a JSON array") as error:
        list(read_table(text.encode(), name="t.jsonl").rows)
    assert error.value.line == 1


def test_it_says_that_an_array_is_begun_where_an_object_in_it_stands_on_a_line() -> None:
    (first, *_others) = problems(read_table(b'[\n{"a": 1},\n{"a": 2}\n]', name="t.json"))
    assert (first[0], first[2].startswith("The line is or begins a JSON array.")) == (1, True)


def test_it_says_that_lines_of_json_end_with_a_lone_cr() -> None:
    with pytest.raises(FormatError, match="The line holds a lone CR") as error:
        read_table(b'{"a": 1}\r{"a": 2}\r', name="t.jsonl")
    assert error.value.line == 1


@pytest.mark.parametrize("first", ["sep=,", "SEP=;", "sep=\t", '"sep=,"'])
def test_it_says_to_remove_a_line_that_is_for_a_spreadsheet(first: str) -> None:
    with pytest.raises(FormatError, match="is meant for a spreadsheet alone") as error:
        csv_table(first, "a,b", "1,2")
    assert error.value.line == 1


def test_it_warns_of_a_second_byte_order_mark() -> None:
    table = read_table("\ufeff\ufeffa,b\n1,2\n".encode(), name="t.csv")
    assert [(found.line, found.message) for found in table.warnings] == [
        (1, "The file begins with more than one byte-order mark (U+FEFF); all of them were taken off.")
    ]
    assert read_table("\ufeffa,b\n1,2\n".encode(), name="t.csv").warnings == []


@pytest.mark.parametrize("header", ["a,\ufeffb", '"\ufeffa",b', 'a,"\ufeffb"'])
def test_it_says_that_a_byte_order_mark_in_the_header_does_not_count(header: str) -> None:
    table = csv_table(header, "1,2", "\ufeff3,4")
    list(table.rows)
    assert [(found.line, found.message.split("; ")[1]) for found in table.warnings] == [
        (1, "it does not count in a column's name."),
        (3, "it was kept."),
    ]


def test_it_says_that_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is a folder; name a file in it"):
        read_table(tmp_path, name="t.csv")
