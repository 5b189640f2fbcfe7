"""Building a set from files: what it holds, where each item came from, storing it whole or not at all."""

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotation.models import AuditEntry, Campaign, ImportBatch, Item
from annotation.protocol.candidates import CandidateWish, Filter
from annotation.protocol.errors import ProtocolError
from annotation.protocol.evaluation_set import SampleWish
from annotation.services import evaluation_sets, imports
from annotation.services.errors import Refused
from annotation.services.evaluation_sets import BuiltSet, SetWish, Source, Sources, UnusableRows, build, save
from annotation.services.exports import names_of, table
from annotation.services.fix_text import fix_text
from tests.factories import make_user
from tests.material import as_csv, load, new_campaign, write_csv
from tests.shared import shared

pytestmark = pytest.mark.django_db

RELATIONS = ("xWant", "xNeed", "Causes", "general Want")
Row = dict[str, object]


def pool_rows(n: int, **more: object) -> list[Row]:
    return [
        {"head": f"PersonX reads book {i}", "relation": RELATIONS[i % 4], "tail": f"to end page {i}", **more}
        for i in range(n)
    ]


def candidate_rows(n: int, **more: object) -> list[Row]:
    return [
        {"head": f"PersonY eats {i}", "relation": "xWant", "tail": f"to eat {i % 7}", "score": 0.8 + 0.2 * i / n,
         **more}
        for i in range(n)
    ]  # fmt: skip


def file(folder: Path, name: str, rows: list[Row]) -> Source:
    return Source(name=name, path=write_csv(folder / name, rows))


def both(
    folder: Path, *, seed: int = 7, pool: list[Row] | None = None, candidates: list[Row] | None = None
) -> BuiltSet:
    """A sample of 15 and 10 candidates."""
    sources = Sources(
        pool=file(folder, "pool.csv", pool_rows(80) if pool is None else pool),
        candidates=file(folder, "candidates.csv", candidate_rows(60) if candidates is None else candidates),
    )
    return build(sources, SetWish(seed=seed, sample=SampleWish(n=15), candidates=CandidateWish(n=10)))


def rows_of(built: BuiltSet) -> list[dict[str, Any]]:
    return [dict(zip(built.columns, row, strict=True)) for row in built.rows]


def origins(built: BuiltSet) -> list[dict[str, Any]]:
    return [json.loads(row["origin"]) for row in rows_of(built)]


def saved(campaign: Campaign, built: BuiltSet, folder: Path) -> Path:
    path = folder / "set.csv"
    path.write_bytes(b"".join(built.csv()))
    save(campaign, path, built.document, name="set.csv")
    return path


# Building


def test_it_holds_the_sample_and_then_the_candidates_each_with_its_class_and_origin(tmp_path: Path) -> None:
    built = both(tmp_path)
    rows = rows_of(built)
    assert Counter(row["class"] for row in rows) == {"test_set": 15, "adv": 10}
    assert [row["class"] for row in rows] == ["test_set"] * 15 + ["adv"] * 10
    pool = dict(enumerate(pool_rows(80), start=2))
    for row, origin in list(zip(rows, origins(built), strict=True))[:15]:
        assert (origin["why"], origin["file"], origin["seed"]) == ("sample", "pool.csv", 7)
        assert row["head"] == pool[origin["line"]]["head"]
    candidates = dict(enumerate(candidate_rows(60), start=2))
    for row, origin in list(zip(rows, origins(built), strict=True))[15:]:
        assert set(origin) == {"why", "file", "line", "seed", "score", "self_bleu", "filter"}
        assert candidates[origin["line"]]["head"] == row["head"]
        assert origin["score"] == candidates[origin["line"]]["score"]
        assert origin["score"] >= 0.9


def test_the_class_and_the_label_of_the_pool_are_kept_but_not_as_a_label_of_the_campaign(
    tmp_path: Path,
) -> None:
    built = both(tmp_path, pool=pool_rows(80, **{"class": "cs_head", "label": "1", "split": "tst"}))
    assert "label" not in built.columns
    assert {row["class"] for row in rows_of(built)} == {"cs_head", "adv"}
    assert [origin.get("label") for origin in origins(built)] == ["1"] * 15 + [None] * 10


