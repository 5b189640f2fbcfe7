"""What a release holds: the campaign at one moment as plain values, everybody under their pseudonym.

Nothing in it depends on when or by whom it is frozen, or on what the release is called: the same state gives the
same content. Left out is what could tell who a person is: names, notes, times of day, sessions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, F
from django.utils.translation import gettext as _

from annotation.formats.system_cells import systems_cell
from annotation.formats.writers import Cell
from annotation.models import Assignment, Campaign, Design, FinalLabel, Item, Output, Part, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.splits import DEV, TEST, Split, SplitUnit, leakage, split
from annotation.protocol.text import fold_name
from annotation.services.errors import Refused
from annotation.services.exports import annotations, names_of
from annotation.services.moves import moved_of
from annotation.services.snapshot import snapshot
from scoring.services.gather import Labels, labels_of
from scoring.services.measure import methods_report, report
from scoring.services.options import Options

KEEP, NONE = "keep", "none"
OTHER = "other"  # items without a split in a release that has splits
CHUNK = 5000

Document = dict[str, Any]
Row = Mapping[str, Cell]


@dataclass(frozen=True, kw_only=True)
class SplitWish:
    """How the items are split: by a rule of `protocol.splits`, as they were imported (`keep`), or not (`none`).

    `rule` None is `keep` where items have a split, else the default rule for triples and none for compounds.
    """

    rule: str | None = None
    seed: int = 0
    by_head: bool = False


@dataclass(frozen=True, kw_only=True)
class Content:
    """Everything that is frozen. `items` have the columns of their protocol, in the order of import."""

    campaign: Campaign
    items: Sequence[Row]
    votes: Sequence[Row]
    labels: Labels
    split: Document
    leakage: Document | None
    guidelines: Sequence[tuple[str, str]]  # file name, text
    design: Document
    agreement: Document
    conditions: Document
    methods: Sequence[str]  # the sentences of the paragraph, in English
    frozen: Sequence[tuple[int, str, str, str]]  # of each item: primary key, class, split, label


TRIPLE_COLUMNS = ("position", "triple_id", "head", "relation", "tail", "class", "split", "label", "reason")
COMPOUND_COLUMNS = (
    "position", "item_id", "compound", "type", "pattern", "context_no", "source", "translation", "reference",
    "systems", "split", "label", "reason",
)  # fmt: skip
VOTE_COLUMNS = (
    "position", "triple_id", "item_id", "round", "round_number", "part", "slot", "annotator", "label", "cannot_judge",
    "problem", "detail", "reasons", "atoms", "unsure", "revision", "guideline", "seconds", "reference_seen",
    "display", "source_of_answer",
)  # fmt: skip


def gather_content(campaign: Campaign, wish: SplitWish) -> Content:
    """The campaign as it stands at one moment; Refused where its labels are not final."""
    with snapshot():
        campaign.refresh_from_db()
        labels = _final_labels(campaign)
        compound = campaign.protocol == Campaign.Protocol.COMPOUND
        rows = _compounds(campaign) if compound else _triples(campaign)
        if not rows:
            raise Refused(_("There are no items to release."))
        reasons = dict(
            FinalLabel.objects.filter(item__campaign=campaign)
            .exclude(reason="")
            .values_list("item", "reason")
        )
        for row in rows:
            row["label"] = labels.by_item.get(row["pk"], "")
            row["reason"] = "" if row["label"] else reasons.get(row["pk"], "no_label")
        document = _split(rows, wish, compound=compound)
        has_ids = Item.objects.active().filter(campaign=campaign, given_key=True).exists()
        votes = _votes(campaign)
        return Content(
            campaign=campaign,
            items=[_item_cells(row, has_ids=has_ids) for row in rows],
            votes=votes,
            labels=labels,
            split=document,
            leakage=None if compound else _leakage(rows),
            guidelines=_guidelines(campaign),
            design=_design(campaign),
            agreement=_agreement(campaign, votes),
            conditions=_conditions(campaign, votes),
            methods=methods_report(campaign, Options(), submissions=False)["sentences"]["en"],
            frozen=[(row["pk"], row.get("class", ""), row["split"], row["label"]) for row in rows],
        )


def _final_labels(campaign: Campaign) -> Labels:
    labels = labels_of(campaign)
    if labels.source == "computed":
        raise Refused(
            _("A release holds final labels, and there are none yet: compute the final labels first.")
        )
    if labels.stale or labels.passed_over:
        raise Refused(
            _("Some answers are newer than the final labels: compute the final labels again first.")
        )
    if not labels.by_item:
        raise Refused(_("No item has a label yet, so there is nothing to release."))
    return labels


# Items ---------------------------------------------------------------------------------------------------------


def _triples(campaign: Campaign) -> list[Document]:
    rows = Item.objects.active().filter(campaign=campaign).order_by("position")
    return [
        {
            "pk": row["pk"],
            "unit": row["unit"],
            "position": row["position"],
            "triple_id": row["key"],
            "head": row["head"],
            "relation": row["relation"],
            "tail": row["tail"],
            "class": row["item_class"],
            "split": row["split"],
        }
        for row in rows.values(
            "pk", "unit", "position", "key", "head", "relation", "tail", "item_class", "split"
        ).iterator(CHUNK)
    ]


def _compounds(campaign: Campaign) -> list[Document]:
    systems: dict[int, list[tuple[str, str]]] = {}
    outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
    for item, system, run in outputs.values_list("item", "system__name", "run").iterator(CHUNK):
        systems.setdefault(item, []).append((system, run))
    rows = Item.objects.active().filter(campaign=campaign).order_by("position")
    return [
        {
            "pk": row["pk"],
            "unit": row["unit"],
            "position": row["position"],
            "item_id": row["context__key"],
            "compound": row["unit__compound"],
            "type": row["unit__type"],
            "pattern": row["unit__pattern"],
            "context_no": row["context__number"],
            "source": row["context__source"],
            "translation": row["translation"],
            "reference": row["context__reference"] or None,
            "systems": systems_cell(systems.get(row["pk"], [])),
            "split": "",
        }
        for row in rows.values(
            "pk", "unit", "position", "context__key", "unit__compound", "unit__type", "unit__pattern",
            "context__number", "context__source", "translation", "context__reference",
        ).iterator(CHUNK)
    ]  # fmt: skip


def _item_cells(row: Document, *, has_ids: bool) -> Row:
    """A label is a number here, so that a loader gets classes; an item without one has null and the reason."""
    columns = TRIPLE_COLUMNS if "triple_id" in row else COMPOUND_COLUMNS
    shown = [name for name in columns if has_ids or name not in ("triple_id", "item_id")]
    return {name: row[name] for name in shown} | {
        "label": int(row["label"]) if row["label"] else None,
        "reason": row["reason"] or None,
    }


# Split ---------------------------------------------------------------------------------------------------------


def _split(rows: list[Document], wish: SplitWish, *, compound: bool) -> Document:
    """Writes each row's split, and says how it came about."""
    has_splits = any(row["split"] for row in rows)
    rule = wish.rule or (KEEP if has_splits else NONE if compound else "default")
    if rule == KEEP:
        if not has_splits:
            raise Refused(_("The items have no split to keep; choose a rule."))
        return {"rule": KEEP, "seed": None, "units": None, "items": _sizes(rows)}
    if rule == NONE:
        for row in rows:
            row["split"] = ""
        return {"rule": NONE, "seed": None, "units": None, "items": _sizes(rows)}
    dealt = _deal(rows, wish, rule, compound=compound)
    for row in rows:
        row["split"] = dealt.sides.get(_unit(row, compound=compound), "")
    return {
        "rule": rule,
        "seed": wish.seed,
        "by_head": wish.by_head,
        "units": dealt.as_json(),
        "items": _sizes(rows),
    }


