"""What every adapter is: a shape of files that other programs use, and how it is read and written.

An adapter turns a file into the tables that the readers of items and of judgements take, and so is as strict as they
are; and it writes records, each an item with the judgements made of it. What a shape cannot carry it says in
sentences, which are shown whenever it is read or written.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar

from annotation.formats.adapters.packages import Given
from annotation.formats.cells import excerpt
from annotation.formats.columns import as_in_header
from annotation.formats.compound_units import CompoundRow
from annotation.formats.compounds import read_compounds
from annotation.formats.decoding import refuse_no_text
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.jsonl import object_table
from annotation.formats.judgements import JudgementRow, read_judgements
from annotation.formats.kinds import PARQUET_MARK
from annotation.formats.rows import FileRows, Table, in_line_order
from annotation.formats.tables import checked
from annotation.formats.triples import TripleRow, read_triples
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import Sentence, listed, say
from annotation.protocol.wording import Wording

BOTH = ("compound", "triple")
BESIDE_LABEL = {
    "compound": say("The reasons of an answer, and the atoms it names."),
    "triple": say("The detail of a third answer."),
}
# Between an item's key, a system and a run, where a shape has one cell for an item; no text is likely to hold it.
JOINT = "␟"

ItemRows = FileRows[CompoundRow] | FileRows[TripleRow]
Record = tuple[int, dict[str, Any] | RowIssue]  # a line and what stands there


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is known beside the file. `annotator` judged where nothing says who did, `annotator_given` if somebody named
    them for this file; `column` names the field of the
    labels where a shape leaves it open; `system` and `run` hold for items that do not name their own.
    """

    protocol: str
    wording: Wording
    annotator: str
    annotator_given: bool = False
    column: str | None = None
    system: str | None = None
    run: str | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a file holds; None where the shape, or this file, holds no items or no judgements."""

    items: ItemRows | None
    judgements: FileRows[JudgementRow] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One person's answer: a label or, where `label` is "", the cause why there is none."""

    annotator: str
    slot: int
    label: str
    cannot_judge: str
    note: str
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRecord:
    """One row of a campaign's items with the judgements made of it.

    `number` counts the rows from 1; `position` is the item's. `cells` hold the canonical columns. `name` tells the
    item from every other in one cell. Identical outputs of several systems are one item: its judgements stand with the
    first of them.
    """

    number: int
    position: int
    name: str
    cells: Mapping[str, str | None]
    judgements: tuple[Judged, ...]


@dataclass(frozen=True, kw_only=True)
class Content:
    """What is written. `records` can be gone through once; `columns` are those of their cells, `k` the number of
    slots, `stem` what files are called after.
    """

    protocol: str
    stem: str
    columns: tuple[str, ...]
    records: Iterator[ItemRecord]
    k: int
    with_judgements: bool = True


class Adapter(ABC):
    """A shape of files. `carries` and `lacks` are sentences for people; `brings_items` tells the shapes that hold items
    from those that hold judgements of items that are there already.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    protocols: ClassVar[tuple[str, ...]] = BOTH
    brings_items: ClassVar[bool] = True
    reads_tables: ClassVar[bool] = False  # a file of it is a table, which a workbook may be as well
    brings_causes: ClassVar[bool] = False  # “cannot judge” and why
    one_system: ClassVar[bool] = False  # of compounds: holds the translations of one system and run
    extension: ClassVar[str]
    content_type: ClassVar[str]
    carries: ClassVar[tuple[Sentence, ...]]
    lacks: ClassVar[tuple[Sentence, ...]]
    lacks_beside_label: ClassVar[bool] = (
        False  # what an answer holds beside its label, which the protocols differ in
    )

    def carries_of(self, protocol: str) -> tuple[Sentence, ...]:
        """What this shape holds of a campaign of this protocol."""
        return self.carries

    def lacks_of(self, protocol: str) -> tuple[Sentence, ...]:
        """What this shape does not hold of a campaign of this protocol."""
        return (*self.lacks, BESIDE_LABEL[protocol]) if self.lacks_beside_label else self.lacks

    def knows(self, found: Given) -> bool:
        """Whether the files are certainly of this shape and of no other that is read here."""
        return False

    @abstractmethod
    def read(self, found: Given, asked: Asked) -> Found:
        """Everything the files say; FormatError where they cannot be read as this shape at all."""

    def carried(self, judged: Sequence[Judged]) -> Sequence[Judged]:
        """Those of an item's judgements that are written."""
        return [one for one in judged if one.label or self.brings_causes]

    @abstractmethod
    def write(self, content: Content) -> Iterator[bytes]:
        """The content in this shape, in chunks; FormatError where a text cannot stand in it."""


