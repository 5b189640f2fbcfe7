"""The released judgements and triples, read for checks; every reader skips the test where they are absent."""

import csv
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from annotation.protocol.compound import Analysis, analyse
from scoring.stats.composition import LabelledTriples
from scoring.stats.error_rates import Instances
from tests.shared import shared


@dataclass(frozen=True)
class JudgedOutput:
    """One row of a released workbook beside its lines of the test set."""

    source: str
    judged_source: str
    compound: str
    reference: str
    hypothesis: str
    correct: bool


def expected(*path: str) -> Any:
    """A part of the reference values computed from the released files by other hands."""
    document = json.loads(shared("reference/expected.json").read_text(encoding="utf-8"))
    for key in path:
        document = document[key]
    return document


@cache
def judged_outputs(kind: str) -> tuple[JudgedOutput, ...]:
    """The 3,600 outputs of one type (NP or VP) with the experts' verdicts, which mix text and numbers."""
    from openpyxl import load_workbook

    book = load_workbook(shared(f"data/cognition/{kind}-git.xlsx"), read_only=True)
    rows = list(book.worksheets[0].iter_rows(min_row=2, max_col=3, values_only=True))
    book.close()
    texts = [_lines(f"{kind}.{ending}") for ending in ("en", "compound", "zh")]
    verdicts = {"1": True, "0": False}
    return tuple(
        JudgedOutput(source, str(row[0]), compound, reference, str(row[1]), verdicts[str(row[2])])
        for source, compound, reference, row in zip(*texts, rows, strict=True)
    )


@cache
def analysis(compound: str) -> Analysis:
    return analyse(compound)


def judged_instances(*kinds: str) -> Instances:
    """The released judgements of some types as one system's instances, with the facets of the tables."""
    outputs = [output for kind in kinds for output in judged_outputs(kind)]
    built = [analysis(output.compound) for output in outputs]
    return Instances(
        unit=np.array([output.compound for output in outputs]),
        context=np.arange(len(outputs)),
        verdict=np.array([output.correct for output in outputs], dtype=np.int8),
        cannot_judge=np.zeros(len(outputs), dtype=np.bool_),
        facets={
            "type": np.array([one.type for one in built], dtype=object),
            "pattern": np.array([one.pattern for one in built], dtype=object),
            "words": np.array([one.words for one in built], dtype=object),
            "atoms": np.array([len(one.atoms) for one in built], dtype=object),
            "type_words": np.array([f"{one.type}:{one.words}" for one in built], dtype=object),
        },
    )


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a comma or tab separated file beside the project."""
    path = shared(name)
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def column(name: str, key: str) -> list[str]:
    return [row[key] for row in table(name)]


def triples() -> tuple[dict[str, str], ...]:
    """The 5,006 released triples: head, relation, tail, class, split, label."""
    return table("data/ckbp/ckbp2.0.csv")


def labelled_triples() -> LabelledTriples:
    """The released triples with their labels."""
    rows = triples()
    return LabelledTriples(
        head=[row["head"] for row in rows],
        relation=[row["relation"] for row in rows],
        tail=[row["tail"] for row in rows],
        item_class=[row["class"] for row in rows],
        split=[row["split"] for row in rows],
        label=np.array([int(row["label"]) for row in rows], dtype=np.int8),
    )


def _lines(name: str) -> list[str]:
    return shared(f"data/cognition/{name}").read_text(encoding="utf-8").split("\n")[:3600]
