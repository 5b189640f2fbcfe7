"""What all commands share: a short summary for people, or one JSON document for programs.

Exit 0: done. 1: the input is bad; a plain sentence says where. 2: the command was called wrongly.
"""

import errno
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, OperationalError, connection

from annotation.formats.errors import FormatError, MissingColumns
from annotation.models import Campaign, User
from annotation.permissions import ARCHIVED
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import OutOfRange, Refused


class Usage(Exception):
    """The command was called in a way that cannot work; `message` says what would."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True)
class Outcome:
    """What a command came to: the document for programs, the summary for people, and whether it was done."""

    document: dict[str, Any]
    summary: str
    ok: bool = True
    notes: list[str] = field(default_factory=list)  # for people, on stderr
    silent: bool = False  # stdout holds the document already


def number(text: str) -> float:
    """A number of the command line; what is none, or endless, is a wrong call."""
    found = float(text)
    if not isfinite(found):
        raise ValueError(text)
    return found


def asks_for_json(argv: Sequence[str]) -> bool:
    """Whether a command line asks for a document, as far as it can be told while it may be a wrong one."""
    return (
        "--json" in argv
        or "--format=json" in argv
        or any(pair == ("--format", "json") for pair in pairwise(argv))
    )


class AssayCommand(BaseCommand):
    """A command that works in the foreground; it needs neither broker nor worker, and no pages either."""

    requires_system_checks: list[str] = []  # they read all addresses; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--json", action="store_true", help="one JSON document on stdout and nothing else"
        )

    def run(self, **options: Any) -> Outcome:
        """Do the work; raise FormatError, ProtocolError or Refused for bad input, Usage for a wrong call."""
        raise NotImplementedError(f"{type(self).__module__} does not say what it does")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            outcome = self.run(**options)
        except Usage as error:
            self._fail(error_document(error.message), error.message, options, code=2)
        except (FormatError, ProtocolError, Refused) as error:
            document, sentence = _told(error, options)
            self._fail(document, sentence, options, code=2 if isinstance(error, OutOfRange) else 1)
        except (DatabaseError, OSError) as error:
            sentence = _out_of_order(error)
            if not sentence:
                raise
            self._fail(error_document(sentence), sentence, options, code=1)
        else:
            for note in outcome.notes:
                self.stderr.write(note)
            if outcome.silent:
                return
            if outcome.ok:
                self.stdout.write(_dump(outcome.document) if options["json"] else outcome.summary)
            else:
                self._end(outcome.document, outcome.summary, as_json=options["json"], code=1)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """The parser, which tells programs of a wrong call in their document too."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        usual: Callable[[str], NoReturn] = parser.error

        def error(message: str) -> NoReturn:
            if self._as_json:
                self.stdout.write(_dump(self.nothing_done({}) | error_document(f"Wrong call: {message}.")))
            usual(message)

        parser.error = error  # type: ignore[method-assign]
        return parser

    _as_json = False  # known before the arguments are read only where they came from a shell

    def run_from_argv(self, argv: list[str]) -> None:
        self._as_json = asks_for_json(argv)
        super().run_from_argv(argv)

    def nothing_done(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of the command's document where nothing came of it, beside its errors; `options` may lack any."""
        return {}

    def _fail(
        self, errors: dict[str, Any], sentence: str, options: Mapping[str, Any], *, code: int
    ) -> NoReturn:
        document = self.nothing_done(options) | errors
        self._end(document, sentence, as_json=options["json"], code=code)

    def _end(self, document: dict[str, Any], sentence: str, *, as_json: bool, code: int) -> NoReturn:
        if as_json:
            self.stdout.write(_dump(document))
        self.stderr.write(sentence)
        sys.exit(code)


_NO_SUCH = {"no such table": "table", "no such column": "column", "42P01": "table", "42703": "column"}
_DISK_FULL = "53100"  # PostgreSQL; SQLite says it in words


def _out_of_order(error: DatabaseError | OSError) -> str:
    """What whoever runs the machine can do about the database or its disk; empty where the fault is the program's."""
    said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    state = getattr(error.__cause__, "pgcode", None) or ""
    lacks = next((kind for sign, kind in _NO_SUCH.items() if sign == state or said.startswith(sign)), None)
    if lacks and isinstance(error, DatabaseError):
        sqlite = connection.vendor == "sqlite"
        place = (
            f"data folder {settings.DATA_DIR}" if sqlite else f"database {connection.settings_dict['NAME']}"
        )
        what = "has no tables yet" if lacks == "table" else "is of an older version"
        variable = "ASSAY_DATA_DIR" if sqlite else "DATABASE_URL"
        return f"The {place} {what}; run `manage.py migrate`, or is {variable} not set?"
    full = "full" in said or state == _DISK_FULL or getattr(error, "errno", None) == errno.ENOSPC
    if full:
        return f"The disk is full ({said}). Nothing half done is visible; free space and repeat."
    if isinstance(error, OperationalError):
        return f"The database said: {said}. Nothing half done is visible; mend that and repeat."
    return ""


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)


def _told(
    error: FormatError | ProtocolError | Refused, options: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """What is wrong, for programs and for people; `options` are those of the command."""
    if isinstance(error, FormatError) and not isinstance(error, MissingColumns):
        return error_document(error.message, line=error.line, column=error.column), str(error)
    decisive = () if isinstance(error, ProtocolError) else error.options
    sentence = _with_flags(error.message, [name for name in decisive if name in options])
    return error_document(sentence), sentence


def _with_flags(sentence: str, options: Iterable[str]) -> str:
    """The sentence with the options that decide it, as they are given to a command."""
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in options)
    return f"{sentence.removesuffix('.')}. See {flags}." if flags else sentence


