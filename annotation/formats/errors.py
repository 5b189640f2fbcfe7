"""The one exception of the readers and writers: what is wrong, on which line, in which column."""


class FormatError(Exception):
    """A file, or one row of it, cannot be read.

    `line` is the physical line on which the record starts (the header being 1; in a workbook the sheet's row),
    None for the whole file. `column` is the column's name as given, None for the whole row.
    """

    def __init__(self, message: str, *, line: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
