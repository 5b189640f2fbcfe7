"""CSV and TSV: strict, every cell text as it stands.

Both follow RFC 4180, TSV with a tab for the comma: a cell that *begins* with a quotation mark is quoted to its
end, marks inside it are doubled, and it may hold separators and line ends; a mark anywhere else is plain text.
LF, CRLF and a lone CR all end a row, and within a quoted cell they are kept as they are. Nothing is trimmed, no
word means "missing", no number is reshaped, and no cell is too long.
"""

import csv
import re
from collections.abc import Iterator

from annotation.formats.cells import excerpt, is_blank
from annotation.formats.decoding import Encoding, text_stream
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.rows import Row, Table
from annotation.protocol.sentences import say, say_count

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_SEPARATOR_NAMES = {
    ",": say("commas"),
    "\t": say("tabs"),
    ";": say("semicolons"),
    "|": say("bars"),
    "，": say("full-width commas"),
}

# The library's limit of 131,072 characters a cell is process-wide, and shorter than texts people do import.
csv.field_size_limit(2**31 - 1)


def read_delimited(data: bytes, encoding: Encoding, *, name: str, format: str) -> Table:  # noqa: A002
    """The table of a CSV or TSV file; `format` is csv or tsv."""
    warnings: list[RowIssue] = []
    lines = _NotedLines(text_stream(data, encoding, newline=""), warnings)
    records = _records(lines, _SEPARATORS[format])
    header = next(
        (record for record in records if record.problems or not all(map(is_blank, record.cells))), None
    )
    if header is None:
        raise FormatError(say("The file is empty."))
    if header.problems:
        raise FormatError(header.problems[0].message, line=header.line)
    if lines.last.endswith("\r"):
        warnings.append(
            RowIssue(None, None, say("Rows end with a lone CR; each CR was taken for the end of a row."))
        )
    names = tuple(cell or "" for cell in header.cells)
    _refuse_separator_line(names, _SEPARATORS[format], header.line)
    lines.in_header = False
    _refuse_other_separator(names, format, header.line)
    return Table(
        name,
        format,
        encoding.name,
        None,
        names,
        _data_rows(records, names),
        warnings,
        header_lines=(header.line,) * len(names),
    )


class _NotedLines:
    """The lines of a file as they pass, counted; warns where a byte-order mark stands within the text."""

    def __init__(self, lines: Iterator[str], warnings: list[RowIssue]) -> None:
        self._lines = lines
        self._warnings = warnings
        self._mark_seen = False
        self._mark_in_header = False
        self.in_header = True
        self.last = ""
        self.count = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.last = next(self._lines)
        self.count += 1
        if "\ufeff" not in self.last:
            return self.last
        if self.in_header:
            if not self._mark_in_header:
                self._mark_in_header = True
                message = say(
                    "A byte-order mark (U+FEFF) stands within the header; it does not count in a column's name."
                )
                self._warnings.append(RowIssue(self.count, None, message))
        elif not self._mark_seen:
            self._mark_seen = True
            message = say(
                "A byte-order mark (U+FEFF) stands within the text, as where files were joined; it was kept."
            )
            self._warnings.append(RowIssue(self.count, None, message))
        return self.last


def _records(lines: _NotedLines, separator: str) -> Iterator[Row]:
    """Every record with the line on which it starts, wrongly quoted ones as problems."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        line = lines.count + 1
        try:
            yield Row(line, tuple(next(reader)))
        except StopIteration:
            return
        except csv.Error as error:
            yield Row(line, ("",), problems=(RowIssue(line, None, _quoting_message(error)),))


def _quoting_message(error: csv.Error) -> str:
    if "unexpected end" in str(error):
        return say(
            "A cell that begins with a quotation mark is never closed; the rest of the file was taken "
            "for its text."
        )
    return say(
        "A cell that begins with a quotation mark goes on after the mark that closes it. "
        "Quote the whole cell and double the marks inside it."
    )


def _data_rows(records: Iterator[Row], names: tuple[str, ...]) -> Iterator[Row]:
    """The rows below the header but blank ones, with a problem where there are too few or too many cells."""
    for record in records:
        if record.problems:
            yield record
        elif is_blank(record.cells[0] if record.cells else "") and all(map(is_blank, record.cells)):
            continue
        elif len(record.cells) != len(names):
            message = say_count(
                "The row has {n} cell where the header has {header}.",
                "The row has {n} cells where the header has {header}.",
                n=len(record.cells),
                header=len(names),
            )
            yield Row(record.line, record.cells, problems=(RowIssue(record.line, None, message),))
        else:
            yield record


def _refuse_separator_line(names: tuple[str, ...], separator: str, line: int) -> None:
    """A first line that tells a spreadsheet what stands between cells is no header."""
    told = separator.join(names)
    if re.fullmatch(r"sep=.", told.strip('\ufeff"').casefold()):
        raise FormatError(
            say(
                "The first line, “{told}”, is meant for a spreadsheet alone. Remove it, so that the file begins with "
                "the names of its columns.",
                told=excerpt(told),
            ),
            line=line,
        )


def _refuse_other_separator(names: tuple[str, ...], format: str, line: int) -> None:  # noqa: A002
    """One name that holds another separator is a whole header of a file this reader was not told about."""
    if len(names) != 1:
        return
    for mark, label in _SEPARATOR_NAMES.items():
        if mark in names[0]:
            raise FormatError(
                say(
                    "The header is a single cell, “{name}”, which looks like names separated by "
                    "{marks}. Save the file with {wanted}.",
                    name=excerpt(names[0]),
                    marks=label,
                    wanted=_SEPARATOR_NAMES[_SEPARATORS[format]],
                ),
                line=line,
            )
