"""Units judged elsewhere by too few: what they lack is given out, so that each item has exactly k."""

from collections import Counter
from pathlib import Path

import pytest

from annotation.models import Assignment, Campaign, Part, PartUnit, User
from annotation.services.completion import incomplete_items, plan_completion
from annotation.services.errors import Refused
from annotation.services.overview import overview
from annotation.services.parts import assign_parts, plan_parts
from annotation.services.people import add_member
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
    triple_campaign,
    triples,
)
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Eight triples for two experts each: t1 … t4 judged by ann elsewhere, of these t1 by bob as well."""
    made = triple_campaign(tmp_path, 8)
    judge_rows(made, [{"triple_id": f"t{i}", "annotator": "ann", "label": "1"} for i in range(1, 5)])
    judge_rows(made, [{"triple_id": "t1", "annotator": "bob", "label": "1"}])
    return made


def judges() -> dict[str, list[tuple[int, str]]]:
    rows = Assignment.objects.order_by("item__position", "slot")
    found: dict[str, list[tuple[int, str]]] = {}
    for key, slot, name in rows.values_list("item__key", "slot", "expert__username"):
        found.setdefault(key, []).append((slot, name))
    return found


def test_it_gives_out_exactly_what_is_missing(campaign: Campaign) -> None:
    assert [item.key for item in incomplete_items(campaign.rounds.get()).order_by("position")] == [
        "t2",
        "t3",
        "t4",
    ]
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    found = judges()
    assert found["t1"] == [(1, "ann"), (2, "bob")]
    for key in ("t2", "t3", "t4"):
        (first, second) = found[key]
        assert first == (1, "ann")
        assert second[0] == 2
        assert second[1] in ("ada", "lin")
    assert all([slot for slot, _name in found[f"t{i}"]] == [1, 2] for i in range(1, 9))
    loads = Counter(name for rows in found.values() for _slot, name in rows)
    assert abs(loads["ada"] - loads["lin"]) <= 1
    assert verify(campaign) == []
    assert not incomplete_items(campaign.rounds.get()).exists()
    assert overview(campaign).as_planned


def test_repeated_it_gives_out_nothing_more(campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    before = (Part.objects.count(), Assignment.objects.count())
    again = run_json("assign_parts", "main", "--experts", "ada,lin")
    assert again["completion"] == {"n_items": 0, "loads": {}}
    assert again["invitations"] == []
    assert (Part.objects.count(), Assignment.objects.count()) == before


def test_nobody_judges_an_item_twice(campaign: Campaign) -> None:
    """ann, who judged elsewhere, is one of the experts now."""
    User.objects.filter(username="ann").update(is_active=True)
    assign_parts(campaign, experts=["ann", "lin"], design="cyclic", seed=1)
    assert all(judges()[key] == [(1, "ann"), (2, "lin")] for key in ("t2", "t3", "t4"))
    assert verify(campaign) == []


def test_it_wants_somebody_who_has_not_judged_the_items_yet(campaign: Campaign, tmp_path: Path) -> None:
    load_rows(campaign, triples(9), tmp_path)
    judge_rows(campaign, [{"triple_id": "t9", "annotator": "ann", "label": "1"}])
    with pytest.raises(Refused, match="name 1 more"):
        plan_completion(campaign.rounds.get(), ["ann"], {})
    User.objects.filter(username="ann").update(is_active=True)
    assert plan_completion(campaign.rounds.get(), ["ann", "lin"], {}).loads == {"ann": 0, "lin": 4}


def test_the_preview_shows_it_and_stores_nothing(campaign: Campaign) -> None:
    shown = run_json("assign_parts", "main", "--experts", "ada,lin", "--preview")
    assert shown["completion"]["n_items"] == 3
    assert sum(shown["completion"]["loads"].values()) == 3
    assert not PartUnit.objects.exists()
    assert (
        "3 items came with judgements of fewer experts than the campaign asks for."
        in run("assign_parts", "main", "--experts", "ada,lin").out
    )
    assert PartUnit.objects.count() == 7
    assert plan_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1).loads == {"ada": 0, "lin": 0}


def test_contexts_that_nobody_judged_get_all_their_experts(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(2), tmp_path)
    judge_rows(campaign, [{"item_id": f"c1-{i}", "annotator": "ann", "label": "1"} for i in (1, 2, 3)])
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    found = judges()
    assert all([slot for slot, _name in rows] == [1, 2] for rows in found.values())
    assert {name for _slot, name in found["c1-4"]} == {"ada", "lin"}
    assert verify(campaign) == []
    for name in ("ada", "lin"):
        expert = User.objects.get(username=name)
        assert next_screens(campaign, expert_id=expert.pk, count=1)
    assert overview(campaign).not_exactly_k == 0


def test_the_page_gives_it_out(campaign: Campaign) -> None:
    mei = make_user("mei")
    add_member(campaign, mei, "manager")
    client = client_of(mei)
    page = text_of(client.get("/campaigns/main/assign/"))
    assert "3 items were judged elsewhere by too few experts" in page
