"""The board as a page: who sees it, sending a file, and what a submitter never finds on it."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http.response import HttpResponseBase

from annotation.models import AuditEntry, Campaign, Job, Membership, User
from annotation.services import sentences
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from scoring.models import Board, Submission
from scoring.services.boards import set_board
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from tests.factories import make_user
from tests.material import answer_everything, as_csv, compounds, load_rows, new_campaign
from tests.pages import body_of, client_of, text_of
from tests.scoring.board import board_campaign

pytestmark = pytest.mark.django_db

BOARD = "/campaigns/main/submissions/"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return board_campaign(tmp_path)


def person(name: str) -> User:
    return User.objects.get(username=name)


def open_to(campaign: Campaign, audience: str, quota: int = 5) -> None:
    set_board(campaign, audience=audience, quota=quota, by=None)


def send(name: str, scores: list[object] | None = None, **fields: Any) -> HttpResponseBase:
    values = [place % 2 for place in range(50)] if scores is None else scores
    rows = [{"triple_id": f"t{place}", "prediction": value} for place, value in enumerate(values, start=1)]
    form = {"system": "GPT3", "split": "test", "threshold": "0.5", **fields}
    form["file"] = SimpleUploadedFile("answers.csv", as_csv(rows).encode())
    return client_of(person(name)).post(BOARD, form)


# Who sees it


@pytest.mark.parametrize(
    ("audience", "seen_by", "sent_by"),
    [
        ("closed", {"mei", "vera"}, {"mei"}),
        ("members", {"mei", "vera"}, {"mei", "vera"}),
        ("accounts", {"mei", "vera", "otto"}, {"mei", "vera", "otto"}),
    ],
)
def test_it_is_there_for_whom_a_manager_lets_in(
    audience: str, seen_by: set[str], sent_by: set[str], campaign: Campaign
) -> None:
    open_to(campaign, audience)
    everybody = ("mei", "vera", "ada", "otto")

    pages = {name: client_of(person(name)).get(BOARD).status_code for name in everybody}
    items = {name: client_of(person(name)).get(f"{BOARD}items.csv").status_code for name in everybody}
    sent = {name: send(name, run=name).status_code for name in everybody}

    assert {name for name, status in pages.items() if status == 200} == seen_by
    assert {name for name, status in items.items() if status == 200} == seen_by
    assert {name for name, status in sent.items() if status == 302} == sent_by
    assert {*pages.values(), *items.values()} <= {200, 404}
    assert {status for name, status in sent.items() if name not in sent_by} <= {404}
    assert set(Submission.objects.values_list("created_by__username", flat=True)) == sent_by


def test_an_expert_never_finds_it(campaign: Campaign) -> None:
    open_to(campaign, "accounts")
    send("mei")
    pk = Submission.objects.get().pk

    for address in (BOARD, f"{BOARD}{pk}/", f"{BOARD}items.jsonl", "/campaigns/main/releases/"):
        assert client_of(person("ada")).get(address).status_code == 404


def test_one_sees_ones_own_submissions_and_a_manager_all(campaign: Campaign) -> None:
    open_to(campaign, "accounts")
    send("otto", system="secret model")
    pk = Submission.objects.get().pk

    assert client_of(person("otto")).get(f"{BOARD}{pk}/").status_code == 200
    assert client_of(person("mei")).get(f"{BOARD}{pk}/").status_code == 200
    assert client_of(person("vera")).get(f"{BOARD}{pk}/").status_code == 404
    assert "otto" in text_of(client_of(person("mei")).get(BOARD))
    assert "otto" not in text_of(client_of(person("vera")).get(BOARD))


# Sending


def test_it_scores_and_stores_a_file(campaign: Campaign) -> None:
    answer = send("mei")

    submission = Submission.objects.get()
    assert answer.headers["Location"] == f"{BOARD}{submission.pk}/"
    page = text_of(client_of(person("mei")).get(answer.headers["Location"]))
    for words in ("GPT3", "answers.csv", "Precision", "Signature:", "100.00"):
        assert words in page
    board = text_of(client_of(person("mei")).get(BOARD))
    assert re.search(r"GPT3 .*1 100\.00 \d+\.\d+ – 100\.00 100\.00 \d+\.\d+ – 100\.00", board)


def test_the_board_shown_is_the_one_that_the_form_sends_to(campaign: Campaign) -> None:
    """The newest release where there is one; the campaign today is a choice."""
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, lambda row: "1" if row.item.position % 2 else "0")
    finalize(campaign)
    release = freeze(campaign, "v1", wish=SplitWish(), by=None)
    mei = client_of(person("mei"))
    chosen = f'<option value="{release.pk}" selected>v1</option>'
    assert chosen in body_of(mei.get(BOARD))
    assert chosen not in body_of(mei.get(f"{BOARD}?split=test&release="))
    assert 'href="?split=dev&amp;release=v1"' in body_of(mei.get(BOARD))
    assert 'href="?split=dev&amp;release="' in body_of(mei.get(f"{BOARD}?split=test&release="))

    answer = send("mei", release=release.pk)
    assert "Nothing stands on this board yet" not in text_of(mei.get(BOARD))
    elsewhere = mei.get(f"{BOARD}?split=test&release=")
    assert "Nothing stands on this board yet Submissions stand on other boards: v1, test 1" in text_of(
        elsewhere
    )
    assert f'href="{BOARD}?split=test&amp;release=v1"' in body_of(elsewhere)
    assert f'href="{BOARD}?split=test&amp;release=v1"' in body_of(mei.get(answer.headers["Location"]))

    answer = send("mei", release="", split="dev")
    assert f'href="{BOARD}?split=dev&amp;release="' in body_of(mei.get(answer.headers["Location"]))
    assert "Nothing stands" not in text_of(mei.get(f"{BOARD}?split=dev&release="))


def test_it_names_the_rows_that_do_not_fit(campaign: Campaign) -> None:
    answer = send("mei", scores=[*range(49), "high", 1])

    page = text_of(answer)
    assert answer.status_code == 400
    assert "“high” is not a number" in page
    assert not Submission.objects.exists()

    page = text_of(send("mei", scores=[1] * 51))
    assert "There is no item “t51” here." in page
    assert not Submission.objects.exists()


def test_it_speaks_the_language_of_the_page(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "gettext", lambda text: f"in Chinese: {text}")

    answer = send("mei", scores=[1] * 50)
    page = text_of(client_of(person("mei")).get(answer.headers["Location"]))
    assert "in Chinese: Every score (40) lies at or above the threshold 0.5" in page

    broken = {"system": "s", "split": "test", "file": SimpleUploadedFile("a.csv", b"triple_id,prediction\n")}
    answer = client_of(person("mei")).post(BOARD, broken)
    assert answer.status_code == 400
    assert "in Chinese: The file has a header but no data rows." in text_of(answer)


def test_it_says_what_the_form_lacks(campaign: Campaign) -> None:
    answer = client_of(person("mei")).post(BOARD, {"system": "s"})

    assert answer.status_code == 400
    assert "This field is required." in text_of(answer)


def test_a_submitter_chooses_no_split_that_mixes_test_in(campaign: Campaign) -> None:
    open_to(campaign, "accounts")

    assert send("otto", split="all").status_code == 400
    assert client_of(person("otto")).get(f"{BOARD}?split=all").status_code == 404
    assert send("mei", split="all").status_code == 302


def test_it_keeps_the_quota_and_says_so(campaign: Campaign) -> None:
    open_to(campaign, "accounts", quota=1)
    assert send("otto").status_code == 302
    assert "1 of 1 submissions against test are used" in text_of(client_of(person("otto")).get(BOARD))

    answer = send("otto", run="2")

    assert answer.status_code == 400
    assert "You have used all 1 submissions against test." in text_of(answer)
    assert send("otto", run="2", split="dev").status_code == 302


def test_a_submitter_finds_nothing_that_tells_a_label(campaign: Campaign) -> None:
    open_to(campaign, "accounts")
    send("mei", system="of the manager", scores=[1 - place % 2 for place in range(50)])
    send("otto", scores=[place % 2 if place % 9 else 1 for place in range(50)])
    pk = Submission.objects.get(created_by=person("otto")).pk

    for address in (BOARD, f"{BOARD}{pk}/"):
        words = text_of(client_of(person("otto")).get(address))
        for word in ("Precision", "Recall", "Signature", "labelled", "imported"):
            assert word not in words, (address, word)
    page = text_of(client_of(person("otto")).get(f"{BOARD}{pk}/"))
    assert "fewer than 20 items there: xWant" in page
    found = b"".join(client_of(person("otto")).get(f"{BOARD}items.csv"))
    assert found.decode("utf-8-sig").splitlines()[0] == "triple_id,head,relation,tail,class,split"


def test_it_takes_translations(tmp_path: Path) -> None:
    made = new_campaign("compound", slug="main")
    items = compounds(1)
    load_rows(made, items, tmp_path, system="base")
    add_member(made, make_user("mei"), Membership.Role.MANAGER)
    rows = [{"item_id": row["item_id"], "translation": row["reference"]} for row in items]
    client = client_of(person("mei"))

    answer = client.post(
        BOARD, {"system": "copy", "file": SimpleUploadedFile("t.csv", as_csv(rows).encode())}, follow=True
    )

    page = text_of(answer)
    assert re.search(r"BLEU 5 0 100\.00", page)
    assert "copy" in text_of(client.get(BOARD))
    figures = f"{BOARD}{Submission.objects.get().pk}/figures"
    assert "| BLEU | 5 | 0 | 100.00 |" in body_of(client.get(f"{figures}.md"))
    rows = list(csv.DictReader(io.StringIO(body_of(client.get(f"{figures}.csv")).removeprefix("\ufeff"))))
    assert [(row["system"], row["metric"], row["n"]) for row in rows] == [
        ("copy", "bleu", "5"),
        ("copy", "chrf", "5"),
    ]


def test_the_board_can_be_taken_along(campaign: Campaign) -> None:
    open_to(campaign, "accounts")
    send("otto", system="s_1", run="1", scores=[place % 2 if place % 9 else 1 for place in range(50)])
    send("otto", system="s_1", run="2", scores=[place % 2 if place % 7 else 1 for place in range(50)])
    files = {
        form: body_of(client_of(person("otto")).get(f"{BOARD}board.{form}"))
        for form in ("md", "tex", "csv", "json")
    }

    whole = json.loads(files["json"])
    found = whole["systems"][0]["figures"]["all"]["auc"]
    shown = f"{found['mean']:.2f} ± {found['sd']:.2f}"
    assert (found["n"], whole["systems"][0]["runs"]) == (2, ["1", "2"])
    assert f"| s_1 | 2 | {shown} |" in files["md"]
    assert rf"s\_1 & 2 & {shown.replace('±', '$' + chr(92) + 'pm$')} &" in files["tex"]
    rows = list(csv.DictReader(io.StringIO(files["csv"].removeprefix("\ufeff"))))
    assert (rows[0]["system"], rows[0]["group"], rows[0]["measure"], rows[0]["runs"]) == (
        "s_1",
        "all",
        "auc",
        "2",
    )
    assert float(rows[0]["mean"]) == found["mean"]
    assert client_of(person("ada")).get(f"{BOARD}board.csv").status_code == 404
    assert "Leaderboard, dev" in body_of(client_of(person("otto")).get(f"{BOARD}board.md?split=dev"))


def test_ones_figures_can_be_taken_along(campaign: Campaign) -> None:
    open_to(campaign, "accounts")
    send("otto", system="s_1", run="1", scores=[place % 2 if place % 9 else 1 for place in range(50)])
    send("otto", system="s_1", run="2", scores=[place % 2 if place % 7 else 1 for place in range(50)])
    page = f"{BOARD}{Submission.objects.get(run='1').pk}/"
    files = {
        name: {
            form: body_of(client_of(person(name)).get(f"{page}figures.{form}"))
            for form in ("md", "tex", "csv", "json")
        }
        for name in ("mei", "otto")
    }

    assert r"\caption{AUC and F1 of the plausible class: s\_1 / 1, test}" in files["mei"]["tex"]
    assert "means over 2 runs" in files["mei"]["md"]
    rows = list(csv.DictReader(io.StringIO(files["otto"]["csv"].removeprefix("\ufeff"))))
    assert [row["group"] for row in rows] == ["all", "Adv"]
    assert set(rows[0]) == {"system", "run", "split", "threshold", "group", "n", "auc", "f1"}
    managers = list(csv.DictReader(io.StringIO(files["mei"]["csv"].removeprefix("\ufeff"))))
    assert {"precision", "recall", "auc_ci95_low", "f1_ci95_high", "reason"} < set(managers[0])
    for form, text in files["otto"].items():
        for word in ("recision", "ecall", "nterval", "ci95", "ignature", "imported", "labels"):
            assert word not in text, (form, word)
    assert f'href="{page}figures.tex"' in body_of(client_of(person("otto")).get(page))
    for stranger in ("vera", "ada"):
        assert client_of(person(stranger)).get(f"{page}figures.csv").status_code == 404


# What managers set


def test_a_manager_says_who_may_submit(campaign: Campaign) -> None:
    client = client_of(person("mei"))

    answer = client.post(f"{BOARD}settings/", {"audience": "accounts", "quota": "3"}, follow=True)

    assert "It is written down who may submit." in text_of(answer)
    board = Board.objects.get(campaign=campaign)
    assert (board.audience, board.quota) == ("accounts", 3)
    assert AuditEntry.objects.filter(campaign=campaign, actor=person("mei"), detail__quota=3).exists()
    assert client.post(f"{BOARD}settings/", {"audience": "nobody", "quota": "3"}).status_code == 409
    assert client_of(person("vera")).post(f"{BOARD}settings/").status_code == 404


def test_a_manager_has_everything_measured_again(campaign: Campaign) -> None:
    answer = client_of(person("mei")).post(f"{BOARD}again/", follow=True)

    assert "measures all submissions again" in text_of(answer)
    assert Job.objects.get(campaign=campaign).kind == "score"


def test_the_reports_lead_there(campaign: Campaign) -> None:
    body = body_of(client_of(person("vera")).get("/campaigns/main/reports/"))

    assert f'href="{BOARD}"' in body
    assert 'href="/campaigns/main/releases/"' in body


def test_looking_writes_nothing(campaign: Campaign) -> None:
    client_of(person("vera")).get(BOARD)

    assert not Board.objects.exists()


def test_only_to_who_cannot_read_the_labels_they_are_called_hidden(campaign: Campaign) -> None:
    open_to(campaign, "accounts")
    add_member(campaign, make_user("vic"), Membership.Role.VIEWER)
    outside = text_of(client_of(make_user("olga")).get(BOARD))
    inside = text_of(client_of(person("vic")).get(BOARD))
    assert "labels that stay hidden" in outside
    assert "scored against their labels" in inside
    assert "labels that stay hidden" not in inside
    cards = text_of(client_of(person("vic")).get("/campaigns/main/reports/"))
    assert "sending something in" not in cards
