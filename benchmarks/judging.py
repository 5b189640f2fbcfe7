"""The judging loop under load, beside the bare view on the same server in the same run."""

import http.client
import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.site import PASSWORD, ROOT, SLUG, Session, Site, cpu_seconds, postgres_pid, sign_in

LUA = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Load:
    """What a load of some seconds came to. Times in milliseconds; CPU in milliseconds a pair."""

    experts: int
    seconds: float
    rate: float
    errors: int
    p50: float
    p90: float
    p95: float
    p99: float
    worst: float
    server_cpu: float
    generator_cpu: float


def measure(
    site: Site, *, experts: int, seconds: int, kind: str, server: int, salt: int, first: int = 0
) -> Load:
    """`kind` is judge or bare; the judging experts are those from number `first` on. A salt is used once."""
    pids = [server, *(postgres_pid() if site.database_url.startswith("postgres") else [])]
    environment = site.environment | {"BENCH_SALT": str(salt), "BENCH_LABEL": "often"}
    url = f"http://127.0.0.1:{site.port}/bare/"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        if kind == "judge":
            url = f"http://127.0.0.1:{site.port}/api/v1/campaigns/{SLUG}/units/"
            file.write("\n".join(_start(site, number) for number in range(first, first + experts)) + "\n")
            file.flush()
            environment |= {"BENCH_EXPERTS": file.name, "BENCH_PATH": f"/api/v1/campaigns/{SLUG}/units/"}
        command = [
            "wrk", "--latency", "--timeout", "20s", "-t", str(experts), "-c", str(experts), "-d", f"{seconds}s",
            "-s", str(LUA / f"{kind}.lua"), url,
        ]  # fmt: skip
        before = cpu_seconds(pids)
        own = os.times()
        run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
        spent = os.times()
        after = cpu_seconds(pids)
    found = re.search(r"FIGURES (.+)", run.stdout)
    assert found is not None, run.stdout + run.stderr
    requests, duration, errors, p50, p90, p95, p99, worst = (int(number) for number in found[1].split())
    generator = spent.children_user - own.children_user + spent.children_system - own.children_system
    return Load(
        experts=experts,
        seconds=duration / 1e6,
        rate=requests / (duration / 1e6),
        errors=errors,
        p50=p50 / 1000,
        p90=p90 / 1000,
        p95=p95 / 1000,
        p99=p99 / 1000,
        worst=worst / 1000,
        server_cpu=(after - before) * 1000 / requests,
        generator_cpu=generator * 1000 / requests,
    )


def _start(site: Site, number: int) -> str:
    """Where an expert's loop begins: their session and the next open screen."""
    session: Session = sign_in(site.port, f"expert{number}", PASSWORD)
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    cookie = f"sessionid={session.session}; csrftoken={session.token}"
    connection.request("GET", f"/api/v1/campaigns/{SLUG}/next/?count=1", headers={"Cookie": cookie})
    screen = json.loads(connection.getresponse().read())["units"][0]
    assignment = screen["rows"][0]["assignment"]
    return f"{session.session} {session.token} {screen['id']} {assignment} {screen['queue']}"
