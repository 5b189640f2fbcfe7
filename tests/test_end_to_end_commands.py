"""The commands as a shell runs them: exit codes, one document alone on stdout, killed and concurrent processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import execute_from_command_line

from annotation.models import Campaign, ImportBatch, Item
from tests.conftest import ROOT
from tests.material import Ran, compounds, triples, write_csv

pytestmark = pytest.mark.django_db(transaction=True)

Shell = Callable[..., Ran]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """`manage.py …` in this process, from the command line's own entrance to its exit code."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = 0
        try:
            execute_from_command_line(["manage.py", *(str(argument) for argument in arguments)])
        except SystemExit as end:
            code = int(end.code or 0)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return run


def process(url: str, *arguments: object, **more: Any) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "DATABASE_URL": url, "REDIS_URL": ""}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), *(str(argument) for argument in arguments)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def test_it_goes_from_a_file_to_labels(shell: Shell, tmp_path: Path) -> None:
    def done(*arguments: object) -> Any:
        ran = shell(*arguments, "--json")
        assert (ran.code, ran.err) == (0, "")
        return ran.document

    done("create_campaign", "pilot", "--protocol", "triple", "--seed", "3")
    items = write_csv(tmp_path / "items.csv", triples(8))
    assert done("import_items", "pilot", items)["added"] == 8
    parts = done("assign_parts", "pilot", "--experts", "ada,bo,chen,dan")
    assert [part["n_items"] for part in parts["parts"]] == [2, 2, 2, 2]
    assert len(parts["invitations"]) == 4
    experts = {expert for part in parts["parts"] for expert in part["experts"]}
    assert experts == {"ada", "bo", "chen", "dan"}
    waiting = done("finalize", "pilot")
    assert (waiting["labelled"], waiting["unlabelled"]) == (0, {"incomplete": 8})
    given = [
        {
            "triple_id": item.key,
            "annotator": row.expert.username,
            "label": "1" if item.position % 2 else "0.5",
        }
        for item in Item.objects.all()
        for row in item.assignments.all()
    ]
    judgements = write_csv(tmp_path / "judgements.csv", given)
    assert done("import_annotations", "pilot", judgements)["added"] == 16
    result = done("finalize", "pilot")
    assert (result["labelled"], result["rule"], result["label_version"]) == (8, "ckbp2", 2)
    agreement = done("report", "pilot", "--kind", "agreement")
    assert agreement["coefficients"]["raw"]["value"] == 1.0
    exported = shell("export", "pilot", "--what", "labels", "--format", "jsonl")
    assert [json.loads(line)["label"] for line in exported.out.splitlines()] == ["1", "0"] * 4
    assert done("verify", "pilot") == {"ok": True, "violations": []}


@pytest.mark.parametrize(
    "arguments",
    [
        ["create_campaign", "x"],
        ["create_campaign", "x", "--protocol", "quadruple"],
        ["create_campaign", "x", "--protocol", "triple", "--annotators-per-item", "two"],
        ["import_items", "x"],
        ["import_items", "x", "y.csv", "--on-conflict", "perhaps"],
        ["import_annotations", "x", "y.csv", "--round", "third"],
        ["import_cognition", "x", "--sources", "a"],
        ["assign_parts", "x"],
        ["assign_parts", "x", "--experts", "a", "--parts", "many"],
        ["report", "x"],
        ["report", "x", "--kind", "opinions"],
        ["report", "x", "--kind", "agreement", "--format", "doc"],
        ["export", "x", "--what", "items"],
        ["export", "x", "--what", "secrets", "--format", "csv"],
        ["export", "x", "--what", "items", "--format", "doc"],
        ["verify"],
        ["finalize", "x", "y"],
    ],
)
def test_it_ends_with_2_when_it_is_called_wrongly(arguments: list[str], shell: Shell) -> None:
    plain = shell(*arguments)
    assert (plain.code, plain.out) == (2, "")
    ran = shell(*arguments, "--json")
    assert ran.code == 2
    assert ran.document["errors"][0]["message"].startswith("Wrong call: ")
    assert f"manage.py {arguments[0]}: error:" in ran.err


