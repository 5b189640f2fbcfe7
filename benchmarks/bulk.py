"""Items in, items out: the commands as a person runs them, less the start of the process."""

import csv
import io
import json
import time
from dataclasses import dataclass
from pathlib import Path

from django.core.management import call_command

from annotation.protocol.compound import ATOMS
from benchmarks.site import Site

COMPOUNDS = 2_160
TRIPLES = 5_006


@dataclass(frozen=True)
class Bulk:
    name: str
    import_seconds: float
    export_seconds: float


def measure_bulk(site: Site) -> Bulk:
    site.folder.mkdir(parents=True, exist_ok=True)
    compounds, triples = site.folder / "compounds.csv", site.folder / "triples.csv"
    compounds.write_text(_compounds(), encoding="utf-8")
    triples.write_text(many_triples(TRIPLES), encoding="utf-8")
    found = json.loads(site.manage("bulk", str(compounds), str(triples)))
    return Bulk(site.name, found["import"], found["export"])


def _compounds() -> str:
    """2,160 compounds in five contexts, of the inventory's own atoms."""
    names = [
        f"{verb} {det} {adj} {noun}"
        for verb in sorted(ATOMS.kinds["V"])
        for det in sorted(ATOMS.kinds["DET"])
        for adj in sorted(ATOMS.kinds["ADJ"])
        for noun in sorted(ATOMS.kinds["N"])
    ][:COMPOUNDS]
    rows = [
        [
            f"b-{number}-{context}",
            name,
            str(context),
            f"so she {name} again ({context}) .",
            f"昨天又见到了{number}。",
        ]
        for number, name in enumerate(names)
        for context in range(1, 6)
    ]
    return _csv(["item_id", "compound", "context_no", "source", "translation"], rows)


def many_triples(n: int) -> str:
    """A file of so many triples."""
    rows = [[f"t-{number}", f"PersonX paint wall {number}", "xWant", "to rest"] for number in range(n)]
    return _csv(["triple_id", "head", "relation", "tail"], rows)


def _csv(header: list[str], rows: list[list[str]]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()


def import_and_export(compounds: Path, triples: Path) -> dict[str, float]:
    """Inside the site's process: seconds of an import and of an export."""
    call_command("create_campaign", "in", protocol="compound", stdout=io.StringIO())
    call_command("create_campaign", "out", protocol="triple", stdout=io.StringIO())
    call_command("import_items", "out", str(triples), stdout=io.StringIO())
    start = time.perf_counter()
    call_command("import_items", "in", str(compounds), stdout=io.StringIO())
    imported = time.perf_counter()
    target = str(triples.with_suffix(".out"))
    call_command("export", "out", what="items", format="csv", output=target, stdout=io.StringIO())
    return {"import": imported - start, "export": time.perf_counter() - imported}
