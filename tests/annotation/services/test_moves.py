"""Moving open units: exactly k different experts before and after, and nothing that was answered moves."""

import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase as HypothesisCase

from annotation.models import Assignment, AuditEntry, Campaign, HandIn, Membership, Surplus, User
from annotation.protocol.moves import Moves
from annotation.services import moves as service
from annotation.services.campaigns import main_round
from annotation.services.errors import KeptAside, NotYours, Refused
from annotation.services.hand_ins import give_back
from annotation.services.moves import move_units, moved_items, planned_moves
from annotation.services.overview import expert_lines
from annotation.services.parts import assign_parts
from annotation.services.people import add_member, deactivate
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from tests.factories import make_user, rows_on
from tests.material import (
    answer_everything,
    answer_open,
    compounds,
    load_rows,
    new_campaign,
    save,
    sheet,
    triple_campaign,
)

pytestmark = pytest.mark.django_db

FOUR = ["ada", "bo", "chen", "dan"]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Twenty triples for two of four experts each."""
    made = triple_campaign(tmp_path, 20)
    assign_parts(made, experts=FOUR, design="cyclic", seed=1)
    return made


def place(campaign: Campaign, name: str) -> int:
    return campaign.memberships.get(user__username=name).pk


def person(name: str) -> User:
    return User.objects.get(username=name)


def move(campaign: Campaign, giver: str, *takers: str, n: int | None = None) -> Moves:
    asked: dict[str, Any] = {
        "giver": place(campaign, giver),
        "takers": [place(campaign, name) for name in takers],
        "n": n,
    }
    shown = planned_moves(campaign, **asked)
    return move_units(campaign, **asked, confirmed_hash=shown.hash, by=None)


def judge(who: User, screen: Mapping[str, Any]) -> None:
    """Somebody answers one screen as it was shown to them."""
    save(sheet(rows_on(screen, who), "1"), who.pk)


def standing(campaign: Campaign, name: str) -> list[int]:
    rows = Assignment.objects.filter(expert__username=name, withdrawn_at__isnull=True)
    return sorted(rows.values_list("item__position", flat=True))


def test_who_leaves_gives_everything_that_was_not_begun(campaign: Campaign) -> None:
    first = next_screens(campaign, expert_id=person("ada").pk)[0]
    judge(person("ada"), first)
    judged = Assignment.objects.get(revision=1)
    moves = move(campaign, "ada", "bo", "chen", "dan")
    assert standing(campaign, "ada") == [judged.item.position]
    assert len(moves.moves) == 9
    assert verify(campaign) == []
    assert next_screens(campaign, expert_id=person("ada").pk) == []


def test_loads_and_pairs_are_as_they_were_shown(campaign: Campaign) -> None:
    moves = move(campaign, "ada", "bo", "chen", "dan")
    called = dict(campaign.memberships.values_list("user__username", "pseudonym"))
    for name in FOUR:
        assert len(standing(campaign, name)) == moves.loads[called[name]]
    shared = Counter[tuple[str, str]]()
    for item in {row.item_id for row in Assignment.objects.all()}:
        rows = Assignment.objects.filter(item=item, withdrawn_at__isnull=True).select_related("expert")
        a, b = sorted(called[row.expert.username] for row in rows)
        shared[a, b] += 1
    assert shared == moves.pairs


def test_a_compound_that_was_begun_is_not_torn(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(3), tmp_path)
    add_member(campaign, make_user("bo"), Membership.Role.EXPERT)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    begun = Assignment.objects.order_by("pk")[0]
    begun.revision, begun.label, begun.answered_at = 1, "1", begun.round.created_at
    begun.save()
    moves = move(campaign, "ada", "bo")
    assert [one.key for one in moves.moves] != []
    assert len(moves.moves) == 2
    assert Assignment.objects.filter(unit=begun.unit, withdrawn_at__isnull=True).count() == 5
    assert Counter(
        len(screen["rows"]) for screen in next_screens(campaign, expert_id=person("bo").pk, count=9)
    ) == {5: 2}


def test_nobody_judges_a_unit_twice_and_what_none_may_take_stays(campaign: Campaign) -> None:
    moves = move(campaign, "ada", "bo")
    assert len(moves.moves) == len(moves.stuck) == 5  # bo shares a part with ada
    assert len(standing(campaign, "ada")) == 5
    assert verify(campaign) == []


def test_of_a_slow_expert_the_last_units_move(campaign: Campaign) -> None:
    coming = [
        screen["rows"][0]["head"] for screen in next_screens(campaign, expert_id=person("ada").pk, count=20)
    ]
    move(campaign, "ada", "bo", "chen", "dan", n=3)
    left = [
        screen["rows"][0]["head"] for screen in next_screens(campaign, expert_id=person("ada").pk, count=20)
    ]
    assert left == coming[:-3]


def test_a_handed_in_part_is_open_again_for_who_takes_units_in_it(campaign: Campaign) -> None:
    add_member(campaign, make_user("eve"), Membership.Role.EXPERT)
    move(campaign, "ada", "eve", n=1)
    (row,) = Assignment.objects.filter(expert=person("eve"))
    assert row.part is not None
    judge(person("eve"), next_screens(campaign, expert_id=person("eve").pk)[0])
    HandIn.objects.create(part=row.part, expert=person("eve"))
    move(campaign, "ada", "eve", n=5)
    parts = Assignment.objects.filter(expert=person("eve"), answered_at__isnull=True).values("part")
    assert not HandIn.objects.filter(expert=person("eve"), part__in=parts).exists()


def test_a_closed_batch_keeps_its_units(campaign: Campaign) -> None:
    main_round(campaign).designs.update(closed_at=main_round(campaign).created_at)
    with pytest.raises(Refused, match="nothing to move"):
        move(campaign, "ada", "chen")


def test_a_late_answer_to_a_unit_that_moved_is_kept_and_does_not_count(campaign: Campaign) -> None:
    screens = next_screens(campaign, expert_id=person("ada").pk, count=20)
    move(campaign, "ada", "bo", "chen", "dan")
    with pytest.raises(KeptAside):
        judge(person("ada"), screens[0])
    assert Surplus.objects.count() == 1
    assert not Assignment.objects.filter(revision__gt=0).exists()


def test_a_plan_that_is_out_of_date_stores_nothing(campaign: Campaign) -> None:
    asked: dict[str, Any] = {"giver": place(campaign, "ada"), "takers": [place(campaign, "chen")]}
    shown = planned_moves(campaign, **asked)
    judge(person("ada"), next_screens(campaign, expert_id=person("ada").pk)[0])
    before = list(Assignment.objects.order_by("pk").values_list("pk", "withdrawn_at"))
    with pytest.raises(Refused, match="since this was shown"):
        move_units(campaign, **asked, confirmed_hash=shown.hash, by=None)
    assert list(Assignment.objects.order_by("pk").values_list("pk", "withdrawn_at")) == before


def test_an_answer_at_the_very_moment_keeps_its_unit(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit is answered after the moves were planned and before they are stored."""
    asked: dict[str, Any] = {"giver": place(campaign, "ada"), "takers": [place(campaign, "chen")]}
    shown = planned_moves(campaign, **asked)

    def planned_and_then_answered(*args: object, **kwargs: object) -> Moves:
        found = planned_moves(*args, **kwargs)  # type: ignore[arg-type]
        row = Assignment.objects.filter(expert=person("ada"), unit__key=found.moves[0].key)
        row.update(revision=1, label="1", answered_at=main_round(campaign).created_at)
        return found

    monkeypatch.setattr(service, "planned_moves", planned_and_then_answered)
    with pytest.raises(Refused, match="answered or moved"):
        move_units(campaign, **asked, confirmed_hash=shown.hash, by=None)


