"""Check a compositional test set before anyone translates or judges it."""

from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.errors import FormatError
from annotation.management.base import AssayCommand, Outcome, counted, unusable
from annotation.services.compound_sets import COMPOUNDS, SET, Document, SentFile, UnusableFile, check_files

SHOWN = 50  # violations in the summary for people
TABLES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".xlsx", ".xlsm")
SENTENCES = "If the file holds sentences, one a line, name the file of their compounds with --compounds."
FILES = (SET, COMPOUNDS, "inventory", "training", "contexts")


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
        paths: dict[str, Path] = {name: options[name] for name in FILES if options[name] is not None}
        files = {name: SentFile(path.name, partial(_bytes, path)) for name, path in paths.items()}
        try:
            found = check_files(
                files, progress=lambda n: self.stderr.write(f"{n:,} training sentences read …")
            )
        except UnusableFile as error:
            issue = {"file": error.file.name, **error.error.as_issue().as_json()}
            return unusable([issue], hint=_hint(error.what, paths))
        return Outcome(found, _summary(found), ok=found["ok"])


def _hint(what: str, paths: dict[str, Path]) -> str:
    is_text = paths[SET].suffix.lower() not in TABLES
    return SENTENCES if what == SET and COMPOUNDS not in paths and is_text else ""


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"The file “{path}” cannot be opened: {error.strerror}.") from None


def _summary(found: Document) -> str:
    n_patterns = sum(1 for pattern in found["patterns"] if pattern)
    lines = [
        f"{counted(found['compounds'], 'compound')} in {counted(found['contexts'], 'context')}, "
        f"{counted(n_patterns, 'pattern')}."
    ]
    if found["not_checked"]:
        lines.append(f"Not checked, for there is no training text: {', '.join(found['not_checked'])}.")
    violations = found["violations"]
    if not violations:
        return "\n".join([*lines, "Nothing is violated."])
    lines.append(f"{counted(len(violations), 'violation')}:")
    lines += [
        f"{found['file']}, line {one['line']}: {one['rule']}: {one['message']}" for one in violations[:SHOWN]
    ]
    if len(violations) > SHOWN:
        lines.append(f"… and {len(violations) - SHOWN} more; --json lists all.")
    return "\n".join(lines)
