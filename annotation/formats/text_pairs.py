"""Translations beside their references, without compounds or items: a table of both, or two texts line by line."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.formats.cells import is_blank
from annotation.formats.columns import match_columns, records
from annotation.formats.decoding import detect_encoding, text_lines
from annotation.formats.errors import FormatError
from annotation.formats.kinds import refuse_by_name
from annotation.formats.tables import read_table
from annotation.protocol.sentences import say, say_count

PAIR_COLUMNS = ("translation", "reference")
NAMED_LINES = 20  # in a sentence; the rest is counted


@dataclass(frozen=True)
class TextPairs:
    """Row by row a system's translation, "" where it gave none, and its reference, which is never empty.

    `names` say where each row stands; `warnings` name the rows without a translation.
    """

    translations: list[str]
    references: list[str]
    names: list[str]
    warnings: tuple[str, ...]


def read_text_pairs(data: bytes, *, name: str, column: str | None = None) -> TextPairs:
    """The pairs of a table with the columns translation (or `column`) and reference; other columns do not matter.

    Raises FormatError: a row that cannot be read, or rows with an empty reference, all named by their lines.

    >>> pairs = read_text_pairs("translation,reference\\n狗笑了。,狗笑了。\\n".encode(), name="test.csv")
    >>> pairs.references, pairs.names
    (['狗笑了。'], ['line 2'])
    """
    table = read_table(data, name=name)
    read_as = {} if column is None else {column: "translation"}
    matched = match_columns(table.header, known=PAIR_COLUMNS, needed=PAIR_COLUMNS, read_as=read_as)
    lines: list[int] = []
    cells: list[tuple[str, str]] = []
    for record in records(table, matched):
        if record.problems:
            first = record.problems[0]
            raise FormatError(first.message, line=first.line, column=first.column)
        lines.append(record.line)
        cells.append((record.cells.get("translation", ""), record.cells.get("reference", "")))
    return _pairs([cell[0] for cell in cells], [cell[1] for cell in cells], lines, column="reference")


def read_aligned(translations: bytes, references: bytes, *, names: tuple[str, str]) -> TextPairs:
    """Two texts of which line i of one belongs to line i of the other; `names` are those of the two files.

    Raises FormatError where they have different numbers of lines, or a reference is empty.

    >>> read_aligned(b"a b\\n\\n", b"ab\\ncd\\n", names=("hyp", "ref")).warnings
    ('1 row has no translation and counts as an empty one: line 2.',)
    """
    texts = [_lines(translations, names[0]), _lines(references, names[1])]
    if len(texts[0]) != len(texts[1]):
        raise FormatError(
            say(
                "{a} has {n_a} lines and {b} has {n_b}: line i of one must belong to line i of the other.",
                a=names[0],
                n_a=len(texts[0]),
                b=names[1],
                n_b=len(texts[1]),
            )
        )
    return _pairs(texts[0], texts[1], range(1, len(texts[0]) + 1), column=None)


def _lines(data: bytes, name: str) -> list[str]:
    try:
        lines = list(text_lines(data, detect_encoding(data)))
        refuse_by_name(name)
    except FormatError as error:
        raise FormatError(
            say("{name}: {message}", name=name, message=error.message), line=error.line
        ) from None
    if not lines:
        raise FormatError(say("{name}: the file is empty.", name=name))
    return lines


def _pairs(
    translations: list[str], references: list[str], lines: Sequence[int], *, column: str | None
) -> TextPairs:
    without = [line for line, text in zip(lines, references, strict=True) if is_blank(text)]
    if without:
        message = say_count(
            "The reference is empty. Supply it, or take the pair out of the file.",
            "{n} pairs have an empty reference, lines {lines}. Supply them, or take the pairs out of the file.",
            n=len(without),
            lines=_named(without),
        )
        raise FormatError(message, line=without[0], column=column)
    empty = [line for line, text in zip(lines, translations, strict=True) if is_blank(text)]
    warning = say_count(
        "{n} row has no translation and counts as an empty one: line {lines}.",
        "{n} rows have no translation and count as empty ones: lines {lines}.",
        n=len(empty),
        lines=_named(empty),
    )
    return TextPairs(
        translations,
        references,
        [str(say("line {line}", line=line)) for line in lines],
        (warning,) if empty else (),
    )


def _named(lines: Sequence[int]) -> str:
    more = len(lines) - NAMED_LINES
    return ", ".join(map(str, lines[:NAMED_LINES])) + (f" … (+{more})" if more > 0 else "")