def test_it_is_written_down_and_the_plan_follows(campaign: Campaign) -> None:
    moves = move(campaign, "ada", "bo", "chen", "dan")
    entry = AuditEntry.objects.get(action=service.MOVED)
    assert entry.detail["units"] == 10
    assert entry.detail["from"] == moves.giver
    net = moved_items(main_round(campaign))
    assert sum(net.values()) == 0
    assert net[place(campaign, "ada")] == -10
    assert all(line.as_planned for line in expert_lines(main_round(campaign)))


def test_it_refuses_closed_accounts_and_strangers(campaign: Campaign) -> None:
    deactivate(person("chen"), None)
    with pytest.raises(Refused, match="closed"):
        move(campaign, "ada", "chen")
    other = new_campaign(slug="other")
    stranger = add_member(other, make_user("eve"), Membership.Role.EXPERT)
    with pytest.raises(NotYours):
        planned_moves(campaign, giver=place(campaign, "ada"), takers=[stranger.pk])


def test_a_part_is_given_back_after_moves_as_before(campaign: Campaign) -> None:
    answer_everything(campaign, "1")
    row = Assignment.objects.filter(expert=person("ada")).select_related("part")[0]
    assert row.part is not None
    HandIn.objects.create(part=row.part, expert=person("ada"))
    give_back(campaign, index=row.part.index, member=place(campaign, "ada"), by=make_user("mei"))
    with pytest.raises(Refused, match="nothing to move"):
        move(campaign, "ada", "chen")


