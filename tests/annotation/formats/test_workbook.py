import datetime
import io
import tracemalloc
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from openpyxl import Workbook
from openpyxl.chartsheet import Chartsheet

from annotation.formats import workbook as module
from annotation.formats.errors import FormatError
from annotation.formats.number_formats import shown_number
from annotation.formats.rows import Table
from annotation.formats.tables import FIRST_ROWS, read_table
from tests.annotation.formats.files import contents, lines_of, problems, workbook

_SPREADSHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def read(*rows: Sequence[object], **others: list[list[object]]) -> Table:
    return read_table(workbook(*rows, others=others), name="t.xlsx")


def saved(book: Workbook) -> bytes:
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def with_part(data: bytes, part: str, text: str) -> bytes:
    """The workbook with one part of it replaced."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename != part:
                new.writestr(entry, old.read(entry.filename))
        new.writestr(part, text)
    return stream.getvalue()


def with_sheet(rows: str) -> Table:
    """A workbook whose only sheet holds these rows in XML, for what openpyxl itself cannot write."""
    sheet = f"<worksheet {_SPREADSHEET}><sheetData>{rows}</sheetData></worksheet>"
    return read_table(with_part(workbook(["x"]), "xl/worksheets/sheet1.xml", sheet), name="t.xlsx")


def test_it_reads_numbers_without_a_decimal_point_they_do_not_need() -> None:
    table = read(["id", "n"], [1, 2.0], [3.5, -1.0], [1e15, 123456789012345], [0.1, 3.10], [True, False])
    assert contents(table) == [
        ("1", "2"),
        ("3.5", "-1"),
        ("1000000000000000", "123456789012345"),
        ("0.1", "3.1"),
        ("true", "false"),
    ]
    assert (table.format, table.encoding, table.sheet) == ("xlsx", None, "Sheet")


def test_it_keeps_text_as_it_stands() -> None:
    cells = [
        " NA ",
        "007",
        "1.0",
        "null",
        "\u3000x\u2028y\n z",
        "\U00020bb7\U0001f468\u200d\U0001f469",
        "N/A",
    ]
    assert contents(read(["a"], *[[cell] for cell in cells])) == [(cell,) for cell in cells]


def test_it_ignores_empty_rows_and_columns_around_the_table_and_keeps_the_sheet_rows() -> None:
    table = read(
        [], [None, None], ["a", "b", None, " "], ["1", "2"], [None, " "], [3, None, None, None, "\u200b"]
    )
    rows = list(table.rows)
    assert table.header == ("a", "b")
    assert lines_of(rows) == [4, 6]
    assert [row.cells for row in rows] == [("1", "2"), ("3", "")]


def test_it_reports_text_to_the_right_of_the_header() -> None:
    assert problems(read(["a", "b"], [1, 2], [1, 2, None, "x"]))[0][0] == 3
    assert "Cell D3" in problems(read(["a", "b"], [1, 2], [1, 2, None, "x"]))[0][2]


def test_it_reads_the_first_sheet_and_names_others_that_hold_something() -> None:
    table = read(["a"], [1], empty=[[None]], notes=[[], ["x"]])
    assert contents(table) == [("1",)]
    assert [("Sheet" in w.message, "notes" in w.message, "empty" in w.message) for w in table.warnings] == [
        (True, True, False)
    ]


def test_it_reports_formulas_without_a_stored_value_with_their_cell() -> None:
    found = problems(read(["a", "b"], [1, "=1+1"], ["x", "y"]))
    assert [(line, column) for line, column, _ in found] == [(2, "b")]
    assert "Cell B2" in found[0][2]
    assert "no stored value" in found[0][2]


def test_it_reads_the_stored_value_of_a_formula_even_an_empty_one() -> None:
    table = with_sheet(
        '<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>b</v></c></row>'
        '<row r="2"><c r="A2"><f>1+1</f><v>2</v></c><c r="B2" t="str"><f>IF(1,"","")</f><v></v></c></row>'
        '<row r="3"><c r="A3" t="str"><f>"x"</f><v>x</v></c><c r="B3" t="b"><f>1=1</f><v>1</v></c></row>'
    )
    assert contents(table) == [("2", ""), ("x", "true")]


@pytest.mark.parametrize(
    "formula", ["<f>A1</f>", "<f/>", "<f>A1</f><v/>", '<f t="shared" si="0"/>', "<f>A1</f><v></v>"]
)
def test_it_takes_no_form_of_a_formula_without_value_for_an_empty_cell(formula: str) -> None:
    table = with_sheet(
        '<row r="1"><c r="A1" t="str"><v>a</v></c></row>'
        f'<row r="2"><c r="A2">{formula}</c></row><row r="3"><c r="A3"><v>1</v></c></row>'
    )
    assert [(line, column) for line, column, _ in problems(table)] == [(2, "a")]


def test_it_reports_error_values_but_not_text_that_looks_like_one() -> None:
    table = with_sheet(
        '<row r="1"><c t="inlineStr"><is><t>a</t></is></c></row>'
        '<row r="2"><c t="e"><f>A9</f><v>#REF!</v></c></row>'
        '<row r="3"><c t="inlineStr"><is><t>#REF!</t></is></c></row>'
    )
    rows = list(table.rows)
    assert [(row.line, [p.message for p in row.problems]) for row in rows] == [
        (2, ["Cell A2: it holds the error #REF!."]),
        (3, []),
    ]
    assert rows[1].cells == ("#REF!",)


def test_it_reads_dates_in_iso_form_and_warns_once_a_column() -> None:
    day, moment = datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5)
    table = read(["a", "b"], [day, "x"], [moment, datetime.time(1, 2)], [datetime.timedelta(hours=25), day])
    assert contents(table) == [
        ("2026-01-02", "x"),
        ("2026-01-02T03:04:05", "01:02:00"),
        ("1 day, 1:00:00", "2026-01-02"),
    ]
    assert [(w.line, w.column) for w in table.warnings] == [(2, "a"), (3, "b")]


@pytest.mark.parametrize(
    ("value", "number_format", "shown", "text"),
    [
        (5, "000", "005", "5"),
        (0.5, "0%", "50%", "0.5"),
        (3.1, "0.00", "3.10", "3.1"),
        (1234, "#,##0", "1,234", "1234"),
    ],
)
def test_it_warns_of_a_number_in_a_column_of_texts_that_is_shown_otherwise(
    value: float, number_format: str, shown: str, text: str
) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["triple_id", " Tail ", "label"], ["a", value, value], ["b", value, value]):
        sheet.append(row)
        for cell in sheet[sheet.max_row]:
            cell.number_format = number_format
    table = read_table(saved(book), name="t.xlsx")
    assert contents(table) == [("a", text, text), ("b", text, text)]
    (warning,) = table.warnings
    assert (warning.line, warning.column) == (2, " Tail ")
    assert f"cell B2 shows {shown} and is read as {text}." in warning.message


@pytest.mark.parametrize("value", [1234567890123456, -1.234567890123457e16])
def test_it_says_that_a_workbook_keeps_fifteen_digits_of_an_id(value: float) -> None:
    table = read(["triple_id", "label"], [999999999999999, value], [value, value])
    list(table.rows)
    (warning,) = table.warnings
    assert (warning.line, warning.column) == (3, "triple_id")
    assert warning.message.startswith("Cell A3 holds a number of 1")
    assert "a workbook keeps the first 15 digits" in warning.message


def test_a_number_that_is_shown_as_it_is_read_is_no_warning() -> None:
    table = read(["triple_id", "head"], [5, 0.5], [7, "x"])
    assert contents(table) == [("5", "0.5"), ("7", "x")]
    assert table.warnings == []


@pytest.mark.parametrize("value", ["1e999999999", "nan", "-inf", "1e-400"])
def test_a_number_without_measure_is_still_read(value: str) -> None:
    rows = f'<row r="1"><c t="str"><v>head</v></c></row><row r="2"><c><v>{value}</v></c></row>'
    assert len(list(with_sheet(rows).rows)) == 1
    assert shown_number(value, "#,##0.00") in (None, "0.00")


def test_it_names_the_range_of_merged_cells() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["a", "b"], ["1", "x"], ["2", "y"], ["3", "z"]):
        sheet.append(row)
    sheet.merge_cells("B2:B3")
    sheet.merge_cells("F2:F3")
    table = read_table(saved(book), name="t.xlsx")
    assert contents(table) == [("1", "x"), ("2", ""), ("3", "z")]
    (warning,) = table.warnings
    assert (warning.line, warning.column) == (3, "b")
    assert warning.message.startswith("The cells B2:B3 are merged")


def test_it_reads_the_first_sheet_that_can_be_seen_and_says_so() -> None:
    book = Workbook()
    hidden = book.active
    assert hidden is not None
    hidden.title = "old"
    hidden.append(["a"])
    hidden.append(["not this"])
    hidden.sheet_state = "hidden"
    visible = book.create_sheet("new")
    visible.append(["a"])
    visible.append(["this"])
    table = read_table(saved(book), name="t.xlsx")
    assert contents(table) == [("this",)]
    assert table.sheet == "new"
    assert table.warnings[0].message == (
        "The first sheet, “old”, is hidden: the first that can be seen, “new”, is read."
    )
    assert "These hold something too: “old”" in table.warnings[1].message


def test_it_warns_of_hidden_rows_with_their_number() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["a"], ["1"], ["2"], ["3"], [None]):
        sheet.append(row)
    for line in (3, 4, 5):
        sheet.row_dimensions[line].hidden = True
    table = read_table(saved(book), name="t.xlsx")
    assert contents(table) == [("1",), ("2",), ("3",)]
    (warning,) = table.warnings
    assert (warning.line, warning.column) == (3, None)
    assert warning.message.startswith("2 rows are hidden in the workbook")


def test_it_reads_escaped_characters_and_formatted_runs_from_shared_strings() -> None:
    strings = (
        f"<sst {_SPREADSHEET}><si><t>a</t></si><si><t>x_x000B_y_x000D_\n_x005F_x0041_ x005F_</t></si>"
        "<si><r><t>那</t></r><r><rPr/><t xml:space='preserve'> 个</t></r><rPh sb='0' eb='1'><t>na</t></rPh></si></sst>"
    )
    sheet = (
        f'<worksheet {_SPREADSHEET}><dimension ref="A1"/><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row>'
        '<row r="2"><c r="A2" t="s"><v>1</v></c></row><row r="3"><c r="A3" t="s"><v>2</v></c></row>'
        "</sheetData></worksheet>"
    )
    data = with_part(
        with_part(workbook(["x"]), "xl/worksheets/sheet1.xml", sheet), "xl/sharedStrings.xml", strings
    )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        types = archive.read("[Content_Types].xml").decode()
    if "sharedStrings" not in types:
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
        part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
        data = with_part(data, "[Content_Types].xml", types.replace("</Types>", part))
    assert contents(read_table(data, name="t.xlsx")) == [("x\x0by\r\n_x0041_ x005F_",), ("那 个",)]


def test_it_reports_a_zero_character_written_as_an_escape() -> None:
    assert [line for line, _, _ in problems(read(["a"], ["x_x0000_y"], ["z"]))] == [2]


def test_it_skips_chart_sheets() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["a"])
    sheet.append([1])
    chart: Chartsheet = book.create_chartsheet("chart", 0)
    assert chart.title == "chart"
    stream = io.BytesIO()
    book.save(stream)
    assert contents(read_table(stream.getvalue(), name="t.xlsx")) == [("1",)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04 no archive", "cannot be read"),
        (workbook(["a"], [1])[:-200], "cannot be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "old Excel workbook"),
        (b"a,b\n1,2\n", "it is no workbook"),
        (workbook(["a"]), "no data rows"),
        (workbook([]), "empty"),
        (workbook(["a", "b", "A "], [1, 2, 3]), "twice"),
        (with_part(workbook(["a"], [1]), "xl/worksheets/sheet1.xml", "<worksheet><broken"), "cannot be read"),
        (with_part(workbook(["a"], [1]), "[Content_Types].xml", "<Types/>"), "cannot be read"),
    ],
)
def test_it_refuses_what_is_no_readable_workbook(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as refused:
        read_table(data, name="t.xlsx")
    assert "Error" not in str(refused.value)
    assert "BadZip" not in str(refused.value)


@pytest.mark.parametrize(
    "cell",
    ['<c r="ZZZZ2"><v>1</v></c>', '<c t="s"><v>99</v></c>', "<c><v>x</v></c>", '<c r="B2"/><c r="A2"/>'],
)
def test_it_refuses_a_sheet_that_contradicts_itself_further_down(cell: str) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        list(with_sheet(f'<row r="1"><c t="str"><v>a</v></c></row><row r="2">{cell}</row>').rows)


def test_it_refuses_a_workbook_that_unpacks_to_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(FormatError, match=r"unpacks to 0 MiB; at most 0 MiB are read"):
        read(["a"], [1])


def one_long_text(megabytes: int) -> bytes:
    """A workbook whose only cell below the header holds this much text, packed small."""
    text = "x" * (megabytes << 20)
    rows = (
        '<row r="1"><c t="inlineStr"><is><t>a</t></is></c></row>'
        f'<row r="2"><c t="inlineStr"><is><t>{text}</t></is></c></row>'
    )
    sheet = f"<worksheet {_SPREADSHEET}><sheetData>{rows}</sheetData></worksheet>"
    return with_part(workbook(["x"]), "xl/worksheets/sheet1.xml", sheet)


def test_it_refuses_a_small_file_that_unpacks_to_a_huge_text() -> None:
    data = one_long_text(20)
    assert len(data) < 1 << 17
    with pytest.raises(FormatError, match=r"unpacks to 20 MiB; .* at most 200 times the file's size"):
        read_table(data, name="t.xlsx")


def test_it_fills_no_row_up_to_a_cell_far_to_the_right() -> None:
    """Column XFD is the 16,384th, and a small file may have a cell there in every row."""
    empty = '<row><c r="XFD1"/></row><row><c r="XFD1" t="str"><v> </v></c></row>'
    header = '<row r="3"><c t="str"><v>a</v></c></row>'
    first = "".join(f"<row><c><v>{number}</v></c></row>" for number in range(FIRST_ROWS))
    text = '<row><c r="XFD1" t="str"><v>x</v></c></row><row><c r="XFD1"><f>A1</f></c></row>'
    table = with_sheet(empty + header + first + empty + text)
    tracemalloc.start()
    rows = list(table.rows)[FIRST_ROWS:]
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(row.line, row.cells) for row in rows] == [(11, ("",)), (12, ("",))]
    assert "Cell XFD11 holds text, but the header has only 1 columns" in rows[0].problems[0].message
    assert "Cell XFD12: the formula has no stored value" in rows[1].problems[0].message
    assert peak < 16_384 * 4


def test_it_refuses_a_reference_without_end() -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        with_sheet(f'<row r="1"><c r="{"A" * 100_000}1" t="str"><v>a</v></c></row>')


@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/workbook.xml"])
def test_it_unpacks_no_more_than_a_part_says_it_holds(part: str) -> None:
    """The sizes in an archive are what its maker wrote there."""
    data = bytearray(with_part(workbook(["x"]), part, " " * (64 << 20)))
    directory = data.rindex(b"PK\x01\x02")  # the part that was written last
    assert data[directory:].count(part.encode()) == 1
    data[directory + 24 : directory + 28] = (100).to_bytes(4, "little")
    header = int.from_bytes(data[directory + 42 : directory + 46], "little")
    data[header + 22 : header + 26] = (100).to_bytes(4, "little")

    tracemalloc.start()
    with pytest.raises(FormatError, match="cannot be read"):
        read_table(bytes(data), name="t.xlsx")
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 16 << 20


def test_it_reads_a_workbook_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(workbook(["a"], [1]))
    assert read_table(path, name="t.csv").format == "xlsx"
