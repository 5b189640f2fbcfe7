"""Giving parts to experts: shown first, stored whole, each item with exactly k different people."""

import re
import threading
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from django.db import connection

from annotation.models import (
    Assignment,
    Campaign,
    Design,
    Invitation,
    Item,
    Membership,
    Part,
    PartUnit,
    User,
)
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from annotation.services.parts import assign_parts, plan_parts
from annotation.services.people import add_member, deactivate
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    compounds,
    load,
    load_rows,
    new_campaign,
    run,
    run_json,
    slots_given,
    triple_campaign,
    triples,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db

FOUR = ["ada", "bo", "chen", "dan"]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Ten triples for two experts each."""
    return triple_campaign(tmp_path, 10)


def rows_of(person: User) -> list[tuple[int, int]]:
    """(position, item) of everything somebody is shown, row by row."""
    rows = Assignment.objects.filter(expert=person).order_by("position", "row")
    return list(rows.values_list("position", "item"))


def nothing_stored() -> bool:
    return not any(
        model._default_manager.exists()
        for model in (Assignment, Design, Part, PartUnit, User, Membership, Invitation)
    )


def test_it_shows_a_plan_and_stores_nothing(campaign: Campaign) -> None:
    document = run_json("assign_parts", campaign.slug, "--experts", ",".join(FOUR), "--preview")
    assert nothing_stored()
    assert (document["design"], document["seed"]) == ("cyclic", 7)
    assert [(p["index"], p["n_units"], p["n_items"], p["experts"]) for p in document["parts"]] == [
        (0, 3, 3, ["ada", "dan"]),
        (1, 3, 3, ["bo", "ada"]),
        (2, 2, 2, ["chen", "bo"]),
        (3, 2, 2, ["dan", "chen"]),
    ]
    assert document["loads"] == {"ada": 6, "bo": 5, "chen": 4, "dan": 5}
    assert re.fullmatch(r"[0-9a-f]{64}", document["hash"])
    assert "invitations" not in document


def test_it_stores_what_it_showed(campaign: Campaign) -> None:
    shown = run_json("assign_parts", campaign.slug, "--experts", ",".join(FOUR), "--preview")
    stored = run_json("assign_parts", campaign.slug, "--experts", ",".join(FOUR))
    assert {name: stored[name] for name in shown} == shown
    assert Design.objects.get().hash == shown["hash"]
    assert Counter(name for _key, _slot, name in slots_given()) == shown["loads"]
    for part in Part.objects.all():
        experts = shown["parts"][part.index]["experts"]
        assert part.part_units.count() == shown["parts"][part.index]["n_units"]
        for slot, name in enumerate(experts, start=1):
            assert (
                part.assignments.filter(slot=slot, expert__username=name).count() == part.part_units.count()
            )
    assert verify(campaign) == []


def test_it_makes_people_without_a_password_and_invites_them(campaign: Campaign) -> None:
    make_user("ada", password="seven green rivers")
    document = run_json("assign_parts", campaign.slug, "--experts", "ada,bo")
    assert [invitation["expert"] for invitation in document["invitations"]] == ["bo"]
    assert "/invitation/" in document["invitations"][0]["url"]
    bo = User.objects.get(username="bo")
    assert (bo.is_active, bo.has_usable_password()) == (True, False)
    assert list(campaign.memberships.order_by("pseudonym").values_list("user__username", "pseudonym")) == [
        ("ada", "A1"), ("bo", "A2"),
    ]  # fmt: skip


def test_it_refuses_a_plan_that_is_not_the_one_shown(campaign: Campaign, tmp_path: Path) -> None:
    shown = plan_parts(campaign, experts=FOUR, design="cyclic", seed=1)
    load_rows(campaign, triples(12), tmp_path)
    with pytest.raises(Refused, match="The campaign changed since this plan was shown"):
        assign_parts(campaign, experts=FOUR, design="cyclic", seed=1, confirmed_hash=shown.hash)
    assert nothing_stored()
    shown = plan_parts(campaign, experts=FOUR, design="cyclic", seed=1)
    with pytest.raises(Refused, match="changed since"):
        assign_parts(campaign, experts=FOUR, design="cyclic", seed=2, confirmed_hash=shown.hash)
    assign_parts(campaign, experts=FOUR, design="cyclic", seed=1, confirmed_hash=shown.hash)
    assert len(slots_given()) == 24


def test_it_assigns_only_what_is_new_when_repeated(campaign: Campaign, tmp_path: Path) -> None:
    first = run_json("assign_parts", campaign.slug, "--experts", ",".join(FOUR))
    before, links = slots_given(), Invitation.objects.count()
    again = run("assign_parts", campaign.slug, "--experts", ",".join(FOUR), "--json")
    assert again.code == 0
    assert sum(part["n_items"] for part in again.document["parts"]) == 0
    assert again.document["invitations"] == []
    assert (slots_given(), Invitation.objects.count(), Design.objects.count()) == (before, links, 1)
    assert (
        "Every unit has its experts already."
        in run("assign_parts", campaign.slug, "--experts", "eve,fay").out
    )
    assert not User.objects.filter(username="eve").exists()
    load_rows(campaign, triples(13), tmp_path)
    more = run_json("assign_parts", campaign.slug, "--experts", "ada,bo,eve")
    assert sum(part["n_units"] for part in more["parts"]) == 3
    assert slots_given()[:20] == before
    assert len(slots_given()) == 26
    assert sorted(Part.objects.values_list("index", flat=True)) == list(range(7))
    assert len(first["parts"]) == 4
    assert verify(campaign) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--experts", "ada,bo", "--design", "cyclic", "--parts", "3"], "multiple"),
        (["--experts", "ada", "--design", "cyclic"], "does not fit the 1 named: name at least 2."),
        (["--experts", "ada,bo", "--design", "single"], "use cyclic or pairs"),
        (["--experts", "ada,bo,chen", "--design", "pairs", "--parts", "2"], "one part per pair"),
        (["--experts", "ada,bo", "--design", "round-robin"], "the designs are cyclic, pairs, single"),
        (["--experts", "ada,,bo"], "empty"),
        (["--experts", "lin,LIN"], "are one person"),
        (["--experts", "lin,ｌｉｎ"], "are one person"),
        (["--experts", "wei,wei"], "named twice"),
        (["--experts", ""], "empty"),
    ],
)
def test_it_ends_with_2_where_people_and_design_do_not_fit(
    campaign: Campaign, options: list[str], sentence: str
) -> None:
    for preview in ([], ["--preview"]):
        ran = run("assign_parts", campaign.slug, *options, *preview, "--json")
        assert ran.code == 2
        assert sentence in ran.document["errors"][0]["message"]
        assert sentence in ran.err
    assert nothing_stored()


@pytest.mark.parametrize("seed", ["-1", "2147483648"])
def test_it_refuses_a_seed_that_cannot_be_kept(campaign: Campaign, seed: str) -> None:
    ran = run("assign_parts", campaign.slug, "--experts", "ada,bo", "--seed", seed, "--json")
    assert ran.code == 2
    assert "A seed is a whole number" in ran.document["errors"][0]["message"]
    assert nothing_stored()


def test_it_refuses_an_empty_campaign() -> None:
    empty = new_campaign()
    with pytest.raises(Refused, match="no items yet"):
        plan_parts(empty, experts=["ada", "bo"], design="cyclic", seed=1)


def test_it_refuses_somebody_whose_account_is_closed(campaign: Campaign) -> None:
    make_user("ada", is_active=False)
    ran = run("assign_parts", campaign.slug, "--experts", "ada,bo", "--json")
    assert ran.code == 1
    assert "is closed" in ran.document["errors"][0]["message"]
    assert not Assignment.objects.exists()
    assert not User.objects.filter(username="bo").exists()


def test_it_depends_on_nothing_but_the_seed(tmp_path: Path) -> None:
    seen = []
    for slug, seed in (("one", 5), ("two", 5), ("three", 6)):
        made = triple_campaign(tmp_path, 12, slug=slug)
        plan = assign_parts(made, experts=FOUR, design="cyclic", seed=seed)
        rows = Assignment.objects.filter(round__campaign=made).order_by("expert__username", "position", "row")
        seen.append(
            (plan.hash, list(rows.values_list("expert__username", "position", "row", "slot", "item__key")))
        )
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[2][0]
    assert seen[0][1] != seen[2][1]


# Whole units


def test_it_splits_seven_compounds_into_three_two_two() -> None:
    campaign = new_campaign("compound")
    load(campaign, shared("cases/c19_seven_compounds.csv"))
    options = ["--experts", "a,b,c", "--parts", "3", "--design", "single", "--seed", "3", "--preview"]
    document = run_json("assign_parts", campaign.slug, *options)
    assert sorted(part["n_units"] for part in document["parts"]) == [2, 2, 3]
    assert sorted(part["n_items"] for part in document["parts"]) == [10, 10, 15]
    assert run_json("assign_parts", campaign.slug, *options) == document
    run_json("assign_parts", campaign.slug, *options[:-1])
    assert len({item for item, _slot, _expert in slots_given()}) == len(slots_given()) == 35
    for part in Part.objects.all():
        per_unit = Counter(part.assignments.values_list("unit", flat=True))
        assert set(per_unit.values()) == {5}
    assert verify(campaign) == []


def test_it_shows_the_five_contexts_of_a_compound_together_in_each_experts_order(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(6), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    orders: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for person in User.objects.all():
        shown = next_screens(campaign, expert_id=person.pk, count=50)
        assert [screen["position"] for screen in shown] == list(range(1, 7))
        for screen in shown:
            rows = Assignment.objects.filter(expert=person, position=screen["position"]).order_by("row")
            numbers = list(rows.values_list("item__context__number", flat=True))
            assert sorted(numbers) == [1, 2, 3, 4, 5]
            (unit,) = {row.unit_id for row in rows}
            orders[person.username][unit] = numbers
    assert orders["ada"] != orders["bo"]
    assert list(orders["ada"]) != list(orders["bo"])
    assert len({tuple(numbers) for numbers in orders["ada"].values()}) > 1


def test_it_shows_two_systems_on_screens_that_lie_far_apart(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(12, system="base"), tmp_path)
    large = compounds(12, system="large")
    for row in large:
        if row["context_no"] != 5:  # the fifth is the same text, judged once
            row["translation"] = f"{row['translation']}！"
    load_rows(campaign, large, tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    systems = {}
    for person in User.objects.all():
        screens: dict[int, list[int]] = defaultdict(list)
        for part in Part.objects.all():
            rows = Assignment.objects.filter(expert=person, part=part)
            positions: dict[int, set[int]] = defaultdict(set)
            for unit, position in rows.values_list("unit", "position"):
                positions[unit].add(position)
            first = [min(found) for found in positions.values()]
            second = [max(found) for found in positions.values()]
            assert all(len(found) == 2 for found in positions.values())
            assert max(first) < min(second)  # every unit once before any comes again
        for position, item in rows_of(person):
            screens[position].append(item)
        assert sorted(len(items) for items in screens.values()) == [4] * 12 + [5] * 12
        assert sorted(screens) == list(range(1, 25))
        # Nobody can tell the systems by the order in which they come.
        names = dict(
            Item.objects.filter(outputs__system__name="base").values_list("pk", "outputs__system__name")
        )
        systems[person.username] = [tuple(item in names for item in items) for items in screens.values()]
        assert any(len(set(mix)) > 1 for mix in systems[person.username])
    assert systems["ada"] != systems["bo"]
    assert verify(campaign) == []


def test_it_gives_each_expert_every_place_once_over_all_parts(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 23)
    assign_parts(campaign, experts=FOUR[:3], design="cyclic", seed=1, parts=6)
    for person in User.objects.all():
        rows = list(Assignment.objects.filter(expert=person).order_by("position"))
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))
        assert [row.queue for row in rows] == sorted({row.queue for row in rows})
        parts = [row.part_id for row in rows]
        changes = sum(a != b for a, b in pairwise(parts))
        assert changes + 1 == len(set(parts))  # part after part
        ends = [a.queue for a, b in pairwise(rows) if a.part_id != b.part_id]
        starts = [b.queue for a, b in pairwise(rows) if a.part_id != b.part_id]
        assert all(
            start - end >= 1000 for start, end in zip(starts, ends, strict=True)
        )  # room for what is put off


@pytest.mark.django_db(transaction=True)
def test_it_lets_one_of_two_managers_assign(campaign: Campaign) -> None:
    shown = plan_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    barrier = threading.Barrier(2)
    said: list[str] = []

    def confirm() -> None:
        barrier.wait()
        try:
            assign_parts(
                Campaign.objects.get(),
                experts=["ada", "bo"],
                design="cyclic",
                seed=1,
                confirmed_hash=shown.hash,
            )
            said.append("stored")
        except Refused as error:
            said.append(error.message)
        finally:
            connection.close()

    threads = [threading.Thread(target=confirm) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sentence[:6] for sentence in said) == ["The ca", "stored"]
    assert len(slots_given()) == 20
    assert verify(campaign) == []


def test_it_refuses_designs_in_the_service_too(campaign: Campaign) -> None:
    with pytest.raises(ProtocolError):
        assign_parts(campaign, experts=["lin", "Lin"], design="cyclic", seed=1)
    assert nothing_stored()


def test_the_preview_refuses_what_the_real_run_refuses(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 4)
    deactivate(make_user("ada"), None)
    add_member(campaign, make_user("mei"), "manager")
    for experts, sentence in (
        (["ada", "bo"], "The account of “ada” is closed."),
        (["mei", "bo"], "“mei” takes part as manager already"),
        (["bo", "c" * 151], "longer than 150 characters"),
    ):
        for attempt in (plan_parts, assign_parts):
            with pytest.raises(Refused, match=sentence):
                attempt(campaign, experts=experts, design="cyclic", seed=1)
    assert not User.objects.filter(username="bo").exists()
    assert plan_parts(campaign, experts=["bo", "cy"], design="cyclic", seed=1).loads == {"bo": 4, "cy": 4}
    assert not User.objects.filter(username="bo").exists()


@pytest.mark.parametrize("name", ["b\x07o", "b\u200bo", "bo;cy"])
def test_it_refuses_names_that_are_none_even_where_all_is_given_out(name: str, tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 2, experts=["ada", "lin"])
    for attempt in (plan_parts, assign_parts):
        with pytest.raises(Refused, match="leave it out"):
            attempt(campaign, experts=["ada", name], design="cyclic", seed=1)
