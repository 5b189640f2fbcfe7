"""Reports that need a file: the compound check and the estimate, by page, by program and by command."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation.models import Campaign, Membership, User
from annotation.services.people import add_member
from tests.factories import make_user
from tests.material import judge_rows, load_rows, new_campaign, run, run_json
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

REPORTS = "/campaigns/main/reports/"
API = "/api/v1/campaigns/main/reports/"
LEXICON = "the\t/\nsmall\t小\ndog\t狗/犬\ncar\t车\n".encode()


@pytest.fixture
def mei() -> User:
    return make_user("mei")


@pytest.fixture
def campaign(mei: User, tmp_path: Path) -> Campaign:
    """Two compounds in five contexts: 小 is missing in two translations; experts call one of them and a third wrong."""
    made = new_campaign("compound", k=1)
    rows = [
        {
            "item_id": f"{noun}{number}", "compound": f"the small {noun}", "context_no": number,
            "source": f"the small {noun} slept {number} .",
            "translation": f"{'' if number == 1 else '小'}{word}睡了{number}",
        }
        for noun, word in (("dog", "狗"), ("car", "车"))
        for number in range(1, 6)
    ]  # fmt: skip
    load_rows(made, rows, tmp_path, system="base")
    judged = [
        {"item_id": row["item_id"], "label": "0" if row["item_id"] in ("dog1", "dog2") else "1"}
        for row in rows
    ]
    judge_rows(made, judged, annotator="ann")
    add_member(made, mei, Membership.Role.MANAGER)
    return made


def lexicon(data: bytes = LEXICON) -> SimpleUploadedFile:
    return SimpleUploadedFile("words.txt", data)


def verdicts(
    campaign: Campaign, *, column: str = "label", wrong: tuple[str, ...] = ("dog1", "car1")
) -> bytes:
    keys = campaign.items.order_by("position").values_list("key", flat=True)
    lines = [f"item_id,{column}", *(f"{key},{0 if key in wrong else 1}" for key in keys)]
    return "\n".join(lines).encode()


def send(client: Client, kind: str, **data: Any) -> Any:
    return client.post(f"{REPORTS}{kind}/", data)


def test_the_page_measures_the_check_against_the_experts(mei: User, campaign: Campaign) -> None:
    client = client_of(mei)
    assert 'type="file"' in body_of(client.get(f"{REPORTS}compound-check/"))
    with CaptureQueriesContext(connection) as found:
        page = send(client, "compound-check", lexicon=lexicon())
    assert (page.status_code, len(found) < 20) == (200, True)
    text = text_of(page)
    # Of the two it calls wrong experts call one wrong; of their two it finds one.
    assert text.count("50.00 %") == 2
    assert "Signature: compound-check|ver:1|mode:strict" in text
    document = send(client, "compound-check", lexicon=lexicon(), **{"as": "json"}).json()
    assert (document["error_precision"], document["error_recall"]) == (50, 50)
    for form in ("md", "tex", "csv"):
        file = send(client, "compound-check", lexicon=lexicon(), **{"as": form})
        assert f"main-compound-check.{form}" in file.headers["Content-Disposition"]


def test_another_judge_gets_the_same_diagnostic(mei: User, campaign: Campaign, tmp_path: Path) -> None:
    # Experts call dog1 and dog2 wrong, the judge dog1 and car1; of car2 it says nothing.
    data = b"\n".join(line for line in verdicts(campaign).split(b"\n") if not line.startswith(b"car2,"))
    (tmp_path / "llm.csv").write_bytes(data)
    document = run_json("report", "main", "--kind", "compound-check", "--judge", tmp_path / "llm.csv")
    assert (document["error_precision"], document["error_recall"]) == (50, 50)
    assert document["cells"] == {
        "human_ok_auto_ok": 6, "human_bad_auto_ok": 1, "human_ok_auto_bad": 1, "human_bad_auto_bad": 1,
    }  # fmt: skip
    assert (document["n"], document["unchecked"], document["aggregate"]["undecided"]) == (9, 1, 1)
    assert document["judge"].startswith("file-")
    assert document["signature"].startswith(f"judge-check|ver:1|judge:{document['judge']}|experts:")
    assert document["warnings"] == ["1 instances not checked: the judge gave no verdict."]
    shown = run("report", "main", "--kind", "compound-check", "--judge", tmp_path / "llm.csv").out
    assert "| judge: wrong | 1 | 1 |" in shown
    ran = run(
        "report", "main", "--kind", "compound-check", "--judge", tmp_path / "llm.csv", "--format", "csv"
    )
    assert next(csv.DictReader(io.StringIO(ran.out)))["human_bad_auto_ok"] == "1"
    page = send(client_of(mei), "compound-check", judge=SimpleUploadedFile("llm.csv", data))
    assert text_of(page).count("50.00 %") == 2
    assert "The judge's own rates are no error rates" in text_of(page)
    programs = APIClient()
    programs.force_authenticate(mei)
    file = SimpleUploadedFile("llm.csv", data)
    sent = programs.post(f"{API}compound-check/", {"judge": file}, format="multipart").json()
    assert sent["cells"] == document["cells"]


def test_the_check_takes_one_judge(mei: User, campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes(LEXICON)
    (tmp_path / "llm.csv").write_bytes(verdicts(campaign))
    both = ("--lexicon", tmp_path / "words", "--judge", tmp_path / "llm.csv")
    for options in ((), both):
        ran = run("report", "main", "--kind", "compound-check", *options)
        assert (ran.code, "needs one automatic judge" in ran.err) == (1, True)
    judge = SimpleUploadedFile("llm.csv", verdicts(campaign))
    assert send(client_of(mei), "compound-check", judge=judge, lexicon=lexicon()).status_code == 400


def test_a_bad_lexicon_is_said_beside_the_form(mei: User, campaign: Campaign) -> None:
    page = send(client_of(mei), "compound-check", lexicon=lexicon(b"the\t/\ndog\n"))
    assert page.status_code == 400
    assert "line 2: Each line needs an atom" in text_of(page)
    assert send(client_of(mei), "compound-check").status_code == 400


def test_an_estimate_takes_either_file(mei: User, campaign: Campaign) -> None:
    client = client_of(mei)
    judge = SimpleUploadedFile("llm.csv", verdicts(campaign))
    page = send(client, "estimate", judge=judge)
    assert page.status_code == 200
    assert "at least 10 are needed, drawn at random" in text_of(page)
    by_check = send(client, "estimate", lexicon=lexicon(), **{"as": "json"}).json()
    assert (by_check["judge"], by_check["instance"]["automatic_percent"]) == ("compound-check", 20)
    assert send(client, "estimate").status_code == 400


def test_the_estimate_sets_the_judge_right(tmp_path: Path) -> None:
    made = new_campaign("compound", k=1)
    rows = [
        {
            "item_id": f"c{unit}-{number}", "compound": f"compound {unit}", "context_no": number,
            "source": f"compound {unit} slept {number} .", "translation": f"译{unit}-{number}",
        }
        for unit in range(40)
        for number in range(1, 6)
    ]  # fmt: skip
    load_rows(made, rows, tmp_path, system="base")
    # The judge calls every fourth compound wrong in its first context; experts see the second as well.
    judge = tmp_path / "llm.csv"
    lines = [f"{row['item_id']},{0 if number % 20 == 0 else 1}" for number, row in enumerate(rows)]
    judge.write_text("\n".join(["item_id,prediction", *lines]))
    sample = [
        {"item_id": row["item_id"], "label": "0" if number % 20 in (0, 1) else "1"}
        for number, row in enumerate(rows[:100])
    ]
    judge_rows(made, sample, annotator="ann")

    document = run_json("report", made.slug, "--kind", "estimate", "--judge", judge)

    found = document["instance"]
    assert (found["population"], found["sample"], found["automatic_percent"]) == (40, 20, 5)
    assert found["correction"] == pytest.approx(5)
    assert found["percent"] == pytest.approx(10)
    assert document["aggregate"]["percent"] == pytest.approx(25)
    assert document["judge"].startswith("file-")
    shown = run("report", made.slug, "--kind", "estimate", "--judge", judge).out
    assert "| instance | 40 | 20 | 5.00 | 5.00 | 10.00 |" in shown
    ran = run("report", made.slug, "--kind", "estimate", "--judge", judge, "--format", "csv")
    assert [row["rate"] for row in csv.DictReader(io.StringIO(ran.out))] == ["instance", "aggregate"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("item_id,label,revision\ndog1,1,1\ndog1,0,2\n", "judged on an earlier line already"),
        ("item_id,label\nnobody,1\n", "There is no such item in this run."),
        ("item_id,label\ndog1,maybe\n", "line 2"),
        ("item_id,label\ndog1,1\n", "9 instances have no automatic verdict"),
    ],
)
def test_a_judge_that_does_not_fit_is_refused(
    lines: str, said: str, campaign: Campaign, tmp_path: Path
) -> None:
    judge = tmp_path / "judge.csv"
    judge.write_text(lines)
    ran = run("report", campaign.slug, "--kind", "estimate", "--judge", judge)
    assert ran.code == 1
    assert said in ran.err
    assert run("report", campaign.slug, "--kind", "estimate").code == 1


def test_programs_send_the_file(mei: User, campaign: Campaign) -> None:
    programs = APIClient()
    programs.force_authenticate(mei)
    sent = programs.post(f"{API}compound-check/", {"lexicon": lexicon()}, format="multipart")
    assert sent.json()["error_precision"] == 50
    judge = SimpleUploadedFile("llm.csv", verdicts(campaign, column="verdict"))
    sent = programs.post(f"{API}estimate/", {"judge": judge, "column": "verdict"}, format="multipart")
    assert sent.json()["aggregate"]["automatic_percent"] == 100
    refused = programs.post(f"{API}estimate/", {}, format="multipart")
    assert refused.status_code == 400
    bad = programs.post(f"{API}compound-check/", {"lexicon": lexicon(b"dog\n")}, format="multipart")
    assert bad.status_code == 400
    assert programs.post(f"{API}artifacts/", {}, format="multipart").status_code == 404


def test_only_managers_and_viewers_get_there(campaign: Campaign) -> None:
    expert, viewer = make_user("ada"), make_user("vi")
    add_member(campaign, expert, Membership.Role.EXPERT)
    add_member(campaign, viewer, Membership.Role.VIEWER)
    for kind in ("compound-check", "estimate"):
        assert client_of(expert).get(f"{REPORTS}{kind}/").status_code == 404
        assert send(client_of(expert), kind, lexicon=lexicon()).status_code == 404
        assert client_of(viewer).get(f"{REPORTS}{kind}/").status_code == 200
        assert send(client_of(viewer), kind, lexicon=lexicon()).status_code == 200
