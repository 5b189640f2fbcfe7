"""A site for a test."""

from pathlib import Path

import pytest

from tests.config.site import Site
from tests.conftest import StartManage


@pytest.fixture
def site(start_manage: StartManage, tmp_path: Path) -> Site:
    return Site(start_manage, tmp_path / "var")
