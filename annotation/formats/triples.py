"""Triple items: one row is one triple of head, relation and tail."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from annotation.formats.cells import excerpt, fold_header, whole_number
from annotation.formats.columns import Record, empty_cells, given_text, match_item_columns
from annotation.formats.errors import RowIssue
from annotation.formats.keys import ItemKey, id_key, repeated_id_message, triple_key
from annotation.formats.reading import Reading
from annotation.formats.rows import FileRows, Table
from annotation.protocol.sentences import Sentence, listed, say
from annotation.protocol.text import fold_key
from annotation.protocol.triple import TRIPLE
from annotation.protocol.wording import Wording, default_wording

# Where an item came from and why it was chosen: what building a set writes, beside the columns of the protocol.
ORIGIN = "origin"
ORIGIN_LENGTH = 5000

_DEFAULT = default_wording(TRIPLE.name)
_SPLITS = {"dev": "dev", "tst": "test", "test": "test", "trn": "train", "train": "train"}
_LABELS = {"true": "1", "false": "0"}


@dataclass(frozen=True, slots=True)
class TripleRow:
    """One triple to judge. Texts are as given, outer spaces included; what a file leaves out is None.

    `triple_id` is None where the file has no such column: then `key` is derived. `item_class` is the column
    `class`; `split` is dev, test or train; `label` an imported final label, "1" (plausible) or "0". `origin` says where
    the item came from, where a set was built.
    """

    line: int
    key: ItemKey
    triple_id: str | None
    head: str
    relation: str
    tail: str
    item_class: str | None
    split: str | None
    label: str | None
    origin: Mapping[str, Any] | None = None


def read_triples(table: Table, *, wording: Wording = _DEFAULT) -> FileRows[TripleRow]:
    """The triple items of a table; which relations and classes there are says the campaign's wording.

    Relations are matched exactly; any other, in another case too, is an error. The same id twice is an error.
    Without ids a triple is known by (head, relation, tail) and its occurrence; a repetition is a warning, under two
    ids as well, and so is a class that stands in no group.
    """
    matched = match_item_columns(table.header, TRIPLE, more=(ORIGIN,))
    return _Triples(
        matched=matched,
        has_id=TRIPLE.id_column in matched,
        relations=tuple(wording.relations),
        classes=wording.classes,
    ).read(table)


@dataclass(kw_only=True)
class _Triples(Reading[TripleRow]):
    """What later rows are compared with."""

    has_id: bool
    relations: tuple[str, ...]
    classes: tuple[str, ...]
    first_with_key: dict[str, TripleRow] = field(default_factory=dict)
    first_with_texts: dict[tuple[str, str, str], tuple[int, ItemKey]] = field(default_factory=dict)
    repeated: dict[str, tuple[int, "_First"]] = field(default_factory=dict)  # number so far, and the first
    odd_classes: set[str] = field(default_factory=set)

    def row(self, record: Record, problems: list[RowIssue]) -> TripleRow | None:
        problems += self._row_problems(record)
        split, label, origin = _split(record, problems), _label(record, problems), _origin(record, problems)
        if problems:
            return None
        cells = record.cells
        return TripleRow(
            line=record.line,
            key=self._key(record),
            triple_id=cells.get("triple_id"),
            head=cells["head"],
            relation=cells["relation"],
            tail=cells["tail"],
            item_class=given_text(record, "class"),
            split=split,
            label=label,
            origin=origin,
        )

    def _key(self, record: Record) -> ItemKey:
        cells = record.cells
        if self.has_id:
            key = id_key(cells["triple_id"])
            self._warn_of_twin(record, key)
            return key
        texts = (cells["head"], cells["relation"], cells["tail"])
        key = triple_key(*texts, occurrence=1)
        count, first = self.repeated.get(key.folded) or (0, _First(record.line, _beside(record)))
        self.repeated[key.folded] = (count + 1, first)
        if count == 0:
            return key
        self.warnings.append(RowIssue(record.line, None, _repeated(first, record, number=count + 1)))
        return triple_key(*texts, occurrence=count + 1)

    def _warn_of_twin(self, record: Record, key: ItemKey) -> None:
        """Two ids make two items of one triple, which may be meant, and may be an oversight."""
        cells = record.cells
        first = self.first_with_texts.setdefault(
            (fold_key(cells["head"]), cells["relation"], fold_key(cells["tail"])), (record.line, key)
        )
        if first[1].folded != key.folded:
            message = say(
                "The same triple stands on line {line} already, as “{first}”; with the id “{key}” it is another item, "
                "judged by itself.",
                line=first[0],
                first=excerpt(first[1].given),
                key=excerpt(key.given),
            )
            self.warnings.append(RowIssue(record.line, None, message))

    def keep(self, row: TripleRow, record: Record) -> None:
        first = self.first_with_key.setdefault(row.key.folded, row)
        if first is not row:
            message = repeated_id_message(row.key, first.key, first.line)
            self.errors.append(RowIssue(row.line, TRIPLE.id_column, message))
            return
        self.rows.append(row)
        self._warn_of_class(row)

    def _warn_of_class(self, row: TripleRow) -> None:
        """Classes tell ID, OOD and Adv apart; another one counts in none of the three."""
        name = row.item_class
        if name is None or name in self.classes or name in self.odd_classes:
            return
        self.odd_classes.add(name)
        message = say(
            "“{name}” is none of the classes {classes} (case counts). It is kept, but its items count "
            "in no group, neither ID nor OOD nor Adv. Further rows of this class are not listed.",
            name=excerpt(name),
            classes=", ".join(self.classes),
        )
        self.warnings.append(RowIssue(row.line, "class", message))

    def _row_problems(self, record: Record) -> list[RowIssue]:
        problems = empty_cells(record, TRIPLE, has_id=self.has_id)
        return problems + relation_problems(record, self.relations)


def relation_problems(record: Record, relations: Collection[str]) -> list[RowIssue]:
    """That the row's relation is none of these, which are matched exactly; nothing where the cell is blank."""
    relation = given_text(record, "relation")
    if relation is None or relation in relations:
        return []
    near = {fold_header(name): name for name in relations}.get(fold_header(relation))
    advice = (
        say("did you mean “{near}”?", near=near)
        if near
        else say("the relations are {relations}.", relations=", ".join(relations))
    )
    message = say("“{relation}” is no relation; {advice}", relation=excerpt(relation), advice=advice)
    return [RowIssue(record.line, "relation", message)]


