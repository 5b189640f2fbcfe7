"""A campaign in the shapes of other programs: its items and the answers of the main round, as they stand at one moment.

The answers are looked at through this as through any other export: whoever calls it asks back and writes it down
(`readings`) while others still judge.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any

from django.db.models import Count, F, Q, QuerySet

from annotation.formats.adapters.base import (
    JOINT,
    Adapter,
    Content,
    ItemRecord,
    Judged,
    joined_name,
    named_systems,
    refuse_several,
)
from annotation.formats.adapters.registry import shape
from annotation.formats.cells import excerpt
from annotation.formats.errors import FormatError
from annotation.models import Annotation, Campaign, Item, Output, Round
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key
from annotation.services.exports import CHUNK, Names, Table, table
from annotation.services.snapshot import snapshot

_PIECE = 1 << 16


@dataclass
class ShapeExport:
    """A file in a shape, complete. `without` counts by reason the answers to its items that the shape does not carry:
    `cannot_judge`, and `further_verdict` where it holds one an item.
    """

    adapter: Adapter
    file: IO[bytes]
    n_items: int = 0
    n_judgements: int = 0
    without: Counter[str] = field(default_factory=Counter)

    @property
    def left_out(self) -> int:
        """The answers that are not in the file, for whatever reason."""
        return self.without.total()

    def chunks(self) -> Iterator[bytes]:
        """The file, once; it is gone after that."""
        with self.file:
            self.file.seek(0)
            while piece := self.file.read(_PIECE):
                yield piece


def export_shape(
    campaign: Campaign,
    shape_name: str,
    *,
    names: Names,
    with_judgements: bool = True,
    system: str | None = None,
    run: str | None = None,
) -> ShapeExport:
    """The campaign in the shape of that name; FormatError where the shape cannot hold it. Of several systems one can be
    chosen. It is written down as a whole before the first of it is given out, so that nothing is cut off in between.
    """
    adapter = fitting_shape(campaign, shape_name, with_judgements=with_judgements, system=system, run=run)
    done = ShapeExport(adapter, TemporaryFile())  # noqa: SIM115 - closed when it was given out
    with snapshot():
        items = table(campaign, "items", names=names)
        reading = _Reading(campaign, adapter, names, items, with_judgements=with_judgements)
        content = Content(
            protocol=campaign.protocol,
            stem=campaign.slug,
            columns=items.columns,
            records=_counted(reading.records(system, run), done),
            k=campaign.rounds.get(kind=Round.Kind.MAIN, number=1).k,
            with_judgements=with_judgements,
        )
        for chunk in adapter.write(content):
            done.file.write(chunk)
    return done


def fitting_shape(
    campaign: Campaign, shape_name: str, *, with_judgements: bool, system: str | None, run: str | None
) -> Adapter:
    """The shape of that name; FormatError where there is none, or where it cannot hold what is asked for. No answer is
    looked at for it.
    """
    adapter = shape(shape_name, campaign.protocol)
    if not with_judgements and not adapter.brings_items:
        raise FormatError(say("{title} holds judgements only, no items.", title=adapter.title))
    chosen = system is not None or run is not None
    if chosen and campaign.protocol != Campaign.Protocol.COMPOUND:
        raise FormatError(say("Triples have no systems and runs; none can be chosen."))
    if not chosen and not adapter.one_system:
        return adapter
    there = systems_of(campaign)
    left = [pair for pair in there if system in (None, pair[0]) and run in (None, pair[1])]
    if chosen and not left:
        raise FormatError(_nothing_of(there, system, run))
    if adapter.one_system:
        refuse_several(left)
    return adapter


def _nothing_of(there: Sequence[tuple[str, str]], system: str | None, run: str | None) -> str:
    if not there:
        return say("There are no translations here, of any system.")
    names = named_systems(there)
    if run is None:
        return say(
            "There is no system “{system}”; there are: {names}.", system=excerpt(system or ""), names=names
        )
    if system is None:
        return say("There is no run “{run}”; there are: {names}.", run=excerpt(run), names=names)
    return say(
        "There is no run “{run}” of a system “{system}”; there are: {names}.",
        run=excerpt(run), system=excerpt(system), names=names,
    )  # fmt: skip


def systems_of(campaign: Campaign) -> list[tuple[str, str]]:
    """Every system of the campaign with each of its runs of which translations stand; "" is one without a name."""
    return list(
        _outputs(campaign).order_by("system__name", "run").values_list("system__name", "run").distinct()
    )


def lacking_references(campaign: Campaign) -> list[tuple[str, str, int]]:
    """The same, each with how many of its contexts have no reference, which a shape of one system needs."""
    found = _outputs(campaign).order_by("system__name", "run").values_list("system__name", "run")
    lacking = Count("item__context", filter=Q(item__context__reference=""), distinct=True)
    return list(found.annotate(lacking=lacking))


def _outputs(campaign: Campaign) -> QuerySet[Output]:
    return Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_at__isnull=True
    )


def _counted(records: Iterator[ItemRecord], done: ShapeExport) -> Iterator[ItemRecord]:
    for record in records:
        carried = done.adapter.carried(record.judgements)
        done.n_items += 1
        done.n_judgements += len(carried)
        gone = [one for one in record.judgements if one not in carried]
        done.without.update("further_verdict" if one.label else "cannot_judge" for one in gone)
        yield record


@dataclass
class _Reading:
    """A fixed number of queries, whatever the campaign's size."""

    campaign: Campaign
    adapter: Adapter
    names: Names
    items: Table
    with_judgements: bool

    def records(self, system: str | None, run: str | None) -> Iterator[ItemRecord]:
        about = self._about()
        judged = self._judged() if self.with_judgements else {}
        name_of = _ItemNames(self.campaign, strict=not self.adapter.brings_items)
        number = 0
        for row in self.items.query.order_by(self.items.key).iterator(CHUNK):
            cells = self.items.cells(row)
            if system is not None and cells.get("system") != system:
                continue
            if run is not None and cells.get("run") != run:
                continue
            number += 1
            item, position, key = about[row[self.items.key]]
            # Popped: identical outputs are one item, whose answers stand with the first of them.
            answers = judged.pop(item, ())
            yield ItemRecord(
                number=number,
                position=position,
                name=name_of(key, cells) if answers else "",
                cells={column: _text(cells[column]) for column in self.items.columns},
                judgements=tuple(answers),
            )

    def _about(self) -> dict[int, tuple[int, int, str]]:
        """Item, position and key, by what tells the rows of items apart: an output, or a position."""
        if self.campaign.protocol == Campaign.Protocol.COMPOUND:
            outputs = Output.objects.filter(system__campaign=self.campaign, batch__published_at__isnull=False)
            of_outputs = outputs.values_list("pk", "item", "item__position", "item__key")
            return {row: (item, place, key) for row, item, place, key in of_outputs.iterator(CHUNK)}
        items = Item.objects.active().filter(campaign=self.campaign)
        of_items = items.values_list("position", "pk", "key")
        return {place: (item, place, key) for place, item, key in of_items.iterator(CHUNK)}

    def _judged(self) -> dict[int, list[Judged]]:
        answers = Annotation.objects.filter(
            assignment__round__campaign=self.campaign,
            assignment__round__kind=Round.Kind.MAIN,
            assignment__withdrawn_at__isnull=True,
            assignment__item__retired_at__isnull=True,
            revision=F("assignment__revision"),
        ).order_by("assignment__slot", "pk")
        found: dict[int, list[Judged]] = defaultdict(list)
        for item, expert, slot, label, cause, note, seconds in answers.values_list(
            "assignment__item",
            "assignment__expert",
            "assignment__slot",
            "label",
            "cannot_judge",
            "note",
            "seconds",
        ).iterator(CHUNK):
            found[item].append(
                Judged(
                    annotator=self.names.of(expert),
                    slot=slot,
                    label=label,
                    cannot_judge=cause,
                    note=note,
                    seconds=seconds,
                )
            )
        return found


