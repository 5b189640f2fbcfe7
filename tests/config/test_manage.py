"""What the command line says where it cannot even begin, and where nobody reads on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shell(command: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """`command` in a shell of its own; `$MANAGE` is `manage.py`."""
    env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    env |= {"ASSAY_DATA_DIR": str(folder / "data"), "MANAGE": f"{sys.executable} manage.py", **environment}
    return subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "eighty", "PORT must be a whole number, not 'eighty'."),
        ("PORT", "70000", "PORT must be at most 65535, not 70000."),
        ("WEB_WORKERS", "0", "WEB_WORKERS must be at least 1, not 0."),
        ("ASSAY_URL", "assay.org", "ASSAY_URL must be like https://assay.example.org, not 'assay.org'."),
        ("ASSAY_URL", "http://[::1", "ASSAY_URL must be like https://assay.example.org, not 'http://[::1'."),
        ("DEBUG", "perhaps", "DEBUG must be yes or no, not 'perhaps'."),
        ("TZ", "Nowhere/At", "TZ must be a time zone like Asia/Shanghai, not 'Nowhere/At'."),
        (
            "ASSAY_DATA_DIR",
            "/dev/null/x",
            "ASSAY_DATA_DIR must be a folder that can be made, not '/dev/null/x' ",
        ),
        (
            "DATABASE_URL",
            "oracle9://me:secret@x/y",
            "DATABASE_URL must be like postgres://user:password@host/name ",
        ),
    ],
)
def test_a_bad_setting_stops_it_with_its_name_on_one_line(
    name: str, value: str, said: str, tmp_path: Path
) -> None:
    ran = shell("$MANAGE serve", tmp_path, **{name: value})

    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith(said)
    assert "secret" not in line


def test_it_ends_quietly_where_nobody_reads_on(tmp_path: Path) -> None:
    ran = shell("$MANAGE help | true; echo ${PIPESTATUS[0]}", tmp_path)

    assert (ran.stdout, ran.stderr) == ("141\n", "")
