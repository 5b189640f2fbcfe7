"""What the database can make of starts: on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from django.db import connection

from tests.config.site import WITHIN, Site
from tests.conftest import StartManage, eventually


@pytest.fixture
def empty_database_url(live_database_url: str, tmp_path: Path) -> Iterator[str]:
    """A database without any table, of the kind that these tests run on."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.sqlite3'}"
        return
    name = f"{connection.settings_dict['NAME']}_serve"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
    yield f"{live_database_url}_serve"
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_two_may_start_at_once_on_one_empty_database(
    empty_database_url: str, start_manage: StartManage, tmp_path: Path
) -> None:
    sites = [Site(start_manage, tmp_path / "var") for _ in range(2)]
    started = [site.start("--web-only", DATABASE_URL=empty_database_url) for site in sites]
    for site, one in zip(sites, started, strict=True):
        assert eventually(partial(site.is_ready, one), within=WITHIN), one.log.read_text()
        assert site.status() == 200
    assert sites[0].processes(command="manage.py worker") == []
