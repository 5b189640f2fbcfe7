"""Carrying verdicts over: planned when parts are given out, stored with them, ended by a manager.

Which translations are alike is a rule of the protocol (`protocol.carry_over`). Here is read what it compares: in each
context the translations that experts have, and those that would be given out now. What is carried gets no experts and
takes the final label of its source; what is drawn as a check is given out like anything else, marked nowhere that an
expert could look.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Exists, OuterRef

from annotation.models import Assignment, Campaign, CarryOver, Gold, Item, Round, User
from annotation.protocol import carry_over as rule
from annotation.protocol.carry_over import USUAL_SHARE, Forms, Pair, Variant
from annotation.protocol.chance import fingerprint
from annotation.protocol.pace import Pace
from annotation.protocol.sentences import say
from annotation.services.campaign_state import refuse_closed
from annotation.services.carried import standing
from annotation.services.errors import Refused
from annotation.services.hours import judging_pace
from annotation.services.layout import CHUNK, UnitRows
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.turns import turn

STARTED, ENDED = "verdicts carried over", "carry-over ended"  # the audit entries
SHOWN = 10  # pairs that a plan shows


@dataclass(frozen=True, kw_only=True)
class CarryWish:
    """What a manager asks for: the renderings of each atom, and the share (per cent) that is judged anyway."""

    forms: Forms
    percent: float = USUAL_SHARE


@dataclass(frozen=True, kw_only=True)
class CarryPlan:
    """What would be carried, and from where. `looked_at`: distinct translations to be given out now; `found`: those of
    them in which the compound's rendering was found, so that they could have been compared.
    """

    rule: str
    percent: float
    k: int
    pace: Pace
    looked_at: int
    found: int
    pairs: tuple[Pair, ...] = ()

    @property
    def carried(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if not pair.checked)

    @property
    def checked(self) -> tuple[Pair, ...]:
        """What could be carried and is judged anyway."""
        return tuple(pair for pair in self.pairs if pair.checked)

    @cached_property
    def items(self) -> frozenset[int]:
        """What nobody is asked for."""
        return frozenset(pair.item for pair in self.carried)

    @property
    def n_sources(self) -> int:
        return len({pair.source for pair in self.carried})

    @property
    def saved(self) -> int:
        """Judgements that are not asked for."""
        return self.k * len(self.carried)

    @property
    def hours(self) -> float:
        return self.pace.hours(self.saved)

    @property
    def seconds(self) -> float:
        return self.pace.seconds * self.saved

    @cached_property
    def hash(self) -> str:
        """Equal only for plans by which the same is carried from the same and judged anyway."""
        return fingerprint([self.rule, [[pair.key, pair.source, pair.checked] for pair in self.pairs]])

    def without(self, units: Sequence[UnitRows]) -> list[UnitRows]:
        """What is left of these units to be given out."""
        left = (
            UnitRows(
                unit.pk,
                unit.key,
                unit.relation,
                tuple(kept for items in unit.contexts if (kept := self._kept(items))),
            )
            for unit in units
        )
        return [unit for unit in left if unit.contexts]

    def _kept(self, items: Sequence[int]) -> tuple[int, ...]:
        return tuple(item for item in items if item not in self.items)

    def as_json(self) -> dict[str, Any]:
        """What `assign_parts --json` tells of it."""
        return {
            "rule": self.rule,
            "looked_at": self.looked_at,
            "found": self.found,
            "carried": len(self.carried),
            "sources": self.n_sources,
            "checked": len(self.checked),
            "saved_judgements": self.saved,
            "hours_saved": self.hours,
            "pace": self.pace.as_json(),
            "hash": self.hash,
        }


# Planning ----------------------------------------------------------------------------------------------------------


def plan_carry_over(round_: Round, wish: CarryWish, *, to_give: Collection[int], seed: int) -> CarryPlan:
    """What of these items, which nobody was given yet, would be carried; stores nothing. Three queries.

    Refused for triples, and where nothing would be judged anyway: the error of carrying over could not be known.
    """
    campaign = round_.campaign
    if campaign.protocol != Campaign.Protocol.COMPOUND:
        raise Refused(say("Only verdicts on compounds can be carried over."), options=("carry_over",))
    if not 0 < wish.percent <= 100:
        raise Refused(
            say("Name a share that is judged anyway, above 0 and up to 100 %."), options=("carry_share",)
        )
    variants = _variants(round_, wish.forms, frozenset(to_give))
    new = [variant for variant in variants if not variant.given]
    return CarryPlan(
        rule=rule.signature(wish.forms, percent=wish.percent, seed=seed),
        percent=wish.percent,
        k=round_.k,
        pace=judging_pace(campaign),
        looked_at=len(new),
        found=sum(variant.stretch is not None for variant in new),
        pairs=rule.pairs(variants, percent=wish.percent, seed=seed),
    )


def _variants(round_: Round, forms: Forms, to_give: frozenset[int]) -> list[Variant]:
    """Translations that experts have, and these items, as far as they were never given to anybody. An item whose label
    is known beforehand is there to be judged, and what takes a verdict itself is no source.
    """
    ever = Assignment.objects.filter(round=round_, item=OuterRef("pk"))
    given = ever.filter(withdrawn_at__isnull=True)
    items = (
        Item.objects.active()
        .filter(campaign=round_.campaign_id, context__isnull=False)
        .annotate(
            given=Exists(given),
            bound=Exists(ever) | Exists(Gold.objects.filter(item=OuterRef("pk"))),
            was_check=Exists(CarryOver.objects.filter(item=OuterRef("pk"), checked=True)),
        )
        .order_by("unit", "position")
    )
    columns = items.values(
        "pk", "context", "position", "translation", "digest", "given", "bound", "was_check",
        "unit__key", "context__key_folded", "unit__compound", "unit__atoms",
    )  # fmt: skip
    found: list[Variant] = []
    required: dict[str, tuple[tuple[str, ...], ...] | None] = {}
    for row in columns.iterator(CHUNK):
        if not row["given"] and (row["pk"] not in to_give or row["bound"]):
            continue
        unit = row["unit__key"]
        if unit not in required:
            atoms = [atom[1] for atom in row["unit__atoms"]]
            required[unit] = rule.renderings(row["unit__compound"], atoms, forms)
        parts = required[unit]
        found.append(
            Variant(
                item=row["pk"],
                context=row["context"],
                key="\n".join((unit, row["context__key_folded"], row["digest"])),
                position=row["position"],
                stretch=None if parts is None else rule.stretch(row["translation"], parts),
                given=row["given"],
                checked=row["was_check"],
            )
        )
    return found


# Storing and ending ------------------------------------------------------------------------------------------------


def store_carry_over(round_: Round, planned: CarryPlan, *, by: User | None) -> None:
    """Store a plan inside the caller's turn, beside the parts that were planned with it."""
    if not planned.pairs:
        return
    campaign = round_.campaign
    items = [pair.item for pair in planned.pairs]
    CarryOver.objects.filter(item__in=items).delete()  # of an earlier time, which stands no more
    CarryOver.objects.bulk_create(
        (
            CarryOver(
                campaign=campaign,
                item_id=pair.item,
                source_id=pair.source,
                stretch=pair.stretch,
                rule=planned.rule,
                checked=pair.checked,
                created_by=by,
            )
            for pair in planned.pairs
        ),
        batch_size=CHUNK,
    )
    renew_counts(CarryOver)
    detail = {
        "items": len(planned.carried),
        "sources": planned.n_sources,
        "judged_anyway": len(planned.checked),
        "rule": planned.rule,
        "hash": planned.hash,
    }
    audit(campaign, by, STARTED, detail)