def error_document(
    message: str, *, line: int | None = None, column: str | None = None
) -> dict[str, list[dict[str, Any]]]:
    """One error in the shape in which files report theirs."""
    return {"errors": [{"line": line, "column": column, "message": message}]}


def write_output(name: str, chunks: Iterable[bytes]) -> None:
    """Write a file under a name of its own first, so that a failure leaves no half file behind."""
    path = Path(name)
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("wb") as file:
            file.writelines(chunks)
        draft.replace(path)
    except OSError as error:
        raise Refused(f"The file “{name}” cannot be written: {error.strerror}.") from None
    finally:
        draft.unlink(missing_ok=True)


def given_paths(names: Sequence[str]) -> list[Path]:
    """The paths a command was given; Usage where one has no name, which would mean the folder it runs in."""
    if not all(name.strip() for name in names):
        raise Usage("The name of a FILE is empty.")
    return [Path(name) for name in names]


def refuse_folder(path: Path) -> None:
    """Usage where a table is read and a folder was named; only files in a shape may come in one."""
    if path.is_dir():
        raise Usage(
            f"“{path}” is a folder: name a file in it, or say with --shape NAME what the folder holds."
        )


def get_campaign(slug: str) -> Campaign:
    """The campaign at this address."""
    campaign = Campaign.objects.filter(slug=slug).first()
    if campaign is None:
        known = ", ".join(Campaign.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise Refused(f"There is no campaign “{slug}”; there are: {known}.")
    return campaign


def account_of(name: str) -> User:
    """The account of this name."""
    try:
        return User.objects.get_by_natural_key(name)
    except User.DoesNotExist:
        raise Refused(f"There is no account “{name}”.") from None


def unmanaged(slug: str) -> str:
    """What is still to be done about a campaign that was opened without a manager."""
    return f"It has no manager yet, so its pages open for nobody: add_member {slug} NAME --role manager"


def changeable_campaign(slug: str, *, stores: bool = True) -> Campaign:
    """The campaign at this address, which the command is about to change; Refused as its pages do where it is archived.

    `stores`: whether anything is stored; a preview only reads.
    """
    campaign = get_campaign(slug)
    if stores and campaign.archived_at is not None:
        raise Refused(ARCHIVED)
    return campaign


def describe_issues(document: dict[str, Any], limit: int = 50) -> list[str]:
    """Errors, conflicts and warnings of an import, a line each."""
    lines = _told_once("error", document["errors"])
    refused = () if document["errors"] else document.get("refusals", ())  # asked for, they are errors
    lines += [f"refused with replace: {_place(issue)}{issue['message']}" for issue in refused]
    lines += [
        f"conflict: {conflict['key']}: {conflict['field']} is “{_short(conflict['old'])}” in the campaign, "
        f"“{_short(conflict['new'])}” in the file"
        for conflict in document["conflicts"]
    ]
    lines += _told_once("warning", document["warnings"])
    if document.get("other_patterns"):
        lines.append(_other_patterns(document["other_patterns"]))
    if document["unknown_columns"]:
        lines.insert(0, f"columns not used: {_first_names(document['unknown_columns'])}")
    return lines if len(lines) <= limit else [*lines[:limit], f"… and {len(lines) - limit} more (see --json)"]


_SAME = 5  # places at which a sentence is repeated; in more of them it is told once, with their number


def _told_once(kind: str, issues: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each issue; for many places with one sentence, the first of them and how many there are."""
    same: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for issue in issues:
        same.setdefault((issue.get("file"), issue["column"], issue["message"]), []).append(issue)
    lines = []
    for found in same.values():
        shown = found if len(found) <= _SAME else found[:1]
        lines += [f"{kind}: {_place(issue)}{issue['message']}" for issue in shown]
        if len(found) > len(shown):
            lines[-1] += f" The same at {len(found) - 1:,} more places."
    return lines


def _first_names(names: list[str], limit: int = 20) -> str:
    more = f" … and {len(names) - limit} more (see --json)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _other_patterns(compounds: list[str], limit: int = 10) -> str:
    names = ", ".join(f"“{_short(name)}”" for name in compounds[:limit])
    more = f" and {len(compounds) - limit} more" if len(compounds) > limit else ""
    return f"warning: no known pattern, so tables by pattern show them as “other”: {names}{more}."


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 item, 2 items."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def unusable(issues: Sequence[Mapping[str, Any]], *, hint: str = "", limit: int = 50) -> Outcome:
    """What a command came to that could not use its files: every place in them, with its file."""
    lines = _told_once("error", issues)
    lines = [*lines[:limit], f"… and {len(lines) - limit} more (see --json)"] if len(lines) > limit else lines
    lines += [hint] if hint else []
    return Outcome({"errors": [dict(issue) for issue in issues]}, "\n".join(lines), ok=False)


def _place(issue: Mapping[str, Any]) -> str:
    """Where in which file it is; the file only where it is named."""
    where = [issue["file"]] if issue.get("file") else []
    where += [f"line {issue['line']}"] if issue["line"] is not None else []
    where += [f"column “{issue['column']}”"] if issue["column"] is not None else []
    return f"{', '.join(where)}: " if where else ""


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}…"