def _deal(rows: Sequence[Document], wish: SplitWish, rule: str, *, compound: bool) -> Split:
    """Labelled triples one by one; compounds as a whole, all their contexts and translations together."""
    if compound:
        units = {
            str(row["unit"]): SplitUnit(row["compound"], (row["type"], row["pattern"]), row["compound"])
            for row in rows
        }
        return split(_distinct(units.values()), rule=rule, seed=wish.seed)
    return split(
        [
            SplitUnit(
                key=_unit(row, compound=False),
                cell=(row["class"], row["relation"], row["label"]),
                group=row["head"]
                if wish.by_head
                else "\x1f".join((row["head"], row["relation"], row["tail"])),
            )
            for row in rows
            if row["label"]
        ],
        rule=rule,
        seed=wish.seed,
    )


def _distinct(units: Any) -> list[SplitUnit]:
    return list({unit.key: unit for unit in units}.values())


def _unit(row: Document, *, compound: bool) -> str:
    return str(row["compound"]) if compound else str(row["position"])


def _sizes(rows: Sequence[Document]) -> dict[str, int]:
    """Labelled items by split, and how many have no label."""
    labelled = Counter(row["split"] or "none" for row in rows if row["label"])
    return dict(sorted(labelled.items())) | {"unlabelled": sum(not row["label"] for row in rows)}


