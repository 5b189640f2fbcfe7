"""What is wrong with a file or with one row of it: on which line, in which column, and what to do."""

from dataclasses import dataclass

from annotation.protocol.sentences import say


@dataclass(frozen=True, slots=True)
class RowIssue:
    """One finding in a file, an error or a warning.

    `line` is the physical line on which the record starts (the header being 1; in a workbook the sheet's row),
    None for the whole file. `column` is the column's name, None for the whole row. `message` is a sentence that
    never holds a whole cell: what it quotes is cut short and its control characters are escaped.
    """

    line: int | None
    column: str | None
    message: str

    def __str__(self) -> str:
        return _located(self.line, self.column, self.message)

    def as_json(self) -> dict[str, int | str | None]:
        """What documents say of it."""
        return {"line": self.line, "column": self.column, "message": self.message}


class FormatError(Exception):
    """A file, or one row of it, cannot be read or written; the attributes are those of a `RowIssue`."""

    def __init__(self, message: str, *, line: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return str(self.sentence)

    @property
    def sentence(self) -> str:
        """The message with its place."""
        return _located(self.line, self.column, self.message)

    def as_issue(self) -> RowIssue:
        return RowIssue(self.line, self.column, self.message)


class MissingColumns(FormatError):
    """A file lacks a column that is needed; `header` is what it has, `options` name what could say which it is."""

    def __init__(self, message: str, *, header: tuple[str, ...], options: tuple[str, ...]) -> None:
        super().__init__(message)
        self.header = header
        self.options = options


def _located(line: int | None, column: str | None, message: str) -> str:
    if line is None and column is None:
        return message
    if column is None:
        return say("line {line}: {message}", line=line, message=message)
    if line is None:
        return say("column “{column}”: {message}", column=column, message=message)
    return say("line {line}, column “{column}”: {message}", line=line, column=column, message=message)
