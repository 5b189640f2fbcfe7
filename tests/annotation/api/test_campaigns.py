"""A campaign's items, labels and annotations for programs: pages and streams, names and pseudonyms, who may."""

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Campaign, Membership, User
from annotation.services.access import create_token
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from tests.factories import make_user
from tests.material import answer_everything, compounds, load, load_rows, new_campaign, triples

pytestmark = pytest.mark.django_db

HERE = "/api/v1/campaigns/main"
TABLES = ("items", "labels", "annotations")


def get(user: User | None, path: str) -> Any:
    headers = {"Authorization": f"Bearer {create_token(user, 'program')[1]}"} if user else {}
    return Client(raise_request_exception=False).get(path, headers=headers)


def text(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


def join(user: User, role: str, pseudonym: str) -> User:
    Membership.objects.create(
        campaign=Campaign.objects.get(slug="main"), user=user, role=role, pseudonym=pseudonym
    )
    return user


@pytest.fixture
def mei(tmp_path: Path) -> User:
    """The manager of seven triples that ada and bo have judged."""
    campaign = new_campaign()
    load_rows(campaign, triples(7), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    finalize(campaign)
    return join(make_user("mei"), "manager", "M1")


@pytest.fixture
def vera(mei: User) -> User:
    """Who only looks on."""
    return join(make_user("vera"), "viewer", "V1")


def test_it_lists_the_campaigns_one_may_read(mei: User, vera: User) -> None:
    new_campaign(slug="other")
    for user, role in ((mei, "manager"), (vera, "viewer")):
        (found,) = get(user, "/api/v1/campaigns/").json()
        assert (found["slug"], found["role"], found["label_version"], found["rule"]) == (
            "main",
            role,
            1,
            "ckbp2",
        )
        assert get(user, f"{HERE}/").json() == found
    assert get(User.objects.get(username="ada"), "/api/v1/campaigns/").json() == []


@pytest.mark.parametrize("path", ["", *(f"{name}/" for name in TABLES)])
def test_it_does_not_exist_for_anybody_else(mei: User, path: str) -> None:
    stranger = make_user("otto")
    new_campaign(slug="other")
    for user in (
        stranger,
        User.objects.get(username="ada"),
        make_user("root", is_superuser=True, is_staff=True),
    ):
        for query in ("", "?format=csv") if path else ("",):
            answer = get(user, f"{HERE}/{path}{query}")
            assert answer.status_code == 404
            assert answer.json()["code"] == "not_found"
    assert get(mei, f"/api/v1/campaigns/other/{path}").status_code == 404
    assert get(mei, f"/api/v1/campaigns/none/{path}").status_code == 404
    answer = get(None, f"{HERE}/{path}")
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("what", TABLES)
def test_it_gives_the_same_rows_page_by_page_and_as_streams(mei: User, what: str) -> None:
    whole = get(mei, f"{HERE}/{what}/").json()
    assert whole["count"] == len(whole["results"]) == (14 if what == "annotations" else 7)
    assert whole["next"] is None
    paged: list[Any] = []
    after: int | None = 0
    while after is not None:
        page = get(mei, f"{HERE}/{what}/?size=3&after={after}").json()
        assert page["count"] == whole["count"]
        assert len(page["results"]) <= 3
        paged += page["results"]
        after = page["next"]
    assert paged == whole["results"]
    lines = get(mei, f"{HERE}/{what}/?format=jsonl")
    assert lines.headers["X-Assay-Rows"] == str(whole["count"])
    assert lines.headers["Content-Type"].startswith("application/x-ndjson")
    columns = list(json.loads(text(get(mei, f"{HERE}/{what}/?format=jsonl")).splitlines()[0]))
    assert [json.loads(line) for line in text(lines).splitlines()] == [
        {name: row[name] for name in columns} for row in whole["results"]
    ]
    table = get(mei, f"{HERE}/{what}/?format=csv")
    assert table.headers["X-Assay-Rows"] == str(whole["count"])
    assert table.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert f'filename="main-{what}.csv"' in table.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(text(table))))
    assert len(rows) == whole["count"]
    assert list(rows[0]) == columns


def test_it_calls_people_by_name_for_managers_only(mei: User, vera: User) -> None:
    for query in ("", "?format=csv", "?format=jsonl"):
        answers = [get(user, f"{HERE}/annotations/{query}") for user in (mei, vera)]
        named, hidden = (a.content.decode() if not query else text(a) for a in answers)
        assert "ada" in named
        assert "A1" not in named
        assert "ada" not in hidden
        assert "A1" in hidden


def test_a_reading_with_names_is_written_down_once(mei: User, vera: User) -> None:
    """Who, when and which table, and nothing of what stands in it; further pages belong to it."""
    for user in (mei, vera):
        for what in TABLES:
            first = get(user, f"{HERE}/{what}/?size=3").json()
            assert get(user, f"{HERE}/{what}/?size=3&after={first['next']}").status_code == 200
    entry = AuditEntry.objects.get(campaign__slug="main", action="names read")
    assert (entry.actor, entry.detail) == (mei, {"table": "annotations"})
    assert peeks_of(Campaign.objects.get(slug="main")) == []  # everything was answered

    get(mei, f"{HERE}/annotations/?after=2")
    assert AuditEntry.objects.filter(action="names read").count() == 1
    AuditEntry.objects.filter(pk=entry.pk).update(at=entry.at - timedelta(hours=2))
    get(mei, f"{HERE}/annotations/?after=2")  # as good as from the start
    assert get(mei, f"{HERE}/annotations/?format=csv").status_code == 200
    assert AuditEntry.objects.filter(action="names read").count() == 3


