"""A site that a test starts by `manage.py serve`, in a data folder of its own."""

import socket
import urllib.request
from pathlib import Path

from tests.conftest import Started, StartManage, eventually

WITHIN = 120.0  # seconds for a start, on a machine that is busy with other tests


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Site:
    """A site in a data folder of its own."""

    def __init__(self, start_manage: StartManage, folder: Path) -> None:
        self.start_manage = start_manage
        self.folder = folder
        self.port = free_port()

    def start(self, *arguments: str, **environment: str | None) -> Started:
        """Start `manage.py serve …`."""
        return self.start_manage(
            "serve",
            *arguments,
            **{
                "ASSAY_DATA_DIR": str(self.folder),
                "PORT": self.port,
                "DATABASE_URL": None,
                "REDIS_URL": None,
                **environment,
            },
        )

    def is_ready(self, started: Started) -> bool:
        return f"Assay is ready: http://127.0.0.1:{self.port}/" in started.log.read_text()

    def up(self, *arguments: str, **environment: str | None) -> Started:
        started = self.start(*arguments, **environment)
        assert eventually(lambda: self.is_ready(started) or started.process.poll() is not None, within=WITHIN)
        assert self.is_ready(started), started.log.read_text()
        return started

    def status(self) -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=20) as answer:
            return int(answer.status)

    def processes(self, *, command: str = "") -> list[int]:
        """The processes that know this data folder, whoever their parent is."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                ours = f"ASSAY_DATA_DIR={self.folder}".encode() in (process / "environ").read_bytes()
                if ours and command in (process / "cmdline").read_text().replace("\0", " "):
                    found.append(int(process.name))
            except OSError:
                continue  # it has just ended
        return found

    def all_gone(self) -> bool:
        return eventually(lambda: not self.processes(), within=30)
