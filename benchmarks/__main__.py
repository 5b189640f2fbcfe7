"""`make bench`: measures everything, or the parts that are named, and writes RESULTS.md.

    python -m benchmarks                    everything
    python -m benchmarks stats coverage     these parts; what RESULTS.md says of the others stays

SQLite always; PostgreSQL where DATABASE_URL names one (scripts/bench.sh starts one). wrk makes the load.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import psycopg2

from benchmarks import campaigns, coverage, generations, sets
from benchmarks.bulk import Bulk, measure_bulk
from benchmarks.judging import Load, measure
from benchmarks.site import Site, free_port
from benchmarks.sizes import (
    IMPORTED,
    Busy,
    History,
    Size,
    measure_busy,
    measure_history,
    measure_size,
)
from benchmarks.stats import Cost, measure_agreement, measure_statistics

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
EXPERTS = (1, 8, 32)
CAMPAIGNS = 200  # simulated from the plan to the labels
SIZES = {"sqlite": (5_000, 100_000), "postgresql": (5_000, 100_000, 1_000_000)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], help="which parts; all unless told otherwise"
    )
    parser.add_argument("--items", type=int, default=160_000, help="of the judging loop")
    parser.add_argument("--largest", type=int, default=1_000_000, help="no size and no statistic beyond it")
    parser.add_argument("--seconds", type=int, default=6, help="of each load")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    parser.add_argument("--repetitions", type=int, default=600, help="of every world of the coverage")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None and {*(arguments.parts or PARTS)} - {*WITHOUT_LOAD}:
        sys.exit("The load generator wrk is missing. On Debian: apt-get install wrk")
    for part in arguments.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            _write(PARTS[part](Path(folder), arguments))
            _say(f"{part}: written to {RESULTS.name}")


def _write(blocks: Sequence[str]) -> None:
    """Put these sections into RESULTS.md, each in the place of the one with its heading, or at the end."""
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    head, *kept = re.split(r"\n(?=## )", old)
    sections = {block.split("\n")[0]: block.strip() for block in kept}
    sections |= {block.split("\n")[0]: _dated(block) for block in blocks}
    remarks = head.strip().split("\n\n")[2:]  # written by hand, below what `_head` makes
    RESULTS.write_text("\n\n".join([_head(), *remarks, *sections.values()]) + "\n", encoding="utf-8")


def _dated(block: str) -> str:
    heading, _, rest = block.partition("\n")
    return f"{heading}\n\nMeasured {datetime.now(UTC):%Y-%m-%d}.\n\n{rest.strip()}"


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def _sites(folder: Path, *, only: str | None) -> list[Site]:
    folder.mkdir(exist_ok=True)
    sites = [Site("SQLite", f"sqlite:///{folder}/bench.sqlite3", folder / "sqlite", free_port())]
    url = os.environ.get("DATABASE_URL", "")
    if url.startswith("postgres"):
        sites.append(Site("PostgreSQL", _fresh_database(url), folder / "postgresql", free_port()))
    return [site for site in sites if only in (None, site.name.lower())]


def _fresh_database(url: str) -> str:
    """A database of its own beside the one named."""
    name = f"bench_{int(time.time() * 1000)}"
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    connection.close()
    return url.rpartition("/")[0] + f"/{name}"


def _judging(folder: Path, arguments: argparse.Namespace) -> list[str]:
    blocks, histories, busy = [], [], []
    for site in _sites(folder, only=arguments.only):
        _say(f"{site.name}: filling {arguments.items} items")
        site.manage("fill", str(arguments.items), str(max(EXPERTS)))
        with site.serving() as server:
            loads = _loads(site, server=server, seconds=arguments.seconds)
            blocks.append(_loads_table(site.name, loads))
            histories.append(measure_history(site, server=server, expert=max(EXPERTS) - 1, salt=100))
            _say(f"{site.name}: importing while {max(EXPERTS)} judge")
            busy.append(measure_busy(site, server=server, experts=max(EXPERTS), seconds=20, salt=200))
    return [*blocks, _histories_table(histories), _busy_table(busy)]


def _sizes(folder: Path, arguments: argparse.Namespace) -> list[str]:
    found = []
    for kind, sizes in SIZES.items():
        for n_items in sizes:
            if n_items > arguments.largest or arguments.only not in (None, kind):
                continue
            below = folder / str(n_items)
            below.mkdir(exist_ok=True)
            for site in _sites(below, only=kind):
                _say(f"{site.name}: {n_items} items")
                found.append(measure_size(site, n_items=n_items, seconds=arguments.seconds))
    return [_sizes_table(found)]


def _bulk(folder: Path, arguments: argparse.Namespace) -> list[str]:
    return [_bulk_table([measure_bulk(site) for site in _sites(folder, only=arguments.only)])]


def _stats(folder: Path, arguments: argparse.Namespace) -> list[str]:
    load = os.getloadavg()[0]
    costs = measure_statistics(folder)
    for site in _sites(folder, only=arguments.only):
        _say(f"{site.name}: filling {arguments.largest} answered items")
        costs.append(measure_agreement(site, n_items=arguments.largest))
    return [_costs_table(costs, load=load)]


def _coverage(_folder: Path, arguments: argparse.Namespace) -> list[str]:
    return [coverage.write(arguments.repetitions)]


def _campaigns(_folder: Path, _arguments: argparse.Namespace) -> list[str]:
    return [campaigns.section(CAMPAIGNS)]


def _sets(_folder: Path, _arguments: argparse.Namespace) -> list[str]:
    return [sets.section()]


def _generations(folder: Path, _arguments: argparse.Namespace) -> list[str]:
    return [generations.section(folder)]


PARTS: dict[str, Callable[[Path, argparse.Namespace], list[str]]] = {
    "judging": _judging,
    "sizes": _sizes,
    "bulk": _bulk,
    "stats": _stats,
    "coverage": _coverage,
    "campaigns": _campaigns,
    "sets": _sets,
    "generations": _generations,
}
WITHOUT_LOAD = ("bulk", "stats", "coverage", "campaigns", "sets", "generations")


def _loads(site: Site, *, server: int, seconds: int) -> list[tuple[Load, Load]]:
    """For each number of experts the bare view and the judging loop, one right after the other."""
    found = []
    for salt, experts in enumerate(EXPERTS, start=1):
        bare = measure(site, experts=experts, seconds=seconds, kind="bare", server=server, salt=salt)
        judge = measure(site, experts=experts, seconds=seconds, kind="judge", server=server, salt=salt)
        _say(f"{site.name}, {experts} experts: bare {bare.rate:.0f}/s, judging {judge.rate:.0f}/s")
        found.append((bare, judge))
    return found


def _head() -> str:
    return "\n".join(
        [
            "# What was measured",
            "",
            f"{os.cpu_count()} cores, Python {platform.python_version()}, wrk {_wrk_version()}. "
            "Absolute figures belong to this machine; the ratios, taken within one run, are what counts. "
            "A *pair* is one request that saves an answer and is answered with the next screen.",
        ]
    )


def _wrk_version() -> str:
    if shutil.which("wrk") is None:
        return "not there"
    said = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\d+\.\d+(\.\d+)?", said)  # Debian: wrk debian/4.1.0-3+b2 [epoll] …
    return found[0] if found else "of unknown version"


def _loads_table(name: str, loads: Sequence[tuple[Load, Load]]) -> str:
    lines = [
        f"## The judging loop on {name}",
        "",
        "| experts | bare view /s | pairs /s | ratio | errors | p50 ms | p95 ms | p99 ms | worst ms | "
        "CPU ms a pair, server and database | bare | generator |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {judge.experts} | {bare.rate:.0f} | {judge.rate:.0f} | {judge.rate / bare.rate:.2f} | {judge.errors} | "
        f"{judge.p50:.1f} | {judge.p95:.1f} | {judge.p99:.1f} | {judge.worst:.0f} | {judge.server_cpu:.2f} | "
        f"{bare.server_cpu:.2f} | {judge.generator_cpu:.2f} |"
        for bare, judge in loads
    ]
    return "\n".join(lines)


def _sizes_table(sizes: Sequence[Size]) -> str:
    lines = [
        "## From 5,000 items to a million, 8 experts",
        "",
        "Nothing is vacuumed by hand. The plan is compared with that of the smallest campaign on the same database.",
        "",
        "| database | items | plan | bare view /s | pairs /s | ratio | p50 ms | CPU ms a pair |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    first: dict[str, Size] = {}
    for size in sizes:
        smallest = first.setdefault(size.name, size)
        lines.append(
            f"| {size.name} | {size.n_items:,} | {'the same' if size.plan == smallest.plan else 'another'} | "
            f"{size.bare.rate:.0f} | {size.judge.rate:.0f} | {size.judge.rate / size.bare.rate:.2f} | "
            f"{size.judge.p50:.1f} | {size.judge.server_cpu:.2f} |"
        )
    return "\n".join(lines)


def _histories_table(histories: Sequence[History]) -> str:
    lines = [
        "## One expert, before and after some thousand verdicts",
        "",
        "| database | p50 ms | verdicts | p50 ms after them |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {found.name} | {found.before.p50:.1f} | {found.verdicts:,} | {found.after.p50:.1f} |"
        for found in histories
    ]
    return "\n".join(lines)


def _busy_table(found: Sequence[Busy]) -> str:
    lines = [
        f"## {max(EXPERTS)} experts while {IMPORTED:,} rows are imported",
        "",
        "| database | import s | judged for s | pairs /s | errors | p50 ms | p95 ms | worst ms |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {busy.name} | {busy.import_seconds:.0f} | {busy.judge.seconds:.0f} | {busy.judge.rate:.0f} | "
        f"{busy.judge.errors} | {busy.judge.p50:.1f} | {busy.judge.p95:.1f} | {busy.judge.worst:.0f} |"
        for busy in found
    ]
    return "\n".join(lines)


def _costs_table(costs: Sequence[Cost], *, load: float) -> str:
    lines = [
        "## Statistics",
        "",
        "Each in a process of its own on one core, three times over: the second fastest, and the most memory of all. "
        "Processor time is that of the process and, for it, of the database; it is what counts where other work shares "
        f"the cores. Load of the machine at the start: {load:.1f} on {os.cpu_count()} cores.",
        "",
        "| what | s | of the processor, s | most memory, MiB | beside it |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    lines += [
        f"| {cost.what} | {cost.seconds:.2f} | {cost.cpu:.2f} | {cost.mib:.0f} | {cost.beside} |"
        for cost in costs
    ]
    return "\n".join(lines)


def _bulk_table(bulks: Sequence[Bulk]) -> str:
    lines = [
        "## Import and export",
        "",
        "| database | import of 10,800 compound items, s | export of 5,006 items, s | rows /s out |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {bulk.name} | {bulk.import_seconds:.1f} | {bulk.export_seconds:.2f} | {5006 / bulk.export_seconds:.0f} |"
        for bulk in bulks
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
