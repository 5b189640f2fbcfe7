"""Error rates by what a compound contains (each atom) and by what differs within it (conditions of judging).

The facets of `error_rates` give every compound one value: its type, pattern, words, determiner, modifier. Two other
kinds of table need more:

- *members*: a compound has several atoms and stands in the row of each; the rows overlap and do not add up.
- *conditions*: something that may differ between the contexts of one compound: how long the context is, whether the
  reference was seen, when in a session the judgement was made. The instance rate then counts the instances under
  that condition; the aggregate rate only compounds that stand under it as a whole, with five contexts.

A difference between rows is no effect by itself: conditions are not drawn by lot, and hard compounds may take experts
to the reference. Intervals are those of `error_rates`.
"""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.error_rates import (
    UNDECIDED,
    WRONG,
    Compounds,
    Instances,
    Rates,
    compounds_of,
    rates_of,
)
from scoring.stats.proportions import RESAMPLES, Integers, Share, share_over_clusters

_NUMBER = re.compile(r"(\d+)")


def by_member(
    instances: Instances,
    members: Sequence[Collection[str]],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Rates]:
    """The three rates of the compounds that hold each member (atom), members in natural order.

    Args:
        instances: one system's outputs with their verdicts; their facets are not used.
        members: for each instance what its compound holds, the same for all instances of a compound; such as
            {"DET any", "N dog"}. An empty collection stands in no row.
        seed, resamples: as in `error_rates`.

    Raises:
        ValueError: another number of collections than instances, or members that differ within a compound.

    >>> instances = Instances(unit=np.repeat(["any dog", "the dog"], 5), context=np.arange(10),
    ...     verdict=np.array([0] * 5 + [1] * 5, dtype=np.int8), cannot_judge=np.zeros(10, dtype=bool))
    >>> rows = by_member(instances, [{"any", "dog"}] * 5 + [{"the", "dog"}] * 5)
    >>> {member: (row.instance.n, row.instance.share) for member, row in rows.items()}
    {'any': (5, 1.0), 'dog': (10, 0.5), 'the': (5, 0.0)}
    """
    if len(members) != instances.unit.size:
        raise ValueError("each instance needs the members of its compound")
    held = [frozenset(of_instance) for of_instance in members]
    first: dict[Any, frozenset[str]] = {}
    for unit, of_instance in zip(instances.unit.tolist(), held, strict=True):
        if first.setdefault(unit, of_instance) != of_instance:
            raise ValueError(f"the members of {unit} differ between its contexts")
    compounds = compounds_of(instances)
    of_compound = [held[row] for row in compounds.first.tolist()]
    rows: dict[str, Rates] = {}
    for member in natural_order(set().union(*held)):
        holding = np.array([member in own for own in of_compound], dtype=np.bool_)
        rows[member] = rates_of(compounds, holding, seed=seed, resamples=resamples)
    return rows


def by_condition(
    instances: Instances,
    values: NDArray[Any],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Rates]:
    """The rates under each value of a condition, values in natural order ("9-12" before "13-20").

    Args:
        instances: one system's outputs with their verdicts; their facets are not used.
        values: (instances,) the condition of each instance as text, None or "" where it is not known: such an
            instance stands in no row, but in that of `without_condition`.
        seed, resamples: as in `error_rates`.

    Returns:
        For each value: instance over all instances under it; aggregate and all-contexts-wrong over the compounds
        whose contexts all stand under it.

    Raises:
        ValueError: another number of values than instances.

    >>> instances = Instances(unit=np.repeat(["a", "b"], 5), context=np.arange(10),
    ...     verdict=np.array([0] * 5 + [1] * 5, dtype=np.int8), cannot_judge=np.zeros(10, dtype=bool))
    >>> rows = by_condition(instances, np.array(["seen"] * 4 + ["hidden"] * 6, dtype=object))
    >>> rows["hidden"].instance.n, rows["hidden"].aggregate.decided.n, rows["seen"].aggregate.decided.reason
    (6, 1, 'no compound here has exactly five contexts, all of them decided')
    """
    texts = _texts(instances, values)
    compounds = compounds_of(instances)
    return {
        value: _under(instances, compounds, texts == value, seed=seed, resamples=resamples)
        for value in natural_order(set(texts.tolist()) - {""})
    }


