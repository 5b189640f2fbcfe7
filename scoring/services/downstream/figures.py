"""A family of figures of all lines of a board, by drawing their questions anew; or why a line has none."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from scoring.models import Benchmark
from scoring.services.downstream.lines import Line
from scoring.services.downstream.scores import Document
from scoring.stats import choice
from scoring.stats.proportions import RESAMPLES, reasons
from scoring.stats.question_sums import Drawn, Family, Figure, SystemRows, draw
from scoring.stats.significance import SHUFFLES, Difference, with_holm


@dataclass(frozen=True, kw_only=True)
class Draws:
    """How much is drawn anew and swapped."""

    resamples: int = RESAMPLES
    shuffles: int = SHUFFLES


USUAL = Draws()


def seed_of(benchmark: Benchmark) -> int:
    """Its own for each benchmark, the same on every machine: draws of two sets must not go together."""
    text = f"{benchmark.name}\n{benchmark.sha256}"
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured:
    """One family of figures of all lines; `places` are those that have it, in the order of what was drawn."""

    family: Family
    drawn: Drawn | None
    places: Sequence[int]
    undefined: Mapping[int, str]

    def figure(self, line: int, measure: str) -> Document:
        """A line's figure, or why there is none."""
        if self.drawn is None or line not in self.places:
            return no_figure(self.undefined[line])
        return _figure(self.drawn, self.places.index(line), measure).as_json()

    def differences(self, lines: Sequence[Line]) -> list[Document]:
        """Of every two models, Holm over the pairs of each measure."""
        models = [place for place, line in enumerate(lines) if not line.human]
        found = []
        for measure in self.family.measures:
            pairs = [self._difference(lines, a, b, measure) for a, b in combinations(models, 2)]
            found += [one.as_json() for one in with_holm(pairs)]
        return found

    def _difference(self, lines: Sequence[Line], a: int, b: int, measure: str) -> Difference:
        if self.drawn is not None and a in self.places and b in self.places:
            return self.drawn.difference(self.places.index(a), self.places.index(b), measure)
        why = self.undefined[a if a in self.undefined else b]
        n = 0 if self.drawn is None else self.drawn.n
        return Difference(
            measure=measure, a=lines[a].title, b=lines[b].title, n=n, unit="questions", reason=why
        )


def _figure(drawn: Drawn, system: int, measure: str) -> Figure:
    return choice.accuracy_of(drawn, system) if measure == choice.ACCURACY else drawn.figure(system, measure)


def no_figure(why: str) -> Document:
    """What stands in a figure's place where there is none."""
    nothing: Document = {"mean": None, "sd": None, "n": 0, "values": [], "ci95": None, "ci95_method": None}
    return {**nothing, **reasons(why, "reason", "ci95_reason")}


def measured(
    family: Family,
    lines: Sequence[Line],
    mask: NDArray[np.bool_] | None,
    *,
    seed: int,
    draws: Draws,
    compare: bool,
    alive: Callable[[], None] = lambda: None,
) -> Measured:
    """One family's figures; `mask` says which questions count (None: all), `compare` that models are compared."""
    places = [place for place, line in enumerate(lines) if family.name in line.rows]
    undefined = {
        place: line.undefined[family.name] for place, line in enumerate(lines) if place not in places
    }
    if not places:
        return Measured(family=family, drawn=None, places=places, undefined=undefined)
    systems = [
        SystemRows(
            name=lines[place].title,
            runs=tuple(run if mask is None else run[mask] for run in lines[place].rows[family.name]),
        )
        for place in places
    ]
    models = [number for number, place in enumerate(places) if not lines[place].human]
    drawn = draw(
        systems,
        family.of_sums,
        family.measures,
        seed=seed,
        resamples=draws.resamples,
        shuffles=draws.shuffles,
        pairs=list(combinations(models, 2)) if compare else (),
        alive=alive,
    )
    return Measured(family=family, drawn=drawn, places=places, undefined=undefined)
