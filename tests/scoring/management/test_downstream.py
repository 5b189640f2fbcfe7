"""The downstream command: adding, scoring, tables, and what it says where something does not fit."""

import json
from pathlib import Path

import pytest

from annotation.models import Campaign
from scoring.models import Benchmark, BenchmarkSubmission
from scoring.services.downstream.kept import kept_accuracies, kept_board
from scoring.stats import generation
from tests.material import new_campaign, run, run_json
from tests.scoring.downstream import GOLD, PAIRS, SAID, chosen

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return new_campaign()


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def add(folder: Path, name: str = "csqa", kind: str = "choice", text: str = GOLD) -> None:
    made = run("downstream", "main", "add", file(folder, f"{name}.csv", text), "--name", name, "--kind", kind)
    assert made.code == 0, made.err


@pytest.mark.usefixtures("campaign")
def test_a_benchmark_is_added_scored_and_listed(tmp_path: Path) -> None:
    add(tmp_path)
    sent = file(tmp_path, "sent.csv", chosen(15))

    document = run_json("downstream", "main", "score", sent, "--benchmark", "csqa", "--system", "base")
    listed = run_json("downstream", "main", "list")

    assert document["systems"][0]["figures"]["accuracy"]["mean"] == 75.0
    assert (document["repeated"], document["sent"]) == (False, "sent.csv")
    assert [(one["name"], one["questions"], one["submissions"]) for one in listed["benchmarks"]] == [
        ("csqa", 20, 1)
    ]
    benchmark = Benchmark.objects.get()
    assert kept_board(benchmark).is_current
    assert kept_accuracies(benchmark.campaign).is_current


@pytest.mark.usefixtures("campaign")
def test_the_same_file_scored_twice_is_one_submission(tmp_path: Path) -> None:
    add(tmp_path)
    words = ("score", file(tmp_path, "sent.csv", chosen(15)), "--benchmark", "csqa", "--system", "base")

    first, second = run_json("downstream", "main", *words), run_json("downstream", "main", *words)

    assert (first["submission"], second["repeated"]) == (second["submission"], True)
    assert first["systems"] == second["systems"]


@pytest.mark.usefixtures("campaign")
def test_a_file_that_counts_again_says_so_and_what_was_sent_can_go(tmp_path: Path) -> None:
    add(tmp_path)
    names = ("--benchmark", "csqa", "--system", "base")
    ten, more = file(tmp_path, "ten.csv", chosen(10)), file(tmp_path, "more.csv", chosen(15))
    for path in (ten, more):
        run("downstream", "main", "score", path, *names)

    again = run("downstream", "main", "score", ten, *names)

    assert "now it counts again" in again.err
    assert "50.00" in again.out
    assert "Remove these first" in run("downstream", "main", "remove", "--benchmark", "csqa").err
    assert "Nothing was sent" in run("downstream", "main", "remove", *names, "--run", "2").err
    removed = run("downstream", "main", "remove", *names)
    assert removed.out.strip() == "Removed from csqa: base, 2 submissions."
    assert kept_board(Benchmark.objects.get()).document is None
    assert run("downstream", "main", "remove", "--benchmark", "csqa").code == 0


@pytest.mark.usefixtures("campaign")
def test_tables_come_as_markdown_latex_csv_and_json(tmp_path: Path) -> None:
    add(tmp_path)
    sent = file(tmp_path, "sent.csv", chosen(15))
    run("downstream", "main", "score", sent, "--benchmark", "csqa", "--system", "base")

    board = ("downstream", "main", "table", "--benchmark", "csqa")
    assert "| base | 75.00 |" in run(*board).out
    assert "base & 75.00 \\\\" in run(*board, "--format", "latex").out
    assert run(*board, "--format", "csv").out.startswith("table,group,")
    assert json.loads(run(*board, "--format", "json").out)["benchmark"] == "csqa"
    assert "| base | 75.00 | 75.00 |" in run("downstream", "main", "table").out
    written = run("downstream", "main", "table", "-o", tmp_path / "accuracy.md")
    assert written.out.startswith("Written to")
    assert "| model | csqa | Avg. |" in (tmp_path / "accuracy.md").read_text()


