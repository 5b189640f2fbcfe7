"""Instances and items: how many outputs all systems produced, and how many distinct texts that leaves to judge.

Identical outputs of one context (joined for display, NFC, trimmed) are one item: it is judged once, and its label
counts for every run that produced it. What that saves is the judgements of all outputs less those of the items.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from annotation.formats.compound_units import CompoundRow
from annotation.models import Campaign, Item, Output
from annotation.protocol.pace import Pace
from annotation.services.hours import judging_pace
from annotation.services.import_compare import text_digest
from annotation.services.import_known import Row


@dataclass(frozen=True, kw_only=True)
class RunCount:
    """A run's outputs and the distinct items they are; `run` is None for all runs of a system together."""

    system: str
    run: str | None
    instances: int
    items: int


@dataclass(frozen=True, kw_only=True)
class InstanceCounts:
    """All outputs that count, the distinct items they are, and both by run and by system with several runs."""

    k: int
    instances: int
    items: int
    runs: tuple[RunCount, ...] = ()
    systems: tuple[RunCount, ...] = ()

    @property
    def saved(self) -> int:
        """Judgements that are not asked for, since an equal text is judged already."""
        return self.k * (self.instances - self.items)

    @property
    def lines(self) -> tuple[RunCount, ...]:
        """Every run, in the order of import, and behind the runs of a system with several of them their sum."""
        found: list[RunCount] = []
        sums = {one.system: one for one in self.systems}
        for place, one in enumerate(self.runs):
            found.append(one)
            last = place + 1 == len(self.runs) or self.runs[place + 1].system != one.system
            if last and one.system in sums:
                found.append(sums[one.system])
        return tuple(found)

    @property
    def per_run(self) -> int | None:
        """Outputs of each run, where all have as many."""
        sizes = {one.instances for one in self.runs}
        return sizes.pop() if len(sizes) == 1 else None

    def as_json(self) -> dict[str, Any]:
        """`{instances, items, saved_judgements, runs: [{system, run, instances, items}], systems: […]}`."""
        return {
            "instances": self.instances,
            "items": self.items,
            "saved_judgements": self.saved,
            "runs": [vars(one) for one in self.runs],
            "systems": [vars(one) for one in self.systems],
        }


@dataclass(frozen=True, kw_only=True)
class Saving:
    """What judging equal texts once saves, at which pace."""

    counts: InstanceCounts
    pace: Pace

    @property
    def hours(self) -> float:
        return self.pace.hours(self.counts.saved)

    @property
    def seconds(self) -> float:
        return self.pace.seconds * self.counts.saved

    def as_json(self) -> dict[str, Any]:
        """The counts, `hours_saved` and `pace`."""
        return {**self.counts.as_json(), "hours_saved": self.hours, "pace": self.pace.as_json()}


def instance_counts(campaign: Campaign, *, by_system: bool = True) -> InstanceCounts:
    """Both counts of what counts: outputs of items that were neither withdrawn nor replaced. Two queries, and one more
    `by_system` where a system has several runs; none for triples, which nobody produced.
    """
    k = campaign.annotators_per_item
    if campaign.protocol != Campaign.Protocol.COMPOUND:
        return InstanceCounts(k=k, instances=0, items=0)
    outputs = Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_at__isnull=True
    )
    by_run = outputs.order_by("system", "run").values_list("system__name", "run").annotate(n=Count("pk"))
    # A run has one output for each context, and an item is of one context: no item stands in a run twice.
    runs = tuple(RunCount(system=name, run=run, instances=n, items=n) for name, run, n in by_run)
    several = [name for name, n in Counter(one.system for one in runs).items() if n > 1]
    sums = outputs.filter(system__name__in=several).order_by("system").values_list("system__name")
    systems = tuple(
        RunCount(system=name, run=None, instances=n, items=items)
        for name, n, items in (
            sums.annotate(n=Count("pk"), items=Count("item", distinct=True)) if several and by_system else ()
        )
    )
    return InstanceCounts(
        k=k,
        instances=sum(one.instances for one in runs),
        items=Item.objects.active().filter(campaign=campaign).count() if runs else 0,  # each has an output
        runs=runs,
        systems=systems,
    )


def saving(campaign: Campaign) -> Saving:
    """The counts and what they save; one query more than the counts."""
    return Saving(counts=instance_counts(campaign), pace=judging_pace(campaign))


def outputs_in(campaign: Campaign, rows: Sequence[Row]) -> dict[str, Any] | None:
    """What these new rows of a file would bring: by run its outputs and those whose text is new to the campaign, and
    both counts of the campaign with them. None for triples. Two queries.
    """
    if campaign.protocol != Campaign.Protocol.COMPOUND:
        return None
    there = Item.objects.filter(campaign=campaign).exclude(retired_why=Item.Retired.REPLACED)
    known = set(there.values_list("context__key_folded", "digest")) if rows else set()
    brought: Counter[tuple[str, str]] = Counter()
    new: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if not isinstance(row, CompoundRow):
            continue
        run, text = (row.system or "", row.run or ""), (row.key.folded, text_digest(row.translation))
        brought[run] += 1
        new[run] += text not in known
        known.add(text)
    before = instance_counts(campaign)
    return {
        "instances": before.instances + brought.total(),
        "items": before.items + new.total(),
        "new_instances": brought.total(),
        "new_items": new.total(),
        "by_run": [
            {"system": system, "run": run, "instances": n, "new_items": new[system, run]}
            for (system, run), n in brought.items()
        ],
    }
