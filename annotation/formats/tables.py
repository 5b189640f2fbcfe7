"""A file as a table of text: CSV, TSV, JSONL or XLSX, told apart by content and extension."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path, PurePath

from annotation.formats.cells import excerpt, fold_header, is_blank
from annotation.formats.decoding import Encoding, detect_encoding, marked_twice, text_stream
from annotation.formats.delimited import read_delimited
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.jsonl import read_jsonl
from annotation.formats.kinds import NoTable, NoText, kind_of, refuse_by_name
from annotation.formats.rows import Row, Table
from annotation.formats.workbook import is_workbook, read_workbook
from annotation.protocol.sentences import Sentence, say

__all__ = ["Row", "Table", "read_table"]

_JSON_EXTENSIONS = (".jsonl", ".ndjson", ".json")
_TAB_EXTENSIONS = (".tsv", ".tab")
_WORKBOOK_EXTENSIONS = (".xlsx", ".xlsm", ".xls")
FIRST_ROWS = 5
MAX_COLUMNS = 1_000  # every row is as wide as the header, however little stands in it


def read_table(source: Path | bytes, *, name: str) -> Table:
    """The table that a file holds; a FormatError where the file as a whole cannot be used.

    `name` is the file's name for people, and its extension helps to tell the format. What is wrong with a single
    row (too few cells, U+0000, a JSON member named twice, a formula without a value, …) does not stop the reading:
    the row comes with its `problems`. Rows whose cells are all blank are left out. Whole files are refused for
    an encoding that is not what it claims, an unreadable or repeated column name, and for having no data rows.
    """
    data = source if isinstance(source, bytes) else _bytes_of(source)
    if not data:
        raise FormatError(say("The file is empty."))
    return checked(_read(data, name))


def checked(table: Table) -> Table:
    """The table with its first rows, once what holds for every table was looked at: its header, that it has data rows,
    and, row by row, that nothing in it cannot be stored.
    """
    _check_header(table)
    rows = _without_nul(table)
    first = tuple(islice(rows, FIRST_ROWS))
    if not first:
        raise FormatError(say("The file has a header but no data rows."))
    return Table(
        table.name,
        table.format,
        table.encoding,
        table.sheet,
        table.header,
        chain(first, rows),
        table.warnings,
        first,
        table.header_lines,
    )


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise FormatError(say("“{path}” is a folder; name a file in it.", path=path)) from None
    except OSError as error:
        raise FormatError(
            say("The file “{path}” cannot be opened: {strerror}.", path=path, strerror=error.strerror)
        ) from None


def _read(data: bytes, name: str) -> Table:
    extension = PurePath(name).suffix.lower()
    if is_workbook(data):
        return read_workbook(data, name=name)
    if extension in _WORKBOOK_EXTENSIONS:
        raise FormatError(
            say(
                "The file's name ends in {extension}, but it is no workbook. Save it as .xlsx or as CSV.",
                extension=extension,
            )
        )
    encoding = _encoding(data)
    refuse_by_name(name)
    kind = _text_format(data, encoding, extension)
    if kind == "jsonl":
        table = read_jsonl(data, encoding, name=name)
    else:
        table = read_delimited(data, encoding, name=name, format=kind)
    if marked_twice(data, encoding):
        message = say(
            "The file begins with more than one byte-order mark (U+FEFF); all of them were taken off."
        )
        table.warnings.append(RowIssue(1, None, message))
    if encoding.warning:
        table.warnings.append(RowIssue(None, None, encoding.warning))
    return table


def _encoding(data: bytes) -> Encoding:
    kind = kind_of(data)
    if kind is not None:
        raise NoTable(kind)
    try:
        return detect_encoding(data)
    except NoText as found:
        raise NoTable(found.kind) from None


def _text_format(data: bytes, encoding: Encoding, extension: str) -> str:
    """jsonl, tsv or csv: by the extension, unless the first line that is not blank plainly says otherwise."""
    lines = text_stream(data, encoding, newline="")
    first = next((line.strip() for line in lines if not is_blank(line)), "")
    if extension in _JSON_EXTENSIONS or (first.startswith("{") and first.endswith("}")):
        return "jsonl"
    if extension in _TAB_EXTENSIONS or first.count("\t") > first.count(","):
        return "tsv"
    return "csv"


def _check_header(table: Table) -> None:
    """Column names must be text and must differ; columns without a name may be several, but there is an end."""
    if len(table.header) > MAX_COLUMNS:
        raise FormatError(
            say(
                "The header has {n} columns; at most {most} are read. Leave out those that are not needed.",
                n=f"{len(table.header):,}",
                most=f"{MAX_COLUMNS:,}",
            )
        )
    seen: dict[str, str] = {}
    for name, line in zip(table.header, table.header_lines, strict=True):
        if "\0" in name:
            message = say("The column name “{name}” holds U+0000.", name=excerpt(name))
            raise FormatError(message, line=line)
        folded = fold_header(name)
        if folded and folded in seen:
            raise FormatError(_named_twice(seen[folded], name), line=line)
        seen[folded] = name


def _named_twice(first: str, name: str) -> Sentence:
    if first == name:
        return say("The header names the column “{column}” twice.", column=excerpt(name))
    return say(
        "The header names the column “{column}” twice, as “{first}” and as “{name}” "
        "(spaces around a name and its case do not count).",
        column=excerpt(fold_header(name)),
        first=excerpt(first),
        name=excerpt(name),
    )


def _without_nul(table: Table) -> Iterator[Row]:
    """The rows of the table; U+0000, which no database stores, is a problem."""
    for row in table.rows:
        found = [i for i, cell in enumerate(row.cells) if cell and "\0" in cell]
        if not found:
            yield row
            continue
        problems = tuple(
            RowIssue(
                row.line, excerpt(table.header[i]), say("The text holds U+0000, which cannot be stored.")
            )
            for i in found
            if i < len(table.header)
        )
        yield Row(row.line, row.cells, row.nested, row.problems + problems)
