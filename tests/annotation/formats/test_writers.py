import io
import re
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from annotation.formats.compounds import read_compounds
from annotation.formats.errors import FormatError
from annotation.formats.tables import read_table
from annotation.formats.triples import read_triples
from annotation.formats.writers import Cell, as_text, content_disposition, write_csv, write_jsonl, write_table
from tests.annotation.formats.files import COMPOUND_HEADER, contents

TEXTS = [
    "\U00020bb7先生\U0002a6d6",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e8\U0001f1f3",
    "a\x0bb\x1f\x85c\u2028d\u2029",
    'say "hi", 你好;\t<b>&amp;</b>',
    "line\nbreak\r\nand\rback",
    "=1+1",
    "#N/A",
    " \u3000outer spaces\u00a0 ",
    "_x000B_ _x005F_x000D__x0041_",
    "007",
    "1.0",
    "true",
    '\ufeff"marked"',
    "'",
    "\ufffe\uffff\ufffd",
    "@@ -1",
]


def write(kind: str, columns: list[str], rows: list[list[Cell]], *, mark: bool = True) -> bytes:
    return b"".join(write_table(kind, columns, rows, mark=mark))


def read_back(kind: str, rows: list[list[Cell]], columns: list[str]) -> list[tuple[str, ...]]:
    table = read_table(write(kind, columns, rows), name=f"t.{kind}")
    assert table.header == tuple(columns)
    return [tuple(cell or "" for cell in row) for row in contents(table)]


text = st.one_of(
    st.sampled_from(TEXTS),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.text("_x05FfBdD=\"'\r\n\t,; \ufeff\u200b", max_size=12),
)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
@given(rows=st.lists(st.tuples(text, text), min_size=1, max_size=6))
@example(rows=[(first, second) for first, second in zip(TEXTS, reversed(TEXTS), strict=True)])
@settings(max_examples=40, deadline=None)
def test_it_reads_its_own_files_back_code_point_for_code_point(
    kind: str, rows: list[tuple[str, str]]
) -> None:
    numbered: list[list[Cell]] = [[f"k{i}", *cells] for i, cells in enumerate(rows)]
    assert read_back(kind, numbered, ["id", "a", "b"]) == [tuple(map(str, row)) for row in numbered]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_it_turns_no_id_or_gap_into_a_float(kind: str) -> None:
    rows: list[list[Cell]] = [[17, "1", True], [18, "0.5", False], [None, "3.10", None], [2**60, "1e3", None]]
    back = read_back(kind, rows, ["annotation", "label", "final"])
    assert back == [
        ("17", "1", "true"),
        ("18", "0.5", "false"),
        ("", "3.10", ""),
        ("1152921504606846976", "1e3", ""),
    ]


def test_it_marks_csv_for_people_only() -> None:
    assert write("csv", ["a"], [["那"]]) == b"\xef\xbb\xbfa\r\n" + "那\r\n".encode()
    assert write("csv", ["a"], [["那"]], mark=False) == b"a\r\n" + "那\r\n".encode()


def test_it_writes_json_that_no_tool_cuts_in_the_wrong_place() -> None:
    data = write("jsonl", ["a", "n", "x", "big"], [["\u2028\x85那", 2.0, None, 2**53 + 2]])
    assert (
        data
        == b'{"a": "\\u2028\\u0085' + "那".encode() + b'", "n": 2, "x": null, "big": "9007199254740994"}\n'
    )
    assert len(data.decode().splitlines()) == 1


def test_it_writes_headers_without_rows() -> None:
    assert write("csv", ["a", "b"], [], mark=False) == b"a,b\r\n"
    assert write("jsonl", ["a", "b"], []) == b""
    sheet = load_workbook(io.BytesIO(write("xlsx", ["a", "b"], []))).worksheets[0]
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [["a", "b"]]
    assert pq.read_table(io.BytesIO(write("parquet", ["a", "b"], []))).column_names == ["a", "b"]


@pytest.mark.parametrize("undefined", [float("nan"), float("inf")])
def test_it_writes_no_number_that_is_none(undefined: float) -> None:
    for kind in ("csv", "jsonl", "xlsx"):
        with pytest.raises(ValueError, match="no value of a cell"):
            write(kind, ["a"], [[undefined]])


@pytest.mark.parametrize(
    ("cell", "shown"), [(2.0, "2"), (0.1, "0.1"), (None, ""), (True, "true"), (1e22, "1e+22")]
)
def test_it_writes_numbers_as_short_as_they_can_be(cell: Cell, shown: str) -> None:
    assert as_text(cell) == shown


def test_it_streams_and_asks_for_rows_only_as_they_are_needed() -> None:
    asked = 0

    def rows() -> Iterator[list[Cell]]:
        nonlocal asked
        for i in range(20_000):
            asked = i
            yield [i, "那个困倦的园丁"]

    for stream in (write_csv(["i", "t"], rows(), mark=False), write_jsonl(["i", "t"], rows())):
        assert len(next(stream)) > 10_000
        assert asked < 10_000
        rest = b"".join(stream)
        assert asked == 19_999
        assert b"19999" in rest[-60:]


