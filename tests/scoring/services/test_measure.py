"""Reports of a campaign: the known small cases from file to figure, and what each report rests on."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Campaign, Context, Item
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from scoring.services.measure import REPORTS, report
from scoring.services.options import Options
from tests.material import (
    answer_everything,
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
    save,
    sheet,
    triples,
)
from tests.shared import case, expected

pytestmark = pytest.mark.django_db

COMPOUND_KINDS = ("error-rates", "bleu", "compound-check", "estimate")
TRIPLE_KINDS = ("statistics", "human", "artifacts")


# Error rates


def twenty(folder: Path, *, k: int = 1) -> Campaign:
    """The four compounds of c39 with their verdicts."""
    rows = case("c39_cter_twenty.csv")
    campaign = new_campaign("compound", k=k)
    items = [
        {
            "item_id": f"x{i}", "compound": row["compound"], "pattern": row["pattern"],
            "context_no": row["context_no"], "source": f"{row['compound']} {i} .", "translation": f"第{i}句。",
        }
        for i, row in enumerate(rows)
    ]  # fmt: skip
    load_rows(campaign, items, folder, system="base")
    judge_rows(
        campaign, [{"item_id": f"x{i}", "label": row["label"]} for i, row in enumerate(rows)], annotator="ann"
    )
    return campaign


def test_it_counts_a_compound_as_wrong_if_any_context_is(tmp_path: Path) -> None:
    campaign = twenty(tmp_path)
    document = run_json("report", campaign.slug, "--kind", "error-rates")
    want = expected("c39")
    assert (document["instance"]["n"], document["instance"]["errors"]) == (20, 7)
    assert document["instance"]["percent"] == pytest.approx(100 * want["instance"], abs=1e-2)
    assert (document["aggregate"]["n"], document["aggregate"]["errors"]) == (4, 3)
    assert document["aggregate"]["percent"] == pytest.approx(100 * want["aggregate"], abs=1e-2)
    for name, (instance, aggregate) in want["sub"].items():
        rates = document["by"]["type"][name]
        assert rates["instance"]["percent"] == pytest.approx(100 * instance, abs=1e-2)
        assert rates["aggregate"]["percent"] == pytest.approx(100 * aggregate, abs=1e-2)
    assert document["wrong_contexts_histogram"] == [1, 2, 0, 0, 0, 1]
    assert (document["system"], document["labels"]["rule"], document["labels"]["source"]) == (
        "base",
        "majority",
        "computed",
    )


@pytest.mark.parametrize(
    ("position", "errors", "bounds"),
    [
        (
            2,
            3,
            [75, 100],
        ),  # of a compound whose other contexts hold a wrong one: it stays undecided all the same
        (6, 3, [75, 100]),  # of one without a wrong context
    ],
)
def test_it_leaves_a_compound_undecided_while_a_context_is(
    position: int, errors: int, bounds: Sequence[float], tmp_path: Path
) -> None:
    campaign = twenty(tmp_path)
    Assignment.objects.filter(item__position=position).delete()
    document = run_json("report", campaign.slug, "--kind", "error-rates")
    found = document["aggregate"]
    wrong_already = position == 2
    assert (found["n"], found["errors"], found["undecided"]) == (3, errors - wrong_already, 1)
    assert found["percent"] == pytest.approx(100 * (errors - wrong_already) / 3)
    assert found["bounds"] == pytest.approx([75, 75] if wrong_already else bounds)
    assert document["instance"]["n"] == 19


def test_it_leaves_a_split_verdict_undecided(tmp_path: Path) -> None:
    campaign = twenty(tmp_path, k=2)
    rows = case("c39_cter_twenty.csv")
    second = [
        {"item_id": f"x{i}", "label": "correct" if i == 2 else row["label"]} for i, row in enumerate(rows)
    ]
    judge_rows(campaign, second, annotator="bob")
    document = run_json("report", campaign.slug, "--kind", "error-rates")
    assert (document["instance"]["n"], document["instance"]["errors"]) == (19, 6)
    assert (document["aggregate"]["n"], document["aggregate"]["undecided"]) == (3, 1)


def test_it_reports_cannot_judge_beside_the_rates(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(2), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    from annotation.protocol.compound import COMPOUND

    cause = COMPOUND.cannot_judge_causes[0].code
    answer_everything(campaign, lambda row: "" if row.item.position == 3 else "1", cause=cause)
    for stored in (False, True):
        if stored:
            finalize(campaign)
        document = report(campaign, "error-rates", Options())
        assert (document["cannot_judge"], document["instance"]["n"]) == (1, 9)
        assert (document["aggregate"]["n"], document["aggregate"]["undecided"]) == (1, 1)
        assert document["labels"]["source"] == ("final" if stored else "computed")


def test_it_counts_a_shared_item_for_every_system_that_produced_it(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(2), tmp_path, system="base")
    large = compounds(2)
    large[0]["translation"] = "别的。"
    load_rows(campaign, large, tmp_path, system="large", run="1")
    load_rows(campaign, large, tmp_path, system="large", run="2")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, lambda row: "0" if row.item.position == 2 else "1")
    assert Item.objects.count() == 11
    for system, which in (("base", ""), ("large", "1"), ("large", "2")):
        document = report(campaign, "error-rates", Options(system=system, run=which))
        assert (document["n_items"], document["instance"]["n"], document["instance"]["errors"]) == (10, 10, 1)


def test_it_counts_contexts_a_system_did_not_translate_as_undecided(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(2), tmp_path, system="base")
    load_rows(campaign, compounds(2)[:9], tmp_path, system="large")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    document = report(campaign, "error-rates", Options(system="large"))
    assert (document["instance"]["n"], document["aggregate"]["n"], document["aggregate"]["undecided"]) == (
        9,
        1,
        1,
    )


def test_it_lists_compounds_with_another_number_of_contexts(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    rows = [row for row in compounds(3) if row["item_id"] not in ("c1-5",)]
    load_rows(campaign, rows, tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    document = report(campaign, "error-rates", Options())
    assert document["other_context_counts"] == {"4": ["the sleepy gardener 1"]}
    assert (document["instance"]["n"], document["aggregate"]["n"]) == (14, 2)


# Which labels, which system


def test_it_rests_on_final_labels_once_there_are_some(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3, label="1"), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "0")

    def plausible(*options: str) -> tuple[int, str]:
        document = run_json("report", campaign.slug, "--kind", "statistics", *options)
        return document["rows"][0]["plausible"], document["labels"]["source"]

    assert plausible() == (3, "imported")
    ran = run("report", campaign.slug, "--kind", "statistics", "--labels", "final", "--json")
    assert ran.code == 1
    assert "no final labels yet; compute them first" in ran.document["errors"][0]["message"]
    finalize(campaign)
    assert plausible() == (0, "final")
    assert plausible("--labels", "imported") == (3, "imported")


def test_it_knows_no_imported_labels_of_compounds(tmp_path: Path) -> None:
    campaign = twenty(tmp_path)
    ran = run("report", campaign.slug, "--kind", "error-rates", "--labels", "imported", "--json")
    assert ran.code == 1
    assert "count as experts' answers" in ran.document["errors"][0]["message"]


def test_it_says_how_many_labels_are_stale(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "0")
    finalize(campaign)
    row = Assignment.objects.all()[0]
    save(sheet([row], "1"), row.expert_id)
    labels = report(campaign, "statistics", Options())["labels"]
    assert (labels["stale"], labels["rule"], labels["version"], labels["label_version"]) == (
        1,
        "ckbp2",
        "1",
        1,
    )


def test_it_lists_the_systems_where_it_must_be_told_which(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="base")
    assert run("report", campaign.slug, "--kind", "bleu").code == 0
    load_rows(campaign, compounds(1), tmp_path, system="large", run="1")
    load_rows(campaign, compounds(1), tmp_path, system="large", run="2")
    for kind in ("bleu", "error-rates"):
        for options in ([], ["--system", "large"], ["--system", "none"], ["--run", "3"]):
            ran = run("report", campaign.slug, "--kind", kind, *options, "--json")
            assert ran.code == 1
            names = "“base”, “large / 1”, “large / 2”. See --system, --run."
            assert names in ran.document["errors"][0]["message"]
    for options in (["--system", "base"], ["--system", "large", "--run", "2"], ["--run", "1"]):
        assert run("report", campaign.slug, "--kind", "bleu", *options).code == 0


@pytest.mark.parametrize("kind", sorted(REPORTS))
def test_it_says_which_reports_do_not_fit_a_campaign(kind: str, tmp_path: Path) -> None:
    for protocol, kinds in (("compound", TRIPLE_KINDS), ("triple", COMPOUND_KINDS)):
        campaign = new_campaign(protocol, slug=protocol)
        ran = run("report", campaign.slug, "--kind", kind, "--json")
        if kind in kinds:
            assert ran.code == 1
            assert f"for a campaign of {protocol}s" in ran.document["errors"][0]["message"]
        elif kind in ("comparison", "spot-check") or (
            protocol == "compound" and kind not in ("agreement", "methods", "what-if", "gold")
        ):
            assert ran.code == 1  # nothing was imported or sent in, no lexicon given, nothing checked
        else:
            assert ran.code == 0
            assert ran.document["signature"]


def test_it_measures_an_empty_campaign_of_triples_without_a_number() -> None:
    campaign = new_campaign()
    statistics = report(campaign, "statistics", Options())
    assert statistics["rows"][0]["n"] == 0
    assert statistics["rows"][0]["percent"] is None
    human = report(campaign, "human", Options())
    assert all(row["auc"] is None and row["reason"] for row in human["rows"])
    artifacts = report(campaign, "artifacts", Options())
    assert (artifacts["vocabulary"], artifacts["words"]) == (0, [])


# BLEU


def translated(name: str, folder: Path) -> Campaign:
    campaign = new_campaign("compound")
    rows = [
        {"compound": "the gardener", "context_no": i, "source": f"the gardener {i} .", **row}
        for i, row in enumerate(case(name), start=1)
    ]
    load_rows(campaign, rows, folder, system="base")
    return campaign


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("c36_bleu_subword_output.tsv", ("c36", "clean")),
        ("c37_bleu_empty_output.tsv", ("c37", "keep")),
        ("c38_bleu_pairs_axes.tsv", ("c38", "right")),
        ("c53_bleu_pairs_segmenter.tsv", ("c53", "char")),
    ],
)
def test_it_scores_the_small_cases(name: str, score: tuple[str, str], tmp_path: Path) -> None:
    campaign = translated(name, tmp_path)
    document = run_json("report", campaign.slug, "--kind", "bleu")
    assert document["score"] == pytest.approx(expected(score[0])[score[1]], abs=1e-4)
    assert (document["n"], document["left_out"]) == (5, 0)
    assert "tok:char" in document["signature"]
    assert f"{document['score']:.2f}" in run("report", campaign.slug, "--kind", "bleu").out


def test_it_refuses_an_empty_reference_as_a_row_error(tmp_path: Path) -> None:
    rows = compounds(1)
    rows[2]["reference"] = ""
    found = load_rows(new_campaign("compound"), rows, tmp_path)
    assert [(issue.line, issue.column) for issue in found.errors] == [(4, "reference")]


def test_it_leaves_out_what_was_judged_on_another_source(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2), tmp_path)
    Context.objects.filter(key="c1-2").update(source_differs=True)
    document = report(campaign, "bleu", Options())
    assert (document["n"], document["left_out"]) == (9, 1)


def test_it_says_that_there_are_no_references(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(
        campaign, [{k: v for k, v in row.items() if k != "reference"} for row in compounds(1)], tmp_path
    )
    ran = run("report", campaign.slug, "--kind", "bleu", "--json")
    assert ran.code == 1
    assert "no references, so there is no BLEU" in ran.document["errors"][0]["message"]


# The compound check


def test_it_checks_compounds_against_a_lexicon(tmp_path: Path) -> None:
    campaign = twenty(tmp_path)
    ran = run("report", campaign.slug, "--kind", "compound-check", "--json")
    assert ran.code == 1
    assert "--lexicon" in ran.document["errors"][0]["message"]
    ran = run("report", campaign.slug, "--kind", "compound-check", "--lexicon", tmp_path / "none", "--json")
    assert ran.code == 1
    assert "cannot be opened" in ran.document["errors"][0]["message"]
    (tmp_path / "lexicon").write_text("the\t/\ndog\n", encoding="utf-8")
    ran = run(
        "report", campaign.slug, "--kind", "compound-check", "--lexicon", tmp_path / "lexicon", "--json"
    )
    assert ran.code == 1
    assert ran.document["errors"][0]["line"] == 2


# Cost


@pytest.mark.parametrize("kind", ["agreement", "statistics", "human", "artifacts"])
def test_it_reads_a_large_campaign_in_as_many_queries_as_a_small_one(kind: str, tmp_path: Path) -> None:
    campaign = new_campaign()
    counts = []
    for n in (6, 60):
        load_rows(campaign, triples(n, label="1"), tmp_path)
        assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
        answer_everything(campaign, "1")
        finalize(campaign)
        with CaptureQueriesContext(connection) as found:
            report(campaign, kind, Options(resamples=100))
        counts.append(len(found))
    assert counts[0] == counts[1]


def test_it_shows_compounds_of_no_known_pattern_as_other(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    known = [
        {**row, "compound": "the small dog", "source": f"the small dog {row['context_no']} ."}
        for row in compounds(1)
    ]
    unknown = [{**row, "item_id": f"u{row['item_id']}"} for row in compounds(2)]
    load_rows(campaign, [*known, *unknown], tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    by = report(campaign, "error-rates", Options())["by"]
    assert {name: rates["instance"]["n"] for name, rates in by["pattern"].items()} == {
        "NP:DET+ADJ+N": 5,
        "other": 10,
    }
    assert sum(rates["instance"]["n"] for rates in by["pattern"].values()) == 15
    assert list(by["words"]) == ["3", "4"]


def test_its_signature_names_the_methods_that_gave_the_intervals(tmp_path: Path) -> None:
    campaign = twenty(tmp_path)
    document = report(campaign, "error-rates", Options())
    rows = [document, *(row for rows in document["by"].values() for row in rows.values())]
    used = {row["instance"]["ci95_method"] for row in rows}
    named = document["signature"].partition("|instance:")[2].partition("|")[0]
    assert len(used) > 1
    assert set(named.split("+")) == used
    units = {row[rate]["ci95_method"] for row in rows for rate in ("aggregate", "all_contexts_wrong")}
    assert set(document["signature"].partition("|units:")[2].partition("|")[0].split("+")) == units


def test_it_says_that_labels_are_missing_where_there_are_triples(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    for kind in ("statistics", "human"):
        row = report(campaign, kind, Options())["rows"][0]
        assert (row["n"], row["reason"]) == (0, "no triple here has a label")
