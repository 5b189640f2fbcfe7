"""XLSX workbooks: the first sheet that is not hidden as text, so that no id or label turns into a float.

openpyxl opens the package (sheets, styles, date formats). The cells are read here, because a cell's text has to be
told apart from an error value, and a formula without a stored value from one whose stored value is empty, which
openpyxl's reader does not show; and because it needs 20 seconds for 100,000 rows.
"""

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, TYPE_CHECKING
from xml.etree.ElementTree import Element, iterparse

from annotation.formats.cells import excerpt, fold_header, is_blank
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.kinds import (
    OLD_OFFICE,
    WORKBOOK_CONTENTS,
    ZIP,
    NoTable,
    document_in,
    old_document,
)
from annotation.formats.number_formats import KEPT_DIGITS, digits_of, shown_number
from annotation.formats.rows import Row, Table
from annotation.protocol.compound import COMPOUND
from annotation.protocol.sentences import say, say_count
from annotation.protocol.triple import TRIPLE

if TYPE_CHECKING:
    from openpyxl.reader.excel import ExcelReader

# A small file may unpack to any size, and one cell of it may fill the memory twice over.
MAX_UNPACKED_BYTES = 256 << 20
# Sheets shrink to a tenth, or a fortieth where rows repeat; only what was made to fill the memory shrinks more.
MAX_RATIO = 200
_RATIO_FROM = 16 << 20  # bytes unpacked; below, nothing is at stake
_CHUNK = 1 << 16
_MAX_COLUMNS = 16_384

_NS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ROW, _CELL, _VALUE, _FORMULA = _NS + "row", _NS + "c", _NS + "v", _NS + "f"
_INLINE, _TEXT, _RUN, _STRING = _NS + "is", _NS + "t", _NS + "r", _NS + "si"
_ESCAPE = re.compile("_x(?![dD][89A-Fa-f])([0-9A-Fa-f]{4})_")  # half of a surrogate pair is no character
_MERGED = _NS + "mergeCell"
# Columns in which a number is a text, so that its zeros and its sign of per cent belong to it.
_TEXT_COLUMNS = frozenset({*COMPOUND.column_names, *TRIPLE.column_names, "annotator", "src", "hyp"}) - {
    "context_no",
    "label",
}
_WHOLE = re.compile("-?[0-9]+")
_REFERENCE = re.compile("([A-Z]+)[0-9]+")
_RANGE = re.compile("([A-Z]+)([0-9]{1,7}):([A-Z]+)([0-9]{1,7})")


def is_workbook(data: bytes) -> bool:
    """Whether the bytes are a workbook, or a kind of it that can be named in the refusal."""
    return data.startswith((*ZIP, OLD_OFFICE))


def read_workbook(data: bytes, *, name: str) -> Table:
    """The first visible sheet of a workbook as a table. Others that hold something are named in a warning; so are
    hidden rows, merged cells, and numbers in columns of texts that the workbook shows otherwise.

    A number is written as short as it can be without changing it (1, never 1.0), a boolean as true or false, a
    date in ISO form (with a warning). An error value (#REF!) and a formula without a stored value are problems.
    """
    if data.startswith(OLD_OFFICE):
        kind = old_document(data)
        if kind is not None:
            raise NoTable(kind)
        raise FormatError(
            say("The file is an old Excel workbook (.xls) or one with a password; save it as plain .xlsx.")
        )
    try:
        return _read(data, name)
    except FormatError:
        raise
    except Exception as error:  # a broken package fails in any way, deep inside the libraries
        raise _unreadable() from error


@dataclass
class _Context:
    """What the cells of a workbook refer to; and the columns in which a date, or a number that is shown otherwise, was
    met.
    """

    strings: list[str]
    date_styles: frozenset[int]
    duration_styles: frozenset[int]
    epoch: object
    number_formats: tuple[str, ...] = ()  # by style
    warnings: list[RowIssue] = field(default_factory=list)
    dates_seen: set[int] = field(default_factory=set)
    numbers_seen: set[int] = field(default_factory=set)
    merged: list[str] = field(default_factory=list)  # ranges, known once the sheet was read to its end
    hidden_rows: list[int] = field(default_factory=list)
    header: tuple[str, ...] = ()

    def holds_text(self, position: int) -> bool:
        """Whether the column is one of texts by its name."""
        return position < len(self.header) and fold_header(self.header[position]) in _TEXT_COLUMNS

    def column(self, position: int) -> str:
        """The column's name, or its letters where it has none."""
        name = self.header[position] if position < len(self.header) else ""
        return excerpt(name) if name else _letters(position)


class _CellError(ValueError):
    """Why a cell has no text, as a sentence."""


