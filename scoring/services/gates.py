"""The gate of a dry run: how far its experts agree, whether that is enough to begin, and what is worth talking about.

Nothing here is told before the dry run is closed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Assignment, Campaign, Item, Membership, Round, User
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import say
from annotation.services.dry_runs import (
    Bound,
    Gate,
    close_dry_run,
    decide,
    decision_of,
    gate_of,
)
from annotation.services.errors import Refused
from annotation.services.exports import names_of
from scoring.services.gather import ratings_of
from scoring.services.options import SEED
from scoring.stats.agreement import agreement
from scoring.stats.agreement_table import MISSING
from scoring.stats.disagreement import disagreement

# What may be asked for: figures over all people together. Cohen's kappa is one of two people only.
COEFFICIENTS = (
    "raw", "fleiss", "alpha_nominal", "alpha_ordinal", "alpha_interval", "gwet_ac1", "gwet_ac2",
)  # fmt: skip
USUAL = {Campaign.Protocol.TRIPLE: "alpha_ordinal", Campaign.Protocol.COMPOUND: "alpha_nominal"}
SHOWN = 200  # of the items worth talking about


def gate(coefficient: str, threshold: float, bound: str = Bound.VALUE) -> Gate:
    """What must be reached; a Refused says which figures and bounds there are."""
    if coefficient not in COEFFICIENTS:
        raise Refused(
            say(
                "There is no gate on “{name}”; choose one of {names}.",
                name=coefficient,
                names=", ".join(COEFFICIENTS),
            )
        )
    if bound not in list(Bound):
        raise Refused(say("A gate looks at the value or at the lower bound: say value or lower."))
    return Gate(coefficient=coefficient, threshold=threshold, bound=Bound(bound))


def close_and_decide(round_: Round, *, without_missing: bool = False, by: User | None) -> Round:
    """Close the dry run, compute its agreement and compare it with the gate. Repeated, it changes nothing.

    Should the second step fail, the dry run stays closed and undecided, and `decide_now` makes up for it.
    """
    closed = close_dry_run(round_, without_missing=without_missing, by=by)
    return decide_now(closed, by=by)


def decide_now(round_: Round, *, by: User | None) -> Round:
    """The decision of a closed dry run that has none yet. Raises Refused where it is open."""
    if round_.state != Round.State.CLOSED:
        raise Refused(say("This dry run is open; close it first."))
    if decision_of(round_) is not None:
        return round_
    return decide(round_, _figures(round_), by=by)


def _figures(round_: Round) -> dict[str, Any]:
    """The gate's coefficient, and beside it all that may be asked for; people count under pseudonyms."""
    campaign = round_.campaign
    names = names_of(campaign, real=False).by_user
    ratings, _groups = ratings_of(campaign, names=names, round_kind=round_.kind, number=round_.number)
    found = agreement(ratings, seed=SEED)
    asked = gate_of(round_)
    chosen = asked.coefficient if asked else USUAL[Campaign.Protocol(campaign.protocol)]
    one = found.coefficients[chosen]
    return {
        "coefficient": chosen,
        "value": one.value,
        "ci95": None if one.ci95 is None else list(one.ci95),
        "n": one.n,
        "reason": one.reason,
        "coefficients": {name: found.coefficients[name].as_json() for name in COEFFICIENTS},
        "n_items": found.n_items,
        "n_judgements": found.n_judgements,
        "signature": found.signature,
    }


# What is worth talking about ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GivenAnswer:
    """What one expert said to an item: a label, or a cause; neither where they have not answered."""

    pseudonym: str
    label: str = ""
    cannot_judge: str = ""


@dataclass(frozen=True, kw_only=True)
class RankedItem:
    """An item with everybody's answer. `disagreement` lies in 0…1; None with fewer than two labels."""

    item: Item
    answers: tuple[GivenAnswer, ...]
    disagreement: float | None


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The items that are not answered alike by all, the most disputed first; how many were, and how many are left out.

    An item that somebody could not judge stands behind those with the same disagreement.
    """

    people: tuple[str, ...]
    items: tuple[RankedItem, ...]
    alike: int
    left_out: int


def ranking(round_: Round) -> Ranking:
    """Four queries. Raises Refused while the dry run is open."""
    if round_.state != Round.State.CLOSED:
        raise Refused(say("What the experts answered is shown once the dry run is closed."))
    protocol = get_protocol(round_.campaign.protocol)
    number = {label: place for place, label in enumerate(protocol.labels)}
    rows = list(
        Assignment.objects.filter(round=round_, withdrawn_at__isnull=True)
        .order_by("item__position", "slot")
        .values_list("item", "slot", "expert", "label", "cannot_judge")
    )
    names = dict(Membership.objects.filter(campaign=round_.campaign_id).values_list("user", "pseudonym"))
    people = {slot: names[expert] for _item, slot, expert, _label, _cause in rows}
    slots = {slot: column for column, slot in enumerate(sorted(people))}
    places: dict[int, int] = {}
    for item, *_rest in rows:
        places.setdefault(item, len(places))
    table = np.full((len(places), len(slots)), MISSING, dtype=np.int64)
    answers: dict[int, list[GivenAnswer]] = {item: [] for item in places}
    for item, slot, expert, label, cause in rows:
        table[places[item], slots[slot]] = number.get(label, MISSING)
        answers[item].append(GivenAnswer(pseudonym=names[expert], label=label, cannot_judge=cause))
    apart = dict(zip(places, disagreement(table, protocol.scale_values).tolist(), strict=True))
    disputed = [item for item in places if not _alike(answers[item])]
    disputed.sort(key=lambda item: (-_known(apart[item]), places[item]))
    shown = disputed[:SHOWN]
    items = Item.objects.select_related("unit", "context").in_bulk(shown)
    return Ranking(
        people=tuple(people[slot] for slot in slots),
        items=tuple(
            RankedItem(
                item=items[item],
                answers=tuple(answers[item]),
                disagreement=None if np.isnan(apart[item]) else apart[item],
            )
            for item in shown
        ),
        alike=len(places) - len(disputed),
        left_out=len(disputed) - len(shown),
    )


def _known(apart: float) -> float:
    return -1.0 if np.isnan(apart) else apart


def _alike(given: list[GivenAnswer]) -> bool:
    """Whether all who answered gave the same label. Nobody's answer is no difference."""
    return (
        len({(answer.label, answer.cannot_judge) for answer in given if answer.label or answer.cannot_judge})
        < 2
    )
