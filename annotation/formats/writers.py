"""Rows to files: CSV, JSONL, XLSX and Parquet, as chunks of bytes.

What is written is read back equal, code point for code point: nothing is trimmed, no text turns into a number or a
formula. A cell is text, a whole number, a float, a boolean or None, which is an empty cell (null in JSON and Parquet).
"""

import csv
import io
import json
import os
import re
import shutil
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from math import isfinite
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

from annotation.formats.cells import excerpt
from annotation.formats.errors import FormatError
from annotation.protocol.sentences import say

if TYPE_CHECKING:
    import pyarrow as pa
    from _typeshed import SizedBuffer, StrPath
    from openpyxl import Workbook
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

Cell = str | int | float | bool | None
JsonCell = Cell | list[str]  # JSON alone holds a list as what it is
Numeric = Mapping[str, type[int] | type[float]]

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}
FORMATS = tuple(CONTENT_TYPES)

_CHUNK = 1 << 16
_BATCH = 10_000
# JavaScript and many JSON readers hold whole numbers exactly only up to here.
_SAFE_INTEGER = 2**53
# Legal in JSON as they stand, but many tools take them for line ends.
_LINE_BREAKERS = re.compile("[\x85\u2028\u2029]")
_MAX_CELL = 32_767
_MAX_ROWS = 1_048_576
_MAX_NAME = 120
_FIRST_DATE = datetime(1980, 1, 1)  # the first that an archive can hold, which knows no time zone
_MODE = 0o644 << 16
_UNIX = 3
_UNSAFE_IN_NAMES = re.compile(r'[\\/:*?"<>|]+')
# What XML cannot hold or would change (a CR becomes LF), and underscores that would read as such an escape.
_NEEDS_ESCAPE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def write_table(
    format: str,  # noqa: A002
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    numeric: Numeric | None = None,
    mark: bool = True,
) -> Iterator[bytes]:
    """Rows in one of `FORMATS`, in chunks.

    `numeric` names the columns that XLSX and Parquet hold as numbers, with their type; all others are text
    there, ids and labels too. `mark` puts a byte-order mark before CSV, by which spreadsheets know UTF-8.
    """
    if format == "csv":
        return write_csv(columns, rows, mark=mark)
    if format == "jsonl":
        return write_jsonl(columns, rows)
    if format == "xlsx":
        return write_xlsx(columns, rows, numeric=numeric)
    if format == "parquet":
        return write_parquet(columns, rows, numeric=numeric)
    raise FormatError(
        say("There is no format “{format}”; write {formats}.", format=format, formats=", ".join(FORMATS))
    )


def write_csv(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, mark: bool) -> Iterator[bytes]:
    """UTF-8, commas, CRLF (RFC 4180), cells quoted where needed; with a byte-order mark for people's programs."""
    buffer = io.StringIO(newline="")
    if mark:
        buffer.write("\ufeff")
    writer = csv.writer(buffer)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([as_text(cell) for cell in row])
        if buffer.tell() >= _CHUNK:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def write_jsonl(columns: Sequence[str], rows: Iterable[Sequence[JsonCell]]) -> Iterator[bytes]:
    """One object a line, UTF-8, LF. A whole number beyond 2^53 is written as text, which every reader keeps."""
    lines: list[str] = []
    size = 0
    for row in rows:
        line = json_line({name: _json_value(cell) for name, cell in zip(columns, row, strict=True)})
        lines.append(line)
        size += len(line)
        if size >= _CHUNK:
            yield ("\n".join(lines) + "\n").encode()
            lines, size = [], 0
    if lines:
        yield ("\n".join(lines) + "\n").encode()


def json_line(value: object) -> str:
    """A value as JSON that stays on one line in every tool."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _LINE_BREAKERS.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def write_xlsx(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    numeric: Numeric | None = None,
    sheet: str = "Sheet1",
) -> Iterator[bytes]:
    """One sheet. Text is stored as text, never as a formula. A text or a number of rows that no sheet can hold is
    a FormatError, before the first chunk. The same rows give the same bytes, whenever they are written.
    """
    from openpyxl import Workbook  # noqa: PLC0415

    book = Workbook(write_only=True)
    page = book.create_sheet(sheet)
    try:
        page.append([_sheet_cell(page, name, 1, name) for name in columns])
        for line, row in enumerate(rows, start=2):
            page.append(_sheet_row(page, line, list(zip(columns, row, strict=True)), numeric or {}))
    except Exception:
        book.save(io.BytesIO())  # removes the temporary file that holds the rows so far
        raise
    saved = _through_file(lambda file: _save_book(book, file))
    return chain(
        [next(saved)], saved
    )  # saved now: a book that nobody asks for leaves its temporary file open


def write_parquet(
    columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, numeric: Numeric | None = None
) -> Iterator[bytes]:
    """Columns of text, but int64 and double for the `numeric` ones; None is null."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    arrow_types = {int: pa.int64(), float: pa.float64()}
    kinds = numeric or {}
    schema = pa.schema(
        [(name, arrow_types[kinds[name]] if name in kinds else pa.string()) for name in columns]
    )

    def save(file: IO[bytes]) -> None:
        with pq.ParquetWriter(file, schema) as writer:
            for batch in _batches(rows):
                writer.write_table(_arrow_table(batch, schema, kinds))

    return _through_file(save)