def test_ids_are_kept_where_every_item_has_one_of_its_own(tmp_path: Path) -> None:
    with_ids: list[Row] = [row | {"triple_id": f"p{i}"} for i, row in enumerate(pool_rows(80))]
    alone = both(tmp_path, pool=with_ids)
    assert "triple_id" not in alone.columns
    assert all(origin["id"].startswith("p") for origin in origins(alone)[:15])
    scored: list[Row] = [row | {"triple_id": f"c{i}"} for i, row in enumerate(candidate_rows(60))]
    assert both(tmp_path, pool=with_ids, candidates=scored).columns[0] == "triple_id"
    clashing: list[Row] = [row | {"triple_id": f"p{i % 4}"} for i, row in enumerate(candidate_rows(60))]
    assert "triple_id" not in both(tmp_path, pool=with_ids, candidates=clashing).columns


def test_the_same_files_and_seed_make_the_same_bytes(tmp_path: Path) -> None:
    first, again = both(tmp_path), both(tmp_path)
    assert b"".join(first.csv()) == b"".join(again.csv())
    assert first.document == again.document
    assert b"".join(both(tmp_path, seed=8).csv()) != b"".join(first.csv())


def test_the_document_says_what_it_is_made_of(tmp_path: Path) -> None:
    document = both(tmp_path).document
    json.dumps(document, allow_nan=False)
    assert document["n"] == 25
    assert [(one["part"], one["name"], one["rows"]) for one in document["files"]] == [
        ("pool", "pool.csv", 80), ("candidates", "candidates.csv", 60),
    ]  # fmt: skip
    assert document["files"][0]["sha256"] == hashlib.sha256((tmp_path / "pool.csv").read_bytes()).hexdigest()
    assert document["sample"] == {
        "n": 15, "rows": 80, "distinct": 60, "repeats": 0, "contradicting": 0,
        "left_out": {"general Effect": 0, "general Want": 20, "general React": 0},
    }  # fmt: skip
    by_relation = {
        row["relation"]: (row["available"], row["sampled"], row["chosen"]) for row in document["by_relation"]
    }
    assert by_relation == {"Causes": (20, 5, 0), "xNeed": (20, 5, 0), "xWant": (20, 5, 10)}
    assert document["by_class"] == [{"class": "adv", "n": 10}, {"class": "test_set", "n": 15}]
    assert sum(band["chosen"] for band in document["by_score"]) == 10
    assert sum(band["available"] for band in document["by_score"]) == 30
    assert (document["by_score"][0]["low"], document["by_score"][-1]["high"]) == (0.9, 1.0)
    assert sum(document["candidates"]["dropped"].values()) == 50
    assert document["warnings"] == []
    assert document["settings"] == {
        "leave_out": ["general Effect", "general Want", "general React"], "n": 15, "minimum": 0, "adversarial_n": 10,
        "threshold": 0.9, "above": False, "filter": "self-bleu", "class": "adv", "keep": None,
    }  # fmt: skip


def test_what_seems_wrong_is_reported_with_its_place(tmp_path: Path) -> None:
    pool: list[Row] = [
        {"head": "s invite", "relation": "xWant", "tail": "personx goes"},
        {"head": "to go", "relation": "xWant", "tail": "to go"},
    ]
    built = build(
        Sources(pool=file(tmp_path, "pool.csv", pool)),
        SetWish(seed=1, sample=SampleWish(n=2, leave_out=("xwant",))),
    )
    assert [(one["slip"], one["n"], one["first"][0]["line"]) for one in built.document["slips"]] == [
        ("head_is_tail", 1, 3), ("placeholder", 1, 2), ("apostrophe", 1, 2),
    ]  # fmt: skip
    said = [str(warning["message"]) for warning in built.document["warnings"]]
    assert said[0] == "“xwant” is left out, but no row of the pool has it: mind its spelling."
    assert len(said) == 4


