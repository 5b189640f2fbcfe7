"""The statistics themselves, inside a site's process: seconds, and the most memory the process took."""

import os
import resource
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from annotation.models import Campaign
from benchmarks.site import SLUG, cpu_seconds
from benchmarks.stats import COMPOUNDS, RESAMPLES
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.stats.bleu import TextScore, corpus_bleu
from scoring.stats.breakdowns import by_condition, by_member
from scoring.stats.error_rates import Instances, error_rates
from scoring.stats.paired_texts import compare_texts

FACETS = {
    "type": 3,
    "pattern": 9,
    "words": 5,
    "atoms": 4,
    "type_and_words": 12,
    "modifier": 40,
    "determiner": 8,
}
CONDITIONS = {"context_length": 4, "reference_seen": 2, "session_position": 5}
ATOMS, ATOMS_EACH = 120, 3
LETTERS = list("的一是在不了有和人这中大为上个国我以要他")


def run(kind: str) -> dict[str, float]:
    """Prepare and run one of them; `cpu` is the processor time it took, that of the database for it too."""
    measured = {"error-rates": _error_rates, "bleu": _bleu, "agreement": _agreement}[kind]()
    pids = _own_pids() if kind == "agreement" else [os.getpid()]
    start, cpu = time.perf_counter(), cpu_seconds(pids)
    found = measured()
    seconds, cpu = time.perf_counter() - start, cpu_seconds(pids) - cpu
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "cpu": cpu, "mib": mib} | found()


def _own_pids() -> list[int]:
    """This process, and the one that serves it; all on one core: no workers beside it."""
    if connection.vendor != "postgresql":
        return [os.getpid()]
    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
        cursor.execute("SELECT pg_backend_pid()")
        return [os.getpid(), cursor.fetchone()[0]]


Beside = Callable[[], dict[str, float]]


def _error_rates() -> Callable[[], Beside]:
    """Every table of the report: facets, atoms, conditions of judging."""
    import_module("scipy.special")  # of the exact intervals; a library is read in once in a process
    rng = np.random.default_rng(1)

    def drawn(name: str, n: int, size: int) -> NDArray[Any]:
        return np.array([f"{name} {number}" for number in rng.integers(n, size=size)], dtype=object)

    instances = Instances(
        unit=np.repeat(np.array([f"c{number}" for number in range(COMPOUNDS)], dtype=object), 5),
        context=np.arange(COMPOUNDS * 5),
        verdict=(rng.random(COMPOUNDS * 5) > 0.25).astype(np.int8),
        cannot_judge=np.zeros(COMPOUNDS * 5, dtype=np.bool_),
        facets={name: np.repeat(drawn(name, n, COMPOUNDS), 5) for name, n in FACETS.items()},
    )
    held = np.repeat(drawn("atom", ATOMS, COMPOUNDS * ATOMS_EACH).reshape(COMPOUNDS, ATOMS_EACH), 5, axis=0)
    members = [frozenset(atoms) for atoms in held.tolist()]
    conditions = [drawn(name, n, COMPOUNDS * 5) for name, n in CONDITIONS.items()]

    def measured() -> Beside:
        rates = error_rates(instances, labels="bench", resamples=RESAMPLES)
        more = [by_member(instances, members, resamples=RESAMPLES)]
        more += [by_condition(instances, values, resamples=RESAMPLES) for values in conditions]
        return lambda: {"rows": 1 + sum(len(rows) for rows in [*rates.by.values(), *more])}

    return measured


def _bleu() -> Callable[[], Beside]:
    """From the statistics of each sentence, which both sides are given."""
    rng = np.random.default_rng(1)
    references = ["".join(rng.choice(LETTERS, rng.integers(8, 30))) for _ in range(COMPOUNDS * 5)]

    def noisy(rate: float) -> list[str]:
        return [
            "".join(
                str(rng.choice(LETTERS)) if wrong else one for one, wrong in zip(line, draws, strict=True)
            )
            for line in references
            for draws in [rng.random(len(line)) < rate]
        ]

    scores = [corpus_bleu(noisy(rate), references) for rate in (0.15, 0.2)]

    def measured() -> Beside:
        found = compare_texts([("a", scores[0]), ("b", scores[1])], resamples=RESAMPLES, shuffles=1)
        return lambda: _theirs(scores, [system.score for system in found.systems])

    return measured


def _theirs(scores: list[TextScore], ours: list[float | None]) -> dict[str, float]:
    """Seconds of sacrebleu's own paired bootstrap. It extracts statistics itself; here it is handed the stored ones."""
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415
    from sacrebleu.significance import Result, _paired_bs_test  # noqa: PLC0415

    stored = [score.statistics.tolist() for score in scores]

    class Stored(BLEU):
        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            return stored[1]

    metric = Stored(tokenize="char")
    metric.num_refs = 1
    first = metric._aggregate_and_compute(stored[0]).score
    start = time.perf_counter()
    _, found = _paired_bs_test(
        {"BLEU": (stored[0], Result(first))},
        "b",
        stored[1],
        [],
        {"BLEU": metric},
        n_samples=RESAMPLES,
        seed=1,
    )
    seconds = time.perf_counter() - start
    if [first, found["BLEU"].score] != ours:
        raise AssertionError(f"sacrebleu scores {first} and {found['BLEU'].score}, not {ours}")
    return {"theirs": seconds}


def _agreement() -> Callable[[], Beside]:
    campaign = Campaign.objects.get(slug=SLUG)

    def measured() -> Beside:
        document = report(campaign, "agreement", Options(resamples=RESAMPLES))
        return lambda: {"reports": 1 + sum(len(rows) for rows in document["by"].values())}

    return measured
