"""Items come back from a campaign's own export as they went in, code point for code point."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from annotation.models import (
    Item,
    Output,
)
from annotation.services.parts import assign_parts
from tests.material import (
    Rows,
    answer_everything,
    as_csv,
    compounds,
    exported,
    in_order,
    load,
    load_rows,
    new_campaign,
    run_json,
    triples,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db


def astral_rows() -> list[dict[str, object]]:
    lines = shared("cases/c52_astral_text.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines if line]
    return [
        {
            "item_id": record["item_id"],
            "compound": record["source"].split()[1],
            "source": record["source"],
            "translation": record["translation"],
            "note": record.get("note", ""),
        }
        for record in records
    ]


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
def test_it_keeps_rare_characters_code_point_for_code_point(form: str, tmp_path: Path) -> None:
    rows = astral_rows()
    campaign = new_campaign("compound")
    load_rows(campaign, [{k: v for k, v in row.items() if k != "note"} for row in rows], tmp_path)
    (tmp_path / f"copy.{form}").write_bytes(exported(campaign, "items", form))
    again = new_campaign("compound", slug="again")
    load(again, tmp_path / f"copy.{form}")
    assert [row[2] for row in in_order(again)] == [row["translation"] for row in rows]
    assert in_order(again) == in_order(campaign)


def without(rows: Rows, *names: str) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def labelled_triples() -> list[dict[str, object]]:
    rows = triples(6, split="test", label="1")
    classes = ("test_set", "cs_head", "all_head", "adv", "adv", "test_set")
    for i, (row, item_class) in enumerate(zip(rows, classes, strict=True)):
        row |= {"class": item_class, "split": ("dev", "test")[i % 2], "label": ("0", "1", "")[i % 3]}
    return rows


def two_systems() -> list[dict[str, object]]:
    large = compounds(3, system="large", run="seed 2")
    for row in large[::2]:
        row["translation"] = f"{row['translation']}！"
    return compounds(3, system="base", run="") + large


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
@pytest.mark.parametrize(
    ("protocol", "make"),
    [
        ("triple", labelled_triples),
        ("triple", lambda: without([*triples(4), triples(4)[1]], "triple_id")),
        ("compound", lambda: compounds(3)),
        ("compound", lambda: without(compounds(3), "item_id", "reference")),
        ("compound", lambda: without(compounds(3), "item_id", "context_no")),
        ("compound", two_systems),
    ],
    ids=["triples", "triples without ids", "compounds", "without ids", "without numbers", "two systems"],
)
def test_it_gives_the_same_items_again_from_its_own_export(
    protocol: str, make: Callable[[], list[dict[str, object]]], form: str, tmp_path: Path
) -> None:
    campaign = new_campaign(protocol)
    assert load_rows(campaign, make(), tmp_path).stored
    copy = tmp_path / f"copy.{form}"
    copy.write_bytes(exported(campaign, "items", form))
    again = new_campaign(protocol, slug="again")
    found = load(again, copy)
    assert found.stored, found.errors
    if protocol == "compound":  # a number that was given by place is stated from now on
        assert [row[2:] for row in in_order(again)] == [row[2:] for row in in_order(campaign)]
        outputs = Output.objects.order_by("pk").values_list(
            "system__name", "run", "context__source", "translation"
        )
        assert list(outputs.filter(system__campaign=again)) == list(outputs.filter(system__campaign=campaign))
    else:
        assert in_order(again) == in_order(campaign)
    assert load(again, copy).unchanged == found.rows
    assert exported(again, "items", "jsonl") == exported(campaign, "items", "jsonl")


def test_it_reads_back_a_table_of_chinese_with_its_mark(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    data = exported(campaign, "items", "csv")
    assert data.startswith(b"\xef\xbb\xbf")
    (tmp_path / "marked.csv").write_bytes(data)
    found = load(campaign, tmp_path / "marked.csv")
    assert (found.stored, found.unchanged, found.added) == (True, 5, 0)


def test_it_shows_without_storing_what_a_file_would_change(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(2), tmp_path)
    found = load_rows(campaign, triples(4), tmp_path, dry_run=True)
    assert (found.stored, found.added, found.unchanged) == (False, 2, 2)
    assert Item.objects.count() == 2
    assert as_csv(triples(4)).count("\n") == 5


@pytest.mark.parametrize("protocol", ["triple", "compound"])
def test_items_with_and_without_ids_come_back_as_they_are(protocol: str, tmp_path: Path) -> None:
    """Where only some files had ids, exports name the other items by their texts, and imports know them again."""
    campaign = new_campaign(protocol, k=1)
    rows = triples(2) if protocol == "triple" else compounds(2)
    load_rows(campaign, rows, tmp_path)
    id_column = "triple_id" if protocol == "triple" else "item_id"
    if protocol == "triple":
        more = [{**row, "tail": f"{row['tail']} again"} for row in triples(2)]
    else:
        more = [
            {**row, "compound": f"{row['compound']} x", "source": f"{row['source']} {row['compound']} x"}
            for row in rows
        ]
    load_rows(campaign, without([*more, more[0]] if protocol == "triple" else more, id_column), tmp_path)
    n = Item.objects.count()
    (tmp_path / "copy.csv").write_bytes(exported(campaign, "items", "csv"))
    keys = [row[id_column] for row in csv.DictReader((tmp_path / "copy.csv").open(encoding="utf-8-sig"))]
    assert all(keys)
    again = load(campaign, tmp_path / "copy.csv")
    assert (again.added, again.unchanged, again.conflicts) == (0, n, ())
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    (tmp_path / "judged.csv").write_bytes(exported(campaign, "annotations", "csv"))
    report = run_json("import_annotations", campaign.slug, tmp_path / "judged.csv")
    assert (report["added"], report["unchanged"]) == (0, n)


def test_compounds_without_ids_and_numbers_are_known_again(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(2), "item_id", "context_no"), tmp_path)
    (tmp_path / "copy.csv").write_bytes(exported(campaign, "items", "csv"))
    again = load(campaign, tmp_path / "copy.csv")
    assert (again.added, again.unchanged, again.conflicts) == (0, 10, ())