def _leakage(rows: Sequence[Document]) -> Document | None:
    if not any(row["split"] for row in rows):
        return None
    triples = [(row["head"], row["relation"], row["tail"]) for row in rows]
    return dict(leakage(triples, [row["split"] for row in rows], dev=DEV, test=TEST).as_json())


# Votes and how they came about -----------------------------------------------------------------------------------


def _votes(campaign: Campaign) -> list[Row]:
    """The judgements of the items in this release, and of no others: each can be joined to its item."""
    found = annotations(campaign, names=names_of(campaign, real=False))
    there = Item.objects.active().filter(campaign=campaign)
    found = replace(found, query=found.query.filter(assignment__item__in=there))
    columns = [name for name in VOTE_COLUMNS if name in found.columns]
    rows = [{name: row[name] for name in columns} for row in found.rows()]
    return sorted(rows, key=_vote_order)


def _vote_order(vote: Row) -> tuple[Any, ...]:
    return tuple(vote[name] for name in ("position", "round", "round_number", "slot", "annotator"))


def _guidelines(campaign: Campaign) -> list[tuple[str, str]]:
    return [
        (f"v{guideline.version}.{language}.md", text)
        for guideline in campaign.guidelines.order_by("version")
        for language, text in (("en", guideline.text_en), ("zh", guideline.text_zh))
    ]


def _design(campaign: Campaign) -> Document:
    """Who judged which part, by pseudonym: `experts` and `shares` count what stands, `planned_experts` are those whom
    the design named. A plan's own hash is made of names and stays here.
    """
    shares = _shares(campaign)
    planned = _planned(campaign)
    parts = Part.objects.filter(round__campaign=campaign).select_related("design", "round")
    moved = moved_of(campaign)
    return {
        "seed": campaign.seed,
        "experts_per_item": campaign.annotators_per_item,
        "moved_units": moved.units,
        "left": list(moved.left),
        "parts": [
            {
                "round": part.round.kind,
                "index": part.index,
                "design": part.design.name,
                "seed": part.design.seed,
                "n_units": part.n_units,
                **_sample(part),
                "experts": list(dict.fromkeys(share["expert"] for share in shares.get(part.pk, ()))),
                "shares": shares.get(part.pk, []),
                **({"planned_experts": planned[part.pk]} if part.pk in planned else {}),
            }
            for part in parts.annotate(n_units=Count("part_units")).order_by("round", "index")
        ],
    }


