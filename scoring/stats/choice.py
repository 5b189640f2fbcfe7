"""Answers to multiple-choice questions: right or wrong, by set, by skill, as a mean over sets.

A question is answered right where the option chosen is the gold one, compared as keys are (NFKC, trimmed, without
zero-width characters; case counts). Accuracy is the share of questions answered right, in percent; the mean over sets
gives every set the same weight, as tables of commonsense benchmarks print it. Where all questions of all runs are right
(or all wrong) drawing questions anew shows no spread, and the interval is the exact one of Clopper and Pearson.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.text import fold_key
from scoring.stats.proportions import clopper_pearson
from scoring.stats.question_sums import Drawn, Family, Figure, SystemRows

Floats = NDArray[np.float64]

ACCURACY = "accuracy"
MEASURES = (ACCURACY,)


def right(chosen: Sequence[str], gold: Sequence[str]) -> NDArray[np.int8]:
    """(questions,) 1 where the option chosen is the gold one, else 0.

    Raises ValueError unless there are as many of both.

    >>> right(["A", "Ｂ ", "c"], ["A", "B", "C"]).tolist()
    [1, 1, 0]
    """
    if len(chosen) != len(gold):
        raise ValueError("there must be one choice for each question")
    same = [fold_key(one) == fold_key(other) for one, other in zip(chosen, gold, strict=True)]
    return np.array(same, dtype=np.int8)


def rows_of(answers: NDArray[np.int8]) -> Floats:
    """(questions, 2) what each question adds to a share: right or not, and one question.

    >>> rows_of(np.array([1, 0], dtype=np.int8)).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return np.stack([answers.astype(np.float64), np.ones(answers.size)], axis=1)


def accuracy(sums: Floats) -> Floats:
    """(…, 2) sums of such rows to (…, 1) percent right.

    >>> accuracy(np.array([3.0, 4.0])).tolist()
    [75.0]
    """
    return np.asarray(100 * sums[..., :1] / sums[..., 1:], dtype=np.float64)


FAMILIES = (Family(name=ACCURACY, measures=MEASURES, of_sums=accuracy),)


def answered(name: str, runs: Sequence[NDArray[np.int8]]) -> SystemRows:
    """A system's runs as rows of sums; each run (questions,) 1 or 0."""
    return SystemRows(name=name, runs=tuple(rows_of(run) for run in runs))


def accuracy_of(drawn: Drawn, system: int) -> Figure:
    """One system's accuracy with its interval, exact where every answer is right or every answer wrong.

    >>> from scoring.stats.question_sums import draw
    >>> found = draw([answered("all", [np.ones(40, dtype=np.int8)])], accuracy, MEASURES)
    >>> one = accuracy_of(found, 0)
    >>> one.spread.mean, [round(bound, 1) for bound in one.interval], one.method
    (100.0, [91.2, 100.0], 'clopper-pearson')
    """
    found = drawn.figure(system, ACCURACY)
    values = set(drawn.values[system][:, 0].tolist())
    if found.interval is not None or values not in ({0.0}, {100.0}):
        return found
    low, high = clopper_pearson(drawn.n if values == {100.0} else 0, drawn.n)
    return replace(found, interval=(100 * low, 100 * high), method="clopper-pearson", ci95_reason=None)
