"""What makes an item the same item again: its id, or else the texts that name it."""

import hashlib
from dataclasses import dataclass

from annotation.formats.cells import excerpt
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key

# Parts of a key are joined with a character that no text file holds within a cell.
_JOINT = "\x1f"
# PostgreSQL indexes no value above 2,704 bytes.
_MAX_FOLDED = 600
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ItemKey:
    """`given` is what people see: the id as it stands in the file, or the texts that stand in for one.
    `folded` is what is compared. `derived` tells the second kind from the first.
    """

    given: str
    folded: str
    derived: bool = False


def id_key(item_id: str) -> ItemKey:
    """The key of an item with an `item_id` or `triple_id`: compared NFKC, trimmed, zero-width characters removed.

    >>> id_key("a01\\u200b").folded == id_key("a01").folded
    True
    """
    return ItemKey(item_id, _bounded(fold_key(item_id)))


def triple_key(head: str, relation: str, tail: str, *, occurrence: int) -> ItemKey:
    """The key of a triple without an id: the `occurrence`-th of its kind in the file, counted from 1.

    >>> triple_key("it rains", "Causes", "wet ground", occurrence=1).given
    'it rains | Causes | wet ground'
    """
    shown = f"{head} | {relation} | {tail}"
    return _derived(shown, occurrence, (fold_key(head), fold_key(relation), fold_key(tail)))


def compound_key(compound: str, context_no: int | None, *, occurrence: int) -> ItemKey:
    """The key of one context of a compound without an id: by its number, or else by its place among those of
    the compound that have none.

    >>> compound_key("the dog", 3, occurrence=1).given, compound_key("the dog", None, occurrence=2).given
    ('the dog | context 3', 'the dog (2)')
    """
    if context_no is None:
        return _derived(compound, occurrence, (fold_key(compound), ""))
    return _derived(f"{compound} | context {context_no}", occurrence, (fold_key(compound), str(context_no)))


def unit_key(compound: str) -> str:
    """What the contexts of one compound have in common."""
    return _bounded(fold_key(compound))


def repeated_id_message(key: ItemKey, first: ItemKey, first_line: int) -> str:
    """That an id stands in the file twice; look-alikes are both shown, what cannot be seen as escapes."""
    if key.given == first.given:
        return say(
            "The id “{id}” stands on line {line} already. Give each row its own id.",
            id=excerpt(key.given),
            line=first_line,
        )
    return say(
        "The id “{id}” stands on line {line} already as “{first}” (ids that look the same are the same). "
        "Give each row its own id.",
        id=excerpt(key.given),
        line=first_line,
        first=excerpt(first.given),
    )


def _derived(shown: str, occurrence: int, parts: tuple[str, ...]) -> ItemKey:
    given = excerpt(shown, _MAX_SHOWN) + (f" ({occurrence})" if occurrence > 1 else "")
    return ItemKey(given, _bounded(_JOINT.join((*parts, str(occurrence)))), derived=True)


def _bounded(folded: str) -> str:
    """A long key is replaced from its middle on by its digest, so that it can be indexed and stays distinct."""
    if len(folded) <= _MAX_FOLDED:
        return folded
    return f"{folded[:400]}…{hashlib.sha256(folded.encode()).hexdigest()}"
