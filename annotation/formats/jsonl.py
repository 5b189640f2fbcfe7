"""JSON Lines: one object a line, a line ending at LF (or CRLF) only, so that U+2028 and its like stay in the text.

Every value becomes text: a number as it is written ("3.10" stays "3.10"), true and false as those words, null
and an absent member as no value. What JSON leaves open is refused: an object (at any depth) that names a member
twice, NaN and Infinity (1e999 too), lone surrogates.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from annotation.formats.cells import excerpt, is_blank
from annotation.formats.decoding import Encoding, text_stream
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.rows import Row, Table
from annotation.formats.strict_json import HALF_A_CHARACTER, HALF_PAIR, JsonError, SyntaxFault, parse
from annotation.protocol.sentences import say

_CONSTANT_NAMES = {True: "true", False: "false"}


_ARRAY = say(
    "The line is or begins a JSON array. Write one object a line, without brackets around them and commas between."
)
_LONE_CR = say(
    "The line holds a lone CR, which ends no line here: the whole file may be one line. Save it with LF at the end of "
    "each line."
)


def read_jsonl(data: bytes, encoding: Encoding, *, name: str) -> Table:
    """The table of a JSONL file, which is held in memory, since the last line may bring a new name."""
    records = list(read_objects(text_stream(data, encoding, newline="\n")))
    return object_table(records, name=name, format="jsonl", encoding=encoding.name)


def object_table(
    records: Sequence[tuple[int, dict[str, Any] | RowIssue]],
    *,
    name: str,
    format: str,  # noqa: A002
    encoding: str | None,
) -> Table:
    """The table that objects make, each with its line, or with why it cannot be read; the header is every member's name
    in the order of first appearance.
    """
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
        format,
        encoding,
        None,
        names,
        _rows(records, names),
        header_lines=tuple(first_lines.values()),
    )


def read_objects(lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any] | RowIssue]]:
    """The object on each line that is not blank, or what is wrong with it."""
    for number, line in enumerate(lines, start=1):
        if is_blank(line):
            continue
        try:
            yield number, _parse(line.rstrip("\r\n"))
        except JsonError as error:
            yield number, RowIssue(number, None, error.message)


def _parse(line: str) -> dict[str, Any]:
    try:
        found = parse(line)
    except SyntaxFault as error:
        if line.lstrip().startswith("["):
            raise JsonError(_ARRAY) from None
        if "\r" in line:
            raise JsonError(_LONE_CR) from None
        raise JsonError(
            say("The line is not a JSON object: {reason}. Write one object a line.", reason=error.message)
        ) from None
    if isinstance(found, list) and any(isinstance(one, dict) for one in found):
        raise JsonError(_ARRAY)
    if not isinstance(found, dict):
        raise JsonError(
            say("The line is valid JSON but no object. Write one object a line: {{“name”: value, …}}.")
        )
    return found


def _rows(records: Sequence[tuple[int, dict[str, Any] | RowIssue]], names: tuple[str, ...]) -> Iterator[Row]:
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
        if cell and not cell.isascii() and HALF_A_CHARACTER.search(cell):
            yield RowIssue(line, excerpt(name), HALF_PAIR)
