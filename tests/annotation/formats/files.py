"""Small files for the tests of readers and writers."""

import io
import json
from collections.abc import Sequence
from typing import Any

from openpyxl import Workbook

from annotation.formats.rows import Row, Table
from annotation.formats.tables import read_table

COMPOUND_HEADER = "item_id,compound,type,context_no,source,translation,reference,system,run"


def csv_table(*lines: str, name: str = "items.csv", end: str = "\n") -> Table:
    return read_table((end.join(lines) + end).encode(), name=name)


def jsonl_table(*records: dict[str, Any]) -> Table:
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return read_table(lines.encode(), name="items.jsonl")


def workbook(*rows: Sequence[object], others: dict[str, list[list[object]]] | None = None) -> bytes:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(list(row))
    for title, cells in (others or {}).items():
        page = book.create_sheet(title)
        for row in cells:
            page.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def contents(table: Table) -> list[tuple[str | None, ...]]:
    """The cells of all rows, none of which may have a problem."""
    rows = list(table.rows)
    assert [row.problems for row in rows if row.problems] == []
    return [row.cells for row in rows]


def problems(table: Table) -> list[tuple[int | None, str | None, str]]:
    return [(found.line, found.column, found.message) for row in table.rows for found in row.problems]


def lines_of(rows: list[Row]) -> list[int]:
    return [row.line for row in rows]
