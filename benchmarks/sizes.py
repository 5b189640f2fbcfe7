"""Whether a campaign's size, an expert's history or an import matters to who is judging."""

import json
import math
import subprocess
import sys
import time
from dataclasses import dataclass

from benchmarks.bulk import many_triples
from benchmarks.judging import Load, measure
from benchmarks.site import ROOT, Site

EXPERTS = 8
VERDICTS = 5_000
IMPORTED = 100_000


@dataclass(frozen=True)
class Size:
    """The judging loop in a campaign of so many items; `plan` is how the database goes about it."""

    name: str
    n_items: int
    plan: list[str]
    bare: Load
    judge: Load


def measure_size(site: Site, *, n_items: int, seconds: int) -> Size:
    """Nobody vacuums or analyses after the filling but the database itself."""
    site.manage("fill", str(n_items), str(EXPERTS))
    with site.serving() as server:
        loads = [
            measure(site, experts=EXPERTS, seconds=seconds, kind=kind, server=server, salt=1)
            for kind in ("bare", "judge")
        ]
    return Size(site.name, n_items, _plan(site), *loads)


def _plan(site: Site) -> list[str]:
    plan: list[str] = json.loads(site.manage("plan"))
    return plan


@dataclass(frozen=True)
class History:
    """One expert at first, and after so many verdicts of their own."""

    name: str
    verdicts: int
    before: Load
    after: Load


def measure_history(site: Site, *, server: int, expert: int, salt: int) -> History:
    """One expert judges for two seconds, then 5,000 times, then for two seconds more."""

    def judge(seconds: int, salt: int) -> Load:
        return measure(site, experts=1, seconds=seconds, kind="judge", server=server, salt=salt, first=expert)

    before = judge(2, salt)
    between = judge(math.ceil(VERDICTS / before.rate), salt + 1)
    after = judge(2, salt + 2)
    verdicts = sum(round(load.rate * load.seconds) for load in (before, between))
    return History(site.name, verdicts, before, after)


@dataclass(frozen=True)
class Busy:
    """Judging while rows are imported into another campaign of the site."""

    name: str
    import_seconds: float
    judge: Load


def measure_busy(site: Site, *, server: int, experts: int, seconds: int, salt: int) -> Busy:
    """The import runs beside the load; the load may go on after it or end before."""
    file = site.folder / "many.csv"
    file.write_text(many_triples(IMPORTED), encoding="utf-8")
    site.manage("create_campaign", "beside", "--protocol", "triple")
    start = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.manage", "import_items", "beside", str(file)]
    with subprocess.Popen(command, env=site.environment, cwd=ROOT, stdout=subprocess.DEVNULL) as importing:
        judge = measure(site, experts=experts, seconds=seconds, kind="judge", server=server, salt=salt)
        if importing.wait() != 0:
            raise RuntimeError("the import failed")
    return Busy(site.name, time.monotonic() - start, judge)
