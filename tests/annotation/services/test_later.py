"""A system that came later: only what is new is judged, by the same experts, and a blind share of the old beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import (
    Annotation,
    Assignment,
    AuditEntry,
    Campaign,
    Item,
    Membership,
    Output,
    Round,
    Thread,
    User,
)
from annotation.services import later, layout, mixed_repeats
from annotation.services.campaigns import main_round
from annotation.services.errors import Refused
from annotation.services.instances import instance_counts, saving
from annotation.services.late_items import late_items
from annotation.services.later import plan_later
from annotation.services.later_batches import judged_later, later_draws
from annotation.services.parts import assign_parts, confirmation, plan_parts
from annotation.services.repeat_draws import take_out
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from tests.factories import rows_on
from tests.material import answer_everything, compounds, load_rows, new_campaign, run, run_json, write_csv

pytestmark = pytest.mark.django_db

N = 20  # compounds


def outputs(*, changed: Sequence[int] = (), to: str = "") -> list[dict[str, object]]:
    """A run's rows; those at these places say something else."""
    rows = compounds(N)
    for place in changed:
        rows[place]["translation"] = f"{to}{place}"
    return rows


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Two runs of twenty compounds that differ in ten outputs, judged by Ada and Lin, two for each item."""
    made = new_campaign("compound", k=2)
    load_rows(made, outputs(), tmp_path, system="base", run="1")
    load_rows(made, outputs(changed=range(0, 50, 5), to="别的"), tmp_path, system="base", run="2")
    assign_parts(made, experts=["ada", "lin", "bo"], design="cyclic", seed=1)
    answer_everything(made, "1")
    return made


def seventh(campaign: Campaign, folder: Path) -> None:
    """A system of which twelve outputs are new, and three those of the second run."""
    rows = outputs(changed=range(3, 99, 8), to="新的")
    for place in (0, 5, 10):
        rows[place]["translation"] = f"别的{place}"
    load_rows(campaign, rows, folder, system="later")


def given(**found: object) -> set[tuple[int, int, int]]:
    """Item, slot and expert of what is given out."""
    return set(Assignment.objects.filter(**found).values_list("item", "slot", "expert"))


class TestOnlyWhatIsNew:
    def test_it_goes_to_who_judged_the_compound_in_the_same_slots(
        self, campaign: Campaign, tmp_path: Path
    ) -> None:
        before = given()
        seventh(campaign, tmp_path)

        run_json("assign_parts", campaign.slug, "--experts", "ada,lin,bo", "--again", "0")

        new = given() - before
        assert len(new) == 12 * 2
        assert not Round.objects.filter(kind="repeat").exists()
        for item, slot, expert in new:
            unit = Item.objects.get(pk=item).unit_id
            old = {(s, e) for i, s, e in before if Item.objects.get(pk=i).unit_id == unit}
            assert (slot, expert) in old
        assert not late_items(main_round(campaign)).exists()

    def test_a_share_of_the_old_comes_again_unmarked(self, campaign: Campaign, tmp_path: Path) -> None:
        before = given()
        seventh(campaign, tmp_path)

        document = run_json("assign_parts", campaign.slug, "--experts", "ada,lin,bo", "--again", "20")

        (draw,) = later_draws(campaign)
        again = given(round=draw)
        assert again <= before  # the same item, slot and expert
        assert len(again) == document["later"]["n_items_again"] > 0
        assert document["later"]["n_items"] == document["late_items"] == 12
        screens = Assignment.objects.filter(round=main_round(campaign), answered_at__isnull=False)
        n_screens = len(set(screens.values_list("expert", "position")))
        assert document["later"]["n_again"] == pytest.approx(
            0.2 * n_screens, abs=1.5
        )  # of each expert's, rounded
        ada = User.objects.get(username="ada")
        shown = next_screens(campaign, expert_id=ada.pk, count=100)
        kinds = [{row.round.kind for row in rows_on(screen, ada)} for screen in shown]
        assert {"repeat"} in kinds
        assert all(len(kind) == 1 for kind in kinds)
        assert {"main"} in kinds[:-1]
        keys = [set(screen) for screen in shown]
        assert all(one == keys[0] for one in keys)  # nothing tells them apart
        answer_everything(campaign, "1")
        assert verify(campaign) == []

    def test_it_is_the_same_by_the_same_seed(self, campaign: Campaign, tmp_path: Path) -> None:
        seventh(campaign, tmp_path)
        round_ = main_round(campaign)

        one, same, other = (plan_later(round_, again=20, seed=seed) for seed in (3, 3, 4))

        assert one.hash == same.hash
        assert one.as_json() == same.as_json()
        assert other.hash != one.hash
        assert plan_later(round_, again=10, seed=3).hash != one.hash

    def test_a_plan_stores_nothing_and_is_what_is_stored(self, campaign: Campaign, tmp_path: Path) -> None:
        seventh(campaign, tmp_path)
        before = given()
        shown = run_json("assign_parts", campaign.slug, "--experts", "ada,lin,bo", "--preview")
        assert given() == before

        done = run_json("assign_parts", campaign.slug, "--experts", "ada,lin,bo")

        assert shown["later"] == done["later"]
        assert len(given(answered_at=None)) == 2 * 12 + done["later"]["n_items_again"]
        entry = AuditEntry.objects.get(action="late items given out")
        assert (entry.detail["items"], entry.detail["hash"]) == (12, shown["later"]["hash"])

    def test_what_changed_since_is_not_given_out(self, campaign: Campaign, tmp_path: Path) -> None:
        seventh(campaign, tmp_path)
        asked: Any = {"experts": ["ada", "lin", "bo"], "design": "cyclic", "seed": 1}
        seen = confirmation(plan_parts(campaign, **asked), plan_later(main_round(campaign), seed=1))
        load_rows(campaign, outputs(changed=[7], to="再一个"), tmp_path, system="last")

        with pytest.raises(Refused, match="changed since this plan was shown"):
            assign_parts(campaign, **asked, confirmed_hash=seen)
        assert late_items(main_round(campaign)).count() == 13

        now = confirmation(plan_parts(campaign, **asked), plan_later(main_round(campaign), seed=1))
        assign_parts(campaign, **asked, confirmed_hash=now)
        assert not late_items(main_round(campaign)).exists()

    @pytest.mark.parametrize("again", [-1, 101])
    def test_a_share_is_one(self, campaign: Campaign, again: float) -> None:
        with pytest.raises(Refused, match="between 0 and 100"):
            plan_later(main_round(campaign), again=again, seed=1)
        ran = run("assign_parts", campaign.slug, "--experts", "ada,lin", "--again", again, "--preview")
        assert (ran.code, "See --again." in ran.err) == (1, True)

    def test_nothing_comes_again_where_nothing_was_judged(self, tmp_path: Path) -> None:
        campaign = new_campaign("compound", k=1)
        load_rows(campaign, outputs(), tmp_path, system="base")
        assign_parts(campaign, experts=["ada"], design="single", seed=1)
        seventh(campaign, tmp_path)

        planned = plan_later(main_round(campaign), seed=1)

        assert (planned.n_items, planned.n_again) == (15, 0)
        assign_parts(campaign, experts=["ada"], design="single", seed=1)
        assert not later_draws(campaign).exists()
        assert verify(campaign) == []

    def test_who_has_left_gets_nothing_again(self, campaign: Campaign, tmp_path: Path) -> None:
        Membership.objects.filter(user__username="ada").delete()
        seventh(campaign, tmp_path)

        planned = plan_later(main_round(campaign), again=50, seed=1)

        assert {share.expert.username for share in planned.shares if share.n_again} == {"lin", "bo"}

    def test_what_was_talked_about_does_not_come_again(self, campaign: Campaign, tmp_path: Path) -> None:
        seventh(campaign, tmp_path)
        (first, *_others) = plan_later(main_round(campaign), again=50, seed=1).shares
        drawn = {screen.unit for screen, _before in first.among.repeats}
        for unit in drawn:
            Thread.objects.create(item=campaign.items.filter(unit=unit).order_by("pk")[0])

        now = plan_later(main_round(campaign), again=50, seed=1)

        assert drawn
        assert not drawn & {screen.unit for share in now.shares for screen, _before in share.among.repeats}

    def test_what_came_again_does_not_come_a_third_time(self, campaign: Campaign, tmp_path: Path) -> None:
        seventh(campaign, tmp_path)
        assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, again=40)
        answer_everything(campaign, "1")
        load_rows(campaign, outputs(changed=range(1, 99, 7), to="又一个"), tmp_path, system="last")

        assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, again=40)

        first, second = later_draws(campaign).order_by("number")
        assert not {(i, e) for i, _s, e in given(round=first)} & {(i, e) for i, _s, e in given(round=second)}
        assert set(judged_later(campaign).values()) == {1, 2}

    def test_it_can_be_taken_out_like_other_repeats(self, campaign: Campaign, tmp_path: Path) -> None:
        seventh(campaign, tmp_path)
        assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, again=20)
        (draw,) = later_draws(campaign)

        assert take_out(campaign, draw.number, by=None) == sum(draw.settings["drawn"].values())
        assert not given(answered_at=None, withdrawn_at=None, round=draw)

    def test_a_repeat_comes_as_late_as_there_is_room_for(
        self, campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mixed_repeats, "DISTANCE", 4)
        seventh(campaign, tmp_path)
        assert plan_later(main_round(campaign), again=10, seed=1).distance == 4
        monkeypatch.setattr(mixed_repeats, "DISTANCE", 4000)
        assert plan_later(main_round(campaign), again=10, seed=1).distance < 40

    def test_the_queries_are_as_many_whatever_there_is(self, campaign: Campaign, tmp_path: Path) -> None:
        seventh(campaign, tmp_path)
        with CaptureQueriesContext(connection) as few:
            plan_later(main_round(campaign), seed=1)
        load_rows(campaign, outputs(changed=range(100), to="都不同"), tmp_path, system="more")
        with CaptureQueriesContext(connection) as many:
            plan_later(main_round(campaign), seed=1)
        assert len(few) == len(many)


class TestManyScreens:
    def test_a_part_without_room_gives_way(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every screen keeps a place of its own in the queue, though open parts come behind."""
        monkeypatch.setattr(layout, "POSTPONED", 5)
        monkeypatch.setattr(later, "POSTPONED", 5)
        campaign = new_campaign("compound", k=1)
        load_rows(campaign, outputs(), tmp_path, system="base")
        assign_parts(campaign, experts=["ada"], design="single", seed=1, parts=3)
        load_rows(campaign, outputs(changed=range(100), to="都不同"), tmp_path, system="more")
        assign_parts(campaign, experts=["ada"], design="single", seed=1)
        assert verify(campaign) == []
        ada = User.objects.get(username="ada")
        assert len(next_screens(campaign, expert_id=ada.pk, count=100)) == 2 * N


