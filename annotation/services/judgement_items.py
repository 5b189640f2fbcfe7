"""Which items the rows of a file of judgements are about."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from annotation.formats.cells import is_blank
from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.key_columns import text_that_differs
from annotation.formats.keys import ItemKey, compound_key, triple_key
from annotation.formats.rows import FileRows
from annotation.models import Campaign, Item, Output
from annotation.models.item import in_play
from annotation.protocol.sentences import say, say_count
from annotation.protocol.text import fold_key, fold_name
from annotation.services.errors import Refused
from annotation.services.judgement_report import JudgementReport

CHUNK = 2000  # items read at once
_FIELDS = (
    "pk", "position", "unit", "key", "key_folded", "given_key", "head", "relation", "tail", "unit__compound", "context",
    "context__number",
)  # fmt: skip


@dataclass(frozen=True)
class ItemJudgements:
    """One person's judgements of one item, in the order they were given."""

    item: int
    unit: int
    annotator: str  # folded
    rows: tuple[JudgementRow, ...]

    @property
    def slot(self) -> int | None:
        """The slot that the rows name."""
        return next((row.slot for row in self.rows if row.slot is not None), None)


def match_items(
    campaign: Campaign,
    file: FileRows[JudgementRow],
    *,
    by_position: bool,
    report: JudgementReport,
    set_aside: bool = False,
) -> list[ItemJudgements]:
    """The rows by item and person; those without an item are reported with their lines. With `set_aside` the items of a
    dry run that count in no figure are items as well.
    """
    index = _Index(
        campaign,
        names_outputs={"system", "run"} & set(file.columns.values()) != set(),
        set_aside=set_aside,
    )
    if by_position:
        _check_number(file.n_rows, index.n_items)
    found: dict[tuple[int, str], list[JudgementRow]] = defaultdict(list)
    for row in file.rows:
        gone = _gone(index, row, by_position=by_position)
        if gone is not None:
            report.warnings.append(RowIssue(row.line, None, gone))
            continue
        item = index.at(row) if by_position else index.find(row)
        if item is None:
            report.without_item += 1
            item = _not_there(row)
        if isinstance(item, str):
            report.errors.append(RowIssue(row.line, None, item))
        else:
            found[item, fold_name(row.annotator)].append(row)
    judged = [
        ItemJudgements(item, index.unit_of[item], annotator, _by_revision(rows, report))
        for (item, annotator), rows in found.items()
    ]
    report.errors.sort(key=lambda issue: issue.line or 0)
    return judged


def _check_number(n_rows: int, n_items: int) -> None:
    if n_items != n_rows:
        raise Refused(
            say(
                "{rows} and {items}: rows can only be matched by position where the numbers are equal.",
                rows=say_count("The file has {n} row", "The file has {n} rows", n=n_rows),
                items=say_count("the campaign {n} item", "the campaign {n} items", n=n_items),
            )
        )


def _not_there(row: JudgementRow) -> str:
    return say("There is no item “{key}” in this campaign.", key=row.key.given[:120] if row.key else "")


def _gone(index: "_Index", row: JudgementRow, *, by_position: bool) -> str | None:
    """That the row's item was withdrawn or set aside, if it was."""
    why = index.gone.get(row.number) if by_position else index.why_gone(row)
    if why is None:
        return None
    if why == Item.Retired.SET_ASIDE:
        if by_position:
            return say(
                "The item at position {number} was set aside for a dry run; its row was skipped.",
                number=row.number,
            )
        return say("The item was set aside for a dry run; its row was skipped.")
    if by_position:
        return say("The item at position {number} was withdrawn; its row was skipped.", number=row.number)
    return say("The item was withdrawn; its row was skipped.")


def _by_revision(rows: Sequence[JudgementRow], report: JudgementReport) -> tuple[JudgementRow, ...]:
    """One row per revision. Outputs that read the same are one item, so rows of several systems may repeat its
    answer; another answer under the same revision is an error.
    """
    kept: dict[int, JudgementRow] = {}
    for row in rows:
        first = kept.setdefault(row.revision or 1, row)
        if first.answer != row.answer:
            message = say(
                "The same expert's label of “{text}” stands on line {line} already. Remove one of "
                "them, or number them in a column “revision”.",
                text=row.key.given[:120] if row.key else str(row.number),
                line=first.line,
            )
            report.errors.append(RowIssue(row.line, "label", message))
    return tuple(kept[revision] for revision in sorted(kept))


