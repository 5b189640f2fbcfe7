"""Texts as people read them. What is stored never changes; what is scored is cleaned elsewhere."""

import re
from dataclasses import dataclass

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say

# Chinese characters and the punctuation that is only Chinese: CJK symbols, vertical and full-width forms.
# Curly quotes, dashes and "…" also stand in English and are not counted.
_CHINESE = (
    "\u3001-\u303f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe10-\ufe1f\ufe30-\ufe4f\uff01-\uff65\uffe0-\uffe6"
    "\U00020000-\U0003ffff"
)
_SPACE = " \\t\u00a0\u2000-\u200a\u202f\u205f\u3000"
_BPE_JOINT = re.compile(rf"@@[{_SPACE}]+|@@\Z")
# Only whole runs are tried: a cell of a hundred thousand blanks must not take a minute.
_SPACE_AT_CHINESE = re.compile(rf"(?<=[{_CHINESE}])[{_SPACE}]+|(?<![{_SPACE}])[{_SPACE}]+(?=[{_CHINESE}])")

# What takes no room or passes for another blank, from one code point to another: boxed where a text is looked at
# exactly. Controls but for the line break, every blank but the common one, format characters, fillers, and whatever
# else Unicode lets a font leave out.
HIDDEN = (
    (0x00, 0x09), (0x0B, 0x1F), (0x7F, 0xA0), (0xAD, 0xAD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160),
    (0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F),
    (0x2800, 0x2800), (0x3000, 0x3000), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip

# The people of a triple; the released data hold PeopleY too. Beside a name Chinese may stand, Latin not.
ROLES = ("PersonX", "PersonY", "PersonZ", "PeopleX", "PeopleY")
_ROLE = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(ROLES)})(?![A-Za-z0-9_])")


@dataclass(frozen=True)
class Segment:
    """A stretch of text; `role` is PersonX … where it names one of a triple's people, else None."""

    text: str
    role: str | None


@dataclass(frozen=True)
class MarkedSource:
    """A source in three: what stands before the compound, the compound as written there, what follows."""

    before: str
    compound: str
    after: str


def joined_translation(text: str) -> str:
    """A translation without what segmentation put into it, for reading.

    BPE joints ("@@ ", or "@@" at the end) are joined, then a run of blanks is removed where a neighbour is
    Chinese or Chinese punctuation. Every other blank and every line break stays: Latin words and numbers keep
    theirs.

    >>> joined_translation("他 喜欢 的 狗 叫 big te@@ ddy 。")
    '他喜欢的狗叫big teddy。'
    """
    return _SPACE_AT_CHINESE.sub("", _BPE_JOINT.sub("", text))


def chips(text: str) -> tuple[Segment, ...]:
    """A head or tail cut where it names a person. The segments' texts joined are the text, exactly.

    Names are matched as the data write them: whole and with their capitals ("personx" is a plain word).

    >>> [(segment.text, segment.role) for segment in chips("PersonX's dog bites PersonY")]
    [('PersonX', 'PersonX'), ("'s dog bites ", None), ('PersonY', 'PersonY')]
    """
    segments: list[Segment] = []
    at = 0
    for match in _ROLE.finditer(text):
        if match.start() > at:
            segments.append(Segment(text[at : match.start()], None))
        segments.append(Segment(match.group(), match.group()))
        at = match.end()
    if at < len(text):
        segments.append(Segment(text[at:], None))
    return tuple(segments)


def marked_source(source: str, span: tuple[int, int] | None) -> MarkedSource:
    """The source cut at the compound's code points, as `locate` found them; without a span all is `before`.

    The three parts joined are the source, exactly. A span outside the source is a ProtocolError: the text was
    changed after the compound was located.

    >>> marked_source("we met the clerk .", (7, 16))
    MarkedSource(before='we met ', compound='the clerk', after=' .')
    """
    if span is None:
        return MarkedSource(before=source, compound="", after="")
    start, end = span
    if not 0 <= start <= end <= len(source):
        raise ProtocolError(
            say(
                "The compound is marked at {start}–{end} of a source {n} characters long; locate it "
                "again in the text as it is now.",
                start=start,
                end=end,
                n=len(source),
            )
        )
    return MarkedSource(before=source[:start], compound=source[start:end], after=source[end:])
