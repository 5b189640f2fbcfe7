"""The material that lies beside the project: real released files and small hard cases. Absent, its tests skip."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared(name: str) -> Path:
    """The path of a file beside the project; skips the calling test, and says so, where it is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not beside the project (looked in ../shared)")
    return path
