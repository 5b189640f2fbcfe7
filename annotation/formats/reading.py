"""Reading a table row by row: the good rows, and everything that was found wrong on the way."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from annotation.formats.columns import MatchedColumns, Record, as_in_header, records
from annotation.formats.errors import RowIssue
from annotation.formats.rows import FileRows, Table, in_line_order

R = TypeVar("R")


@dataclass(kw_only=True)
class Reading(Generic[R]):
    """What has been read so far. A format says what it makes of a record, and keeps what later rows are compared
    with.
    """

    matched: MatchedColumns
    rows: list[R] = field(default_factory=list)
    unusable: list[R] = field(default_factory=list)
    nameless: int = 0
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)

    def read(self, table: Table) -> FileRows[R]:
        """Everything the table says, its findings in the order of lines (those about the whole file first)."""
        n_rows = 0
        for record in records(table, self.matched):
            n_rows = record.number
            self._read(record)
        self.finish()
        names = {canonical: table.header[place] for canonical, place in self.matched.places.items()}
        return FileRows(
            name=table.name,
            format=table.format,
            encoding=table.encoding,
            sheet=table.sheet,
            columns=self.matched.given,
            unknown_columns=self.matched.unknown,
            n_rows=n_rows,
            rows=tuple(self.rows),
            unusable=tuple(self.unusable),
            nameless=self.nameless,
            errors=in_line_order(as_in_header(self.errors, names)),
            warnings=in_line_order(as_in_header(table.warnings + self.warnings, names)),
            header=table.header,
            first_rows=table.first_rows,
        )

    def _read(self, record: Record) -> None:
        problems = [*record.problems]
        row = None if problems else self.row(record, problems)
        if problems:
            self.refuse(record, problems)
            self.unusable += [] if row is None else [row]
            self.nameless += row is None
        elif row is not None:
            self.keep(row, record)

    def row(self, record: Record, problems: list[RowIssue]) -> R | None:
        """The row a record makes; None where it is skipped. With reasons added to `problems` it cannot be used; then a
        row says at most which item it is about.
        """
        raise NotImplementedError

    def refuse(self, record: Record, problems: list[RowIssue]) -> None:
        """Note why a record cannot be used."""
        self.errors.extend(problems)

    def keep(self, row: R, record: Record) -> None:
        """Add a row that is good by itself, unless it does not go with those before."""
        self.rows.append(row)

    def finish(self) -> None:
        """Note what can only be said once every row was read."""
