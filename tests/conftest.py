"""What every test can use: quick settings, a database of its own, and processes that end with the test."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Before Django has looked at them: passwords that cost nothing, static files that need no collecting."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests measured, whichever worker ran them."""
    reports = [report for several in terminalreporter.stats.values() for report in several]
    measured = {
        value
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "measured"
    }
    if measured:
        terminalreporter.section("measured")
        for line in sorted(measured):
            terminalreporter.line(line)


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that tests store go to a temporary folder.

    No static files are collected in it: whitenoise reads all of them for every test client there is.
    """
    folder = tmp_path_factory.mktemp("data")
    settings.DATA_DIR = folder
    settings.MEDIA_ROOT = folder / "files"
    settings.STATIC_ROOT = folder / "static"
    settings.STATIC_ROOT.mkdir()
    return folder


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SQLite gets a real file: one in memory would have neither locks nor a second process.

    Each worker of pytest-xdist has temporary folders of its own, so the file needs no suffix.
    """
    database = settings.DATABASES["default"]
    if database["ENGINE"] == "config.sqlite":
        database.setdefault("TEST", {})["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
    else:
        request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")


@pytest.fixture
def live_database_url(transactional_db: None) -> str:
    """DATABASE_URL of the test database, for processes that a test starts: what is committed is seen by both."""
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{known['NAME']}"
    owner = ":".join(quote(part, safe="") for part in (known["USER"], known["PASSWORD"]) if part)
    return f"postgres://{owner}@{known['HOST']}:{known['PORT']}/{known['NAME']}"


@dataclass(frozen=True)
class Started:
    """A `manage.py …` that runs, and the file that gets what it says."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """Kill -9, the process and what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class StartManage(Protocol):
    """Start `manage.py …` in the environment of the tests, with these variables on top (None: unset)."""

    def __call__(self, *arguments: str, **environment: str | None) -> Started: ...


@pytest.fixture
def start_manage(tmp_path: Path) -> Iterator[StartManage]:
    """Processes that are killed, with all they started, when the test ends."""
    running: list[Started] = []

    def start(*arguments: str, **environment: str | None) -> Started:
        merged = {**os.environ, **environment}
        log = tmp_path / f"manage-{len(running)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), *arguments],
                cwd=tmp_path,  # commands must work from everywhere
                env={name: value for name, value in merged.items() if value is not None},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        running.append(Started(process, log))
        return running[-1]

    yield start
    for started in running:
        started.kill()


def eventually(holds: Callable[[], bool], *, within: float = 30.0) -> bool:
    """Wait until something holds; False when it did not in time."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
