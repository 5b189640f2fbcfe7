"""Files of submissions: what a system says about each triple, or how it translates each context.

Whether the rows fit a campaign is decided against its items; here they are only read.
"""

from dataclasses import dataclass, field

from annotation.formats.cells import excerpt, finite_number, is_blank
from annotation.formats.columns import Record, given_text, match_columns, needed_texts
from annotation.formats.compounds import context_number
from annotation.formats.errors import RowIssue
from annotation.formats.key_columns import (
    ITEM_IDS,
    KEY_TEXTS,
    check_key_columns,
    id_column,
    key_of_id,
    key_of_texts,
    key_texts,
)
from annotation.formats.keys import ItemKey, repeated_id_message
from annotation.formats.reading import Reading
from annotation.formats.rows import FileRows, Table
from annotation.protocol.sentences import say

# Without a context number the contexts of a compound are taken in the order of the file.
_NAMING = {"compound": ("compound",), "triple": ("head", "relation", "tail")}
VALUES = {"compound": "translation", "triple": "prediction"}


@dataclass(frozen=True, slots=True)
class SubmittedRow:
    """One row of a submission: `score` for a triple, `translation` for a context of a compound.

    `number` counts the data rows from 1: the item's position where a file goes by position. `key` is the id or,
    without one, what is derived from the texts; rows with equal texts share it, and None means that the file
    holds neither. `texts` are the columns that name the item, as given, to be checked.
    """

    line: int
    number: int
    key: ItemKey | None
    texts: dict[str, str]
    score: float | None = None
    translation: str | None = None


def read_submission(
    table: Table, *, protocol: str, column: str | None = None, by_position: bool = False
) -> FileRows[SubmittedRow]:
    """The predictions (triples) or translations (compounds) of a table.

    `column` names the column that holds them, where it is not called prediction or translation. A prediction is
    a finite number, as text too ("0.0"). An empty translation is a system's empty output, a warning. The same id
    twice is an error; rows with equal texts are told apart later, by the items there are.
    """
    value = VALUES[protocol]
    matched = match_columns(
        table.header,
        known=(*ITEM_IDS, *KEY_TEXTS[protocol], value),
        needed=(value,),
        read_as={} if column is None else {column: value},
    )
    check_key_columns(matched, _NAMING[protocol], by_position=by_position)
    return _Submission(matched=matched, protocol=protocol).read(table)


@dataclass(kw_only=True)
class _Submission(Reading[SubmittedRow]):
    """On which line each id stood first."""

    protocol: str
    first_with_id: dict[str, tuple[ItemKey, int]] = field(default_factory=dict)

    def row(self, record: Record, problems: list[RowIssue]) -> SubmittedRow:
        key = self._key(record, problems)
        score, translation = self._value(record, problems)
        texts = key_texts(record, self.protocol)
        return SubmittedRow(record.line, record.number, key, texts, score, translation)

    def _value(self, record: Record, problems: list[RowIssue]) -> tuple[float | None, str | None]:
        if self.protocol == "triple":
            return _score(record, problems), None
        text = record.cells.get("translation", "")
        if is_blank(text):
            message = say("The translation is empty; it counts as an empty translation.")
            self.warnings.append(RowIssue(record.line, "translation", message))
        return None, text

    def _key(self, record: Record, problems: list[RowIssue]) -> ItemKey | None:
        column = id_column(self.matched)
        if column is None:
            return self._derived_key(record, problems)
        key = key_of_id(record, column, problems)
        if key is not None:
            first, line = self.first_with_id.setdefault(key.folded, (key, record.line))
            if line != record.line:
                problems.append(RowIssue(record.line, column, repeated_id_message(key, first, line)))
        return key

    def _derived_key(self, record: Record, problems: list[RowIssue]) -> ItemKey | None:
        names = _NAMING[self.protocol]
        if not all(name in self.matched for name in names):
            return None
        texts = needed_texts(record, names, problems)
        number = context_number(record, problems) if "context_no" in self.matched else None
        return None if texts is None else key_of_texts(texts, number)


def _score(record: Record, problems: list[RowIssue]) -> float | None:
    text = given_text(record, "prediction")
    if text is None:
        problems.append(RowIssue(record.line, "prediction", say("The prediction is empty.")))
        return None
    score = finite_number(text)
    if score is None:
        message = say("“{text}” is not a number; write one such as 0, 1 or 0.73.", text=excerpt(text))
        problems.append(RowIssue(record.line, "prediction", message))
    return score
