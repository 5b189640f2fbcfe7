"""Building an evaluation set from 100,000 scored candidates: seconds and the most memory, by diversity filter.

Each run is a process of its own: `python -m benchmarks.sets FILTER` reads the candidates, chooses among them and says
what it took. The texts are made here: words of a vocabulary by Zipf's law, in heads and tails that meet again and
again.
"""

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import accumulate

from annotation.formats.pools import read_candidates
from annotation.formats.tables import read_table
from annotation.protocol.candidates import FILTERS, CandidateWish, Filter, choose_candidates
from annotation.protocol.triple import RELATION_NAMES

CANDIDATES = 100_000
CHOSEN = 2_508
VOCABULARY = 15_000
TEXTS = 30_000  # different heads and tails
TIMES = 3


def section() -> str:
    """What RESULTS.md says of it."""
    load = os.getloadavg()[0]
    lines = [
        f"## An evaluation set from {CANDIDATES:,} candidates",
        "",
        f"Read from CSV, {CHOSEN:,} chosen, self-BLEU and the diversity before and after always measured. Each in a "
        f"process of its own on one core, {TIMES} times: the middle one, and the most memory of all. "
        f"Load of the machine at the start: {load:.1f} on {os.cpu_count()} cores.",
        "",
        "| filter | s | of the processor, s | of it reading, s | most memory, MiB | passed the filter | "
        "self-BLEU before | after | as many by chance |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind in FILTERS:
        runs = sorted((_run(kind) for _ in range(TIMES)), key=lambda run: float(run["seconds"]))
        middle = runs[TIMES // 2]
        lines.append(
            f"| {kind} | {middle['seconds']:.1f} | {middle['cpu']:.1f} | {middle['reading']:.1f} | "
            f"{max(run['mib'] for run in runs):.0f} | {middle['passed']:,.0f} | {middle['before']:.3f} | "
            f"{middle['after']:.3f} | {middle['by_chance']:.3f} |"
        )
    return "\n".join(lines)


def _run(kind: str) -> dict[str, float]:
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks.sets", kind], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(said.stdout)
    return found


def candidates() -> bytes:
    """A CSV file of candidates, the same each time."""
    chance = random.Random(1)
    words = [f"w{number}" for number in range(VOCABULARY)]
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    texts = [
        " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(2, 7))) for _ in range(TEXTS)
    ]
    lines = ["head,relation,tail,score"]
    lines += [
        f"PersonX {chance.choice(texts)},{chance.choice(RELATION_NAMES)},{chance.choice(texts)},"
        f"{0.9 + chance.random() / 10:.4f}"
        for _ in range(CANDIDATES)
    ]
    return "\n".join(lines).encode()


def measured(kind: str) -> dict[str, float]:
    """One run, in this process."""
    data = candidates()
    start, started = time.perf_counter(), time.process_time()
    file = read_candidates(read_table(data, name="candidates.csv"), relations=RELATION_NAMES)
    reading = time.process_time() - started
    wish = CandidateWish(n=CHOSEN, filter=Filter(kind=next(one for one in FILTERS if one == kind)))
    found = choose_candidates(file.rows, wish, seed=1)
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - started,
        "reading": reading,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "passed": found.after.n,
        "before": found.before.self_bleu,
        "after": found.after.self_bleu,
        "by_chance": found.by_chance.self_bleu,
    }


def main(arguments: Sequence[str]) -> None:
    sys.stdout.write(json.dumps(measured(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
