"""`build_set`: the set as a file or as a campaign, all or nothing, in a sentence where it cannot be."""

import csv
import json
from pathlib import Path

import pytest

from annotation.models import AuditEntry, Campaign, Item
from tests.annotation.services.test_evaluation_sets import candidate_rows, pool_rows
from tests.factories import make_user
from tests.material import new_campaign, run, run_json, write_csv

pytestmark = pytest.mark.django_db


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return (
        str(write_csv(tmp_path / "pool.csv", pool_rows(80))),
        str(write_csv(tmp_path / "candidates.csv", candidate_rows(60))),
    )


def asked(files: tuple[str, str], *more: str) -> tuple[str, ...]:
    pool, candidates = files
    return (
        "build_set", "--pool", pool, "--n", "15", "--adversarial", candidates, "--adversarial-n", "10", "--seed", "7",
        *more,
    )  # fmt: skip


def test_it_writes_a_file_and_says_what_it_is_made_of(files: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "set.csv"
    ran = run(*asked(files, "-o", str(out)))
    assert ran.code == 0
    assert ran.out.startswith("25 items, seed 7.\nSample: 15 of 60 distinct triples in 80 rows.\n")
    assert "Left out by relation: general Want 20." in ran.out
    assert "class: adv 10, test_set 15" in ran.out
    assert f"Written to {out}." in ran.out
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["head", "relation", "tail", "class", "origin"]
    assert len(rows) == 25
    new_campaign()
    assert run_json("import_items", "main", str(out))["added"] == 25


def test_the_document_is_one_and_the_file_the_same_each_time(files: tuple[str, str], tmp_path: Path) -> None:
    first = run_json(*asked(files, "-o", str(tmp_path / "a.csv")))
    again = run_json(*asked(files, "-o", str(tmp_path / "b.csv")))
    assert first | {"output": None} == again | {"output": None}
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert first["n"] == 25


def test_it_opens_a_campaign_with_the_set(files: tuple[str, str]) -> None:
    ran = run(*asked(files, "--campaign", "ckbp-3", "--create", "--title", "CKBP 三"))
    assert ran.code == 0, ran.err
    campaign = Campaign.objects.get()
    assert (campaign.slug, campaign.title, campaign.seed) == ("ckbp-3", "CKBP 三", 7)
    assert Item.objects.active().filter(campaign=campaign).count() == 25
    assert AuditEntry.objects.filter(action="evaluation set built").count() == 1
    assert run_json("verify", "ckbp-3")["violations"] == []


def test_it_says_that_nobody_manages_the_campaign_or_takes_who_does(files: tuple[str, str]) -> None:
    unmanaged = run(*asked(files, "--campaign", "ckbp-3", "--create"))
    assert (
        "It has no manager yet, so its pages open for nobody: add_member ckbp-3 NAME --role manager"
        in unmanaged.out.splitlines()
    )

    make_user("mei")
    managed = run(*asked(files, "--campaign", "ckbp-4", "--create", "--manager", "mei"))
    assert "no manager yet" not in managed.out
    (member,) = Campaign.objects.get(slug="ckbp-4").memberships.all()
    assert (member.user.username, member.role) == ("mei", "manager")
    nobody = run(*asked(files, "--campaign", "ckbp-5", "--create", "--manager", "nobody"))
    assert (nobody.code, "There is no account “nobody”." in nobody.err) == (1, True)
    assert not Campaign.objects.filter(slug="ckbp-5").exists()


def test_it_fills_an_empty_campaign_and_refuses_one_with_items(
    files: tuple[str, str], tmp_path: Path
) -> None:
    new_campaign()
    assert run(*asked(files, "--campaign", "main")).code == 0
    out = tmp_path / "set.csv"
    again = run(*asked(files, "--campaign", "main", "-o", str(out)))
    assert again.code == 1
    assert "holds items already" in again.err
    assert not out.exists()
    assert Item.objects.count() == 25


def test_refused_it_leaves_no_campaign_behind(files: tuple[str, str], tmp_path: Path) -> None:
    ran = run(*asked(files, "--campaign", "new-one", "--create", "-o", str(tmp_path / "gone" / "set.csv")))
    assert ran.code == 1
    assert "cannot be written" in ran.err
    assert not Campaign.objects.exists()
    assert run(*asked(files, "--campaign", "nowhere")).code == 1
    assert run(*asked(files, "--create")).code == 2


def test_rows_that_cannot_be_used_are_all_named(files: tuple[str, str], tmp_path: Path) -> None:
    bad = str(write_csv(tmp_path / "bad.csv", [{"head": "a", "relation": "xwant", "tail": ""}]))
    ran = run("build_set", "--pool", bad, "--n", "1", "--seed", "1")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "error: bad.csv, line 2, column “tail”: The cell is empty, but is needed.",
        "error: bad.csv, line 2, column “relation”: “xwant” is no relation; did you mean “xWant”?",
    ]
    document = json.loads(run("build_set", "--pool", bad, "--n", "1", "--seed", "1", "--json").out)
    assert document["errors"][0] == {
        "file": "bad.csv", "line": 2, "column": "tail", "message": "The cell is empty, but is needed.",
    }  # fmt: skip


