"""JSON, read strictly: what the format leaves open is refused.

An object (at any depth) that names a member twice, NaN and Infinity (1e999 too) are no JSON here. A number stays as it
is written ("3.10" stays "3.10"): it is a text that remembers to have been a number.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from math import isinf
from typing import Any

from annotation.formats.cells import excerpt
from annotation.formats.errors import FormatError
from annotation.protocol.sentences import say

HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")  # what an escape can say, and no file or database can hold
HALF_PAIR = say("The text holds half of a surrogate pair (such as \\ud83d alone), which is no character.")
_BLANK = " \t\r\n"


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def is_text(value: object) -> bool:
    """Whether a value was a text, and no number."""
    return isinstance(value, str) and not isinstance(value, Number)


class JsonError(ValueError):
    """What is wrong with a JSON text, as a sentence; `at` is the place in it, None where it is not known."""

    def __init__(self, message: str, *, at: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class SyntaxFault(JsonError):
    """The text is no JSON; `reason` is the part of a sentence that says why."""

    def __init__(self, reason: str, *, at: int) -> None:
        super().__init__(reason, at=at)


def parse(text: str) -> Any:
    """The value that a whole text holds; JsonError where it holds none, or one that other programs read otherwise.

    >>> parse('{"a": 1.50}')["a"]
    '1.50'
    >>> parse('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    annotation.formats.strict_json.JsonError: The object names the member “a” twice.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise SyntaxFault(_reason(error.msg, error.pos + 1), at=error.pos) from None
    except RecursionError:
        raise JsonError(say("The line holds lists or objects nested too deeply.")) from None


def array_elements(text: str) -> Iterator[tuple[int, Any]]:
    """The elements of a text that is one list, each with the line on which it begins; FormatError with the line of
    the first place that cannot be read.

    >>> list(array_elements('[1,\\n {"a": "b"}]'))
    [(1, '1'), (2, {'a': 'b'})]
    """
    at, line, counted = _after_blanks(text, 0), 1, 0
    if text[at : at + 1] != "[":
        raise FormatError(say("The file is not a JSON list: [{{…}}, {{…}}]."), line=_line_of(text, at))
    at = _after_blanks(text, at + 1)
    while text[at : at + 1] != "]":
        line += text.count("\n", counted, at)
        counted = at
        value, at = _element(text, at, line)
        yield line, value
        at = _after_blanks(text, at)
        if text[at : at + 1] == ",":
            at = _after_blanks(text, at + 1)
            if text[at : at + 1] == "]":
                raise FormatError(say("A comma stands before the end of the list."), line=_line_of(text, at))
        elif text[at : at + 1] != "]":
            raise FormatError(
                say("A comma or the end of the list is missing."), line=_line_of(text, min(at, len(text)))
            )
    at = _after_blanks(text, at + 1)
    if at < len(text):
        raise FormatError(say("Something follows the end of the list."), line=_line_of(text, at))


def _element(text: str, at: int, line: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        place = error.pos - text.rfind("\n", 0, error.pos)
        raise FormatError(
            say("The JSON cannot be read: {reason}.", reason=_reason(error.msg, place)),
            line=_line_of(text, error.pos),
        ) from None
    except JsonError as error:
        raise FormatError(error.message, line=line) from None
    except RecursionError:
        raise FormatError(say("The line holds lists or objects nested too deeply."), line=line) from None


def _after_blanks(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _BLANK:
        at += 1
    return at


def _line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


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
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, n in counts.items() if n > 1)
        raise JsonError(say("The object names the member “{twice}” twice.", twice=excerpt(twice)))
    return members


def _number(written: str) -> Number:
    """A number as it is written; one too large to be any number would be read as Infinity by the next program."""
    if isinf(float(written)):
        raise JsonError(
            say("The line holds {number}, which is larger than any number can be.", number=excerpt(written))
        )
    return Number(written)


def _refuse_constant(constant: str) -> None:
    raise JsonError(
        say(
            "The line holds {constant}, which is not a number in JSON. Use null where there is no value.",
            constant=constant,
        )
    )


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=Number, parse_float=_number, parse_constant=_refuse_constant
)
