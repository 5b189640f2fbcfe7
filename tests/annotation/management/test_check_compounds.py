import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.shared import shared

GOOD = "".join(f"the dog,{word} the dog ran .\n" for word in ("one", "two", "three", "four", "five"))


def run(capsys: Any, *arguments: object) -> tuple[int, Any]:
    code = 0
    try:
        call_command("check_compounds", *map(str, arguments), "--json")
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "set.csv"
    path.write_text("compound,source\n" + GOOD, encoding="utf-8")
    return path


def test_a_set_as_it_should_be(good: Path, tmp_path: Path, capsys: Any) -> None:
    training = tmp_path / "training.txt"
    training.write_text("".join(f"{word} a farmer ran .\n" for word in ("one", "two", "three", "four", "five"))
                        + "the end\ndog\n", encoding="utf-8")  # fmt: skip
    code, document = run(capsys, good, "--training", training)
    assert code == 0
    assert document["ok"] is True
    assert document["violations"] == []
    assert (document["compounds"], document["contexts"], document["training_sentences"]) == (1, 5, 7)
    assert document["patterns"] == {"NP:DET+N": 1}


def test_what_is_violated_ends_with_1_and_its_place(good: Path, tmp_path: Path, capsys: Any) -> None:
    training = tmp_path / "training.txt"
    training.write_text("see the dog\n", encoding="utf-8")
    code, document = run(capsys, good, "--training", training)
    assert code == 1
    assert document["ok"] is False
    assert [(one["rule"], one["line"]) for one in document["violations"]] == [
        ("seen", 2),
        *(("context", line) for line in range(2, 7)),
    ]


def test_an_inventory_decides_the_patterns(good: Path, tmp_path: Path, capsys: Any) -> None:
    inventory = tmp_path / "inventory.json"
    inventory.write_text(
        json.dumps(
            {
                "name": "mine", "source_language": "en", "target_language": "de", "contexts": 5,
                "kinds": {"DET": ["a"], "N": ["dog"]}, "patterns": {"NP": ["DET+N"]},
            }
        ),
        encoding="utf-8",
    )  # fmt: skip
    code, document = run(capsys, good, "--inventory", inventory)
    assert (code, document["inventory"]) == (1, "mine")
    assert [one["rule"] for one in document["violations"]] == ["pattern"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, good: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("check_compounds", str(good), "--training", str(tmp_path / "nothing.txt"))
    assert ended.value.code == 1
    assert "nothing.txt" in capsys.readouterr().err


def test_the_released_set_has_the_patterns_and_contexts_it_says(capsys: Any) -> None:
    sources, compounds = shared("data/cognition/NP.en"), shared("data/cognition/NP.compound")
    _code, document = run(capsys, sources, "--compounds", compounds)
    assert (document["compounds"], document["contexts"]) == (720, 3600)
    assert document["patterns"] == {
        "NP:DET+ADJ+N": 200, "NP:DET+ADJ+N+MOD": 400, "NP:DET+N": 40, "NP:DET+N+MOD": 80,
    }  # fmt: skip
    assert {one["rule"] for one in document["violations"]} <= {"context_repeated"}
    assert document["not_checked"] == ["seen", "atom", "context"]


def test_places_are_written_as_everywhere(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "set.csv"
    path.write_text("compound,source\nthe dog,a\n,b\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        call_command("check_compounds", str(path))
    assert "set.csv, line 3, column “compound”: The cell is empty" in capsys.readouterr().err
    code, document = run(capsys, path)
    assert (code, document["errors"][0]["file"], document["errors"][0]["line"]) == (1, "set.csv", 3)


@pytest.mark.parametrize("text", ["one sentence only .\n", "one .\ntwo .\n"])
def test_a_text_that_is_no_table_is_told_of_its_compounds(text: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "NP.en"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        call_command("check_compounds", str(path))
    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert "NP.en" in told
    assert "--compounds" in told