def as_text(cell: Cell) -> str:
    """A cell as text: None is empty, a boolean true or false, a number as short as it can be (2, never 2.0)."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell if isinstance(cell, str) else str(_shortest(cell))


def timeless(name: str) -> zipfile.ZipInfo:
    """A file of an archive with nothing of the day and the machine on which it is written."""
    entry = zipfile.ZipInfo(name, _FIRST_DATE.timetuple()[:6])
    entry.external_attr = _MODE
    entry.create_system = _UNIX
    return entry


def content_disposition(filename: str) -> str:
    """The header value that offers a download under `filename` (RFC 6266).

    Path separators, characters that Windows forbids in names, control and invisible characters become "_", so
    that none of them can enter the header or the name. Browsers that do not know `filename*` get ASCII.

    >>> print(content_disposition("第一批 a/b.csv"))
    attachment; filename="_ a_b.csv"; filename*=UTF-8''%E7%AC%AC%E4%B8%80%E6%89%B9%20a_b.csv
    """
    visible = "".join(c if c.isprintable() else "_" for c in unicodedata.normalize("NFC", filename))
    name = _UNSAFE_IN_NAMES.sub("_", visible)[-_MAX_NAME:].strip(" .") or "export"
    ascii_name = re.sub("[^A-Za-z0-9._ -]+", "_", name)
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"


def _shortest(number: int | float) -> int | float:
    if isinstance(number, int):
        return number
    if not isfinite(number):
        raise ValueError(f"{number} is no value of a cell; an undefined number is None")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _json_value(cell: JsonCell) -> JsonCell:
    if cell is None or isinstance(cell, str | bool | list):
        return cell
    number = _shortest(cell)
    return str(number) if isinstance(number, int) and abs(number) > _SAFE_INTEGER else number


def _sheet_row(
    page: "WriteOnlyWorksheet", line: int, cells: list[tuple[str, Cell]], numeric: Numeric
) -> list[object]:
    if line > _MAX_ROWS:
        raise FormatError(
            say("A sheet holds {limit} rows at most; export to CSV.", limit=f"{_MAX_ROWS:,}"), line=line
        )
    return [
        cell
        if cell is None or (name in numeric and not isinstance(cell, str))
        else _sheet_cell(page, as_text(cell), line, name)
        for name, cell in cells
    ]


def _sheet_cell(page: "WriteOnlyWorksheet", text: str, line: int, column: str) -> object:
    """A text as a cell of text, whatever it looks like ("=1+1" is no formula, "#N/A" no error)."""
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415

    escaped = _NEEDS_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    if 2 * len(escaped) > _MAX_CELL and len(escaped.encode("utf-16-le")) > 2 * _MAX_CELL:
        message = say(
            "The text has {n} characters; a cell of a workbook holds {limit}. Export to CSV.",
            n=f"{len(text):,}",
            limit=f"{_MAX_CELL:,}",
        )
        raise FormatError(message, line=line, column=excerpt(column))
    if not escaped.startswith(("=", "#")):
        return escaped
    cell = WriteOnlyCell(page, escaped)
    cell.data_type = "s"
    return cell


class _Timeless(zipfile.ZipFile):
    """An archive of files that all have the first date which an archive can hold."""

    def writestr(
        self,
        zinfo_or_arcname: str | zipfile.ZipInfo,
        data: "SizedBuffer | str",
        compress_type: int | None = None,
        compresslevel: int | None = None,
    ) -> None:
        entry = timeless(zinfo_or_arcname) if isinstance(zinfo_or_arcname, str) else zinfo_or_arcname
        super().writestr(entry, data, compress_type or self.compression, compresslevel)

    def write(
        self,
        filename: "StrPath",
        arcname: "StrPath | None" = None,
        compress_type: int | None = None,
        compresslevel: int | None = None,
    ) -> None:
        entry = timeless(os.fspath(arcname or filename))
        entry.compress_type = compress_type or self.compression
        entry.file_size = os.stat(filename).st_size
        with open(filename, "rb") as source, self.open(entry, "w") as member:
            shutil.copyfileobj(source, member, _CHUNK)


def _save_book(book: "Workbook", file: IO[bytes]) -> None:
    """As openpyxl saves it, but for the times of day that it writes into the properties and the archive."""
    from openpyxl.writer.excel import ExcelWriter  # noqa: PLC0415

    book.properties.created = book.properties.modified = _FIRST_DATE
    ExcelWriter(book, _Timeless(file, "w", zipfile.ZIP_DEFLATED)).save()


def _batches(rows: Iterable[Sequence[Cell]]) -> Iterator[list[Sequence[Cell]]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _arrow_table(batch: list[Sequence[Cell]], schema: "pa.Schema", numeric: Numeric) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415

    columns = zip(schema, zip(*batch, strict=True), strict=True)
    arrays = [
        pa.array(
            cells if column.name in numeric else [cell if cell is None else as_text(cell) for cell in cells],
            type=column.type,
        )
        for column, cells in columns
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _through_file(save: Callable[[IO[bytes]], object]) -> Iterator[bytes]:
    """What `save` writes, by way of a temporary file, since these formats are not written from front to back."""
    with tempfile.TemporaryFile() as file:
        save(file)
        file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk
