"""JSON Lines: one object a line, a line ending at LF (or CRLF) only, so that U+2028 and its like stay in the text.

Every value becomes text: a number as it is written ("3.10" stays "3.10"), true and false as those words, null
and an absent member as no value. What JSON leaves open is refused: an object (at any depth) that names a member
twice, NaN and Infinity (1e999 too), lone surrogates.
"""

import json
import re
from collections.abc import Iterator
from math import isinf
from typing import Any

from annotation.formats.cells import excerpt, is_blank
from annotation.formats.decoding import Encoding, text_stream
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.rows import Row, Table
from annotation.protocol.sentences import say

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONSTANT_NAMES = {True: "true", False: "false"}


class _LineError(ValueError):
    """What is wrong with one line, as a sentence."""


def read_jsonl(data: bytes, encoding: Encoding, *, name: str) -> Table:
    """The table of a JSONL file; its header is every member's name in the order of first appearance.

    The file is held in memory, since the last line may bring a new name.
    """
    records = list(_records(text_stream(data, encoding, newline="\n")))
    first_lines: dict[str, int] = {}
    for line, found in records:
        for name_found in found if isinstance(found, dict) else ():
            first_lines.setdefault(name_found, line)
    names = tuple(first_lines)
    if not records:
        raise FormatError(say("The file is empty."))
    if not names:
        line, found = records[0]
        raise FormatError(
            found.message if isinstance(found, RowIssue) else say("The objects are empty."), line=line
        )
    return Table(
        name,
        "jsonl",
        encoding.name,
        None,
        names,
        _rows(records, names),
        header_lines=tuple(first_lines.values()),
    )


def _records(lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any] | RowIssue]]:
    for number, line in enumerate(lines, start=1):
        if is_blank(line):
            continue
        try:
            yield number, _parse(line.rstrip("\r\n"))
        except _LineError as error:
            yield number, RowIssue(number, None, error.args[0])


def _parse(line: str) -> dict[str, Any]:
    try:
        found = json.loads(
            line,
            object_pairs_hook=_unique,
            parse_int=str,
            parse_float=_number,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise _LineError(
            say(
                "The line is not a JSON object: {reason}. Write one object a line.",
                reason=_reason(error.msg, error.pos + 1),
            )
        ) from None
    except RecursionError:
        raise _LineError(say("The line holds lists or objects nested too deeply.")) from None
    if not isinstance(found, dict):
        raise _LineError(
            say("The line is valid JSON but no object. Write one object a line: {{“name”: value, …}}.")
        )
    return found


def _reason(said: str, place: int) -> str:
    """What Python's reader said, in words for people; `place` counts the line's characters from 1."""
    known = {
        "Invalid control character": say(
            "at character {place} a text holds a tab or another control character, which is written as an escape",
            place=place,
        ),
        "Invalid \\": say("at character {place} stands an escape that JSON does not have", place=place),
        "Unterminated string": say("the text that begins at character {place} has no end", place=place),
        "Expecting value": say("at character {place} a value is missing", place=place),
        "Expecting property name": say(
            "at character {place} a name in double quotes is missing", place=place
        ),
        "Expecting ':'": say("at character {place} a colon is missing", place=place),
        "Expecting ','": say("at character {place} a comma is missing", place=place),
        "Extra data": say("at character {place} something follows the object", place=place),
    }
    found = next((sentence for beginning, sentence in known.items() if said.startswith(beginning)), None)
    return found or say("at character {place} it cannot be read ({said})", place=place, said=said)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _LineError(say("The object names the member “{twice}” twice.", twice=excerpt(twice)))
    return members


def _number(written: str) -> str:
    """A number as it is written; one too large to be any number would be read as Infinity by the next program."""
    if isinf(float(written)):
        raise _LineError(
            say("The line holds {number}, which is larger than any number can be.", number=excerpt(written))
        )
    return written


def _refuse_constant(constant: str) -> None:
    raise _LineError(
        say(
            "The line holds {constant}, which is not a number in JSON. Use null where there is no value.",
            constant=constant,
        )
    )


def _rows(records: list[tuple[int, dict[str, Any] | RowIssue]], names: tuple[str, ...]) -> Iterator[Row]:
    for line, found in records:
        if isinstance(found, RowIssue):
            yield Row(line, (), problems=(found,))
            continue
        values = [found.get(name) for name in names]
        cells = tuple(_text(value) for value in values)
        if all(map(is_blank, cells)):
            continue
        nested = tuple(i for i, value in enumerate(values) if isinstance(value, list | dict))
        yield Row(line, cells, nested, tuple(_surrogates(line, names, cells)))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _CONSTANT_NAMES[value]
    return json.dumps(value, ensure_ascii=False)


def _surrogates(line: int, names: tuple[str, ...], cells: tuple[str | None, ...]) -> Iterator[RowIssue]:
    for name, cell in zip(names, cells, strict=True):
        if cell and not cell.isascii() and _SURROGATE.search(cell):
            message = say(
                "The text holds half of a surrogate pair (such as \\ud83d alone), which is no character."
            )
            yield RowIssue(line, excerpt(name), message)