def test_it_ends_with_1_on_bad_input_and_says_where(shell: Shell, tmp_path: Path) -> None:
    shell("create_campaign", "pilot", "--protocol", "triple")
    rows = triples(2)
    rows[1]["relation"] = "xWish"
    bad = write_csv(tmp_path / "bad.csv", rows)
    for_people = shell("import_items", "pilot", bad)
    assert (for_people.code, for_people.out) == (1, "")
    assert "line 3, column “relation”" in for_people.err
    for_programs = shell("import_items", "pilot", bad, "--json")
    assert for_programs.code == 1
    assert for_programs.document["errors"][0]["line"] == 3
    assert "line 3, column “relation”" in for_programs.err


def test_it_prints_a_summary_for_people_on_stdout(shell: Shell, tmp_path: Path) -> None:
    items = write_csv(tmp_path / "items.csv", triples(2))
    said = [
        shell("create_campaign", "pilot", "--protocol", "triple"),
        shell("import_items", "pilot", items),
        shell("assign_parts", "pilot", "--experts", "ada,bo"),
        shell("finalize", "pilot"),
        shell("verify", "pilot"),
    ]
    assert [(ran.code, ran.err) for ran in said] == [(0, "")] * 5
    assert "2 rows, 2 added, 0 there already" in said[1].out
    assert "ada and bo share 2 items" in said[2].out
    assert "/invitation/" in said[2].out


# Processes of their own


def test_it_writes_a_binary_format_to_a_pipe(live_database_url: str, shell: Shell, tmp_path: Path) -> None:
    import io

    import pyarrow.parquet as pq

    shell("create_campaign", "pilot", "--protocol", "triple")
    shell("import_items", "pilot", write_csv(tmp_path / "items.csv", triples(3)))
    out, err = process(
        live_database_url, "export", "pilot", "--what", "items", "--format", "parquet"
    ).communicate()
    assert err == b""
    assert pq.read_table(io.BytesIO(out)).num_rows == 3


def test_it_leaves_nothing_visible_of_an_import_that_was_killed(
    live_database_url: str, shell: Shell, tmp_path: Path
) -> None:
    shell("create_campaign", "pilot", "--protocol", "compound")
    small = write_csv(tmp_path / "small.csv", compounds(2))
    large = write_csv(tmp_path / "large.csv", compounds(1200))
    shell("import_items", "pilot", small, "--system", "base")
    running = process(live_database_url, "import_items", "pilot", large, "--system", "large")
    deadline = time.monotonic() + 60
    while Item.objects.count() <= 10:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert Item.objects.active().count() == 10
    assert ImportBatch.objects.filter(published_at__isnull=True).count() == 1
    refused = shell("import_items", "pilot", small, "--system", "other", "--json")
    assert refused.code == 1
    assert "under way" in refused.document["errors"][0]["message"]
    ImportBatch.objects.filter(published_at__isnull=True).update(lease_until="2020-01-01T00:00:00Z")
    again = shell("import_items", "pilot", small, "--system", "other", "--json")
    assert (again.code, again.document["added"], again.document["items"]) == (0, 10, 0)
    assert Item.objects.count() == 10
    assert shell("verify", "pilot").code == 0


def test_it_lets_one_of_two_imports_at_once_in(live_database_url: str, shell: Shell, tmp_path: Path) -> None:
    shell("create_campaign", "pilot", "--protocol", "triple")
    items = write_csv(tmp_path / "items.csv", triples(900))
    both = [process(live_database_url, "import_items", "pilot", items, "--json") for _ in range(2)]
    ended = []
    for one in both:
        out, _err = one.communicate()
        ended.append((one.returncode, json.loads(out)))
    assert Item.objects.active().count() == 900
    assert Campaign.objects.get().units.count() == 900
    for code, document in ended:
        if code:  # refused while the other was at it
            assert "under way" in document["errors"][0]["message"]
        else:  # or it came after the other
            assert document["added"] + document["unchanged"] == 900
    assert sum(document.get("added", 0) for _code, document in ended) == 900
    assert shell("verify", "pilot").code == 0
