"""What experts see: what there is to judge, in their order, and nothing else whatsoever."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Campaign, Context, FinalLabel, Item, Unit, User
from annotation.services.items import withdraw
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens, progress, recent_screens, screen_at
from annotation.services.seat import hand_in
from tests.factories import make_user, seat_number
from tests.material import compounds, load_rows, new_campaign, save, sheet, triples

pytestmark = pytest.mark.django_db

SCREEN = {"id", "protocol", "position", "queue", "part", "postponed", "rows"}
ROW = {"assignment", "revision", "answer"}
ANSWER = {"label", "cannot_judge", "problem", "detail", "reasons", "atoms", "note", "flag"}
KEYS = {
    "compound": (SCREEN | {"compound", "atoms"}, ROW | {"source", "span", "translation", "raw", "reference"}),
    "triple": (SCREEN, ROW | {"head", "relation", "tail"}),
}
MARKER = "must-not-be-seen"


def planted(protocol: str, folder: Path) -> Campaign:
    """A campaign in which everything that an expert must not see holds the marker; bo has answered all of it."""
    campaign = new_campaign(protocol, k=2)
    if protocol == "triple":
        rows = triples(4, split="test", label="1", **{"class": MARKER})
        load_rows(campaign, [{**row, "triple_id": f"{MARKER}{row['triple_id']}"} for row in rows], folder)
    else:
        rows = compounds(2, system=f"{MARKER}-system", run=f"{MARKER}-run", pattern=f"NP:{MARKER}")
        load_rows(campaign, [{**row, "item_id": f"{MARKER}{row['item_id']}"} for row in rows], folder)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    for row in Assignment.objects.filter(expert__username="bo"):
        save(sheet([row], "0", note=f"{MARKER}-note"), row.expert_id)
    finalize(campaign)
    Item.objects.update(imported_label="1", split=MARKER)
    Unit.objects.update(type=MARKER[:10])
    User.objects.filter(username="bo").update(username=f"{MARKER}-bo")
    FinalLabel.objects.update(inputs=[MARKER])
    return campaign


def person(name: str) -> User:
    return User.objects.get(username__endswith=name)


def everything(campaign: Campaign, expert: User) -> dict[str, Any]:
    return {
        "next": next_screens(campaign, expert_id=expert.pk, count=200),
        "recent": recent_screens(campaign, expert_id=expert.pk),
        "one": screen_at(campaign, expert_id=expert.pk, position=1),
        "progress": progress(campaign, expert_id=expert.pk),
    }


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    else:
        yield json.dumps(value)


@pytest.mark.parametrize("protocol", ["triple", "compound"])
def test_it_shows_no_more_than_what_is_to_be_judged(protocol: str, tmp_path: Path) -> None:
    campaign = planted(protocol, tmp_path)
    ada = person("ada")
    blind = everything(campaign, ada)
    screen_keys, row_keys = KEYS[protocol]
    assert blind["next"]
    for screen in blind["next"]:
        assert set(screen) == screen_keys
        for row in screen["rows"]:
            assert set(row) == row_keys
            assert row["answer"] is None
    assert not [text for text in strings(blind) if MARKER in text or "must-not-b" in text]


@pytest.mark.parametrize("protocol", ["triple", "compound"])
def test_it_shows_the_same_whatever_others_answered(protocol: str, tmp_path: Path) -> None:
    campaign = planted(protocol, tmp_path)
    ada, bo = person("ada"), person("bo")
    before = everything(campaign, ada)
    for row in Assignment.objects.filter(expert=bo):
        save(sheet([row], "1", note="another"), row.expert_id)
    finalize(campaign)
    for part in progress(campaign, expert_id=bo.pk)["parts"]:
        hand_in(campaign, expert_id=bo.pk, index=part["index"])
    assert everything(campaign, ada) == before


def test_it_shows_ones_own_answer_again(tmp_path: Path) -> None:
    campaign = planted("triple", tmp_path)
    row = Assignment.objects.filter(expert__username="ada").order_by("position")[0]
    save(sheet([row], "0.5", note="mine", unsure=True), row.expert_id)
    (screen,) = recent_screens(campaign, expert_id=row.expert_id)
    answer = screen["rows"][0]["answer"]
    assert set(answer) == ANSWER
    assert (answer["label"], answer["note"], answer["flag"]) == ("sometimes", "mine", True)
    assert screen["rows"][0]["revision"] == 1
    assert screen_at(campaign, expert_id=row.expert_id, position=row.position) == screen
    assert row.position not in {
        s["position"] for s in next_screens(campaign, expert_id=row.expert_id, count=9)
    }


def test_it_shows_nothing_of_somebody_elses_work(tmp_path: Path) -> None:
    campaign = planted("triple", tmp_path)
    stranger = make_user("eve")
    assert everything(campaign, stranger) == {
        "next": [],
        "recent": [],
        "one": None,
        "progress": {"total": 0, "done": 0, "part": None, "part_total": 0, "part_done": 0, "parts": []},
    }
    mine = {row["assignment"] for s in everything(campaign, person("ada"))["next"] for row in s["rows"]}
    assert mine == {seat_number(row) for row in Assignment.objects.filter(expert__username="ada")}


@pytest.mark.parametrize(("setting", "shown"), [("hidden", False), ("on_demand", True), ("shown", True)])
def test_it_hides_the_reference_where_the_campaign_says_so(setting: str, shown: bool, tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(1), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    Campaign.objects.update(reference=setting)
    Context.objects.filter(number=2).update(source_differs=True)
    (screen,) = next_screens(Campaign.objects.get(), expert_id=person("ada").pk)
    references = [row["reference"] for row in screen["rows"]]
    assert sum(reference is not None for reference in references) == (4 if shown else 0)


def test_it_joins_the_translation_for_reading_and_marks_the_compound(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(1), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    (screen,) = next_screens(campaign, expert_id=person("ada").pk)
    assert screen["compound"] == "the sleepy gardener 1"
    for row in screen["rows"]:
        start, end = row["span"]
        assert row["source"][start:end] == "the sleepy gardener 1"
        assert row["raw"].startswith("今天 困倦 的 园丁")
        assert row["translation"].startswith("今天困倦的园丁1挥手")


def test_it_shows_texts_as_they_were_written(tmp_path: Path) -> None:
    campaign = new_campaign(k=1)
    rows = triples(4)
    for row, tail in zip(rows, ("42", "0", "3.10", "<script>{{ 7*7 }}"), strict=True):
        row["tail"] = tail
    load_rows(campaign, rows, tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    shown = next_screens(campaign, expert_id=person("ada").pk, count=9)
    assert {row["tail"] for screen in shown for row in screen["rows"]} == {
        "42",
        "0",
        "3.10",
        "<script>{{ 7*7 }}",
    }


def test_it_goes_on_after_a_place_in_the_queue(tmp_path: Path) -> None:
    campaign = new_campaign(k=1)
    load_rows(campaign, triples(6), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    ada = person("ada")
    first = next_screens(campaign, expert_id=ada.pk, count=2)
    rest = next_screens(campaign, expert_id=ada.pk, count=9, after=first[-1]["queue"])
    assert [screen["position"] for screen in first + rest] == [1, 2, 3, 4, 5, 6]
    assert next_screens(campaign, expert_id=ada.pk, count=0) == []
    assert len(next_screens(campaign, expert_id=ada.pk, count=10**6)) == 6


def test_it_no_longer_asks_for_what_was_withdrawn(tmp_path: Path) -> None:
    campaign = new_campaign(k=1)
    load_rows(campaign, triples(3), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    withdraw(campaign, Item.objects.get(key="t2").pk, reason="nonsense", by=make_user("mei"))
    shown = next_screens(campaign, expert_id=person("ada").pk, count=9)
    assert {row["tail"] for s in shown for row in s["rows"]} == {"PersonX seals it 1", "PersonX seals it 3"}
    assert progress(campaign, expert_id=person("ada").pk)["total"] == 2


def test_it_reads_a_large_campaign_in_as_many_queries_as_a_small_one(tmp_path: Path) -> None:
    campaign = new_campaign(k=1)
    counts = []
    for n in (10, 600):
        load_rows(campaign, triples(n), tmp_path)
        assign_parts(campaign, experts=["ada"], design="single", seed=1)
        with CaptureQueriesContext(connection) as found:
            assert len(next_screens(campaign, expert_id=person("ada").pk, count=5)) == 5
            progress(campaign, expert_id=person("ada").pk)
        counts.append(len(found))
    assert counts[0] == counts[1] <= 6