def _shares(campaign: Campaign) -> dict[int, list[Document]]:
    """By part: how many items each expert holds in each place, and how many of these they judged.

    Hidden repeats stand in parts of the main round and are no part of its design.
    """
    names = names_of(campaign, real=False)
    rows = (
        Assignment.objects.filter(
            part__round__campaign=campaign, round=F("part__round"), withdrawn_at__isnull=True
        )
        .order_by("part", "slot", "expert")
        .values_list("part", "slot", "expert")
        .annotate(items=Count("pk"), judged=Count("answered_at"))
    )
    found: dict[int, list[Document]] = {}
    for part, slot, expert, items, judged in rows:
        share = {"expert": names.of(expert), "slot": slot, "n_items": items, "n_judged": judged}
        found.setdefault(part, []).append(share)
    return {
        part: sorted(those, key=lambda one: (one["slot"], one["expert"])) for part, those in found.items()
    }


def _planned(campaign: Campaign) -> dict[int, list[str]]:
    """By part of the main round: the experts whom its design named, place 1 first. Who is no member has no name."""
    names = dict(campaign.memberships.values_list("user__username_folded", "pseudonym"))
    found = {}
    designs = Design.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN)
    for design in designs.prefetch_related("parts"):
        parts = sorted(design.parts.all(), key=lambda part: part.index)
        for part, plan in zip(parts, design.plan.get("parts", ()), strict=False):  # a completion planned none
            found[part.pk] = [names.get(fold_name(name), "–") for name in plan["experts"]]
    return found


def _sample(part: Part) -> Document:
    """Of how many units the part's were drawn at random, where they were."""
    sample = part.design.plan.get("sample")
    return {} if sample is None else {"sample": {"n": sample["n"], "of": sample["of"]}}


def _agreement(campaign: Campaign, votes: Sequence[Row]) -> Document:
    if not any(vote["round"] == Round.Kind.MAIN for vote in votes):
        return {"reason": "the labels were imported; no judgements are held here"}
    return report(campaign, "agreement", Options())


def _conditions(campaign: Campaign, votes: Sequence[Row]) -> Document:
    """Under which settings people judged, and what is known of each answer."""
    protocol = get_protocol(campaign.protocol)
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    settings: Document = {"zero_detail": campaign.zero_detail, "order": campaign.order}
    if compound:
        highlighted = "translation" if campaign.highlighted_forms else "source"
        settings = {
            "display": campaign.display,
            "reference": campaign.reference,
            "reasons": campaign.reasons,
            "highlighted": highlighted,
        }
    rounds = campaign.rounds.select_related("guideline").order_by("pk")
    return {
        "protocol": campaign.protocol,
        "scale": [str(label) for label in protocol.labels],
        "settings": settings,
        "rounds": [
            {
                "kind": round_.kind,
                "number": round_.number,
                "experts_per_item": round_.k,
                "guideline": round_.guideline.version,
            }
            for round_ in rounds
        ],
        "judgements": len(votes),
        "experts": len({vote["annotator"] for vote in votes}),
        "by_round": _counts(votes, "round"),
        "labels_by_rule": _labels_by_rule(campaign),
        "by_guideline": _counts(votes, "guideline"),
        "by_entrance": _counts(votes, "source_of_answer"),
        "reference_seen": _counts(votes, "reference_seen"),
        "by_display": _counts(votes, "display"),
    }


def _labels_by_rule(campaign: Campaign) -> dict[str, int]:
    """How many labels each rule decided: the campaign's own, and an arbiter in its place."""
    labels = FinalLabel.objects.filter(item__campaign=campaign, item__retired_at__isnull=True).exclude(
        label=""
    )
    return dict(labels.order_by("rule").values_list("rule").annotate(n=Count("pk")))


def _counts(votes: Sequence[Row], column: str) -> dict[str, int]:
    return dict(sorted(Counter(str(vote[column]) for vote in votes).items()))
