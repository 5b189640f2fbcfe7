"""Storing a CoGnition test set: its items, then the verdicts that stand beside the translations."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from annotation.formats.cognition import CognitionFiles
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.models import Campaign, Context, User
from annotation.services.imports import Report, store
from annotation.services.item_files import sha256_of
from annotation.services.judgements import JudgementReport, import_judgements


@dataclass(frozen=True)
class CognitionReport:
    """What the four files held and what became of them."""

    files: CognitionFiles
    items: Report
    verdicts: JudgementReport | None

    @property
    def judgements(self) -> int:
        return self.verdicts.added if self.verdicts else 0

    @property
    def ok(self) -> bool:
        return self.items.stored and (self.verdicts is None or self.verdicts.ok)

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
        return document


def store_cognition(
    campaign: Campaign,
    files: CognitionFiles,
    *,
    paths: Mapping[str, Path],
    annotator: str,
    by: User | None = None,
) -> CognitionReport:
    """Store items and verdicts; verdicts that contradict stored ones are found before anything is stored."""
    rows = _file_rows(files)
    known = _judgement_rows(files, annotator, only=_known_keys(campaign))
    if known.rows:
        tried = import_judgements(campaign, known, by=by, dry_run=True)
        if not tried.ok:
            items = replace(_nothing(rows), unchanged=len(known.rows))
            return CognitionReport(files, items, tried)
    items = store(campaign, rows, sha256=_fingerprint(paths), by=by)
    judged = _judgement_rows(files, annotator)
    if not items.stored or not judged.rows:
        return CognitionReport(files, items, None)
    return CognitionReport(files, items, import_judgements(campaign, judged, by=by))


def _fingerprint(paths: Mapping[str, Path]) -> str:
    return hashlib.sha256("".join(sha256_of(paths[name]) for name in sorted(paths)).encode()).hexdigest()


def _known_keys(campaign: Campaign) -> set[str]:
    published = Context.objects.filter(unit__campaign=campaign, batch__published_at__isnull=False)
    return set(published.values_list("key_folded", flat=True))


def _file_rows(files: CognitionFiles) -> FileRows[Any]:
    return FileRows(
        name=files.stem,
        format="cognition",
        encoding=None,
        sheet=None,
        columns={},
        unknown_columns=(),
        n_rows=files.n_lines,
        rows=files.rows,
        errors=files.errors,
        warnings=files.warnings,
    )


def _judgement_rows(
    files: CognitionFiles, annotator: str, *, only: set[str] | None = None
) -> FileRows[JudgementRow]:
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
        if label is not None and (only is None or row.key.folded in only)
    )
    return replace(_file_rows(files), rows=judged, n_rows=len(judged), errors=(), warnings=())


def _nothing(rows: FileRows[Any]) -> Report:
    return Report(
        file=rows.name, format=rows.format, encoding=None, sheet=None, columns={}, unknown_columns=(),
        rows=rows.n_rows, added=0, unchanged=0, conflicts=(), errors=rows.errors, warnings=rows.warnings,
    )  # fmt: skip
