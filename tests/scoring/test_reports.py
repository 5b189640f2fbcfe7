"""Reports as tables for people; and the released files, from import to every published figure."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from scoring.records import as_csv, as_jsonl, records
from scoring.reports import as_latex, as_markdown, coefficient, interval, percent, tables
from scoring.services.measure import report
from scoring.services.options import Options
from tests.material import (
    answer_everything,
    compounds,
    load_rows,
    new_campaign,
    run,
    run_json,
    triples,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db


def expected(*path: str) -> Any:
    """Reference values computed from the released files by other hands."""
    document = json.loads(shared("reference/expected.json").read_text(encoding="utf-8"))
    for key in path:
        document = document[key]
    return document


# The released translations


def rates_of(row: dict[str, Any]) -> list[float]:
    """A row of a report as expected.json words it."""
    instance, aggregate, all_wrong = row["instance"], row["aggregate"], row["all_contexts_wrong"]
    return [
        instance["n"], instance["errors"], instance["percent"], aggregate["n"], aggregate["errors"],
        aggregate["percent"], all_wrong["errors"], all_wrong["percent"],
    ]  # fmt: skip


def wanted(row: dict[str, Any]) -> Any:
    names = (
        "instances", "instance_wrong", "instance_pct", "compounds", "compounds_any_wrong", "aggregate_pct",
        "compounds_all_wrong", "all_wrong_pct",
    )  # fmt: skip
    return pytest.approx([row[name] for name in names], abs=5e-5)


def import_released(kind: str) -> Any:
    folder = "data/cognition"
    files = {
        "--sources": f"{kind}.en", "--compounds": f"{kind}.compound", "--references": f"{kind}.zh",
        "--translations": f"{kind}-git.xlsx",
    }  # fmt: skip
    options = [text for name, file in files.items() for text in (name, shared(f"{folder}/{file}"))]
    return run_json("import_cognition", "released", *options, "--system", "transformer")


@pytest.mark.parametrize(("kind", "n_differing", "n_bleu"), [("NP", 1, 3599), ("VP", 8, 3592)])
def test_it_gives_every_figure_of_the_released_translations(kind: str, n_differing: int, n_bleu: int) -> None:
    new_campaign("compound", slug="released")
    stored = import_released(kind)
    assert (stored["rows"], stored["added"], stored["judgements"]) == (3600, 3600, 3600)
    assert len(stored["differing_sources"]) == n_differing

    rates = run_json("report", "released", "--kind", "error-rates")
    assert rates_of(rates) == wanted(expected("cognition", "by_type", kind))
    assert rates_of(rates["by"]["type"][kind]) == wanted(expected("cognition", "by_type", kind))
    patterns = {
        name: row for name, row in expected("cognition", "by_pattern").items() if name.startswith(kind)
    }
    assert {name: rates_of(row) for name, row in rates["by"]["pattern"].items()} == {
        name: wanted(row) for name, row in patterns.items()
    }
    words = {
        name: row
        for name, row in expected("cognition", "by_type_and_word_length").items()
        if name.startswith(kind)
    }
    assert {name: rates_of(row) for name, row in rates["by"]["type_and_words"].items()} == {
        name: wanted(row) for name, row in words.items()
    }
    assert {f"{kind}:{name}": rates_of(row) for name, row in rates["by"]["words"].items()} == {
        name: wanted(row) for name, row in words.items()
    }
    histogram = expected("cognition", "errors_per_compound", kind)
    assert rates["wrong_contexts_histogram"] == [histogram[str(wrong)] for wrong in range(6)]
    assert rates["aggregate"]["undecided"] == rates["cannot_judge"] == 0
    low, high = rates["instance"]["ci95"]
    assert low < rates["instance"]["percent"] < high

    bleu = run_json("report", "released", "--kind", "bleu")
    assert (bleu["n"], bleu["left_out"]) == (n_bleu, n_differing)
    assert round(bleu["score"], 2) == expected("cognition", "bleu", f"{kind}_exact", "char")

    lexicon = shared("data/cognition/lexicon")
    check = run_json("report", "released", "--kind", "compound-check", "--lexicon", lexicon, "--compatible")
    auto = expected("cognition", "auto_evaluator", kind)
    assert check["n"] == 3600
    assert round(check["error_precision"], 2) == auto["error_precision"]
    assert round(check["error_recall"], 2) == auto["error_recall"]
    assert sorted(check["cells"].values()) == sorted(auto["cells"].values())
    assert run_json("verify", "released") == {"ok": True, "violations": []}


# The released triples


def dev_by_cell(rows: Sequence[dict[str, str]]) -> Counter[tuple[str, str, str]]:
    cells = Counter({(row["class"], row["relation"], row["label"]): 0 for row in rows})
    cells.update((row["class"], row["relation"], row["label"]) for row in rows if row["split"] == "dev")
    return cells


def test_the_release_command_deals_the_released_split_in_all_cells(tmp_path: Path) -> None:
    new_campaign(slug="released")
    path = shared("data/ckbp/ckbp2.0.csv")
    run_json("import_items", "released", path)

    frozen = run_json("release", "released", "v1", "--split", "ckbp-released", "-o", tmp_path / "v1")

    with path.open(encoding="utf-8", newline="") as file:
        printed = dev_by_cell(list(csv.DictReader(file)))
    dealt: list[dict[str, str]] = []
    for side in ("dev", "test"):
        with (tmp_path / "v1" / "csv" / f"{side}.csv").open(encoding="utf-8-sig", newline="") as file:
            dealt += csv.DictReader(file)
    assert len(printed) == expected("ckbp_v2", "table1", "cells") == 115
    assert dev_by_cell(dealt) == printed
    assert frozen["split"]["items"]["dev"] == 958
    assert frozen["leakage"].keys() >= {"triples_on_both_sides", "test_units_with_head_in_dev"}


def test_it_gives_every_figure_of_the_released_triples() -> None:
    new_campaign(slug="released")
    stored = run_json("import_items", "released", shared("data/ckbp/ckbp2.0.csv"))
    assert (stored["added"], stored["errors"], len(stored["warnings"])) == (5006, [], 1)
    table = run_json("report", "released", "--kind", "statistics")
    assert table["labels"]["source"] == "imported"
    found = {(row["by"], row["value"]): row for row in table["rows"]}
    want = expected("ckbp_v2", "table1")
    names = {"tst": "test"}
    checked = 0
    for by, key in (("split", "split"), ("group", "group"), ("class", "cls"), ("relation", "relation")):
        for value, row in want[key].items():
            mine = found[by, names.get(value, value)]
            assert (mine["n"], mine["plausible"]) == (row["n"], row["plausible"])
            assert round(mine["percent"], 2) == row["pct"]
            assert mine["unseen_percent"] is None  # no training set was given
            checked += 1
    assert checked == 24
    (whole,) = [row for row in table["rows"] if row["by"] == "all"]
    assert (whole["n"], whole["plausible"]) == (5006, 1089)

    for slot in ("1", "2"):
        human = shared(f"data/ckbp/human{slot}.csv")
        options = ["--by-position", "--column", f"label{slot}", "--annotator", f"human{slot}"]
        assert run_json("import_annotations", "released", human, *options)["added"] == 5006
    rows = {row["group"]: row for row in run_json("report", "released", "--kind", "human")["rows"]}
    for group, row in expected("ckbp_v2", "table2", "human_full_5006").items():
        assert rows[group]["n"] == row["n"]
        # The reference averages figures already rounded to two decimals: up to 0.01 (protocols.md).
        assert rows[group]["auc"] == pytest.approx(row["AUC"], abs=0.0101)
        assert rows[group]["f1"] == pytest.approx(row["F1"], abs=0.0101)
    agreement = run_json("report", "released", "--kind", "agreement")
    experts = expected("ckbp_v2", "experts")
    raw, cohen = (agreement["coefficients"][name]["value"] for name in ("raw", "cohen"))
    assert round(100 * raw, 3) == experts["binary_raw_agreement_pct"]
    assert round(cohen, 4) == experts["binary_cohen_kappa_1_vs_rest"]

    described = run_json("report", "released", "--kind", "artifacts")
    assert [word["word"] for word in described["words"]] == ["happy"]
    assert (described["vocabulary"], described["candidates"]) == (3852, 186)
    published = run_json("report", "released", "--kind", "artifacts", "--rule", "as-published")
    sides = [word["label"] for word in published["words"]]
    assert (len(sides), sides.count("plausible"), sides.count("implausible")) == (83, 42, 41)


# For people


@pytest.fixture
def documents(tmp_path: Path) -> dict[str, Any]:
    """One small document of every kind, with a name that each format must write with care."""
    pair = new_campaign("compound", slug="pair", k=2)
    load_rows(pair, compounds(3), tmp_path, system="base_1 & 50 % | x")
    assign_parts(pair, experts=["ada", "bo_1"], design="cyclic", seed=1)
    answer_everything(
        pair, lambda row: "0" if row.item.position == 1 or (row.slot == 2 and row.item.position == 7) else "1"
    )
    triple = new_campaign("triple", slug="triple")
    load_rows(triple, triples(4, split="test", label="1", **{"class": "adv"}), tmp_path)
    assign_parts(triple, experts=["ada", "bo_1"], design="cyclic", seed=1)
    answer_everything(triple, "1")
    finalize(triple)
    lexicon = "the\t/\nsleepy\t困倦\ngardener\t园丁\n".encode()
    made = {
        kind: report(pair, kind, Options(real_names=True, lexicon=lexicon))
        for kind in ("error-rates", "agreement", "bleu", "compound-check")
    }
    return made | {
        kind: report(triple, kind, Options(real_names=True)) for kind in ("statistics", "human", "artifacts")
    }


def test_it_rounds_for_people_only(documents: dict[str, Any]) -> None:
    assert (percent(21.97222), percent(None), percent(0.0)) == ("21.97", "–", "0.00")
    assert (coefficient(-0.02459), coefficient(0.0), coefficient(-0.00001234)) == (
        "-0.0246",
        "0.0000",
        "-1.23e-05",
    )
    assert interval([1.0, 2.0], percent) == "1.00 – 2.00"
    assert interval(None, percent) == "–"
    shown = as_markdown("error-rates", documents["error-rates"])
    assert documents["error-rates"]["instance"]["percent"] == pytest.approx(100 / 14)
    assert "| all | 14 | 1 | 7.14 |" in shown


def test_it_writes_every_report_in_every_format(documents: dict[str, Any]) -> None:
    assert len(documents) == 7
    for kind, document in documents.items():
        json.dumps(document, allow_nan=False)
        signature = document["signature"]
        assert isinstance(signature, str)
        for table in tables(kind, document):
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert all(isinstance(cell, str) for row in table.rows for cell in row)
        markdown = as_markdown(kind, document)
        assert signature in markdown
        for line in markdown.splitlines():
            if line.startswith("|"):
                assert line.endswith("|")


def test_it_writes_plain_rows_for_programs_in_full_precision(documents: dict[str, Any]) -> None:
    for kind, document in documents.items():
        header, *written = csv.reader(io.StringIO(as_csv(kind, document), newline=""))
        objects = [json.loads(line) for line in as_jsonl(kind, document).splitlines()]
        assert len(written) == len(objects) == len(records(kind, document))
        assert all(
            list(one) == header and len(row) == len(header) for one, row in zip(objects, written, strict=True)
        )
    rates = records("error-rates", documents["error-rates"])
    assert rates[0]["percent"] == documents["error-rates"]["instance"]["percent"]
    assert [rates[1]["ci95_low"], rates[1]["ci95_high"]] == documents["error-rates"]["aggregate"]["ci95"]
    pairs = [row for row in records("agreement", documents["agreement"]) if row["by"] == "pair"]
    first = documents["agreement"]["pairs"][0]
    assert (pairs[0]["a"], pairs[0]["b"]) == (first["a"], first["b"])
    assert pairs[0]["value"] == first["coefficients"][pairs[0]["coefficient"]]["value"]


def test_a_warning_of_agreement_stands_beside_its_table(documents: dict[str, Any]) -> None:
    document = documents["agreement"] | {"warnings": ["Mind this."]}
    assert "Mind this." in as_markdown("agreement", document)


def test_it_counts_parts_from_one_for_people_and_from_zero_for_programs(documents: dict[str, Any]) -> None:
    document = documents["agreement"]
    (by_part,) = [table for table in tables("agreement", document) if table.title == "Agreement by part"]

    assert [row[0] for row in by_part.rows] == ["1", "2"]
    assert list(document["by"]["part"]) == ["0", "1"]


def test_it_writes_columns_of_equal_number_in_markdown(documents: dict[str, Any]) -> None:
    for kind, document in documents.items():
        for block in as_markdown(kind, document).split("\n\n"):
            lines = [line for line in block.splitlines() if line.startswith("|")]
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) <= 1


def test_it_writes_latex_that_a_paper_can_take(documents: dict[str, Any]) -> None:
    for kind, document in documents.items():
        text = as_latex(kind, document)
        first, _newline, body = text.partition("\n")
        assert first == f"% {document['signature']}"
        assert body.count(r"\begin{tabular}") == body.count(r"\end{tabular}") == body.count(r"\toprule")
        assert not list(unescaped(body))
        for block in re.findall(r"\\toprule\n(.*?)\\bottomrule", body, flags=re.DOTALL):
            rows = [line for line in block.splitlines() if line.endswith(r"\\")]
            assert len({len(re.findall(r"(?<!\\)&", line)) for line in rows}) == 1
    bleu = as_latex("bleu", documents["bleu"])
    assert r"base\_1 \& 50 \% \textbar{} x" in bleu


def unescaped(body: str) -> Iterator[str]:
    """Lines in which a character of LaTeX's own stands for itself: it would not compile."""
    for line in body.splitlines():
        if line.startswith("\\") and not line.startswith(r"\caption"):
            continue
        if re.search(r"(?<!\\)[%#_]", line):
            yield line


