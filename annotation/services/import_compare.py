"""What a file would change: its rows beside what the campaign holds. Nothing is written here.

A text that differs from the stored one is a conflict; one that is given where none is stored is filled in.

Cost: two queries over the campaign's contexts and outputs, or one over its triples, whatever the file.
"""

import dataclasses
import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from annotation.formats.cells import excerpt
from annotation.formats.compound_units import OF_UNIT, CompoundRow, analysis_of
from annotation.formats.errors import RowIssue
from annotation.formats.triples import TripleRow
from annotation.models import Campaign, Context, Item, Output
from annotation.protocol.compound import COMPOUND
from annotation.protocol.display import joined_translation
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key
from annotation.protocol.triple import TRIPLE
from annotation.services.import_contexts import contexts_beside
from annotation.services.import_known import COMPOUND_WAYS, TRIPLE_WAYS, Known, R, Row, Stored, known_again
from annotation.services.import_systems import systems_beside

# Fields that describe an item and are no part of what is judged.
DESCRIPTIVE = frozenset({"type", "pattern", "reference", "source_differs", "class", "split", "label"})
_OF_OUTPUT = frozenset({"translation"})
# What a corrected row changes: its fields, and under what name they are read from the database.
_COMPOUND_FIELDS = {name: name for name in ("source", "reference", "source_differs")} | {
    name: f"unit__{name}" for name in OF_UNIT
}
_TRIPLE_FIELDS = {name: name for name in ("head", "relation", "tail", "split", "label")} | {
    "class": "item_class"
}


@dataclass(frozen=True)
class Conflict:
    """A text that differs from the one stored under the same key."""

    line: int
    key: str
    field: str
    old: str
    new: str
    row: Row = dataclasses.field(repr=False)

    def as_json(self) -> dict[str, Any]:
        return {"line": self.line, "key": self.key, "field": self.field, "old": self.old, "new": self.new}


@dataclass(frozen=True)
class Filling:
    """What a row gives where nothing is stored yet; `pk` is that of the unit, context or item the field is of."""

    line: int
    field: str
    pk: int
    value: Any


@dataclass(frozen=True)
class Comparison:
    """Rows that are new, how many are there already, where texts differ, and what is filled in.

    A new output may fill in what its context lacks: then its row is among both.
    """

    new: Sequence[Row]
    unchanged: int
    conflicts: Sequence[Conflict]
    fillings: Sequence[Filling] = ()
    warnings: Sequence[RowIssue] = ()
    outdated: frozenset[RowIssue] = frozenset()  # warnings of the file that hold for the file alone

    def filled(self) -> dict[str, int]:
        """By field, how many rows fill it in."""
        rows: dict[str, set[int]] = {}
        for filling in self.fillings:
            rows.setdefault(filling.field, set()).add(filling.line)
        return {field: len(lines) for field, lines in rows.items()}


@dataclass(frozen=True)
class _Beside:
    """A row beside what stands under its key."""

    conflicts: Sequence[Conflict] = ()
    fillings: Sequence[Filling] = ()
    is_new: bool = False


_THERE = _Beside()
_NEW = _Beside(is_new=True)


def text_digest(translation: str) -> str:
    """Equal for translations that read the same: joined for display, NFC, without outer space.

    Two outputs of one context with equal digests are one item, judged once.
    """
    normal = unicodedata.normalize("NFC", joined_translation(translation)).strip()
    return hashlib.sha256(normal.encode()).hexdigest()


def compare(campaign: Campaign, rows: Sequence[Row], *, taken: Sequence[Conflict] = ()) -> Comparison:
    """The rows of a file beside what is stored, or what would be once the texts of the conflicts `taken` were."""
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        return _compare_compounds(campaign, [row for row in rows if isinstance(row, CompoundRow)], taken)
    stored = _stored_triples(campaign)
    _take(stored, taken, _TRIPLE_FIELDS)
    triples = [row for row in rows if isinstance(row, TripleRow)]
    known = known_again(triples, stored, TRIPLE_WAYS, id_column=TRIPLE.id_column)
    found = _compared(known, stored, _beside_triple, id_column=TRIPLE.id_column)
    return dataclasses.replace(found, warnings=(*found.warnings, *_twins(found, stored)))


