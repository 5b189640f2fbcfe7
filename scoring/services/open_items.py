"""What a system is to judge or translate, without anything that would tell the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from annotation.formats.writers import Cell
from annotation.models import Campaign, Context, Item
from scoring.models import Release

TRIPLES = ("triple_id", "head", "relation", "tail", "class", "split")
CONTEXTS = ("item_id", "compound", "context_no", "source")
CHUNK = 5000


@dataclass(frozen=True)
class OpenItems:
    """A table to predict: no labels, no references, no votes."""

    columns: Sequence[str]
    rows: Iterator[list[Cell]]


def open_items(campaign: Campaign, release: Release | None = None) -> OpenItems:
    """The triples (of a release, with its split) or the contexts, in the order of import."""
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        return _without_blank_ids(CONTEXTS, _contexts(campaign))
    return _without_blank_ids(TRIPLES, _released(release) if release else _triples(campaign))


def _without_blank_ids(columns: Sequence[str], rows: list[list[Cell]]) -> OpenItems:
    if any(row[0] for row in rows):
        return OpenItems(columns, iter(rows))
    return OpenItems(columns[1:], (row[1:] for row in rows))


def _triples(campaign: Campaign) -> list[list[Cell]]:
    rows = Item.objects.active().filter(campaign=campaign).order_by("position")
    return [
        [key if given else "", *texts]
        for given, key, *texts in rows.values_list(
            "given_key", "key", "head", "relation", "tail", "item_class", "split"
        ).iterator(CHUNK)
    ]


def _released(release: Release) -> list[list[Cell]]:
    rows = release.items.order_by("item__position").values_list(
        "item__given_key", "item__key", "item__head", "item__relation", "item__tail", "item_class", "split"
    )
    return [[key if given else "", *texts] for given, key, *texts in rows.iterator(CHUNK)]


def _contexts(campaign: Campaign) -> list[list[Cell]]:
    rows = Context.objects.filter(unit__campaign=campaign, batch__published_at__isnull=False)
    return [
        [key if given else "", compound, number, source]
        for given, key, compound, number, source in rows.order_by("unit__position", "pk")
        .values_list("given_key", "key", "unit__compound", "number", "source")
        .iterator(CHUNK)
    ]
