"""Storing a CoGnition test set: its items, then the verdicts that stand beside the translations."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from annotation.formats.cognition import CognitionFiles
from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.models import Campaign, User
from annotation.services.import_compare import DESCRIPTIVE
from annotation.services.import_store import Progress
from annotation.services.imports import Report, preview, store
from annotation.services.item_files import sha256_of
from annotation.services.judgement_authors import find_authors, joining
from annotation.services.judgement_report import JudgementReport
from annotation.services.judgements import import_judgements


@dataclass(frozen=True)
class CognitionReport:
    """What the four files held and what became, or would become, of them.

    `to_come` counts the verdicts that were not compared, since their items are not there yet.
    """

    files: CognitionFiles
    items: Report
    verdicts: JudgementReport | None
    to_come: int = 0
    joining: Sequence[RowIssue] = ()

    @property
    def judgements(self) -> int:
        return self.verdicts.added if self.verdicts else self.to_come

    @property
    def ok(self) -> bool:
        return self.items.stored and self._verdicts_ok

    @property
    def can_be_stored(self) -> bool:
        return self.items.can_be_stored and self._verdicts_ok

    @property
    def _verdicts_ok(self) -> bool:
        return self.verdicts is None or self.verdicts.ok

    def as_json(self) -> dict[str, Any]:
        """The document of `import_items`, with the verdicts and the sources that differ."""
        document = self.items.as_json() | {
            "judgements": self.judgements,
            "judgements_unchanged": self.verdicts.unchanged if self.verdicts else 0,
            "differing_sources": [asdict(difference) for difference in self.files.differing],
        }
        if self.verdicts is not None:
            verdicts = self.verdicts.as_json()
            document["errors"] += verdicts["errors"]
            document["conflicts"] += verdicts["conflicts"]
            document["warnings"] += verdicts["warnings"]
        document["warnings"] += [issue.as_json() for issue in self.joining]
        return document


class _VerdictsRefused(Exception):
    """Undoes the import of the items; the report of the verdicts says why."""

    def __init__(self, report: JudgementReport) -> None:
        super().__init__()
        self.report = report


def store_cognition(
    campaign: Campaign,
    files: CognitionFiles,
    *,
    paths: Mapping[str, Path],
    annotator: str,
    on_conflict: Literal["refuse", "keep"] = "refuse",
    by: User | None = None,
    progress: Progress = lambda done, total: None,
) -> CognitionReport:
    """Store items and verdicts; nothing where something stands against the one or the other.

    The verdicts are looked at before the items appear, and written in chunks after that. Cut off in between, the
    same files add the rest.

    A second system on the same test set brings the test set's sources again, and where the first system's
    workbook holds another one, that is a conflict. With `keep` such a row is left out, and its verdict with it.
    """
    rows = files.as_file()

    def look(conflicts: Sequence[Mapping[str, Any]]) -> None:
        found = import_judgements(campaign, _judgement_rows(files, annotator, conflicts), by=by, dry_run=True)
        if not found.ok:
            raise _VerdictsRefused(found)

    try:
        items = store(
            campaign,
            rows,
            sha256=_fingerprint(paths),
            on_conflict=on_conflict,
            by=by,
            progress=progress,
            together_with=look,
        )
    except _VerdictsRefused as refused:
        return CognitionReport(files, _nothing(rows), refused.report)
    judged = _judgement_rows(files, annotator, items.conflicts)
    if not items.stored or not judged.rows:
        return CognitionReport(files, items, None)
    return CognitionReport(files, items, import_judgements(campaign, judged, by=by, progress=progress))


def look_at_cognition(campaign: Campaign, files: CognitionFiles, *, annotator: str) -> CognitionReport:
    """What storing the files would do; writes nothing. Verdicts are compared where all items are there already."""
    items = preview(campaign, files.as_file())
    judged = _judgement_rows(files, annotator, items.conflicts)
    if not judged.rows:
        return CognitionReport(files, items, None)
    if items.can_be_stored and not items.added:
        return CognitionReport(files, items, import_judgements(campaign, judged, dry_run=True))
    authors = find_authors(campaign, [annotator])
    return CognitionReport(
        files, items, None, to_come=len(judged.rows), joining=joining(campaign, authors.values())
    )


def _fingerprint(paths: Mapping[str, Path]) -> str:
    return hashlib.sha256("".join(sha256_of(paths[name]) for name in sorted(paths)).encode()).hexdigest()


def _judgement_rows(
    files: CognitionFiles, annotator: str, conflicts: Sequence[Mapping[str, Any]]
) -> FileRows[JudgementRow]:
    """The verdicts, without those of rows that were left out because their texts differ."""
    left_out = {conflict["line"] for conflict in conflicts if conflict["field"] not in DESCRIPTIVE}
    judged = tuple(
        JudgementRow(
            line=row.line,
            number=number,
            key=row.key,
            texts={},
            annotator=annotator,
            label=label,
            seconds=None,
            note=None,
            revision=None,
            system=row.system,
            run=row.run or "",
        )
        for number, (row, label) in enumerate(zip(files.rows, files.labels, strict=True), start=1)
        if label is not None and row.line not in left_out
    )
    file: FileRows[Any] = files.as_file()
    return replace(file, rows=judged, n_rows=len(judged), errors=(), warnings=())


def _nothing(rows: FileRows[Any]) -> Report:
    return Report(
        file=rows.name, format=rows.format, encoding=None, sheet=None, columns=rows.columns,
        unknown_columns=rows.unknown_columns, rows=rows.n_rows,
        added=0, unchanged=0, conflicts=(), errors=rows.errors, warnings=rows.warnings,
    )  # fmt: skip