def test_what_cannot_be_had_is_said_in_a_sentence(files: tuple[str, str]) -> None:
    pool, candidates = files
    for options, sentence in (
        (("--pool", pool, "--n", "61"), "A sample of 61 cannot be drawn from 60 units"),
        (("--pool", pool), "A sample needs a pool, and a pool the number of items"),
        (("--adversarial", candidates, "--adversarial-n", "31"), "31 candidates were asked for; 30 are left"),
        (("--pool", pool + ".gone", "--n", "1"), "cannot be opened"),
    ):
        ran = run("build_set", *options, "--seed", "1")
        assert ran.code == 1
        assert sentence in ran.err
        assert ran.out == ""


def test_relations_can_be_left_out_or_all_be_taken(files: tuple[str, str], tmp_path: Path) -> None:
    pool, _candidates = files
    taken = run_json("build_set", "--pool", pool, "--n", "80", "--seed", "1", "--leave-out")
    assert {row["relation"] for row in taken["by_relation"]} == {"Causes", "general Want", "xNeed", "xWant"}
    left = run_json(
        "build_set", "--pool", pool, "--n", "40", "--seed", "1", "--leave-out", "general Want", "Causes"
    )
    assert left["sample"]["left_out"] == {"general Want": 20, "Causes": 20}


def test_it_chooses_triples_to_train_on(files: tuple[str, str], tmp_path: Path) -> None:
    _pool, candidates = files
    out = tmp_path / "acquired.csv"
    document = run_json(
        "build_set", "--adversarial", candidates, "--above", "0.8", "--filter", "g-daug", "--adversarial-n", "12",
        "--class", "", "--seed", "3", "-o", str(out),
    )  # fmt: skip
    assert document["candidates"]["dropped"]["score"] == 1
    assert document["candidates"]["diversity"]["after"]["n"] == document["n"] == 12
    assert document["sample"] is None


@pytest.mark.parametrize(
    ("cells", "column", "limit"),
    [({"class": "c" * 41}, "class", "40"), ({"triple_id": "i" * 1001}, "triple_id", "1,000")],
)
def test_what_no_item_can_hold_is_refused_before_anything_is_stored(
    tmp_path: Path, cells: dict[str, str], column: str, limit: str
) -> None:
    pool = str(write_csv(tmp_path / "pool.csv", [row | cells for row in pool_rows(3)]))
    ran = run("build_set", "--pool", pool, "--n", "2", "--seed", "1", "--campaign", "x", "--create")
    assert ran.code == 1
    assert f"error: pool.csv, line 2, column “{column}”: The text has" in ran.err
    assert f"at most {limit} can be stored." in ran.err
    assert not Campaign.objects.exists()


def test_a_class_of_candidates_that_no_item_can_hold_is_refused(files: tuple[str, str]) -> None:
    ran = run(*asked(files, "--class", "c" * 300, "--campaign", "x", "--create"))
    assert ran.code == 1
    assert "The class of the candidates cannot be used: The text has 300 characters" in ran.err
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        (("--filter", "none", "--keep", "10"), "--keep is for --filter self-bleu and g-daug, not for none"),
        (("--below", "0.4"), "--below is for --filter soft-uniqueness, not for self-bleu"),
        (("--title", "x"), "--title is for --create"),
        (("--manager", "x"), "--manager is for --create"),
    ],
)
def test_an_option_without_effect_is_a_wrong_call(
    files: tuple[str, str], options: tuple[str, ...], flag: str
) -> None:
    ran = run(*asked(files, *options))
    assert ran.code == 2
    assert flag in ran.err


def test_options_of_a_half_that_is_not_asked_for_are_a_wrong_call(files: tuple[str, str]) -> None:
    pool, candidates = files
    ran = run(
        "build_set", "--adversarial", candidates, "--adversarial-n", "1", "--seed", "1", "--minimum", "2"
    )
    assert (ran.code, "--minimum is for the sample of a --pool" in ran.err) == (2, True)
    for option in (("--class", ""), ("--above", "0.5"), ("--keep", "3"), ("--column", "p")):
        ran = run("build_set", "--pool", pool, "--n", "1", "--seed", "1", *option)
        assert (ran.code, f"{option[0]} is for candidates" in ran.err) == (2, True)


def test_a_fault_of_a_whole_file_names_the_file(files: tuple[str, str], tmp_path: Path) -> None:
    pool, _candidates = files
    bare = str(write_csv(tmp_path / "bare.csv", pool_rows(3)))
    ran = run(
        "build_set", "--pool", pool, "--n", "1", "--adversarial", bare, "--adversarial-n", "1", "--seed", "1"
    )
    assert ran.code == 1
    assert ran.err.startswith("error: bare.csv: The file lacks the column")
    assert "--column" in ran.err
