"""What stood around a judgement: was the reference seen, how far into a session was it, how long is the sentence.

Each function costs a fixed number of queries; a value is None where nothing is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import F, Q
from numpy.typing import NDArray

from annotation.models import Annotation, Campaign, Context, Round
from scoring.stats.agreement_groups import MIXED
from scoring.stats.breakdowns import binned, by_condition, by_member, quantile_edges, without_condition
from scoring.stats.error_rates import Instances, Rates

CHUNK = 5000
LENGTHS = 4  # bins of about equally many contexts
SESSION_EDGES = (
    1,
    11,
    26,
    51,
    101,
)  # screens since the session began: fixed, so that campaigns can be compared


@dataclass(frozen=True)
class Conditions:
    """By instance, in the order of the instances."""

    atoms: Sequence[frozenset[str]]
    context_length: NDArray[np.object_]
    reference_seen: NDArray[np.object_]
    session_position: NDArray[np.object_]


def conditions_of(campaign: Campaign, instances: Instances, items: Sequence[int]) -> Conditions:
    """Two queries: the sentences with their compounds' atoms, and how each answer that counts came about."""
    texts = {
        row[0]: row[1:]
        for row in Context.objects.filter(
            unit__campaign=campaign, batch__published_at__isnull=False
        ).values_list("pk", "source", "unit__atoms")
    }
    of_context = [texts[context] for context in instances.context.tolist()]
    lengths = [len(source.split()) or None for source, _atoms in of_context]
    seen, places = _judged(campaign)
    return Conditions(
        atoms=[
            frozenset(f"{kind} {text.lower()}" for kind, text, *_ in atoms) for _source, atoms in of_context
        ],
        context_length=binned(lengths, quantile_edges(lengths, LENGTHS))
        if any(lengths)
        else np.full(len(lengths), None),
        reference_seen=np.array([seen.get(item) for item in items], dtype=object),
        session_position=np.array([places.get(item) for item in items], dtype=object),
    )


def _judged(campaign: Campaign) -> tuple[Mapping[int, str], Mapping[int, str]]:
    """By item; where its experts judged under different conditions, "mixed"."""
    rows = Annotation.objects.filter(
        Q(reference_seen__isnull=False) | Q(session_position__isnull=False),
        assignment__round__campaign=campaign,
        assignment__round__kind=Round.Kind.MAIN,
        assignment__withdrawn_at__isnull=True,
        revision=F("assignment__revision"),
    ).values_list("assignment__item", "reference_seen", "session_position")
    seen: dict[int, str] = {}
    place: dict[int, str] = {}
    judged = list(rows.iterator(CHUNK))
    bins = binned([position for _item, _seen, position in judged], SESSION_EDGES).tolist()
    for (item, was_seen, _position), position in zip(judged, bins, strict=True):
        if was_seen is not None:
            _meet(seen, item, "seen" if was_seen else "hidden")
        if position is not None:
            _meet(place, item, position)
    return seen, place


def _meet(found: dict[int, str], item: int, value: str) -> None:
    found[item] = value if found.get(item, value) == value else MIXED


def more_breakdowns(
    instances: Instances, conditions: Conditions, *, seed: int, resamples: int
) -> dict[str, dict[str, Rates]]:
    """The rates by each atom and by each condition; a table without rows where nothing is known."""
    return {
        "atom": by_member(instances, conditions.atoms, seed=seed, resamples=resamples),
        **{
            name: by_condition(instances, values, seed=seed, resamples=resamples)
            for name, values in _by_name(conditions).items()
        },
    }


def without_conditions(
    instances: Instances, conditions: Conditions, *, seed: int, resamples: int
) -> dict[str, Rates]:
    """By condition, the rates of the instances that stand in none of its rows, where there are such beside others."""
    found = {
        name: without_condition(instances, values, seed=seed, resamples=resamples)
        for name, values in _by_name(conditions).items()
    }
    return {name: rates for name, rates in found.items() if rates is not None}


def _by_name(conditions: Conditions) -> dict[str, NDArray[np.object_]]:
    return {
        "context_length": conditions.context_length,
        "reference_seen": conditions.reference_seen,
        "session_position": conditions.session_position,
    }
