#!/usr/bin/env python
"""The Chinese of every page: `messages.py update | compile | check`. Needs no gettext tools.

update   brings locale/…/django.po up to date with the code; new messages wait there for their Chinese
compile  writes django.mo, which is what the site reads and what is committed
check    says what is missing, unsure, out of step or inconsistent, and fails then
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polib  # type: ignore[import-untyped]
from django.utils.translation.template import templatize

BASE = Path(__file__).resolve().parent.parent
CATALOGUE = BASE / "locale/zh_Hans/LC_MESSAGES/django.po"
FOLDERS = ("annotation", "scoring", "config", "templates")
METADATA = {
    "Project-Id-Version": "Assay",
    "Language": "zh_Hans",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
    "Plural-Forms": "nplurals=1; plural=0;",
}

# Which arguments of a call are the context, the message and its plural.
CALLS = {"_": "m", "gettext": "m", "ngettext": "mp", "pgettext": "cm", "npgettext": "cmp"}
# The rooms without Django mark theirs by these; see annotation/protocol/sentences.py.
CALLS |= {"say": "m", "say_count": "mp"}
SUFFIXES = ("_lazy", "_noop")
# A stored message may be translated by its name, where the code marks it elsewhere with gettext_noop.
NAMES = (ast.Name, ast.Attribute, ast.Subscript)
LITERAL = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
TEMPLATE_CALL = re.compile(rf"(?<!\w)(_|n?p?gettext)\(\s*({LITERAL}(?:\s*,\s*{LITERAL})*)")
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[srd]|\{\w*\}")


@dataclass(frozen=True)
class Message:
    """One message of the code, told apart from others as gettext does."""

    text: str
    plural: str = ""
    context: str | None = None
    files: list[str] = field(default_factory=list, compare=False)


class MessageError(Exception):
    """A call that no catalogue can translate; says where it stands."""


def messages(base: Path = BASE) -> list[Message]:
    """Every message of the code, in the order of files."""
    found: dict[Message, Message] = {}
    for path in source_files(base):
        name = path.relative_to(base).as_posix()
        source = path.read_text(encoding="utf-8")
        in_file = python_messages(source, name) if path.suffix == ".py" else template_messages(source, name)
        for message in in_file:
            known = found.setdefault(message, message)
            if name not in known.files:
                known.files.append(name)
    return list(found.values())


def source_files(base: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((base / folder).rglob("*")):
            if path.suffix in (".py", ".html", ".txt", ".svg") and "migrations" not in path.parts:
                yield path


def python_messages(source: str, name: str) -> Iterator[Message]:
    """The messages of a Python file: calls of gettext and its kin with literal texts."""
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.Call) and (shape := call_shape(node.func)):
            arguments = node.args[: len(shape)]
            if len(arguments) == len(shape) and all(is_text(argument) for argument in arguments):
                yield as_message(shape, [str(ast.literal_eval(argument)) for argument in arguments])
            elif not any(isinstance(argument, NAMES) for argument in arguments):
                raise MessageError(f"{name}:{node.lineno}: a message must be written out, not computed.")


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def call_shape(function: ast.expr) -> str:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return CALLS.get(name, "")


def template_messages(source: str, name: str) -> Iterator[Message]:
    """The messages of a template, which Django rewrites as calls."""
    for call in TEMPLATE_CALL.finditer(templatize(source, origin=name)):
        yield as_message(CALLS[call[1]], list(ast.literal_eval(f"({call[2]},)")))


def as_message(shape: str, texts: list[str]) -> Message:
    part = dict(zip(shape, texts, strict=False))
    return Message(part["m"], part.get("p", ""), part.get("c"))


def load(path: Path = CATALOGUE) -> polib.POFile:
    catalogue = polib.pofile(str(path)) if path.exists() else polib.POFile()
    catalogue.wrapwidth = 110
    return catalogue


def key(entry: polib.POEntry) -> tuple[str, str, str | None]:
    return entry.msgid, entry.msgid_plural, entry.msgctxt


def merged(old: polib.POFile, wanted: list[Message]) -> polib.POFile:
    """The wanted messages with the translations there are; what the code no longer says is kept as obsolete."""
    known = {key(entry): entry for entry in old}
    new = polib.POFile(wrapwidth=110)
    new.metadata = dict(METADATA)
    for message in wanted:
        entry = known.pop((message.text, message.plural, message.context), None)
        if entry is None:
            plurals = {0: ""} if message.plural else {}
            entry = polib.POEntry(
                msgid=message.text,
                msgid_plural=message.plural,
                msgctxt=message.context,
                msgstr_plural=plurals,
            )
        entry.obsolete = False
        entry.occurrences = [(file, "") for file in message.files]
        entry.flags = [flag for flag in entry.flags if flag == "fuzzy"]
        if "%(" in message.text:
            entry.flags.append("python-format")
        new.append(entry)
    for entry in known.values():
        if entry.msgstr or any(entry.msgstr_plural.values()):
            entry.obsolete = True
            entry.occurrences = []
            new.append(entry)
    return new


def problems(catalogue: polib.POFile, compiled: bytes, wanted: list[Message]) -> list[str]:
    """What keeps the pages from being wholly Chinese, one line each."""
    found = []
    current = {key(entry): entry for entry in catalogue if not entry.obsolete}
    for message in wanted:
        entry = current.pop((message.text, message.plural, message.context), None)
        if entry is None:
            found.append(f"not in the catalogue: {message.text!r} ({', '.join(message.files)})")
        else:
            found.extend(entry_problems(entry))
    found.extend(f"not in the code any more: {entry.msgid!r}" for entry in current.values())
    if catalogue.to_binary() != compiled:
        found.append(f"{CATALOGUE.with_suffix('.mo').name} differs from {CATALOGUE.name}: compile it")
    return found


def entry_problems(entry: polib.POEntry) -> Iterator[str]:
    if entry.fuzzy:
        yield f"unsure (fuzzy): {entry.msgid!r}"
    elif not entry.translated():
        yield f"without Chinese: {entry.msgid!r}"
    else:
        wanted = set(PLACEHOLDER.findall(entry.msgid)) | set(PLACEHOLDER.findall(entry.msgid_plural))
        for text in [entry.msgstr] if not entry.msgid_plural else entry.msgstr_plural.values():
            if set(PLACEHOLDER.findall(text)) != wanted:
                yield f"other placeholders in the Chinese of {entry.msgid!r}: {text!r}"


def main(arguments: list[str]) -> int:
    if arguments not in (["update"], ["compile"], ["check"]):
        sys.stderr.write(__doc__ or "")
        return 2
    try:
        wanted = messages()
    except MessageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if arguments == ["update"]:
        catalogue = merged(load(), wanted)
        catalogue.save(str(CATALOGUE))
        waiting = len(catalogue.untranslated_entries()) + len(catalogue.fuzzy_entries())
        sys.stdout.write(f"{len(wanted)} messages, {waiting} wait for their Chinese in {CATALOGUE.name}\n")
        return 0
    compiled = CATALOGUE.with_suffix(".mo")
    if arguments == ["compile"]:
        load().save_as_mofile(str(compiled))
        return 0
    found = problems(load(), compiled.read_bytes() if compiled.exists() else b"", wanted)
    sys.stdout.write("".join(f"{line}\n" for line in found) or f"{len(wanted)} messages, all in Chinese\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