def _read(data: bytes, name: str) -> Table:
    package = _open(data)
    sheets = [
        (sheet.name, rel.target, sheet.state == "visible")
        for sheet, rel in package.parser.find_sheets()
        if "chart" not in rel.Type
    ]
    if not sheets:
        raise FormatError(say("The workbook has no sheet. Save it again as .xlsx."))
    chosen = next((sheet for sheet in sheets if sheet[2]), sheets[0])
    title, path, _visible = chosen
    context = _Context(
        strings=_shared_strings(package),
        date_styles=frozenset(package.wb._date_formats),  # type: ignore[attr-defined]
        duration_styles=frozenset(package.wb._timedelta_formats),  # type: ignore[attr-defined]
        epoch=package.wb.epoch,
        number_formats=_number_formats(package),
    )
    rows = _sheet_rows(package.archive, path, context)
    line, cells, problems, _last = next((row for row in rows if _has_content(row)), (0, [], [], None))
    if not line:
        raise FormatError(say("The first sheet, “{title}”, is empty.", title=excerpt(title)))
    if problems:
        raise FormatError(problems[0].message, line=line)
    header = tuple(_trimmed(cells))
    context.header = header
    if chosen is not sheets[0]:
        context.warnings.append(_hidden_before(sheets[0][0], title))
    others = [(name, path) for name, path, _visible in sheets if path != chosen[1]]
    context.warnings.extend(_other_sheets(package.archive, title, others, context))
    return Table(
        name,
        "xlsx",
        None,
        title,
        header,
        _data_rows(rows, line, context),
        context.warnings,
        header_lines=(line,) * len(header),
    )


class _Archive(zipfile.ZipFile):
    """An archive none of whose files unpacks to more than it says it does, not even on the way.

    Reading in pieces stops at the stated size; reading all at once unpacks everything first, and cuts it then.
    """

    def read(self, name: str | zipfile.ZipInfo, pwd: bytes | None = None) -> bytes:
        with self.open(name, pwd=pwd) as stream:
            return b"".join(iter(lambda: stream.read(_CHUNK), b""))


def _open(data: bytes) -> "ExcelReader":
    """The package with its styles; not its properties or theme, which may be broken and do not matter."""
    from openpyxl.reader.excel import ExcelReader  # noqa: PLC0415
    from openpyxl.styles.stylesheet import apply_stylesheet  # noqa: PLC0415

    archive = _Archive(BytesIO(data))
    kind = document_in(archive)
    if kind is not None:
        raise NoTable(kind)
    if WORKBOOK_CONTENTS not in archive.namelist():
        raise FormatError(
            say("This is a zip archive and no workbook: unpack it, and bring the files that are in it.")
        )
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > MAX_UNPACKED_BYTES or unpacked > max(_RATIO_FROM, MAX_RATIO * len(data)):
        raise FormatError(
            say(
                "The workbook unpacks to {size} MiB; at most {limit} MiB are read, and at most {ratio} times the "
                "file's size. Save its first sheet as CSV.",
                size=f"{unpacked / (1 << 20):,.0f}",
                limit=f"{MAX_UNPACKED_BYTES >> 20:,}",
                ratio=MAX_RATIO,
            )
        )
    package = ExcelReader(BytesIO(data), read_only=True, data_only=True)
    package.archive = archive
    package.read_manifest()
    package.read_workbook()
    apply_stylesheet(package.archive, package.wb)
    return package


def _unreadable() -> FormatError:
    return FormatError(
        say(
            "The workbook cannot be read: the file is damaged or not a whole workbook. Open it in a spreadsheet and "
            "save it as .xlsx again."
        )
    )


def _shared_strings(package: "ExcelReader") -> list[str]:
    from openpyxl.xml.constants import SHARED_STRINGS  # noqa: PLC0415

    part = package.package.find(SHARED_STRINGS)  # type: ignore[no-untyped-call]
    if part is None:
        return []
    with package.archive.open(part.PartName.lstrip("/")) as stream:
        strings = []
        for _, element in iterparse(stream):
            if element.tag == _STRING:
                strings.append(_string(element))
                element.clear()
        return strings


def _string(element: Element) -> str:
    """The text of a string, plain or in formatted runs, without the phonetic hints some Asian files hold."""
    parts = []
    for child in element:
        if child.tag == _TEXT:
            parts.append(child.text or "")
        elif child.tag == _RUN:
            parts.append(child.findtext(_TEXT) or "")
    return _unescaped("".join(parts))


def _unescaped(text: str) -> str:
    """Characters that XML cannot hold stand as _x000B_; an underscore that begins such a text as _x005F_."""
    if "_x" not in text:
        return text
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


_SheetRow = tuple[int, list[str], list[RowIssue], int | None]


