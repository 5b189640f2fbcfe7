"""Storing a CoGnition test set: its items, then the verdicts that stand beside the translations."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from annotation.formats.cognition import CognitionFiles, verdicts
from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.models import Campaign, User
from annotation.services.import_store import Progress
from annotation.services.import_together import Conflicts, left_out, look_together, store_together
from annotation.services.imports import Report
from annotation.services.item_files import sha256_of
from annotation.services.judgement_report import JudgementReport


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
    done = store_together(
        campaign,
        files.as_file(),
        _verdicts(files, annotator),
        sha256=_fingerprint(paths),
        on_conflict=on_conflict,
        by=by,
        progress=progress,
    )
    return CognitionReport(files, done.items, done.judgements)


def look_at_cognition(
    campaign: Campaign,
    files: CognitionFiles,
    *,
    annotator: str,
    on_conflict: Literal["refuse", "keep"] = "refuse",
) -> CognitionReport:
    """What storing the files would do; writes nothing. Verdicts are compared where all items are there already."""
    found = look_together(campaign, files.as_file(), _verdicts(files, annotator), on_conflict=on_conflict)
    return CognitionReport(files, found.items, found.judgements, to_come=found.to_come, joining=found.joining)


def _fingerprint(paths: Mapping[str, Path]) -> str:
    return hashlib.sha256("".join(sha256_of(paths[name]) for name in sorted(paths)).encode()).hexdigest()


def _verdicts(files: CognitionFiles, annotator: str) -> Callable[[Conflicts], FileRows[JudgementRow]]:
    """The verdicts, without those of rows that were left out because their texts differ."""
    return lambda conflicts: verdicts(files, annotator=annotator, left_out=left_out(conflicts))
