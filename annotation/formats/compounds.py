"""Compound items: one row is one system's translation of one compound in one context."""

from dataclasses import dataclass, field, replace

from annotation.formats.cells import excerpt, is_blank, whole_number
from annotation.formats.columns import (
    Record,
    empty_cells,
    given_text,
    match_item_columns,
    yes_or_no,
)
from annotation.formats.compound_units import (
    CompoundRow,
    contexts_by_unit,
    contradictions,
    not_five,
    repeated_numbers,
    shared_values,
)
from annotation.formats.errors import RowIssue
from annotation.formats.keys import ItemKey, compound_key, id_key, repeated_id_message, unit_key
from annotation.formats.reading import Reading
from annotation.formats.rows import FileRows, Table
from annotation.protocol.compound import COMPOUND, locate
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key

TYPES = ("NP", "VP", "PP")
MAX_CONTEXT_NO = 9_999

# What belongs to the context, so that it is the same for every system under one id.
_SHARED = ("compound", "source", "context_no", "type", "pattern", "reference", "source_differs")


def read_compounds(
    table: Table, *, system: str | None = None, run: str | None = None
) -> FileRows[CompoundRow]:
    """The compound items of a table.

    `system` and `run` hold for rows that do not name their own. The same id for the same system and run twice is
    an error; under another system it must stand for the same context. Without ids a context is known by
    (compound, context_no), else by its place among the compound's rows; a repetition is a warning.

    A reference that is left empty where other rows have one is an error, since BLEU would silently be taken over
    fewer pairs; null or an absent member in JSON states that there is none, which is a warning. A file without
    any reference is fine.
    """
    matched = match_item_columns(table.header, COMPOUND)
    has_id = COMPOUND.id_column in matched
    return _Compounds(matched=matched, has_id=has_id, system=system, run=run).read(table)


@dataclass(kw_only=True)
class _Compounds(Reading[CompoundRow]):
    """What later rows are compared with. `system` and `run` are those of rows that do not name their own."""

    has_id: bool
    system: str | None
    run: str | None
    first_with_output: dict[tuple[str, str, str], CompoundRow] = field(default_factory=dict)
    first_with_key: dict[str, CompoundRow] = field(default_factory=dict)
    occurrences: dict[tuple[str, int | None, str, str], int] = field(default_factory=dict)
    with_errors: set[str] = field(default_factory=set)  # units some of whose rows could not be read
    empty_references: list[tuple[int, str]] = field(default_factory=list)
    types_from_pattern: int = 0
    patterns: int = 0

    def row(self, record: Record, problems: list[RowIssue]) -> CompoundRow | None:
        problems += empty_cells(record, COMPOUND, has_id=self.has_id)
        cells = record.cells
        context_no = context_number(record, problems)
        type_, pattern = self._type_and_pattern(record, problems)
        differs = _source_differs(record, problems)
        if problems:
            return None
        system = given_text(record, "system") or self.system
        run = given_text(record, "run") or self.run
        return CompoundRow(
            line=record.line,
            key=self._key(cells, context_no, system, run),
            unit_key=unit_key(cells["compound"]),
            item_id=cells.get("item_id"),
            compound=cells["compound"],
            type=type_,
            pattern=pattern,
            context_no=context_no,
            source=cells["source"],
            translation=cells.get("translation", ""),
            reference=given_text(record, "reference"),
            system=system,
            run=run,
            source_differs=differs,
        )

    def refuse(self, record: Record, problems: list[RowIssue]) -> None:
        super().refuse(record, problems)
        self.with_errors.add(unit_key(record.cells.get("compound", "")))

    def _type_and_pattern(self, record: Record, problems: list[RowIssue]) -> tuple[str | None, str | None]:
        """A pattern that is just NP, VP or PP is the type."""
        type_, pattern = given_text(record, "type"), given_text(record, "pattern")
        as_type = _as_type(pattern)
        if type_ is not None:
            if _as_type(type_) is None:
                message = say(
                    "“{type}” is not a type of compound; the types are {types}.",
                    type=excerpt(type_),
                    types=", ".join(TYPES),
                )
                problems.append(RowIssue(record.line, "type", message))
            elif as_type not in (None, _as_type(type_)):
                message = say(
                    "The pattern says {as_type}, the type says {type}.",
                    as_type=as_type,
                    type=_as_type(type_),
                )
                problems.append(RowIssue(record.line, "pattern", message))
        if as_type is None:
            self.patterns += pattern is not None
            return _as_type(type_), pattern
        self.types_from_pattern += 1
        return as_type, None

    def _key(
        self, cells: dict[str, str], context_no: int | None, system: str | None, run: str | None
    ) -> ItemKey:
        if self.has_id:
            return id_key(cells["item_id"])
        compound = cells["compound"]
        same = (unit_key(compound), context_no, *_output_of(system, run))
        self.occurrences[same] = occurrence = self.occurrences.get(same, 0) + 1
        return compound_key(compound, context_no, occurrence=occurrence)

    def keep(self, row: CompoundRow, record: Record) -> None:
        output = (row.key.folded, *_output_of(row.system, row.run))
        first = self.first_with_output.setdefault(output, row)
        if first is not row:
            self.refuse(record, [_repeated_id(row, first)])
            return
        problems = _differences(row, self.first_with_key.setdefault(row.key.folded, row))
        if problems:
            self.refuse(record, problems)
            return
        super().keep(row, record)
        if is_blank(row.translation):
            message = say("The translation is empty; it is kept as the system's empty output.")
            self.warnings.append(RowIssue(row.line, "translation", message))
        if not stands_in(row.compound, row.source):
            message = say(
                "The compound “{compound}” was not found in its source.", compound=excerpt(row.compound)
            )
            self.warnings.append(RowIssue(row.line, "compound", message))
        if row.reference is None and "reference" in record.cells:
            self.empty_references.append((row.line, row.key.folded))

    def finish(self) -> None:
        self._check_references()
        self.warnings.extend(contradictions(self.rows))
        self.rows, differing = shared_values(self.rows)
        self.warnings.extend(differing)
        self._check_contexts()
        if self.types_from_pattern and not self.patterns:
            given = {name: "type" if read == "pattern" else read for name, read in self.matched.given.items()}
            self.matched = replace(self.matched, given=given)

    def _check_references(self) -> None:
        """Another system's row may hold the reference of the same context."""
        with_reference = {row.key.folded for row in self.rows if row.reference is not None}
        if not with_reference:
            return
        empty = [line for line, key in self.empty_references if key not in with_reference]
        message = say(
            "The reference is empty although other rows have one; fill it in, or leave out the column."
        )
        self.errors.extend(RowIssue(line, "reference", message) for line in empty)
        reported = set(empty)
        message = say("There is no reference; the item stays out of BLEU.")
        self.warnings.extend(
            RowIssue(row.line, "reference", message)
            for row in self.rows
            if row.key.folded not in with_reference and row.line not in reported
        )

    def _check_contexts(self) -> None:
        """A compound has five contexts, each with its own number."""
        for unit, contexts in contexts_by_unit(self.rows).items():
            found = None if unit in self.with_errors else not_five(contexts)
            self.warnings.extend([found] if found else [])
            self.warnings.extend(repeated_numbers(contexts))