# Items -------------------------------------------------------------------------------------------------------


def read_items(table: Table, asked: Asked) -> ItemRows:
    """The items of a table, by the reader of the campaign's protocol."""
    if asked.protocol == "compound":
        return read_compounds(table, system=asked.system, run=asked.run)
    return read_triples(table, wording=asked.wording)


def items_of_objects(
    records: Sequence[Record],
    asked: Asked,
    *,
    name: str,
    format: str,  # noqa: A002
    encoding: str | None,
) -> ItemRows:
    """The items that objects describe in the canonical columns."""
    return read_items(checked(object_table(records, name=name, format=format, encoding=encoding)), asked)


# Judgements of items in the same file ------------------------------------------------------------------------

Names = Mapping[str, str]  # canonical column → what the shape calls it


@dataclass(kw_only=True)
class Judgements:
    """The judgements found on the way through a file, each with the line of its item."""

    names: Names
    records: list[Record] = field(default_factory=list)
    about: list[int] = field(default_factory=list)

    def add(self, line: int, cells: Mapping[str, Any], *, item: int | None = None) -> None:
        """An answer on a line; `item` is the line of its item, where that is another one."""
        self.records.append((line, dict(cells)))
        self.about.append(line if item is None else item)

    def refuse(self, line: int, field: str | None, message: str) -> None:
        """That there is an answer that cannot be read."""
        self.records.append((line, RowIssue(line, field, message)))
        self.about.append(line)

    def of(self, items: ItemRows, asked: Asked) -> FileRows[JudgementRow] | None:
        """Them all, each under the key of its item; None where there are none."""
        if not self.records:
            return None
        errors = [found for _line, found in self.records if isinstance(found, RowIssue)]
        if len(errors) == len(self.records):
            return _only_errors(items, errors)
        file = read_judgements(
            checked(
                object_table(self.records, name=items.name, format=items.format, encoding=items.encoding)
            ),
            protocol=asked.protocol,
            annotator=asked.annotator,
            by_position=True,  # which item each is about is known from its place
            wording=asked.wording,
        )
        return _with_names(self._keyed(file, items), self.names)

    def _keyed(self, file: FileRows[JudgementRow], items: ItemRows) -> FileRows[JudgementRow]:
        by_line: dict[int, CompoundRow | TripleRow] = {row.line: row for row in items.rows}
        of_row = [by_line.get(self.about[row.number - 1]) for row in file.rows]
        rows = tuple(
            _about(row, item) for row, item in zip(file.rows, of_row, strict=True) if item is not None
        )
        if not items.errors:
            alone = [row for row, item in zip(file.rows, of_row, strict=True) if item is None]
            message = say("There is a judgement here, but no item that it is about.")
            file = replace(file, errors=(*file.errors, *(RowIssue(row.line, None, message) for row in alone)))
        columns = file.columns
        if rows and rows[0].system is not None:
            columns = columns | {"system": "system", "run": "run"}
        return replace(file, rows=rows, columns=columns)


def _about(row: JudgementRow, item: CompoundRow | TripleRow) -> JudgementRow:
    if isinstance(item, TripleRow):
        return replace(row, key=item.key, texts={})
    return replace(row, key=item.key, texts={}, system=item.system or "", run=item.run or "")


def _only_errors(items: ItemRows, errors: Sequence[RowIssue]) -> FileRows[JudgementRow]:
    return FileRows(
        name=items.name, format=items.format, encoding=items.encoding, sheet=items.sheet, columns={},
        unknown_columns=(), n_rows=len(errors), rows=(), errors=tuple(errors), warnings=(),
    )  # fmt: skip