_BESIDE = ("class", "split", "label")  # what a row may say of a triple


class _First(NamedTuple):
    """Where a triple stands first, and what is said of it there."""

    line: int
    beside: tuple[str | None, ...]


def _beside(record: Record) -> tuple[str | None, ...]:
    return tuple(given_text(record, name) for name in _BESIDE)


def _repeated(first: _First, again: Record, *, number: int) -> Sentence:
    """That a triple stands twice, and in what else the two rows differ."""
    differing = [
        say("{column} “{there}” there and “{here}” here", column=name, there=_said(there), here=_said(here))
        for name, there, here in zip(_BESIDE, first.beside, _beside(again), strict=True)
        if there != here
    ]
    if differing:
        return say(
            "The same triple stands on line {line} already, with {differing}; it is kept as number {number} of them.",
            line=first.line,
            differing=listed(differing),
            number=number,
        )
    return say(
        "The same triple stands on line {line} already; it is kept as number {number} of them.",
        line=first.line,
        number=number,
    )


def _said(text: str | None) -> str:
    return excerpt(text or "–")


def _split(record: Record, problems: list[RowIssue]) -> str | None:
    text = given_text(record, "split")
    if text is None:
        return None
    split = _SPLITS.get(fold_header(text))
    if split is None:
        message = say("“{text}” is no split; write dev, test (or tst) or train (or trn).", text=excerpt(text))
        problems.append(RowIssue(record.line, "split", message))
    return split


def _label(record: Record, problems: list[RowIssue]) -> str | None:
    """A final label, which is plausible or not; the scale's middle value is an answer, never a label."""
    text = given_text(record, "label")
    if text is None:
        return None
    number = whole_number(text)
    label = _LABELS.get(fold_key(text).casefold()) if number is None else str(number)
    if label not in ("0", "1"):
        message = say("“{text}” is no final label; write 1 (plausible) or 0.", text=excerpt(text))
        problems.append(RowIssue(record.line, "label", message))
    return label


def _origin(record: Record, problems: list[RowIssue]) -> Mapping[str, Any] | None:
    """The JSON object that building a set writes and exports give back; any other text is kept as a note."""
    text = given_text(record, ORIGIN)
    if text is None:
        return None
    if len(text) > ORIGIN_LENGTH:
        message = say(
            "The text has {n} characters; at most {limit} can be stored.",
            n=f"{len(text):,}",
            limit=f"{ORIGIN_LENGTH:,}",
        )
        problems.append(RowIssue(record.line, ORIGIN, message))
        return None
    return _json_object(text) or {"note": text}


def _json_object(text: str) -> dict[str, Any] | None:
    """The object that a text is in JSON, None for any other text and for what no database stores."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
        stored = json.dumps(
            found, ensure_ascii=False, allow_nan=False
        ).encode()  # refuses NaN, halves of characters
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and b"\\u0000" not in stored else None