def context_number(record: Record, problems: list[RowIssue]) -> int | None:
    """The cell `context_no` as a number from 1 ("3", "３" and "3.0" are 3); adds a problem where it is none."""
    text = given_text(record, "context_no")
    if text is None:
        return None
    number = whole_number(text)
    if number is None or not 1 <= number <= MAX_CONTEXT_NO:
        message = say("“{text}” is not a context number; write 1, 2, 3, …", text=excerpt(text))
        problems.append(RowIssue(record.line, "context_no", message))
    return number


def _source_differs(record: Record, problems: list[RowIssue]) -> bool | None:
    """None where the file does not say it."""
    if given_text(record, "source_differs") is None:
        return None
    return yes_or_no(record, "source_differs", problems)


def _output_of(system: str | None, run: str | None) -> tuple[str, str]:
    """System and run as they are compared."""
    return fold_key(system or ""), fold_key(run or "")


def _as_type(text: str | None) -> str | None:
    folded = fold_key(text or "").upper()
    return folded if folded in TYPES else None


def _repeated_id(row: CompoundRow, first: CompoundRow) -> RowIssue:
    return RowIssue(row.line, COMPOUND.id_column, repeated_id_message(row.key, first.key, first.line))


def stands_in(compound: str, source: str) -> bool:
    """Whether the source holds the compound; nearly all do word for word, which is told a hundred times faster."""
    return f" {compound} " in f" {source} " or locate(compound, source) is not None


def _differences(row: CompoundRow, first: CompoundRow) -> list[RowIssue]:
    """Where two systems' rows with one key do not mean the same context."""
    if first is row:
        return []
    problems = []
    for name in _SHARED:
        mine, theirs = getattr(row, name), getattr(first, name)
        if None not in (mine, theirs) and mine != theirs:
            message = say(
                "The {name} differs from that on line {line}, which has the same key.",
                name=name,
                line=first.line,
            )
            problems.append(RowIssue(row.line, name, message))
    return problems
