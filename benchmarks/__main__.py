"""`make bench`: measures everything and writes RESULTS.md.

SQLite always; PostgreSQL where DATABASE_URL names one (the Makefile starts one). wrk makes the load.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import psycopg2

from benchmarks.bulk import Bulk, measure_bulk
from benchmarks.judging import Load, measure
from benchmarks.site import Site, free_port

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
EXPERTS = (1, 8, 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=6, help="of each load")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("The load generator wrk is missing. On Debian: apt-get install wrk")
    blocks = [_head()]
    with tempfile.TemporaryDirectory() as folder:
        for site in _sites(Path(folder), only=arguments.only):
            _say(f"{site.name}: filling {arguments.items} items")
            site.manage("fill", str(arguments.items), str(max(EXPERTS)))
            loads = _loads(site, seconds=arguments.seconds)
            blocks.append(_loads_table(site.name, loads))
        bulks = [measure_bulk(site) for site in _sites(Path(folder) / "bulk", only=arguments.only)]
        blocks.append(_bulk_table(bulks))
    RESULTS.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    _say(f"written to {RESULTS.name}")


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


def _loads(site: Site, *, seconds: int) -> list[tuple[Load, Load]]:
    """For each number of experts the bare view and the judging loop, one right after the other."""
    found = []
    with site.serving() as server:
        for salt, experts in enumerate(EXPERTS, start=1):
            bare = measure(site, experts=experts, seconds=seconds, kind="bare", server=server, salt=salt)
            judge = measure(site, experts=experts, seconds=seconds, kind="judge", server=server, salt=salt)
            _say(f"{site.name}, {experts} experts: bare {bare.rate:.0f}/s, judging {judge.rate:.0f}/s")
            found.append((bare, judge))
    return found


def _head() -> str:
    wrk = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    return "\n".join(
        [
            "# What was measured",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}, {wrk[:9]}. "
            "Absolute figures belong to this machine; the ratios, taken within one run, are what counts. "
            "A *pair* is one request that saves an answer and is answered with the next screen.",
        ]
    )


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