def test_it_says_why_a_figure_is_missing(tmp_path: Path) -> None:
    empty = new_campaign()
    document = report(empty, "agreement", Options())
    assert "Raw agreement" not in as_markdown("agreement", document)
    reason = document["coefficients"]["raw"]["reason"]
    for write in (as_markdown, as_latex, as_csv, as_jsonl):
        assert reason in write("agreement", document)
    human = report(empty, "human", Options())
    assert human["rows"][0]["reason"] in as_markdown("human", human)
    unjudged = new_campaign("compound", slug="unjudged")
    load_rows(unjudged, compounds(2), tmp_path)
    rates = report(unjudged, "error-rates", Options())
    for figure in (rates["instance"], rates["aggregate"], rates["all_contexts_wrong"]):
        assert figure["percent"] is None
        assert f"–: {figure['reason']}" in as_markdown("error-rates", rates)
        assert f"--: {figure['reason']}" in as_latex("error-rates", rates)


def test_it_prints_what_the_document_holds(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(4, label="1"), tmp_path)
    for form in ("md", "latex", "csv", "json"):
        target = tmp_path / f"report.{form}"
        options = ["--kind", "statistics", "--format", form]
        printed = run("report", campaign.slug, *options)
        assert (printed.code, printed.err) == (0, "")
        written = run("report", campaign.slug, *options, "-o", target)
        assert written.code == 0
        assert target.read_bytes().decode().strip() == printed.out.strip()
    assert run_json("report", campaign.slug, "--kind", "statistics") == json.loads(
        (tmp_path / "report.json").read_text()
    )