def _compare_compounds(
    campaign: Campaign, rows: Sequence[CompoundRow], taken: Sequence[Conflict]
) -> Comparison:
    stored, outputs = _stored_contexts(campaign), _stored_outputs(campaign)
    _take(stored, taken, _COMPOUND_FIELDS)
    outputs |= {
        (stored[one.row.key.folded]["pk"], one.row.system or "", one.row.run or ""): one.row.translation
        for one in taken
        if isinstance(one.row, CompoundRow) and one.field == "translation"
    }
    units = {one["unit__key"]: one for one in stored.values()}
    known = known_again(rows, stored, COMPOUND_WAYS, id_column=COMPOUND.id_column)

    def beside(row: CompoundRow, there: Stored | None) -> _Beside:
        return _beside_context(row, there, outputs) if there else _beside_unit(row, units.get(row.unit_key))

    found = _compared(known, stored, beside, id_column=COMPOUND.id_column)
    contexts = contexts_beside(known.rows, stored)
    systems = systems_beside(found.new, {system for _context, system, _run in outputs})
    warnings = (*found.warnings, *contexts.warnings, *systems)
    return dataclasses.replace(found, warnings=warnings, outdated=contexts.outdated)


def _take(stored: dict[str, Stored], taken: Iterable[Conflict], fields: Mapping[str, str]) -> None:
    """Put what rows say in the place of what is stored, in memory; `fields` are named as in `stored`."""
    for conflict in taken:
        key, row = conflict.row.key.folded, conflict.row
        if conflict.field in fields:
            attribute = "item_class" if conflict.field == "class" else conflict.field
            stored[key] = {**stored[key], fields[conflict.field]: getattr(row, attribute)}
        if conflict.field == "source":
            stored[key] = {**stored[key], "source_differs": bool(getattr(row, "source_differs", False))}


def _compared(
    known: Known[R],
    stored: Mapping[str, Stored],
    beside: Callable[[R, Stored | None], _Beside],
    *,
    id_column: str,
) -> Comparison:
    new: list[Row] = []
    conflicts: list[Conflict] = []
    fillings: list[Filling] = []
    unchanged = 0
    for row in known.rows:
        there = stored.get(row.key.folded)
        found: _Beside = beside(row, there)
        filled = [*found.fillings]
        if there is not None and row.key.folded in known.ids and _is_the_same(found.conflicts):
            filled.append(Filling(row.line, id_column, there["pk"], known.ids[row.key.folded]))
        conflicts += found.conflicts
        fillings += filled
        if found.is_new:
            new.append(row)
        unchanged += not (found.is_new or found.conflicts or filled)
    return Comparison(new, unchanged, conflicts, fillings, known.warnings)


def _is_the_same(conflicts: Iterable[Conflict]) -> bool:
    """Whether nothing but descriptions and a system's output differ, so that what else a row says holds for what is
    stored.
    """
    return all(conflict.field in DESCRIPTIVE | _OF_OUTPUT for conflict in conflicts)


class _Said(NamedTuple):
    """What a row says of a field otherwise than it is stored; "" or False where nothing is stored."""

    field: str
    pk: int
    new: Any
    old: Any


def _otherwise(field: str, pk: int, new: Any, old: Any) -> Iterator[_Said]:
    """Nothing where the row leaves the field out or says what is stored."""
    if new is not None and new != old:
        yield _Said(field, pk, new, old)


def _beside(row: Row, identity: Sequence[Conflict], said: Sequence[_Said]) -> _Beside:
    if not identity and not said:
        return _THERE
    differs = [one for one in said if one.old not in ("", False)]
    conflicts = [
        Conflict(row.line, row.key.given, one.field, _shown(one.old), _shown(one.new), row) for one in differs
    ]
    fillings = [Filling(row.line, *one[:3]) for one in said if one.old in ("", False)]
    return _Beside([*identity, *conflicts], fillings if _is_the_same(identity) else ())