def test_relations_that_come_away_empty_and_labels_that_contradict_are_pointed_out(tmp_path: Path) -> None:
    pool = pool_rows(400, label="1")
    pool += [{"head": "a", "relation": "xReason", "tail": "b", "label": "1"}]
    pool += [row | {"label": "0"} for row in pool[:2]]
    chosen = [row | {"score": 0.99} for row in pool[:400] if row["relation"] == "xWant"]
    sources = Sources(
        pool=file(tmp_path, "pool.csv", pool), candidates=file(tmp_path, "candidates.csv", chosen)
    )
    wish = SetWish(seed=1, sample=SampleWish(n=30), candidates=CandidateWish(n=40))
    said = [str(warning["message"]) for warning in build(sources, wish).document["warnings"]]
    assert said == [
        "The sample holds no item of xReason: ask for at least 1 of each relation if it should.",
        "2 rows of the pool repeat a triple with another label; the first rows count.",
        "40 of the candidates chosen stand in the pool too, though not in the sample.",
    ]


def test_candidates_in_training_files_are_never_chosen_whatever_blanks_are_around_them(
    tmp_path: Path,
) -> None:
    rows = candidate_rows(60)
    known = [{name: f" {row[name]}" if name == "head" else row[name] for name in ("head", "relation", "tail")}
             for row in rows[35:]]  # fmt: skip
    sources = Sources(
        candidates=file(tmp_path, "candidates.csv", rows),
        training=[file(tmp_path, "a.csv", known[:10]), file(tmp_path, "b.csv", known[10:])],
    )
    wish = SetWish(seed=1, candidates=CandidateWish(n=5, filter=Filter(kind="none")), candidate_class="")
    built = build(sources, wish)
    assert {row["head"] for row in rows_of(built)} == {row["head"] for row in rows[30:35]}
    assert {row["class"] for row in rows_of(built)} == {""}
    assert built.document["candidates"]["dropped"]["in_training"] == 25


def test_all_faults_of_all_files_come_at_once(tmp_path: Path) -> None:
    bad: list[Row] = [
        {"head": "", "relation": "xWant", "tail": "b"},
        {"head": "a", "relation": "no", "tail": "b"},
    ]
    scored: list[Row] = [{"head": "a", "relation": "xWant", "tail": "b", "score": "much"}]
    sources = Sources(
        pool=file(tmp_path, "pool.csv", bad), candidates=file(tmp_path, "candidates.csv", scored)
    )
    with pytest.raises(UnusableRows) as caught:
        build(sources, SetWish(seed=1, sample=SampleWish(n=1), candidates=CandidateWish(n=1)))
    assert [(one["file"], one["line"], one["column"]) for one in caught.value.issues] == [
        ("pool.csv", 2, "head"), ("pool.csv", 3, "relation"), ("candidates.csv", 2, "score"),
    ]  # fmt: skip
    assert str(caught.value.message) == (
        "pool.csv, line 2, column “head”: The cell is empty, but is needed. "
        "In all 3 places in the files cannot be used."
    )


@pytest.mark.parametrize(
    ("files", "wish", "sentence"),
    [
        ((), {}, "Give a pool"),
        (("pool",), {"candidates": CandidateWish(n=1)}, "A sample needs a pool, and a pool"),
        ((), {"sample": SampleWish(n=1)}, "A sample needs a pool"),
        (
            ("pool",),
            {"sample": SampleWish(n=1), "candidates": CandidateWish(n=1)},
            "Candidates need a number",
        ),
    ],
)
def test_halves_that_do_not_go_together_are_refused(
    tmp_path: Path, files: tuple[str, ...], wish: Mapping[str, Any], sentence: str
) -> None:
    pool = file(tmp_path, "pool.csv", pool_rows(4)) if "pool" in files else None
    sources = Sources(pool=pool)
    with pytest.raises(Refused, match=sentence):
        build(sources, SetWish(seed=1, **wish))


