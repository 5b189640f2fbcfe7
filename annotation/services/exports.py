"""What a campaign gives out: items, labels and judgements as plain rows.

Rows are streamed from one snapshot, so a long export is the state of one moment: no repeats, no gaps, and the
number of rows is known before the first is sent. Cost: a count and one query, whatever the size.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform

from annotation.formats.triples import ORIGIN
from annotation.models import (
    JUDGED_UNDER,
    Annotation,
    Assignment,
    Campaign,
    FinalLabel,
    Item,
    Membership,
    Output,
    Round,
)
from annotation.models.item import in_play
from annotation.protocol.chance import canonical
from annotation.services.snapshot import snapshot

CHUNK = 2000

Cells = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A named table whose rows are read when they are asked for.

    `key` orders the rows and marks where a page ends; `cells` makes a row of what the query gives.
    """

    columns: tuple[str, ...]
    query: QuerySet[Any, Any]
    cells: Callable[[dict[str, Any]], Cells]
    empty_reason: str | None = None  # why there are no rows, for a person
    key: str = "pk"
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason → how many rows are not there for it

    def count(self) -> int:
        return self.query.count()

    def rows(self) -> Iterator[Cells]:
        """All rows, one at a time; call inside `snapshot()` for the state of one moment."""
        for row in self.query.order_by(self.key).iterator(CHUNK):
            yield self.cells(row)

    def page(self, *, after: int, size: int) -> tuple[list[Cells], int | None]:
        """The `size` rows after a row key, and the key to go on from, None at the end.

        A key never moves, so rows that are added or removed between two pages make no repeat and no gap.
        """
        found = list(self.query.filter(**{f"{self.key}__gt": after}).order_by(self.key)[: size + 1])
        more = found[size - 1][self.key] if len(found) > size else None
        return [self.cells(row) for row in found[:size]], more


@dataclass(frozen=True)
class Names:
    """How people are called in an export: their account's name, or the pseudonym of this campaign."""

    by_user: dict[int, str]

    def of(self, user: int) -> str:
        return self.by_user[user]


def names_of(campaign: Campaign, *, real: bool) -> Names:
    """Everybody who ever worked on the campaign."""
    members = Membership.objects.filter(campaign=campaign).values_list("user", "user__username", "pseudonym")
    return Names({user: name if real else pseudonym for user, name, pseudonym in members})


def table(
    campaign: Campaign,
    what: str,
    *,
    names: Names,
    history: bool = False,
    unlabelled: bool = False,
    wide: bool = False,
) -> Table:
    """`items`, `labels` or `annotations` of a campaign."""
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    match what:
        case "items":
            return compound_items(campaign) if compound else triple_items(campaign)
        case "labels":
            return labels(campaign, unlabelled=unlabelled)
        case "annotations":
            if wide:
                return wide_annotations(campaign, names=names)
            return annotations(campaign, names=names, history=history)
    raise ValueError(f"there is no export of {what}")


def _key_column(campaign: Campaign) -> str:
    return "item_id" if campaign.protocol == Campaign.Protocol.COMPOUND else "triple_id"


def _shown_columns(campaign: Campaign, columns: Sequence[str]) -> tuple[str, ...]:
    """Without the id column where no file had one. Where only some had, the items of the others stand under the texts
    that name them, which an import knows again; never under a database id.
    """
    has_ids = Item.objects.active().filter(campaign=campaign, given_key=True).exists()
    return tuple(name for name in columns if has_ids or name != _key_column(campaign))


def compound_items(campaign: Campaign) -> Table:
    """One row for every output of every system, in the columns that `import_items` reads."""
    columns = (
        "item_id", "compound", "type", "pattern", "context_no", "source", "translation", "reference", "system", "run",
        "source_differs",
    )  # fmt: skip
    query = Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_at__isnull=True
    ).values(
        "pk", "translation", "run", key=F("context__key"),
        number=F("context__number"), source=F("context__source"), reference=F("context__reference"),
        compound=F("context__unit__compound"), type=F("context__unit__type"),
        pattern=F("context__unit__pattern"), system_name=F("system__name"),
        differs=F("context__source_differs"),
    )  # fmt: skip

    def cells(row: dict[str, Any]) -> Cells:
        return {
            "item_id": row["key"],
            "compound": row["compound"],
            "type": row["type"],
            "pattern": row["pattern"],
            "context_no": row["number"],
            "source": row["source"],
            "translation": row["translation"],
            "reference": row["reference"] or None,  # null says that there is none; "" would be one left out
            "system": row["system_name"],
            "run": row["run"],
            "source_differs": "yes" if row["differs"] else "",
        }

    shown = _shown_columns(campaign, columns)
    if not query.filter(context__source_differs=True).exists():
        shown = tuple(name for name in shown if name != "source_differs")
    return Table(shown, query, cells)