def test_it_stores_text_as_text_and_declared_numbers_as_numbers_in_a_sheet() -> None:
    columns = ["id", "label", "seconds"]
    rows: list[list[Cell]] = [["1", "=1+1", 2.5], ["#REF!", "0", None], ["3", "-1", 2.0]]
    data = b"".join(write_table("xlsx", columns, rows, numeric={"seconds": float}))
    sheet = load_workbook(io.BytesIO(data)).worksheets[0]
    cells = [[(cell.value, cell.data_type) for cell in row] for row in sheet.iter_rows(min_row=2)]
    assert cells == [
        [("1", "s"), ("=1+1", "s"), (2.5, "n")],
        [("#REF!", "s"), ("0", "s"), (None, "n")],
        [("3", "s"), ("-1", "s"), (2, "n")],
    ]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert b"<f>" not in archive.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize("text", ["x" * 32_768, "\U00020bb7" * 16_384, "\x0b" * 5_000])
def test_it_refuses_text_too_long_for_a_cell_and_says_which(text: str) -> None:
    with pytest.raises(FormatError, match="32,767") as caught:
        write("xlsx", ["id", "source"], [["1", "x"], ["2", text]])
    assert (caught.value.line, caught.value.column) == (3, "source")


def test_it_writes_the_longest_text_a_cell_holds_whole() -> None:
    longest = "那" * 32_767
    assert read_back("xlsx", [["1", longest]], ["id", "source"]) == [("1", longest)]


def test_it_writes_parquet_with_text_and_declared_numbers() -> None:
    rows: list[list[Cell]] = [["1", 17, 1, 0.5], ["\U00020bb7\x0b", None, None, None], ["3", True, 2, 2.0]]
    data = b"".join(
        write_table("parquet", ["id", "mixed", "n", "s"], rows * 4_000, numeric={"n": int, "s": float})
    )
    table = pq.read_table(io.BytesIO(data))
    assert [str(field.type) for field in table.schema] == ["string", "string", "int64", "double"]
    assert table.num_rows == 12_000
    assert table.slice(11_997).to_pylist() == [
        {"id": "1", "mixed": "17", "n": 1, "s": 0.5},
        {"id": "\U00020bb7\x0b", "mixed": None, "n": None, "s": None},
        {"id": "3", "mixed": "true", "n": 2, "s": 2.0},
    ]


def test_it_knows_no_other_format() -> None:
    with pytest.raises(FormatError, match="csv, jsonl, xlsx, parquet"):
        write_table("ods", ["a"], [])


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_it_imports_its_own_export_of_items_unchanged(kind: str) -> None:
    columns = COMPOUND_HEADER.split(",")
    rows: list[list[Cell]] = [
        [
            str(i),
            "the dog",
            "NP",
            str(i),
            f"{i} saw the dog \u2028.",
            f"{TEXTS[i]}",
            TEXTS[i + 1],
            "base",
            "1",
        ]
        for i in range(1, 6)
    ]
    found = read_compounds(read_table(write(kind, columns, rows), name=f"t.{kind}"))
    assert (found.errors, found.warnings, found.unknown_columns) == ((), (), ())
    back = [
        [
            r.item_id,
            r.compound,
            r.type,
            str(r.context_no),
            r.source,
            r.translation,
            r.reference,
            r.system,
            r.run,
        ]
        for r in found.rows
    ]
    assert back == rows


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_it_imports_items_without_ids_and_with_gaps(kind: str) -> None:
    columns = ["triple_id", "head", "relation", "tail", "class", "split", "label"]
    rows: list[list[Cell]] = [
        ["1", "a", "general Effect", "3.10", None, "test", "1"],
        ["2", "b", "xWant", "0", "adv", None, None],
    ]
    found = read_triples(read_table(write(kind, columns, rows), name=f"t.{kind}"))
    assert [
        [r.triple_id, r.head, r.relation, r.tail, r.item_class, r.split, r.label] for r in found.rows
    ] == rows


def decoded(header: str) -> str:
    found = re.search(r"filename\*=UTF-8''(\S+)$", header)
    assert found
    return unquote(found[1], errors="strict")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ('第一批 "测试"; a/b.csv', "第一批 _测试_; a_b.csv"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a\r\nSet-Cookie: x=1.csv", "a__Set-Cookie_ x=1.csv"),
        ("C:\\x\\y.csv", "C_x_y.csv"),
        ("\u202egnp.exe\0", "_gnp.exe_"),
        ("...", "export"),
        ("", "export"),
        ("labels.csv", "labels.csv"),
        ("100% 'sure'~.csv", "100% 'sure'~.csv"),
    ],
)
def test_it_offers_a_download_under_a_safe_name(name: str, shown: str) -> None:
    """c33: what is in a name cannot leave it."""
    header = content_disposition(name)
    assert decoded(header) == shown
    assert header.startswith('attachment; filename="')


@given(st.text(max_size=200))
def test_it_lets_no_path_quote_or_line_break_into_the_header(name: str) -> None:
    header = content_disposition(name)
    assert re.fullmatch(
        r"attachment; filename=\"[A-Za-z0-9._ -]+\"; filename\*=UTF-8''(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})+",
        header,
    )
    assert not re.search(r'[\\/"\x00-\x1f\x7f\u2028]', decoded(header))
    assert not decoded(header).startswith(".")
    assert len(decoded(header)) <= 120


def test_a_workbook_tells_nothing_of_the_day_on_which_it_is_written() -> None:
    first = write("xlsx", ["a"], [["x"], ["y"]])
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        assert archive.read("docProps/core.xml").count(b"1980-01-01T00:00:00Z") == 2
    assert write("xlsx", ["a"], [["x"], ["y"]]) == first