class _Index:
    """The campaign's items by position, by key, and by the texts that name them."""

    def __init__(self, campaign: Campaign, *, names_outputs: bool, set_aside: bool) -> None:
        self.names_outputs = names_outputs
        self.compound = campaign.protocol == Campaign.Protocol.COMPOUND
        there = in_play() if set_aside else Q(retired_at__isnull=True)
        of_campaign = Item.objects.published().filter(campaign=campaign)
        gone = of_campaign.exclude(there).exclude(retired_why=Item.Retired.REPLACED)
        rows = list(gone.values_list("position", "key_folded", "retired_why"))
        self.gone = {position: why for position, _key, why in rows}
        self.gone_keys = {key: why for _position, key, why in rows}
        self.by_position: dict[int, int] = {}
        self.by_key: dict[str, list[int]] = defaultdict(list)
        self.by_text: dict[str, list[int]] = defaultdict(list)
        self.by_name: dict[str, list[int]] = defaultdict(list)  # what exports write where an item has no id
        self.unit_of: dict[int, int] = {}
        self.texts_of: dict[int, dict[str, str]] = {}
        self.given_key: dict[int, str] = {}  # of items whose file had ids
        self.outputs: dict[int, set[tuple[str, str]]] = defaultdict(set)
        self._read_items(of_campaign.filter(there).order_by("position"))
        if self.compound:
            self._read_outputs(campaign)

    @property
    def n_items(self) -> int:
        return len(self.by_position) + len(self.gone)

    def _read_items(self, items: QuerySet[Item]) -> None:
        seen: dict[str, int] = defaultdict(int)
        contexts: set[int] = set()
        for row in items.values(*_FIELDS).iterator(CHUNK):
            item = row["pk"]
            self.by_position[row["position"]] = item
            self.by_key[row["key_folded"]].append(item)
            if row["given_key"]:
                self.given_key[item] = row["key_folded"]
            else:
                self.by_name[fold_key(row["key"])].append(item)
            self.unit_of[item] = row["unit"]
            self.texts_of[item] = self._texts(row)
            first = self._text_key(row, 1)
            if row["context"] not in contexts:  # further translations of a context are no further context
                seen[first] += 1
            contexts.add(row["context"] or -item)
            self.by_text[self._text_key(row, seen[first])].append(item)

    def _read_outputs(self, campaign: Campaign) -> None:
        outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
        for item, system, run in outputs.values_list("item", "system__name", "run"):
            self.outputs[item].add((system, run))

    def _texts(self, row: dict[str, Any]) -> dict[str, str]:
        if self.compound:
            return {"compound": row["unit__compound"], "context_no": str(row["context__number"])}
        return {"head": row["head"], "relation": row["relation"], "tail": row["tail"]}

    def _text_key(self, row: dict[str, Any], occurrence: int) -> str:
        if self.compound:
            return compound_key(row["unit__compound"], row["context__number"], occurrence=occurrence).folded
        return triple_key(row["head"], row["relation"], row["tail"], occurrence=occurrence).folded

    def at(self, row: JudgementRow) -> int | str:
        """The item at the row's position; an id and texts that the file repeats must be the item's."""
        item = self.by_position[row.number]
        if row.key and not row.key.derived and row.key.folded != self.given_key.get(item, row.key.folded):
            return say(
                "“{key}” is not the id of the item at position {number}.",
                key=row.key.given[:120],
                number=row.number,
            )
        name = text_that_differs(row.texts, self.texts_of[item])
        if name is not None:
            return say(
                "The {name} is not that of the item at position {number}.", name=name, number=row.number
            )
        return item

    def why_gone(self, row: JudgementRow) -> str | None:
        """Why only items that are out stand under the row's key; None where others do, or none at all."""
        if row.key is None or row.key.folded in self.by_key:
            return None
        return self.gone_keys.get(row.key.folded)

    def find(self, row: JudgementRow) -> int | str | None:
        """The row's item, or why it is not known; None where it is not in the campaign."""
        if row.key is None:
            return say("Nothing says which item this row belongs to.")
        folded = row.key.folded
        found = self.by_key.get(folded) or self.by_text.get(folded) or self.by_name.get(folded, [])
        if self.compound and (row.system is not None or row.run is not None):
            found = [item for item in found if self._produced(item, row)]
        if len(found) > 1 and self.names_outputs:
            # An export leaves the cell of a system or run without a name empty.
            found = [item for item in found if self._named_so(item, row)] or found
        if not found:
            return None
        if len(found) > 1:
            return say(
                "“{key}” has {n} different translations; say which one is meant in the columns system "
                "and run.",
                key=row.key.given[:120],
                n=len(found),
            )
        return self._as_named(found[0], row.key, row.texts)

    def _as_named(self, item: int, key: ItemKey, texts: dict[str, str]) -> int | str:
        """The item under an id, where the texts beside the id are the item's."""
        filled = {name: text for name, text in texts.items() if not is_blank(text)}
        name = None if key.derived else text_that_differs(filled, self.texts_of[item])
        if name is None:
            return item
        return say("The {name} is not that of the item “{key}”.", name=name, key=key.given[:120])

    def _named_so(self, item: int, row: JudgementRow) -> bool:
        return (row.system or "", row.run or "") in self.outputs[item]

    def _produced(self, item: int, row: JudgementRow) -> bool:
        return any(
            (row.system is None or system == row.system) and (row.run is None or run == row.run)
            for system, run in self.outputs[item]
        )
