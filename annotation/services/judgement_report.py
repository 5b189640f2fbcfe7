"""What a file of judgements held, and what became of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from annotation.formats.columns import as_in_header
from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows, in_line_order


@dataclass
class JudgementReport:
    """`added` and `unchanged` count one person's judgements of one item once, however many revisions they have;
    `without_item` the rows whose items are not in the campaign.
    """

    file: FileRows[JudgementRow]
    added: int = 0
    unchanged: int = 0
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)
    annotators: list[str] = field(default_factory=list)
    without_item: int = 0

    def as_json(self) -> dict[str, Any]:
        """The document of `import_annotations`."""
        return {
            "file": self.file.name,
            "format": self.file.format,
            "encoding": self.file.encoding,
            "sheet": self.file.sheet,
            "columns": self.file.columns,
            "unknown_columns": list(self.file.unknown_columns),
            "rows": self.file.n_rows,
            "added": self.added,
            "unchanged": self.unchanged,
            "annotators": self.annotators,
            "without_item": self.without_item,
            "conflicts": self.conflicts,
            "errors": self._issues(self.file.errors, self.errors),
            "warnings": self._issues(self.file.warnings, self.warnings),
        }

    def _issues(self, of_file: Iterable[RowIssue], found: Iterable[RowIssue]) -> list[dict[str, Any]]:
        """Those of the reading and those of the campaign in one order of lines."""
        names = {canonical: given for given, canonical in self.file.columns.items()}
        return [issue.as_json() for issue in in_line_order(as_in_header([*of_file, *found], names))]

    @property
    def ok(self) -> bool:
        """Whether nothing stands against storing the file."""
        return not (self.file.errors or self.errors or self.conflicts)
