"""Keeps the web server and the worker together: the last act of `manage.py serve`.

It runs as long as the site does, so it takes the place of the Django process that prepared everything and
imports nothing of it: a tenth of the memory. It reads a plan from its standard input (links to sign in are no
arguments: everybody on the machine can list those).
"""

import ctypes
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
STARTING = 60.0  # seconds the first page may take
STOPPING = 8.0  # seconds the children get to finish what they do
LOOK = 0.2  # seconds between two looks at the children
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to run, and what to say when it runs."""

    web: list[str]
    worker: list[str] | None
    host: str  # where the web server listens
    port: int
    name: str  # under which the site is known: the Host header of a request
    ready: str  # printed when the first page has answered


class Stopped(BaseException):
    """A signal asked for the end."""


class Broken(Exception):
    """Something does not run; the message says what."""


Children = dict[str, "subprocess.Popen[bytes]"]


def become_supervisor(plan: Plan) -> NoReturn:
    """Give this process up to the supervisor: same process id, none of its memory."""
    reading, writing = os.pipe()
    os.write(writing, json.dumps(asdict(plan)).encode())
    os.close(writing)
    os.dup2(reading, 0)
    # Wherever it was started from: the working directory stays, since paths in settings are relative to it.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.execv(sys.executable, [sys.executable, "-m", "config.supervisor"])


def main() -> int:
    """Run the plan until a signal asks for the end (0) or something breaks (1)."""
    for number in SIGNALS:
        signal.signal(number, _on_signal)
    children: Children = {}
    try:
        plan = Plan(**json.load(sys.stdin))
        children["web server"] = _start(plan.web, orphaned=signal.SIGTERM)
        if plan.worker:
            # Killed, not asked, where this process is: its job is done again when the lease is over.
            children["worker"] = _start(plan.worker, orphaned=signal.SIGKILL)
        _wait_for_first_page(plan, children)
        _say(plan.ready)
        _watch(children)
    except Stopped:
        _say("Stopping.")
        return 0
    except Broken as error:
        print(error, file=sys.stderr, flush=True)  # noqa: T201
        return 1
    finally:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        _stop(children)


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    raise Stopped


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def _start(command: list[str], *, orphaned: signal.Signals) -> "subprocess.Popen[bytes]":
    """A child in a process group of its own: Ctrl-C reaches this process alone, which then ends the child.

    Should this process be killed, Linux sends the child the signal `orphaned`.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=_die_with_parent(orphaned) if sys.platform == "linux" else None,
    )


def _die_with_parent(orphaned: signal.Signals) -> Callable[[], None]:
    parent = os.getpid()
    prctl = ctypes.CDLL(None).prctl

    def in_child() -> None:
        prctl(PR_SET_PDEATHSIG, orphaned)
        if os.getppid() != parent:  # it was gone before the line above
            os.kill(os.getpid(), orphaned)

    return in_child


def _watch(children: Children) -> NoReturn:
    while True:
        _check(children)
        time.sleep(LOOK)


def _check(children: Children) -> None:
    for name, child in children.items():
        if child.poll() is not None:
            raise Broken(f"The {name} ended by itself (exit {child.returncode}); what it said stands above.")


def _wait_for_first_page(plan: Plan, children: Children) -> None:
    deadline = time.monotonic() + STARTING
    while time.monotonic() < deadline:
        _check(children)
        status = _first_page(plan)
        if status is not None and status < 500:
            return
        if status is not None:
            raise Broken(f"The first page fails (HTTP {status}); what went wrong stands above.")
        time.sleep(0.1)
    raise Broken(f"The first page did not answer within {STARTING:.0f} seconds.")


def _first_page(plan: Plan) -> int | None:
    """The status of the first page; None: no answer yet."""
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(plan.host, plan.host)
    web = http.client.HTTPConnection(here, plan.port, timeout=10)
    try:
        web.request("GET", "/", headers={"Host": plan.name})
        return web.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        web.close()


def _stop(children: Children) -> None:
    """Ask the children to end; then end them, and whatever they leave behind."""
    for child in children.values():
        child.terminate()
    deadline = time.monotonic() + STOPPING
    for child in children.values():
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, deadline - time.monotonic()))
    for child in children.values():
        with suppress(ProcessLookupError):  # the usual case: nobody of its group is left
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


if __name__ == "__main__":
    sys.exit(main())
