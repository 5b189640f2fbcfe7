"""A site to measure: its data folder, its server, and the processor time it takes."""

import http.client
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

TICKS = os.sysconf("SC_CLK_TCK")
SLUG = "bench"
PASSWORD = "seven green rivers"
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Site:
    """Where a site's data is and which database it uses."""

    name: str
    database_url: str
    folder: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "DATABASE_URL": self.database_url,
            "ASSAY_DATA_DIR": str(self.folder),
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
            "PORT": str(self.port),
            "WEB_WORKERS": os.environ.get("BENCH_WEB_WORKERS", "2"),
            "REDIS_URL": "",
        }

    def manage(self, *arguments: str) -> str:
        """Run a command of the site; its stdout."""
        command = [sys.executable, "-m", "benchmarks.manage", *arguments]
        return subprocess.run(
            command, env=self.environment, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout

    @contextmanager
    def serving(self) -> Iterator[int]:
        """The web server; gives its process id."""
        command = [sys.executable, "manage.py", "serve", "--web-only"]
        server = subprocess.Popen(
            command, env=self.environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_for(self.port)
            yield server.pid
        finally:
            server.terminate()
            server.wait(timeout=20)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(port: int, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"nothing answers on port {port}")


def cpu_seconds(pids: list[int]) -> float:
    """Processor time of these processes and all below them, so far."""
    return sum(_own_ticks(pid) for pid in _with_children(pids)) / TICKS


def _own_ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(ticks) for ticks in fields[11:15])  # own, and of children that have ended


def _with_children(pids: list[int]) -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = set(pids)
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def postgres_pid() -> list[int]:
    """The postmaster, if one runs on this machine."""
    return [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _is_postmaster(entry)
    ]


def _is_postmaster(entry: Path) -> bool:
    try:
        command = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return command[0].endswith(b"/postgres") and b"-D" in command


@dataclass(frozen=True)
class Session:
    """What a signed-in expert's browser holds."""

    session: str
    token: str


def sign_in(port: int, name: str, password: str) -> Session:
    """Sign in over HTTP, as a person does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/sign-in/")
    response = connection.getresponse()
    page = response.read().decode()
    cookies = _cookies(response)
    field = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert field is not None
    body = urlencode({"csrfmiddlewaretoken": field[1], "username": name, "password": password})
    headers = {
        "Cookie": f"csrftoken={cookies['csrftoken']}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Referer": f"http://127.0.0.1:{port}/sign-in/",
    }
    connection.request("POST", "/sign-in/", body, headers)
    response = connection.getresponse()
    response.read()
    assert response.status == 302, response.status
    cookies |= _cookies(response)
    return Session(cookies["sessionid"], cookies["csrftoken"])


def _cookies(response: http.client.HTTPResponse) -> dict[str, str]:
    jar: SimpleCookie = SimpleCookie()
    for name, value in response.getheaders():
        if name.lower() == "set-cookie":
            jar.load(value)
    return {name: morsel.value for name, morsel in jar.items()}
