"""A site for a test."""

from pathlib import Path

import pytest

from tests.config.site import Site
from tests.conftest import StartManage


@pytest.fixture
def site(start_manage: StartManage, tmp_path: Path) -> Site:
    """A site that was never started."""
    return Site(start_manage, tmp_path / "var")


@pytest.fixture(scope="session")
def used_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site") / "var"


@pytest.fixture
def used_site(start_manage: StartManage, used_folder: Path) -> Site:
    """A site in the folder of those before it: only the first one has to make tables and collect static files."""
    return Site(start_manage, used_folder)
