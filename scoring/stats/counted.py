"""Which instances a number of the error rates counts: the way back from a figure to what stands behind it.

The definitions are those of `error_rates` and `breakdowns`; the test compares the two on every row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.stats.error_rates import CONTEXTS, UNDECIDED, WRONG, Instances, compounds_of
from scoring.stats.groups import Mask


@dataclass(frozen=True)
class Counted:
    """The instances behind a number, shape (instances,), and the number: of instances, or of compounds."""

    rows: Mask
    n: int
    compounds: bool


@dataclass(frozen=True)
class _Row:
    """The compounds of a row, shape (compounds,)."""

    complete: Mask  # five contexts, all of them decided
    undecided: Mask  # five contexts, not all of them decided
    wrong: NDArray[np.integer[Any]]


def counted(instances: Instances, of: str, *, under: Mask | None = None) -> Counted:
    """The instances that a number of one row of the error rates counts.

    Args:
        instances: one system's outputs with their verdicts.
        of: a name in `NUMBERS`.
        under: shape (instances,), the instances of the row; None for all. Numbers of compounds count those that stand
            under it as a whole.

    Raises:
        ValueError: no such number, or `under` of another length.

    >>> instances = Instances(unit=np.repeat(["a", "b"], 5), context=np.arange(10),
    ...     verdict=np.array([0, 1, 1, 1, 1] + [1] * 5, dtype=np.int8), cannot_judge=np.zeros(10, dtype=bool))
    >>> found = counted(instances, "aggregate-errors")
    >>> found.n, found.compounds, found.rows.tolist() == [True] * 5 + [False] * 5
    (1, True, True)
    >>> counted(instances, "instance-errors").n
    1
    """
    under = np.ones(instances.unit.size, dtype=np.bool_) if under is None else under
    if under.shape != instances.unit.shape:
        raise ValueError("each instance stands in the row or does not")
    if of in OF_INSTANCES:
        rows = under & OF_INSTANCES[of](instances)
        return Counted(rows, int(rows.sum()), compounds=False)
    if of not in OF_COMPOUNDS:
        raise ValueError(f"There is no number {of}; there are {', '.join(NUMBERS)}.")
    compounds = compounds_of(instances)
    here = np.bincount(compounds.of_instance[under], minlength=len(compounds.keys))
    five = (compounds.contexts == CONTEXTS) & (here == compounds.contexts)
    complete = five & (compounds.judged == CONTEXTS)
    found = OF_COMPOUNDS[of](_Row(complete, five & ~complete, compounds.wrong))
    return Counted(found[compounds.of_instance], int(found.sum()), compounds=True)


OF_INSTANCES: Mapping[str, Callable[[Instances], Mask]] = {
    "instance-n": lambda rows: rows.verdict != UNDECIDED,
    "instance-errors": lambda rows: rows.verdict == WRONG,
    "instance-undecided": lambda rows: (rows.verdict == UNDECIDED) & ~rows.cannot_judge,
    "cannot-judge": lambda rows: rows.cannot_judge,
}


def _wrong_in(k: int) -> Callable[[_Row], Mask]:
    return lambda found: found.complete & (found.wrong == k)


OF_COMPOUNDS: Mapping[str, Callable[[_Row], Mask]] = {
    "aggregate-n": lambda found: found.complete,
    "aggregate-errors": lambda found: found.complete & (found.wrong > 0),
    "aggregate-undecided": lambda found: found.undecided,
    "all-wrong": _wrong_in(CONTEXTS),
    **{f"wrong-{k}": _wrong_in(k) for k in range(CONTEXTS + 1)},
}

NUMBERS = (*OF_INSTANCES, *OF_COMPOUNDS)
