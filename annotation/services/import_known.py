"""Which stored item a row means where nothing is stored under the row's own key.

First the name under which an export writes an item without an id. Then the texts: a row without an id is the item
that has its texts, whether that came with an id or not, and a row with an id is an item with its texts that came
without one, which then gets the id. Where several have the texts, they are taken in the order of import, with a
warning. What is found nowhere is new.

Cost: nothing where every key is stored, or nothing is; else one pass over the stored items, in memory.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from annotation.formats.cells import excerpt
from annotation.formats.compound_units import CompoundRow
from annotation.formats.errors import RowIssue
from annotation.formats.keys import ItemKey
from annotation.formats.triples import TripleRow
from annotation.protocol.sentences import say, say_count
from annotation.protocol.text import fold_key

Row = CompoundRow | TripleRow
R = TypeVar("R", CompoundRow, TripleRow)
Stored = Mapping[str, Any]  # what stands under a key, as far as it is compared
Texts = tuple[str, ...]


@dataclass(frozen=True)
class Way(Generic[R]):
    """A way of knowing items again: the texts of a stored one, and those of a row, None where it does not apply."""

    stored: Callable[[Stored], Texts]
    row: Callable[[R], Texts | None]


@dataclass(frozen=True)
class Known(Generic[R]):
    """The rows under the keys of what is stored, and the ids that they give to items that came without."""

    rows: Sequence[R]
    ids: Mapping[str, ItemKey] = field(default_factory=dict)  # by the stored key as it is compared
    warnings: Sequence[RowIssue] = ()


def known_again(
    rows: Sequence[R], stored: Mapping[str, Stored], ways: Sequence[Way[R]], *, id_column: str
) -> Known[R]:
    """The rows beside what is stored; `stored` is by key, in the order of import."""
    unknown: dict[str, R] = {}
    hit: set[str] = set()
    for row in rows:
        if row.key.folded in stored:
            hit.add(row.key.folded)
        else:
            unknown.setdefault(row.key.folded, row)
    if not unknown or not stored:
        return Known(rows)
    looking: _Looking[R] = _Looking(stored, hit, id_column)
    looking.by_exported_name(unknown)
    for way in ways:
        looking.by_texts(unknown, way)
    return Known(
        [looking.renamed(row) for row in rows],
        looking.ids,
        [*looking.several, *looking.told_of_ids(unknown)],
    )


@dataclass
class _Looking(Generic[R]):
    """What has been found so far. `hit` are stored keys that rows name themselves: no other row means these."""

    stored: Mapping[str, Stored]
    hit: set[str]
    id_column: str
    found: dict[str, str] = field(default_factory=dict)  # the row's key → the stored one
    taken: set[str] = field(default_factory=set)
    ids: dict[str, ItemKey] = field(default_factory=dict)
    several: list[RowIssue] = field(default_factory=list)

    def by_exported_name(self, unknown: Mapping[str, R]) -> None:
        """Where other items have ids, exports write the texts into the column of ids."""
        named = {fold_key(one["key"]): key for key, one in self.stored.items() if not one["given_key"]}
        for key in unknown:
            if key in named:
                self._take(key, named[key])

    def by_texts(self, unknown: Mapping[str, R], way: Way[R]) -> None:
        left = {key: row for key, row in unknown.items() if key not in self.found}
        if not any(row.key.derived for row in left.values()) and not self._any_without_id():
            return
        index: dict[Texts, list[str]] = defaultdict(list)
        for key, one in self.stored.items():
            if key not in self.hit:
                index[way.stored(one)].append(key)
        for key, row in left.items():
            texts = way.row(row)
            if texts is not None:
                self._choose(key, row, index.get(texts, ()))

    def _any_without_id(self) -> bool:
        return any(not one["given_key"] for one in self.stored.values())

    def _choose(self, key: str, row: R, candidates: Sequence[str]) -> None:
        possible = [one for one in candidates if row.key.derived or not self.stored[one]["given_key"]]
        free = [one for one in possible if one not in self.taken]
        if not free:
            return
        self._take(key, free[0])
        if not row.key.derived:
            self.ids[free[0]] = row.key
        if len(possible) > 1:
            self.several.append(self._one_of_several(row, len(possible), self.stored[free[0]]["key"]))

    def _take(self, key: str, stored: str) -> None:
        self.found[key] = stored
        self.taken.add(stored)

    def _one_of_several(self, row: R, n: int, key: str) -> RowIssue:
        if not row.key.derived:
            message = say(
                "{n} items of the campaign have the texts of this row and no id; they get the ids in the order of "
                "import.",
                n=n,
            )
            return RowIssue(row.line, self.id_column, message)
        message = say(
            "{n} items of the campaign have the texts of this row; it is taken for “{key}”, in the order of "
            "import. To say which one is meant, add the column {column}.",
            n=n,
            key=excerpt(key),
            column=self.id_column,
        )
        return RowIssue(row.line, None, message)

    def renamed(self, row: R) -> R:
        """The row under the key of the item that it means."""
        if row.key.folded not in self.found:
            return row
        one = self.stored[self.found[row.key.folded]]
        key = ItemKey(one["key"], one["key_folded"], derived=not one["given_key"])
        return dataclasses.replace(row, key=key)

    def told_of_ids(self, unknown: Mapping[str, R]) -> Iterator[RowIssue]:
        if self.ids:
            message = say_count(
                "{n} item of the campaign came without an id and has the texts of a row with one: it gets the id, "
                "and is not stored again. If it is another item, import this file into a campaign of its own.",
                "{n} items of the campaign came without an id and have the texts of rows with one: they get the "
                "ids, and are not stored again. If they are other items, import this file into a campaign of its "
                "own.",
                n=len(self.ids),
            )
            yield RowIssue(None, self.id_column, message)


# Compounds and triples ---------------------------------------------------------------------------------------


def _compound(one: Stored) -> str:
    return fold_key(one["unit__compound"])


COMPOUND_WAYS: Sequence[Way[CompoundRow]] = (
    Way(
        lambda one: (_compound(one), str(one["number"]), fold_key(one["source"])),
        lambda row: (
            None
            if row.context_no is None
            else (fold_key(row.compound), str(row.context_no), fold_key(row.source))
        ),
    ),
    # An id stands for one sentence, whatever its number; so does a row that has nothing else.
    Way(
        lambda one: (_compound(one), fold_key(one["source"])),
        lambda row: (
            (fold_key(row.compound), fold_key(row.source))
            if row.context_no is None or not row.key.derived
            else None
        ),
    ),
    Way(
        lambda one: (_compound(one), str(one["number"])),
        lambda row: (
            (fold_key(row.compound), str(row.context_no))
            if row.context_no is not None and row.key.derived
            else None
        ),
    ),
)

TRIPLE_WAYS: Sequence[Way[TripleRow]] = (
    Way(
        lambda one: (fold_key(one["head"]), one["relation"], fold_key(one["tail"])),
        lambda row: (fold_key(row.head), row.relation, fold_key(row.tail)),
    ),
)