def triple_items(campaign: Campaign) -> Table:
    """One row for every triple, in the columns that `import_items` reads; last where it came from, if that is known."""
    columns = ("triple_id", "head", "relation", "tail", "class", "split", "label", ORIGIN)
    query = (
        Item.objects.active()
        .filter(campaign=campaign)
        .values(
            "position",
            "key",
            "head",
            "relation",
            "tail",
            "item_class",
            "split",
            "imported_label",
            "origin",
        )
    )

    def cells(row: dict[str, Any]) -> Cells:
        return {
            "triple_id": row["key"],
            "head": row["head"],
            "relation": row["relation"],
            "tail": row["tail"],
            "class": row["item_class"],
            "split": row["split"],
            "label": row["imported_label"],
            ORIGIN: canonical(row["origin"]).decode() if row["origin"] else "",
        }

    # A corrected text has its predecessor's position, which row i of a file read by position means.
    shown = _shown_columns(campaign, columns)
    if not query.exclude(origin={}).exists():
        shown = tuple(name for name in shown if name != ORIGIN)
    return Table(shown, query, cells, key="position")


# Columns that hold numbers where a format tells them from text; ids and labels are text everywhere.
NUMERIC: dict[str, type[int] | type[float]] = {
    "position": int, "round_number": int, "slot": int, "revision": int, "guideline": int, "session_position": int,
    "screen_position": int, "row": int, "label_version": int, "seconds": float,
    "visible_seconds": float, "active_seconds": float,
}  # fmt: skip


# What says which item a row is about, for items with an id and for items without.
_TRIPLE = ("position", "triple_id", "head", "relation", "tail", "class", "split")
_COMPOUND = (
    "position",
    "item_id",
    "compound",
    "type",
    "pattern",
    "context_no",
    "source",
    "translation",
    "system",
    "run",
    "systems",
)


def _item_values(campaign: Campaign, prefix: str) -> dict[str, F]:
    names = ["position", "key", "pk"]
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        names += [
            "unit__compound", "unit__type", "unit__pattern", "context__number", "context__source", "translation",
        ]  # fmt: skip
    else:
        names += ["head", "relation", "tail", "item_class", "split"]
    return {f"item_{name}": F(f"{prefix}{name}") for name in names}


@dataclass(frozen=True)
class Produced:
    """A system and a run of it that produced an item."""

    system: str
    run: str

    def __str__(self) -> str:
        return f"{self.system}/{self.run}" if self.run else self.system


_UNKNOWN = [Produced("", "")]


def _item_cells(campaign: Campaign, systems: dict[int, list[Produced]]) -> Callable[[dict[str, Any]], Cells]:
    def compound(row: dict[str, Any]) -> Cells:
        return {
            "position": row["item_position"],
            "item_id": row["item_key"],
            "compound": row["item_unit__compound"],
            "type": row["item_unit__type"],
            "pattern": row["item_unit__pattern"],
            "context_no": row["item_context__number"],
            "source": row["item_context__source"],
            "translation": row["item_translation"],
            # One output is enough to say which translation is meant; identical ones are one item.
            "system": systems.get(row["item_pk"], _UNKNOWN)[0].system,
            "run": systems.get(row["item_pk"], _UNKNOWN)[0].run,
            "systems": "; ".join(str(produced) for produced in systems.get(row["item_pk"], _UNKNOWN)),
        }

    def triple(row: dict[str, Any]) -> Cells:
        return {
            "position": row["item_position"],
            "triple_id": row["item_key"],
            "head": row["item_head"],
            "relation": row["item_relation"],
            "tail": row["item_tail"],
            "class": row["item_item_class"],
            "split": row["item_split"],
        }

    return compound if campaign.protocol == Campaign.Protocol.COMPOUND else triple


def _systems_by_item(campaign: Campaign) -> dict[int, list[Produced]]:
    """Which systems and runs produced an item. Identical outputs share an item."""
    found: dict[int, list[Produced]] = {}
    outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
    for item, system, run in (
        outputs.order_by("pk").values_list("item", "system__name", "run").iterator(CHUNK)
    ):
        found.setdefault(item, []).append(Produced(system, run))
    return found


def labels(campaign: Campaign, *, unlabelled: bool = False) -> Table:
    """One row for every item that has a final label; with `unlabelled` also for those the rule could give none, with
    the reason. `left_out` counts by reason what has no row.
    """
    ruled = FinalLabel.objects.filter(item__campaign=campaign, item__retired_at__isnull=True)
    without = dict(ruled.filter(label="").order_by("reason").values_list("reason").annotate(n=Count("pk")))
    query = ruled if unlabelled else ruled.exclude(label="")
    reason = None
    if not query.exists():
        reason = (
            "The label rule ran, and no item could be labelled: answers are missing, tied or “cannot judge”."
            if without
            else "No item has a final label yet: compute the labels (or hand in the parts), and settle what is tied."
        )
    of_item = _item_cells(campaign, _systems_by_item(campaign))

    def cells(row: dict[str, Any]) -> Cells:
        return of_item(row) | {
            "label": row["label"], "reason": row["reason"], "rule": row["rule"],
            "rule_version": row["rule_version"], "label_version": row["version"],
        }  # fmt: skip

    identity = _COMPOUND if campaign.protocol == Campaign.Protocol.COMPOUND else _TRIPLE
    columns = _shown_columns(
        campaign, (*identity, "label", "reason", "rule", "rule_version", "label_version")
    )
    values = query.values(
        "pk", "label", "reason", "rule", "rule_version", "version", **_item_values(campaign, "item__")
    )
    return Table(columns, values, cells, reason, left_out={} if unlabelled else without)