def _sheet_rows(archive: zipfile.ZipFile, path: str, context: _Context) -> Iterator[_SheetRow]:
    """The rows that stand in the sheet's file: number, cells up to the last one that holds something, problems; and the
    last column with a text to the right of the header, where there is one. No row is filled up beyond the header or,
    before that is known, for blanks: there may be a cell in the last column of every row.
    """
    line = 0
    with archive.open(path) as stream:
        for element in _row_elements(stream, context):
            line = int(element.get("r") or line + 1)
            width = len(context.header)
            cells: list[str] = []
            problems: list[RowIssue] = []
            following, last = 0, None
            for cell in element:
                position = _position(cell, following)
                if not following <= position < _MAX_COLUMNS:
                    raise ValueError(f"the cells of row {line} are out of order")
                following = position + 1
                try:
                    text = _cell_text(cell, line, position, context)
                except _CellError as error:
                    text = ""
                    message = say(
                        "Cell {position}{line}: {error}",
                        position=_letters(position),
                        line=line,
                        error=error.args[0],
                    )
                    problems.append(RowIssue(line, _letters(position), message))
                if width and position >= width:
                    last = last if is_blank(text) else position
                elif text if width else not is_blank(text):
                    cells.extend([""] * (position - len(cells)))
                    cells.append(text)
            if element.get("hidden") in ("1", "true"):
                context.hidden_rows.append(line)
            element.clear()
            yield line, cells, problems, last


def _row_elements(stream: IO[bytes], context: _Context) -> Iterator[Element]:
    """The rows of a sheet; the merged ranges, which stand after them, are noted on the way."""
    for _, element in iterparse(stream):
        if element.tag == _ROW:
            yield element
        elif element.tag == _MERGED:
            context.merged.append(element.get("ref", ""))


def _cell_text(cell: Element, line: int, position: int, context: _Context) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        inline = cell.find(_INLINE)
        return "" if inline is None else _string(inline)
    value = cell.findtext(_VALUE)
    if not value:
        # A formula whose result is an empty text has an empty value of the kind "str".
        if cell.find(_FORMULA) is not None and (value is None or kind != "str"):
            raise _CellError(
                say("the formula has no stored value. Open the workbook, save it, or paste the values.")
            )
        return ""
    if kind == "s":
        return context.strings[int(value)]
    if kind == "str":
        return _unescaped(value)
    if kind == "b":
        return "true" if value == "1" else "false"
    if kind == "e":
        raise _CellError(say("it holds the error {value}.", value=excerpt(value)))
    style = int(cell.get("s", 0))
    if kind == "d" or style in context.date_styles:
        return _date(value, kind, style, (line, position), context)
    text = _number(value)
    if context.holds_text(position) and position not in context.numbers_seen:
        _note_number(value, text, style, (line, position), context)
    return text


def _note_number(value: str, text: str, style: int, place: tuple[int, int], context: _Context) -> None:
    """Warn, once a column, where a text was made a number and is not what was typed or what is seen."""
    line, position = place
    cell = f"{_letters(position)}{line}"
    number_format = context.number_formats[style] if style < len(context.number_formats) else "General"
    shown = shown_number(value, number_format)
    if digits_of(value) > KEPT_DIGITS:
        message = say(
            "Cell {cell} holds a number of {n} digits, read as {text}; a workbook keeps the first {kept} digits of a "
            "number alone. Make the column text before anything is entered there.",
            cell=cell,
            n=digits_of(value),
            text=text,
            kept=KEPT_DIGITS,
        )
    elif shown not in (None, text):
        message = say(
            "The column holds numbers that are shown otherwise than they are kept, from this row on: cell {cell} shows "
            "{shown} and is read as {text}. Where what is shown is meant, make the column text.",
            cell=cell,
            shown=shown,
            text=text,
        )
    else:
        return
    context.numbers_seen.add(position)
    context.warnings.append(RowIssue(line, context.column(position), message))


