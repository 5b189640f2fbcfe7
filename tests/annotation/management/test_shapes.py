"""Commands that read and write the shapes of other programs."""

import json
import zipfile
from pathlib import Path

import pytest

from annotation.models import Annotation, AuditEntry, Campaign, Item, User
from annotation.services.peeks import peeks_of
from tests.annotation.services.test_shapes import judged_compounds, judged_triples
from tests.material import (
    in_order,
    new_campaign,
    run,
    run_json,
    save,
    screens_of_work,
    sheet,
    triple_campaign,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db

ALL = ["label-studio", "doccano", "huggingface", "ckbp"]


@pytest.mark.parametrize("shape", ALL)
def test_a_campaign_moves_by_two_commands(tmp_path: Path, shape: str) -> None:
    source = judged_triples(tmp_path)
    path = tmp_path / "out.file"
    document = run_json("export", "source", "--what", "annotations", "--format", shape, "-o", path)
    assert (document["shape"], document["rows"]) == (shape, 12)
    assert document["judgements"] + document["left_out"] == 24
    assert document["not_carried"]
    new_campaign(slug="target")
    looked = run_json("import_items", "target", path, "--shape", shape, "--dry-run")
    assert (looked["added"], looked["judgements"], Item.objects.filter(campaign__slug="target").count()) == (
        12, document["judgements"], 0,
    )  # fmt: skip
    told = run_json("import_items", "target", path)  # recognised
    assert (told["shape"], told["added"], told["stored"]) == (shape, 12, True)
    assert (told["judgements"], told["errors"]) == (document["judgements"], [])
    assert in_order(Campaign.objects.get(slug="target")) == in_order(source)
    again = run_json("import_items", "target", path)
    assert (again["added"], again["judgements"], again["judgements_unchanged"]) == (
        0,
        0,
        document["judgements"],
    )


@pytest.mark.parametrize("shape", ["crowdkit", "nltk"])
def test_judgements_alone_go_to_items_that_are_there(tmp_path: Path, shape: str) -> None:
    judged_triples(tmp_path)
    items = tmp_path / "items.json"
    judgements = tmp_path / f"judgements.{'csv' if shape == 'crowdkit' else 'tsv'}"
    run_json("export", "source", "--what", "items", "--format", "label-studio", "-o", items)
    ran = run("export", "source", "--what", "annotations", "--format", shape, "-o", judgements)
    assert "Not in the file: 1 answer “cannot judge”." in ran.err
    assert "not carried by" in ran.err
    new_campaign(slug="target")
    run_json("import_items", "target", items)
    told = run_json("import_annotations", "target", judgements, "--shape", shape)
    assert (told["shape"], told["added"], told["errors"]) == (shape, 23, [])
    assert told["not_carried"]
    assert run_json("import_annotations", "target", judgements, "--shape", shape)["unchanged"] == 23


def test_judgements_of_an_item_that_cannot_be_read_are_not_passed_over(tmp_path: Path) -> None:
    judged_triples(tmp_path)
    path = tmp_path / "all.json"
    run_json("export", "source", "--what", "annotations", "--format", "label-studio", "-o", path)
    path.write_bytes(path.read_bytes().replace(b'"relation": "xNeed"', b'"relation": "xneed"', 1))
    ran = run("import_annotations", "source", path, "--json")
    assert ran.code == 1
    assert "“xneed” is no relation" in ran.document["errors"][0]["message"]


def test_people_get_a_summary_that_says_what_is_missing(tmp_path: Path) -> None:
    judged_triples(tmp_path)
    path = tmp_path / "all.jsonl"
    run_json("export", "source", "--what", "annotations", "--format", "doccano", "-o", path)
    new_campaign(slug="target")
    out = run("import_items", "target", path).out
    assert "all.jsonl (doccano): 12 items, 12 added, 0 there already; 24 judgements by 2 people." in out
    assert "not carried by doccano: Several labels" in out


def test_names_are_asked_for_and_recorded(tmp_path: Path) -> None:
    judged_triples(tmp_path)
    plain = run("export", "source", "--what", "annotations", "--format", "crowdkit").out
    assert "A1" in plain
    assert "ada" not in plain
    assert not AuditEntry.objects.filter(action="names exported").exists()
    named = run("export", "source", "--what", "annotations", "--format", "crowdkit", "--names").out
    assert "ada" in named
    assert AuditEntry.objects.get(action="names exported").detail == {"format": "crowdkit"}


def test_taking_answers_along_while_others_judge_is_a_look(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 3, experts=["ada", "bo"])
    first = next(screens_of_work(campaign))[0]
    save(sheet([first]), first.expert_id)
    run("export", "main", "--what", "items", "--format", "doccano")
    assert peeks_of(campaign) == []
    run("export", "main", "--what", "annotations", "--format", "doccano")
    assert [peek.kind for peek in peeks_of(campaign)] == ["annotations"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "source", "--what", "labels", "--format", "ckbp"),
        ("export", "source", "--what", "annotations", "--format", "ckbp", "--history"),
        ("export", "source", "--what", "annotations", "--format", "ckbp", "--wide"),
        ("export", "source", "--what", "items", "--format", "csv", "--system", "base"),
        ("export", "source", "--what", "annotations", "--format", "csv", "--run", ""),
        ("export", "source", "--what", "annotations", "--format", "jsonl", "--names"),
        ("export", "source", "--what", "annotations", "--format", "doccano", "--names", "--pseudonyms"),
        ("export", "source", "--what", "items", "--format", "doccano", "--names"),
        ("import_items", "source", "a.csv", "b.csv"),
        ("import_annotations", "source", "a.csv", "b.csv"),
        ("import_items", "source", "a.csv", "--column", "x"),
        ("import_items", "source", "a.csv", "--shape", "ckbp", "--on-conflict", "replace"),
        ("import_annotations", "source", "a.csv", "--shape", "crowdkit", "--by-position"),
    ],
)
def test_calls_that_cannot_work_end_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    judged_triples(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("head,relation,tail\na,xWant,b\n")
    assert run(*arguments, "--json").code == 2


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.json", b'[{"data": {"head": 1, "head": 2}}]', "twice"),
        ("a.zip", b"PK\x05\x06" + b"\0" * 18, "no file"),
        ("a.zip", b"PK\x03\x04" + b"\0" * 40, "zip archive is damaged"),
    ],
)
def test_a_bad_file_ends_with_1_and_its_place(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    new_campaign()
    path = tmp_path / name
    path.write_bytes(content)
    ran = run("import_items", "main", path, "--shape", "label-studio", "--json")
    assert ran.code == 1
    assert sentence in ran.document["errors"][0]["message"]
    missing = run("import_items", "main", tmp_path / "none.json", "--shape", "label-studio", "--json")
    assert missing.code == 1


def test_it_reads_the_published_files_of_ckbp(tmp_path: Path) -> None:
    names = ("ckbp2.0.csv", "human1.csv", "human2.csv")
    new_campaign()
    told = run_json("import_items", "main", *(shared(f"data/ckbp/{name}") for name in names), "--dry-run")
    assert (told["shape"], told["added"], told["judgements"], told["errors"]) == ("ckbp", 5006, 10012, [])


def test_it_reads_the_published_files_of_cognition(tmp_path: Path) -> None:
    new_campaign("compound")
    names = ("NP.en", "NP.compound", "NP.zh", "NP-git.xlsx")
    paths = [shared(f"data/cognition/{name}") for name in names]
    told = run_json("import_items", "main", *paths, "--annotator", "mei", "--dry-run")
    assert (told["shape"], told["errors"]) == ("cognition", [])
    n = len(paths[0].read_text(encoding="utf-8").splitlines())
    assert (told["rows"], told["judgements"], told["annotators"]) == (n, n, ["mei"])


def test_it_reads_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text("---\nconfigs:\n- config_name: x\n  data_files: data/a.csv\n---\n")
    (folder / "data" / "a.csv").write_text("head,relation,tail\na,xWant,b\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("")
    new_campaign()
    assert run_json("import_items", "main", folder)["added"] == 1
    (folder / "data" / "b.csv").symlink_to("/etc/hostname")
    ran = run("import_items", "main", folder, "--json")
    assert (ran.code, "leads out of the folder" in ran.document["errors"][0]["message"]) == (1, True)


def test_it_writes_one_system_of_several(tmp_path: Path) -> None:
    judged_compounds(tmp_path, k=1)
    path = tmp_path / "large.zip"
    refused = run("export", "source", "--what", "annotations", "--format", "cognition", "-o", path, "--json")
    assert refused.code == 1
    assert "large/1" in refused.document["errors"][0]["message"]
    told = run_json(
        "export", "source", "--what", "annotations", "--format", "cognition", "--system", "base", "-o", path
    )
    assert (told["rows"], told["judgements"]) == (10, 10)
    with zipfile.ZipFile(path) as archive:
        assert "source-base.xlsx" in archive.namelist()


@pytest.mark.parametrize("shape", ["cognition", "label-studio"])
def test_a_system_that_is_not_there_is_refused(tmp_path: Path, shape: str) -> None:
    judged_compounds(tmp_path, k=1)
    call = ("export", "source", "--what", "annotations", "--format", shape, "--names", "-o", tmp_path / "out")
    ran = run(*call, "--system", "nope", "--json")
    assert ran.code == 1
    assert "“nope”; there are: base; large; large/1" in ran.document["errors"][0]["message"]
    assert not (tmp_path / "out").exists()
    assert not AuditEntry.objects.filter(action="names exported").exists()
    assert run(*call, "--system", "large", "--run", "", "--json").document["rows"] == 10


def test_it_counts_the_verdicts_that_are_written(tmp_path: Path) -> None:
    campaign = judged_compounds(tmp_path)
    path = tmp_path / "out.zip"
    call = ("export", "source", "--what", "annotations", "--format", "cognition", "--system", "base")
    told = run_json(*call, "-o", path)
    assert (told["judgements"], told["left_out_by_reason"]) == (10, {"further_verdict": 10})
    ran = run(*call, "-o", path)
    assert "10 items and 10 judgements written" in ran.out
    assert "Not in the file: 10 further verdicts; the shape holds one an item." in ran.err
    target = new_campaign("compound", slug="target", k=campaign.rounds.get().k)
    assert run_json("import_items", target.slug, path, "--system", "base")["judgements"] == 10


def test_judgements_are_looked_at_before_they_are_stored(tmp_path: Path) -> None:
    judged_triples(tmp_path)
    items, judgements = tmp_path / "items.json", tmp_path / "judgements.csv"
    run_json("export", "source", "--what", "items", "--format", "label-studio", "-o", items)
    run_json("export", "source", "--what", "annotations", "--format", "crowdkit", "-o", judgements)
    table = tmp_path / "table.csv"
    run_json("export", "source", "--what", "annotations", "--format", "csv", "--pseudonyms", "-o", table)
    new_campaign(slug="target")
    run_json("import_items", "target", items)
    for path, n in ((judgements, 23), (table, 24)):
        assert run_json("import_annotations", "target", path, "--dry-run")["added"] == n
        assert (
            f"{n} judgements new, 0 there already. Nothing was stored."
            in run("import_annotations", "target", path, "--dry-run").out
        )
    assert not Annotation.objects.filter(assignment__round__campaign__slug="target").exists()
    assert not User.objects.filter(username="A1").exists()


def test_judgements_come_from_several_files(tmp_path: Path) -> None:
    record = {"text": "x", "meta": {"triple_id": "t1", "head": "a", "relation": "xWant", "tail": "b"}}
    for name, label in (("mei", "1"), ("lin", "0")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(record | {"label": [label]}))
    (tmp_path / "items.csv").write_text("triple_id,head,relation,tail\nt1,a,xWant,b\n")
    new_campaign()
    run_json("import_items", "main", tmp_path / "items.csv")
    files = (tmp_path / "mei.jsonl", tmp_path / "lin.jsonl")
    told = run_json("import_annotations", "main", *files, "--shape", "doccano")
    assert (told["added"], sorted(told["annotators"])) == (2, ["lin", "mei"])


def test_no_file_is_taken_for_another_programs_by_mistake(tmp_path: Path) -> None:
    """The tables that this program writes and reads itself stay tables."""
    judged_triples(tmp_path)
    new_campaign(slug="target")
    for what, command in (("items", "import_items"), ("annotations", "import_annotations")):
        for form in ("csv", "jsonl", "xlsx"):
            path = tmp_path / f"{what}.{form}"
            run_json("export", "source", "--what", what, "--format", form, "-o", path)
            assert "shape" not in run_json(command, "target", path)
    assert Annotation.objects.filter(assignment__round__campaign__slug="target").exists()
    assert json.dumps(sorted(User.objects.values_list("username", flat=True)))