def test_training_data_without_candidates_are_refused(tmp_path: Path) -> None:
    pool = file(tmp_path, "pool.csv", pool_rows(4))
    with pytest.raises(Refused, match="Training data only matter for candidates"):
        build(Sources(pool=pool, training=[pool]), SetWish(seed=1, sample=SampleWish(n=1)))


# Storing


def test_it_is_stored_with_the_origin_of_each_item_and_written_down(tmp_path: Path) -> None:
    campaign, built = new_campaign(), both(tmp_path)
    path = saved(campaign, built, tmp_path)
    items = list(Item.objects.active().filter(campaign=campaign).order_by("position"))
    assert [item.origin for item in items] == origins(built)
    assert [(item.head, item.item_class) for item in items] == [
        (row["head"], row["class"]) for row in rows_of(built)
    ]
    entry = AuditEntry.objects.get(action=evaluation_sets.BUILT)
    assert entry.detail["n"] == 25
    assert entry.detail["settings"]["adversarial_n"] == 10
    assert ImportBatch.objects.get().sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_campaign_with_items_or_of_compounds_takes_no_set(tmp_path: Path) -> None:
    built = both(tmp_path)
    campaign = new_campaign()
    saved(campaign, built, tmp_path)
    with pytest.raises(Refused, match="holds items already"):
        saved(campaign, built, tmp_path)
    assert Item.objects.filter(campaign=campaign).count() == 25
    with pytest.raises(Refused, match="one of compounds"):
        saved(new_campaign("compound", slug="np"), built, tmp_path)


def test_of_two_at_the_same_moment_one_is_stored_and_the_other_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = new_campaign()
    saved(campaign, both(tmp_path), tmp_path)
    monkeypatch.setattr(
        evaluation_sets, "refuse_items", lambda campaign: None
    )  # it looked a moment too early
    with pytest.raises(Refused, match="holds items already"):
        saved(campaign, both(tmp_path, seed=8), tmp_path)
    assert Item.objects.count() == 25
    assert AuditEntry.objects.filter(action=evaluation_sets.BUILT).count() == 1


def test_it_is_exported_with_origins_and_comes_back_the_same(tmp_path: Path) -> None:
    campaign = new_campaign()
    saved(campaign, both(tmp_path), tmp_path)
    exported = table(campaign, "items", names=names_of(campaign, real=True))
    assert exported.columns == ("head", "relation", "tail", "class", "split", "label", "origin")
    rows = [{name: cells[name] for name in exported.columns} for cells in exported.rows()]
    again = new_campaign(slug="again")
    report = load(again, write_csv(tmp_path / "items.csv", rows))
    assert (report.added, report.errors, report.warnings) == (25, (), ())
    origins_of = {
        one.slug: list(Item.objects.filter(campaign=one).order_by("position").values_list("head", "origin"))
        for one in (campaign, again)
    }
    assert origins_of["main"] == origins_of["again"]


def test_a_campaign_without_origins_is_exported_as_ever(tmp_path: Path) -> None:
    campaign = new_campaign()
    load(campaign, write_csv(tmp_path / "items.csv", pool_rows(3)))
    exported = table(campaign, "items", names=names_of(campaign, real=True))
    assert exported.columns == ("head", "relation", "tail", "class", "split", "label")


@pytest.mark.parametrize(
    ("cell", "origin"),
    [
        ("ConceptNet", {"note": "ConceptNet"}),
        ('{"why": "sample"}', {"why": "sample"}),
        ('{"score": NaN}', {"note": '{"score": NaN}'}),
        (r'{"a": "\u0000"}', {"note": r'{"a": "\u0000"}'}),
        (r'{"a": "\ud800"}', {"note": r'{"a": "\ud800"}'}),
        ("[1]", {"note": "[1]"}),
        ("", {}),
    ],
)
def test_an_origin_in_anybodys_words_is_a_note(tmp_path: Path, cell: str, origin: dict[str, str]) -> None:
    campaign = new_campaign()
    load(campaign, write_csv(tmp_path / "items.csv", [pool_rows(1)[0] | {"origin": cell}]))
    assert Item.objects.get().origin == origin


