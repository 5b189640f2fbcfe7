"""Writers of one SQLite file queue: across threads, processes, errors, forks and kills."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from annotation.models import Campaign
from config.sqlite.base import DatabaseWrapper
from config.sqlite.queue import WriterQueue
from tests.factories import make_campaign

HOLD = """
import sys, time
from pathlib import Path
from config.sqlite.queue import WriterQueue
queue = WriterQueue()
queue.enter(Path(sys.argv[1]), timeout=10)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "assay.sqlite3-queue"


@pytest.fixture
def other_process(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process, whose turn it is."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.communicate()


def is_free(path: Path) -> bool:
    queue = WriterQueue()
    try:
        queue.enter(path, timeout=0)
    except TimeoutError:
        return False
    queue.leave()
    return True


# The queue itself ---------------------------------------------------------------------------------------------


def test_it_lets_one_in_at_a_time(path: Path) -> None:
    first, second = WriterQueue(), WriterQueue()
    first.enter(path, timeout=1)
    with pytest.raises(TimeoutError):
        second.enter(path, timeout=0.05)
    first.leave()
    second.enter(path, timeout=1)
    assert not is_free(path)
    second.leave()
    assert is_free(path)


def test_it_lets_the_next_one_in_as_soon_as_the_turn_is_free(path: Path) -> None:
    first, waited = WriterQueue(), []
    first.enter(path, timeout=1)

    def wait() -> None:
        second = WriterQueue()
        began = time.monotonic()
        second.enter(path, timeout=10)
        waited.append(time.monotonic() - began)
        second.leave()

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    first.leave()
    thread.join()
    assert 0.2 < waited[0] < 5


def test_it_does_not_mind_leaving_twice_or_without_a_turn(path: Path) -> None:
    queue, other = WriterQueue(), WriterQueue()
    queue.leave()
    queue.enter(path, timeout=1)
    queue.leave()
    other.enter(path, timeout=1)
    queue.leave()
    assert not is_free(path)
    other.leave()


def test_it_keeps_other_processes_out(path: Path, other_process: "subprocess.Popen[bytes]") -> None:
    assert not is_free(path)


def test_it_is_free_again_when_its_holder_was_killed(
    path: Path, other_process: "subprocess.Popen[bytes]"
) -> None:
    os.kill(other_process.pid, signal.SIGKILL)
    WriterQueue().enter(path, timeout=10)


def test_it_stays_the_parents_turn_when_a_fork_closes_its_copy(path: Path) -> None:
    queue = WriterQueue()
    queue.enter(path, timeout=1)
    child = os.fork()
    if child == 0:
        queue.leave()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not is_free(path)
    queue.leave()
    assert is_free(path)


# Under Django -------------------------------------------------------------------------------------------------


@pytest.fixture
def beside_database(transactional_db: None) -> Path:
    """The lock file of the test database."""
    if connection.vendor != "sqlite":
        pytest.skip("There is a queue on SQLite only.")
    return Path(os.path.realpath(connection.settings_dict["NAME"]) + "-queue")


def test_it_is_held_by_the_outermost_transaction_only(beside_database: Path) -> None:
    with transaction.atomic():
        assert not is_free(beside_database)
        with transaction.atomic():
            make_campaign()
        assert not is_free(beside_database)
    assert is_free(beside_database)


def test_it_is_given_up_after_an_error_in_the_block(beside_database: Path) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_campaign(k=0)
    assert is_free(beside_database)
    with transaction.atomic():
        transaction.set_rollback(True)
    assert is_free(beside_database)


def test_it_is_given_up_when_the_commit_fails(beside_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_connection: object) -> None:
        raise OperationalError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(BaseDatabaseWrapper, "_commit", refuse)
        with pytest.raises(OperationalError, match="disk full"), transaction.atomic():
            make_campaign()
    assert is_free(beside_database)
    assert not Campaign.objects.exists()


def test_it_is_given_up_when_the_connection_closes_in_mid_transaction(beside_database: Path) -> None:
    with transaction.atomic():
        connection.close()
        assert is_free(beside_database)


def test_it_says_so_when_the_turn_does_not_come(
    beside_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = WriterQueue()
    queue.enter(beside_database, timeout=1)
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.2)
    with pytest.raises(OperationalError, match=r"held the database for 0\.2 seconds"), transaction.atomic():
        make_campaign()
    queue.leave()
    make_campaign()


def test_it_is_given_up_when_the_transaction_cannot_begin(
    beside_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.2)
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as not_queued:
        not_queued.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"), transaction.atomic():
            make_campaign()
        assert is_free(beside_database)
    connection.close()


def test_it_gives_everybody_a_turn(beside_database: Path) -> None:
    campaign = make_campaign()
    turns: list[int] = [0] * 4
    end = time.monotonic() + 2

    def write(number: int) -> None:
        while time.monotonic() < end:
            with transaction.atomic():
                Campaign.objects.filter(pk=campaign.pk).update(seed=number)
            turns[number] += 1
        connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert min(turns) > max(turns) / 10  # backing off blindly, some had one turn while others had hundreds


@pytest.mark.django_db
def test_it_leaves_databases_in_memory_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = DatabaseWrapper(
        {
            **connection.settings_dict,
            "ENGINE": "config.sqlite",
            "NAME": ":memory:",
            "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        },
        "memory",
    )
    monkeypatch.setattr(WriterQueue, "enter", lambda *_args, **_kwargs: pytest.fail("queued"))
    memory.connect()
    memory.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    assert memory.connection.in_transaction
    memory.rollback()
