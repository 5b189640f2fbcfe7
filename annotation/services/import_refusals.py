"""Which texts of a file could not take the place of stored ones, found out before anything is written.

`import_replace` refuses the first of them and undoes the import; here all of them are named, by the same rules and in
the same words.

Cost: at most four queries over the campaign, whatever the file.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from annotation.formats.compound_units import CompoundRow
from annotation.formats.errors import RowIssue
from annotation.models import Assignment, Campaign, Item, Output
from annotation.protocol.sentences import Sentence
from annotation.services.batches import is_frozen
from annotation.services.import_compare import DESCRIPTIVE, Conflict, text_digest
from annotation.services.import_replace import (
    given_in_closed_main,
    no_new_answers,
    of_another_item,
    stays_as_answered,
    stays_as_judged,
)


@dataclass
class _Holder:
    """What holds a text: a stored item, or what would take its place (`pk` None), of which nothing is refused."""

    pk: int | None
    position: int
    digest: str = ""


@dataclass(frozen=True)
class _Leaving:
    """An item that would lose its place to the text on this line; `succeeded` where a new one would take it."""

    line: int
    pk: int
    position: int
    succeeded: bool


def refused_texts(campaign: Campaign, conflicts: Sequence[Conflict]) -> list[RowIssue]:
    """Why texts of these rows could not be taken, a line for each row that stands in the way."""
    by_row: dict[int, list[Conflict]] = defaultdict(list)
    for conflict in conflicts:
        by_row[conflict.line].append(conflict)
    others = {line: said for line, found in by_row.items() if (said := of_another_item(found))}
    judged = [found for line, found in by_row.items() if line not in others and _is_judged(found)]
    leaving = _leaving(campaign, judged) if judged else ()
    refused = {line: RowIssue(line, None, said) for line, said in others.items()}
    for line, said in _kept_in_place(campaign, leaving):
        refused.setdefault(line, RowIssue(line, None, said))
    return sorted(refused.values(), key=lambda issue: issue.line or 0)


def _is_judged(found: Sequence[Conflict]) -> bool:
    return any(conflict.field not in DESCRIPTIVE for conflict in found)


def _leaving(campaign: Campaign, rows: Sequence[Sequence[Conflict]]) -> list[_Leaving]:
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        return list(_compounds_leaving(campaign, rows))
    return list(_triples_leaving(campaign, rows))


def _kept_in_place(campaign: Campaign, leaving: Sequence[_Leaving]) -> Iterator[tuple[int, Sentence]]:
    if not leaving:
        return
    main = given_in_closed_main().filter(round__campaign=campaign)
    closed = set(main.values_list("item", flat=True).distinct())
    frozen = Assignment.objects.filter(is_frozen(), round__campaign=campaign)
    held = set(frozen.values_list("item", flat=True).distinct())
    for one in leaving:
        if one.pk in closed:
            yield one.line, (no_new_answers if one.succeeded else stays_as_answered)(one.position)
        elif one.pk in held:
            yield one.line, stays_as_judged(one.position)


def _triples_leaving(campaign: Campaign, rows: Sequence[Sequence[Conflict]]) -> Iterator[_Leaving]:
    current = Item.objects.published().filter(campaign=campaign).exclude(retired_why=Item.Retired.REPLACED)
    stored = {key: (pk, at) for key, pk, at in current.values_list("key_folded", "pk", "position")}
    for found in rows:
        pk, position = stored[found[0].row.key.folded]
        yield _Leaving(found[0].line, pk, position, succeeded=True)


# Compounds: the items of a context, as the rows of the file would change them one after the other ---------------


@dataclass
class _Held:
    """The items of one context, and which output holds which of them."""

    items: list[_Holder] = field(default_factory=list)
    outputs: dict[tuple[str, str], _Holder] = field(default_factory=dict)
    renewed: bool = False  # by another source: then every item of it is new

    def take_source(self, line: int) -> Iterator[_Leaving]:
        if not self.renewed:
            self.renewed = True
            for holder in self.items:
                yield from _left(line, holder, succeeded=True)

    def take_translation(self, row: CompoundRow) -> Iterator[_Leaving]:
        output, digest = (row.system or "", row.run or ""), text_digest(row.translation)
        old = self.outputs[output]
        same = next((holder for holder in self.items if holder.digest == digest), None)
        if same is None and sum(holder is old for holder in self.outputs.values()) > 1:
            same = _Holder(None, old.position, digest)
            self.items.append(same)
        elif same is None:
            yield from _left(row.line, old, succeeded=True)
            old.digest, same = digest, old
        self.outputs[output] = same
        if all(holder is not old for holder in self.outputs.values()):
            yield from _left(row.line, old, succeeded=False)
            self.items.remove(old)


def _left(line: int, holder: _Holder, *, succeeded: bool) -> Iterator[_Leaving]:
    if holder.pk is not None:
        yield _Leaving(line, holder.pk, holder.position, succeeded)
        holder.pk = None


def _compounds_leaving(campaign: Campaign, rows: Sequence[Sequence[Conflict]]) -> Iterator[_Leaving]:
    held = _held(campaign)
    for found in rows:
        row, fields = found[0].row, {conflict.field for conflict in found}
        assert isinstance(row, CompoundRow)
        context = held[row.key.folded]
        if "source" in fields:
            yield from context.take_source(row.line)
        if "translation" in fields:
            yield from context.take_translation(row)


def _held(campaign: Campaign) -> Mapping[str, _Held]:
    """By the context's key."""
    held: dict[str, _Held] = defaultdict(_Held)
    holders: dict[int, _Holder] = {}
    items = Item.objects.published().filter(campaign=campaign).exclude(retired_why=Item.Retired.REPLACED)
    columns = ("context__key_folded", "pk", "position", "digest")
    for key, pk, position, digest in items.order_by("pk").values_list(*columns):
        holders[pk] = _Holder(pk, position, digest)
        held[key].items.append(holders[pk])
    outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
    for key, system, run, item in outputs.values_list("context__key_folded", "system__name", "run", "item"):
        if item in holders:
            held[key].outputs[system, run] = holders[item]
    return held
