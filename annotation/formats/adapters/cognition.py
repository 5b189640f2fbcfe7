"""The CoGnition layout: sources, compounds and references line by line, and a workbook of one system's translations.

Source: the published files of CoGnition (Li et al. 2021) and the workbooks of verdicts that belong to them: `NP.en`,
`NP.compound`, `NP.zh`, and a workbook with src, hyp and human eval. How these are read says `formats.cognition`.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from annotation.formats.adapters.base import (
    Adapter,
    Asked,
    Content,
    Found,
    ItemRecord,
    Judged,
    plain,
    refuse_alone,
    refuse_several,
)
from annotation.formats.adapters.packages import Given, pack
from annotation.formats.cells import excerpt, is_blank
from annotation.formats.cognition import CognitionFiles, read_cognition, verdicts
from annotation.formats.errors import FormatError
from annotation.formats.writers import write_xlsx
from annotation.protocol.sentences import say

_SOURCES, _COMPOUNDS, _REFERENCES = (".en", ".src"), (".compound",), (".zh", ".ref")
_TRANSLATIONS = (".xlsx", ".xlsm", ".csv", ".tsv", ".jsonl", ".hyp")
_ENDS = frozenset("\r\n")
_FORBIDDEN = frozenset('/\\:*?"<>|')


class Cognition(Adapter):
    """One system's translations of one test set."""

    name = "cognition"
    title = "CoGnition"
    protocols = ("compound",)
    one_system = True
    extension = "zip"
    content_type = "application/zip"
    carries = (
        say("Sources, compounds, references, and the translations of one system and run."),
        say("One verdict for each translation: that of the first slot that holds one."),
    )
    lacks = (
        say(
            "Who judged, “cannot judge”, notes, seconds, earlier answers, further verdicts of the same translation."
        ),
        say("Ids of other forms than NP-0001, types and patterns that the compound's words do not settle."),
        say("Which sources differ from the test set's line: the one that was judged is written."),
    )

    def knows(self, found: Given) -> bool:
        try:
            _sorted(found)
        except FormatError:
            return False
        return len(found.files) == 4

    def read(self, found: Given, asked: Asked) -> Found:
        refuse_alone(found)
        parts = _sorted(found)
        system = asked.system or _system_of(parts)
        if system is None:
            raise FormatError(
                say(
                    "Nothing says whose translations these are: name the system, or call the file NP-system.xlsx."
                )
            )
        with TemporaryDirectory() as scratch:  # the reader takes files, since keys are made of a file's name
            paths = {
                kind: _placed(Path(scratch) / kind, path, found.files[path]) for kind, path in parts.items()
            }
            files = read_cognition(**paths, system=system, run=asked.run, wording=asked.wording)
        return found_in(files, asked)

    def carried(self, judged: Sequence[Judged]) -> Sequence[Judged]:
        labelled = (one for one in judged if one.label)
        first = min(labelled, key=lambda one: one.slot, default=None)
        return [] if first is None else [first]

    def write(self, content: Content) -> Iterator[bytes]:
        records = list(content.records)
        refuse_several(
            {(record.cells["system"] or "", record.cells["run"] or ""): None for record in records}
        )
        stem = _stem(records) or content.stem
        system = (records[0].cells["system"] or "") if records else ""
        name = f"{stem}-{system}.xlsx" if system and not _FORBIDDEN & set(system) else f"{stem}.xlsx"
        return pack(
            [
                (f"{stem}.en", _lines(records, "source")),
                (f"{stem}.compound", _lines(records, "compound")),
                (f"{stem}.zh", _lines(records, "reference")),
                (name, self._workbook(records, with_verdicts=content.with_judgements)),
            ]
        )

    def _workbook(self, records: Iterable[ItemRecord], *, with_verdicts: bool) -> Iterator[bytes]:
        columns = ("src", "hyp", "human eval") if with_verdicts else ("src", "hyp")
        rows = (
            (record.cells["source"], record.cells["translation"], self._verdict(record))[: len(columns)]
            for record in records
        )
        return write_xlsx(columns, rows, numeric={"human eval": int})

    def _verdict(self, record: ItemRecord) -> int | None:
        return next((int(one.label) for one in self.carried(record.judgements)), None)


def found_in(files: CognitionFiles, asked: Asked) -> Found:
    """The items of a test set, and its verdicts where there are any."""
    judged = verdicts(files, annotator=asked.annotator)
    return Found(items=files.as_file(), judgements=judged if judged.rows else None)


def _placed(folder: Path, path: str, data: bytes) -> Path:
    """The file under its own name in a folder of its own."""
    place = folder / PurePosixPath(path).name
    try:
        folder.mkdir()
        place.write_bytes(data)
    except (OSError, ValueError):
        raise FormatError(say("“{path}” is no name that a file can have.", path=excerpt(path))) from None
    return place


def _sorted(found: Given) -> dict[str, str]:
    """Which file is which, by its extension."""
    kinds = {
        "sources": _SOURCES, "compounds": _COMPOUNDS, "references": _REFERENCES, "translations": _TRANSLATIONS,
    }  # fmt: skip
    parts: dict[str, str] = {}
    for kind, extensions in kinds.items():
        paths = [path for path in found.files if path.lower().endswith(extensions)]
        if len(paths) != 1:
            raise FormatError(
                say(
                    "There are {n} files of {kind} ({extensions}); one test set has one.",
                    n=len(paths),
                    kind=kind,
                    extensions=", ".join(extensions),
                )
            )
        parts[kind] = paths[0]
    return parts


def _system_of(parts: dict[str, str]) -> str | None:
    """The system that the name of the translations tells: of NP-bilingual.xlsx beside NP.en it is bilingual."""
    stem = PurePosixPath(parts["sources"]).stem
    name = PurePosixPath(parts["translations"]).stem
    return name.removeprefix(f"{stem}-") if name.startswith(f"{stem}-") and name != f"{stem}-" else None


def _stem(records: Sequence[ItemRecord]) -> str | None:
    """The name that the items' ids are made of, where they are those of this layout."""
    stem = ((records[0].cells.get("item_id") or "") if records else "").rpartition("-")[0]
    if not stem or _FORBIDDEN & set(stem):
        return None
    keys = (record.cells.get("item_id") for record in records)
    same = all(key == f"{stem}-{line:04d}" for line, key in enumerate(keys, start=1))
    return stem if same else None


def _lines(records: Iterable[ItemRecord], column: str) -> Iterator[bytes]:
    for record in records:
        text = plain(record.cells[column] or "", what=column, record=record, forbidden=_ENDS.__contains__)
        if is_blank(text):
            raise FormatError(
                say(
                    "Item {number} has no {what}; in this shape every line has one.",
                    number=record.position,
                    what=column,
                )
            )
        yield f"{text}\n".encode()
