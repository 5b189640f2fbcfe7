"""Bytes to text: which encoding a file is in. Nothing is guessed that cannot be told from the bytes."""

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from annotation.formats.errors import FormatError
from annotation.formats.kinds import BINARY, ZIP, NoText, certain_kind_of, document_of
from annotation.protocol.sentences import say

_CHUNK = 1 << 20
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be"),
)
_SAMPLE = 4000  # bytes by which a file is judged as a whole
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
# More of them, and a file is no text: one that decodes may have some by mistake, which its rows are told of.
_SHARE_IN_UTF8, _SHARE_IN_OTHERS, _FEW = 0.3, 0.02, 4
_LINE_END = re.compile("\r\n|\r|\n")
# The characters of GB18030 beyond ASCII: four bytes; two high bytes; a high byte and one that looks like ASCII.
_GB_CHARACTER = re.compile(
    rb"[\x81-\xfe][0-9][\x81-\xfe][0-9]|(?P<pair>[\x81-\xfe][\x80-\xfe])|[\x81-\xfe][\x40-\x7e]"
)
_SHARE_OF_CHINESE = 0.9
_OF_CHINESE = re.compile("[\t\n\r -~\u2010-\u2026\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_BEYOND_LATIN = re.compile("[\u0800-\ufffc\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Encoding:
    """`name` is what people are told (utf-8, utf-8-sig, utf-16-le, utf-16-be, gb18030), `codec` Python's codec,
    `warning` a sentence where the encoding was inferred rather than stated.
    """

    name: str
    codec: str
    warning: str | None = None


def detect_encoding(data: bytes) -> Encoding:
    """The encoding of a text file; a FormatError where the bytes are not text in it, NoText where they are no text.

    A byte-order mark decides: UTF-8 or UTF-16. Without one the file is UTF-8. Bytes that are not UTF-8 are
    taken as GB18030 (GBK, GB2312), with a warning, only if they are strictly valid in it, hold no U+0000 and
    look like Chinese rather than like UTF-8 with a broken place or Western text with accents.
    """
    kind = certain_kind_of(data)
    if kind is not None:
        raise NoText(kind)
    if data.startswith(_UTF32_MARKS):
        raise FormatError(say("The file is in UTF-32; save it as UTF-8."))
    for mark, name, codec in _MARKS:
        if data.startswith(mark):
            _check(data, codec, name.removesuffix("-sig").upper())
            return Encoding(name, codec)
    is_utf8 = _first_undecodable(data, "utf-8") is None
    is_text = is_utf8 and not _is_binary(data, _SHARE_IN_UTF8)
    if b"\0" in data and (_looks_like_utf16(data) or (not is_text and _looks_like_chinese_utf16(data))):
        raise FormatError(say("The file looks like UTF-16 without a byte-order mark; save it as UTF-8."))
    if is_text:
        return Encoding("utf-8", "utf-8")
    if is_utf8:
        raise NoText(BINARY)
    if _looks_chinese(data):
        warning = say("The file is not UTF-8; it was read as GB18030 (GBK). Check that its text looks right.")
        return Encoding("gb18030", "gb18030", warning)
    if _is_binary(data, _SHARE_IN_OTHERS):
        raise NoText(BINARY)
    _check(data, "utf-8", "UTF-8")
    return Encoding("utf-8", "utf-8")


def refuse_no_text(data: bytes) -> None:
    """NoText where the bytes are neither a text nor an archive or a workbook, which may hold texts."""
    kind = document_of(data)
    if kind is not None:
        raise NoText(kind)
    if not data.startswith(ZIP):
        detect_encoding(data)


def marked_twice(data: bytes, encoding: Encoding) -> bool:
    """Whether a second byte-order mark stands right after the first."""
    return any(data.startswith(mark + mark) for mark, name, _codec in _MARKS if name == encoding.name)


def text_stream(data: bytes, encoding: Encoding, *, newline: str) -> Iterator[str]:
    """The lines of `data` with their ends, without the byte-order mark.

    `newline` is "" (LF, CRLF and a lone CR end a line) or "\\n" (only LF does). No other character ends a line.
    """
    stream = io.TextIOWrapper(io.BytesIO(data), encoding=encoding.codec, newline=newline)
    first = stream.readline().lstrip("\ufeff")
    if first:
        yield first
        yield from stream


def text_lines(data: bytes, encoding: Encoding) -> Iterator[str]:
    """The lines of a line-aligned text without their ends: LF or CRLF ends a line, a lone CR where there is no LF.

    An empty line is a line; the end of the last line does not begin another one.
    """
    only_cr = "\n".encode(encoding.codec) not in data
    for line in text_stream(data, encoding, newline="" if only_cr else "\n"):
        yield line.removesuffix("\n").rstrip("\r")


def _check(data: bytes, codec: str, label: str) -> None:
    at = _first_undecodable(data, codec)
    if at is None:
        return
    before = data[:at].decode(codec, errors="replace")
    line = len(_LINE_END.findall(before)) + 1
    raise FormatError(
        say(
            "The file is not valid {label}: byte 0x{byte} at offset {at} (line {line}) does not fit. "
            "Save it as UTF-8; Chinese text in GB18030 (GBK) is read too.",
            label=label,
            byte=f"{data[at]:02X}",
            at=at,
            line=line,
        ),
        line=line,
    )


def _first_undecodable(data: bytes, codec: str) -> int | None:
    """The offset of the first byte that does not decode; in chunks, so that no second copy of the file is made."""
    decoder = codecs.getincrementaldecoder(codec)()
    for start in range(0, len(data), _CHUNK):
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + _CHUNK], final=start + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            return start - kept + error.start
    return None


def _looks_like_utf16(data: bytes) -> bool:
    """English in UTF-16 has a zero in every second byte, in any text that is at least partly English; the bytes
    between them are hardly ever zero.
    """
    sample = data[:_SAMPLE]
    fewer, more = sorted((sample[::2].count(0), sample[1::2].count(0)))
    return more * 5 > len(sample) and fewer * 20 < more


def _looks_like_chinese_utf16(data: bytes) -> bool:
    """Chinese in UTF-16 has zeros only beside what is ASCII and where 一 (U+4E00) stands, but read in the right order
    of bytes it has hardly any characters other than those of Chinese texts.
    """
    sample = data[: min(_SAMPLE, len(data)) // 2 * 2]
    texts = (sample.decode(codec, errors="replace") for codec in ("utf-16-le", "utf-16-be"))
    return any(len(_OF_CHINESE.findall(text)) >= _SHARE_OF_CHINESE * len(text) for text in texts)


def _is_binary(data: bytes, share: float) -> bool:
    """Whether more than this share of the bytes, and more than a few, are such as no text is written with."""
    sample = data[:_SAMPLE]
    return len(sample) - len(sample.translate(None, _CONTROLS)) > max(_FEW, share * len(sample))


def _looks_chinese(data: bytes) -> bool:
    """Whether data that is not UTF-8 is GB18030, which takes almost any bytes for text.

    Chinese text consists mostly of pairs of high bytes. A Western accent is one high byte among ASCII. UTF-8 with a
    broken place still has more characters that decode than places that do not.
    """
    if b"\0" in data or _first_undecodable(data, "gb18030") is not None:
        return False
    characters = pairs = 0
    for found in _GB_CHARACTER.finditer(data):
        characters += 1
        pairs += found["pair"] is not None
    as_utf8 = data.decode("utf-8", errors="replace")
    return 2 * pairs > characters and as_utf8.count("\ufffd") > len(_BEYOND_LATIN.findall(as_utf8))
