"""What a file would change: its rows beside what the campaign holds. Nothing is written here.

Cost: two queries over the campaign's contexts and outputs, or one over its triples, whatever the file.
"""

import dataclasses
import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from annotation.formats.compounds import CompoundRow
from annotation.formats.keys import ItemKey, compound_key
from annotation.formats.triples import TripleRow
from annotation.models import Campaign, Context, Item, Output
from annotation.protocol.display import joined_translation
from annotation.protocol.text import fold_key

Row = CompoundRow | TripleRow
R = TypeVar("R", CompoundRow, TripleRow)
_Stored = Mapping[str, Any]  # what stands under a key, as far as it is compared


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
class Comparison:
    """Rows that are new, how many are there already, and where texts differ."""

    new: Sequence[Row]
    unchanged: int
    conflicts: Sequence[Conflict]


def text_digest(translation: str) -> str:
    """Equal for translations that read the same: joined for display, NFC, without outer space.

    Two outputs of one context with equal digests are one item, judged once.
    """
    normal = unicodedata.normalize("NFC", joined_translation(translation)).strip()
    return hashlib.sha256(normal.encode()).hexdigest()


def compare(campaign: Campaign, rows: Sequence[Row]) -> Comparison:
    """The rows of a file beside what is stored."""
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        contexts, outputs = _stored_contexts(campaign), _stored_outputs(campaign)
        return _compared(
            [row for row in rows if isinstance(row, CompoundRow)],
            contexts,
            lambda row, stored: _beside_context(row, stored, outputs),
        )
    return _compared(
        [row for row in rows if isinstance(row, TripleRow)], _stored_triples(campaign), _beside_triple
    )


def _compared(
    rows: Iterable[R],
    stored: Mapping[str, _Stored],
    beside: Callable[[R, _Stored], tuple[Sequence[Conflict], bool]],
) -> Comparison:
    """`beside` tells the conflicts of a row with what stands under its key, and whether it is new all the same."""
    named = _named_by_texts(stored.values())
    new: list[R] = []
    conflicts: list[Conflict] = []
    unchanged = 0
    for given in rows:
        row = _known_again(given, stored, named)
        there = stored.get(row.key.folded)
        found, is_new = ((), True) if there is None else beside(row, there)
        conflicts += found
        if is_new:
            new.append(row)
        unchanged += not is_new and not found
    return Comparison(new, unchanged, conflicts)


def _named_by_texts(stored: Iterable[_Stored]) -> dict[str, str]:
    """For items without an id, by what exports write for them, their keys as they are compared.

    An export names them by their texts where other items have ids; and a compound's contexts that came without
    numbers were numbered in their order.
    """
    named: dict[str, str] = {}
    for one in stored:
        if one["given_key"]:
            continue
        named[fold_key(one["key"])] = one["key_folded"]
        if "number" in one:
            by_number = compound_key(one["unit__compound"], one["number"], occurrence=1)
            named[by_number.folded] = one["key_folded"]
    return named


def _known_again(row: R, stored: Mapping[str, _Stored], named: Mapping[str, str]) -> R:
    """The row; one that names an item without an id as an export does stands under the item's own key."""
    if row.key.folded in stored or row.key.folded not in named:
        return row
    return dataclasses.replace(row, key=ItemKey(row.key.given, named[row.key.folded], derived=True))


# Compounds


def _stored_contexts(campaign: Campaign) -> dict[str, _Stored]:
    contexts = Context.objects.filter(unit__campaign=campaign, batch__published_at__isnull=False)
    columns = (
        "pk", "key", "key_folded", "given_key", "number", "source", "reference", "unit__key", "unit__compound",
    )  # fmt: skip
    return {stored["key_folded"]: stored for stored in contexts.values(*columns)}


def _stored_outputs(campaign: Campaign) -> dict[tuple[int, str, str], str]:
    """Translations by context, system and run."""
    outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
    return {
        (context, system, run): translation
        for context, system, run, translation in outputs.values_list(
            "context", "system__name", "run", "translation"
        )
    }


def _beside_context(
    row: CompoundRow, stored: _Stored, outputs: Mapping[tuple[int, str, str], str]
) -> tuple[Sequence[Conflict], bool]:
    found = list(_context_conflicts(row, stored))
    translation = outputs.get((stored["pk"], row.system or "", row.run or ""))
    if translation is not None and translation != row.translation:
        found.append(Conflict(row.line, row.key.given, "translation", translation, row.translation, row))
    # Another reference does not make the system's output another one: kept or replaced, the output is new.
    return found, translation is None and all(conflict.field == "reference" for conflict in found)


def _context_conflicts(row: CompoundRow, stored: _Stored) -> Iterable[Conflict]:
    given = {
        "compound": (row.unit_key, stored["unit__key"], row.compound, stored["unit__compound"]),
        "source": (row.source, stored["source"], row.source, stored["source"]),
    }
    if row.context_no is not None:
        number = (str(row.context_no), str(stored["number"]))
        given["context_no"] = (*number, *number)
    if row.reference is not None and stored["reference"]:
        given["reference"] = (row.reference, stored["reference"], row.reference, stored["reference"])
    for name, (mine, theirs, new, old) in given.items():
        if mine != theirs:
            yield Conflict(row.line, row.key.given, name, old, new, row)


# Triples

_TRIPLE_FIELDS = {
    "head": "head", "relation": "relation", "tail": "tail", "class": "item_class", "split": "split", "label": "label",
}  # fmt: skip


def _stored_triples(campaign: Campaign) -> dict[str, _Stored]:
    there = Item.objects.published().filter(campaign=campaign)  # a withdrawn item is there, and is not new
    columns = (
        "key", "key_folded", "given_key", "head", "relation", "tail", "item_class", "split", "imported_label",
    )  # fmt: skip
    return {
        stored["key_folded"]: stored | {"label": stored["imported_label"]}
        for stored in there.exclude(retired_why=Item.Retired.REPLACED).values(*columns)
    }


def _beside_triple(row: TripleRow, stored: _Stored) -> tuple[Sequence[Conflict], bool]:
    found = [
        Conflict(row.line, row.key.given, name, stored[attribute], getattr(row, attribute), row)
        for name, attribute in _TRIPLE_FIELDS.items()
        if getattr(row, attribute) not in (None, stored[attribute])
    ]
    return found, False
