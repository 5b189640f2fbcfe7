"""The material that lies beside the project: real released files and small hard cases. Absent, its tests skip."""

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared(name: str) -> Path:
    """The path of a file beside the project; skips the calling test, and says so, where it is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not beside the project (looked in ../shared)")
    return path


def case(name: str) -> list[dict[str, str]]:
    """The rows of a small hard case."""
    with shared(f"cases/{name}").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if name.endswith(".tsv") else ","))


def expected(name: str) -> Any:
    """What other hands computed for a small hard case."""
    return json.loads(shared("cases/expected_values.json").read_text(encoding="utf-8"))[name]
