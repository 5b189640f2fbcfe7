"""Self-consistency: the same people judging the same items again, without being told.

It bounds agreement from above: two experts cannot be expected to agree more with each other than each with
themselves. Two labels of one person are not independent, though (people remember, habits repeat), so this is never
mixed with agreement between people.

The figures are those of `agreement`, the two "raters" being the first and the second time. Over all people pooled
they hold only where nobody is a different judge from the rest, so each person stands apart as well.

Source: Ide and Pustejovsky (2017), Handbook of Linguistic Annotation, for intra-annotator agreement; Abercrombie,
Rieser and Hovy (2023), Consistency is Key (arXiv 2301.10684).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.agreement import AgreementReport, agreement
from scoring.stats.agreement_input import ratings_from_matrix
from scoring.stats.proportions import Interval, percent, percent_interval, reasons

TIMES = ("first", "again")


@dataclass(frozen=True, eq=False, kw_only=True)
class Repeats:
    """Judgements given twice, row by row, shape (repeats,).

    `item`: its key. `person`: who judged it both times. `first`, `again`: category numbers, -1 for "cannot judge"
    (such a row counts as missing). `cluster`: its compound, or None where items stand alone. A (person, item) occurs
    once: of more than two judgements the first two.
    """

    item: Sequence[Hashable]
    person: Sequence[str]
    first: NDArray[np.int64]
    again: NDArray[np.int64]
    cluster: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        columns = [len(self.item), len(self.person), self.first.size, self.again.size]
        if self.cluster is not None:
            columns.append(len(self.cluster))
        if len(set(columns)) != 1:
            raise ValueError("all columns of repeats need the same length")
        if len(set(zip(self.person, self.item, strict=True))) != len(self.item):
            raise ValueError("somebody's item stands twice among the repeats: pass the first two judgements")


@dataclass(frozen=True, kw_only=True)
class Shift:
    """Of the `n` judged both times, how many moved up and how many down the scale, and an exact two-sided sign test
    of "up and down alike": a small p says that the person (or the guideline) moved, not only wavered.

    `interval` (−1 to 1) is the 95 % interval of (up − down) / n; None, as p, where nothing moved.
    """

    n: int
    up: int
    down: int
    difference: float | None
    interval: Interval | None
    p: float | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{n, up, down, difference, ci95, p}`, difference in points."""
        return {
            "n": self.n,
            "up": self.up,
            "down": self.down,
            "difference": percent(self.difference),
            "ci95": percent_interval(self.interval),
            "p": self.p,
            **reasons(self.reason, "reason"),
        }


@dataclass(frozen=True, kw_only=True)
class Consistency:
    """All repeats together, each person's, and where labels moved."""

    overall: AgreementReport
    by_person: Mapping[str, AgreementReport]
    shift: Shift
    shift_by_person: Mapping[str, Shift]

    def as_json(self) -> dict[str, Any]:
        """`{overall, by_person, shift, shift_by_person}`."""
        return {
            "overall": self.overall.as_json(),
            "by_person": {name: report.as_json() for name, report in self.by_person.items()},
            "shift": self.shift.as_json(),
            "shift_by_person": {name: shift.as_json() for name, shift in self.shift_by_person.items()},
        }


def self_consistency(
    repeats: Repeats,
    *,
    categories: Sequence[str],
    scale: Sequence[float],
    seed: int,
    resamples: int = 1000,
) -> Consistency:
    """How far people agree with themselves.

    Args:
        repeats: who gave what the first and the second time.
        categories, scale: declared, in scale order.
        seed, resamples: of the intervals, which resample items, or compounds; over all people, an item that several
            repeated is one cluster.

    Returns:
        Reports as of `agreement`, overall and per person (in order of first appearance).

    >>> repeats = Repeats(item=["a", "b", "c", "a"], person=["A1", "A1", "A1", "A2"],
    ...                   first=np.array([1, 0, 1, 1]), again=np.array([1, 0, 0, 1]))
    >>> found = self_consistency(repeats, categories=("0", "1"), scale=(0, 1), seed=1)
    >>> found.overall.coefficients["raw"].value, found.by_person["A2"].coefficients["raw"].value
    (0.75, 1.0)
    >>> found.shift.up, found.shift.down, found.shift.p
    (0, 1, 1.0)
    """
    groups = repeats.cluster if repeats.cluster is not None else repeats.item
    number = {key: place for place, key in enumerate(dict.fromkeys(groups))}
    clusters = np.array([number[key] for key in groups], dtype=np.int64)

    def report(rows: NDArray[np.bool_]) -> AgreementReport:
        return agreement(
            ratings_from_matrix(
                np.stack([repeats.first[rows], repeats.again[rows]], axis=1),
                raters=TIMES,
                categories=categories,
                scale=scale,
                clusters=clusters[rows],
            ),
            seed=seed,
            resamples=resamples,
        )

    people = np.array(repeats.person, dtype=object)
    of_person = {name: people == name for name in dict.fromkeys(repeats.person)}
    everything = np.ones(len(people), dtype=np.bool_)
    return Consistency(
        overall=report(everything),
        by_person={name: report(rows) for name, rows in of_person.items()},
        shift=shift(repeats.first, repeats.again),
        shift_by_person={
            name: shift(repeats.first[rows], repeats.again[rows]) for name, rows in of_person.items()
        },
    )


def shift(first: NDArray[np.int64], again: NDArray[np.int64]) -> Shift:
    """How labels moved between two times; category numbers in scale order, -1 for none.

    The interval is Wald's after Agresti and Min (2005, Statistics in Medicine 24, 729–740): half a repeat is added to
    each of the two directions and to those that stayed on either side.

    >>> moved = shift(np.array([0] * 10 + [1] * 10), np.array([1] * 6 + [0] * 4 + [1] * 10))
    >>> moved.up, moved.down, round(moved.p, 5), [round(bound, 3) for bound in moved.interval]
    (6, 0, 0.03125, [0.066, 0.479])
    """
    from scipy.stats import binomtest  # noqa: PLC0415

    both = (first >= 0) & (again >= 0)
    n = int(both.sum())
    up, down = int((again > first)[both].sum()), int((again < first)[both].sum())
    if not up + down:
        reason = say("nothing moved") if n else say("nothing was judged both times")
        return Shift(n=n, up=0, down=0, difference=0.0 if n else None, interval=None, p=None, reason=reason)
    wide, more, fewer = n + 2, up + 0.5, down + 0.5
    centre = (more - fewer) / wide
    half = NormalDist().inv_cdf(0.975) * sqrt((more + fewer) / wide - centre**2) / sqrt(wide)
    return Shift(
        n=n,
        up=up,
        down=down,
        difference=(up - down) / n,
        interval=(max(-1.0, centre - half), min(1.0, centre + half)),
        p=float(binomtest(up, up + down).pvalue),
    )