def without_condition(
    instances: Instances, values: NDArray[Any], *, seed: int = 0, resamples: int = RESAMPLES
) -> Rates | None:
    """The rates of the instances of which the condition is not known: what the rows of `by_condition` lack of all.

    None where it is known of all, or of none, so that there is no table. Arguments as there.

    >>> instances = Instances(unit=np.repeat(["a", "b"], 5), context=np.arange(10),
    ...     verdict=np.array([0] * 5 + [1] * 5, dtype=np.int8), cannot_judge=np.zeros(10, dtype=bool))
    >>> without_condition(instances, np.array(["seen"] * 4 + [None] * 6, dtype=object)).instance.n
    6
    """
    unknown = _texts(instances, values) == ""
    if unknown.all() or not unknown.any():
        return None
    return _under(instances, compounds_of(instances), unknown, seed=seed, resamples=resamples)


def _texts(instances: Instances, values: NDArray[Any]) -> NDArray[Any]:
    if values.shape != instances.unit.shape:
        raise ValueError("each instance needs one value of the condition")
    return np.array(["" if value is None else str(value) for value in values.tolist()], dtype=object)


def _under(
    instances: Instances, compounds: Compounds, under: NDArray[np.bool_], *, seed: int, resamples: int
) -> Rates:
    """The rates of the instances where `under`, shape (instances,), holds, and of the compounds that are wholly so."""
    codes, n, carried = compounds.of_instance, len(compounds.keys), instances.carried_verdicts
    whole = np.bincount(codes[under], minlength=n) == compounds.contexts
    of_wholes = rates_of(compounds, whole, seed=seed, resamples=resamples)
    return Rates(
        instance=_instance_share(instances, codes, under, seed=seed, resamples=resamples),
        aggregate=of_wholes.aggregate,
        all_contexts_wrong=of_wholes.all_contexts_wrong,
        cannot_judge=int((under & instances.cannot_judge).sum()),
        undecided_instances=int((under & (instances.verdict == UNDECIDED) & ~instances.cannot_judge).sum()),
        carried=None if carried is None else int((under & carried).sum()),
    )


def binned(values: Sequence[float | None], edges: Sequence[float], *, unit: str = "") -> NDArray[Any]:
    """Names the bin of each value: bins start at the edges, the last one is open; None stays None.

    Args:
        values: numbers, None where unknown; a value below the first edge is None as well.
        edges: rising starts of the bins; where all are whole, so are the names ("1-10", not "1-11").
        unit: added to the names, such as " characters".

    >>> binned([3, 12, None, 40], [1, 11, 21]).tolist()
    ['1-10', '11-20', None, '21+']
    >>> binned([0.5, 2.0], [0, 1.5]).tolist()
    ['0 to 1.5', '1.5+']
    """
    if not edges or any(low >= high for low, high in pairwise(edges)):
        raise ValueError("the edges of bins rise, and there is at least one")
    whole = all(float(edge).is_integer() for edge in edges)
    names = [
        f"{low:g}-{high - 1:g}"
        if whole and high - low > 1
        else f"{low:g}"
        if whole
        else f"{low:g} to {high:g}"
        for low, high in pairwise(edges)
    ]
    names.append(f"{edges[-1]:g}+")
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    places = np.searchsorted(edges, numbers, side="right") - 1
    found = [
        None if place < 0 or np.isnan(number) else names[place] + unit
        for place, number in zip(places.tolist(), numbers.tolist(), strict=True)
    ]
    return np.array(found, dtype=object)


def quantile_edges(values: Sequence[float | None], bins: int) -> list[float]:
    """Whole-numbered starts of at most `bins` bins that hold about equally many values; for `binned`.

    >>> quantile_edges([1, 2, 3, 4, 5, 6, 7, 8, None], 4)
    [1.0, 3.0, 5.0, 7.0]
    """
    known = sorted(value for value in values if value is not None)
    if not known or bins < 1:
        raise ValueError("bins need at least one value, and there is at least one bin")
    starts = [known[len(known) * place // bins] for place in range(bins)]
    return sorted({float(np.floor(start)) for start in starts})


def natural_order(values: Collection[str]) -> list[str]:
    """Texts in the order a person expects, numbers in them by size.

    >>> natural_order({"10+", "2", "1-9", "N dog"})
    ['1-9', '2', '10+', 'N dog']
    """
    return sorted(values, key=_natural)


def _natural(value: str) -> list[tuple[int, int, str]]:
    return [
        (0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in _NUMBER.split(value) if piece
    ]


def _instance_share(
    instances: Instances, codes: Integers, under: NDArray[np.bool_], *, seed: int, resamples: int
) -> Share:
    size = int(codes.max(initial=-1)) + 1
    return share_over_clusters(
        np.bincount(codes[under & (instances.verdict == WRONG)], minlength=size),
        np.bincount(codes[under & (instances.verdict != UNDECIDED)], minlength=size),
        seed=seed,
        resamples=resamples,
        nothing=say("no instance is judged"),
    )
