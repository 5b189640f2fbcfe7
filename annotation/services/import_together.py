"""Items and judgements of them in one import: the items are stored only if the judgements can be stored as well.

The judgements are looked at before the items appear, and written in chunks after that. Cut off in between, the same
files add the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.models import Campaign, User
from annotation.services.import_compare import DESCRIPTIVE
from annotation.services.import_store import Progress
from annotation.services.imports import Report, preview, store
from annotation.services.judgement_authors import find_authors, joining
from annotation.services.judgement_report import JudgementReport
from annotation.services.judgements import import_judgements

Judged = FileRows[JudgementRow]
Conflicts = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Together:
    """What became, or would become, of both. `to_come` counts the judgements that were not compared, since their items
    are not there yet; `joining` are then the warnings about who would join.
    """

    items: Report
    judgements: JudgementReport | None
    to_come: int = 0
    joining: Sequence[RowIssue] = ()


class _JudgementsRefused(Exception):
    """Undoes the import of the items; the report of the judgements says why."""

    def __init__(self, report: JudgementReport) -> None:
        super().__init__()
        self.report = report


def store_together(
    campaign: Campaign,
    rows: FileRows[Any],
    judged: Callable[[Conflicts], Judged],
    *,
    sha256: str,
    on_conflict: Literal["refuse", "keep"] = "refuse",
    by: User | None = None,
    progress: Progress = lambda done, total: None,
) -> Together:
    """Store both; nothing where something stands against the one or the other.

    `judged` gives the judgements without those of the rows that are left out because their texts differ.
    """

    def look(conflicts: Conflicts) -> None:
        found = import_judgements(campaign, judged(conflicts), by=by, dry_run=True)
        if not found.ok:
            raise _JudgementsRefused(found)

    try:
        items = store(
            campaign,
            rows,
            sha256=sha256,
            on_conflict=on_conflict,
            by=by,
            progress=progress,
            together_with=look,
        )
    except _JudgementsRefused as refused:
        return Together(_nothing(rows), refused.report)
    kept = judged(items.conflicts)
    if not items.stored or not kept.rows:
        return Together(items, None)
    return Together(items, import_judgements(campaign, kept, by=by, progress=progress))


def look_together(
    campaign: Campaign,
    rows: FileRows[Any],
    judged: Callable[[Conflicts], Judged],
    *,
    on_conflict: Literal["refuse", "keep"] = "refuse",
) -> Together:
    """What storing both would do; writes nothing. Judgements are compared where all items are there already."""
    items = preview(campaign, rows, on_conflict=on_conflict)
    kept = judged(items.conflicts)
    if kept.errors:
        nothing = replace(items, added=0, filled=0, filled_fields={}, outputs=None)
        return Together(nothing, JudgementReport(kept))
    if not kept.rows:
        return Together(items, None)
    if items.can_be_stored and not items.added:
        return Together(items, import_judgements(campaign, kept, dry_run=True))
    authors = find_authors(campaign, dict.fromkeys(row.annotator for row in kept.rows))
    return Together(items, None, to_come=len(kept.rows), joining=joining(campaign, authors.values()))


def left_out(conflicts: Conflicts) -> frozenset[int]:
    """The lines of the rows that are left out where stored texts are kept."""
    return frozenset(conflict["line"] for conflict in conflicts if conflict["field"] not in DESCRIPTIVE)


def _nothing(rows: FileRows[Any]) -> Report:
    return Report(
        file=rows.name, format=rows.format, encoding=None, sheet=None, columns=rows.columns,
        unknown_columns=rows.unknown_columns, rows=rows.n_rows,
        added=0, unchanged=0, conflicts=(), errors=rows.errors, warnings=rows.warnings,
    )  # fmt: skip
