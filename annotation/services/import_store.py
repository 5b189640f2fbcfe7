"""Writing new items, chunk by chunk, each in a short transaction of its own.

The rows carry their batch and are invisible until `imports.store` sets one field of it; nobody's save waits
longer than one chunk takes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from django.db import transaction
from django.db.models import Max

from annotation.formats.compound_units import CompoundRow, analysis_of
from annotation.formats.triples import TripleRow
from annotation.models import Campaign, Context, ImportBatch, Item, Output, System, Unit
from annotation.protocol.compound import locate
from annotation.services.import_compare import text_digest

CHUNK = 1000

Progress = Callable[[int, int], None]


def store_rows(
    batch: ImportBatch, rows: Sequence[CompoundRow | TripleRow], *, progress: Progress
) -> tuple[int, int]:
    """Write the rows under the batch; returns how many units and items were made."""
    campaign = batch.campaign
    writer: _Compounds | _Triples
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        writer = _Compounds(batch, *_last_positions(campaign))
        writer.recall(rows)
    else:
        writer = _Triples(batch, *_last_positions(campaign))
    iterator: Iterator[Any] = iter(rows)
    done = 0
    while chunk := list(islice(iterator, CHUNK)):
        with transaction.atomic():
            writer.write(chunk)
        done += len(chunk)
        progress(done, len(rows))
    return writer.units_made, writer.items_made


def _last_positions(campaign: Campaign) -> tuple[int, int]:
    """The last unit's and the last item's position."""
    unit = Unit.objects.filter(campaign=campaign).aggregate(last=Max("position"))["last"] or 0
    item = Item.objects.filter(campaign=campaign).aggregate(last=Max("position"))["last"] or 0
    return unit, item


@dataclass
class _Triples:
    batch: ImportBatch
    last_unit: int
    last_item: int
    units_made: int = 0
    items_made: int = 0

    def write(self, rows: Sequence[TripleRow]) -> None:
        campaign = self.batch.campaign
        units = Unit.objects.bulk_create(
            Unit(campaign=campaign, batch=self.batch, key=row.key.folded, position=self.last_unit + place)
            for place, row in enumerate(rows, start=1)
        )
        Item.objects.bulk_create(
            Item(
                campaign=campaign,
                unit=unit,
                batch=self.batch,
                position=self.last_item + place,
                key=row.key.given,
                key_folded=row.key.folded,
                given_key=not row.key.derived,
                head=row.head,
                relation=row.relation,
                tail=row.tail,
                item_class=row.item_class or "",
                split=row.split or "",
                imported_label=row.label or "",
                origin=dict(row.origin or {}),
            )
            for place, (row, unit) in enumerate(zip(rows, units, strict=True), start=1)
        )
        self.last_unit += len(rows)
        self.last_item += len(rows)
        self.units_made += len(rows)
        self.items_made += len(rows)


@dataclass
class _Compounds:
    """Remembers, over chunks, which unit, context and item a row belongs to."""

    batch: ImportBatch
    last_unit: int
    last_item: int
    units_made: int = 0
    items_made: int = 0
    units: dict[str, int] = field(default_factory=dict)
    contexts: dict[str, int] = field(default_factory=dict)
    unit_of: dict[int, int] = field(default_factory=dict)  # by context
    numbers: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # of contexts, by unit key
    items: dict[tuple[int, str], int] = field(default_factory=dict)
    systems: dict[str, int] = field(default_factory=dict)

    def recall(self, rows: Iterable[Any]) -> None:
        """What the campaign holds already, and which numbers of contexts the rows name."""
        campaign = self.batch.campaign
        self.units = dict(Unit.objects.filter(campaign=campaign).values_list("key", "pk"))
        for folded, context, unit, key, number in Context.objects.filter(unit__campaign=campaign).values_list(
            "key_folded", "pk", "unit", "unit__key", "number"
        ):
            self.contexts[folded] = context
            self.unit_of[context] = unit
            self.numbers[key].add(number)
        for row in rows:
            if row.context_no is not None:
                self.numbers[row.unit_key].add(row.context_no)
        current = Item.objects.filter(campaign=campaign).exclude(retired_why=Item.Retired.REPLACED)
        for context, digest, item in current.values_list("context", "digest", "pk"):
            if context is not None:
                self.items[context, digest] = item
        self.systems = dict(System.objects.filter(campaign=campaign).values_list("name", "pk"))

    def write(self, rows: Sequence[CompoundRow]) -> None:
        self._write_units(rows)
        self._write_contexts(rows)
        digests = [text_digest(row.translation) for row in rows]
        self._write_items(rows, digests)
        self._write_outputs(rows, digests)

    def _write_units(self, rows: Sequence[CompoundRow]) -> None:
        first = {
            row.unit_key: row
            for row in reversed(rows)
            if row.unit_key not in self.units and row.key.folded not in self.contexts
        }
        new = [row for row in rows if first.get(row.unit_key) is row]
        made = Unit.objects.bulk_create(
            self._unit(row, position=self.last_unit + place) for place, row in enumerate(new, start=1)
        )
        self.units |= {unit.key: unit.pk for unit in made}
        self.last_unit += len(new)
        self.units_made += len(new)

    def _unit(self, row: CompoundRow, *, position: int) -> Unit:
        """Type, pattern and atoms are derived; what the file says counts where they cannot be."""
        analysis = analysis_of(row.compound)
        return Unit(
            campaign=self.batch.campaign,
            batch=self.batch,
            key=row.unit_key,
            position=position,
            compound=row.compound,
            type=analysis.type or row.type or "",
            pattern=analysis.pattern or row.pattern or "",
            atoms=[[atom.kind, atom.text, atom.start, atom.end] for atom in analysis.atoms],
            words=analysis.words,
        )

    def _write_contexts(self, rows: Sequence[CompoundRow]) -> None:
        first = {row.key.folded: row for row in reversed(rows) if row.key.folded not in self.contexts}
        new = [row for row in rows if first.get(row.key.folded) is row]
        made = Context.objects.bulk_create(self._context(row) for row in new)
        self.contexts |= {context.key_folded: context.pk for context in made}
        self.unit_of |= {context.pk: context.unit_id for context in made}

    def _context(self, row: CompoundRow) -> Context:
        span = locate(row.compound, row.source)
        return Context(
            unit_id=self.units[row.unit_key],
            batch=self.batch,
            key=row.key.given,
            key_folded=row.key.folded,
            given_key=not row.key.derived,
            number=self._free_number(row.unit_key) if row.context_no is None else row.context_no,
            source=row.source,
            reference=row.reference or "",
            source_differs=bool(row.source_differs),
            start=span and span[0],
            end=span and span[1],
        )

    def _free_number(self, unit: str) -> int:
        """The first number that no context of the compound has or is given by the file."""
        taken = self.numbers[unit]
        number = next(number for number in count(1) if number not in taken)
        taken.add(number)
        return number

    def _write_items(self, rows: Sequence[CompoundRow], digests: Sequence[str]) -> None:
        new: dict[tuple[int, str], CompoundRow] = {}
        for row, digest in zip(rows, digests, strict=True):
            place = (self.contexts[row.key.folded], digest)
            if place not in self.items:
                new.setdefault(place, row)
        made = Item.objects.bulk_create(
            Item(
                campaign=self.batch.campaign,
                unit_id=self.unit_of[context],
                context_id=context,
                batch=self.batch,
                position=self.last_item + place,
                key=row.key.given,
                key_folded=row.key.folded,
                given_key=not row.key.derived,
                translation=row.translation,
                digest=digest,
            )
            for place, ((context, digest), row) in enumerate(new.items(), start=1)
        )
        self.items |= dict(zip(new, (item.pk for item in made), strict=True))
        self.last_item += len(new)
        self.items_made += len(new)

    def _write_outputs(self, rows: Sequence[CompoundRow], digests: Sequence[str]) -> None:
        for name in dict.fromkeys(row.system or "" for row in rows):  # in the order of the file
            if name in self.systems:
                continue
            system, _made = System.objects.get_or_create(campaign=self.batch.campaign, name=name)
            self.systems[name] = system.pk
        Output.objects.bulk_create(
            Output(
                system_id=self.systems[row.system or ""],
                run=row.run or "",
                context_id=self.contexts[row.key.folded],
                item_id=self.items[self.contexts[row.key.folded], digest],
                batch=self.batch,
                translation=row.translation,
            )
            for row, digest in zip(rows, digests, strict=True)
        )
