"""What if: labels and figures under another rule or a label model, over the same answers, with nothing written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Arbitration, Assignment, Campaign, FinalLabel, Item, Round, User
from annotation.services.errors import Refused
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from scoring.models import Prediction, Submission
from scoring.records import as_csv
from scoring.reports import as_latex, as_markdown
from scoring.services.behind import Number, items_behind
from scoring.services.measure import report
from scoring.services.options import Options
from tests.factories import make_assignment, make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, run, run_json, triples

pytestmark = pytest.mark.django_db

EXPERTS = ["ada", "bo", "chen"]
# By item: the answers in slot order, and the label by ckbp2 and by majority.
PAIRS = {
    1: ("1", "1"), 2: ("1", "0.5"), 3: ("1", "0"), 4: ("0", "0"), 5: ("0.5", "0.5"), 6: ("0", "0.5"),
    7: ("1", ""), 8: ("", ""), 9: ("1", "1"), 10: ("0", "0"),
}  # fmt: skip


def pairs_campaign(folder: Path, *, n: int = 10, slug: str = "main") -> Campaign:
    """Triples with the answers of `PAIRS`, by three experts two at a time; finalised by ckbp2."""
    campaign = new_campaign("triple", k=2, slug=slug)
    load_rows(campaign, triples(n), folder)
    assign_parts(campaign, experts=EXPERTS, design="cyclic", seed=1)
    answer_everything(
        campaign, lambda row: PAIRS[(row.item.position - 1) % 10 + 1][row.slot - 1], cause="text_broken"
    )
    finalize(campaign)
    return campaign


@pytest.fixture
def judged(tmp_path: Path) -> Campaign:
    return pairs_campaign(tmp_path)


def state_of_everything() -> str:
    """Every row of every table of the site."""
    rows = {
        model._meta.label: list(model._default_manager.order_by("pk").values())
        for model in apps.get_models()
        if model._meta.app_label in ("annotation", "scoring")
    }
    return json.dumps(rows, default=str, sort_keys=True)


def cells(document: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(one["from"], one["to"]): one["n"] for one in document["table"]}


def test_another_rule_turns_and_takes_labels_as_counted_by_hand(judged: Campaign) -> None:
    document = report(judged, "what-if", Options(rule="majority"))

    # ckbp2: 1, 2, 9 plausible; 3, 4, 5, 6, 10 not; 7 and 8 cannot be judged. Majority: {1, 0.5} and {1, 0} tie.
    assert cells(document) == {
        ("1", "1"): 2, ("1", "tie"): 1, ("0", "tie"): 1, ("0", "0"): 4, ("cannot_judge", "cannot_judge"): 2,
    }  # fmt: skip
    counts = {name: document[name] for name in ("kept", "flipped", "gained", "lost", "without")}
    assert counts == {"kept": 6, "flipped": 0, "gained": 0, "lost": 2, "without": 2}
    assert document["n_items"] == 10
    assert (document["labels"]["source"], document["labels"]["rule"]) == ("final", "ckbp2")
    assert document["to"] == {"rule": "majority", "version": "1", "model": None}
    assert document["between"]["percent"] == 100
    assert document["plausible"]["before"]["percent"] == pytest.approx(300 / 8)
    assert document["plausible"]["after"]["percent"] == pytest.approx(200 / 6)
    assert document["plausible"]["difference"] == pytest.approx(200 / 6 - 300 / 8)


def test_the_same_rule_over_the_same_answers_changes_nothing(judged: Campaign) -> None:
    document = report(judged, "what-if", Options())
    assert (document["kept"], document["without"]) == (8, 2)
    assert document["human"]["difference"] == {"auc": 0, "f1": 0, "precision": 0, "recall": 0}
    assert all(row["difference"] == 0 for row in document["experts"])


def test_a_model_decides_what_a_cannot_judge_left_open(judged: Campaign) -> None:
    document = report(judged, "what-if", Options(model="majority"))

    # Item 7: one expert said 1, the other could not judge; 8: nobody could.
    assert cells(document)["cannot_judge", "1"] == 1
    assert cells(document)["cannot_judge", "cannot_judge"] == 1
    assert document["gained"] == 1
    assert document["to"]["model"]["model"] == "majority"


@pytest.mark.parametrize("model", ["dawid-skene", "mace"])
def test_a_model_says_how_it_came_to_its_labels(judged: Campaign, model: str) -> None:
    document = report(judged, "what-if", Options(model=model))

    found = document["to"]["model"]
    assert found["converged"] is True
    assert found["log_likelihood"] < 0
    assert sorted(found["experts"]) == ["A1", "A2", "A3"]
    assert all(0 <= one["value"] <= 1 for one in found["experts"].values())
    assert found["signature"].startswith(f"{model}|ver:1|")
    assert document["warnings"] == found["warnings"]
    assert bool(document["warnings"]) == (model == "dawid-skene")  # two answers an item cannot tell
    assert f"model {model}/1" in document["signature"]


def test_items_that_wait_for_answers_gain_no_label_under_a_model(tmp_path: Path) -> None:
    campaign = pairs_campaign(tmp_path)
    row = Assignment.objects.get(item__position=1, slot=2)
    Assignment.objects.filter(pk=row.pk).update(label="", answered_at=None, revision=0)
    document = report(campaign, "what-if", Options(model="mace"))
    assert cells(document)["1", "incomplete"] == 1


def test_what_lacked_answers_when_labels_were_computed_and_has_them_now_waits_to_be_computed(
    tmp_path: Path,
) -> None:
    campaign = pairs_campaign(tmp_path)
    row = Assignment.objects.get(item__position=1, slot=2)
    Assignment.objects.filter(pk=row.pk).update(label="", answered_at=None, revision=0)
    finalize(campaign)
    Assignment.objects.filter(pk=row.pk).update(
        label=row.label, answered_at=row.answered_at, revision=row.revision
    )
    found = cells(report(campaign, "what-if", Options()))
    assert found["not_computed", "1"] == 1
    assert not any("incomplete" in cell for cell in found)


def test_what_an_arbiter_decided_stands_under_every_rule_and_model(judged: Campaign) -> None:
    mei = make_user("mei")
    for position in (3, 8):
        item = Item.objects.get(position=position)
        Arbitration.objects.create(item=item, label="1", reason="It holds.", by=mei)
    finalize(judged)
    for options in (Options(rule="majority"), Options(model="majority"), Options(model="mace")):
        document = report(judged, "what-if", options)
        assert document["arbiter"] == 2
        found = items_behind(judged, "what-if", options, Number(of="kept")).items
        assert set(Item.objects.filter(position__in=(3, 8)).values_list("pk", flat=True)) <= set(found)


def test_effective_scores_count_not_the_independent_ones(judged: Campaign) -> None:
    """Both experts of the contrast say 1 in a resolution: the rule sees two ones."""
    main = judged.rounds.get(kind=Round.Kind.MAIN)
    item = Item.objects.get(position=3)
    again = Round.objects.create(campaign=judged, kind=Round.Kind.RESOLUTION, k=2, guideline=main.guideline)
    for row in Assignment.objects.filter(item=item, round=main):
        make_assignment(
            item, row.expert, slot=row.slot, round=again, label="1", revision=1, answered_at=row.answered_at
        )
    document = report(judged, "what-if", Options())
    assert cells(document)["0", "1"] == 1
    assert document["flipped"] == 1
    assert document["labels"]["stale"] == 1


def test_a_campaign_that_was_never_finalised_is_compared_by_its_rule(tmp_path: Path) -> None:
    campaign = pairs_campaign(tmp_path)
    FinalLabel.objects.all().delete()
    Campaign.objects.filter(pk=campaign.pk).update(label_version=0, rule="")
    campaign.refresh_from_db()
    document = report(campaign, "what-if", Options(rule="unanimous"))
    assert (document["labels"]["source"], document["labels"]["rule"]) == ("computed", "ckbp2")
    assert document["lost"] == 2


def test_an_item_restored_after_the_last_run_has_no_label_yet(judged: Campaign) -> None:
    FinalLabel.objects.get(item__position=1).delete()
    document = report(judged, "what-if", Options())
    assert cells(document)["not_computed", "1"] == 1
    assert document["gained"] == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (Options(rule="nonsense"), "is not a label rule"),
        (Options(model="glad"), "There is no label model"),
        (Options(rule="majority", model="mace"), "not both"),
    ],
)
def test_it_refuses_what_there_is_not(judged: Campaign, options: Options, says: str) -> None:
    with pytest.raises(Refused, match=says):
        report(judged, "what-if", options)


def test_it_says_why_a_model_has_no_answer(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(2), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, lambda row: "1" if row.item.position % 2 else "0")
    with pytest.raises(Refused, match="one expert alone"):
        report(campaign, "what-if", Options(model="dawid-skene"))
    assert report(campaign, "what-if", Options(model="majority"))["kept"] == 10


# Figures


def submitted(campaign: Campaign, by: User, *, threshold: float | None = 0.5, **fields: Any) -> Submission:
    """Scores that fall with the position: 1.0, 0.9 …"""
    made = Submission.objects.create(
        campaign=campaign, system="bert", split="all", threshold=threshold, file_name="p.csv",
        sha256="0" * 64, digest="0" * 64, created_by=by, **fields,
    )  # fmt: skip
    items = Item.objects.active().filter(campaign=campaign)
    Prediction.objects.bulk_create(
        Prediction(submission=made, item=item, score=1 - (item.position - 1) / 10) for item in items
    )
    return made


def test_it_moves_auc_and_f1_of_what_was_sent_in(judged: Campaign) -> None:
    submitted(judged, make_user("otto"))
    run_ = report(judged, "what-if", Options(rule="majority"))["submissions"][0]

    # ckbp2: positives 1, 2, 9; negatives 3, 4, 5, 6, 10: 1 and 2 beat all five, 9 beats one.
    assert run_["before"]["auc"] == pytest.approx(100 * 11 / 15)
    # majority: positives 1, 9; negatives 4, 5, 6, 10.
    assert run_["after"]["auc"] == pytest.approx(100 * 5 / 8)
    assert run_["difference"]["auc"] == pytest.approx(100 * (5 / 8 - 11 / 15))
    # threshold 0.5 calls 1 to 6 plausible: 2 hits of 6 named and 3 plausible; then 1 of 4 named and 2.
    assert run_["before"]["f1"] == pytest.approx(100 * 4 / 9)
    assert run_["after"]["f1"] == pytest.approx(100 * 2 / 6)


def test_a_threshold_that_dev_cannot_tell_is_said_to_be_untuned(judged: Campaign) -> None:
    submitted(judged, make_user("otto"), threshold=None)
    run_ = report(judged, "what-if", Options(rule="majority"))["submissions"][0]
    assert run_["thresholds"] == [None, None]
    assert "stands at 0.5" in run_["warning"]


def test_it_moves_the_error_rates_of_every_run(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(4), tmp_path, system="base", run="1")
    assign_parts(campaign, experts=EXPERTS, design="cyclic", seed=1)
    answer_everything(
        campaign,
        lambda row: (
            "0" if row.item.position == 1 else ("" if row.item.position == 6 and row.slot == 1 else "1")
        ),
        cause="source_broken",
    )
    finalize(campaign)
    document = report(campaign, "what-if", Options(model="majority"))

    (rates,) = document["rates"]
    assert (rates["system"], rates["run"]) == ("base", "1")
    assert (rates["instance"]["before"]["n"], rates["instance"]["after"]["n"]) == (19, 20)
    assert rates["instance"]["difference"] == pytest.approx(100 / 20 - 100 / 19)
    assert (rates["aggregate"]["before"]["n"], rates["aggregate"]["after"]["n"]) == (3, 4)
    assert "human" not in document


def test_experts_are_measured_against_both_sets_of_labels(judged: Campaign) -> None:
    document = report(judged, "what-if", Options(rule="majority"))
    before = sum(row["before"]["equal"] for row in document["experts"])
    after = sum(row["after"]["equal"] for row in document["experts"])
    # By hand, over items 1–6, 9, 10; 0.5 counts as less than 1: 2 + 1 + 1 + 2 + 2 + 2 + 2 + 2 of 16.
    assert before == 14
    assert sum(row["before"]["n"] for row in document["experts"]) == 16
    assert (after, sum(row["after"]["n"] for row in document["experts"])) == (12, 12)


# What stands behind the numbers


def test_the_list_behind_each_number_is_as_long_as_it_says(judged: Campaign) -> None:
    options = Options(rule="majority")
    document = report(judged, "what-if", options)
    for name in ("kept", "flipped", "gained", "lost", "without"):
        assert items_behind(judged, "what-if", options, Number(of=name)).n == document[name]
    for (one, other), n in cells(document).items():
        assert items_behind(judged, "what-if", options, Number(of="cell", a=one, b=other)).n == n
    lost = items_behind(judged, "what-if", options, Number(of="lost"))
    positions = dict(Item.objects.values_list("pk", "position"))
    assert [positions[item] for item in lost.items] == [2, 3]
    assert lost.said(0) == [("", "1"), ("", "tie")]


def test_there_is_no_list_of_a_cell_or_number_that_is_not_there(judged: Campaign) -> None:
    with pytest.raises(Refused, match="no row"):
        items_behind(judged, "what-if", Options(rule="majority"), Number(of="cell", a="1", b="0"))
    with pytest.raises(Refused, match="no number"):
        items_behind(judged, "what-if", Options(rule="majority"), Number(of="percent"))


# Nothing is written, and the cost does not grow


def every_way() -> Iterator[Options]:
    yield Options()
    yield from (Options(rule=rule) for rule in ("ckbp2", "majority", "unanimous"))
    yield from (Options(model=model) for model in ("majority", "dawid-skene", "mace"))


def test_nothing_is_written(judged: Campaign) -> None:
    submitted(judged, make_user("otto"))
    before = state_of_everything()
    for options in every_way():
        document = report(judged, "what-if", options)
        for shown in (as_markdown, as_latex, as_csv):
            assert shown("what-if", document)
        items_behind(judged, "what-if", options, Number(of="kept"))
    assert state_of_everything() == before


@pytest.mark.parametrize("model", [None, "dawid-skene"])
def test_it_asks_as_often_for_forty_items_as_for_ten(tmp_path: Path, model: str | None) -> None:
    options = Options(model=model)
    small = pairs_campaign(tmp_path)
    submitted(small, make_user("otto"))
    with CaptureQueriesContext(connection) as few:
        report(small, "what-if", options)
    large = pairs_campaign(tmp_path, n=40, slug="large")
    submitted(large, make_user("olga"))
    with CaptureQueriesContext(connection) as many:
        report(large, "what-if", options)
    assert len(many) == len(few) <= 16


# Files and the command


def test_its_tables_say_what_the_document_says(judged: Campaign) -> None:
    submitted(judged, make_user("otto"))
    document = report(judged, "what-if", Options(model="dawid-skene"))
    text = as_markdown("what-if", document)
    for part in ("Labels: ckbp2/1 (final, version 1) against the model dawid-skene", "From (row) to (column)",
                 "Plausible triples, %", "| bert / all | AUC |", "Experts under dawid-skene", "log-likelihood",
                 "No item has three answers."):  # fmt: skip
        assert part in text
    assert r"\begin{table}" in as_latex("what-if", document)
    rows = as_csv("what-if", document).splitlines()
    assert rows[0].startswith("table,name,")
    assert sum(row.startswith("competence,") for row in rows) == 3
    assert any(row.startswith("scores,human,") for row in rows)


def test_the_command_prints_the_same_document(judged: Campaign) -> None:
    document = run_json("report", "main", "--kind", "what-if", "--rule", "majority", "--pseudonyms")
    assert document == json.loads(json.dumps(report(judged, "what-if", Options(rule="majority"))))
    model = run_json("report", "main", "--kind", "what-if", "--model", "mace")
    assert sorted(model["to"]["model"]["experts"]) == EXPERTS  # on the command line people have their names
    assert "Labels: ckbp2/1" in run("report", "main", "--kind", "what-if").out


def test_the_command_refuses_a_rule_of_another_report(judged: Campaign) -> None:
    assert run("report", "main", "--kind", "what-if", "--rule", "described").code == 2
    assert run("report", "main", "--kind", "artifacts", "--rule", "majority").code == 2
    assert run("report", "main", "--kind", "what-if", "--rule", "majority", "--model", "mace").code == 2
    assert run("report", "main", "--kind", "what-if", "--rule", "unanimous").code == 0
