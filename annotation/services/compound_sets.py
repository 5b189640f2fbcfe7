"""Checking a compositional test set against what was given with it: the files read, the rules asked.

Nothing of it is stored in a campaign: it is looked at before anybody translates or judges.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from annotation.formats.compound_sets import read_inventory_file, read_paired, read_sentences, read_set
from annotation.formats.errors import FormatError
from annotation.formats.writers import Cell
from annotation.protocol.compound import ATOMS
from annotation.protocol.compound_set import CompoundSet, SetRow, check_compound_set
from annotation.services.sentences import message_of, with_sentence

T = TypeVar("T")
Document = dict[str, Any]

# A file by what it is: the set, its compounds where it holds sentences, and what it is checked against.
SET, COMPOUNDS, INVENTORY, TRAINING, CONTEXTS = "set", "compounds", "inventory", "training", "contexts"
UPLOAD = "compound_set"
COLUMNS = ("rule", "line", "compound", "message")


@dataclass(frozen=True)
class SentFile:
    """One file: its name, and how to get at its bytes; a FormatError where it cannot be opened."""

    name: str
    read: Callable[[], bytes]


class UnusableFile(Exception):
    """One of the files cannot be read; says which and where."""

    def __init__(self, what: str, file: SentFile, error: FormatError) -> None:
        super().__init__(f"{file.name}: {error}")
        self.what = what
        self.file = file
        self.error = error


def check_files(
    files: Mapping[str, SentFile], *, progress: Callable[[int], None] = lambda sentences: None
) -> Document:
    """What the check of these files came to. Raises UnusableFile."""
    inventory = _read(files, INVENTORY, read_inventory_file) or ATOMS
    rows = _rows(files)
    found = check_compound_set(
        rows,
        inventory=inventory,
        training=_read(files, TRAINING, _sentences),
        pool=_read(files, CONTEXTS, _sentences),
        progress=progress,
    )
    return {"file": files[SET].name, "inventory": inventory.name, **_document(found)}


def _rows(files: Mapping[str, SentFile]) -> list[SetRow]:
    names = files.get(COMPOUNDS)
    if names is None:
        return _read(files, SET, lambda data: read_set(data, name=files[SET].name)) or []
    compounds = _read(files, COMPOUNDS, bytes) or b""
    return _read(files, SET, lambda data: read_paired(data, compounds)) or []


def _sentences(data: bytes) -> list[str]:
    return list(read_sentences(data))


def _read(files: Mapping[str, SentFile], what: str, read: Callable[[bytes], T]) -> T | None:
    """None where there is no such file."""
    file = files.get(what)
    if file is None:
        return None
    try:
        return read(file.read())
    except FormatError as error:
        raise UnusableFile(what, file, error) from None


def _document(found: CompoundSet) -> Document:
    return {
        "ok": found.ok,
        "compounds": found.compounds,
        "contexts": found.contexts,
        "patterns": found.patterns,
        "training_sentences": found.sentences,
        "pool": found.pool,
        "not_checked": list(found.not_checked),
        "violations": [
            {
                "rule": violation.rule,
                "line": violation.line,
                "compound": violation.compound,
                "message": violation.message,
            }
            for violation in found.violations
        ],
    }


def kept(document: Document) -> Document:
    """The document as it is kept until somebody reads it, its sentences ready for any language."""
    return {**document, "violations": [with_sentence(one) for one in document["violations"]]}


def table_of(kept_document: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    """All violations in the columns `COLUMNS`, in the language that is active."""
    for one in kept_document["violations"]:
        yield one["rule"], one["line"], one["compound"], message_of(one)