def test_answers_of_a_round_at_work_are_read_with_a_trace(mei: User, vera: User) -> None:
    campaign = Campaign.objects.get(slug="main")
    row = Assignment.objects.earliest("pk")
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
    for user in (mei, vera):
        for what in TABLES:
            assert get(user, f"{HERE}/{what}/").status_code == 200
    for query in ("", "?after=3", "?format=exe"):
        get(vera, f"{HERE}/annotations/{query}")
    assert [(peek.by, peek.kind, peek.open_answers) for peek in peeks_of(campaign)] == [
        (mei, "labels", 1), (mei, "annotations", 1), (vera, "labels", 1), (vera, "annotations", 1),
        (vera, "annotations", 1),
    ]  # fmt: skip


def test_it_says_why_there_are_no_labels(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(2), tmp_path)
    mei = join(make_user("mei"), "manager", "M1")
    found = get(mei, f"{HERE}/labels/").json()
    assert (found["count"], found["results"]) == (0, [])
    assert "compute the labels" in found["reason"]
    table = get(mei, f"{HERE}/labels/?format=csv")
    assert table.headers["X-Assay-Rows"] == "0"
    assert text(table).strip().startswith("position,triple_id,head")


@pytest.mark.parametrize(
    "query",
    [
        "format=xlsx",
        "format=",
        "size=x",
        "after=-1",
        "after=1e3",
        "after=%00",
        f"after={10**20}",
        "size=%D9%A3",
        "unlabelled=zz",
    ],
)
def test_it_says_what_is_wrong_with_an_address(mei: User, query: str) -> None:
    answer = get(mei, f"{HERE}/labels/?{query}")
    assert answer.status_code == 400
    found = answer.json()
    assert set(found) == {"detail", "code"}
    assert (found["code"], found["detail"].startswith(f"{query.split('=')[0]}: ")) == ("invalid", True)


def test_it_gives_at_least_one_and_at_most_a_thousand_rows(mei: User) -> None:
    for size in ("0", "1001", "999999999999999"):
        assert len(get(mei, f"{HERE}/items/?size={size}").json()["results"]) == 7
    assert get(mei, f"{HERE}/items/?after=999999999999999").json()["results"] == []


def test_it_gives_items_that_can_be_imported_again(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2, system="base", run="1"), tmp_path)
    mei = join(make_user("mei"), "manager", "M1")
    copy = tmp_path / "copy.csv"
    copy.write_text(text(get(mei, f"{HERE}/items/?format=csv")), encoding="utf-8", newline="")
    again = new_campaign("compound", slug="again")
    assert load(again, copy).added == 10
    assert load(campaign, copy).unchanged == 10


def test_it_keeps_markup_and_rare_characters(mei: User, tmp_path: Path) -> None:
    tail = "</script>{{ 7*7 }} a & b 𠮷 👨‍👩‍👧"
    rows = triples(8)
    rows[7]["tail"] = tail
    load_rows(Campaign.objects.get(), rows, tmp_path)
    assert get(mei, f"{HERE}/items/").json()["results"][7]["tail"] == tail
    assert tail in text(get(mei, f"{HERE}/items/?format=csv"))


def test_it_is_for_reading_only(mei: User) -> None:
    headers = {"Authorization": f"Bearer {create_token(mei, 'program')[1]}"}
    for method in ("post", "put", "patch", "delete"):
        for path in ("", "items/", "labels/", "annotations/"):
            assert getattr(Client(), method)(f"{HERE}/{path}", headers=headers).status_code == 405


@pytest.mark.parametrize("what", TABLES)
def test_it_reads_a_page_in_as_many_queries_whatever_the_size(mei: User, what: str, tmp_path: Path) -> None:
    counts = []
    for n in (7, 60):
        campaign = Campaign.objects.get()
        load_rows(campaign, triples(n), tmp_path)
        assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
        row = Assignment.objects.latest("pk")  # one answer is to come: that this is a look is written down
        Assignment.objects.exclude(pk=row.pk).update(revision=1, label="1", answered_at=timezone.now())
        Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
        headers = {"Authorization": f"Bearer {create_token(mei, 'program')[1]}"}
        client = Client()
        with CaptureQueriesContext(connection) as found:
            client.get(f"{HERE}/{what}/?size=5", headers=headers)
        counts.append(len(found))
    assert counts[0] == counts[1] <= 10


def test_it_offers_a_download_whose_name_is_safe(mei: User) -> None:
    from annotation.formats.writers import content_disposition

    name = '第一批 "测试"; a/b\r\nX: y.csv'
    header = content_disposition(name)
    assert "\r" not in header
    assert "\n" not in header
    assert header.startswith('attachment; filename="')
    assert f"filename*=UTF-8''{quote('第一批 ')}" in header
    assert "/" not in header.replace("UTF-8''", "")
