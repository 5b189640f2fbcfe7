"""NLTK's agreement triples: coder, item and label on one line, with tabs between them and no header.

Source: `nltk.metrics.agreement`, whose `AnnotationTask` takes (coder, item, label) and whose command line splits lines
at tabs. There is no quoting: a quotation mark is plain text, and no cell can hold a tab or the end of a line.
"""

from collections.abc import Iterator
from itertools import chain

from annotation.formats.adapters.base import Adapter, Asked, Content, Found, judgements_by_name, plain
from annotation.formats.adapters.packages import Given
from annotation.formats.cells import fold_header, is_blank
from annotation.formats.decoding import detect_encoding, text_stream
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.rows import Row, Table
from annotation.formats.tables import checked
from annotation.formats.workbook import is_workbook
from annotation.protocol.sentences import say, say_count

_COLUMNS = ("coder", "item", "label")
_CHUNK = 1000  # lines
_ENDS = frozenset("\t\r\n")


class Nltk(Adapter):
    """`item` is the item's id or, without ids, the texts that name it."""

    name = "nltk"
    title = "NLTK"
    brings_items = False
    extension = "tsv"
    content_type = "text/tab-separated-values; charset=utf-8"
    carries = (say("For each judgement: who judged, the item's name, and the label."),)
    lacks = (
        say("The texts of the items: bring these in first, by another file."),
        say("“Cannot judge”, notes, seconds, earlier answers, rounds, parts and slots."),
        say("Names with a tab or a line break in them."),
    )

    def read(self, found: Given, asked: Asked) -> Found:
        name, data = found.only
        if is_workbook(data):
            raise FormatError(say("This is a workbook; the shape is a text file with tabs."))
        encoding = detect_encoding(data)
        rows = _rows(text_stream(data, encoding, newline=""))
        first = next(rows, None)
        if first is None:
            raise FormatError(say("The file is empty."))
        if tuple(fold_header(cell or "") for cell in first.cells) != _COLUMNS:
            rows = chain([first], rows)
        warnings = [RowIssue(None, None, encoding.warning)] if encoding.warning else []
        header = ("item", "coder", "label")
        table = checked(
            Table(name, "tsv", encoding.name, None, header, _in_order(rows), warnings, header_lines=(1, 1, 1))
        )
        names = {"item": "item", "annotator": "coder", "label": "label"}
        return Found(items=None, judgements=judgements_by_name(table, asked, names=names))

    def write(self, content: Content) -> Iterator[bytes]:
        lines: list[str] = []
        for record in content.records:
            for judged in self.carried(record.judgements):
                coder = plain(judged.annotator, what="coder", record=record, forbidden=_ENDS.__contains__)
                item = plain(record.name, what="name", record=record, forbidden=_ENDS.__contains__)
                lines.append(f"{coder}\t{item}\t{judged.label}\n")
            if len(lines) >= _CHUNK:
                yield "".join(lines).encode()
                lines = []
        yield "".join(lines).encode()


def _rows(lines: Iterator[str]) -> Iterator[Row]:
    """The lines that are not blank, cut at tabs: coder, item, label."""
    for number, line in enumerate(lines, start=1):
        if is_blank(line):
            continue
        cells = tuple(line.rstrip("\r\n").split("\t"))
        if len(cells) == len(_COLUMNS):
            yield Row(number, cells)
            continue
        message = say_count(
            "The line has {n} cell instead of three: coder, item and label, with tabs between them.",
            "The line has {n} cells instead of three: coder, item and label, with tabs between them.",
            n=len(cells),
        )
        yield Row(number, (), problems=(RowIssue(number, None, message),))


def _in_order(rows: Iterator[Row]) -> Iterator[Row]:
    for row in rows:
        if row.problems:
            yield row
        else:
            coder, item, label = row.cells
            yield Row(row.line, (item, coder, label))
