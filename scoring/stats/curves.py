"""Curves of a model's scores: precision against recall, and how far scores can be read as probabilities.

Data for figures; nothing here draws.

Sources: Davis and Goadrich (2006), ICML, for precision–recall curves; Murphy and Winkler (1977), Applied Statistics 26,
41–47, for reliability diagrams; Brier (1950); Naeini, Cooper and Hauskrecht (2015), AAAI, for the expected
calibration error.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.classification import PLAUSIBLE, UNLABELLED
from scoring.stats.proportions import Interval, percent, percent_interval, reasons, wilson

BINS = 10


@dataclass(frozen=True, kw_only=True)
class PrecisionRecall:
    """Precision and recall of the plausible class (0 to 1) at every score, from the highest threshold down.

    At `threshold[i]` a score at or above it calls its triple plausible. `average_precision` is the mean precision
    weighted by the gain in recall (no interpolation). `base` is the share of plausible triples: the precision of a
    model that knows nothing. Empty, with a reason, where no triple is plausible.
    """

    n: int
    plausible: int
    threshold: tuple[float, ...]
    precision: tuple[float, ...]
    recall: tuple[float, ...]
    average_precision: float | None
    base: float | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{n, plausible, points: [{threshold, precision, recall}], average_precision, base}`, percent."""
        points = zip(self.threshold, self.precision, self.recall, strict=True)
        return {
            "n": self.n,
            "plausible": self.plausible,
            "points": [
                {"threshold": threshold, "precision": 100 * precision, "recall": 100 * recall}
                for threshold, precision, recall in points
            ],
            "average_precision": percent(self.average_precision),
            "base": percent(self.base),
            **reasons(self.reason, "reason"),
        }


def precision_recall(label: NDArray[np.int8], score: NDArray[np.float64]) -> PrecisionRecall:
    """The precision–recall curve of one run.

    Args:
        label: (n,) 1 plausible, 0 implausible, -1 left out; score: (n,) finite.

    Raises:
        ValueError: unequal lengths, or scores that are not finite.

    How to read it: against `base`, not against 0; sets with more plausible triples have higher curves.

    >>> curve = precision_recall(np.array([1, 0, 1, 0], dtype=np.int8), np.array([0.9, 0.8, 0.7, 0.1]))
    >>> list(zip(curve.threshold, curve.precision, curve.recall))[:2], round(curve.average_precision, 4)
    ([(0.9, 1.0, 0.5), (0.8, 0.5, 0.5)], 0.8333)
    """
    label, score = _labelled(label, score)
    n, plausible = label.size, int((label == PLAUSIBLE).sum())
    if not plausible:
        reason = say("no triples") if not n else say("no triple here is plausible, so there is no recall")
        return PrecisionRecall(
            n=n, plausible=0, threshold=(), precision=(), recall=(), average_precision=None,
            base=0.0 if n else None, reason=reason,
        )  # fmt: skip
    thresholds, place = np.unique(score, return_inverse=True)
    called = np.bincount(place)[::-1].cumsum()
    hits = np.bincount(place[label == PLAUSIBLE], minlength=thresholds.size)[::-1].cumsum()
    precision, recall = hits / called, hits / plausible
    return PrecisionRecall(
        n=n,
        plausible=plausible,
        threshold=tuple(thresholds[::-1].tolist()),
        precision=tuple(precision.tolist()),
        recall=tuple(recall.tolist()),
        average_precision=float((np.diff(recall, prepend=0.0) * precision).sum()),
        base=plausible / n,
    )


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Scores from `low` to `high` (the upper end belongs to the next bin, but for the last): their number, their
    mean, and the share that is plausible with its 95 % Wilson interval; None where the bin is empty."""

    low: float
    high: float
    n: int
    mean_score: float | None
    share: float | None
    interval: Interval | None

    def as_json(self) -> dict[str, Any]:
        """Scores 0 to 1, percent 0 to 100."""
        return {
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "mean_score": self.mean_score,
            "percent": percent(self.share),
            "ci95": percent_interval(self.interval),
        }


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """The reliability curve. `calibration_error`: mean |share − mean score| over bins, weighted by their numbers;
    `brier`: mean squared difference of score and label. None with a reason for scores that are no probabilities."""

    n: int
    bins: tuple[ReliabilityBin, ...]
    calibration_error: float | None
    brier: float | None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{n, bins, calibration_error, brier}`; error and Brier score 0 to 1."""
        return {
            "n": self.n,
            "bins": [one.as_json() for one in self.bins],
            "calibration_error": self.calibration_error,
            "brier": self.brier,
            **reasons(self.reason, "reason"),
        }


def reliability(label: NDArray[np.int8], score: NDArray[np.float64], *, bins: int = BINS) -> Reliability:
    """How often triples with a score of about s are plausible.

    Args:
        label: (n,) 1 plausible, 0 implausible, -1 left out; score: (n,) probabilities; bins: of equal width.

    Raises:
        ValueError: unequal lengths, scores that are not finite, or no bin.

    How to read it: a bin above the diagonal is more often plausible than its scores say. The calibration error
    depends on the number of bins and is never exactly 0 on few triples; the Brier score mixes calibration and
    sharpness.

    >>> found = reliability(np.array([1, 0, 1, 1], dtype=np.int8), np.array([0.2, 0.3, 0.9, 1.0]), bins=2)
    >>> [(one.n, one.mean_score, one.share) for one in found.bins], round(found.calibration_error, 3)
    ([(2, 0.25, 0.5), (2, 0.95, 1.0)], 0.15)
    """
    if bins < 1:
        raise ValueError("a reliability curve has at least one bin")
    label, score = _labelled(label, score)
    n = label.size
    if not n or score.min() < 0 or score.max() > 1:
        reason = say("no triples") if not n else say("scores outside 0 to 1 are no probabilities")
        return Reliability(n=n, bins=(), calibration_error=None, brier=None, reason=reason)
    plausible = (label == PLAUSIBLE).astype(np.float64)
    # Divided, not added up or multiplied: 0.3 is then the edge it is written as, and stands in the bin it starts.
    edges = np.arange(bins + 1) / bins
    place = np.minimum(np.searchsorted(edges, score, side="right") - 1, bins - 1)
    found = tuple(
        _bin(edges[number], edges[number + 1], plausible[place == number], score[place == number])
        for number in range(bins)
    )
    error = sum(
        one.n * abs(one.share - one.mean_score)
        for one in found
        if one.share is not None and one.mean_score is not None
    )
    return Reliability(
        n=n, bins=found, calibration_error=error / n, brier=float(np.square(score - plausible).mean())
    )


def _bin(
    low: float, high: float, plausible: NDArray[np.float64], score: NDArray[np.float64]
) -> ReliabilityBin:
    n = plausible.size
    return ReliabilityBin(
        low=float(low),
        high=float(high),
        n=n,
        mean_score=float(score.mean()) if n else None,
        share=float(plausible.mean()) if n else None,
        interval=wilson(float(plausible.sum()), n) if n else None,
    )


def _labelled(
    label: NDArray[np.int8], score: NDArray[np.float64]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    if label.shape != score.shape:
        raise ValueError("each triple needs one score")
    if not np.isfinite(score).all():
        raise ValueError("every triple needs a finite score")
    return label[label != UNLABELLED], score[label != UNLABELLED]
