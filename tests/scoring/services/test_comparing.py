"""Several systems on the same compounds: what is compared, and where two of them part."""

import csv
import io
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Campaign
from annotation.services.parts import assign_parts
from scoring.reports import as_latex, as_markdown
from scoring.services.comparing import CHOSEN_TWICE
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.stats.significance import SAME
from tests.material import answer_everything, compounds, load_rows, new_campaign, run, run_json

pytestmark = pytest.mark.django_db

N = 8


def judged(folder: Path, *runs: tuple[str, str]) -> Campaign:
    """Each run with its own texts; a text that says 错 is wrong. Better systems come later."""
    campaign = new_campaign("compound", k=1)
    for place, (system, name) in enumerate(runs):
        rows = compounds(N)
        for number, row in enumerate(rows):
            wrong = number % 5 == 0 and place == 0
            row["translation"] = f"译{'错' if wrong else '对'}{number}{system}{name}"
        load_rows(campaign, rows, folder, system=system, run=name)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, lambda row: "0" if "错" in row.item.translation else "1")
    return campaign


def test_it_compares_systems_pair_by_pair(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", ""), ("big", ""))
    document = run_json("report", campaign.slug, "--kind", "comparison")

    found = {one["measure"]: one for one in document["differences"]}
    assert (found["instance"]["difference"], found["aggregate"]["difference"]) == (20, 100)
    assert found["aggregate"]["n"] == N
    assert found["instance"]["p"] < 0.02
    assert found["instance"]["p_holm"] == found["instance"]["p"]
    assert document["heat_map"]["systems"] == ["base", "big"]
    assert document["heat_map"]["rows"][0]["percent"] == [20, 0]
    parted = document["differing"]
    assert (parted["a"], parted["b"], len(parted["instances"])) == ("base", "big", N)
    assert parted["instances"][0] == {
        "compound": "the sleepy gardener 1", "context_no": 1, "wrong": "base", "item_a": 1, "item_b": 41,
    }  # fmt: skip
    assert document["signature"].startswith("compare-systems|")


def test_runs_are_spread_not_systems(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", "1"), ("base", "2"), ("big", "1"))
    document = report(campaign, "comparison", Options(a="base / 1", b="base / 2", texts=False))

    spread = next(one for one in document["systems"] if one["measure"] == "instance")
    assert (spread["name"], spread["n"], spread["mean"], spread["values"]) == ("base", 2, 10, [20, 0])
    assert spread["sd"] == pytest.approx(14.142, abs=1e-3)
    assert len(document["differences"]) == 2
    assert document["runs"] == ["base / 1", "base / 2", "big / 1"]
    assert {one["wrong"] for one in document["differing"]["instances"]} == {"base / 1"}
    assert document["texts"] is None


def test_one_system_is_said_to_be_alone(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", ""))
    ran = run("report", campaign.slug, "--kind", "comparison")
    assert ran.code == 0
    assert "There is one system here, so there is nothing to compare it with." in ran.out
    document = report(campaign, "comparison", Options())
    assert (document["differences"], document["pair"], document["differing"]) == ([], None, None)


def test_two_runs_of_one_system_are_compared(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", "1"), ("base", "2"))
    document = report(campaign, "comparison", Options(texts=False))

    assert document["differences"] == []
    assert "its 2 runs can be, two at a time" in document["one_system"]
    pair = document["pair"]
    assert (pair["a"], pair["b"]) == ("base / 1", "base / 2")
    found = {one["measure"]: one for one in pair["differences"]}
    assert (found["instance"]["difference"], found["aggregate"]["difference"]) == (20, 100)
    assert found["instance"]["ci95"] is not None
    assert found["instance"]["p"] < 0.02
    assert found["instance"]["p_holm"] == 2 * found["instance"]["p"]
    shown = as_markdown("comparison", document)
    assert "**base / 1 against base / 2**" in shown
    assert "| aggregate | base / 1 | base / 2 | 8 | 100.00 | 0.00 | 100.00 |" in shown


def test_the_runs_of_a_pair_are_those_asked_for(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", "1"), ("base", "2"), ("big", "1"))
    asked = Options(texts=False, a="big / 1", b="base / 1")
    [instance, _aggregate] = report(campaign, "comparison", asked)["pair"]["differences"]
    assert (instance["a"], instance["b"], instance["difference"]) == ("big / 1", "base / 1", -20)
    other = report(campaign, "comparison", Options(texts=False, b="base / 1"))["pair"]
    assert (other["a"], other["b"]) == ("big / 1", "base / 1")
    twice = report(campaign, "comparison", Options(texts=False, a="big / 1", b="big / 1"))["pair"]
    assert twice == {"a": "big / 1", "b": "big / 1", "differences": [], "reason": CHOSEN_TWICE}


def test_runs_that_share_a_title_are_told_apart(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("m / 1", ""), ("m", "1"), ("m", "2"))
    document = report(campaign, "comparison", Options(texts=True))
    assert document["runs"] == ["m / 1 / –", "m / 1", "m / 2"]
    assert (document["pair"]["a"], document["pair"]["b"]) == ("m / 1 / –", "m / 1")
    [instance, _aggregate] = document["pair"]["differences"]
    assert instance["difference"] == 20
    assert [one["name"] for one in document["texts"]["bleu"]["systems"]] == ["m / 1 / –", "m / 1"]

    asked = Options(texts=False, a="m / 1", b="m / 2")
    [instance, _aggregate] = report(campaign, "comparison", asked)["pair"]["differences"]
    assert (instance["value_a"], instance["value_b"]) == (0, 0)  # not those of the system “m / 1”
    among = Options(texts=False, among=("m",), a="m / 1", b="m / 2")
    assert report(campaign, "comparison", among)["runs"] == ["m / 1", "m / 2"]
    told = as_markdown("methods", report(campaign, "methods", Options()))
    assert all(f"{title}: " in told for title in document["runs"])


def test_some_systems_are_compared_where_they_are_named(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", ""), ("big", ""), ("third", ""))
    document = report(campaign, "comparison", Options(texts=False, among=("base", "third")))
    assert (document["runs"], document["of"]) == (["base", "third"], ["base", "big", "third"])
    assert document["heat_map"]["systems"] == ["base", "third"]
    ran = run("report", campaign.slug, "--kind", "comparison", "--among", "fourth")
    assert (ran.code, "There is no system “fourth”; there are: base, big, third." in ran.err) == (1, True)


def test_it_compares_bleu_and_chrf_on_what_both_translated(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", ""), ("big", ""))
    campaign.units.get(position=1).contexts.filter(number=1).update(source_differs=True)
    texts = report(campaign, "comparison", Options())["texts"]
    alone = report(campaign, "bleu", Options(system="base"))

    assert texts["bleu"]["n"] == alone["n"] == 5 * N - 1
    assert texts["bleu"]["units"] == N
    assert texts["bleu"]["systems"][0]["score"] == pytest.approx(alone["score"])
    assert texts["chrf"]["systems"][0]["score"] == pytest.approx(alone["chrf"]["score"])
    assert "nc:6" in alone["chrf"]["signature"]
    assert texts["bleu"]["differences"][0]["p"] is not None
    assert texts["chrf"]["signature"] != texts["bleu"]["signature"]


def test_one_comparison_has_one_adjusted_p_wherever_it_stands(tmp_path: Path) -> None:
    """The only runs of two systems are the systems, whichever is named first; runs of one system are a table apart."""
    campaign = judged(tmp_path, ("base", ""), ("big", ""), ("third", ""))
    document = report(campaign, "comparison", Options(texts=False))
    of_systems = [one for one in document["differences"] if (one["a"], one["b"]) == ("base", "big")]
    turned = report(campaign, "comparison", Options(texts=False, a="big", b="base"))["pair"]

    assert document["pair"]["differences"] == of_systems
    assert "as in the differences of all" in document["pair"]["holm"]
    assert [one["p_holm"] for one in turned["differences"]] == [one["p_holm"] for one in of_systems]
    assert [one["difference"] for one in turned["differences"]] == [-one["difference"] for one in of_systems]
    low, high = of_systems[0]["ci95"]
    assert turned["differences"][0]["ci95"] == [-high, -low]
    assert turned["differences"][0]["value_a"] == of_systems[0]["value_b"]


def test_an_unknown_run_is_refused(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", ""), ("big", ""))
    ran = run("report", campaign.slug, "--kind", "comparison", "--a", "small")
    assert ran.code == 1
    assert "There is no system or run “small”; there are: base, big." in ran.err
    nothing = new_campaign("compound", slug="empty")
    assert run("report", nothing.slug, "--kind", "comparison").code == 1


def test_it_is_written_as_tables(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", ""), ("big", ""))
    document = report(campaign, "comparison", Options())
    shown = as_markdown("comparison", document)
    assert "| instance | base | big | 8 | 20.00 | 0.00 | 20.00 |" in shown
    assert "Differences are paired." in shown
    assert r"\caption{Differences (a minus b)}" in as_latex("comparison", document)
    ran = run("report", campaign.slug, "--kind", "comparison", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    tables = {row["table"] for row in rows}
    assert tables == {"system", "difference", "pair", "compound", "instance"}
    assert sum(row["table"] == "instance" for row in rows) == N


def test_queries_are_few_whatever_the_number_of_systems(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", ""), ("big", ""))
    with CaptureQueriesContext(connection) as two:
        report(campaign, "comparison", Options())
    load_rows(campaign, compounds(N), tmp_path, system="third")
    with CaptureQueriesContext(connection) as three:
        report(campaign, "comparison", Options())
    assert len(two) == len(three)


def same_so_far(folder: Path) -> Campaign:
    """Base is judged; big came later, with every second compound's texts the same, and the rest waits."""
    campaign = judged(folder, ("base", ""))
    rows = compounds(N)
    for number, row in enumerate(rows):
        same = number // 5 % 2 == 0
        row["translation"] = f"译{'错' if number % 5 == 0 else '对'}{number}base" if same else f"另{number}"
    load_rows(campaign, rows, folder, system="big")
    return campaign


def test_what_is_the_same_by_construction_has_no_interval_and_no_p(tmp_path: Path) -> None:
    campaign = same_so_far(tmp_path)
    document = report(campaign, "comparison", Options(texts=False))

    assert [(one["name"], one["labelled"], one["undecided"]) for one in document["systems"]] == [
        ("base", [40], [0]), ("base", [8], [0]), ("big", [20], [20]), ("big", [4], [4]),
    ]  # fmt: skip
    for found, labelled in zip(document["differences"], (20, 4), strict=True):
        assert (found["n"], found["labelled"], found["undecided"]) == (4, labelled, labelled)
        assert (found["difference"], found["ci95"], found["p"], found["p_holm"]) == (0, None, None, None)
        assert found["ci95_reason"] == found["p_reason"] == SAME
        assert "warning" not in found
    assert document["pair"]["differences"] == document["differences"]
    shown = as_markdown("comparison", document)
    assert "| big | instance | 1 | 20 | 20 | 20.00 |" in shown
    assert shown.count("judged once") == 2  # under either table of differences, once
    assert r"& 20 & 20 & 20.00" in as_latex("comparison", document)
    turned = report(campaign, "comparison", Options(texts=False, a="big", b="base"))
    assert "| instance | big | base | 4 | 20.00 | 20.00 | 0.00 | – | – | – |" in as_markdown(
        "comparison", turned
    )


def test_missing_labels_are_counted_beside_a_difference(tmp_path: Path) -> None:
    campaign = judged(tmp_path, ("base", ""), ("big", ""))
    rows = compounds(N)
    for number, row in enumerate(rows):
        row["translation"] = f"译对{number}big" if number < 35 else f"另{number}"
    load_rows(campaign, rows, tmp_path, system="late")
    document = report(campaign, "comparison", Options(texts=False, among=("base", "late")))
    found = document["differences"][0]
    assert (found["labelled"], found["undecided"]) == (35, 5)
    assert found["ci95"] is not None
    assert found["warning"].startswith("base – late: 5 of 40 instances have no label")
    assert "5 of 40 instances" in as_markdown("comparison", document)
