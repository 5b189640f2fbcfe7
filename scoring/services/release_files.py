"""A release as files: tables in three formats, a layout that Hugging Face's `datasets` loads without code, and
what a reader needs to know; then one archive of them.

Two releases of the same content are equal byte for byte: rows are sorted, nothing says when, and the archive
stores its members uncompressed under one fixed date, so that no version of a compressor shows.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.formats.writers import Cell, write_table
from scoring.services.release_content import OTHER, Content, Row
from scoring.services.release_texts import data_card, datasheet, methods

FORMATS = {"parquet": "data", "csv": "csv", "jsonl": "jsonl"}
NUMERIC: Mapping[str, type[int] | type[float]] = {
    "position": int, "context_no": int, "label": int, "slot": int, "part": int, "revision": int, "guideline": int,
    "round_number": int, "seconds": float,
}  # fmt: skip
# A vote is a code of the scale (0.5 too), where a label is a class.
NUMERIC_VOTES = {name: kind for name, kind in NUMERIC.items() if name != "label"}
UNLABELLED, VOTES, UNSPLIT = "unlabelled", "votes", "test"
SUMS = "SHA256SUMS"
DATE = (1980, 1, 1, 0, 0, 0)  # the first that an archive can hold
MODE = 0o644 << 16
UNIX = 3

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file of the release: its place, its checksum, its size."""

    path: str
    sha256: str
    size: int

    def as_json(self) -> Document:
        return {"path": self.path, "sha256": self.sha256, "size": self.size}


def write_folder(content: Content, folder: Path) -> Document:
    """Write every file, and give the manifest: counts, labels, split, leakage, files with their checksums."""
    tables = _tables(content)
    written = [_write(folder, path, chunks) for path, chunks in _files(content, tables)]
    manifest = {
        "campaign": content.campaign.slug,
        "title": content.campaign.title,
        "protocol": content.campaign.protocol,
        "items": len(content.items),
        "labelled": sum(row["label"] is not None for row in content.items),
        "votes": len(content.votes),
        "labels": content.labels.as_json(),
        "split": content.split,
        "leakage": content.leakage,
        # Of its own relations, answers, reasons and groups of classes; what is not named is the protocol's.
        **({"wording": content.campaign.wording} if content.campaign.wording else {}),
        "files": [file.as_json() for file in written],
    }
    written.append(_write(folder, "manifest.json", _json(manifest)))
    sums = "".join(f"{file.sha256}  {file.path}\n" for file in sorted(written, key=lambda file: file.path))
    _write(folder, SUMS, [sums.encode()])
    return manifest


def pack(folder: Path, archive: Path, *, root: str) -> None:
    """The folder as one archive in which everything stands under `root`."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as target:
        for path in paths:
            info = zipfile.ZipInfo(f"{root}/{path.relative_to(folder).as_posix()}", DATE)
            info.external_attr = MODE
            info.create_system = UNIX
            with path.open("rb") as source, target.open(info, "w") as member:
                while chunk := source.read(1 << 20):
                    member.write(chunk)


def _tables(content: Content) -> dict[str, Sequence[Row]]:
    """Items by split, those without a label apart, and the votes; by name of file."""
    has_splits = any(row["split"] for row in content.items)
    tables: dict[str, list[Row]] = {}
    for row in content.items:
        split = str(row["split"] or "") or (OTHER if has_splits else UNSPLIT)
        tables.setdefault(UNLABELLED if row["label"] is None else split, []).append(row)
    found: dict[str, Sequence[Row]] = {name: tables[name] for name in sorted(tables)}
    return found | ({VOTES: content.votes} if content.votes else {})


def _files(content: Content, tables: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, Iterable[bytes]]]:
    for name, rows in tables.items():
        for form, folder in FORMATS.items():
            yield f"{folder}/{name}.{form}", _table(form, rows, votes=name == VOTES)
    for name, text in content.guidelines:
        yield f"guidelines/{name}", [text.encode()]
    for name, document in (
        ("design", content.design),
        ("agreement", content.agreement),
        ("conditions", content.conditions),
        ("split", {**content.split, "leakage": content.leakage}),
    ):
        yield f"{name}.json", _json(document)
    yield "DATASHEET.md", [datasheet(content).encode()]
    yield "METHODS.md", [methods(content).encode()]
    yield "README.md", [data_card(content, _configs(tables)).encode()]


def _configs(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[str]]:
    """Which tables load together: those with the same columns."""
    items = [name for name in tables if name != VOTES]
    return {"items": items} | ({VOTES: [VOTES]} if VOTES in tables else {})


def _table(form: str, rows: Sequence[Row], *, votes: bool) -> Iterator[bytes]:
    columns = list(rows[0])
    cells: Iterable[list[Cell]] = ([row[name] for name in columns] for row in rows)
    return write_table(form, columns, cells, numeric=NUMERIC_VOTES if votes else NUMERIC, mark=False)


def _json(document: Mapping[str, Any]) -> list[bytes]:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True)
    return [f"{text}\n".encode()]


def _write(folder: Path, path: str, chunks: Iterable[bytes]) -> Written:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
    return Written(path=path, sha256=digest.hexdigest(), size=size)
