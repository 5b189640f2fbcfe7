"""Who gets items that came later where a unit's experts cannot: its slot was judged elsewhere, or they have left."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Campaign, Item, Membership, User
from annotation.services.batches import close_batch
from annotation.services.campaigns import main_round
from annotation.services.errors import Refused
from annotation.services.late_items import late_items
from annotation.services.later import plan_later
from annotation.services.overview import overview
from annotation.services.parts import assign_parts
from annotation.services.people import add_member, deactivate
from annotation.services.seat import postpone
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    answer_open,
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
)
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

N = 6


def changed(to: str = "later") -> list[dict[str, object]]:
    rows = compounds(N)
    for place in range(0, len(rows), 3):
        rows[place]["translation"] = f"{to} {place}"
    return rows


def elsewhere(campaign: Campaign, slot_of: dict[int, int]) -> None:
    """Somebody judged the items of these contexts (by number), each in this slot."""
    judge_rows(
        campaign,
        [
            {"item_id": row["item_id"], "system": "base", "annotator": "old", "label": "1", "slot": slot}
            for row in compounds(N)
            if (slot := slot_of.get(int(str(row["context_no"])), 0))
        ],
    )


def give_out(campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "bo", "chen"], design="cyclic", seed=3)


def given(campaign: Campaign) -> dict[int, list[tuple[int, str]]]:
    """By item of the later system that nobody had judged: slots and experts."""
    new = Item.objects.filter(campaign=campaign, translation__startswith="later")
    return {
        item.pk: sorted(item.assignments.values_list("slot", "expert__username"))
        for item in new.prefetch_related("assignments")
    }


class TestJudgedElsewhere:
    @pytest.mark.parametrize(
        "slot_of",
        [dict.fromkeys(range(1, 6), 1), dict.fromkeys(range(1, 6), 2), {1: 1, 2: 1, 3: 2, 4: 2, 5: 2}],
        ids=["first slot", "second slot", "mixed"],
    )
    def test_exactly_k_experts_judge_a_later_item(self, tmp_path: Path, slot_of: dict[int, int]) -> None:
        campaign = new_campaign("compound", k=2)
        load_rows(campaign, compounds(N), tmp_path, system="base")
        elsewhere(campaign, slot_of)
        run_json("assign_parts", campaign.slug, "--experts", "ada,lin")
        answer_open(campaign)
        load_rows(campaign, changed(), tmp_path, system="later")

        run_json("assign_parts", campaign.slug, "--experts", "ada,lin", "--again", "20")

        places = given(campaign)
        assert len(places) == 10
        for of_item in places.values():
            assert [slot for slot, _name in of_item] == [1, 2]
            assert {name for _slot, name in of_item} == {"ada", "lin"}
        assert not late_items(main_round(campaign)).exists()
        answer_open(campaign)
        assert verify(campaign) == []

    def test_without_anybody_who_could_it_says_so(self, tmp_path: Path) -> None:
        campaign = new_campaign("compound", k=2)
        load_rows(campaign, compounds(N), tmp_path, system="base")
        elsewhere(campaign, dict.fromkeys(range(1, 6), 1))
        run_json("assign_parts", campaign.slug, "--experts", "ada,lin")
        deactivate(User.objects.get(username="lin"), None)
        load_rows(campaign, changed(), tmp_path, system="later")

        with pytest.raises(Refused, match="nobody here can take"):
            plan_later(main_round(campaign), seed=1)

        add_member(campaign, make_user("bo"), Membership.Role.EXPERT)
        assert {share.expert.username for share in plan_later(main_round(campaign), seed=1).shares} == {
            "ada",
            "bo",
        }


class TestHalfJudgedElsewhere:
    """An item of a later system that came with judgements of fewer than k experts: the others are given out here."""

    @pytest.fixture
    def campaign(self, tmp_path: Path) -> Campaign:
        made = new_campaign("compound", k=2)
        load_rows(made, compounds(N), tmp_path, system="base")
        assign_parts(made, experts=["ada", "bo", "chen"], design="cyclic", seed=3)
        load_rows(made, changed(), tmp_path, system="later")
        return made

    @staticmethod
    def judged_by(campaign: Campaign, *names: str, slot: int | None = None) -> list[Item]:
        """The first late item was judged by these, the second by nobody, the third by these."""
        items = list(Item.objects.filter(translation__startswith="later").order_by("position"))
        for item in (items[0], items[2]):
            judge_rows(
                campaign,
                [
                    {"item_id": item.key, "system": "later", "annotator": name, "label": "0"}
                    | ({"slot": slot} if slot else {})
                    for name in names
                ],
            )
        return items

    @pytest.mark.parametrize("name", ["lin", "ada", "bo", "chen"])
    @pytest.mark.parametrize("slot", [1, 2])
    def test_it_gets_its_second_expert(self, campaign: Campaign, name: str, slot: int) -> None:
        items = self.judged_by(campaign, name, slot=slot)
        assert late_items(main_round(campaign)).count() == len(items)
        assert verify(campaign) == []

        give_out(campaign)

        places = given(campaign)
        of_unit: dict[int, set[str]] = {
            item.unit_id: set(
                Assignment.objects.filter(unit=item.unit_id)
                .exclude(item__translation__startswith="later")
                .values_list("expert__username", flat=True)
            )
            for item in items
        }
        for item in items:
            assert [one for one, _name in places[item.pk]] == [1, 2]
            assert len({who for _slot, who in places[item.pk]}) == 2
            assert {who for _slot, who in places[item.pk]} - {name} <= of_unit[item.unit_id]
        for item in (items[0], items[2]):
            assert (slot, name) in places[item.pk]
        assert not late_items(main_round(campaign)).exists()
        answer_open(campaign)
        assert verify(campaign) == []

    def test_who_judged_all_of_it_leaves_nothing_to_give(self, campaign: Campaign) -> None:
        items = self.judged_by(campaign, "lin", "mo")
        assert late_items(main_round(campaign)).count() == len(items) - 2
        give_out(campaign)
        assert verify(campaign) == []

    def test_in_a_closed_batch_it_waits_until_the_batch_is_open(self, campaign: Campaign) -> None:
        answer_open(campaign)
        (batch,) = main_round(campaign).designs.all()
        close_batch(campaign, batch.pk, by=None)
        (item, *_others) = self.judged_by(campaign, "lin")
        said = [one.where for one in verify(campaign)]
        assert (
            f"item at position {item.position} has 1 experts in the main round, not 2; open the batch again and give "
            "out parts: it goes to the experts of its unit"
        ) in said


class TestWaiting:
    """Until they are given out, nothing is wrong with items that came later."""

    @pytest.fixture
    def campaign(self, tmp_path: Path) -> Campaign:
        made = new_campaign("compound", k=1)
        load_rows(made, compounds(N), tmp_path, system="base")
        assign_parts(made, experts=["ada"], design="single", seed=1)
        load_rows(made, changed(), tmp_path, system="later")
        return made

    def test_they_are_no_violation_and_no_alarm(self, campaign: Campaign) -> None:
        mei = make_user("mei")
        add_member(campaign, mei, Membership.Role.MANAGER)
        assert verify(campaign) == []
        assert overview(campaign).not_exactly_k == 0
        page = text_of(client_of(mei).get("/campaigns/main/"))
        assert "wait to be given out: 10" in page
        assert "exactly 1 per item" in page
        assert "without their full number" not in page

    def test_what_was_there_and_lost_its_expert_is_one(self, campaign: Campaign) -> None:
        row = Assignment.objects.order_by("pk")[7]
        row.delete()
        (violation,) = verify(campaign)
        assert violation.where.startswith(f"item at position {row.item.position} has 0 experts")


class TestWhoHasLeft:
    @pytest.fixture
    def campaign(self, tmp_path: Path) -> Campaign:
        """Ada and Lin have judged three compounds each; Ada's account is closed, and a system came later."""
        made = new_campaign("compound", k=1)
        load_rows(made, compounds(N), tmp_path, system="base")
        assign_parts(made, experts=["ada", "lin"], design="single", seed=1)
        answer_everything(made, "1")
        deactivate(User.objects.get(username="ada"), None)
        load_rows(made, changed(), tmp_path, system="later")
        return made

    def test_others_take_their_places(self, campaign: Campaign) -> None:
        shown = run_json("assign_parts", campaign.slug, "--experts", "lin", "--preview")
        assert shown["later"]["absent"] == ["A1"]
        said = run("assign_parts", campaign.slug, "--experts", "lin", "--preview").out
        assert "A1 left: experts who were not given these units take these places." in said

        run_json("assign_parts", campaign.slug, "--experts", "lin", "--again", "0")

        assert Counter(place for places in given(campaign).values() for place in places) == {(1, "lin"): 10}
        answer_open(campaign)
        assert verify(campaign) == []

    def test_without_others_it_says_whose_places_nobody_takes(self, campaign: Campaign) -> None:
        deactivate(User.objects.get(username="lin"), None)
        asked: dict[str, Any] = {"experts": ["bo"], "design": "single", "seed": 1}

        with pytest.raises(Refused, match=r"units of A\d, who left, and nobody here can take their places"):
            assign_parts(campaign, **asked)

        add_member(campaign, make_user("bo"), Membership.Role.EXPERT)
        assign_parts(campaign, **asked)
        assert {name for places in given(campaign).values() for _slot, name in places} == {"bo"}


def test_what_is_postponed_behind_a_large_batch_has_places_of_its_own(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    base = compounds(990, contexts=1)
    load_rows(campaign, base, tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", parts=1, seed=1)
    Assignment.objects.update(revision=1, label="1", answered_at=main_round(campaign).created_at)
    following = [
        row | {"item_id": f"z{n}", "compound": f"a dog {n}", "source": f"a dog {n} ."}
        for n, row in enumerate(compounds(12, contexts=1))
    ]
    load_rows(campaign, following, tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", parts=1, seed=2, again=0)
    load_rows(
        campaign,
        [row | {"translation": f"later {n}"} for n, row in enumerate(base)],
        tmp_path,
        system="later",
    )
    assign_parts(campaign, experts=["ada"], design="single", seed=3, again=0)
    ada = User.objects.get(username="ada")

    for _time in range(9):
        late = Assignment.objects.filter(expert=ada, answered_at=None, postponed_at=None, part__index=0)
        first = late.order_by("queue")[0]
        postpone(campaign, expert_id=ada.pk, screen_id=first.pk, assignments=[first.pk])

    waiting = Assignment.objects.filter(expert=ada, answered_at=None)
    assert waiting.values("queue").distinct().count() == waiting.count()