# Judgements of items that are in the campaign ----------------------------------------------------------------


def judgements_by_name(
    table: Table, asked: Asked, *, names: Names, unknown: tuple[str, ...] = ()
) -> FileRows[JudgementRow]:
    """The judgements of a table with the columns item, annotator and label, whose items are named in one cell. `names`
    are those of these three in the file, `unknown` the columns that were not read.
    """
    id_column = get_protocol(asked.protocol).id_column
    header = (id_column, "system", "run", "annotator", "label")
    rows = (
        replace(row, cells=(*_split_name(row.cells[0] or ""), *row.cells[1:])) if not row.problems else row
        for row in table.rows
    )
    given_names = {id_column: names["item"], "annotator": names["annotator"], "label": names["label"]}
    file = read_judgements(
        replace(table, header=header, rows=rows),
        protocol=asked.protocol,
        annotator=None,
        wording=asked.wording,
    )
    named = _with_names(file, given_names)
    columns = {given_names.get(canonical, canonical): canonical for canonical in file.columns.values()}
    if not any(row.system or row.run for row in file.rows):
        columns = {
            given: canonical for given, canonical in columns.items() if canonical not in ("system", "run")
        }
    return replace(
        named, columns=columns, unknown_columns=unknown, header=table.header, first_rows=table.first_rows
    )


def joined_name(key: str, *, system: str, run: str) -> str:
    """The name of one of several translations under a key, in one cell."""
    return JOINT.join((key, system, run)) if run else JOINT.join((key, system))


def _split_name(name: str) -> tuple[str, str, str]:
    key, _joint, rest = name.partition(JOINT)
    system, _joint, run = rest.partition(JOINT)
    return key, system, run


class Fault(ValueError):
    """A member of a record that is not what it has to be; `place` is where it stands in the record."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place
        self.message = message


# Shared small things -----------------------------------------------------------------------------------------


def _with_names(file: FileRows[JudgementRow], names: Names) -> FileRows[JudgementRow]:
    """The file with every finding under the name that the shape gives the field."""
    return replace(
        file,
        errors=tuple(as_in_header(file.errors, names)),
        warnings=tuple(as_in_header(file.warnings, names)),
    )


def refuse_alone(found: Given) -> None:
    """NoText where a shape of several files is to be read from a single one that is no text, and no table either."""
    for data in found.files.values():
        if len(found.files) == 1 and not found.packed and not data.startswith(PARQUET_MARK):
            refuse_no_text(data)


def begins_with(data: bytes, mark: bytes) -> bool:
    """Whether this is the first thing that can be seen in a file, which is not read for it."""
    return data[:256].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(mark)


def with_warnings(file: FileRows[Any], found: Iterable[RowIssue]) -> FileRows[Any]:
    return replace(file, warnings=in_line_order([*file.warnings, *found]))


def noted(n: int, sentence: Sentence) -> list[RowIssue]:
    """A warning about the whole file, where there is anything to say it of."""
    return [RowIssue(None, None, sentence)] if n else []


def named_systems(systems: Iterable[tuple[str, str]]) -> Sentence:
    """Systems with their runs, for people: the first of many."""
    names = (f"{system or '–'}/{run}" if run else system or "–" for system, run in islice(systems, 20))
    return listed([excerpt(name, 40) for name in names])


def refuse_several(systems: Collection[tuple[str, str]]) -> None:
    """A FormatError where a shape that holds one system and run is to hold several."""
    if len(systems) > 1:
        raise FormatError(
            say(
                "This shape holds the translations of one system and run; there are: {names}.",
                names=named_systems(systems),
            )
        )


def plain(text: str, *, what: str, record: ItemRecord, forbidden: Callable[[str], bool]) -> str:
    """A text that goes into a shape which has no way to write some characters; FormatError where it holds one."""
    if any(map(forbidden, text)):
        raise FormatError(
            say(
                "Item {number}: the {what} “{text}” holds a tab or a line break, which this shape cannot carry. "
                "Take another one.",
                number=record.position,
                what=what,
                text=excerpt(text, 60),
            )
        )
    return text
