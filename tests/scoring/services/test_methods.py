"""The methods paragraph: everything a paper has to say of a campaign, and nothing supposed."""

import csv
import io
import re
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from annotation.models import Annotation, Assignment, Campaign, Membership
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from tests.factories import make_user
from tests.material import (
    answer_everything,
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
    triples,
    write_csv,
)
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

METHODS = ("report", "main", "--kind", "methods")


def judged(protocol: str, folder: Path) -> Campaign:
    """Four experts, two on each item; the second item is disputed."""
    campaign = new_campaign(protocol, k=2)
    if protocol == "triple":
        load_rows(campaign, [row | {"split": "test"} for row in triples(12)], folder)
    else:
        load_rows(campaign, compounds(8), folder, system="base", run="1")
    assign_parts(campaign, experts=["ada", "bo", "chen", "dan"], design="cyclic", seed=3)
    answer_everything(campaign, lambda row: "0" if row.item.position == 2 and row.slot == 1 else "1")
    return campaign


def text() -> str:
    found: str = run_json(*METHODS)["text"]["en"]
    return found


def test_it_names_every_coefficient_and_what_it_rests_on(tmp_path: Path) -> None:
    finalize(judged("triple", tmp_path))
    found = text()
    for part in (
        "triples of head, relation and tail: 12.",
        "k = 2 of them each item",
        "on the scale 0, 0.5, 1; experts 4, judgements 24,",
        "dealt by the design cyclic with seed 3 (hash ",
        "drawn with seed 7",
        "by version of the guidelines: version 1: 24.",
        "Triples came fully shuffled.",
        "by the rule ckbp2 (version ",
        "raw agreement 0.9167 [",
        "contrast coefficient",
        "Krippendorff's alpha (ordinal)",
        "Gwet's AC1",
        "Gwet's AC2 with quadratic weights",
        "(n = 12)",
        "Undefined: Cohen's kappa (",
        "1000 resamples of items with seed 0",
        "Signature of the agreement: agreement:",
        "numpy ",
        "scikit-learn ",
        "No interim figures of the answers were computed here",
    ):
        assert part in found, (part, found)


def test_it_says_with_how_many_answers_the_reference_was_seen(tmp_path: Path) -> None:
    campaign = judged("compound", tmp_path)
    answers = Annotation.objects.filter(assignment__round__campaign=campaign)
    n = answers.count()
    first = answers.order_by("pk")[:2].values("pk")
    told = []
    for everywhere, of_first in ((False, False), (True, True), (False, True), (False, None), (None, None)):
        answers.update(reference_seen=everywhere)
        answers.filter(pk__in=list(first.values_list("pk", flat=True))).update(reference_seen=of_first)
        told.append(re.findall(r"It was (?:not )?seen[^.]*\.|Of [^.]* was seen\.", text()))

    assert told == [
        [f"It was not seen with {n} answers."],
        [f"It was seen with {n} answers."],
        [f"It was seen with 2 answers and not with {n - 2}."],
        [
            f"It was not seen with {n - 2} answers.",
            "Of 2 answers it is not recorded whether it was seen.",
        ],
        [f"Of {n} answers it is not recorded whether it was seen."],
    ]


def test_it_describes_error_rates_and_text_scores(tmp_path: Path) -> None:
    campaign = judged("compound", tmp_path)
    Annotation.objects.filter(assignment__item__position=1).update(reference_seen=True)
    finalize(campaign)
    found = text()
    for part in (
        "compounds 8, systems 1, translations 40 (40 of them distinct).",
        "The reference translation was shown on demand.",
        "It was seen with 2 answers. Of 78 answers it is not recorded whether it was seen.",
        "Reasons for a wrong answer could be given.",
        "by the rule majority (version 1)",
        "Items without a label, by reason: tie: 1.",
        "base / 1: instance 0.00 % [",
        "bootstrap over compounds (1000 resamples, seed 0)",
        "Wilson's 95 % interval",
        "Signature of the first: error-rates|",
        "tok:char",
        "chrF likewise",
        "resamples of compounds with seed 0",
    ):
        assert part in found, (part, found)
    assert "quadratic weights" not in found