def test_a_corrected_text_keeps_its_origin(tmp_path: Path) -> None:
    campaign = new_campaign()
    saved(campaign, both(tmp_path), tmp_path)
    item = Item.objects.filter(campaign=campaign).order_by("position")[0]
    new = fix_text(campaign, item.pk, texts={"tail": "to end the page"}, by=make_user("mei"))
    assert new.pk != item.pk
    assert new.origin == item.origin != {}


# Real data


def test_the_published_set_is_built_anew_in_kind_and_size(tmp_path: Path) -> None:
    """2,498 of CKBP v1 and 2,508 of candidates: every share within one item, the same by seed, opened as a campaign."""
    pool = Source(name="v1.csv", path=shared("data/ckbp/ckbp1_evaluation_set.csv"))
    with pool.path.open(encoding="utf-8", newline="") as given:
        real = list(csv.DictReader(given))[::4]
    scored: list[Row] = [
        {"head": one["head"], "relation": one["relation"], "tail": other["tail"],
         "score": round(0.85 + 0.15 * (at % 101) / 100, 4)}
        for at, (one, other) in enumerate(zip(real, real[::-1], strict=True))
    ]  # fmt: skip
    sources = Sources(pool=pool, candidates=file(tmp_path, "scored.csv", scored))
    wish = SetWish(seed=11, sample=SampleWish(n=2498), candidates=CandidateWish(n=2508))
    built = build(sources, wish)
    assert built.document["n"] == 5006
    assert sum(built.document["sample"]["left_out"].values()) > 0
    available = built.document["sample"]["distinct"]
    for row in built.document["by_relation"]:
        assert abs(row["sampled"] - 2498 * row["available"] / available) < 1
    assert b"".join(build(sources, wish).csv()) == b"".join(built.csv())
    saved(new_campaign(), built, tmp_path)
    assert Counter(Item.objects.active().values_list("item_class", flat=True))["adv"] == 2508
    assert Item.objects.active().count() == 5006


def test_its_file_is_plain_utf_8_that_the_import_reads(tmp_path: Path) -> None:
    data = b"".join(both(tmp_path).csv())
    assert not data.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    assert as_csv([dict(row) for row in rows]).encode() == data


def test_a_wish_that_cannot_be_had_stores_nothing(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="candidates were asked for"):
        both(tmp_path, candidates=candidate_rows(12))


def test_a_report_that_is_not_stored_is_never_taken_for_one_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where what was built cannot be stored after all, the import says so with file and line."""
    campaign, built = new_campaign(), both(tmp_path)
    rows = tuple((*row[:3], "c" * 41, *row[4:]) for row in built.rows)
    with pytest.raises(UnusableRows, match=r"set\.csv, line 2, column “class”"):
        saved(campaign, replace(built, rows=rows), tmp_path)
    real = imports.store
    monkeypatch.setattr(evaluation_sets, "store", lambda *a, **more: replace(real(*a, **more), stored=False))
    with pytest.raises(Refused, match="holds items already"):
        saved(new_campaign(slug="other"), built, tmp_path)
    assert not AuditEntry.objects.filter(campaign=campaign, action=evaluation_sets.BUILT).exists()


def test_what_is_known_of_an_item_must_fit_too(tmp_path: Path) -> None:
    with pytest.raises(UnusableRows, match=r"pool\.csv, line .*What is kept of where the item comes from"):
        both(tmp_path, pool=pool_rows(80, label="x" * 5000))


def test_a_relation_that_is_left_out_is_listed_once_as_known(tmp_path: Path) -> None:
    pool = file(tmp_path, "pool.csv", [{"head": "a", "relation": "nothing like it", "tail": "b"}])
    with pytest.raises(UnusableRows) as caught:
        build(Sources(pool=pool), SetWish(seed=1, sample=SampleWish(n=1)))
    assert str(caught.value.message).count("general Effect") == 1