class _ItemNames:
    """One cell that tells an item from every other: its key, with system and run where a context has several
    translations. With `strict` two items of one name are a FormatError.
    """

    def __init__(self, campaign: Campaign, *, strict: bool) -> None:
        self.strict = strict
        self.seen: set[str] = set()
        self.n_under_key: Counter[str] = Counter()
        if strict and campaign.protocol == Campaign.Protocol.COMPOUND:
            keys = Item.objects.active().filter(campaign=campaign).values_list("key", flat=True)
            self.n_under_key.update(keys.iterator(CHUNK))

    def __call__(self, key: str, cells: dict[str, Any]) -> str:
        if not self.strict:
            return ""
        system, run = str(cells.get("system") or ""), str(cells.get("run") or "")
        several = self.n_under_key[key] > 1
        if JOINT in key + (system + run if several else ""):
            raise FormatError(
                say(
                    "“{key}” holds “{mark}”, which this shape keeps for itself.", key=excerpt(key), mark=JOINT
                )
            )
        name = joined_name(key, system=system, run=run) if several else key
        folded = fold_key(name)
        if folded in self.seen:
            raise FormatError(
                say(
                    "Two items would be called “{name}” in this shape, which has one cell for an item's name. Use "
                    "another shape, or give the items ids.",
                    name=excerpt(name),
                )
            )
        self.seen.add(folded)
        return name


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)