def test_it_names_how_translations_were_shown(tmp_path: Path) -> None:
    judged("compound", tmp_path)
    answers = Annotation.objects.count()
    found = text()
    assert f"Display mode: one translation of each context on a screen: {answers}." in found
    assert "The contexts of a compound stood on one screen." in found
    assert "came one after another" not in found

    Annotation.objects.filter(assignment__item__position__gt=1).update(conditions={"display": "side_by_side"})
    found = text()
    assert "all translations of a context side by side: " in found
    assert "The contexts of a compound stood on one screen." in found
    assert "the contexts of a compound came one after another and were saved together" in found

    Annotation.objects.update(conditions={"display": "side_by_side"})
    found = text()
    assert f"Display mode: all translations of a context side by side: {answers}." in found
    assert "stood on one screen" not in found


def test_it_leaves_out_interim_figures_and_names_every_peek(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    one = Assignment.objects.earliest("pk")
    Assignment.objects.filter(pk=one.pk).update(revision=0, label="", answered_at=None)
    run_json("report", "main", "--kind", "agreement")
    run_json("report", "main", "--kind", "human")

    document = run_json(*METHODS)

    assert document["open_answers"] == 1
    assert "raw agreement" not in document["text"]["en"]
    assert "open answers 1;" in document["text"]["en"]
    (first, second) = peeks_of(campaign)  # reading the paragraph is none
    assert (
        f"while blind answers were open: 2, namely {first.at:%Y-%m-%d} agreement (open answers: 1); "
        f"{second.at:%Y-%m-%d} human performance (open answers: 1)."
    ) in document["text"]["en"]
    assert [peek["kind"] for peek in document["peeks"]] == ["agreement", "human"]


def test_it_supposes_nothing_of_judgements_made_elsewhere(tmp_path: Path) -> None:
    campaign = new_campaign(k=1)
    load_rows(campaign, triples(3, label="1"), tmp_path)
    assert "No judgements are held here." in text()
    judge_rows(campaign, [{"triple_id": f"t{place}", "label": "1"} for place in range(1, 4)], annotator="ann")
    found = text()
    assert "Under which conditions they were given elsewhere is not recorded, nor" in found
    assert "by which rule they were made is not recorded" in found
    assert "Triples came" not in found
    assert "version of the guidelines" not in found


def test_imported_judgements_claim_no_version_of_the_guidelines(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    judgement = Annotation.objects.order_by("pk").first()
    assert judgement is not None
    Annotation.objects.filter(pk=judgement.pk).update(source=Annotation.Source.IMPORT)

    document = run_json(*METHODS)

    assert campaign.slug == document["campaign"]
    assert "by version of the guidelines: version 1: 23; not recorded: 1." in document["text"]["en"]


def test_it_says_how_submissions_are_scored(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    finalize(campaign)
    scores = write_csv(
        tmp_path / "p.csv", [{"triple_id": f"t{i}", "prediction": i / 12} for i in range(1, 13)]
    )
    assert run("score", "main", scores, "--system", "base").code == 0
    found = text()
    assert "area under the ROC curve" in found
    assert "Signatures of the latest submissions: score|ver:" in found


def test_it_comes_as_text_for_people_and_for_papers(tmp_path: Path) -> None:
    finalize(judged("triple", tmp_path))
    shown = run(*METHODS).out
    assert shown.startswith("## Methods\n\nThe material is triples")
    assert "## 方法" in shown
    latex = run(*METHODS, "--format", "latex").out
    assert r"\paragraph{Methods} The material is triples" in latex
    assert "tabular" not in latex
    rows = list(csv.DictReader(io.StringIO(run(*METHODS, "--format", "csv").out)))
    assert {row["language"] for row in rows} == {"en", "zh-hans"}


def test_it_is_there_to_be_copied_and_for_programs(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    finalize(campaign)
    mei = make_user("mei")
    add_member(campaign, mei, Membership.Role.MANAGER)
    client = client_of(mei)
    assert "Methods paragraph" in text_of(client.get("/campaigns/main/reports/"))
    page = client.get("/campaigns/main/reports/methods/")
    assert "The material is triples" in text_of(page)
    assert b'data-copy="text-en"' in page.content
    for form in ("md", "tex", "csv", "json"):
        assert client.get(f"/campaigns/main/reports/methods.{form}").status_code == 200
    programs = APIClient()
    programs.force_authenticate(mei)
    given = programs.get("/api/v1/campaigns/main/reports/methods/").json()
    assert given["text"] == run_json(*METHODS)["text"]