class TestCounts:
    def test_both_counts_by_run_and_system(self, campaign: Campaign, tmp_path: Path) -> None:
        seventh(campaign, tmp_path)
        found = instance_counts(campaign)

        assert (found.instances, found.items, found.per_run) == (300, 122, 100)
        assert [(one.system, one.run, one.instances, one.items) for one in found.lines] == [
            ("base", "1", 100, 100), ("base", "2", 100, 100), ("base", None, 200, 110), ("later", "", 100, 100),
        ]  # fmt: skip
        assert found.saved == 2 * (300 - 122)

    def test_the_import_says_what_it_brings(self, campaign: Campaign, tmp_path: Path) -> None:
        rows = outputs(changed=range(3, 99, 8), to="新的")
        looked = load_rows(campaign, rows, tmp_path, system="later", dry_run=True)
        stored = load_rows(campaign, rows, tmp_path, system="later")

        assert looked.outputs == stored.outputs
        assert looked.outputs == {
            "instances": 300, "items": 122, "new_instances": 100, "new_items": 12,
            "by_run": [{"system": "later", "run": "", "instances": 100, "new_items": 12}],
        }  # fmt: skip
        assert stored.items == 12
        again = load_rows(campaign, rows, tmp_path, system="later", dry_run=True)
        assert again.outputs is not None
        assert (again.outputs["new_instances"], again.outputs["items"]) == (0, 122)

    def test_the_command_says_it_in_words(self, campaign: Campaign, tmp_path: Path) -> None:
        path = write_csv(tmp_path / "later.csv", outputs(changed=range(3, 99, 8), to="新的"))
        ran = run("import_items", campaign.slug, path, "--system", "later", "--dry-run")
        assert "later: 100 outputs, 12 new items. With them: 300 instances, 122 distinct items." in ran.out

    def test_a_pace_that_was_not_measured_is_said_to_be_assumed(self, campaign: Campaign) -> None:
        said = run("assign_parts", campaign.slug, "--experts", "ada,lin,bo", "--preview").out
        assert (
            "2 runs × 100 = 200 instances, 110 distinct: saves 180 judgements, 0.5 hours at 10.0 seconds a "
            "judgement (assumed: too few were timed here)." in said
        )

    def test_the_measured_pace_is_used(self, campaign: Campaign) -> None:
        Annotation.objects.filter(assignment__round__campaign=campaign).update(seconds=20.0)  # a screen each
        found = saving(campaign)
        n_answers = Annotation.objects.count()
        n_screens = Annotation.objects.values("client_key").distinct().count()
        assert found.pace.timed == n_answers
        assert found.pace.seconds == pytest.approx(20 * n_screens / n_answers)
        assert found.hours == pytest.approx(180 * found.pace.seconds / 3600)

    def test_triples_have_no_outputs(self) -> None:
        found = instance_counts(new_campaign("triple"))
        assert (found.instances, found.items, found.lines) == (0, 0, ())


