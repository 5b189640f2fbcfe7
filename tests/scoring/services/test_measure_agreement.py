"""Agreement reports: the known small cases from file to figure, and what counts."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Campaign, Design, Item, Part
from annotation.services.errors import Refused
from annotation.services.parts import assign_parts
from scoring.services.measure import report
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
    write_csv,
)
from tests.shared import case, expected

pytestmark = pytest.mark.django_db


def judged_case(name: str, folder: Path, *, protocol: str, k: int = 2) -> Campaign:
    """A campaign whose items and judgements are those of a case with item_id, annotator and label."""
    rows = case(name)
    keys = list(dict.fromkeys(row["item_id"] for row in rows))
    campaign = new_campaign(protocol, k=k)
    if protocol == "triple":
        items = [{**row, "triple_id": key} for row, key in zip(triples(len(keys)), keys, strict=True)]
    else:
        made = compounds(len(keys), contexts=1)
        items = [{**row, "item_id": key} for row, key in zip(made, keys, strict=True)]
    load_rows(campaign, items, folder)
    judgements = write_csv(folder / "judgements.csv", [dict(row) for row in rows])
    document = run_json("import_annotations", campaign.slug, judgements)
    assert document["added"] == len(rows)
    return campaign


def agreement(campaign: Campaign, **options: Any) -> Any:
    return report(campaign, "agreement", Options(real_names=True, **options))


# Agreement: the cases


def test_it_leaves_blanks_out_of_agreement(tmp_path: Path) -> None:
    rows = case("c25_agr_missing_three_annotators.csv")
    campaign = new_campaign(k=3)
    load_rows(campaign, [{**row, "triple_id": f"i{i}"} for i, row in enumerate(triples(8), 1)], tmp_path)
    scale = {"0": "0", "1": "0.5", "2": "1", "": ""}
    for name in ("ann_x", "ann_y", "ann_z"):
        given = [{"triple_id": row["item_id"], "label": scale[row[name]]} for row in rows]
        judge_rows(campaign, given, annotator=name, column="label")
    figures = agreement(campaign)["coefficients"]
    assert figures["alpha_nominal"]["value"] == pytest.approx(expected("c25")["alpha_nominal"], abs=1e-4)
    assert figures["alpha_ordinal"]["value"] == pytest.approx(expected("c25")["alpha_ordinal"], abs=1e-4)
    assert figures["cohen"]["value"] is None
    assert figures["cohen"]["reason"]


def test_it_takes_the_order_of_the_scale_from_the_protocol(tmp_path: Path) -> None:
    campaign = judged_case("c26_agr_worded_scale.csv", tmp_path, protocol="triple")
    figures = agreement(campaign)["coefficients"]
    for name, key in (("cohen", "unweighted"), ("cohen_linear", "linear"), ("cohen_quadratic", "quadratic")):
        assert figures[name]["value"] == pytest.approx(expected("c26")[key], abs=1e-4)


def test_it_shows_a_skewed_distribution_beside_its_figures(tmp_path: Path) -> None:
    campaign = judged_case("c27_agr_skewed.csv", tmp_path, protocol="compound")
    document = agreement(campaign)
    figures = document["coefficients"]
    assert document["n_items"] == 100
    for name, key in (("raw", "po"), ("cohen", "kappa"), ("alpha_nominal", "alpha"), ("gwet_ac1", "AC1")):
        assert figures[name]["value"] == pytest.approx(expected("c27")[key], abs=1e-4)
    assert sum(document["distribution"].values()) == 200
    shown = run("report", campaign.slug, "--kind", "agreement").out
    assert "| Cohen's κ | -0.0246 |" in shown


def test_it_says_where_two_people_share_no_item(tmp_path: Path) -> None:
    campaign = judged_case("c29_agr_no_overlap.csv", tmp_path, protocol="compound")
    document = agreement(campaign)
    pairs = {(pair["a"], pair["b"]): pair for pair in document["pairs"]}
    assert (pairs["a", "b"]["n"], pairs["a", "b"]["coefficients"]["cohen"]["value"]) == (0, None)
    assert pairs["a", "b"]["coefficients"]["cohen"]["reason"] == "no common items"
    for other in ("a", "b"):
        pair = pairs[other, "c"]
        assert pair["n"] == 5
        assert pair["coefficients"]["cohen"]["value"] == pytest.approx(expected("c29")[f"{other}c"], abs=1e-4)
    assert document["coefficients"]["cohen"]["value"] is None
    assert "no common items" in run("report", campaign.slug, "--kind", "agreement", "--format", "json").out


def test_it_gives_each_part_its_own_figure_and_the_pooled_one(tmp_path: Path) -> None:
    campaign = judged_case("c30_agr_two_parts.csv", tmp_path, protocol="compound")
    round_ = campaign.rounds.get()
    design = Design.objects.create(round=round_, name="cyclic", seed=1, hash="0" * 64, plan={})
    parts = []
    for index in (1, 2):
        part = Part.objects.create(round=round_, design=design, index=index)
        Assignment.objects.filter(item__key__startswith=f"part{index}").update(part=part)
        parts.append(part)
    document = agreement(campaign)
    want = expected("c30")
    by_part = document["by"]["part"]
    assert [by_part[name]["n_items"] for name in ("1", "2")] == want["n"]
    for name in ("1", "2"):
        value = by_part[name]["coefficients"]["cohen"]["value"]
        assert value == pytest.approx(want[f"part{name}"], abs=1e-4)
    assert document["coefficients"]["cohen"]["value"] == pytest.approx(want["pooled"], abs=1e-4)
    assert document["coefficients"]["cohen"]["n"] == 14
    alone = agreement(campaign, part=parts[1].pk)
    assert alone["n_items"] == 4
    assert alone["coefficients"]["cohen"]["value"] == pytest.approx(want["part2"], abs=1e-4)


# Agreement: what counts


def test_it_reports_what_is_undefined_as_null_with_a_reason() -> None:
    for protocol in ("compound", "triple"):
        document = agreement(new_campaign(protocol, slug=protocol))
        json.dumps(document, allow_nan=False)
        assert document["n_items"] == 0
        for found in document["coefficients"].values():
            assert (found["value"], found["ci95"]) == (None, None)
            assert found["reason"]
            assert found["ci95_reason"]


def test_it_counts_cannot_judge_as_missing(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(6), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    from annotation.protocol.triple import TRIPLE

    cause = TRIPLE.cannot_judge_causes[0].code
    answer_everything(
        campaign, lambda row: "" if row.item.position == 1 and row.slot == 1 else "1", cause=cause
    )
    document = agreement(campaign)
    assert (document["n_items"], document["coefficients"]["raw"]["n"]) == (6, 5)
    assert document["distribution"] == {"0": 0, "0.5": 0, "1": 11}


def test_it_counts_the_last_answer_and_active_items_only(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(4), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    row = Assignment.objects.get(item__position=1, slot=1)
    save(sheet([row], "0"), row.expert_id)
    Item.objects.filter(position=2).update(retired_at=timezone.now(), retired_why="withdrawn")
    figures = agreement(campaign)["coefficients"]
    assert figures["raw"]["n"] == 3
    assert figures["raw"]["value"] == pytest.approx(2 / 3)


def test_it_calls_people_by_name_only_on_request(tmp_path: Path) -> None:
    campaign = judged_case("c29_agr_no_overlap.csv", tmp_path, protocol="compound")
    assert report(campaign, "agreement", Options())["raters"] == ["A1", "A2", "A3"]
    assert agreement(campaign)["raters"] == ["a", "b", "c"]
    shown = run_json("report", campaign.slug, "--kind", "agreement", "--pseudonyms")
    assert shown["raters"] == ["A1", "A2", "A3"]


def test_it_refuses_a_round_that_does_not_exist(tmp_path: Path) -> None:
    campaign = new_campaign()
    assert run_json("report", campaign.slug, "--kind", "agreement", "--round", "main")["n_items"] == 0
    with pytest.raises(Refused, match="There is no round “third”"):
        report(campaign, "agreement", Options(round="third"))


def test_parts_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(24), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, parts=12)
    answer_everything(campaign, "1")
    assert list(agreement(campaign, resamples=100)["by"]["part"]) == [str(index) for index in range(12)]


@pytest.mark.parametrize("kind", ["error-rates", "agreement", "bleu"])
def test_it_names_the_rounds_there_are_whatever_is_measured(kind: str, tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    with pytest.raises(Refused, match="“spot_check” in this campaign; its rounds: main"):
        report(campaign, kind, Options(round="spot_check"))


def test_the_command_names_the_rounds_there_are(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    ran = run("report", campaign.slug, "--kind", "agreement", "--round", "spot_check", "--json")
    assert ran.code == 1
    assert ran.document["errors"][0]["message"] == (
        "There is no round “spot_check” in this campaign; its rounds: main."
    )
