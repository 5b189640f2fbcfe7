"""What the rows of one compound have in common: its type and pattern, what each of its contexts says, how many
contexts it has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from annotation.formats.cells import excerpt
from annotation.formats.errors import RowIssue
from annotation.formats.keys import ItemKey
from annotation.protocol.compound import COMPOUND, Analysis, analyse
from annotation.protocol.sentences import say, say_count

OF_UNIT = ("type", "pattern")
OF_CONTEXT = ("context_no", "reference", "source_differs")


@dataclass(frozen=True, slots=True)
class CompoundRow:
    """One translation to judge. Texts are as given, outer spaces included; what a file leaves out is None.

    `item_id` is None where the file has no such column: then `key` is derived. `unit_key` is shared by all
    contexts of the compound. An empty `translation` is a system's empty output. `source_differs` says that what was
    judged is not the line the reference translates; such a row stays out of BLEU.
    """

    line: int
    key: ItemKey
    unit_key: str
    item_id: str | None
    compound: str
    type: str | None
    pattern: str | None
    context_no: int | None
    source: str
    translation: str
    reference: str | None
    system: str | None
    run: str | None
    source_differs: bool | None = None


@lru_cache(maxsize=4096)
def analysis_of(compound: str) -> Analysis:
    """How a compound is built; a compound stands in five rows at least."""
    return analyse(compound)


def shared_values(rows: Sequence[CompoundRow]) -> tuple[list[CompoundRow], list[RowIssue]]:
    """The rows, each with what any row of its compound or of its context says; and where rows of one compound say
    different things, a warning, since what the first of them says holds for all.
    """
    of_unit: dict[tuple[str, str], tuple[Any, int]] = {}
    of_context: dict[tuple[str, str], Any] = {}
    for row in rows:
        for name in OF_UNIT:
            if (value := getattr(row, name)) is not None:
                of_unit.setdefault((row.unit_key, name), (value, row.line))
        for name in OF_CONTEXT:
            if (value := getattr(row, name)) is not None:
                of_context.setdefault((row.key.folded, name), value)
    warnings = [issue for row in rows for issue in _other_than_first(row, of_unit)]
    return [_completed(row, of_unit, of_context) for row in rows], warnings


def _completed(
    row: CompoundRow,
    of_unit: Mapping[tuple[str, str], tuple[Any, int]],
    of_context: Mapping[tuple[str, str], Any],
) -> CompoundRow:
    told = {name: of_unit.get((row.unit_key, name), (None, 0))[0] for name in OF_UNIT}
    told |= {name: of_context.get((row.key.folded, name)) for name in OF_CONTEXT}
    if all(getattr(row, name) == value for name, value in told.items()):
        return row
    return replace(row, **told)


def _other_than_first(
    row: CompoundRow, of_unit: Mapping[tuple[str, str], tuple[Any, int]]
) -> Iterator[RowIssue]:
    for name in OF_UNIT:
        value = getattr(row, name)
        if value is None:
            continue
        first, line = of_unit[row.unit_key, name]
        if value != first and getattr(analysis_of(row.compound), name) is None:
            message = say(
                "The {name} differs from that on line {line}, which has the same compound; that one counts.",
                name=name,
                line=line,
            )
            yield RowIssue(row.line, name, message)


def contradictions(rows: Iterable[CompoundRow]) -> Iterator[RowIssue]:
    """Where a row's type or pattern is not the one that the compound's own words settle, which counts: for a type
    once a compound, for a pattern, which may be in another notation, once in the file.
    """
    seen: set[tuple[str, str]] = set()
    patterns: set[str] = set()
    for row in rows:
        for name in OF_UNIT:
            given = getattr(row, name)
            if given is None or (row.unit_key, given) in seen:
                continue
            seen.add((row.unit_key, given))
            derived = getattr(analysis_of(row.compound), name)
            if derived is None or given in patterns or _is_same(given, derived):
                continue
            if name == "pattern":
                patterns.add(given)
            yield RowIssue(row.line, name, _contradiction(row, given, derived))


def _contradiction(row: CompoundRow, given: str, derived: str) -> str:
    return say(
        "The file says {given}; by its words “{compound}” is {derived}, which counts.",
        given=excerpt(given, 60),
        compound=excerpt(row.compound, 60),
        derived=derived,
    )


def _is_same(given: str, derived: str) -> bool:
    """A pattern may be written with or without its type."""
    written = "".join(given.split()).upper()
    return written in (derived, derived.partition(":")[2])


def contexts_by_unit(rows: Iterable[CompoundRow]) -> dict[str, list[CompoundRow]]:
    """The first row of each context, by compound, however many systems translated it."""
    units: dict[str, dict[str, CompoundRow]] = {}
    for row in rows:
        units.setdefault(row.unit_key, {}).setdefault(row.key.folded, row)
    return {unit: list(contexts.values()) for unit, contexts in units.items()}


def not_five(contexts: Sequence[CompoundRow]) -> RowIssue | None:
    """That a compound's contexts in the file are not five, if so."""
    first, n = contexts[0], len(contexts)
    if n == COMPOUND.contexts_per_unit:
        return None
    message = say_count(
        "The compound “{name}” has {n} context in this file instead of five.",
        "The compound “{name}” has {n} contexts in this file instead of five.",
        n=n,
        name=excerpt(first.compound),
    )
    return RowIssue(first.line, "compound", message)


def repeated_numbers(contexts: Iterable[CompoundRow]) -> Iterator[RowIssue]:
    """Contexts of one compound that have the number of an earlier one."""
    lines: dict[int, int] = {}
    for row in contexts:
        if row.context_no is not None and lines.setdefault(row.context_no, row.line) != row.line:
            message = say(
                "Context {context_no} of “{name}” stands on line {line} already.",
                context_no=row.context_no,
                name=excerpt(row.compound),
                line=lines[row.context_no],
            )
            yield RowIssue(row.line, "context_no", message)
