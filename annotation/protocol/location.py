"""Where a compound stands in a source sentence, whatever tokeniser or editor the sentence went through."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from annotation.protocol.text import ZERO_WIDTH

# A BPE joint with the space it stands for, white space, or one character with its combining accents.
_PIECE = re.compile(r"(?P<joint>(?<=\S)@@\s+)|(?P<space>\s+)|(?s:.)[\u0300-\u036f]*")
_STRAIGHT_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "“": '"', "”": '"'})
_HYPHENS = frozenset("-\u2010\u2011")


@dataclass(frozen=True)
class _Stream:
    """A text without white space, folded. For each character: its code points in the text as given, and
    whether white space stood before it.
    """

    text: str
    spans: list[tuple[int, int]]
    spaced: list[bool]


def locate(compound: str, source: str) -> tuple[int, int] | None:
    """The code points `[start, end)` of the first place where `compound` stands in `source`, else None.

    These make no difference: case, runs of any white space, zero-width characters, curly or straight quotes,
    composed or decomposed accents, and the spaces that tokenisers put around punctuation and before clitics
    ("could n't" is "couldn't", "clerk ," is "clerk,"). Both ends are ends of words: neither "the carpet" nor
    "the car-park" holds "the car", but "the car's door" does. Positions count in the source exactly as
    given, so that `source[start:end]` is what a reader sees marked.

    >>> locate("the clerk , tired", "We met the  Clerk, tired and slow .")
    (7, 24)
    >>> locate("the car", "the carpet and the car 's key")
    (15, 22)
    >>> locate("the sleepy gardener", "the gardener forgot his hat .") is None
    True
    """
    wanted, given = _stream(compound), _stream(source)
    if not wanted.text:
        return None
    at = given.text.find(wanted.text)
    while at >= 0:
        end = at + len(wanted.text)
        if _is_edge(given, at) and _is_edge(given, end) and _same_words(wanted, given, at):
            return given.spans[at][0], given.spans[end - 1][1]
        at = given.text.find(wanted.text, at + 1)
    return None


def _stream(text: str) -> _Stream:
    if text.isascii() and "@@" not in text:
        return _ascii_stream(text)
    characters: list[str] = []
    spans: list[tuple[int, int]] = []
    spaced: list[bool] = []
    space = False
    for piece in _PIECE.finditer(text):
        if piece["joint"] or piece.group() in ZERO_WIDTH:
            continue
        if piece["space"]:
            space = True
            continue
        for character in _folded(piece.group()):
            characters.append(character)
            spans.append(piece.span())
            spaced.append(space)
            space = False
    return _Stream("".join(characters), spans, spaced)


def _ascii_stream(text: str) -> _Stream:
    """The same for plain English, by a shorter way: an import may bring a hundred thousand sentences."""
    places = [i for i, character in enumerate(text) if not character.isspace()]
    folded = text.casefold().translate(_STRAIGHT_QUOTES)
    return _Stream(
        "".join(folded[i] for i in places),
        [(i, i + 1) for i in places],
        [i > 0 and text[i - 1].isspace() for i in places],
    )


@lru_cache(maxsize=4096)
def _folded(piece: str) -> str:
    folded = unicodedata.normalize("NFKC", piece).casefold().translate(_STRAIGHT_QUOTES)
    return unicodedata.normalize("NFC", folded).replace(" ", "")


def _same_words(wanted: _Stream, given: _Stream, at: int) -> bool:
    """Equal letters are equal words if they are parted alike, but for places where tokenisers differ."""
    return all(
        wanted.spaced[i] == given.spaced[at + i] or _tokeniser_may_part(wanted, i)
        for i in range(1, len(wanted.text))
    )


def _is_edge(stream: _Stream, i: int) -> bool:
    """Whether a word may end before character `i`."""
    if i in (0, len(stream.text)) or stream.spaced[i]:
        return True
    if stream.spans[i] == stream.spans[i - 1]:  # the middle of a ligature or of "…"
        return False
    return _tokeniser_may_part(stream, i) and not _is_inside_word(stream, i)


def _tokeniser_may_part(stream: _Stream, i: int) -> bool:
    """Whether the place before character `i` is beside punctuation, or before the "n't" that ends a word."""
    text, after = stream.text, i + 3
    if not (_is_letter(text[i - 1]) and _is_letter(text[i])):
        return True
    ends_word = after >= len(text) or stream.spaced[after] or not _is_letter(text[after])
    return ends_word and text.startswith("n't", i)


def _is_inside_word(stream: _Stream, i: int) -> bool:
    """Whether `i` touches a hyphen in a word ("car-park"), or a point or comma in a number ("10,000")."""
    for mark in (i - 1, i):
        before, after = stream.text[mark - 1 : mark], stream.text[mark + 1 : mark + 2]
        if mark < 1 or not after or stream.spaced[mark] or stream.spaced[mark + 1]:
            continue
        if stream.text[mark] in _HYPHENS and _is_letter(before) and _is_letter(after):
            return True
        if stream.text[mark] in ".," and before.isdecimal() and after.isdecimal():
            return True
    return False


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"
