"""What changed between two texts, for reading: lines that went and came, and the words inside a line.

Words are what difflib compares: a run of letters and digits, one Chinese character, or one sign.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

SAME, ADDED, REMOVED, CHANGED, GAP = "same", "added", "removed", "changed", "gap"
CONTEXT = 1  # lines shown before and after what changed
ALIKE = 0.4  # two lines at least so alike are one line that was changed
LONGEST = 2000  # words of a line; a longer one is shown as gone and come

_WORD = re.compile(r"\s+|[\u3400-\u9fff\uf900-\ufaff]|\w+?(?=[\u3400-\u9fff\uf900-\ufaff])|\w+|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """A stretch of a line: same, added or removed."""

    kind: str
    text: str


@dataclass(frozen=True)
class Line:
    """A line as it is shown; a gap stands for lines that are the same in both texts."""

    kind: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """All of it, what went and what came too."""
        return "".join(piece.text for piece in self.pieces)


def difference(before: str, after: str) -> tuple[Line, ...]:
    """The lines that differ, each with a line around them; nothing where the texts are the same.

    >>> [(line.kind, line.text) for line in difference("one\\ntwo\\nthree", "one\\ntwo\\nthree\\nfour")]
    [('gap', ''), ('same', 'three'), ('added', 'four')]
    >>> changed = difference("It rains often.", "It rains always.")[0]
    >>> [(piece.kind, piece.text) for piece in changed.pieces]
    [('same', 'It rains '), ('removed', 'often'), ('added', 'always'), ('same', '.')]
    """
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        return ()
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(
        line
        for place, step in enumerate(steps)
        for line in _lines(step, old, new, first=place == 0, last=place == len(steps) - 1)
    )


def _lines(
    step: tuple[str, int, int, int, int], old: Sequence[str], new: Sequence[str], *, first: bool, last: bool
) -> Iterator[Line]:
    kind, from_old, to_old, from_new, to_new = step
    gone, come = old[from_old:to_old], new[from_new:to_new]
    if kind == "equal":
        yield from _around(come, first=first, last=last)
        return
    for left, right in zip_longest(gone, come):
        if left is None or right is None:
            yield _whole(ADDED, right) if left is None else _whole(REMOVED, left)
        elif pieces := _words(left, right):
            yield Line(CHANGED, pieces)
        else:
            yield _whole(REMOVED, left)
            yield _whole(ADDED, right)


def _around(lines: Sequence[str], *, first: bool, last: bool) -> Iterator[Line]:
    head = 0 if first else CONTEXT
    tail = 0 if last else CONTEXT
    if len(lines) <= head + tail:
        yield from (_whole(SAME, line) for line in lines)
        return
    yield from (_whole(SAME, line) for line in lines[:head])
    yield Line(GAP, ())
    yield from (_whole(SAME, line) for line in lines[len(lines) - tail :])


def _words(before: str, after: str) -> tuple[Piece, ...]:
    """The line with what went and came in it; nothing where the two have too little in common."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > LONGEST:
        return ()
    if SequenceMatcher(None, _without_blanks(old), _without_blanks(new), autojunk=False).ratio() < ALIKE:
        return ()
    return tuple(_pieces(SequenceMatcher(None, old, new, autojunk=False), old, new))


def _without_blanks(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.isspace()]


def _pieces(matcher: "SequenceMatcher[str]", old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    for kind, from_old, to_old, from_new, to_new in matcher.get_opcodes():
        if kind == "equal":
            yield Piece(SAME, "".join(new[from_new:to_new]))
            continue
        if to_old > from_old:
            yield Piece(REMOVED, "".join(old[from_old:to_old]))
        if to_new > from_new:
            yield Piece(ADDED, "".join(new[from_new:to_new]))


def _whole(kind: str, text: str) -> Line:
    return Line(kind, (Piece(kind, text),))
