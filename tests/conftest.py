"""What every test can use: quick settings, a database of its own, and processes that end with the test."""

import fcntl
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.management.color import no_style
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.test import TransactionTestCase
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Before Django has looked at them: passwords that cost nothing, static files that need no collecting."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    # A query of Django makes thousands of objects that end at once; looking among them for circles took a tenth of
    # the time of all tests.
    gc.set_threshold(50_000, 10, 10)


# How long an example takes on a shared machine says nothing about the code.
hypothesis_settings.register_profile("assay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("assay")

# What Django makes from the models once all tables are there. Nothing changes it, and to throw it away and make it anew
# took most of the time in which a test that commits was cleared up.
MADE_FROM_MODELS = {"auth_permission", "django_content_type"}


def empty_tables(_test: TransactionTestCase) -> None:
    """After a test that commits: every table is empty but those."""
    there = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = [table for table in there if table not in MADE_FROM_MODELS]
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))


TransactionTestCase._fixture_teardown = empty_tables  # type: ignore[attr-defined]


def pytest_collection_finish() -> None:
    """What was imported stays: the collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


# Django writes `filter(part__design=…, answered_at=None).update(…)` so: the rows are chosen in a subquery. PostgreSQL,
# having waited for a row that somebody else was changing, does not look at that condition again and changes the row all
# the same: an answer saved at that moment was withdrawn. `filter(part__in=Part.objects.filter(…), answered_at=None)`
# leaves the condition where it is looked at.
CHOSEN_BEFORE = re.compile(r'UPDATE "(\w+)" .* IN \(SELECT .* FROM "\1"', re.DOTALL)


def refuse_chosen_before(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
    """Around every statement of a test: the project's code has no UPDATE that chooses rows before it locks them."""
    if sql.startswith("UPDATE") and CHOSEN_BEFORE.match(sql):
        files = (Path(frame.filename) for frame in reversed(traceback.extract_stack()[:-1]))
        ours = (file.relative_to(ROOT) for file in files if ROOT in file.parents)
        nearest = next(file for file in ours if file.parts[0] in {"annotation", "scoring", "config", "tests"})
        assert nearest.parts[0] == "tests", f"{nearest}: rows are chosen before they are locked: {sql}"
    return execute(sql, *arguments)


@receiver(connection_created)
def watch(connection: BaseDatabaseWrapper, **_about: Any) -> None:
    """Threads have connections of their own."""
    connection.execute_wrappers.append(refuse_chosen_before)


LONGEST = "tests/test_campaign_walk.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, or one process works on it alone at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


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


@pytest.fixture(autouse=True)
def the_language_of_one_test_alone() -> Iterator[None]:
    """A page that a test asked for in Chinese leaves that language behind, for what is said after it."""
    yield
    translation.deactivate()


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

    Each worker of pytest-xdist has temporary folders of its own, so the file needs no suffix. What a killed process
    has committed is in the file without waiting for the disk; only a power cut could take it, and no test cuts the
    power. Processes that a test starts have the settings of a site.
    """
    database = settings.DATABASES["default"]
    if database["ENGINE"] == "config.sqlite":
        database.setdefault("TEST", {})["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
        options = database["OPTIONS"]
        options["init_command"] = f"{options['init_command']} PRAGMA synchronous=OFF;"
    else:
        request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")


@pytest.fixture(scope="session")
def django_db_setup(
    tmp_path_factory: pytest.TempPathFactory,
    django_test_environment: None,
    django_db_blocker: DjangoDbBlocker,
    django_db_keepdb: bool,
    django_db_modify_db_settings: None,
) -> Iterator[None]:
    """The tables, made by the migrations. Of several workers the first one migrates; the others get copies."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    temporary = tmp_path_factory.getbasetemp()
    copies = (temporary.parent if worker else temporary) / "copies.json"
    database, creation = connection.settings_dict, connection.creation
    with django_db_blocker.unblock(), copies.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        names: dict[str, str] = json.loads(copies.read_text()) if copies.exists() else {}
        if worker in names:
            database["NAME"] = settings.DATABASES["default"]["NAME"] = names[worker]
        else:
            creation.create_test_db(verbosity=0, autoclobber=True, serialize=False, keepdb=django_db_keepdb)
            if not copies.exists():
                copies.write_text(json.dumps(_copies_for_others(worker)))

    yield

    if not django_db_keepdb:
        with django_db_blocker.unblock():
            creation.destroy_test_db(verbosity=0)


def _copies_for_others(worker: str | None) -> dict[str, str]:
    """Copy this worker's database for each of the others; their names by worker."""
    connection.close()  # what is copied must have no connection
    others = [f"gw{number}" for number in range(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)))]
    names = {}
    for other in others:
        if worker and other != worker:
            connection.creation.clone_test_db(other, verbosity=0, autoclobber=True)
            names[other] = str(connection.creation.get_test_db_clone_settings(other)["NAME"])
    return names


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
