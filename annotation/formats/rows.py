"""What every reader yields: a table of text cells, row by row; and what is made of a whole file."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from annotation.formats.errors import RowIssue

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Row:
    """One record that is not blank.

    `line` is the physical line on which it starts, in a workbook the sheet's row. `cells` are as many as the
    header's names, exactly as given: "" is an empty cell, None a member that a JSON object lacks or holds as
    null. `nested` are the positions of cells that held a list or an object in JSON: an error only where such a
    column is read. A row with `problems` cannot be used, and its cells may be incomplete.
    """

    line: int
    cells: tuple[str | None, ...]
    nested: tuple[int, ...] = ()
    problems: tuple[RowIssue, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A file as a header and rows. `format` is csv, tsv, jsonl or xlsx.

    `encoding` is the encoding the text was read in (None for a workbook), `sheet` the sheet's name in a workbook.
    `rows` can be gone through once; `warnings` is complete only after that. `first_rows` are the first of them, for
    people to see whether the file was read as it was meant. `header_lines` say where each name of the header stands
    first.
    """

    name: str
    format: str
    encoding: str | None
    sheet: str | None
    header: tuple[str, ...]
    rows: Iterator[Row]
    warnings: list[RowIssue] = field(default_factory=list)
    first_rows: tuple[Row, ...] = ()
    header_lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FileRows(Generic[R]):
    """Everything a file says: its good rows, and every finding about the others.

    `columns` maps column names as given to canonical ones; `unknown_columns` were not read. `n_rows` counts
    all rows but blank ones, so it is larger than `len(rows)` where there are errors. With any error nothing of
    the file may be stored. `header` and `first_rows` show the beginning of the file as it was read.
    `unusable` are rows with errors, as far as they say which item they are about; `nameless` counts those that do not,
    any of which may be about an item that seems to be missing.
    """

    name: str
    format: str
    encoding: str | None
    sheet: str | None
    columns: dict[str, str]
    unknown_columns: tuple[str, ...]
    n_rows: int
    rows: tuple[R, ...]
    errors: tuple[RowIssue, ...]
    warnings: tuple[RowIssue, ...]
    header: tuple[str, ...] = ()
    first_rows: tuple[Row, ...] = ()
    unusable: tuple[R, ...] = ()
    nameless: int = 0


def in_line_order(issues: list[RowIssue]) -> tuple[RowIssue, ...]:
    """Findings about the whole file first, then by line; those of one line stay in the order they were made."""
    return tuple(sorted(issues, key=lambda issue: issue.line or 0))