def end_carry_over(campaign: Campaign, *, by: User | None) -> int:
    """Carry nothing over any more: what took another's verdict waits to be given out, as what came late does. How many
    items that are. What was judged anyway was judged, and goes on telling what carrying over cost. Repeated, it does
    nothing.
    """
    with turn(campaign):
        refuse_closed(campaign)
        rows = CarryOver.objects.filter(campaign=campaign, checked=False)
        items = list(rows.filter(item__retired_at__isnull=True).values_list("item", flat=True))
        n_rows, _by_model = rows.delete()
        if n_rows:
            audit(campaign, by, ENDED, {"items": len(items)})
    return len(items)


# Looking -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ShownPair:
    """Two translations of one sentence, by position and text, and what both hold."""

    compound: str
    position: int
    translation: str
    source: int
    of_source: str
    stretch: str


def shown_pairs(pairs: Sequence[Pair]) -> list[ShownPair]:
    """These pairs as a page shows them; one query."""
    items = Item.objects.select_related("unit").in_bulk(
        {pk for pair in pairs for pk in (pair.item, pair.source)}
    )
    return [
        ShownPair(
            compound=items[pair.item].unit.compound,
            position=items[pair.item].position,
            translation=items[pair.item].translation,
            source=items[pair.source].position,
            of_source=items[pair.source].translation,
            stretch=pair.stretch,
        )
        for pair in pairs
    ]


@dataclass(frozen=True, kw_only=True)
class Carrying:
    """What is carried over in a campaign: `carried` from so many `sources`, `lapsed` where the source counts no more or
    the item was judged after all, `checked` judged anyway; the rules by which, and the last pairs.
    """

    carried: int
    sources: int
    lapsed: int
    checked: int
    rules: tuple[str, ...]
    pairs: tuple[ShownPair, ...]


def carrying(campaign: Campaign, *, n: int = SHOWN) -> Carrying:
    """Four queries; with the first `n` pairs, in the order of import."""
    stands = standing().filter(campaign=campaign)
    counts = stands.aggregate(carried=Count("pk"), sources=Count("source", distinct=True))
    rows = CarryOver.objects.filter(campaign=campaign)
    by_kind = dict(rows.order_by().values_list("checked").annotate(n=Count("pk")))
    pairs = [
        Pair(item=row.item_id, source=row.source_id, key="", stretch=row.stretch)
        for row in stands.order_by("item__position")[:n]
    ]
    return Carrying(
        carried=counts["carried"],
        sources=counts["sources"],
        lapsed=by_kind.get(False, 0) - counts["carried"],
        checked=by_kind.get(True, 0),
        rules=tuple(rows.order_by("rule").values_list("rule", flat=True).distinct()),
        pairs=tuple(shown_pairs(pairs)),
    )
