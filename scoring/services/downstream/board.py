"""A benchmark's board."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.models import Benchmark
from scoring.services.downstream.figures import USUAL, Draws, Measured, measured, seed_of
from scoring.services.downstream.lines import Line, lines_of
from scoring.services.downstream.scores import Document, Progress, silent
from scoring.stats import choice, generation
from scoring.stats.question_sums import NOTE, Family

FAMILIES: Mapping[str, Sequence[Family]] = {
    Benchmark.Kind.GENERATION: generation.FAMILIES,
    Benchmark.Kind.CHOICE: choice.FAMILIES,
}
DIFFERENTLY_SCORED = say(
    "Not all submissions were scored by the same programs: the signature names each. Score all of them again."
)


def board_document(benchmark: Benchmark, *, draws: Draws = USUAL, progress: Progress = silent) -> Document:
    """Every system's figures over its runs, by relation or skill too, and the differences of every two models.

    Refused where nothing was scored yet.
    """
    lines = lines_of(benchmark)
    if not lines:
        raise Refused(_("Nothing was scored on “%(name)s” yet.") % {"name": benchmark.name})
    groups = list(benchmark.questions.values_list("group", flat=True))
    families = FAMILIES[benchmark.kind]
    of_group = _masks(groups)
    steps = len(families) * (1 + len(of_group))
    made: list[Measured] = []
    by_group: dict[str, list[Measured]] = {name: [] for name in of_group}

    def alive() -> None:
        progress(len(made) + sum(map(len, by_group.values())), steps)

    for family in families:
        made.append(
            measured(family, lines, None, seed=seed_of(benchmark), draws=draws, compare=True, alive=alive)
        )
        for name, mask in of_group.items():
            by_group[name].append(
                measured(
                    family, lines, mask, seed=seed_of(benchmark), draws=draws, compare=False, alive=alive
                )
            )
    progress(steps, steps)
    signatures = sorted({one for line in lines for one in line.signatures})
    systems = _systems(lines, made)
    shown_groups = [
        {"group": name, "n": int(mask.sum()), "systems": _systems(lines, by_group[name], named=False)}
        for name, mask in of_group.items()
    ]
    differences = [one for of_family in made for one in of_family.differences(lines)]
    document = {
        "campaign": benchmark.campaign.slug,
        "benchmark": benchmark.name,
        "kind": benchmark.kind,
        "file": benchmark.file_name,
        "sha256": benchmark.sha256,
        "n": len(groups),
        "measures": [name for family in families for name in family.measures],
        "systems": systems,
        "groups": shown_groups,
        "differences": differences,
        "warnings": [] if len(signatures) == 1 else [DIFFERENTLY_SCORED],
        "note": NOTE,
        "signature": _signature(benchmark, lines, signatures, draws),
    }
    json.dumps(document, allow_nan=False)
    return document


def _masks(groups: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
    """By relation or skill, which questions are its; none where all are of one."""
    names = sorted(set(groups))
    if len(names) < 2:
        return {}
    return {name: np.array([group == name for group in groups], dtype=np.bool_) for name in names}


def _systems(lines: Sequence[Line], made: Sequence[Measured], *, named: bool = True) -> list[Document]:
    found = []
    for place, line in enumerate(lines):
        figures = {
            measure: of_family.figure(place, measure)
            for of_family in made
            for measure in of_family.family.measures
        }
        runs = {"runs": [run.run for run in line.runs], "submissions": [run.pk for run in line.runs]}
        told = {"system": line.system, "human": line.human, **(runs if named else {})}
        found.append({**told, "figures": figures})
    return found


def _signature(benchmark: Benchmark, lines: Sequence[Line], signatures: Sequence[str], draws: Draws) -> str:
    runs = "+".join(str(len(line.runs)) for line in lines)
    return (
        f"downstream|ver:1|benchmark:{benchmark.sha256[:12]}|{'|'.join(signatures)}|systems:{len(lines)}|runs:{runs}"
        f"|sd:n-1|interval:bootstrap-over-questions|p:randomisation+1|adjusted:holm|level:95|rs:{seed_of(benchmark)}"
        f"|bs:{draws.resamples}|shuffles:{draws.shuffles}|numpy:{np.__version__}"
    )