def test_it_says_plainly_that_one_person_cannot_agree(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    document = report(campaign, "agreement", Options())
    assert document["coefficients"]["raw"]["value"] is None
    text = as_markdown("agreement", document)
    assert "Agreement needs two people who judged the same items" in text
    assert "–" not in text
    assert [table.title for table in tables("agreement", document)] == [
        "Agreement",
        "How often each label was given",
    ]
    assert "% Agreement: Agreement needs two people" in as_latex("agreement", document)


def test_plain_rows_name_the_method_of_each_interval(documents: dict[str, Any]) -> None:
    for kind in ("error-rates", "agreement"):
        rows = records(kind, documents[kind])
        assert all(row["ci95_method"] for row in rows if row["ci95_low"] is not None)


def test_tables_show_what_is_not_decided_beside_every_rate(documents: dict[str, Any]) -> None:
    document = documents["error-rates"]
    found = {table.title: table for table in tables("error-rates", document)}
    for name in ("Error rates", "type"):
        contexts, compounds_ = found[f"{name}, by context"], found[f"{name}, by compound"]
        assert list(contexts.columns[-2:]) == ["undecided", "cannot judge"]
        assert [compounds_.columns[place] for place in (5, 6, 7, 9)] == [
            "undecided", "once decided", "all contexts wrong", "95 % interval",
        ]  # fmt: skip
    assert "all contexts wrong %" in found["Error rates, by compound"].columns
    (row,) = found["Error rates, by context"].rows
    assert row[-2:] == [str(document["undecided_instances"]), str(document["cannot_judge"])]
    (row,) = found["Error rates, by compound"].rows
    assert row[6] == interval(document["aggregate"]["bounds"], percent)
    assert row[9] == interval(document["all_contexts_wrong"]["ci95"], percent)
    rates = records("error-rates", document)
    assert rates[0]["undecided_instances"] == document["undecided_instances"] > 0


def test_every_figure_of_a_table_stands_beside_its_interval(documents: dict[str, Any]) -> None:
    for kind, figures in (("statistics", 1), ("human", 4), ("bleu", 2), ("compound-check", 4)):
        table = tables(kind, documents[kind])[0]
        places = [place for place, column in enumerate(table.columns) if column == "95 % interval"]
        assert len(places) == figures, kind
        for row in table.rows:
            for place in places:
                assert " – " in row[place] or row[place - 1] == "–" or table.notes, (kind, row)
    header = as_csv("bleu", documents["bleu"]).splitlines()[0]
    assert "ci95_low,ci95_high" in header
    assert "chrf_ci95_low" in header


def test_latex_takes_no_cell_for_an_argument_and_has_every_sign() -> None:
    words = [
        {"word": word, "n": 1, "percent": 50.0, "z": 1.0, "label": "plausible"}
        for word in ("[x]", "*", "≥ 1 × 2 ≤ 3", "α ± κ – β", "a < b", "“q”", "困倦的")
    ]
    text = as_latex("artifacts", {"words": words, "signature": "s"})

    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert [row.partition(" & ")[0] for row in rows] == [
        "word", "{[}x]", "{*}", r"$\geq$ 1 $\times$ 2 $\leq$ 3", r"$\alpha$ $\pm$ $\kappa$ -- $\beta$", "a $<$ b",
        "``q''", "困倦的",
    ]  # fmt: skip
    assert "ctex" in text.splitlines()[1]
    assert "ctex" not in as_latex("artifacts", {"words": words[:-1], "signature": "s"})
    assert all(ord(letter) < 128 for letter in as_latex("artifacts", {"words": words[:-1], "signature": "s"}))
