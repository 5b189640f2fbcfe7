"""Several systems, or runs of them, judged on the same compounds: one table, its heat map, and where two differ.

A row is an instance (a context of a compound), a column a run of a system. Systems are compared only on what both
hold a verdict for; everything that compares them starts from this table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.stats.error_rates import UNDECIDED, WRONG, Instances


@dataclass(frozen=True, kw_only=True)
class JudgedSystem:
    """A system's name and its runs (training seeds), each with its verdicts; one run where there is one."""

    name: str
    runs: tuple[Instances, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(f"{self.name} has no run")


@dataclass(frozen=True, eq=False, kw_only=True)
class SystemTable:
    """Verdicts of all runs side by side.

    Attributes:
        units: (compounds,) keys, in order of first appearance.
        unit: (rows,) number of the compound of each row; `context`: (rows,) the context's own key.
        verdict: (rows, columns) 1 correct, 0 wrong, -1 without a decision or without an output.
        item: (rows, columns) what was judged, as in `Instances`; -1 where it is not known, 0 without an output.
        columns: (columns,) number of the system each column is a run of, rising.
        names: the systems.
    """

    units: tuple[Any, ...]
    unit: NDArray[np.int64]
    context: tuple[Any, ...]
    verdict: NDArray[np.int8]
    item: NDArray[np.int64]
    columns: NDArray[np.int64]
    names: tuple[str, ...]

    def of(self, system: int) -> NDArray[np.int8]:
        """(rows, runs) the verdicts of one system."""
        return self.verdict[:, self.columns == system]

    def per_unit(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """(compounds,) how many of the rows marked true, or the sum of what rows hold, fall to each compound."""
        sums = np.bincount(self.unit, weights=rows.astype(np.float64), minlength=len(self.units))
        return np.rint(sums).astype(np.int64)


def system_table(systems: Sequence[JudgedSystem]) -> SystemTable:
    """Puts the runs of all systems side by side; contexts and compounds are matched by their keys.

    Raises ValueError when two systems carry one name.

    >>> one = Instances(unit=np.array(["a", "a"]), context=np.array([1, 2]), verdict=np.array([1, 0], dtype=np.int8),
    ...                 cannot_judge=np.zeros(2, dtype=bool))
    >>> two = Instances(unit=np.array(["a"]), context=np.array([2]), verdict=np.array([1], dtype=np.int8),
    ...                 cannot_judge=np.zeros(1, dtype=bool))
    >>> table = system_table([JudgedSystem(name="x", runs=(one,)), JudgedSystem(name="y", runs=(two,))])
    >>> table.verdict.tolist()
    [[1, -1], [0, 1]]
    """
    names = tuple(system.name for system in systems)
    if len(set(names)) < len(names):
        raise ValueError("two systems carry one name: pass their runs as runs of one system")
    place: dict[tuple[Any, Any], int] = {}
    unit_of: dict[Any, int] = {}
    runs = [(number, run) for number, system in enumerate(systems) for run in system.runs]
    keys = [list(zip(run.unit.tolist(), run.context.tolist(), strict=True)) for _, run in runs]
    for of_run in keys:
        for key in of_run:
            place.setdefault(key, len(place))
            unit_of.setdefault(key[0], len(unit_of))
    verdict = np.full((len(place), len(runs)), UNDECIDED, dtype=np.int8)
    item = np.zeros((len(place), len(runs)), dtype=np.int64)
    for column, (of_run, (_, run)) in enumerate(zip(keys, runs, strict=True)):
        rows = [place[key] for key in of_run]
        verdict[rows, column] = run.verdict
        item[rows, column] = -1 if run.item is None else run.item
    return SystemTable(
        units=tuple(unit_of),
        unit=np.array([unit_of[unit] for unit, _ in place], dtype=np.int64),
        context=tuple(context for _, context in place),
        verdict=verdict,
        item=item,
        columns=np.array([number for number, _ in runs], dtype=np.int64),
        names=names,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class HeatMap:
    """Compounds by systems. `share`, shape (compounds, systems): wrong among judged contexts, over all runs of
    the system; NaN where none is judged. `order`: compounds from the hardest to the easiest (by their mean over
    the systems that judged them, then by key), those never judged last.
    """

    units: tuple[str, ...]
    names: tuple[str, ...]
    share: NDArray[np.float64]
    order: NDArray[np.int64]

    def as_json(self) -> dict[str, Any]:
        """`{systems, rows: [{compound, percent: [...]}]}` in that order; None where nothing is judged."""
        rows = [
            {
                "compound": self.units[row],
                "percent": [None if np.isnan(value) else 100 * value for value in self.share[row].tolist()],
            }
            for row in self.order.tolist()
        ]
        return {"systems": list(self.names), "rows": rows}


def heat_map(table: SystemTable) -> HeatMap:
    """How much of each compound each system gets wrong: data for a picture of compounds by systems.

    >>> verdict = np.array([1, 0, 1, 1], dtype=np.int8)
    >>> one = Instances(unit=np.array(["a", "a", "b", "b"]), context=np.arange(4), verdict=verdict,
    ...                 cannot_judge=np.zeros(4, dtype=bool))
    >>> heat_map(system_table([JudgedSystem(name="x", runs=(one,))])).as_json()["rows"]
    [{'compound': 'a', 'percent': [50.0]}, {'compound': 'b', 'percent': [0.0]}]
    """
    share = np.full((len(table.units), len(table.names)), np.nan)
    for system in range(len(table.names)):
        verdicts = table.of(system)
        judged = table.per_unit((verdicts != UNDECIDED).sum(axis=1))
        wrong = table.per_unit((verdicts == WRONG).sum(axis=1))
        share[judged > 0, system] = wrong[judged > 0] / judged[judged > 0]
    known = ~np.isnan(share)
    mean = np.where(known, share, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    hardness = np.where(known.any(axis=1), mean, -1.0)
    units = tuple(str(unit) for unit in table.units)
    order = sorted(range(len(units)), key=lambda row: (-hardness[row], units[row]))
    return HeatMap(units=units, names=table.names, share=share, order=np.array(order, dtype=np.int64))


def differing(table: SystemTable, a: int, b: int) -> list[tuple[Any, Any]]:
    """(compound, context) of the instances on which two columns hold opposite verdicts, in the table's order.

    >>> one = {"unit": np.array(["a", "a"]), "context": np.array([1, 2]), "cannot_judge": np.zeros(2, dtype=bool)}
    >>> runs = [Instances(verdict=np.array(verdicts, dtype=np.int8), **one) for verdicts in ([1, 0], [0, 0])]
    >>> differing(system_table([JudgedSystem(name="x", runs=tuple(runs))]), 0, 1)
    [('a', 1)]
    """
    both = (table.verdict[:, [a, b]] != UNDECIDED).all(axis=1)
    opposite = both & (table.verdict[:, a] != table.verdict[:, b])
    return [(table.units[table.unit[row]], table.context[row]) for row in np.flatnonzero(opposite).tolist()]
