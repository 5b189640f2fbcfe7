"""Submissions and releases for programs: the same rules as on the pages."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import Campaign, Membership, User
from annotation.services.access import create_token
from annotation.services.people import add_member
from scoring.models import Submission
from scoring.services.boards import set_board
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from tests.factories import make_user
from tests.material import as_csv, compounds, load_rows, new_campaign, run_json, write_csv
from tests.scoring.board import board_campaign

pytestmark = pytest.mark.django_db

API = "/api/v1/campaigns/main"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    made = board_campaign(tmp_path)
    set_board(made, audience="accounts", quota=2, by=None)
    return made


def headers(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_token(User.objects.get(username=name), 'program')[1]}"}


def get(name: str, path: str) -> Any:
    return Client().get(f"{API}/{path}", headers=headers(name))


def post(name: str, **body: Any) -> Any:
    return Client().post(
        f"{API}/submissions/", json.dumps(body), content_type="application/json", headers=headers(name)
    )


def rows(*, wrong: int = 0) -> list[dict[str, object]]:
    return [
        {"triple_id": f"t{place + 1}", "prediction": place % 2 if place >= wrong else 1 - place % 2}
        for place in range(50)
    ]


def test_it_gives_a_manager_the_figures_of_the_command(campaign: Campaign, tmp_path: Path) -> None:
    by_command = run_json("score", "main", write_csv(tmp_path / "s.csv", rows(wrong=7)), "--system", "s")

    answer = post("mei", system="s", rows=rows(wrong=7))

    assert answer.status_code == 201
    for name in ("rows", "signature", "threshold", "labels", "split"):
        assert answer.json()[name] == by_command[name]
    assert post("mei", system="s", rows=rows(wrong=7)).status_code == 200  # sent again


def test_it_takes_a_file_too(campaign: Campaign) -> None:
    file = SimpleUploadedFile("s.csv", as_csv(rows(wrong=7)).encode())

    answer = Client().post(
        f"{API}/submissions/",
        {"system": "s", "threshold": "tune", "file": file},
        headers=headers("mei"),
    )

    assert answer.status_code == 201
    document = answer.json()
    assert document["tuned"]
    assert [row["group"] for row in document["rows"]][:2] == ["all", "Adv"]
    assert get("mei", f"submissions/{document['id']}/").json()["rows"] == document["rows"]


def test_it_names_every_row_that_does_not_fit(campaign: Campaign) -> None:
    answer = post("mei", system="s", rows=[*rows()[1:], {"triple_id": "t99", "prediction": 1}])

    assert answer.status_code == 400
    assert [error["line"] for error in answer.json()["errors"]] == [50, None]
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"system": "s"}, 400),
        ({"system": "s", "rows": []}, 400),
        ({"system": "s", "rows": [{"prediction": 1}]}, 400),
        ({"system": "s", "rows": [{"triple_id": "t1"}]}, 400),
        ({"system": " ", "rows": [{"triple_id": "t1", "prediction": 1}]}, 409),
        ({"system": "s", "rows": [{"triple_id": "t1", "prediction": 1}], "threshold": "high"}, 400),
        ({"system": "s", "rows": [{"triple_id": "t1", "prediction": 1}], "release": "v9"}, 400),
        ({"system": "s", "rows": [{"triple_id": ["t1"], "prediction": 1}]}, 400),
    ],
)
def test_it_says_what_is_wrong_with_a_body(body: dict[str, Any], status: int, campaign: Campaign) -> None:
    answer = post("mei", **body)

    assert answer.status_code == status, answer.content
    assert not Submission.objects.exists()


def test_a_row_that_names_a_member_twice_is_refused(campaign: Campaign) -> None:
    answer = Client().post(
        f"{API}/submissions/",
        b'{"system": "s", "rows": [{"triple_id": "t1", "prediction": 0, "prediction": 1}]}',
        content_type="application/json",
        headers=headers("mei"),
    )

    assert answer.status_code == 400
    assert "names the member “prediction” twice - at `$.rows[0]`" in answer.json()["detail"]


def test_a_submitter_gets_rounded_figures_within_a_quota(campaign: Campaign) -> None:
    first = post("otto", system="s", rows=rows(wrong=7))

    assert first.status_code == 201
    document = first.json()
    assert [row.keys() for row in document["rows"]] == [{"group", "n", "auc", "f1"}] * 2
    assert all(row["auc"] == round(row["auc"], 2) for row in document["rows"])
    assert "xWant" in document["withheld"]
    assert post("otto", system="s", run="2", rows=rows()).status_code == 201
    assert post("otto", system="s", run="3", rows=rows()).status_code == 409
    assert post("otto", system="s", run="3", rows=rows(), split="dev").status_code == 201
    assert post("otto", system="s", run="4", rows=rows(), split="all").status_code == 400
    assert [row["run"] for row in get("otto", "submissions/").json()["results"]] == ["3", "2", ""]
    assert get("vera", "submissions/").json()["results"] == []


def test_the_board_shows_everybodys_systems_alike(campaign: Campaign) -> None:
    post("mei", system="of the manager", rows=rows(wrong=7))
    post("otto", system="perfect", rows=rows())

    board = get("otto", "leaderboard/").json()

    assert [(line["system"], line["mine"]) for line in board["systems"]] == [
        ("perfect", True),
        ("of the manager", False),
    ]
    auc = board["systems"][1]["figures"]["all"]["auc"]["mean"]
    assert auc == round(auc, 2)
    assert board["systems"][0]["figures"]["ID"]["auc"]["mean"] is None
    assert get("otto", "leaderboard/?split=all").status_code == 400
    assert get("mei", "leaderboard/?split=all").json()["systems"] == []
    assert get("mei", "leaderboard/?release=v9").status_code == 400


def test_it_does_not_exist_for_experts_nor_for_strangers_while_closed(campaign: Campaign) -> None:
    mine = post("mei", system="s", rows=rows()).json()["id"]
    for path in ("submissions/", "leaderboard/", f"submissions/{mine}/", "releases/"):
        assert get("ada", path).status_code == 404
    assert post("ada", system="s", rows=rows()).status_code == 404
    assert get("otto", f"submissions/{mine}/").status_code == 404
    assert get("otto", "releases/").status_code == 404
    set_board(campaign, audience="closed", quota=2, by=None)
    assert get("otto", "submissions/").status_code == 404
    assert post("vera", system="s", rows=rows()).status_code == 404
    assert get("vera", "submissions/").status_code == 200


def test_it_takes_translations(tmp_path: Path) -> None:
    made = new_campaign("compound")
    items = compounds(1)
    load_rows(made, items, tmp_path, system="base")
    add_member(made, make_user("mei"), Membership.Role.MANAGER)
    sent = [{"item_id": row["item_id"], "translation": row["reference"]} for row in items]

    answer = post("mei", system="copy", rows=sent)

    assert answer.status_code == 201
    assert answer.json()["bleu"]["score"] == pytest.approx(100)
    figures = get("mei", "leaderboard/").json()["systems"][0]["figures"]
    assert figures["all"]["bleu"]["mean"] == pytest.approx(100)


def test_it_gives_releases_and_their_archives(campaign: Campaign) -> None:
    release = freeze(campaign, "v1", wish=SplitWish(), by=None)

    [found] = get("vera", "releases/").json()["results"]
    answer = get("vera", "releases/v1/archive/")

    assert (found["name"], found["sha256"], found["manifest"]["items"]) == ("v1", release.sha256, 50)
    assert hashlib.sha256(b"".join(answer)).hexdigest() == release.sha256
    assert get("vera", "releases/v2/archive/").status_code == 404
    scored = post("mei", system="s", rows=rows(), release="v1").json()
    assert (scored["release"], scored["rows"][0]["auc"]) == ("v1", 100.0)
    board = get("vera", "leaderboard/?release=v1").json()
    assert (board["release"], [line["system"] for line in board["systems"]]) == ("v1", ["s"])
