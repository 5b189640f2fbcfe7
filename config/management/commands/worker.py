"""`manage.py worker`: does the jobs that pages ask for."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error, connection

from annotation import tasks
from annotation.services import jobs
from annotation.services.labels import StaleWatch
from config.celery import app

log = logging.getLogger("assay.worker")

BEAT = 3.0  # seconds between two signs of life, each with a sweep
LOOK = 0.5  # seconds between two looks for new rows, without a broker
RECOUNT = 60.0  # seconds between two looks for labels whose answers have changed


class Command(BaseCommand):
    help = (
        "Do the jobs that pages ask for: from Redis where REDIS_URL is set, else by looking for their rows."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="only say whether a worker is alive (exit 1: none is)"
        )

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        if check:
            _check()
        else:
            _work()


def _check() -> None:
    if not jobs.worker_health().alive:
        raise CommandError("No worker has given a sign of life in the last seconds.")


def _work() -> None:
    name = f"{socket.gethostname()}:{os.getpid()}"
    stop = threading.Event()
    threading.Thread(target=_repeat, args=(RECOUNT, stop, StaleWatch().look), daemon=True).start()
    try:
        if settings.REDIS_URL:
            _work_from_broker(name, stop)
        else:
            _work_from_rows(name, stop)
    finally:
        stop.set()
        _guarded(lambda: jobs.retire(name))


def _work_from_broker(name: str, stop: threading.Event) -> None:
    """A Celery worker in this process, and a thread that beats and sweeps.

    Threads rather than processes: the heavy libraries are loaded once, and numpy works without Python's lock.
    """
    threading.Thread(target=_repeat, args=(BEAT, stop, lambda: _tend(name)), daemon=True).start()
    app.worker_main(
        [
            "--quiet",
            "worker",
            "--pool=threads",
            f"--concurrency={settings.WORKER_CONCURRENCY}",
            f"--hostname={os.getpid()}@%h",
            "--loglevel=WARNING",
            "--without-mingle",
            "--without-gossip",
            "--without-heartbeat",
        ]
    )


def _work_from_rows(name: str, stop: threading.Event) -> None:
    """Threads that look for rows. A signal lets them finish what they do; a second one ends the process."""

    def on_signal(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    app.loader.import_default_modules()  # the tasks of every app, as a Celery worker has them
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    threads = [
        threading.Thread(target=_repeat, args=(LOOK, stop, lambda: _take_jobs(stop)))
        for _ in range(settings.WORKER_CONCURRENCY)
    ]
    for thread in threads:
        thread.start()
    _repeat(BEAT, stop, lambda: _tend(name))
    for thread in threads:
        thread.join()


def _take_jobs(stop: threading.Event) -> None:
    """Run what is due by the same functions that Celery runs; the claim sorts out who gets which job."""
    for job in jobs.due():
        if stop.is_set():
            return
        app.tasks[jobs.task_name(job.kind)](job.pk)


def _tend(name: str) -> None:
    jobs.beat(name)
    announce = jobs.sweep()
    if settings.REDIS_URL:
        all(tasks.publish(job) for job in announce)  # ends at the first that the broker does not take


def _repeat(seconds: float, stop: threading.Event, step: Callable[[], None]) -> None:
    try:
        while not stop.is_set():
            _guarded(step)
            stop.wait(seconds)
    finally:
        stop.set()  # after an error that nobody foresaw the whole process ends, instead of doing half its work
        connection.close()


def _guarded(step: Callable[[], None]) -> None:
    """A database that is away, or not migrated yet, is no reason to stop: the next round tries again."""
    try:
        step()
    except Error as error:
        log.warning("The database does not answer as it should (%s); trying again.", type(error).__name__)
        connection.close()
