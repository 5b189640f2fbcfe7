"""How one expert's answers came about, described: evidence to talk about with them, never a verdict.

Nothing here ranks people, tests them, or says what is usual: there may be good reasons for every figure (an expert who
got the plausible triples, a long day, a clear relation). So each stands with its number of answers and an interval,
and where there is too little to go by it is None with a reason.

The answers of one screen (the contexts of a compound) come from one look at it, so screens are drawn anew in intervals
wherever a screen holds more than one answer.

Sources: Wilson (1927) and Clopper and Pearson (1934) for shares of independent answers, the bootstrap over clusters
for others (both in `proportions`); Zou and Donner (2008), Statistics in Medicine 27, 1693–1702, for the interval of a
difference of two shares from their own two intervals, which with Wilson's is Newcombe's method 10 (1998).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.proportions import Interval, Share, percent, share_of_units, share_over_clusters

THIRDS = 3
FEWEST_SCREENS = 30  # below, thirds of the time are too short to say anything
SESSION_EDGES = (1, 51, 101, 201)  # screens since the session began
FIRST_LABEL = "1"  # correct; always or often

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ExpertAnswers:
    """One expert's answers, all arrays of shape (answers,), in the order of time.

    `label`: "" for "cannot judge". `screen`: a number for each screen. `position`: the how-manyeth screen of its
    session, 0 where unknown. `others`, `differing`: how many other experts labelled the item, and how many of them
    otherwise; both 0 where this answer has no label. `timed`: whether it was given here; from a file there is no time
    of day. `rest`: how many answers of its screen were given with one key, “rest correct”; −1 where that was not
    recorded. `seconds` are active seconds of each timed screen, shape (screens that were measured,).
    """

    label: Sequence[str]
    screen: Integers
    position: Integers
    others: Integers
    differing: Integers
    timed: NDArray[np.bool_]
    seconds: Floats
    seconds_all_first: Floats  # of the screens on which every answer is the first label
    rest: Integers
    seconds_rest: Floats  # of the screens on which that key gave an answer


@dataclass(frozen=True, kw_only=True)
class Middle:
    """Median and quartiles of some times; None where there are none, `reason` then says why."""

    n: int
    median: float | None
    quartiles: Interval | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "median": self.median,
            "quartiles": list(self.quartiles) if self.quartiles else None,
            **({"reason": self.reason} if self.reason else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The share of the first label in each third of the time, and the last minus the first (−1 to 1)."""

    thirds: tuple[Share, ...]
    difference: float | None
    interval: Interval | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "thirds": [third.as_json() for third in self.thirds],
            "difference": percent(self.difference),
            "ci95": None if self.interval is None else [100 * self.interval[0], 100 * self.interval[1]],
            **({"reason": self.reason, "ci95_reason": self.reason} if self.reason else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything about one expert."""

    answers: int
    seconds: Middle
    all_first: (
        Share | None
    )  # screens on which every answer is the first label; None where screens hold one answer
    all_first_seconds: Middle | None
    rest: Share | None  # screens on which “rest correct” gave an answer, of those for which it was recorded
    rest_seconds: Middle | None
    rest_not_recorded: int  # screens
    most_given: str | None
    most_given_share: Share
    drift: Drift
    by_position: tuple[tuple[str, Share], ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "answers": self.answers,
            "seconds": self.seconds.as_json(),
            "all_first": self.all_first and self.all_first.as_json(),
            "all_first_seconds": self.all_first_seconds and self.all_first_seconds.as_json(),
            "rest": self.rest and {**self.rest.as_json(), "not_recorded": self.rest_not_recorded},
            "rest_seconds": self.rest_seconds and self.rest_seconds.as_json(),
            "most_given": {"label": self.most_given, **self.most_given_share.as_json()},
            "drift": self.drift.as_json(),
            "by_position": [{"screens": name, **share.as_json()} for name, share in self.by_position],
        }


def evidence(answers: ExpertAnswers, *, seed: int) -> Evidence:
    """All of it for one expert; the same seed gives the same intervals."""
    label = np.array(answers.label, dtype=object)
    several = len(np.unique(answers.screen)) < len(answers.screen)
    most, share = most_given(answers.label, answers.screen, seed=seed)
    rest, not_recorded = by_rest(answers.rest, answers.screen)
    return Evidence(
        answers=len(answers.label),
        seconds=middle(answers.seconds),
        all_first=all_first(answers.label, answers.screen) if several else None,
        all_first_seconds=middle(answers.seconds_all_first) if several else None,
        rest=rest if several else None,
        rest_seconds=middle(answers.seconds_rest) if several else None,
        rest_not_recorded=not_recorded if several else 0,
        most_given=most,
        most_given_share=share,
        drift=drift((label == FIRST_LABEL)[answers.timed], answers.screen[answers.timed], seed=seed),
        by_position=disagreement_by_position(
            answers.position, answers.differing, answers.others, answers.screen, seed=seed
        ),
    )


def middle(seconds: Floats) -> Middle:
    """The median time and the quartiles around it: half of all screens took between the two.

    >>> found = middle(np.array([4.0, 5.0, 6.0, 7.0, 90.0]))
    >>> found.median, found.quartiles
    (6.0, (5.0, 7.0))
    >>> middle(np.array([])).reason
    'No active time was measured.'
    """
    if seconds.size == 0:
        return Middle(n=0, median=None, quartiles=None, reason=say("No active time was measured."))
    low, half, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    return Middle(n=int(seconds.size), median=float(half), quartiles=(float(low), float(high)))


def all_first(label: Sequence[str], screen: Integers) -> Share:
    """Among the screens, those on which every answer is the first label. Screens are independent units.

    >>> all_first(["1", "1", "1", "0"], np.array([7, 7, 8, 8])).share
    0.5
    """
    _names, place = np.unique(screen, return_inverse=True)
    other = np.bincount(place, weights=[one != FIRST_LABEL for one in label])
    return share_of_units(int((other == 0).sum()), other.size, nothing=say("Nothing was answered."))


def by_rest(rest: Integers, screen: Integers) -> tuple[Share, int]:
    """The screens on which “rest correct” gave an answer, among those for which that was recorded; how many others
    there are. Screens are independent units.

    A screen that was corrected later stays one of them while an answer of that key stands on it.

    >>> found, others = by_rest(np.array([4, 4, 0, 0, -1]), np.array([7, 7, 8, 8, 9]))
    >>> found.share, found.n, others
    (0.5, 2, 1)
    """
    _names, place = np.unique(screen, return_inverse=True)
    most = np.full(place.max() + 1 if place.size else 0, -1, dtype=np.int64)
    np.maximum.at(most, place, rest)
    known = int((most >= 0).sum())
    nothing = say("It was not recorded for these answers.")
    return share_of_units(int((most > 0).sum()), known, nothing=nothing), most.size - known


def most_given(label: Sequence[str], screen: Integers, *, seed: int) -> tuple[str | None, Share]:
    """The label given most often, and its share of all labels. One label only is a share of 1.

    A tie goes to the higher label. "Cannot judge" is no label.

    >>> most, share = most_given(["1", "1", "0", ""], np.array([1, 2, 3, 4]), seed=1)
    >>> most, share.n, round(share.share, 3)
    ('1', 3, 0.667)
    """
    given = np.array([bool(one) for one in label], dtype=bool)
    labels = np.array(label, dtype=object)[given]
    nothing = say("No label was given.")
    if labels.size == 0:
        return None, share_of_units(0, 0, nothing=nothing)
    counts = {one: int((labels == one).sum()) for one in set(labels.tolist())}
    most = max(counts, key=lambda one: (counts[one], one))
    return most, _share(labels == most, screen[given], seed=seed, nothing=nothing)


def drift(first_label: NDArray[np.bool_], screen: Integers, *, seed: int) -> Drift:
    """The share of the first label over thirds of the time, by screens; the interval of last minus first.

    A difference may come from the items as well as from the expert: items are drawn in an order of their own, so thirds
    hold much the same kinds only where the order was shuffled.

    >>> early_and_late = np.array([True] * 40 + [False] * 20)
    >>> found = drift(early_and_late, np.arange(60), seed=1)
    >>> [third.share for third in found.thirds], found.difference
    ([1.0, 1.0, 0.0], -1.0)
    >>> drift(np.array([True, False]), np.arange(2), seed=1).reason
    'There are fewer than 30 screens.'
    """
    _names, first_seen = np.unique(screen, return_index=True)
    order = {int(screen[place]): rank for rank, place in enumerate(np.sort(first_seen))}
    n = len(order)
    if n < FEWEST_SCREENS:
        reason = say("There are fewer than {n} screens.", n=FEWEST_SCREENS)
        return Drift(thirds=(), difference=None, interval=None, reason=reason)
    third = np.array([order[int(one)] * THIRDS // n for one in screen])
    shares = tuple(
        _share(first_label[third == place], screen[third == place], seed=seed, nothing="")
        for place in range(THIRDS)
    )
    difference, bounds = _difference(shares[-1], shares[0])
    return Drift(thirds=shares, difference=difference, interval=bounds)


def disagreement_by_position(
    position: Integers, differing: Integers, others: Integers, screen: Integers, *, seed: int
) -> tuple[tuple[str, Share], ...]:
    """How often others labelled the same item otherwise, by how far into the session the screen came.

    One comparison for each other expert's label of the item. Answers without a known position are left out.

    >>> rows = disagreement_by_position(np.array([1, 2, 60]), np.array([0, 1, 1]), np.array([1, 1, 1]),
    ...                                 np.arange(3), seed=1)
    >>> [(name, share.errors, share.n) for name, share in rows]
    [('1-50', 1, 2), ('51-100', 1, 1), ('101-200', 0, 0), ('201+', 0, 0)]
    """
    found = []
    for low, high in zip(SESSION_EDGES, (*SESSION_EDGES[1:], None), strict=True):
        here = (position >= low) & (others > 0)
        if high is not None:
            here &= position < high
        name = f"{low}+" if high is None else f"{low}-{high - 1}"
        share = _counted(
            differing[here], others[here], screen[here], seed=seed, nothing=say("Nothing to compare here.")
        )
        found.append((name, share))
    return tuple(found)


def _share(hit: NDArray[np.bool_], screen: Integers, *, seed: int, nothing: str) -> Share:
    ones = np.ones(hit.size, dtype=np.int64)
    return _counted(hit.astype(np.int64), ones, screen, seed=seed, nothing=nothing)


def _counted(hits: Integers, of: Integers, screen: Integers, *, seed: int, nothing: str) -> Share:
    """Hits among so many, by screen: independent where every screen adds one."""
    _names, place = np.unique(screen, return_inverse=True)
    hit = np.bincount(place, weights=hits).astype(np.int64)
    all_ = np.bincount(place, weights=of).astype(np.int64)
    if all_.size == 0 or all_.max() <= 1:
        return share_of_units(int(hit.sum()), int(all_.sum()), nothing=nothing)
    return share_over_clusters(hit, all_, seed=seed, nothing=nothing)


def _difference(later: Share, earlier: Share) -> tuple[float | None, Interval | None]:
    if later.share is None or earlier.share is None or not (later.interval and earlier.interval):
        return None, None
    value = later.share - earlier.share
    (low_b, high_b), (low_a, high_a) = later.interval, earlier.interval
    below = sqrt((later.share - low_b) ** 2 + (high_a - earlier.share) ** 2)
    above = sqrt((high_b - later.share) ** 2 + (earlier.share - low_a) ** 2)
    return value, (max(-1.0, value - below), min(1.0, value + above))
