"""5,000 generations against their references, by all measures but METEOR: a model a run, from its file to the table.

The commands as a person runs them, on SQLite, each in a process of its own without Java in its PATH: what a model says
is read, checked against the benchmark, scored and stored (`score`), then the board with its intervals, the figures by
relation and the comparison of two models is worked out (`table`). The texts are made here: words by Zipf's law,
references of a few words, hypotheses that share some of these.
"""

import csv
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

from annotation.protocol.triple import RELATION_NAMES
from benchmarks.site import ROOT, SLUG, Site, free_port

QUESTIONS = 5_000
MOST_REFERENCES = 8
VOCABULARY = 8_000
MODELS = ("one", "two")
NAME = "generations"


def section(folder: Path) -> str:
    """What RESULTS.md says of it."""
    load = os.getloadavg()[0]
    site = Site("SQLite", f"sqlite:///{folder}/generations.sqlite3", folder / "data", free_port())
    without_java = {**site.environment, "PATH": str(folder)}
    site.folder.mkdir(parents=True)
    references, said = _files(folder)
    site.manage("migrate")
    site.manage("create_campaign", SLUG, "--protocol", "triple")
    site.manage("downstream", SLUG, "add", str(references), "--name", NAME, "--kind", "generation")
    lines = []
    for model in MODELS:
        scored = ("score", str(said[model]), "--benchmark", NAME, "--system", model)
        lines.append((f"a model's file read, scored and stored ({model})", _timed(scored, without_java)))
    lines.append(("the table of both", _timed(("table", "--benchmark", NAME), without_java)))
    rows = [f"| {what} | {seconds:.1f} | {cpu:.1f} |" for what, (seconds, cpu) in lines]
    return "\n".join(
        [
            f"## {QUESTIONS:,} generations by BLEU, ROUGE-L and CIDEr",
            "",
            f"{QUESTIONS:,} heads with their relations, 1 to {MOST_REFERENCES} references each; commands on SQLite, "
            f"their start included. Load of the machine at the start: {load:.1f} on {os.cpu_count()} cores.",
            "",
            "| step | s | of the processor, s |",
            "| --- | ---: | ---: |",
            *rows,
        ]
    )


def _timed(arguments: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    before, start = _children(), time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.manage", "downstream", SLUG, *arguments]
    subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start, _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _files(folder: Path) -> tuple[Path, dict[str, Path]]:
    """The references, and each model's generations, the same each time."""
    chance = random.Random(1)
    words = [f"w{number}" for number in range(VOCABULARY)]
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def text(least: int, most: int) -> list[str]:
        return chance.choices(words, cum_weights=weights, k=chance.randint(least, most))

    pairs = [(f"PersonX {' '.join(text(2, 5))} {n}", chance.choice(RELATION_NAMES)) for n in range(QUESTIONS)]
    gold = [[text(2, 7) for _ in range(chance.randint(1, MOST_REFERENCES))] for _ in pairs]
    references, said = folder / "references.csv", {}
    _write(
        references,
        "reference",
        [(pair, " ".join(one)) for pair, texts in zip(pairs, gold, strict=True) for one in texts],
    )
    for model in MODELS:
        said[model] = folder / f"{model}.csv"
        hypotheses = [_near(chance.choice(texts), chance, text) for texts in gold]
        _write(said[model], "hypothesis", list(zip(pairs, hypotheses, strict=True)))
    return references, said


def _near(reference: Sequence[str], chance: random.Random, text: Callable[[int, int], list[str]]) -> str:
    """Half of a reference's words kept."""
    return " ".join(word if chance.random() < 0.5 else text(1, 1)[0] for word in reference)


def _write(path: Path, column: str, rows: Sequence[tuple[tuple[str, str], str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["head", "relation", column])
        writer.writerows([*pair, text] for pair, text in rows)
