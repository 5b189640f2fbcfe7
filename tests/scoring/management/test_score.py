"""The score command: the released figures, the small cases, and every way in which rows can fail to fit."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign
from scoring.models import Evaluation, Prediction, Submission, Translation
from tests.material import (
    Ran,
    Rows,
    compounds,
    load,
    load_rows,
    new_campaign,
    run,
    run_json,
    triples,
    write_csv,
)
from tests.scoring.stats.released import expected
from tests.shared import shared

pytestmark = pytest.mark.django_db


def case(name: str) -> list[dict[str, str]]:
    with shared(f"cases/{name}").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def want(name: str) -> Any:
    return json.loads(shared("cases/expected_values.json").read_text())[name]


def rows_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["group"]: row for row in document["rows"]}


def small(folder: Path, **more: object) -> Campaign:
    """t1 … t6 in test, every second plausible; t7 … t10 in dev."""
    campaign = new_campaign()
    rows = triples(10, **{"class": "adv", **more})
    for place, row in enumerate(rows, start=1):
        row |= {"split": "test" if place <= 6 else "dev", "label": str(place % 2)}
    load_rows(campaign, rows, folder)
    return campaign


def predictions(folder: Path, rows: Rows, name: str = "sent.csv") -> Path:
    return write_csv(folder / name, rows)


def by_id(*scores: object, first: int = 1) -> list[dict[str, object]]:
    return [
        {"triple_id": f"t{place}", "prediction": score} for place, score in enumerate(scores, start=first)
    ]


# The released figures


@pytest.fixture
def released(db: None) -> Campaign:
    campaign = new_campaign(slug="ckbp")
    load(campaign, shared("data/ckbp/ckbp2.0.csv"))
    return campaign


def test_it_gives_the_released_figures_of_a_model_and_of_people(released: Campaign) -> None:
    gpt3 = run_json("score", "ckbp", shared("data/ckbp/gpt3_predictions.csv"), "--system", "GPT3")
    rows = rows_of(gpt3)
    for group, figures in expected("ckbp_v2", "table2", "gpt3").items():
        assert rows[group]["n"] == figures["n"]
        assert round(rows[group]["auc"], 2) == figures["AUC"]
        assert round(rows[group]["f1"], 2) == figures["F1"]
    assert (gpt3["split"], gpt3["threshold"], gpt3["labels"]["source"]) == ("test", 0.5, "imported")
    assert sum(row["n"] for group, row in rows.items() if group[0] in "xoCHi") == 4048

    for number in (1, 2):
        human = run_json(
            "score", "ckbp", shared(f"data/ckbp/human{number}.csv"), "--system", "human", "--run", number,
            "--split", "all", "--by-position", "--column", f"label{number}",
        )  # fmt: skip
    runs = rows_of(human["runs"])
    assert human["runs"]["n"] == 2
    for group, figures in expected("ckbp_v2", "table2", "human_full_5006").items():
        assert runs[group]["auc"]["mean"] == pytest.approx(figures["AUC"], abs=0.0101)
        assert runs[group]["f1"]["mean"] == pytest.approx(figures["F1"], abs=0.0101)
        assert runs[group]["auc"]["n"] == 2


# The small cases


def known_case(folder: Path, name: str) -> list[dict[str, str]]:
    rows = case(name)
    items = [
        {
            "triple_id": row["triple_id"], "head": f"PersonX does {row['triple_id']}", "tail": "PersonX rests",
            "relation": row.get("relation", "xWant"), "label": row["gold"], "split": "test",
        }
        for row in rows
    ]  # fmt: skip
    load_rows(new_campaign(), items, folder)
    return rows


def test_it_leaves_auc_undefined_where_one_class_is_missing(tmp_path: Path) -> None:
    known_case(tmp_path, "c40_auc_relations.csv")
    wanted = want("c40")

    document = run_json(
        "score", "main", shared("cases/c40_auc_relations.csv"), "--system", "s", "--column", "score"
    )

    rows = rows_of(document)
    assert rows["all"]["auc"] == pytest.approx(100 * wanted["overall"], abs=1e-2)
    for relation, auc in wanted["per"].items():
        found = rows[relation]
        assert found["auc"] == (None if auc is None else pytest.approx(100 * auc, abs=1e-2))
        assert (found["reason"] is None) == (auc is not None)
    mean = document["mean_over_relations"]["auc"]
    assert (mean["value"], mean["groups"]) == (pytest.approx(100 * wanted["macro_defined"]), "2 of 3")
    assert mean["ci95"][0] < mean["value"] < mean["ci95"][1]
    assert document["unknown_columns"] == ["gold"]


@pytest.mark.parametrize(("column", "key"), [("p", "nopos_binary"), ("q", "q_binary")])
def test_it_gives_f1_of_the_plausible_class(column: str, key: str, tmp_path: Path) -> None:
    known_case(tmp_path, "c41_f1_predictions.csv")

    document = run_json(
        "score", "main", shared("cases/c41_f1_predictions.csv"), "--system", column, "--column", column
    )

    assert rows_of(document)["all"]["f1"] == pytest.approx(100 * want("c41")[key], abs=1e-2)
    if column == "p":
        assert "Every score (8) lies below the threshold 0.5" in document["warnings"][0]


# What is stored, and what is not


def test_it_stores_a_submission_with_its_figures(tmp_path: Path) -> None:
    small(tmp_path)
    sent = predictions(tmp_path, by_id(0.9, 0.1, "0.8", 0.2, 0.4, 0.3))

    document = run_json("score", "main", sent, "--system", "s", "--run", "1")

    submission = Submission.objects.get(pk=document["submission"])
    assert (submission.system, submission.run, submission.split, submission.threshold) == (
        "s",
        "1",
        "test",
        0.5,
    )
    assert list(submission.predictions.values_list("score", flat=True)) == [0.9, 0.1, 0.8, 0.2, 0.4, 0.3]
    assert submission.evaluation.result["rows"] == document["rows"]
    assert submission.evaluation.signature == document["signature"]
    assert "|split:test" in document["signature"]
    found = rows_of(document)["all"]
    assert {name: value for name, value in found.items() if "ci95" not in name} == {
        "group": "all", "n": 6, "plausible": 3, "auc": 100.0, "f1": 80.0, "precision": 100.0,
        "recall": pytest.approx(200 / 3), "reason": None,
    }  # fmt: skip
    for measure in ("auc", "f1", "precision", "recall"):
        low, high = found[f"{measure}_ci95"]
        assert 0 <= low < found[measure] <= high <= 100


def test_it_keeps_the_same_file_once(tmp_path: Path) -> None:
    small(tmp_path)
    sent = predictions(tmp_path, by_id(0.9, 0.1, 0.8, 0.2, 0.4, 0.3))

    first = run_json("score", "main", sent, "--system", "s")
    second = run_json("score", "main", sent, "--system", "s")
    other = run_json("score", "main", sent, "--system", "s", "--threshold", "0.3")

    assert first["submission"] == second["submission"] != other["submission"]
    assert (Submission.objects.count(), Prediction.objects.count(), Evaluation.objects.count()) == (2, 12, 2)


def refused(*arguments: object) -> Ran:
    ran = run("score", "main", *arguments, "--json")
    assert ran.code == 1
    assert Submission.objects.count() == Prediction.objects.count() == Evaluation.objects.count() == 0
    return ran


def test_it_names_missing_unknown_and_surplus_rows(tmp_path: Path) -> None:
    small(tmp_path)
    rows = [*by_id(1, 0, 1, 0, 1), {"triple_id": "t99", "prediction": 1}]

    errors = refused(predictions(tmp_path, rows), "--system", "s").document["errors"]

    assert [(error["line"], error["message"]) for error in errors] == [
        (7, "There is no item “t99” here."),
        (
            None,
            "There is no row for “t6” (“PersonX writes letter 6 | oWant | PersonX seals it 6”, position 6).",
        ),
    ]


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        ("t1,0.5,x\n", [(2, None)]),
        ("t1\n", [(2, None)]),
        (",0.5\nt9,1\nt77,1\n", [(2, "triple_id"), (4, None)]),
        (
            "t1,0.5\nt2,high\nt99,1\nt99,1\n",
            [(3, "prediction"), (4, None), (5, "triple_id"), *[(None, None)] * 4],
        ),
    ],
)
def test_nothing_is_called_missing_while_a_row_names_no_item(
    rows: str, places: list[tuple[int | None, str | None]], tmp_path: Path
) -> None:
    small(tmp_path)
    sent = tmp_path / "sent.csv"
    sent.write_text(f"triple_id,prediction\n{rows}")

    errors = refused(sent, "--system", "s").document["errors"]

    assert [(error["line"], error["column"]) for error in errors] == places


def test_it_names_missing_rows_by_their_texts_where_the_file_has_no_ids(tmp_path: Path) -> None:
    small(tmp_path)
    rows = [
        {name: row[name] for name in ("head", "relation", "tail")} | {"prediction": 1} for row in triples(5)
    ]

    errors = refused(predictions(tmp_path, rows), "--system", "s").document["errors"]

    assert [error["message"] for error in errors] == [
        "There is no row for “PersonX writes letter 6 | oWant | PersonX seals it 6” (position 6)."
    ]


def test_it_takes_the_rows_of_a_repeated_triple_in_order_or_one_for_all(tmp_path: Path) -> None:
    campaign = new_campaign()
    texts = {"head": "it rains", "relation": "Causes", "tail": "mud"}
    load_rows(campaign, [{**texts, "label": label, "split": "test"} for label in "101"], tmp_path)

    for name, scores, stored in (
        ("three", [0.9, 0.2, 0.7], [0.9, 0.2, 0.7]),
        ("one", [0.6], [0.6, 0.6, 0.6]),
    ):
        sent = predictions(tmp_path, [{**texts, "prediction": score} for score in scores])
        document = run_json("score", "main", sent, "--system", name)
        submission = Submission.objects.get(pk=document["submission"])
        assert list(submission.predictions.order_by("item").values_list("score", flat=True)) == stored

    Submission.objects.all().delete()
    four = predictions(tmp_path, [{**texts, "prediction": 1}] * 4)
    [error] = refused(four, "--system", "s").document["errors"]
    assert (error["line"], "is row 4 for it; leave this row out" in error["message"]) == (5, True)
    two = predictions(tmp_path, [{**texts, "prediction": 1}] * 2)
    [error, _missing] = refused(two, "--system", "s").document["errors"]
    assert "has 2 rows; give it 3, or one for all" in error["message"]


def test_it_goes_by_position_over_the_whole_campaign(tmp_path: Path) -> None:
    small(tmp_path)
    whole = [{"score": score} for score in (0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0, 0, 0, 0)]
    how = ("--system", "s", "--by-position", "--column", "score")

    document = run_json("score", "main", predictions(tmp_path, whole), *how)
    assert (rows_of(document)["all"]["n"], rows_of(document)["all"]["auc"]) == (6, 100.0)

    Submission.objects.all().delete()
    short = refused(predictions(tmp_path, whole[:6]), *how).document["errors"]
    assert "The file has 6 rows, and there are 10 items" in short[0]["message"]
    named = [{**row, "head": f"PersonX writes letter {place}"} for place, row in enumerate(whole, start=1)]
    named[3]["head"] = "PersonX sleeps"
    [error] = refused(predictions(tmp_path, named), *how).document["errors"]
    assert (error["line"], error["message"]) == (5, "The cell “head” is not that of the item at position 4.")


def test_it_checks_the_texts_beside_an_id(tmp_path: Path) -> None:
    small(tmp_path)
    texts = [{name: row[name] for name in ("head", "relation", "tail")} for row in triples(10)]
    rows = [{**row, **text} for row, text in zip(by_id(*[0.5] * 10), texts, strict=True)]
    rows[2]["head"] = "zzz"
    rows[8]["tail"] = "zzz"  # in dev, where nothing is scored

    errors = refused(predictions(tmp_path, rows), "--system", "s").document["errors"]
    assert [(error["line"], error["message"]) for error in errors] == [
        (4, "The cell “head” is not that of the item “t3”."),
        (10, "The cell “tail” is not that of the item “t9”."),
    ]

    rows[2]["head"], rows[8]["tail"] = "", f" {texts[8]['tail']}\ufeff"
    assert rows_of(run_json("score", "main", predictions(tmp_path, rows), "--system", "s"))["all"]["n"] == 6


def test_it_tunes_the_threshold_on_dev(tmp_path: Path) -> None:
    small(tmp_path)  # dev: t7 and t9 are plausible
    scores = [0.9, 0.1, 0.35, 0.2, 0.3, 0.05, 0.4, 0.1, 0.3, 0.2]

    document = run_json(
        "score", "main", predictions(tmp_path, by_id(*scores)), "--system", "s", "--threshold", "tune"
    )

    assert (document["threshold"], document["tuned"]) == (
        0.3,
        True,
    )  # 0.3 and above: F1 1; no lower one is as good
    assert rows_of(document)["all"]["f1"] == 100.0
    Submission.objects.all().delete()
    errors = refused(
        predictions(tmp_path, by_id(*scores[:6])), "--system", "s", "--threshold", "tune"
    ).document["errors"]
    assert [error["message"].partition(" for ")[0] for error in errors] == ["There is no row"] * 4


def test_it_takes_the_lowest_of_equal_thresholds(tmp_path: Path) -> None:
    small(tmp_path)
    scores = [0.5] * 6 + [0.9, 0.4, 0.4, 0.1]  # on dev F1 is 0.8 from 0.4 on, 2/3 from 0.9 on

    document = run_json(
        "score", "main", predictions(tmp_path, by_id(*scores)), "--system", "s", "--threshold", "tune"
    )

    assert document["threshold"] == 0.4


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--threshold", "high"), 2, "--threshold takes a number or tune"),
        (("--threshold", "nan"), 2, "--threshold takes a number or tune"),
        (("--system", " "), 1, "Name the system."),
        (("--release", "v1"), 1, "There is no release “v1”"),
        (("--column", "score"), 1, "lacks the column score"),
        (("--column", "score"), 1, ". It has “triple_id”, “prediction”. See --column."),
        (("--labels", "final"), 1, "no final labels yet"),
    ],
)
def test_it_says_what_is_wrong_with_a_call(
    arguments: tuple[str, ...], code: int, sentence: str, tmp_path: Path
) -> None:
    small(tmp_path)
    sent = predictions(tmp_path, by_id(1, 0, 1, 0, 1, 0))

    ran = run("score", "main", sent, "--system", "s", *arguments)

    assert (ran.code, sentence in ran.err) == (code, True), ran.err
    assert not Submission.objects.exists()


def test_it_says_which_splits_there_are(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3, label="1"), tmp_path)
    sent = predictions(tmp_path, by_id(1, 0, 1))

    ran = run("score", "main", sent, "--system", "s")
    assert (ran.code, "These items have no split" in ran.err) == (1, True)
    assert rows_of(run_json("score", "main", sent, "--system", "s", "--split", "all"))["all"]["n"] == 3


def test_it_says_where_no_label_is_known(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)

    ran = run("score", "main", predictions(tmp_path, by_id(1, 0, 1)), "--system", "s", "--split", "all")

    assert (ran.code, "has a label yet" in ran.err) == (1, True)


def test_it_cannot_open_what_is_not_there(tmp_path: Path) -> None:
    small(tmp_path)

    ran = run("score", "main", tmp_path / "none.csv", "--system", "s")

    assert (ran.code, "cannot be opened" in ran.err) == (1, True)


def test_it_prints_a_table_for_people(tmp_path: Path) -> None:
    small(tmp_path)

    ran = run("score", "main", predictions(tmp_path, by_id(1, 0, 1, 0, 1, 0)), "--system", "s")

    assert ran.code == 0
    assert "| all | 6 | 100.00 | 50.10 – 100.00 | 100.00 |" in ran.out
    assert "Signature: `score|" in ran.out


def test_it_writes_the_figures_as_a_table(tmp_path: Path) -> None:
    small(tmp_path)
    sent = predictions(tmp_path, by_id(1, 0, 1, 0, 1, 0))
    call = ("score", "main", sent, "--system", "[s]_1")

    latex = run(*call, "--format", "latex")
    rows = list(csv.DictReader(io.StringIO(run(*call, "--format", "csv").out)))
    kept = {form: tmp_path / f"table.{form}" for form in ("md", "json")}
    written = [run(*call, "--format", form, "-o", target) for form, target in kept.items()]

    assert latex.code == 0
    assert r"\caption{AUC and F1 of the plausible class: [s]\_1, test}" in latex.out
    assert r"precision & 95 \% interval & recall" in latex.out
    assert [row["group"] for row in rows[:2]] == ["all", "Adv"]
    assert (rows[0]["system"], rows[0]["split"], rows[0]["precision"]) == ("[s]_1", "test", "100.0")
    assert float(rows[0]["auc_ci95_low"]) < 100 == float(rows[0]["auc_ci95_high"])
    assert [one.code for one in written] == [0, 0]
    assert "| all | 6 | 100.00 |" in kept["md"].read_text(encoding="utf-8")
    assert json.loads(kept["json"].read_text(encoding="utf-8"))["runs"]["n"] == 1


# Runs


def test_it_gives_mean_and_spread_over_the_runs_of_a_system(tmp_path: Path) -> None:
    small(tmp_path)
    for run_id, scores in (("1", (1, 0, 1, 0, 1, 0)), ("2", (1, 0, 1, 0, 0, 1)), ("3", (1, 1, 1, 1, 1, 1))):
        document = run_json(
            "score", "main", predictions(tmp_path, by_id(*scores)), "--system", "s", "--run", run_id
        )
    again = run_json(  # a later file of the same run stands for it
        "score", "main", predictions(tmp_path, by_id(1, 0, 1, 0, 1, 0)), "--system", "s", "--run", "3"
    )

    assert (document["runs"]["n"], document["runs"]["runs"]) == (3, ["1", "2", "3"])
    auc = rows_of(document["runs"])["all"]["auc"]
    values = (100.0, 200 / 3, 50.0)
    mean = sum(values) / 3
    assert auc["mean"] == pytest.approx(mean)
    assert auc["sd"] == pytest.approx((sum((value - mean) ** 2 for value in values) / 2) ** 0.5)
    assert again["runs"]["n"] == 3
    assert rows_of(again["runs"])["all"]["auc"]["mean"] == pytest.approx((100 + 200 / 3 + 100) / 3)


# Translations


def test_it_scores_translations_of_contexts(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    items = compounds(2)
    load_rows(campaign, items, tmp_path, system="base")
    rows = [
        {"compound": row["compound"], "context_no": row["context_no"], "translation": row["reference"]}
        for row in items
    ]
    sent = predictions(tmp_path, rows)

    document = run_json("score", "main", sent, "--system", "copy")

    assert (document["n"], document["left_out"], document["split"]) == (10, 0, "all")
    assert (document["bleu"]["score"], document["chrf"]["score"]) == (pytest.approx(100), pytest.approx(100))
    assert "tok:char" in document["bleu"]["signature"]
    assert document["compound_check"] is None
    assert Translation.objects.count() == 10


def test_it_runs_the_automatic_check_where_a_lexicon_is_given(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    items = [
        {**row, "compound": "the small dog", "source": "the small dog ran .", "reference": "小狗跑了。"}
        for row in compounds(1)
    ]
    load_rows(campaign, items, tmp_path, system="base")
    lexicon = tmp_path / "lexicon"
    lexicon.write_text("the\t/\nsmall\t小\ndog\t狗\n", encoding="utf-8")
    rows = [{"item_id": row["item_id"], "translation": "小狗跑了。"} for row in items]
    rows[0]["translation"] = "狗跑了。"

    found = run_json("score", "main", predictions(tmp_path, rows), "--system", "s", "--lexicon", lexicon)

    check = found["compound_check"]
    assert (check["instance"]["n"], check["instance"]["errors"]) == (5, 1)
    assert (check["aggregate"]["n"], check["aggregate"]["errors"]) == (1, 1)
    assert check["error_precision"] is None  # nobody judged these translations


def test_it_takes_the_contexts_of_a_compound_in_order_where_no_number_is_given(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    items = compounds(2)
    load_rows(campaign, items, tmp_path, system="base")
    rows = [{"compound": row["compound"], "translation": row["reference"]} for row in items]

    assert run_json("score", "main", predictions(tmp_path, rows), "--system", "copy")["bleu"][
        "score"
    ] == pytest.approx(100)
    ran = run("score", "main", predictions(tmp_path, rows[:-1]), "--system", "short", "--json")
    assert ran.code == 1
    assert "has 4 rows" in ran.document["errors"][0]["message"]


def test_it_says_where_there_is_nothing_to_compare_translations_with(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1, reference=""), tmp_path, system="base")
    rows = [{"item_id": f"c1-{number}", "translation": "狗"} for number in range(1, 6)]

    ran = run("score", "main", predictions(tmp_path, rows), "--system", "s")

    assert (ran.code, "no references" in ran.err) == (1, True)


def test_it_lists_unknown_items_and_bad_predictions_in_one_go(tmp_path: Path) -> None:
    small(tmp_path)
    rows = [*by_id(1, "high", 1), {"triple_id": "t99", "prediction": 1}]
    errors = refused(predictions(tmp_path, rows), "--system", "s").document["errors"]
    missing = [(None, None)] * 3
    assert [(error["line"], error["column"]) for error in errors] == [(3, "prediction"), (5, None), *missing]
    named = ("“t4”", "“t5”", "“t6”")
    assert all(name in error["message"] for name, error in zip(named, errors[2:], strict=True))


def test_it_says_how_a_column_of_another_name_is_read(tmp_path: Path) -> None:
    small(tmp_path)
    rows = [{"triple_id": f"t{place}", "score": 1} for place in range(1, 7)]
    ran = refused(predictions(tmp_path, rows), "--system", "s")
    assert ran.document["errors"][0]["message"] == (
        "The file lacks the column prediction. It has “triple_id”, “score”. See --column."
    )
