"""Accuracies over the benchmarks of choices, and the mean of who was scored on all of them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from django.utils.translation import gettext as _

from annotation.models import Campaign
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.models import Benchmark
from scoring.services.downstream.figures import USUAL, Draws, measured, no_figure, seed_of
from scoring.services.downstream.lines import Line, lines_of
from scoring.services.downstream.scores import Document, Progress, silent
from scoring.stats import choice
from scoring.stats.question_sums import NOTE, Drawn, SystemRows, draw, mean_over_sets
from scoring.stats.significance import with_holm

MEAN = "mean"
NOT_EVERYWHERE = say("not scored on every benchmark, so there is no mean to compare")
Key = tuple[bool, str]


def accuracies_document(campaign: Campaign, *, draws: Draws = USUAL, progress: Progress = silent) -> Document:
    """Every system's accuracy on every benchmark of choices, and the mean over these; Refused where nothing is scored.

    Only who was scored on every benchmark has a mean, and only these are compared by it.
    """
    boards = [
        (benchmark, lines)
        for benchmark in campaign.benchmarks.filter(kind=Benchmark.Kind.CHOICE)
        if (lines := lines_of(benchmark))
    ]
    if not boards:
        raise Refused(_("Nothing was scored on a benchmark of choices yet."))
    names = sorted({(line.human, line.system) for _benchmark, lines in boards for line in lines})
    common = [key for key in names if all(_find(lines, key) is not None for _benchmark, lines in boards)]
    cells: dict[str, dict[Key, Document]] = {}
    sets: list[Drawn] = []

    def alive() -> None:
        progress(len(cells) + len(sets), 2 * len(boards))

    for benchmark, lines in boards:
        cells[benchmark.name] = _cells(benchmark, lines, draws, alive)
    for benchmark, lines in boards if common else ():
        sets.append(_of_common(benchmark, lines, common, draws, alive))
    mean = mean_over_sets(sets) if sets else None
    progress(1, 1)
    systems = []
    for key in names:
        of_sets = {name: found.get(key) for name, found in cells.items()}
        average = (
            no_figure(NOT_EVERYWHERE)
            if mean is None or key not in common
            else (mean.figure(common.index(key), choice.ACCURACY).as_json())
        )
        systems.append({"system": key[1], "human": key[0], "benchmarks": of_sets, MEAN: average})
    differences = [] if mean is None else _mean_differences(mean, common)
    document = {
        "campaign": campaign.slug,
        "benchmarks": [
            {"name": benchmark.name, "n": len(lines[0].rows[choice.ACCURACY][0]), "sha256": benchmark.sha256}
            for benchmark, lines in boards
        ],
        "systems": systems,
        "differences": differences,
        "note": NOTE,
        "signature": (
            f"downstream-accuracies|ver:1|benchmarks:{'+'.join(benchmark.sha256[:12] for benchmark, _ in boards)}"
            f"|match:nfkc+trim,cased|mean:plain|interval:bootstrap-over-questions|p:randomisation+1|adjusted:holm"
            f"|level:95|rs:by-benchmark|bs:{draws.resamples}|shuffles:{draws.shuffles}|numpy:{np.__version__}"
        ),
    }
    json.dumps(document, allow_nan=False)
    return document


def _find(lines: Sequence[Line], key: Key) -> Line | None:
    return next((line for line in lines if (line.human, line.system) == key), None)


def _cells(
    benchmark: Benchmark, lines: Sequence[Line], draws: Draws, alive: Callable[[], None]
) -> dict[Key, Document]:
    (family,) = choice.FAMILIES
    found = measured(family, lines, None, seed=seed_of(benchmark), draws=draws, compare=False, alive=alive)
    return {
        (line.human, line.system): found.figure(place, choice.ACCURACY) for place, line in enumerate(lines)
    }


def _of_common(
    benchmark: Benchmark,
    lines: Sequence[Line],
    common: Sequence[Key],
    draws: Draws,
    alive: Callable[[], None],
) -> Drawn:
    """What is drawn of one benchmark for the mean over all."""
    models = [place for place, (human, _system) in enumerate(common) if not human]
    chosen = [line for key in common if (line := _find(lines, key)) is not None]
    return draw(
        [SystemRows(name=line.title, runs=line.rows[choice.ACCURACY]) for line in chosen],
        choice.accuracy,
        choice.MEASURES,
        seed=seed_of(benchmark),
        resamples=draws.resamples,
        shuffles=draws.shuffles,
        pairs=list(combinations(models, 2)),
        alive=alive,
    )


def _mean_differences(mean: Drawn, common: Sequence[Key]) -> list[Document]:
    models = [place for place, (human, _system) in enumerate(common) if not human]
    found = [
        replace(mean.difference(a, b, choice.ACCURACY), measure=MEAN) for a, b in combinations(models, 2)
    ]
    return [one.as_json() for one in with_holm(found)]