def _shown(value: str | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


# Compounds


def _stored_contexts(campaign: Campaign) -> dict[str, Stored]:
    contexts = Context.objects.filter(unit__campaign=campaign, batch__published_at__isnull=False)
    columns = (
        "pk", "key", "key_folded", "given_key", "number", "source", "reference", "source_differs", "unit", "unit__key",
        "unit__compound", "unit__type", "unit__pattern",
    )  # fmt: skip
    return {stored["key_folded"]: stored for stored in contexts.order_by("pk").values(*columns)}


def _stored_outputs(campaign: Campaign) -> dict[tuple[int, str, str], str]:
    """Translations by context, system and run."""
    outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
    return {
        (context, system, run): translation
        for context, system, run, translation in outputs.values_list(
            "context", "system__name", "run", "translation"
        )
    }


def _beside_context(row: CompoundRow, stored: Stored, outputs: Mapping[tuple[int, str, str], str]) -> _Beside:
    found = _beside(row, list(_context_conflicts(row, stored)), list(_context_said(row, stored)))
    translation = outputs.get((stored["pk"], row.system or "", row.run or ""))
    if translation is None:
        # Another description does not make the system's output another one: kept or replaced, the output is new.
        is_new = all(conflict.field in DESCRIPTIVE for conflict in found.conflicts)
        return dataclasses.replace(found, is_new=is_new)
    if translation == row.translation:
        return found
    differs = Conflict(row.line, row.key.given, "translation", translation, row.translation, row)
    return dataclasses.replace(found, conflicts=[*found.conflicts, differs])


def _beside_unit(row: CompoundRow, unit: Stored | None) -> _Beside:
    """A new context beside the compound, where that is stored already."""
    said = list(_unit_said(row, unit)) if unit else []
    return dataclasses.replace(_beside(row, (), said), is_new=True) if said else _NEW


def _context_conflicts(row: CompoundRow, stored: Stored) -> Iterator[Conflict]:
    """Where the row means another context, or its sentence is another one."""
    compound = stored["unit__compound"]
    if row.compound != compound and fold_key(row.compound) != fold_key(compound):
        yield Conflict(row.line, row.key.given, "compound", compound, row.compound, row)
    if row.source != stored["source"]:
        yield Conflict(row.line, row.key.given, "source", stored["source"], row.source, row)
    if row.context_no is not None and row.context_no != stored["number"]:
        old, new = str(stored["number"]), str(row.context_no)
        yield Conflict(row.line, row.key.given, "context_no", old, new, row)


def _unit_said(row: CompoundRow, stored: Stored) -> Iterator[_Said]:
    """Type and pattern, unless the compound's own words settle them: then that counts, and the reader has said so."""
    for name in OF_UNIT:
        new, old = getattr(row, name), stored[f"unit__{name}"]
        if new is None or new == old or fold_key(new) == fold_key(old):
            continue
        if getattr(analysis_of(stored["unit__compound"]), name) is None:
            yield _Said(name, stored["unit"], new, old)


def _context_said(row: CompoundRow, stored: Stored) -> Iterator[_Said]:
    yield from _unit_said(row, stored)
    yield from _otherwise("reference", stored["pk"], row.reference, stored["reference"])
    if row.source == stored["source"]:  # of another source it says another thing
        yield from _otherwise("source_differs", stored["pk"], row.source_differs, stored["source_differs"])


# Triples

_TRIPLE_TEXTS = ("head", "relation", "tail")
_TRIPLE_DESCRIBED = {"class": "item_class", "split": "split", "label": "label"}


def _stored_triples(campaign: Campaign) -> dict[str, Stored]:
    there = Item.objects.published().filter(campaign=campaign)  # a withdrawn item is there, and is not new
    columns = (
        "pk", "key", "key_folded", "given_key", "head", "relation", "tail", "item_class", "split", "imported_label",
    )  # fmt: skip
    current = there.exclude(retired_why=Item.Retired.REPLACED).order_by("position")
    return {
        stored["key_folded"]: stored | {"label": stored["imported_label"]}
        for stored in current.values(*columns)
    }


def _beside_triple(row: TripleRow, stored: Stored | None) -> _Beside:
    if stored is None:
        return _NEW
    identity = [
        Conflict(row.line, row.key.given, name, stored[name], getattr(row, name), row)
        for name in _TRIPLE_TEXTS
        if getattr(row, name) != stored[name]
    ]
    said = [
        one
        for name, attribute in _TRIPLE_DESCRIBED.items()
        for one in _otherwise(name, stored["pk"], getattr(row, attribute), stored[attribute])
    ]
    return _beside(row, identity, said)


def _twins(found: Comparison, stored: Mapping[str, Stored]) -> Iterator[RowIssue]:
    """Rows with an id that would make another item of a triple which the campaign holds under another id."""
    coming = [*found.new, *(conflict.row for conflict in found.conflicts if conflict.field in _TRIPLE_TEXTS)]
    rows = {row.line: row for row in coming if isinstance(row, TripleRow) and row.triple_id is not None}
    if not rows or not stored:
        return
    (way,) = TRIPLE_WAYS
    held: dict[Any, Stored] = {}
    for one in stored.values():
        held.setdefault(way.stored(one), one)
    for row in rows.values():
        texts = way.row(row)
        twin = held.get(texts)
        if twin is None or twin["key_folded"] == row.key.folded:
            continue
        message = say(
            "The same triple is in the campaign already, as “{key}”; with the id “{id}” it is another item, judged by "
            "itself.",
            key=excerpt(twin["key"]),
            id=excerpt(row.key.given),
        )
        yield RowIssue(row.line, None, message)
