"""What carrying verdicts over costs in truth: how often the verdict on an alike translation would have been another.

A verdict that is carried over was given to another translation of the sentence, which renders the compound alike. A
random share of such translations is judged anyway, by experts who judged the source as well and are told nothing. Their
*disagreement* is the share of these on which an expert's own verdict differs from the one the same expert gave to the
source. Part of it has nothing to do with carrying over: nobody judges the very same text alike each time. So the same
experts' disagreement with themselves on hidden repeats is taken off (`excess`, in points). An excess around 0 says that
a carried verdict is as good as the expert's own second look; what is below 0 is chance.

Whether figures move is another question, since disagreements in both directions cancel: `shift` is the rate of wrong
among the experts' own verdicts less the rate among those that would have been carried, as between batches (`shift`).

Intervals draw whole compounds, or are exact where nothing or everything differs (`share_over_clusters`). That of the
excess is put together from those of its two shares, which are taken as independent (Newcombe's method 10 for any
intervals, "MOVER"): lower bound d − √((p₁ − l₁)² + (u₂ − p₂)²), upper bound likewise.

Sources: Newcombe (1998), Statistics in Medicine 17, 873–890; Zou and Donner (2008), Statistics in Medicine 27,
1693–1702.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.proportions import (
    RESAMPLES,
    Interval,
    Share,
    percent,
    percent_interval,
    reasons,
    share_over_clusters,
)
from scoring.stats.shift import UNDECIDED, BatchShift, JudgedTwice, batch_shift

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class CarriedError:
    """Of the translations judged anyway: how often the verdict `differs` from that on the source, how often the same
    experts differ from themselves on repeats, and the `excess` of the one over the other (−1 to 1) with its 95 %
    interval, None with a `reason` where either is not known. `only_own_wrong` and `only_source_wrong` count the two
    directions.
    """

    differs: Share
    only_own_wrong: int
    only_source_wrong: int
    shift: BatchShift
    repeats: Share
    excess: float | None
    interval: Interval | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{differs, only_own_wrong, only_source_wrong, shift, repeats, excess, ci95}`; excess in points."""
        return {
            "differs": self.differs.as_json(),
            "only_own_wrong": self.only_own_wrong,
            "only_source_wrong": self.only_source_wrong,
            "shift": self.shift.as_json(),
            "repeats": self.repeats.as_json(),
            "excess": percent(self.excess),
            "ci95": percent_interval(self.interval),
            **reasons(self.reason, "reason", "ci95_reason"),
        }


@dataclass(frozen=True, kw_only=True)
class CarryOverReport:
    """All experts pooled, and each apart, in order of first appearance."""

    pooled: CarriedError
    by_person: Mapping[str, CarriedError]
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{pooled, by_person, signature}`."""
        return {
            "pooled": self.pooled.as_json(),
            "by_person": {name: found.as_json() for name, found in self.by_person.items()},
            "signature": self.signature,
        }


def carry_over_report(
    checked: JudgedTwice, repeats: JudgedTwice, *, seed: int, resamples: int = RESAMPLES
) -> CarryOverReport:
    """The error of carrying over, of all experts and of each.

    Args:
        checked: translations judged anyway, each expert's apart: `before` the verdict on the source, `later` on the
            translation itself.
        repeats: the same text judged twice by the same expert, of whatever experts; those of others than in `checked`
            do not count.
        seed, resamples: of the bootstrap over compounds.

    Of eight translations one expert judges two otherwise, and one of eight repeats:

    >>> def twice(before, later):
    ...     return JudgedTwice(before=np.array(before, dtype=np.int8), later=np.array(later, dtype=np.int8),
    ...                        person=["A1"] * len(before), unit=list(range(len(before))))
    >>> found = carry_over_report(twice([1] * 8, [0, 0] + [1] * 6), twice([1] * 8, [0] + [1] * 7), seed=1).pooled
    >>> found.differs.share, found.repeats.share, found.excess, found.only_own_wrong
    (0.25, 0.125, 0.125, 2)
    >>> found.interval[0] < 0 < found.interval[1]
    True
    """
    drawing = {"seed": seed, "resamples": resamples}
    people = dict.fromkeys(checked.person)
    return CarryOverReport(
        pooled=_error(checked, repeats, people, **drawing),
        by_person={name: _error(checked, repeats, [name], **drawing) for name in people},
        signature=(
            f"carry-over-error|ver:{VERSION}|n:{checked.before.size}|repeats:{repeats.before.size}"
            f"|interval:mover|seed:{seed}|resamples:{resamples}"
        ),
    )


def _error(
    checked: JudgedTwice, repeats: JudgedTwice, people: Collection[str], *, seed: int, resamples: int
) -> CarriedError:
    taken, own, units = _of(checked, people)
    first, again, of_repeats = _of(repeats, people)
    differs = share_over_clusters(
        *_per_unit(taken != own, units),
        seed=seed,
        resamples=resamples,
        nothing=say("nothing that was judged anyway has a verdict of both"),
    )
    itself = share_over_clusters(
        *_per_unit(first != again, of_repeats),
        seed=seed,
        resamples=resamples,
        nothing=say("these experts were given nothing again"),
    )
    excess = None if differs.share is None or itself.share is None else differs.share - itself.share
    return CarriedError(
        differs=differs,
        only_own_wrong=int((own < taken).sum()),
        only_source_wrong=int((taken < own).sum()),
        shift=batch_shift(taken, own, units, seed=seed, resamples=resamples),
        repeats=itself,
        excess=excess,
        interval=None if excess is None else difference_interval(differs, itself),
        reason=differs.reason or itself.reason,
    )


def difference_interval(one: Share, other: Share) -> Interval:
    """The 95 % interval of the difference of two shares from those of the shares (MOVER). Raises ValueError where
    either is undefined.

    >>> from scoring.stats.proportions import share_of_units
    >>> low, high = difference_interval(share_of_units(56, 70, nothing=""), share_of_units(48, 80, nothing=""))
    >>> round(low, 4), round(high, 4)  # Newcombe's example (a), method 10
    (0.0524, 0.3339)
    """
    if one.share is None or one.interval is None or other.share is None or other.interval is None:
        raise ValueError("a difference needs two shares with their intervals")
    apart = one.share - other.share
    down = hypot(one.share - one.interval[0], other.interval[1] - other.share)
    up = hypot(one.interval[1] - one.share, other.share - other.interval[0])
    return max(-1.0, apart - down), min(1.0, apart + up)


def _of(
    judged: JudgedTwice, people: Collection[str]
) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int64]]:
    """Both verdicts of these people where both are there, and the compounds by number."""
    theirs = np.array([person in people for person in judged.person], dtype=np.bool_)
    rows = theirs & (judged.before != UNDECIDED) & (judged.later != UNDECIDED)
    number = {unit: place for place, unit in enumerate(dict.fromkeys(judged.unit))}
    units = np.array([number[unit] for unit in judged.unit], dtype=np.int64)
    return judged.before[rows], judged.later[rows], units[rows]


def _per_unit(
    hits: NDArray[np.bool_], units: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per compound how many are hits, and of how many."""
    size = int(units.max(initial=-1)) + 1
    return np.bincount(units[hits], minlength=size), np.bincount(units, minlength=size)
