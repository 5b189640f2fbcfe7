"""What a file would change: its rows beside what the campaign holds. Nothing is written here.

Cost: three queries over the campaign's items, whatever the file.
"""

import dataclasses
import hashlib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from annotation.formats.compounds import CompoundRow
from annotation.formats.keys import ItemKey, compound_key
from annotation.formats.triples import TripleRow
from annotation.models import Campaign, Context, Item, Output
from annotation.protocol.display import joined_translation
from annotation.protocol.text import fold_key

Row = CompoundRow | TripleRow


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
        return _compare_compounds(campaign, [row for row in rows if isinstance(row, CompoundRow)])
    return _compare_triples(campaign, [row for row in rows if isinstance(row, TripleRow)])


def _compare_compounds(campaign: Campaign, rows: Iterable[CompoundRow]) -> Comparison:
    contexts = {
        stored["key_folded"]: stored
        for stored in Context.objects.filter(
            unit__campaign=campaign, batch__published_at__isnull=False
        ).values(
            "pk",
            "key",
            "key_folded",
            "given_key",
            "number",
            "source",
            "reference",
            "unit__key",
            "unit__compound",
        )
    }
    outputs = {
        (context, system, run): translation
        for context, system, run, translation in Output.objects.filter(
            system__campaign=campaign, batch__published_at__isnull=False
        ).values_list("context", "system__name", "run", "translation")
    }
    named = _named_by_texts(contexts.values())
    new: list[CompoundRow] = []
    conflicts: list[Conflict] = []
    unchanged = 0
    for given in rows:
        row = _known_again(given, contexts, named)
        stored = contexts.get(row.key.folded)
        if stored is None:
            new.append(row)
            continue
        found = list(_context_conflicts(row, stored))
        translation = outputs.get((stored["pk"], row.system or "", row.run or ""))
        if translation is not None and translation != row.translation:
            found.append(Conflict(row.line, row.key.given, "translation", translation, row.translation, row))
        conflicts += found
        # Another reference does not make the system's output another one: kept or replaced, the output is new.
        if translation is None and all(conflict.field == "reference" for conflict in found):
            new.append(row)
        unchanged += translation is not None and not found
    return Comparison(new, unchanged, conflicts)


def _named_by_texts(stored: Iterable[Mapping[str, Any]]) -> dict[str, str]:
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


R = TypeVar("R", CompoundRow, TripleRow)


def _known_again(row: R, stored: Mapping[str, Any], named: Mapping[str, str]) -> R:
    """The row; one that names an item without an id as an export does stands under the item's own key."""
    if row.key.folded in stored or row.key.folded not in named:
        return row
    return dataclasses.replace(row, key=ItemKey(row.key.given, named[row.key.folded], derived=True))


def _context_conflicts(row: CompoundRow, stored: Mapping[str, Any]) -> Iterable[Conflict]:
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


_TRIPLE_FIELDS = {
    "head": "head", "relation": "relation", "tail": "tail", "class": "item_class", "split": "split", "label": "label",
}  # fmt: skip


def _compare_triples(campaign: Campaign, rows: Iterable[TripleRow]) -> Comparison:
    items: dict[str, dict[str, Any]] = {
        stored["key_folded"]: stored | {"label": stored["imported_label"]}
        for stored in Item.objects.published()  # a withdrawn item is there, and is not new
        .filter(campaign=campaign)
        .exclude(retired_why=Item.Retired.REPLACED)
        .values(
            "key",
            "key_folded",
            "given_key",
            "head",
            "relation",
            "tail",
            "item_class",
            "split",
            "imported_label",
        )
    }
    named = _named_by_texts(items.values())
    new: list[TripleRow] = []
    conflicts: list[Conflict] = []
    unchanged = 0
    for given in rows:
        row = _known_again(given, items, named)
        stored = items.get(row.key.folded)
        if stored is None:
            new.append(row)
            continue
        found = [
            Conflict(row.line, row.key.given, name, stored[attribute], getattr(row, attribute), row)
            for name, attribute in _TRIPLE_FIELDS.items()
            if getattr(row, attribute) not in (None, stored[attribute])
        ]
        conflicts += found
        unchanged += not found
    return Comparison(new, unchanged, conflicts)