def _number_formats(package: "ExcelReader") -> tuple[str, ...]:
    """How each style of cells shows numbers."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE  # noqa: PLC0415

    own = package.wb._number_formats  # type: ignore[attr-defined]
    numbers = [style.numFmtId for style in package.wb._cell_styles]  # type: ignore[attr-defined]
    return tuple(
        own[number - BUILTIN_FORMATS_MAX_SIZE]
        if BUILTIN_FORMATS_MAX_SIZE <= number < BUILTIN_FORMATS_MAX_SIZE + len(own)
        else BUILTIN_FORMATS.get(number, "General")
        for number in numbers
    )


def _number(value: str) -> str:
    if _WHOLE.fullmatch(value):
        return value
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _date(value: str, kind: str, style: int, place: tuple[int, int], context: _Context) -> str:
    from openpyxl.utils.datetime import from_excel  # noqa: PLC0415

    line, position = place
    text = value
    if kind != "d":
        try:
            moment = from_excel(float(value), context.epoch, timedelta=style in context.duration_styles)
        except (OverflowError, ValueError):
            raise _CellError(
                say("{value} is formatted as a date but is none.", value=excerpt(value))
            ) from None
        text = moment.isoformat() if hasattr(moment, "isoformat") else str(moment)
        text = text.removesuffix("T00:00:00")
    if position not in context.dates_seen:
        context.dates_seen.add(position)
        message = say(
            "The column holds dates, from this row on; they are read as text such as {text}.", text=text
        )
        context.warnings.append(RowIssue(line, context.column(position), message))
    return text


def _data_rows(rows: Iterator[_SheetRow], header_line: int, context: _Context) -> Iterator[Row]:
    """The rows below the header, as wide as it; text to the right of the header is a problem."""
    header = context.header
    hidden: list[int] = []
    names = {_letters(i): excerpt(name) for i, name in enumerate(header) if name}
    try:
        for row in rows:
            if not _has_content(row):
                continue
            line, cells, problems, last = row
            hidden += context.hidden_rows[-1:] if context.hidden_rows[-1:] == [line] else []
            if last is not None:
                message = say(
                    "Cell {place} holds text, but the header has only {n} columns.",
                    place=f"{_letters(last)}{line}",
                    n=len(header),
                )
                problems.append(RowIssue(line, None, message))
            padded = (*cells, *[""] * (len(header) - len(cells)))
            yield Row(line, padded, problems=tuple(_named(problem, names) for problem in problems))
        context.warnings.extend(_hidden_rows(hidden))
        context.warnings.extend(_merged_cells(header_line, context))
    except FormatError:
        raise
    except Exception as error:  # see read_workbook
        raise _unreadable() from error


def _hidden_before(hidden: str, title: str) -> RowIssue:
    message = say(
        "The first sheet, “{hidden}”, is hidden: the first that can be seen, “{title}”, is read.",
        hidden=excerpt(hidden, 40),
        title=excerpt(title, 40),
    )
    return RowIssue(None, None, message)


def _hidden_rows(lines: list[int]) -> Iterator[RowIssue]:
    if lines:
        message = say_count(
            "{n} row is hidden in the workbook, as by a filter; it is read too.",
            "{n} rows are hidden in the workbook, as by a filter, from this one on; they are read too.",
            n=len(lines),
        )
        yield RowIssue(lines[0], None, message)


def _merged_cells(header_line: int, context: _Context) -> Iterator[RowIssue]:
    """A warning for each merged range that takes cells of the table."""
    for merged in context.merged:
        found = _RANGE.fullmatch(merged)
        if found is None or int(found[4]) < header_line:
            continue
        first, last = (_position_of(letters) for letters in (found[1], found[3]))
        if first >= len(context.header):
            continue
        message = say(
            "The cells {merged} are merged: what stands in them is read as the text of {first} alone, and the others "
            "are empty. Split them, and fill in each.",
            merged=merged,
            first=f"{found[1]}{found[2]}",
        )
        line = max(header_line, min(int(found[2]) + 1, int(found[4])))
        yield RowIssue(line, context.column(first) if first == last else None, message)


def _named(problem: RowIssue, names: Mapping[str, str]) -> RowIssue:
    """The problem with the column's name instead of its letters."""
    return RowIssue(problem.line, names.get(problem.column or "", problem.column), problem.message)


def _other_sheets(
    archive: zipfile.ZipFile, title: str, others: list[tuple[str, str]], context: _Context
) -> Iterator[RowIssue]:
    aside = _Context(context.strings, context.date_styles, context.duration_styles, context.epoch)
    filled = [name for name, path in others if any(map(_has_content, _sheet_rows(archive, path, aside)))]
    if filled:
        names = ", ".join(f"“{excerpt(name, 40)}”" for name in filled)
        message = say(
            "Only the sheet “{title}” is read. These hold something too: {names}.",
            title=excerpt(title, 40),
            names=names,
        )
        yield RowIssue(None, None, message)


def _has_content(row: _SheetRow) -> bool:
    return bool(row[2]) or row[3] is not None or not all(map(is_blank, row[1]))


def _trimmed(cells: list[str]) -> list[str]:
    last = next((i for i in range(len(cells), 0, -1) if not is_blank(cells[i - 1])), 0)
    return cells[:last]


def _position(cell: Element, following: int) -> int:
    """The cell's column, counted from 0; a cell that does not say stands right after the one before."""
    found = _REFERENCE.fullmatch(cell.get("r", ""))
    if not found:
        return following
    return _position_of(found[1])


def _position_of(letters: str) -> int:
    if len(letters) > len("XFD"):
        return _MAX_COLUMNS
    position = 0
    for letter in letters:
        position = 26 * position + ord(letter) - 64
    return position - 1


def _letters(position: int) -> str:
    letters = ""
    position += 1
    while position:
        position, rest = divmod(position - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
