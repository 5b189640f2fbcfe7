"""Single cells: which are blank, how a message quotes them, which number they hold."""

import re
from math import isfinite

from annotation.protocol.text import ZERO_WIDTH, fold_key

# White space of every script (none stands above U+3000) and the characters that take no room.
_BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + "".join(ZERO_WIDTH)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE_NUMBER = re.compile(r"\+?([0-9]{1,9})(?:\.0*)?")

QUOTED_LENGTH = 120


def is_blank(text: str | None) -> bool:
    """Whether a cell holds nothing that could be seen: no text, spaces of any kind, zero-width characters."""
    return not text or not text.strip(_BLANKS)


def fold_header(name: str) -> str:
    """A column name as it is compared: trimmed of every kind of space, and without regard to case."""
    return fold_key(fold_key(name).casefold())


def excerpt(text: str, limit: int = QUOTED_LENGTH) -> str:
    """`text` as a message quotes it: its first `limit` characters, whatever cannot be seen written as an escape.

    >>> excerpt("a\\x00b\\u200b")
    'a\\\\x00b\\\\u200b'
    >>> len(excerpt("x" * 2_000_000))
    121
    """
    shown = text[:limit]
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else _escape(c) for c in shown)
    if len(shown) > limit or len(text) > limit:
        return shown[:limit] + "…"
    return shown


def whole_number(text: str) -> int | None:
    """The whole number a cell means ("3", "３", "3.0", " 3 "), None where it means anything else."""
    found = _WHOLE_NUMBER.fullmatch(fold_key(text))
    return int(found[1]) if found else None


def finite_number(text: str) -> float | None:
    """The number a cell means ("0.73", "1e-3", " 1 "), None where it means anything else."""
    folded = fold_key(text)
    number = float(folded) if _NUMBER.fullmatch(folded) else None
    return number if number is not None and isfinite(number) else None


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
