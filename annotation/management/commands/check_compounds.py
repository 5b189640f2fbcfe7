"""Check a compositional test set before anyone translates or judges it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandParser

from annotation.formats.compound_sets import read_inventory_file, read_paired, read_sentences, read_set
from annotation.formats.errors import FormatError
from annotation.management.base import AssayCommand, Outcome, counted, unusable
from annotation.protocol.compound import ATOMS
from annotation.protocol.compound_set import CompoundSet, SetRow, check_compound_set

T = TypeVar("T")

SHOWN = 50  # violations in the summary for people
TABLES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".xlsx", ".xlsm")
SENTENCES = "If the file holds sentences, one a line, name the file of their compounds with --compounds."


class Command(AssayCommand):
    """`check_compounds FILE`"""

    help = (
        "Check a set of compounds in contexts: patterns, number of contexts, compounds in their sources and absent "
        "from a training text, atoms and contexts known to it; exit 1 where something is violated."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "set", type=Path, metavar="FILE", help="a table with compound and source; or sources, one a line"
        )
        parser.add_argument(
            "--compounds", type=Path, help="the compound of each line, where FILE holds sources"
        )
        parser.add_argument(
            "--inventory", type=Path, help="atoms, patterns and languages (JSON); CoGnition's if none"
        )
        parser.add_argument(
            "--training", type=Path, help="training sentences of the source language, one a line"
        )
        parser.add_argument(
            "--contexts", type=Path, help="known contexts, one a line, with ___ for the compound"
        )

    def run(self, **options: Any) -> Outcome:
        try:
            return self._checked(options)
        except _Unusable as error:
            return unusable([error.issue], hint=error.hint)

    def _checked(self, options: dict[str, Any]) -> Outcome:
        inventory = _read(options["inventory"], read_inventory_file) if options["inventory"] else ATOMS
        training = _sentences(options["training"])
        found = check_compound_set(
            _rows(options["set"], options["compounds"]),
            inventory=inventory,
            training=training,
            pool=_sentences(options["contexts"]),
            progress=lambda n: self.stderr.write(f"{n:,} training sentences read …"),
        )
        return Outcome(
            _document(found, options["set"].name, inventory.name),
            _summary(found, options["set"].name),
            ok=found.ok,
        )


def _rows(path: Path, compounds: Path | None) -> list[SetRow]:
    if compounds is None:
        return _read(
            path,
            lambda data: read_set(data, name=path.name),
            hint="" if _is_called_a_table(path) else SENTENCES,
        )
    names = _bytes(compounds)
    return _read(path, lambda data: read_paired(data, names))


def _is_called_a_table(path: Path) -> bool:
    return path.suffix.lower() in TABLES


def _sentences(path: Path | None) -> list[str] | None:
    return None if path is None else _read(path, lambda data: list(read_sentences(data)))


class _Unusable(Exception):
    """A file cannot be read; says which and where."""

    def __init__(self, path: Path, error: FormatError, hint: str) -> None:
        super().__init__(str(error))
        self.issue = {"file": path.name, **error.as_issue().as_json()}
        self.hint = hint


def _read(path: Path, read: Callable[[bytes], T], *, hint: str = "") -> T:
    try:
        return read(_bytes(path))
    except FormatError as error:
        raise _Unusable(path, error, hint) from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"The file “{path}” cannot be opened: {error.strerror}.") from None


def _document(found: CompoundSet, name: str, inventory: str) -> dict[str, Any]:
    return {
        "file": name,
        "inventory": inventory,
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
                "message": str(violation.message),
            }
            for violation in found.violations
        ],
    }


def _summary(found: CompoundSet, name: str) -> str:
    lines = [
        f"{counted(found.compounds, 'compound')} in {counted(found.contexts, 'context')}, "
        f"{counted(sum(1 for pattern in found.patterns if pattern), 'pattern')}."
    ]
    if found.not_checked:
        lines.append(f"Not checked, for there is no training text: {', '.join(found.not_checked)}.")
    if found.ok:
        return "\n".join([*lines, "Nothing is violated."])
    lines.append(f"{counted(len(found.violations), 'violation')}:")
    lines += [f"{name}, line {one.line}: {one.rule}: {one.message}" for one in found.violations[:SHOWN]]
    if len(found.violations) > SHOWN:
        lines.append(f"… and {len(found.violations) - SHOWN} more; --json lists all.")
    return "\n".join(lines)