@pytest.mark.usefixtures("campaign")
def test_rows_that_do_not_fit_are_named_and_nothing_is_stored(tmp_path: Path) -> None:
    add(tmp_path, "atomic", "generation", PAIRS)
    sent = file(tmp_path, "sent.csv", SAID + "PersonX flies,xEffect,lands\n,xWant,x\n")
    words = ("downstream", "main", "score", sent, "--benchmark", "atomic", "--system", "base")

    ran, ran_json = run(*words), run(*words, "--json")

    assert (ran.code, ran_json.code) == (1, 1)
    assert "line 5, column “head”: The benchmark has no reference for “PersonX flies | xEffect”" in ran.err
    assert [(one["line"], one["column"]) for one in ran_json.document["errors"]] == [(5, "head"), (6, "head")]
    assert not BenchmarkSubmission.objects.exists()


@pytest.mark.usefixtures("campaign")
def test_wrong_rows_and_missing_questions_are_named_at_once(tmp_path: Path) -> None:
    add(tmp_path, "atomic", "generation", PAIRS)
    sent = file(tmp_path, "sent.csv", "\n".join([*SAID.splitlines()[:2], "PersonX flies,xWant,", ""]))

    ran = run("downstream", "main", "score", sent, "--benchmark", "atomic", "--system", "base")

    assert ran.code == 1
    assert "line 3, column “hypothesis”: The hypothesis is empty" in ran.err
    assert ran.err.count("Every pair of the benchmark needs one.") == len(set(SAID.splitlines()[2:]))
    assert ran.err.startswith("error: line 3")  # the row first, then what is missing for want of it


@pytest.mark.usefixtures("campaign")
def test_without_the_extra_one_sentence_and_nothing_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "atomic", "generation", PAIRS)
    monkeypatch.setattr(generation, "find_spec", lambda name: None)
    sent = file(tmp_path, "sent.csv", SAID)

    ran = run("downstream", "main", "score", sent, "--benchmark", "atomic", "--system", "base")

    assert ran.code == 1
    assert ran.err.strip() == generation.NO_LIBRARY
    assert not BenchmarkSubmission.objects.exists()


@pytest.mark.usefixtures("campaign")
def test_generations_are_scored_without_java_and_say_why_meteor_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")
    monkeypatch.setattr(generation, "java", lambda: None)
    add(tmp_path, "atomic", "generation", PAIRS)
    sent = file(tmp_path, "sent.csv", SAID)

    ran = run("downstream", "main", "score", sent, "--benchmark", "atomic", "--system", "COMET", "--run", "1")

    assert ran.code == 0
    assert "| COMET | 62.50 |" in ran.out
    assert "–: METEOR needs Java" in ran.out


@pytest.mark.usefixtures("campaign")
def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    assert "there are: none yet" in run("downstream", "main", "table", "--benchmark", "x").err
    assert "Nothing was scored on a benchmark of choices yet" in run("downstream", "main", "table").err
    add(tmp_path)
    assert "Nothing was scored on “csqa” yet" in run("downstream", "main", "table", "--benchmark", "csqa").err
    assert "there are: csqa" in run("downstream", "main", "table", "--benchmark", "x").err
    missing = run("downstream", "main", "score", tmp_path / "no.csv", "--benchmark", "csqa", "--system", "a")
    assert "cannot be opened" in missing.err


@pytest.mark.usefixtures("campaign")
def test_questions_come_without_what_is_right_and_a_benchmark_can_go(tmp_path: Path) -> None:
    add(tmp_path, "atomic", "generation", PAIRS)

    found = run_json("downstream", "main", "questions", "--benchmark", "atomic")
    removed = run("downstream", "main", "remove", "--benchmark", "atomic")

    assert found["questions"][0] == {"head": "PersonX eats pizza", "relation": "xWant"}
    assert "musical" not in json.dumps(found)
    assert removed.out.strip() == "Removed: atomic."
    assert not Benchmark.objects.exists()