class TestACorrectedOutput:
    def corrected(self, campaign: Campaign, folder: Path, place: int, run: str) -> set[int]:
        """Correct one output of a run; the items that wait to be judged then."""
        changed = range(0, 50, 5) if run == "2" else ()
        rows = outputs(changed=changed, to="别的")
        rows[place]["translation"] = "改过了"
        load_rows(campaign, [rows[place]], folder, system="base", run=run, on_conflict="replace")
        run_json("assign_parts", campaign.slug, "--experts", "ada,lin,bo", "--again", "0")
        return set(
            Assignment.objects.filter(answered_at=None, withdrawn_at=None).values_list("item", flat=True)
        )

    def test_its_own_item_is_judged_again_and_no_other(self, campaign: Campaign, tmp_path: Path) -> None:
        old = Output.objects.get(run="2", context__key="c1-1").item
        answered = set(given(answered_at__isnull=False)) - set(given(item=old))

        waiting = self.corrected(campaign, tmp_path, 0, "2")

        new = Output.objects.get(run="2", context__key="c1-1").item
        assert waiting == {new.pk} != {old.pk}
        assert given(answered_at__isnull=False, withdrawn_at=None) == answered
        assert {(s, e) for _i, s, e in given(item=new)} == {(s, e) for _i, s, e in given(item=old)}
        assert judged_later(campaign) == {}  # a correction makes no batch
        assert verify(campaign) == []

    def test_others_that_said_the_same_keep_their_answers(self, campaign: Campaign, tmp_path: Path) -> None:
        shared = Output.objects.get(run="1", context__key="c1-2").item
        assert Output.objects.filter(item=shared).count() == 2
        answered = given(answered_at__isnull=False, withdrawn_at=None)

        waiting = self.corrected(campaign, tmp_path, 1, "2")

        assert waiting == {Output.objects.get(run="2", context__key="c1-2").item_id}
        assert Output.objects.get(run="1", context__key="c1-2").item == shared
        assert given(answered_at__isnull=False, withdrawn_at=None) == answered


def test_loads_are_told_by_expert(campaign: Campaign, tmp_path: Path) -> None:
    seventh(campaign, tmp_path)
    document = run_json("assign_parts", campaign.slug, "--experts", "ada,lin,bo", "--preview")
    shares: Mapping[str, Mapping[str, int]] = document["later"]["shares"]
    assert sum(share["n_items"] for share in shares.values()) == 24
    assert set(shares) <= {"ada", "lin", "bo"}