_ANSWER = (
    "round", "round_number", "part", "slot", "annotator", "label", "cannot_judge", "problem", "detail", "reasons",
    "atoms", "note", "unsure", "revision", "answered_at", "guideline", "seconds", "visible_seconds", "active_seconds",
    "session", "session_position", "screen_position", "row", "reference_seen", "display", "source_of_answer",
)  # fmt: skip


def annotations(campaign: Campaign, *, names: Names, history: bool = False) -> Table:
    """One row for every current answer; with `history` one for every answer ever saved, to replaced texts too."""
    current = Q(revision=F("assignment__revision"), assignment__withdrawn_at__isnull=True)
    current &= in_play("assignment__item__")
    query = Annotation.objects.filter(assignment__round__campaign=campaign).filter(
        Q() if history else current
    )
    of_item = _item_cells(campaign, _systems_by_item(campaign))

    def cells(row: dict[str, Any]) -> Cells:
        return of_item(row) | {
            "round": row["round_kind"],
            "round_number": row["round_number"],
            "part": row["part_index"],
            "slot": row["slot"],
            "annotator": names.of(row["expert"]),
            "label": row["label"],
            "cannot_judge": row["cannot_judge"],
            "problem": row["problem"],
            "detail": row["detail"],
            "reasons": " ".join(row["reasons"]),
            "atoms": " ".join(str(atom) for atom in row["atoms"]),
            "note": row["note"],
            "unsure": row["unsure"],
            "revision": row["revision"],
            "answered_at": row["created_at"].isoformat(),
            "guideline": row["judged_under"],
            "seconds": row["seconds"],
            "visible_seconds": row["visible_seconds"],
            "active_seconds": row["active_seconds"],
            "session": row["session"],
            "session_position": row["session_position"],
            "screen_position": row["screen_position"],
            "row": row["row"],
            "reference_seen": row["reference_seen"],
            "display": row["display"] or "",
            "source_of_answer": row["source"],
        }

    identity = _COMPOUND if campaign.protocol == Campaign.Protocol.COMPOUND else _TRIPLE
    values = query.values(
        "pk", "label", "cannot_judge", "problem", "detail", "reasons", "atoms", "note", "unsure", "revision",
        "created_at", "seconds", "visible_seconds", "active_seconds", "session",
        "session_position", "reference_seen", "source",
        round_kind=F("assignment__round__kind"), round_number=F("assignment__round__number"),
        part_index=F("assignment__part__index"), slot=F("assignment__slot"), expert=F("assignment__expert"),
        screen_position=F("assignment__position"), row=F("assignment__row"), judged_under=JUDGED_UNDER,
        display=KeyTextTransform("display", "conditions"),
        **_item_values(campaign, "assignment__item__"),
    )  # fmt: skip
    return Table(_shown_columns(campaign, (*identity, *_ANSWER)), values, cells)


def wide_annotations(campaign: Campaign, *, names: Names) -> Table:
    """One row for every item that somebody labelled, with a column of labels for each person. It holds labels only:
    a “cannot judge” is an empty cell, as if it had not been judged.
    """
    current = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        item__retired_at__isnull=True,
    ).exclude(label="")
    people = [
        names.of(expert) for expert in current.order_by("expert").values_list("expert", flat=True).distinct()
    ]
    of_item = _item_cells(campaign, _systems_by_item(campaign))
    labels: dict[int, dict[str, str]] = {}

    def cells(row: dict[str, Any]) -> Cells:
        if not labels:  # read with the rows, in the same moment
            for item, expert, label in current.values_list("item", "expert", "label").iterator(CHUNK):
                labels.setdefault(item, {})[names.of(expert)] = label
        return of_item(row) | {name: labels.get(row["pk"], {}).get(name, "") for name in people}

    identity = _COMPOUND if campaign.protocol == Campaign.Protocol.COMPOUND else _TRIPLE
    judged = Item.objects.active().filter(campaign=campaign, pk__in=current.values("item"))
    return Table(
        (*_shown_columns(campaign, identity), *people),
        judged.values("pk", **_item_values(campaign, "")),
        cells,
    )


@dataclass(frozen=True)
class Snapshot:
    """A table as it stands at this moment: how many rows, and the rows."""

    total: int
    rows: Generator[Cells]


def take(tables: Table) -> Snapshot:
    """Count and rows of one moment. The snapshot is open until the rows are read or dropped."""

    def read() -> Generator[Any]:
        with snapshot():
            yield tables.count()
            yield from tables.rows()

    reading = read()
    return Snapshot(next(reading), reading)
