"""How much to judge: by command, page and program, from given and from measured figures."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from django.core.management import load_command_class
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation.models import Annotation, Assignment, Campaign, Membership, User
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from scoring.management.commands.plan import OPTIONS
from scoring.services.measured import measured
from scoring.services.plans import Wish
from tests.factories import make_user
from tests.material import (
    answer_everything,
    compounds,
    load_rows,
    new_campaign,
    run,
    run_json,
    triples,
    write_csv,
)
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/reports/plan/"
API = "/api/v1/campaigns/main/plan/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def empty(mei: User, protocol: str) -> Campaign:
    campaign = new_campaign(protocol)
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


def test_the_command_says_what_a_width_takes(mei: User) -> None:
    empty(mei, "compound")
    document = run_json("plan", "main", "--goal", "precision", "--width", 5, "--rate", 50, "--seconds", 9)
    assert (document["units"], document["judgements"]) == (381, 1905)
    assert document["hours"] == pytest.approx(1905 * 9 / 3600)
    shown = run("plan", "main", "--goal", "precision", "--width", 5).out
    assert "| units | 381 |" in shown
    by_csv = run("plan", "main", "--goal", "precision", "--width", 5, "--format", "csv").out
    assert ",381," in by_csv


def test_a_spot_check_is_that_of_the_textbook(mei: User) -> None:
    empty(mei, "triple")
    document = run_json("plan", "main", "--goal", "spot-check", "--acceptable", 5, "--rejectable", 15)
    assert (document["n"], document["c"]) == (77, 7)
    ran = run("plan", "main", "--goal", "spot-check", "--acceptable", 15, "--rejectable", 5)
    assert (ran.code, "below the rejectable one" in ran.err) == (1, True)


def test_seeds_may_hide_a_difference(mei: User) -> None:
    empty(mei, "triple")
    arguments = ("--difference", 3, "--spread", 45, "--seed-sd", 2.5, "--runs", 3)
    document = run_json("plan", "main", "--goal", "difference", *arguments)
    assert document["units"] is None
    assert document["reason"].endswith("at least 11 runs are needed")
    assert document["reason"] in run("plan", "main", "--goal", "difference", *arguments).out
    enough = run_json("plan", "main", "--goal", "difference", "--difference", 5, "--spread", 45)
    assert (enough["units"], enough["unit"]) == (636, "triples")


def test_it_takes_what_the_campaign_has_shown(mei: User, tmp_path: Path) -> None:
    campaign = empty(mei, "compound")
    load_rows(campaign, compounds(6), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, lambda row: "0" if row.item.position <= 10 else "1")
    Annotation.objects.update(active_seconds=40.0)

    found = measured(campaign)

    assert found.rates["aggregate"] == pytest.approx(100 / 3)
    assert found.design_effect == pytest.approx(6)  # whole compounds fail: 5, over 5 / 6
    assert found.seconds == 8  # a screen of five rows
    document = run_json("plan", "main", "--goal", "precision")
    assert document["assumed"]["rate"] == pytest.approx(1 / 3)
    assert document["assumed"]["seconds"] == 8


def test_the_page_fills_in_and_shows(mei: User) -> None:
    empty(mei, "triple")
    client = client_of(mei)
    assert client.get(PAGE).status_code == 200
    with CaptureQueriesContext(connection) as found:
        page = client.get(f"{PAGE}?goal=precision&of=share&width=3&rate=22&experts=2&seconds=10")
    assert len(found) < 12
    text = text_of(page)
    assert "731" in text
    assert "4.1" in text
    check = client.get(f"{PAGE}?goal=spot-check&acceptable=5&rejectable=15&alpha=0.05&beta=0.1")
    assert "77" in text_of(check)
    hidden = f"{PAGE}?goal=difference&of=share&difference=3&spread=45&seed_sd=2.5&runs=3&comparisons=1"
    assert "at least 11 runs are needed" in text_of(client.get(hidden))
    assert client.get(f"{PAGE}?goal=precision&of=share&width=70").status_code == 400
    assert client.get(f"{PAGE}?goal=precision&of=share&width=0.1&rate=50").status_code == 200
    assert client.get(f"{PAGE}?goal=nothing").status_code == 404
    for form in ("md", "tex", "csv", "json"):
        file = client.get(f"{PAGE}?goal=precision&of=share&width=3&rate=22&as={form}")
        assert f"main-plan.{form}" in file.headers["Content-Disposition"]


def test_an_auc_is_planned_too(mei: User, tmp_path: Path) -> None:
    campaign = empty(mei, "triple")
    load_rows(campaign, triples(4, label="1"), tmp_path)
    document = run_json("plan", "main", "--goal", "precision", "--of", "auc", "--width", 2, "--rate", 22)
    assert (document["units"], document["unit"]) == (3235, "triples")
    assert run("plan", "main", "--goal", "precision", "--of", "instance").code == 1


def test_programs_ask_as_well(mei: User) -> None:
    empty(mei, "compound")
    programs = APIClient()
    programs.force_authenticate(mei)
    found = programs.get(API, {"goal": "precision", "width": "5", "rate": "50"}).json()
    assert found["units"] == 381
    assert programs.get(API, {"goal": "precision", "of": "auc"}).status_code == 400
    assert programs.get(API).status_code == 400


# What it rests on


def runs_judged(mei: User, folder: Path) -> Campaign:
    """Two systems, one of them with two runs, on six compounds; each run fails on others."""
    campaign = empty(mei, "compound")
    for system, seed in (("base", "1"), ("base", "2"), ("large", "1")):
        rows = [row | {"translation": f"{system}{seed} {i}"} for i, row in enumerate(compounds(6))]
        load_rows(campaign, rows, folder, system=system, run=seed)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    wrong = (
        {f"base1 {i}" for i in range(12)}
        | {f"base2 {i}" for i in range(4, 9)}
        | {f"large1 {i}" for i in (1, 29)}
    )
    answer_everything(campaign, lambda row: "0" if row.item.translation in wrong else "1")
    return campaign


def test_it_measures_how_far_systems_and_runs_part(mei: User, tmp_path: Path) -> None:
    found = measured(runs_judged(mei, tmp_path))
    # wrong contexts of the six compounds: base 1: 5 5 2 0 0 0, base 2: 1 4 0 0 0 0, large: 1 0 0 0 0 1
    between = np.array([4, 5, 2, 0, 0, -1]) / 5
    within = np.array([4, 1, 2, 0, 0, 0]) / 5
    assert found.spread["instance"] == pytest.approx(100 * between.std(ddof=1))
    assert found.run_spread["instance"] == pytest.approx(100 * within.std(ddof=1))
    rates = [40.0, 100 * 5 / 30]
    seeds = np.var(rates, ddof=1) - 1e4 * within.var(ddof=1) / 12
    assert found.seed_sd["instance"] == pytest.approx(seeds**0.5)


def test_it_says_what_was_given_measured_and_assumed(mei: User, tmp_path: Path) -> None:
    runs_judged(mei, tmp_path)
    measured_ones = run_json("plan", "main", "--goal", "difference", "--of", "instance", "--difference", 20)
    sources = measured_ones["sources"]
    assert (sources["spread"], sources["seed_sd"], sources["runs"]) == ("measured", "measured", "assumed")
    given = run_json("plan", "main", "--goal", "difference", "--of", "instance", "--rate", 22, "--seed-sd", 0)
    sources = given["sources"]
    assert (sources["rate"], sources["correlation"], sources["spread"]) == ("given", "assumed", "derived")
    assert (sources["design_effect"], sources["power"]) == ("measured", "fixed")
    assert "| derived: spread |" in run("plan", "main", "--goal", "difference", "--rate", 22).out
    page = text_of(
        client_of(mei).get(f"{PAGE}?goal=difference&of=instance&difference=20&runs=1&comparisons=1")
    )
    assert "Standard deviation between seeds of one system, in points" in page
    assert "measured in this campaign" in page
    assert re.search(r"Instance error rate 40\.00\s% .* of base / 1 Aggregate", page)


def test_a_difference_of_aucs_is_no_difference_of_shares(mei: User) -> None:
    empty(mei, "triple")
    asked = ("plan", "main", "--goal", "difference", "--rate", 22)
    auc, share = (run_json(*asked, "--of", of) for of in ("auc", "share"))
    assert (auc["units"], share["units"]) == (3291, 1497)
    assert (auc["assumed"]["auc"], auc["sources"]["auc"]) == (0.75, "assumed")
    assert auc["assumed"]["other_auc"] == pytest.approx(0.72)
    assert (
        run("plan", "main", "--goal", "difference", "--of", "auc", "--auc", 50, "--difference", 60).code == 1
    )


def test_submissions_say_how_far_their_aucs_part(mei: User, tmp_path: Path) -> None:
    campaign = empty(mei, "triple")
    rows = [row | {"label": str(i % 2)} for i, row in enumerate(triples(40))]
    load_rows(campaign, rows, tmp_path)
    for system, seed in (("base", "1"), ("base", "2"), ("large", "1")):
        shift = {"base1": 3, "base2": 5, "large1": 7}[system + seed]
        scores = [
            {"triple_id": row["triple_id"], "prediction": (i * shift) % 11 / 11 + 0.3 * (i % 2)}
            for i, row in enumerate(rows)
        ]
        file = write_csv(tmp_path / "scores.csv", scores)
        assert run("score", "main", file, "--system", system, "--run", seed, "--split", "all").code == 0
    found = measured(campaign)
    assert found.spread["auc"] is not None
    assert found.run_spread["auc"] is not None
    assert found.seed_sd["auc"] is not None
    document = run_json("plan", "main", "--goal", "difference", "--of", "auc", "--difference", 10)
    assert document["sources"]["spread"] == "measured"
    assert document["assumed"]["spread"] == pytest.approx(found.spread["auc"] / 100)


def test_the_page_takes_a_risk_in_per_cent(mei: User) -> None:
    empty(mei, "triple")
    asked = {"goal": "spot-check", "acceptable": "5", "rejectable": "15", "alpha": "5 %", "beta": "10%"}
    page = text_of(client_of(mei).get(PAGE, asked))
    assert "To be checked 77" in page
    assert "As a share or in per cent, such as 0.05 or 5 %." in page


@pytest.mark.parametrize(
    ("finalised", "told"),
    [(False, "from the labels imported with the items"), (True, "from the final labels")],
)
def test_a_rate_says_which_labels_it_comes_from(
    finalised: bool, told: str, mei: User, tmp_path: Path
) -> None:
    campaign = empty(mei, "triple")
    load_rows(campaign, [row | {"label": str(i % 2)} for i, row in enumerate(triples(8))], tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: str(row.item.position % 2))
    if finalised:
        finalize(campaign)

    page = text_of(client_of(mei).get(PAGE, {"goal": "precision", "of": "share", "width": "5"}))

    assert f"Share of plausible triples 50.00 % {told}" in page
    assert f"measured in this campaign, {told}" in page


def test_a_rate_of_compounds_says_that_it_comes_from_answers(mei: User, tmp_path: Path) -> None:
    runs_judged(mei, tmp_path)
    page = text_of(client_of(mei).get(PAGE))
    assert re.search(r"Instance error rate [\d.]+ % from the answers as they stand", page)


def test_it_takes_nothing_from_open_answers_unless_it_is_written_down(mei: User, tmp_path: Path) -> None:
    campaign = runs_judged(mei, tmp_path)
    one = Assignment.objects.filter(label="1").first()
    assert one is not None
    Assignment.objects.filter(pk=one.pk).update(revision=0, label="", answered_at=None)
    client = client_of(mei)
    assert measured(campaign).withheld == 1
    asked = {"goal": "precision", "of": "instance", "width": "5"}
    page = text_of(client.get(PAGE, asked))
    assert "1 answer is still open" in page
    assert "50 % assumed" in page
    assert not peeks_of(campaign)
    assert "measured in this campaign" in text_of(client.post(PAGE, asked))
    run_json("plan", "main", "--goal", "precision")
    assert [(peek.kind, peek.by, peek.open_answers) for peek in peeks_of(campaign)] == [
        ("plan", mei, 1),
        ("plan", None, 1),
    ]


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (("--width", 0), 1, "Half an interval is more than 0 and less than 50 points long. See --width."),
        (("--seconds", -1), 1, "which is a day. See --seconds."),
    ],
)
def test_the_command_names_the_option_that_is_wrong(
    mei: User, options: tuple[object, ...], code: int, sentence: str
) -> None:
    empty(mei, "compound")
    ran = run("plan", "main", "--goal", "precision", *options)
    assert (ran.code, sentence in ran.err) == (code, True), ran.err


def test_the_table_says_why_there_are_no_hours(mei: User) -> None:
    empty(mei, "compound")
    for goal in ("precision", "spot-check"):
        without = run("plan", "main", "--goal", goal).out
        assert "no pace is known yet, so there are no hours" in without
        assert "no pace is known" not in run("plan", "main", "--goal", goal, "--seconds", 9).out


def test_the_command_takes_no_number_that_is_none(mei: User) -> None:
    empty(mei, "compound")
    for text in ("nan", "inf", "abc"):
        with pytest.raises(CommandError, match="--width: invalid number"):
            run("plan", "main", "--goal", "precision", "--width", text)


def test_the_commands_help_names_the_goal_of_every_option_and_its_default() -> None:
    """Whatever a plan can be given stands there, with what holds without it."""
    shown = " ".join(
        load_command_class("scoring", "plan").create_parser("manage.py", "plan").format_help().split()
    )

    for wish in fields(Wish):
        assert f"--{wish.name.replace('_', '-')} " in shown, wish.name
    for group in (
        "precision and difference:",
        "precision: a figure",
        "difference: between",
        "spot-check: how many",
    ):
        assert group in shown
    options = [option for options in OPTIONS.values() for option in options]
    assert all("default" in told for _name, _kind, told in options)
    for name, value in (("width", 3), ("difference", 3), ("acceptable", 5), ("rejectable", 15), ("alpha", 0.05),
                        ("beta", 0.1), ("runs", 1), ("comparisons", 1)):  # fmt: skip
        assert getattr(Wish(goal="precision"), name) == value
        assert next(told for option, _kind, told in options if option == name).endswith(f"default: {value:g}")


def test_the_page_calls_a_figure_by_one_name_and_says_why_there_is_none(mei: User) -> None:
    empty(mei, "triple")
    shown = text_of(client_of(mei).get(PAGE))
    assert "Share of triples" not in shown
    assert "Share of plausible triples" in shown
    assert "Seconds a judgement takes (median, active) No pace is known yet." in shown