class TestLaterBatch:
    """Items that came later into units that are judged already."""

    @pytest.fixture
    def campaign(self, tmp_path: Path) -> Campaign:
        """Ada and Bo have judged six compounds each; a later system's are open, and a third of the old beside them."""
        made = new_campaign("compound", k=1)
        load_rows(made, compounds(12), tmp_path, system="base")
        assign_parts(made, experts=["ada", "bo"], design="single", seed=1)
        answer_everything(made, "1")
        self.later(made, tmp_path, "later", again=33)
        return made

    def later(self, campaign: Campaign, folder: Path, name: str, *, again: float) -> None:
        rows = [row | {"translation": f"{name} {place}"} for place, row in enumerate(compounds(12))]
        load_rows(campaign, rows, folder, system=name)
        assign_parts(campaign, experts=["ada", "bo"], design="single", seed=1, again=again)

    def waiting(self, name: str) -> tuple[int, int]:
        """Open items of the main round, and open repeats."""
        rows = Assignment.objects.filter(
            expert__username=name, withdrawn_at__isnull=True, answered_at__isnull=True
        )
        return rows.filter(round__kind="main").count(), rows.filter(round__kind="repeat").count()

    def test_it_moves_whole_to_somebody_who_was_not_given_it(self, campaign: Campaign) -> None:
        ada, repeats = self.waiting("ada")
        assert ada
        assert repeats
        bo, _repeats = self.waiting("bo")

        moves = move(campaign, "ada", "bo")

        assert sum(moves.loads.values()) == 120
        assert self.waiting("ada") == (0, 0)
        assert self.waiting("bo")[0] == ada + bo
        assert Assignment.objects.filter(expert=person("ada"), answered_at__isnull=False).count() == ada
        assert verify(campaign) == []

    def test_the_next_one_goes_to_who_took_it(self, campaign: Campaign, tmp_path: Path) -> None:
        move(campaign, "ada", "bo")
        self.later(campaign, tmp_path, "last", again=0)
        assert self.waiting("ada") == (0, 0)
        answer_open(campaign)
        assert verify(campaign) == []

    def test_of_two_batches_the_one_that_was_begun_stays(self, campaign: Campaign, tmp_path: Path) -> None:
        for screen in next_screens(campaign, expert_id=person("ada").pk, count=100):
            judge(person("ada"), screen)
        self.later(campaign, tmp_path, "last", again=0)
        (n_open, _repeats) = self.waiting("ada")

        moves = move(campaign, "ada", "bo", n=2)

        assert len(moves.moves) == 2
        assert self.waiting("ada") == (n_open - 10, 0)
        moved = Assignment.objects.filter(expert=person("ada"), withdrawn_at__isnull=False)
        assert all(row.item.translation.startswith("last") for row in moved.select_related("item"))
        assert verify(campaign) == []

    def test_repeats_stay_where_other_work_stays(self, campaign: Campaign) -> None:
        """A unit of the later batch is begun: its expert goes on with it, and with the repeats."""
        main = (
            screen
            for screen in next_screens(campaign, expert_id=person("ada").pk, count=100)
            if rows_on(screen, person("ada"))[0].round.kind == "main"
        )
        begun = rows_on(next(main), person("ada"))[0]
        Assignment.objects.filter(pk=begun.pk).update(
            revision=1, label="1", answered_at=begun.round.created_at
        )
        _open, repeats = self.waiting("ada")

        moves = move(campaign, "ada", "bo")

        assert moves.repeats == 0
        assert self.waiting("ada") == (4, repeats)


class TestDepartures(HypothesisCase):
    """Whoever leaves, after however many answers: exactly k, nothing answered moves, nothing else changes."""

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def test_every_item_keeps_its_k(self, data: st.DataObject) -> None:
        campaign = triple_campaign(Path(mkdtemp()), data.draw(st.integers(4, 16)))
        design = data.draw(st.sampled_from(["cyclic", "pairs"]))
        assign_parts(campaign, experts=FOUR, design=design, seed=data.draw(st.integers(0, 9)))
        for name in FOUR:
            for screen in next_screens(
                campaign, expert_id=person(name).pk, count=data.draw(st.integers(0, 5))
            ):
                judge(person(name), screen)
        answered = dict(Assignment.objects.filter(revision=1).values_list("pk", "expert"))
        leaver = data.draw(st.sampled_from(FOUR))
        try:
            move(campaign, leaver, *(name for name in FOUR if name != leaver))
        except Refused:
            return  # nothing was open
        assert verify(campaign) == []
        kept = Assignment.objects.filter(revision=1, withdrawn_at__isnull=True)
        assert dict(kept.values_list("pk", "expert")) == answered


@pytest.mark.django_db(transaction=True)
def test_of_two_managers_one_moves(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 20)
    assign_parts(campaign, experts=FOUR, design="cyclic", seed=1)
    asked: dict[str, Any] = {
        "giver": place(campaign, "ada"),
        "takers": [place(campaign, name) for name in FOUR[1:]],
    }
    shown = planned_moves(campaign, **asked)
    ended: list[str] = []

    def confirm() -> None:
        try:
            move_units(campaign, **asked, confirmed_hash=shown.hash, by=None)
            ended.append("moved")
        except Refused:
            ended.append("refused")
        finally:
            connection.close()

    managers = [threading.Thread(target=confirm) for _ in range(2)]
    for manager in managers:
        manager.start()
    for manager in managers:
        manager.join()
    assert sorted(ended) == ["moved", "refused"]
    assert verify(campaign) == []
