"""CrowdKit's long table: one row for each judgement, in the columns task, worker and label.

Source: Ustalov, Pavlichenko and Tseitlin, Learning from Crowds with Crowd-Kit (JOSS 2024); its README asks for
“columns: task, worker, label”. Until version 1.0 the second was called performer, which is read as well.
"""

from collections.abc import Iterator

from annotation.formats.adapters.base import Adapter, Asked, Content, Found, judgements_by_name
from annotation.formats.adapters.packages import Given
from annotation.formats.cells import fold_header
from annotation.formats.columns import match_columns, records
from annotation.formats.errors import FormatError
from annotation.formats.rows import Row, Table
from annotation.formats.tables import read_table
from annotation.formats.writers import CONTENT_TYPES, write_csv
from annotation.protocol.sentences import say

_COLUMNS = ("task", "worker", "label")
_OLD_WORKER = "performer"
_BEGINNING = 4096  # bytes in which the header of such a file stands


class CrowdKit(Adapter):
    """`task` is the item's id or, without ids, the texts that name it."""

    name = "crowdkit"
    title = "CrowdKit"
    brings_items = False
    reads_tables = True
    extension = "csv"
    content_type = CONTENT_TYPES["csv"]
    carries = (say("For each judgement: the item's name, who judged, and the label."),)
    lacks = (
        say("The texts of the items: bring these in first, by another file."),
        say("“Cannot judge”, notes, seconds, earlier answers, rounds, parts and slots."),
    )

    def knows(self, found: Given) -> bool:
        if len(found.files) != 1:
            return False
        name, data = found.only
        if not all(column.encode() in data[:_BEGINNING] for column in _COLUMNS):
            return False  # without reading the whole of a long file
        try:
            header = {fold_header(column) for column in read_table(data, name=name).header}
        except FormatError:
            return False
        return set(_COLUMNS) <= header and not {"head", "relation", "tail", "compound"} & header

    def read(self, found: Given, asked: Asked) -> Found:
        name, data = found.only
        table = read_table(data, name=name)
        worker = _OLD_WORKER if _has_old_name(table) else "worker"
        names = {"item": "task", "annotator": worker, "label": "label"}
        matched = match_columns(table.header, known=tuple(names.values()), needed=tuple(names.values()))
        rows = (
            Row(
                record.line,
                tuple(record.cells.get(column) for column in names.values()),
                problems=record.problems,
            )
            for record in records(table, matched)
        )
        told = {canonical: table.header[matched.places[given]] for canonical, given in names.items()}
        narrow = Table(
            table.name, table.format, table.encoding, table.sheet, table.header, rows, table.warnings,
            table.first_rows, table.header_lines,
        )  # fmt: skip
        return Found(
            items=None, judgements=judgements_by_name(narrow, asked, names=told, unknown=matched.unknown)
        )

    def write(self, content: Content) -> Iterator[bytes]:
        rows = (
            (record.name, judged.annotator, judged.label)
            for record in content.records
            for judged in self.carried(record.judgements)
        )
        return write_csv(_COLUMNS, rows, mark=False)


def _has_old_name(table: Table) -> bool:
    header = set(map(fold_header, table.header))
    return _OLD_WORKER in header and "worker" not in header
