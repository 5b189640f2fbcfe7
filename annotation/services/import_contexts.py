"""How many contexts a compound has once a file is stored: those of the file and those that are there already."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from annotation.formats.cells import excerpt
from annotation.formats.compound_units import CompoundRow, contexts_by_unit, not_five
from annotation.formats.errors import RowIssue
from annotation.protocol.compound import COMPOUND
from annotation.protocol.sentences import say, say_count
from annotation.services.import_known import Stored


@dataclass(frozen=True)
class Contexts:
    """What there is to say of compounds that the campaign holds already, and the file's warnings it replaces."""

    warnings: Sequence[RowIssue] = ()
    outdated: frozenset[RowIssue] = frozenset()


def contexts_beside(rows: Sequence[CompoundRow], stored: Mapping[str, Stored]) -> Contexts:
    """The contexts of a file beside the stored ones, which are by key; rows stand under the keys of what is stored."""
    if not stored:
        return Contexts()
    held: dict[str, list[Stored]] = defaultdict(list)
    for one in stored.values():
        held[one["unit__key"]].append(one)
    warnings: list[RowIssue] = []
    for unit, contexts in _by_stored_unit(rows, stored).items():
        if unit in held:
            new = [row for row in contexts if row.key.folded not in stored]
            warnings += _not_five_in_all(contexts, new, len(held[unit]) + len(new))
            warnings += _numbers_there(new, held[unit])
    alone = [not_five(contexts) for unit, contexts in contexts_by_unit(rows).items() if unit in held]
    return Contexts(warnings, frozenset(found for found in alone if found))


def _by_stored_unit(
    rows: Sequence[CompoundRow], stored: Mapping[str, Stored]
) -> dict[str, list[CompoundRow]]:
    """The first row of each context, by the unit it is of: one compound may be several units of a test set."""
    units: dict[str, list[CompoundRow]] = defaultdict(list)
    for unit, contexts in contexts_by_unit(rows).items():
        for row in contexts:
            one = stored.get(row.key.folded)
            units[one["unit__key"] if one else unit].append(row)
    return units


def _not_five_in_all(
    contexts: Sequence[CompoundRow], new: Sequence[CompoundRow], total: int
) -> Iterator[RowIssue]:
    if total == COMPOUND.contexts_per_unit:
        return
    first = (new or contexts)[0]
    message = say_count(
        "The compound “{name}” has {n} context, in the campaign and this file together, instead of five.",
        "The compound “{name}” has {n} contexts, in the campaign and this file together, instead of five.",
        n=total,
        name=excerpt(first.compound),
    )
    yield RowIssue(first.line, "compound", message)


def _numbers_there(new: Sequence[CompoundRow], held: Sequence[Stored]) -> Iterator[RowIssue]:
    """New contexts that have the number of a stored one."""
    keys = {one["number"]: one["key"] for one in held}
    for row in new:
        if row.context_no in keys:
            message = say(
                "Context {context_no} of “{name}” is in the campaign already, as “{key}”; this is another one.",
                context_no=row.context_no,
                name=excerpt(row.compound),
                key=excerpt(keys[row.context_no]),
            )
            yield RowIssue(row.line, "context_no", message)
