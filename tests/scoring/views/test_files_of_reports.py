"""Statistics with a training set and BLEU of any test set: by page, by program and by command."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from annotation.models import Campaign, Item, Membership, User
from annotation.services.people import add_member
from scoring.records import records
from scoring.reports import as_latex, as_markdown
from tests.factories import make_user
from tests.material import compounds, load_rows, new_campaign, run, run_json
from tests.pages import body_of, client_of, text_of
from tests.scoring.stats.released import triples
from tests.shared import case, expected, shared

pytestmark = pytest.mark.django_db

REPORTS = "/campaigns/main/reports/"
API = "/api/v1/campaigns/main/reports/"
NODES = b"eat\nrest\n"
ROWS = (
    ("eat", "rest", "test_set", "1"), ("eat", "run", "test_set", "0"), ("bark", "rest", "cs_head", "0"),
    ("bark", "fly", "adv", "1"),
)  # fmt: skip


@pytest.fixture
def mei() -> User:
    return make_user("mei")


@pytest.fixture
def four(mei: User, tmp_path: Path) -> Campaign:
    """Four labelled triples."""
    made = new_campaign()
    rows = [
        {
            "head": head,
            "relation": "xWant",
            "tail": tail,
            "class": item_class,
            "split": "test",
            "label": label,
        }
        for head, tail, item_class, label in ROWS
    ]
    load_rows(made, rows, tmp_path)
    add_member(made, mei, Membership.Role.MANAGER)
    return made


@pytest.fixture
def one(mei: User, tmp_path: Path) -> Campaign:
    """One compound, for reports of texts that are none of its own."""
    made = new_campaign("compound")
    load_rows(made, compounds(1), tmp_path, system="base")
    add_member(made, mei, Membership.Role.MANAGER)
    return made


def sent(data: bytes, name: str = "nodes.txt") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def unseen(document: Any) -> dict[str, float | None]:
    return {row["value"]: row["unseen_percent"] for row in document["rows"]}


# The training set


def test_the_command_takes_nodes_or_triples(four: Campaign, tmp_path: Path) -> None:
    assert set(unseen(run_json("report", "main", "--kind", "statistics")).values()) == {None}
    nodes, train = tmp_path / "nodes.txt", tmp_path / "train.csv"
    nodes.write_bytes(NODES)
    train.write_text("head,relation,tail\neat,xWant,rest\n")
    document = run_json("report", "main", "--kind", "statistics", "--training", nodes)
    # eat, rest, run, bark, fly: two of five are known; of the two stored as in-domain eat and rest, not run.
    assert unseen(document)["all"] == pytest.approx(60)
    assert unseen(document)["test_set"] == pytest.approx(100 / 3)
    assert document["training"] == {"name": "nodes.txt", "sha256": document["training"]["sha256"], "nodes": 2}
    assert "training:2" in document["signature"]
    assert "derived" not in document
    by_triples = run_json("report", "main", "--kind", "statistics", "--training", train)
    assert by_triples["rows"] == document["rows"]


def test_classes_are_derived_on_request_and_stored_ones_stay(four: Campaign, tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_bytes(NODES)
    asked = ("report", "main", "--kind", "statistics", "--derive-classes")
    ran = run(*asked, "--json")
    assert (ran.code, "--training" in ran.err) == (1, True)
    document = run_json(*asked, "--training", tmp_path / "nodes.txt")
    derived = document["derived"]
    assert {(one["stored"], one["derived"]): one["n"] for one in derived["crossings"]} == {
        ("test_set", "test_set"): 1, ("test_set", "cs_head"): 1, ("cs_head", "all_head"): 1,
        ("adv", "all_head"): 1,
    }  # fmt: skip
    assert (derived["compared"], derived["other_class"], derived["other_group"]) == (3, 2, 1)
    groups = {row["value"]: row["n"] for row in derived["rows"] if row["by"] == "group"}
    assert groups == {"ID": 1, "OOD": 2, "Adv": 1}
    assert [row["n"] for row in document["rows"] if row["by"] == "group"] == [2, 1, 1]
    stored = Item.objects.order_by("position").values_list("item_class", flat=True)
    assert list(stored) == [row[2] for row in ROWS]
    shown = as_markdown("statistics", document)
    assert "| test_set | 1 | 1 | 0 |" in shown
    assert "derived under another class: 2; of these in the other domain: 1" in shown
    assert r"\caption{Stored class by derived class}" in as_latex("statistics", document)
    rows = {(row["by"], row["value"]): row for row in records("statistics", document)}
    assert rows["derived group", "OOD"]["plausible"] == 0
    assert rows["stored by derived class", "test_set → cs_head"]["n"] == 1


def test_a_bad_training_file_is_refused_with_its_line(four: Campaign, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("head,tail\neat,\n")
    ran = run("report", "main", "--kind", "statistics", "--training", tmp_path / "train.csv", "--json")
    assert ran.code == 1
    assert (ran.document["errors"][0]["line"], ran.document["errors"][0]["column"]) == (2, "tail")
    missing = run("report", "main", "--kind", "statistics", "--training", tmp_path / "none")
    assert (missing.code, "cannot be opened" in missing.err) == (1, True)


def test_the_page_has_the_table_at_once_and_takes_a_file(mei: User, four: Campaign) -> None:
    client, page = client_of(mei), f"{REPORTS}statistics/"
    first = client.get(page)
    assert first.status_code == 200
    assert "% unseen needs a training set" in text_of(first)
    assert f'href="{page[:-1]}.csv' in body_of(first)
    with_nodes = client.post(page, {"training": sent(NODES)})
    assert with_nodes.status_code == 200
    assert re.search(r"all 4 2 50\.00 [\d. –]+ 60\.00", text_of(with_nodes))
    assert "not among the 2 nodes of nodes.txt" in text_of(with_nodes)
    assert f'href="{page[:-1]}.csv' not in body_of(with_nodes)  # it would be of no file
    derived = text_of(client.post(page, {"training": sent(NODES), "derive_classes": "on"}))
    assert "Triples stored as ID or OOD: 3; derived under another class: 2;" in derived
    file = client.post(page, {"training": sent(NODES), "derive_classes": "on", "as": "json"}).json()
    assert file["derived"]["nodes"] == 2
    bad = client.post(page, {"training": sent(b"head,tail\neat,\n")})
    assert bad.status_code == 400
    assert "line 2, column “tail”" in text_of(bad)
    assert "% unseen needs a training set" in text_of(bad)
    assert client.post(page, {}).status_code == 400


def test_programs_send_the_training_set(mei: User, four: Campaign) -> None:
    programs = APIClient()
    programs.force_authenticate(mei)
    data = {"training": sent(NODES), "derive_classes": "true"}
    document = programs.post(f"{API}statistics/", data, format="multipart").json()
    assert unseen(document)["all"] == pytest.approx(60)
    assert document["derived"]["other_group"] == 1
    bad = programs.post(f"{API}statistics/", {"derive_classes": "true"}, format="multipart")
    assert bad.status_code == 400


def test_the_released_triples_by_a_training_set(tmp_path: Path) -> None:
    made = new_campaign()
    run_json("import_items", made.slug, shared("data/ckbp/ckbp2.0.csv"))
    heads = {row["head"] for row in triples()}
    (tmp_path / "nodes.txt").write_text("\n".join(sorted(heads)), encoding="utf-8")
    document = run_json("report", made.slug, "--kind", "statistics", "--training", tmp_path / "nodes.txt")
    nodes = heads | {row["tail"] for row in triples()}
    assert unseen(document)["all"] == pytest.approx(100 * (1 - len(heads) / len(nodes)))


# Texts


CASES = {
    "c36_bleu_subword_output.tsv": ("c36", "clean"),
    "c37_bleu_empty_output.tsv": ("c37", "keep"),
    "c38_bleu_pairs_axes.tsv": ("c38", "right"),
    "c53_bleu_pairs_segmenter.tsv": ("c53", "char"),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_plain_test_set_scores_the_same_by_every_entrance(
    name: str, mei: User, one: Campaign, tmp_path: Path
) -> None:
    wanted = pytest.approx(expected(CASES[name][0])[CASES[name][1]], abs=1e-4)
    table = shared(f"cases/{name}")
    rows = case(name)
    texts = {
        "hypotheses": "".join(f"{row['translation']}\n" for row in rows).encode(),
        "references": "".join(f"{row['reference']}\n" for row in rows).encode(),
    }
    for option, data in texts.items():
        (tmp_path / option).write_bytes(data)
    by_table = run_json("report", "main", "--kind", "bleu", "--texts", table)
    by_lines = run_json("report", "main", "--kind", "bleu", *(
        part for option in texts for part in (f"--{option}", tmp_path / option)
    ))  # fmt: skip
    programs = APIClient()
    programs.force_authenticate(mei)
    by_program = programs.post(
        f"{API}bleu/", {"texts": sent(table.read_bytes(), name)}, format="multipart"
    ).json()
    by_page = client_of(mei).post(
        f"{REPORTS}texts/", {**{option: sent(data) for option, data in texts.items()}, "as": "json"}
    ).json()  # fmt: skip
    for document in (by_table, by_lines, by_program, by_page):
        assert (document["score"], document["n"], document["left_out"]) == (wanted, 5, 0)
        assert "tok:char" in document["signature"]
        assert document["chrf"]["score"] == pytest.approx(by_table["chrf"]["score"])
        assert document["chrf"]["signature"].startswith("nrefs:1")
    assert by_table["files"][0]["name"] == name
    assert f"| {name} | 5 | 0 | {by_table['score']:.2f} |" in as_markdown("bleu", by_table)
    assert records("bleu", by_table)[0]["files"] == name
    assert any("line 3" in warning for warning in by_table["warnings"]) is (name[:3] == "c37")


def test_an_empty_reference_is_refused_by_name(mei: User, one: Campaign, tmp_path: Path) -> None:
    data = "translation,reference\n狗,狗。\n猫,\n鸟,\n".encode()
    (tmp_path / "t.csv").write_bytes(data)
    ran = run("report", "main", "--kind", "bleu", "--texts", tmp_path / "t.csv", "--json")
    assert ran.code == 1
    assert ran.document["errors"][0]["line"] == 3
    assert {"system", "run", "n", "left_out", "score", "signature"} < set(ran.document)
    assert "2 pairs have an empty reference, lines 3, 4" in ran.err
    page = client_of(mei).post(f"{REPORTS}texts/", {"texts": sent(data, "t.csv")})
    assert page.status_code == 400
    assert "2 pairs have an empty reference, lines 3, 4" in text_of(page)


def test_texts_come_in_one_of_two_ways(mei: User, one: Campaign, tmp_path: Path) -> None:
    (tmp_path / "hyp").write_text("a\n")
    for options in (["--hypotheses"], ["--references"], ["--hypotheses", "--texts"]):
        given = [part for option in options for part in (option, tmp_path / "hyp")]
        ran = run("report", "main", "--kind", "bleu", *given)
        assert (ran.code, "--texts" in ran.err) == (1, True)
    client = client_of(mei)
    page = client.get(f"{REPORTS}texts/")
    assert page.status_code == 200
    assert text_of(client.get(REPORTS)).count("BLEU of any test set") == 1
    refused = client.post(f"{REPORTS}texts/", {"hypotheses": sent(b"a\n")})
    assert (refused.status_code, "Choose one table" in text_of(refused)) == (400, True)
    shown = text_of(
        client.post(f"{REPORTS}texts/", {"hypotheses": sent(b"ab\n"), "references": sent(b"ab\n")})
    )
    assert "over 1 translation" in shown
    assert "Signature: nrefs:1|case:mixed|eff:no|tok:char" in shown
