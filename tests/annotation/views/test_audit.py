"""The audit page: words in both languages, filters, names on request, files."""

import csv
import io
import json

import pytest

from annotation.models import AuditEntry, Campaign
from annotation.services.campaign_settings import change_settings
from annotation.services.people import add_person, audit
from tests.factories import Cast, make_cast
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/audit/"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_it_reads_as_a_sentence_with_before_and_after(cast: Cast) -> None:
    change_settings(cast.campaign, {"title": "New title"}, by=cast.mei)

    page = text_of(client_of(cast.mei).get(PAGE))

    assert "What was done in this campaign" in page
    assert "M1 settings changed title: Main → now New title" in page


def test_a_fact_may_be_called_items(cast: Cast) -> None:
    audit(cast.campaign, cast.mei, "round opened", {"round": "dry_run", "items": 60})

    shown = text_of(client_of(cast.mei).get(PAGE))
    assert "round: dry run" in shown
    assert "items: 60" in shown


def test_codes_and_figures_are_told_in_words(cast: Cast) -> None:
    detail = {"number": 1, "decision": "not_passed", "value": 0.7422017124651533}
    audit(cast.campaign, cast.mei, "dry run decided", detail)
    audit(cast.campaign, cast.mei, "round opened", {"round": "rejudgement", "distance": 200, "percent": 6.0})

    shown = text_of(client_of(cast.mei).get(PAGE))

    told = (
        "decision: not passed",
        "value: 0.7422",
        "round: second look",
        "units between: 200",
        "share in %: 6",
    )
    assert [words for words in told if words not in shown] == []


def test_a_count_is_no_number_of_a_thing(cast: Cast) -> None:
    audit(cast.campaign, cast.mei, "evaluation set built", {"n": 9})
    audit(cast.campaign, cast.mei, "dry run gate overridden", {"number": 2})

    shown = text_of(client_of(cast.mei).get(PAGE))

    assert "how many: 9" in shown
    assert "number: 2" in shown


def test_names_are_shown_on_request_and_that_is_written_down(cast: Cast) -> None:
    add_person(cast.campaign, "wei", "expert", cast.mei)
    client = client_of(cast.mei)

    hidden = text_of(client.get(PAGE))
    shown = text_of(client.post(PAGE + "names/"))

    assert "wei" not in hidden
    assert "M1 (mei)" in shown
    assert "A3 (wei)" in shown
    assert AuditEntry.objects.get(action="names shown").detail == {"page": "audit"}


def test_it_is_narrowed_down_and_says_what_it_cannot_read(cast: Cast) -> None:
    audit(cast.campaign, cast.mei, "names shown", {"page": "somewhere"})
    audit(cast.campaign, cast.mei, "round closed", {"round": "main"})
    client = client_of(cast.mei)

    narrowed = text_of(client.get(PAGE, {"action": "round closed"}))
    nothing = text_of(client.get(PAGE, {"day": "2001-01-01"}))
    wrong = client.get(PAGE, {"day": "tomorrow"})

    assert "round: main" in narrowed
    assert "somewhere" not in narrowed
    assert "No entry is like this." in nothing
    assert wrong.status_code == 400


def test_its_files_hold_pseudonyms(cast: Cast) -> None:
    add_person(cast.campaign, "wei", "expert", cast.mei)
    client = client_of(cast.mei)

    table = b"".join(client.get("/campaigns/main/audit.csv")).decode("utf-8-sig")
    lines = b"".join(client.get("/campaigns/main/audit.jsonl")).decode().splitlines()

    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["action"] for row in rows] == ["person added", "person created"]
    assert [json.loads(line)["who"] for line in lines] == ["M1", "M1"]
    assert "wei" not in table


def test_an_expert_gets_nothing_of_it(cast: Cast) -> None:
    client = client_of(cast.ada)

    for address in (
        PAGE,
        "/campaigns/main/audit.csv",
        "/campaigns/main/progress/",
        "/campaigns/main/attention/",
    ):
        assert client.get(address).status_code == 404


def test_a_campaign_of_triples_tells_nothing_of_translations(cast: Cast) -> None:
    client = client_of(cast.mei)
    for protocol, told in (("triple", False), ("compound", True)):
        opened = {"protocol": protocol, "k": 2, "seed": 1, "display": "alone"}
        entry = audit(cast.campaign, cast.mei, "campaign created", opened)
        assert ("display of translations" in text_of(client.get(PAGE))) == told
        assert entry.detail == opened  # files keep it


def test_settings_are_called_as_on_their_page(cast: Cast) -> None:
    before, after = (
        {"zero_detail": False, "display": "alone"},
        {"zero_detail": True, "display": "side_by_side"},
    )
    audit(cast.campaign, cast.mei, "settings changed", {"before": before, "after": after})
    client = client_of(cast.mei)
    assert "third answer to a triple: one key → now four keys" in text_of(client.get(PAGE))
    chinese = client_of(cast.mei, language="zh-hans")
    settings = text_of(chinese.get("/campaigns/main/settings/"))
    shown = text_of(chinese.get(PAGE))
    assert "三元组的第三个答案" in settings
    assert "三元组的第三个答案： 一个按键 → 现为 四个按键" in shown
    assert "译文显示方式： 逐一显示" in shown


def test_the_checks_of_triples_are_those_of_triples(cast: Cast) -> None:
    client = client_of(cast.mei)
    for protocol, shown in (("triple", False), ("compound", True)):
        Campaign.objects.update(protocol=protocol)
        page = text_of(client.get("/campaigns/main/verify/"))
        assert "The campaign has a manager" in page
        assert ("Verdicts are carried over" in page) == shown
