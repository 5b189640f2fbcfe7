"""Files of submissions: what a system says about each triple, or how it translates each context.

Whether the rows fit a campaign is decided against its items; here they are only read.
"""

import re
from dataclasses import dataclass, field
from math import isfinite

from annotation.formats.cells import excerpt, is_blank
from annotation.formats.columns import (
    ITEM_IDS,
    MatchedColumns,
    Record,
    check_key_columns,
    file_rows,
    given_text,
    match_columns,
    records,
)
from annotation.formats.compounds import context_number
from annotation.formats.errors import RowIssue
from annotation.formats.keys import ItemKey, compound_key, id_key, repeated_id_message, triple_key
from annotation.formats.rows import FileRows, Table
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key

_TEXTS = {"compound": ("compound", "context_no"), "triple": ("head", "relation", "tail")}
# Without a context number the contexts of a compound are taken in the order of the file.
_NAMING = {"compound": ("compound",), "triple": ("head", "relation", "tail")}
VALUES = {"compound": "translation", "triple": "prediction"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


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
        known=(*ITEM_IDS, *_TEXTS[protocol], value),
        needed=(value,),
        read_as={} if column is None else {column: value},
    )
    check_key_columns(matched, _NAMING[protocol], by_position=by_position)
    reading = _Reading(protocol, matched)
    for record in records(table, matched):
        reading.read(record)
    return file_rows(
        table,
        matched,
        n_rows=reading.n_rows,
        rows=reading.rows,
        errors=reading.errors,
        warnings=reading.warnings,
    )


@dataclass
class _Reading:
    """What has been read so far, and the line on which each id stood first."""

    protocol: str
    matched: MatchedColumns
    n_rows: int = 0
    rows: list[SubmittedRow] = field(default_factory=list)
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)
    first_with_id: dict[str, tuple[ItemKey, int]] = field(default_factory=dict)

    def read(self, record: Record) -> None:
        self.n_rows = record.number
        problems = [*record.problems]
        if not problems:
            key = self._key(record, problems)
            score, translation = self._value(record, problems)
        if problems:
            self.errors.extend(problems)
            return
        texts = {name: record.cells[name] for name in _TEXTS[self.protocol] if name in record.cells}
        self.rows.append(SubmittedRow(record.line, record.number, key, texts, score, translation))

    def _value(self, record: Record, problems: list[RowIssue]) -> tuple[float | None, str | None]:
        if self.protocol == "triple":
            return _score(record, problems), None
        text = record.cells.get("translation", "")
        if is_blank(text):
            message = say("The translation is empty; it counts as an empty translation.")
            self.warnings.append(RowIssue(record.line, "translation", message))
        return None, text

    def _key(self, record: Record, problems: list[RowIssue]) -> ItemKey | None:
        id_column = next((name for name in ITEM_IDS if name in self.matched), None)
        if id_column is None:
            return self._derived_key(record, problems)
        text = given_text(record, id_column)
        if text is None:
            problems.append(RowIssue(record.line, id_column, say("The cell is empty, but is needed.")))
            return None
        key = id_key(text)
        first, line = self.first_with_id.setdefault(key.folded, (key, record.line))
        if line != record.line:
            problems.append(RowIssue(record.line, id_column, repeated_id_message(key, first, line)))
        return key

    def _derived_key(self, record: Record, problems: list[RowIssue]) -> ItemKey | None:
        names = _NAMING[self.protocol]
        if not all(name in self.matched for name in names):
            return None
        empty = [name for name in names if given_text(record, name) is None]
        problems += [RowIssue(record.line, name, say("The cell is empty, but is needed.")) for name in empty]
        number = context_number(record, problems) if "context_no" in self.matched else None
        if problems:
            return None
        if self.protocol == "compound":
            return compound_key(record.cells["compound"], number, occurrence=1)
        return triple_key(*(record.cells[name] for name in names), occurrence=1)


def _score(record: Record, problems: list[RowIssue]) -> float | None:
    text = given_text(record, "prediction")
    if text is None:
        problems.append(RowIssue(record.line, "prediction", say("The prediction is empty.")))
        return None
    number = fold_key(text)
    score = float(number) if _NUMBER.fullmatch(number) else None
    if score is None or not isfinite(score):
        message = say("“{text}” is not a number; write one such as 0, 1 or 0.73.", text=excerpt(text))
        problems.append(RowIssue(record.line, "prediction", message))
        return None
    return score
