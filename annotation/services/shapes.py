"""Files in the shapes of other programs: which shape they have, what they hold, and bringing both items and judgements
in.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from annotation.formats.adapters.base import Adapter, Asked, Found
from annotation.formats.adapters.packages import Given, given
from annotation.formats.adapters.registry import shape, shape_of
from annotation.formats.compound_units import CompoundRow
from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.kinds import NoTable, NoText
from annotation.formats.rows import FileRows, in_line_order
from annotation.models import Campaign, Round, User
from annotation.protocol.sentences import Sentence, say
from annotation.protocol.text import fold_name
from annotation.services.import_compare import text_digest
from annotation.services.import_store import Progress
from annotation.services.import_together import Conflicts, left_out, look_together, store_together
from annotation.services.imports import Report
from annotation.services.judgement_report import JudgementReport
from annotation.services.judgements import RELEASED, import_judgements, note_too_long
from annotation.services.wording import wording_of

Judged = FileRows[JudgementRow]


@dataclass(frozen=True)
class ShapeFile:
    """Files that were read as a shape, and the fingerprint of their bytes."""

    adapter: Adapter
    found: Found
    sha256: str
    not_carried: tuple[Sentence, ...]

    @property
    def rows(self) -> FileRows[Any]:
        """What the file is known by: its items, or its judgements where it holds only these."""
        rows = self.found.items or self.found.judgements
        assert rows is not None
        return rows

    def judgements_alone(self) -> Judged | None:
        """The judgements without the items, for a campaign that has these. What is wrong with an item is wrong with its
        judgements, since nobody knows which it is.
        """
        judged, items = self.found.judgements, self.found.items
        if judged is None or items is None:
            return judged
        return replace(judged, errors=in_line_order([*items.errors, *judged.errors]))


@dataclass(frozen=True)
class ShapeReport:
    """What the files held and what became, or would become, of it."""

    file: ShapeFile
    items: Report | None
    judgements: JudgementReport | None
    to_come: int = 0
    joining: Sequence[RowIssue] = ()

    @property
    def ok(self) -> bool:
        """Whether everything is stored."""
        return (self.items is None or self.items.stored) and self._judgements_ok

    @property
    def can_be_stored(self) -> bool:
        return (self.items is None or self.items.can_be_stored) and self._judgements_ok

    @property
    def _judgements_ok(self) -> bool:
        return self.judgements is None or self.judgements.ok

    @property
    def n_judgements(self) -> int:
        return self.judgements.added if self.judgements else self.to_come

    @property
    def annotators(self) -> list[str]:
        """Who judged, each once."""
        if self.judgements is not None and self.judgements.annotators:
            return self.judgements.annotators
        judged = self.file.found.judgements
        return (
            list({fold_name(row.annotator): row.annotator for row in judged.rows}.values()) if judged else []
        )

    def as_json(self) -> dict[str, Any]:
        """The document of `import_items`, or of `import_annotations` where there are judgements only, with the shape
        and what it does not carry.
        """
        told = {
            "shape": self.file.adapter.name,
            "annotators": self.annotators,
            "not_carried": list(self.file.not_carried),
        }
        judged = self.judgements.as_json() if self.judgements else None
        if self.items is None:
            assert judged is not None
            return judged | told
        document = self.items.as_json() | told
        document["judgements"] = self.n_judgements
        document["judgements_unchanged"] = self.judgements.unchanged if self.judgements else 0
        if judged is not None:
            for name in ("errors", "conflicts", "warnings"):
                document[name] = [*document[name], *judged[name]]
        document["warnings"] = [*document["warnings"], *(issue.as_json() for issue in self.joining)]
        return document


def recognised(campaign: Campaign, paths: Sequence[Path], *, name: str | None = None) -> str | None:
    """The shape that the files certainly have, by name; None where they are a table of columns, or could be several."""
    adapter = shape_of(given(paths, name=name), campaign.protocol)
    return adapter.name if adapter else None


def read_shape(
    campaign: Campaign,
    paths: Sequence[Path],
    *,
    shape_name: str,
    name: str | None = None,
    annotator: str | None = None,
    column: str | None = None,
    system: str | None = None,
    run: str | None = None,
) -> ShapeFile:
    """The files read as the shape of that name; FormatError where they cannot be."""
    adapter = shape(shape_name, campaign.protocol)
    try:
        files = given(paths, name=name)
    except NoText as other:
        raise (NoTable(other.kind) if adapter.reads_tables else other) from None
    asked = Asked(
        protocol=campaign.protocol,
        wording=wording_of(campaign),
        annotator=annotator or RELEASED,
        annotator_given=bool(annotator),
        column=column,
        system=system,
        run=run,
    )
    found = adapter.read(files, asked)
    if found.judgements is not None:
        found = replace(found, judgements=_checked(campaign, found.judgements, found.items))
    return ShapeFile(adapter, found, _fingerprint(files), adapter.lacks_of(campaign.protocol))


def look_at_shape(
    campaign: Campaign, file: ShapeFile, *, on_conflict: Literal["refuse", "keep"] = "refuse"
) -> ShapeReport:
    """What storing the file would do; writes nothing."""
    if file.found.items is None:
        return ShapeReport(file, None, import_judgements(campaign, _judged(file), dry_run=True))
    found = look_together(campaign, file.found.items, _kept(file), on_conflict=on_conflict)
    return ShapeReport(file, found.items, found.judgements, to_come=found.to_come, joining=found.joining)


def store_shape(
    campaign: Campaign,
    file: ShapeFile,
    *,
    on_conflict: Literal["refuse", "keep"] = "refuse",
    by: User | None = None,
    progress: Progress = lambda done, total: None,
) -> ShapeReport:
    """Store items and judgements; nothing where something stands against the one or the other."""
    if file.found.items is None:
        return ShapeReport(file, None, import_judgements(campaign, _judged(file), by=by, progress=progress))
    done = store_together(
        campaign,
        file.found.items,
        _kept(file),
        sha256=file.sha256,
        on_conflict=on_conflict,
        by=by,
        progress=progress,
    )
    return ShapeReport(file, done.items, done.judgements)


def _judged(file: ShapeFile) -> Judged:
    """The judgements, of which there may be none."""
    if file.found.judgements is not None:
        return file.found.judgements
    rows: FileRows[Any] = file.rows
    return replace(rows, rows=(), n_rows=0, errors=(), warnings=())


def _kept(file: ShapeFile) -> Any:
    """The judgements without those of the rows that are left out."""

    def kept(conflicts: Conflicts) -> Judged:
        judged, gone = _judged(file), left_out(conflicts)
        return (
            replace(judged, rows=tuple(row for row in judged.rows if row.line not in gone))
            if gone
            else judged
        )

    return kept


def _checked(campaign: Campaign, judged: Judged, items: FileRows[Any] | None) -> Judged:
    """The judgements with an error for each that could not be stored once its item is there: where more people judged
    an item than the campaign has experts an item, where one of them gave it two answers, or with too long a note.
    """
    k = campaign.rounds.get(kind=Round.Kind.MAIN, number=1).k
    item_of = _items_of(items)
    people: dict[tuple[str, ...], dict[str, JudgementRow]] = defaultdict(dict)
    found: list[RowIssue] = note_too_long(judged.rows)
    for row in judged.rows:
        if row.key is None:
            continue
        output = (row.key.folded, row.system or "", row.run or "")
        those = people[item_of.get(output, output)]
        first = those.setdefault(fold_name(row.annotator), row)
        if first.answer != row.answer and first.revision == row.revision:
            message = say(
                "The same person's answer to this item stands on line {line} already, and it is another one. Remove "
                "one of them.",
                line=first.line,
            )
            found.append(RowIssue(row.line, "label", message))
        if first is row and len(those) == k + 1:
            message = say(
                "More people judged this item than the campaign has experts an item ({k}). Make a campaign with more, "
                "or leave judgements out.",
                k=k,
            )
            found.append(RowIssue(row.line, None, message))
    return replace(judged, errors=(*judged.errors, *found)) if found else judged


def _items_of(items: FileRows[Any] | None) -> dict[tuple[str, ...], tuple[str, ...]]:
    """What tells an item from every other, by the key, system and run of each output: outputs of one context that read
    the same are one item.
    """
    return {
        (row.key.folded, row.system or "", row.run or ""): (row.key.folded, text_digest(row.translation))
        for row in (items.rows if items else ())
        if isinstance(row, CompoundRow)
    }


def _fingerprint(files: Given) -> str:
    if len(files.files) == 1:
        return hashlib.sha256(files.only[1]).hexdigest()
    parts = sorted((path, hashlib.sha256(data).hexdigest()) for path, data in files.files.items())
    return hashlib.sha256("".join(f"{digest}  {path}\n" for path, digest in parts).encode()).hexdigest()
