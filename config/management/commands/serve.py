"""`manage.py serve`: everything that is needed to work, from one command."""

import fcntl
import io
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from annotation.models import Campaign, User
from annotation.services.sample import SLUGS
from config.supervisor import Plan, become_supervisor

THREADS = 4  # of a web worker: pages wait for the database more than they compute
LOCK = 0x4173736179  # "Assay", among PostgreSQL's advisory locks
UNUSED_STATIC_FILES = ["rest_framework"]  # of its browsable interface, which is off


class Command(BaseCommand):
    help = "Bring the database up to date, then run web server and worker until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--sample", action="store_true", help="load the bundled sample where nobody has an account yet"
        )
        parser.add_argument(
            "--web-only", action="store_true", help="without a worker (manage.py worker runs elsewhere)"
        )

    def handle(self, *args: Any, sample: bool, web_only: bool, **options: Any) -> None:
        _check_port()
        try:
            links = _prepare(sample=sample)
        except KeyboardInterrupt:
            raise CommandError("Stopped.", returncode=130) from None
        become_supervisor(
            Plan(
                web=_web_command(),
                worker=None if web_only else _worker_command(),
                host=settings.HOST,
                port=settings.PORT,
                name=urlsplit(settings.ASSAY_URL).netloc,
                ready=f"Assay is ready: {settings.ASSAY_URL}/ (Ctrl-C stops it)\n{links}".rstrip(),
            )
        )


def _check_port() -> None:
    """The web server would share a port that is in use, and each get some of the requests."""
    family = socket.AF_INET6 if ":" in settings.HOST else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.HOST, settings.PORT))
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {settings.HOST}:{settings.PORT} ({error.strerror}). "
                f"Stop what runs there, or choose another port, as in: PORT={settings.PORT + 1} make run"
            ) from None


def _prepare(*, sample: bool) -> str:
    """Bring tables and static files up to date; the sample's links, or how to get new ones."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time():
        call_command("migrate", verbosity=0, interactive=False)
        collect_static_files()
        links = _load_sample() if sample else ""
    connection.close()
    return links


def collect_static_files() -> None:
    """Hashing and compressing takes seconds: it is done where a file is not the one of last time."""
    seen = settings.DATA_DIR / "static-files.json"
    there = json.dumps(_static_files())
    if seen.exists() and seen.read_text() == there and settings.STATIC_ROOT.exists():
        return
    seen.unlink(missing_ok=True)  # until it is done: what is cut off is done again
    call_command("collectstatic", verbosity=0, interactive=False, ignore_patterns=UNUSED_STATIC_FILES)
    seen.write_text(there)


def _static_files() -> list[tuple[str, int, int]]:
    """Each file with its size and time, and the folder they go to."""
    found = [(str(settings.STATIC_ROOT), 0, 0)]
    for finder in get_finders():
        for name, storage in finder.list(UNUSED_STATIC_FILES):
            status = Path(storage.path(name)).stat()
            found.append((storage.path(name), status.st_size, status.st_mtime_ns))
    return sorted(found)


def _load_sample() -> str:
    if User.objects.exists() or Campaign.objects.exists():
        loaded = Campaign.objects.filter(slug__in=SLUGS).exists()
        return (
            "New sign-in links for the sample's people: .venv/bin/python manage.py sign_in_links"
            if loaded
            else ""
        )
    said = io.StringIO()
    call_command("load_sample", stdout=said)
    return said.getvalue()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Two that start at once would both create the same tables."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
            yield  # closing the connection gives it back, after an error too
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
    else:
        with (settings.DATA_DIR / "starting.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _web_command() -> list[str]:
    return [
        *(sys.executable, "-m", "granian", "config.wsgi:application", "--interface", "wsgi"),
        *("--host", settings.HOST, "--port", str(settings.PORT)),
        *("--workers", str(settings.WEB_WORKERS), "--blocking-threads", str(THREADS)),
        *("--workers-kill-timeout", "5", "--log-level", "warning", "--no-ws"),
    ]


def _worker_command() -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), "worker"]
