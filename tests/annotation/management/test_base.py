"""What every command says where the database or its disk does not do its part."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.core.management import ManagementUtility
from django.db import DatabaseError, OperationalError, ProgrammingError

from annotation.management.base import describe_issues, unusable
from annotation.management.commands import verify as command
from tests.conftest import StartManage
from tests.material import run


class FromPostgresql(Exception):
    """An error of psycopg2, whose code only the server can set."""

    def __init__(self, pgcode: str) -> None:
        self.pgcode = pgcode


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "main"),
        ("report", "main", "--kind", "agreement"),
        ("create_campaign", "main", "--protocol", "triple"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_database_without_tables_is_one_plain_sentence(
    arguments: tuple[str, ...], start_manage: StartManage, tmp_path: Path
) -> None:
    started = start_manage(*arguments, "--json", ASSAY_DATA_DIR=str(tmp_path), DATABASE_URL=None)

    assert started.process.wait(60) == 1
    said = started.log.read_text()
    sentence = f"The data folder {tmp_path} has no tables yet; run `manage.py migrate`, or is ASSAY_DATA_DIR not set?"
    assert "Traceback" not in said
    document, end = json.JSONDecoder().raw_decode(said[said.index("{") :])
    assert document["errors"] == [{"line": None, "column": None, "message": sentence}]
    assert said[said.index("{") + end :].strip() in ("", sentence)


@pytest.mark.parametrize(
    ("arguments", "key", "sentence"),
    [
        (
            ("assign_parts", "main", "--experts", "a,b", "--seed", "x"),
            "parts",
            "argument --seed: invalid int",
        ),
        (
            ("create_campaign", "main", "--protocol", "nope"),
            "campaign",
            "argument --protocol: invalid choice",
        ),
        (("report", "main", "--kind", "bogus"), "errors", "argument --kind: invalid choice"),
        (("import_items", "main"), "warnings", "the following arguments are required: FILE"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_a_wrong_call_has_its_document_too(
    arguments: tuple[str, ...], key: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        ManagementUtility(["manage.py", *arguments, "--json"]).execute()

    assert end.value.code == 2
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert key in document
    (found,) = document["errors"]
    assert sentence in found["message"]
    assert sentence in said.err


def test_a_wrong_call_without_a_document_prints_nothing_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ManagementUtility(["manage.py", "report", "main", "--kind", "bogus"]).execute()
    assert capsys.readouterr().out == ""


def failing(error: Exception, monkeypatch: pytest.MonkeyPatch, cause: Exception | None = None) -> None:
    def fail(slug: str) -> None:
        raise error from cause

    monkeypatch.setattr(command, "get_campaign", fail)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (OperationalError("database or disk is full"), sqlite3.OperationalError()),
        (OperationalError("could not extend file\nHINT: …"), FromPostgresql("53100")),
        (OSError(28, "No space left on device"), None),
    ],
)
def test_a_full_disk_is_one_plain_sentence(
    error: Exception, cause: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(error, monkeypatch, cause)

    ran = run("verify", "main", "--json")

    assert ran.code == 1
    (found,) = ran.document["errors"]
    assert found["message"].startswith("The disk is full (")
    assert found["message"].endswith("). Nothing half done is visible; free space and repeat.")
    assert ran.err.strip() == found["message"]


def test_a_database_that_does_not_answer_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(OperationalError("connection refused\nIs the server running?"), monkeypatch)
    assert run("verify", "main").err.strip() == (
        "The database said: connection refused. Nothing half done is visible; mend that and repeat."
    )


def test_tables_of_an_older_version_are_named_on_postgresql_too(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(ProgrammingError("column x does not exist"), monkeypatch, FromPostgresql("42703"))
    assert "is of an older version; run `manage.py migrate`" in run("verify", "main").err


@pytest.mark.parametrize("error", [ProgrammingError("syntax error"), DatabaseError("?"), KeyError("x")])
def test_a_fault_of_the_program_is_not_hidden(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(error, monkeypatch)
    with pytest.raises(type(error)):
        run("verify", "main")


def test_one_sentence_for_many_places_is_told_once_with_their_number() -> None:
    same: list[dict[str, Any]] = [
        {"line": line, "column": "label", "message": "The label is empty."} for line in range(2, 10_002)
    ]
    few: list[dict[str, Any]] = [{"line": line, "column": None, "message": "Another one."} for line in (7, 8)]
    document = {"errors": [*same, *few], "conflicts": [], "warnings": same, "unknown_columns": []}
    once = "line 2, column “label”: The label is empty. The same at 9,999 more places."
    told = [f"error: {once}", "error: line 7: Another one.", "error: line 8: Another one."]
    assert describe_issues(document) == [*told, f"warning: {once}"]
    assert unusable([*same, *few]).summary.splitlines() == told
