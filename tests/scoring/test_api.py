"""Reports for programs: the same figures as everywhere, in three formats, for managers and viewers."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.models import Assignment, AuditEntry, Campaign, Membership, User
from annotation.services.access import create_token
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from tests.factories import make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, run_json, triples

pytestmark = pytest.mark.django_db


def get(user: User | None, path: str) -> Any:
    headers = {"Authorization": f"Bearer {create_token(user, 'program')[1]}"} if user else {}
    return Client(raise_request_exception=False).get(
        f"/api/v1/campaigns/main/reports/{path}", headers=headers
    )


def judged(protocol: str, folder: Path) -> Campaign:
    campaign = new_campaign(protocol, k=2)
    rows = triples(6, label="1", split="test") if protocol == "triple" else compounds(3)
    load_rows(campaign, rows, folder)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, lambda row: "0" if row.item.position == 2 else "1")
    finalize(campaign)
    return campaign


def member(campaign: Campaign, name: str, role: str) -> User:
    user = make_user(name)
    Membership.objects.create(campaign=campaign, user=user, role=role, pseudonym=f"{role[0].upper()}1")
    return user


KINDS = [
    ("compound", "error-rates"), ("compound", "agreement"), ("compound", "bleu"), ("triple", "statistics"),
    ("triple", "human"), ("triple", "artifacts"), ("triple", "agreement"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "kind"), KINDS)
def test_it_gives_the_figures_of_the_command(protocol: str, kind: str, tmp_path: Path) -> None:
    campaign = judged(protocol, tmp_path)
    mei = member(campaign, "mei", "manager")
    answer = get(mei, f"{kind}/")
    assert answer.status_code == 200
    assert answer.json() == run_json("report", "main", "--kind", kind)
    lines = get(mei, f"{kind}/?format=jsonl")
    assert lines.headers["Content-Type"].startswith("application/x-ndjson")
    objects = [json.loads(line) for line in lines.content.decode().splitlines()]
    table = get(mei, f"{kind}/?format=csv")
    assert table.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert f'filename="main-{kind}.csv"' in table.headers["Content-Disposition"]
    _header, *rows = csv.reader(io.StringIO(table.content.decode(), newline=""))
    assert len(rows) == len(objects) >= (kind != "artifacts")


def test_it_calls_people_by_name_for_managers_only(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    assert get(member(campaign, "mei", "manager"), "agreement/").json()["raters"] == ["ada", "bo"]
    assert get(member(campaign, "vera", "viewer"), "agreement/").json()["raters"] == ["A1", "A2"]


def test_it_does_not_exist_for_anybody_else(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    for user in (User.objects.get(username="ada"), make_user("otto")):
        for kind in ("agreement", "statistics", "nonsense"):
            answer = get(user, f"{kind}/")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert get(None, "agreement/").status_code == 401
    mei = member(campaign, "mei", "manager")
    assert get(mei, "nonsense/").status_code == 404
    assert get(mei, "score/").status_code == 404


@pytest.mark.parametrize(
    "query", ["format=xlsx", "round=third", "labels=both", "rule=mine", "format=", "round=%00"]
)
def test_it_says_what_is_wrong_with_an_address(query: str, tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    mei = member(campaign, "mei", "manager")
    answer = get(mei, f"statistics/?{query}")
    assert answer.status_code == 400
    assert set(answer.json()) == {"detail", "code"}
    assert (answer.json()["code"], query.split("=")[0] in answer.json()["detail"]) == ("invalid", True)


def test_it_lists_the_systems_where_it_must_be_told_which(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    for system in ("base", "large"):
        load_rows(campaign, compounds(1), tmp_path, system=system)
    mei = member(campaign, "mei", "manager")
    answer = get(mei, "bleu/")
    assert 400 <= answer.status_code < 500
    assert "name one: “base”, “large”." in answer.json()["detail"]
    assert get(mei, "bleu/?system=large").json()["system"] == "large"
    assert get(mei, "bleu/?system=%00").status_code in (400, 409)


def test_it_says_which_report_does_not_fit(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    mei = member(campaign, "mei", "manager")
    for kind in ("error-rates", "bleu", "compound-check"):
        answer = get(mei, f"{kind}/")
        assert 400 <= answer.status_code < 500
        assert "campaign of triples" in answer.json()["detail"]


def test_it_takes_the_labels_that_are_asked_for(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    mei = member(campaign, "mei", "manager")
    final, imported = (get(mei, f"statistics/?labels={source}").json() for source in ("final", "imported"))
    assert (final["labels"]["source"], final["rows"][0]["plausible"]) == ("final", 5)
    assert (imported["labels"]["source"], imported["rows"][0]["plausible"]) == ("imported", 6)


def test_it_gives_no_number_where_there_is_none(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(2), tmp_path)
    mei = member(campaign, "mei", "manager")
    answer = get(mei, "agreement/")
    assert b"NaN" not in answer.content
    assert answer.json()["coefficients"]["cohen"]["value"] is None


def test_it_writes_down_who_asked_for_interim_figures(tmp_path: Path) -> None:
    campaign = judged("triple", tmp_path)
    mei = member(campaign, "mei", "manager")
    assert get(mei, "agreement/").status_code == 200
    assert peeks_of(campaign) == []
    Assignment.objects.filter(pk=Assignment.objects.earliest("pk").pk).update(
        revision=0, label="", answered_at=None
    )
    assert get(mei, "statistics/").status_code == 200
    given = get(mei, "agreement/")
    assert (given.status_code, given.json()["n_items"]) == (200, 6)
    assert [(peek.kind, peek.by) for peek in peeks_of(campaign)] == [("agreement", mei)]


def test_it_writes_down_who_read_names(tmp_path: Path) -> None:
    """Managers get names of the two reports that hold some; viewers get pseudonyms, which nobody need know of."""
    campaign = judged("triple", tmp_path)
    mei, vera = member(campaign, "mei", "manager"), member(campaign, "vera", "viewer")
    for one in (mei, vera):
        for kind in ("agreement/", "statistics/", "human/"):
            assert get(one, kind).status_code == 200
    assert set(get(vera, "agreement/").json()["raters"]) == {"A1", "A2"}
    entry = AuditEntry.objects.get(action="names read")
    assert (entry.campaign, entry.actor, entry.detail) == (campaign, mei, {"table": "agreement"})


def test_it_plans_with_no_more_than_a_day_a_judgement(tmp_path: Path) -> None:
    mei = member(judged("triple", tmp_path), "mei", "manager")
    programs = Client()
    programs.force_login(mei, backend="django.contrib.auth.backends.ModelBackend")
    answer = programs.get("/api/v1/campaigns/main/plan/?goal=spot-check&seconds=2e307")
    assert answer.status_code == 400
    assert "seconds" in answer.content.decode()
