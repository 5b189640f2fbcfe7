"""Giving out what came after the parts were given, and the released triples as a whole."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from annotation.models import (
    Assignment,
    Campaign,
    Design,
    HandIn,
    Part,
    PartUnit,
    Round,
    User,
)
from annotation.services.late_items import late_items
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens
from annotation.services.seat import hand_in
from annotation.services.verify import verify
from tests.factories import make_assignment
from tests.material import (
    answer_everything,
    compounds,
    judge_rows,
    load,
    load_rows,
    new_campaign,
    run,
    run_json,
    slots_given,
    triple_campaign,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db

FOUR = ["ada", "bo", "chen", "dan"]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Ten triples for two experts each."""
    return triple_campaign(tmp_path, 10)


def places() -> list[tuple[int, int, int, int]]:
    """What everybody is shown where: expert, item, position and row."""
    return sorted(Assignment.objects.values_list("expert", "item", "position", "row"))


# What came later


def test_it_gives_a_later_system_to_the_experts_of_the_same_units(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(4, system="base"), tmp_path)
    assign_parts(campaign, experts=["ada", "bo", "chen"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    ada = User.objects.get(username="ada")
    for index in Part.objects.filter(assignments__expert=ada).distinct().values_list("index", flat=True):
        hand_in(campaign, expert_id=ada.pk, index=index)
    load_rows(campaign, compounds(4, system="large", translation="别的。"), tmp_path)
    round_ = campaign.rounds.get()
    assert late_items(round_).count() == 20
    assert verify(campaign) == []  # they wait to be given out
    before = places()
    document = run_json("assign_parts", campaign.slug, "--experts", "ada,bo,chen")
    assert (document["late_items"], sum(document["loads"].values())) == (20, 0)
    assert set(places()) >= set(before)
    assert late_items(round_).count() == 0
    for unit in PartUnit.objects.all():
        rows = Assignment.objects.filter(unit=unit.unit, round=round_)  # without what comes again
        assert rows.count() == 20
        assert set(rows.values_list("part", flat=True)) == {unit.part_id}
        assert len(set(rows.values_list("expert", "slot"))) == 2
    shown = next_screens(campaign, expert_id=ada.pk, count=20)
    assert all(len(screen["rows"]) == 5 for screen in shown)  # a compound's contexts stand together
    assert sum(len(screen["rows"]) for screen in shown) == ada.assignments.filter(answered_at=None).count()
    assert not HandIn.objects.exists()  # there is work in these parts again
    answer_everything(campaign, "1")
    assert verify(campaign) == []


def test_it_does_not_give_out_what_was_judged_elsewhere(campaign: Campaign) -> None:
    rows = [
        {"triple_id": f"t{i}", "annotator": name, "label": "1"} for i in (1, 2) for name in ("ann", "bob")
    ]
    judge_rows(campaign, rows)
    plan = assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    assert sum(part.n_items for part in plan.parts) == 8
    assert {name for key, _slot, name in slots_given() if key in ("t1", "t2")} == {"ann", "bob"}
    assert len(slots_given()) == 20
    assert verify(campaign) == []


# The released triples


def test_it_gives_every_released_triple_to_two_of_four_experts() -> None:
    campaign = new_campaign()
    assert load(campaign, shared("data/ckbp/ckbp2.0.csv")).added == 5006
    document = run_json("assign_parts", campaign.slug, "--experts", ",".join(FOUR), "--seed", "11")
    sizes = [part["n_units"] for part in document["parts"]]
    assert sum(sizes) == 5006
    assert max(sizes) - min(sizes) <= 1
    of_item: dict[int, list[str]] = defaultdict(list)
    for item, expert in Assignment.objects.order_by("item", "slot").values_list("item", "expert__username"):
        of_item[item].append(expert)
    assert len(of_item) == 5006
    assert all(len(experts) == 2 and len(set(experts)) == 2 for experts in of_item.values())
    pairs = Counter(frozenset(FOUR.index(name) for name in experts) for experts in of_item.values())
    assert set(pairs) == {frozenset(pair) for pair in ((0, 1), (1, 2), (2, 3), (3, 0))}
    assert sorted((p["a"], p["b"]) for p in document["pairs"]) == [
        ("ada", "bo"), ("ada", "dan"), ("bo", "chen"), ("chen", "dan"),
    ]  # fmt: skip
    assert sum(pair["n_items"] for pair in document["pairs"]) == 5006
    assert verify(campaign) == []


def test_it_gives_a_screen_a_place_of_its_own_among_all_rounds(campaign: Campaign) -> None:
    ada = User.objects.create_user("ada")
    main = campaign.rounds.get()
    trial = Round.objects.create(campaign=campaign, kind="spot_check", k=1, guideline=main.guideline)
    design = Design.objects.create(round=trial, name="single", seed=1, hash="0" * 64, plan={})
    part = Part.objects.create(round=trial, design=design, index=0)
    for position, item in enumerate(campaign.items.order_by("position")[:3], start=1):
        make_assignment(item, ada, round=trial, part=part, position=position, queue=position)

    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)

    screens = next_screens(campaign, expert_id=ada.pk, count=50)
    assert len(screens) == 13
    assert {len(screen["rows"]) for screen in screens} == {1}
    assert len({screen["position"] for screen in screens}) == 13


def test_the_command_counts_parts_from_one_for_people_and_from_zero_for_programs(campaign: Campaign) -> None:
    options = ("assign_parts", "main", "--experts", "ada,bo", "--preview")

    assert "part 1: 5 units, 5 items: ada, bo\npart 2: 5 units" in run(*options).out
    assert [part["index"] for part in run_json(*options)["parts"]] == [0, 1]
