"""What comes again beside a later batch cannot be told from what is new: by its size, its part or its number."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from annotation.models import Assignment, Campaign, HandIn, User
from annotation.services.campaigns import main_round
from annotation.services.later import plan_later
from annotation.services.later_batches import later_draws
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens, recent_screens, screen_at
from annotation.services.seat import find_screens
from annotation.services.verify import verify
from tests.factories import make_side_by_side, rows_on
from tests.material import answer_everything, answer_open, compounds, load_rows, new_campaign, run, run_json

pytestmark = pytest.mark.django_db

Shape = tuple[int, ...]  # how many rows each context of a screen has, most first


def system(name: str, *, n: int, same: Sequence[int] = ()) -> list[dict[str, object]]:
    """A system's rows, each a text of its own; at these places what the first one said."""
    return [
        row | {"translation": f"{'first' if place in same else name} {place}"}
        for place, row in enumerate(compounds(n))
    ]


def judged(
    folder: Path, *systems: str, n: int = 24, side: bool = False, parts: int | None = None
) -> Campaign:
    campaign = new_campaign("compound", k=1)
    for name in systems:
        load_rows(campaign, system(name, n=n), folder, system=name)
    if side:
        make_side_by_side(campaign)
    assign_parts(campaign, experts=["ada"], design="single", parts=parts, seed=1)
    answer_everything(campaign, "1")
    return campaign


def shapes(campaign: Campaign) -> dict[str, Counter[Shape]]:
    """By kind of round, the sizes of the open screens as Ada gets them."""
    ada = User.objects.get(username="ada")
    found: dict[str, Counter[Shape]] = {"main": Counter(), "repeat": Counter()}
    for screen in next_screens(campaign, expert_id=ada.pk, count=200):
        rows = rows_on(screen, ada)
        contexts = Counter(row.item.context_id for row in rows)
        found[rows[0].round.kind][tuple(sorted(contexts.values(), reverse=True))] += 1
    return found


@pytest.mark.parametrize("side", [False, True])
class TestSize:
    def test_a_repeat_has_as_many_rows_as_new_screens(self, tmp_path: Path, side: bool) -> None:
        """Each new unit shares another number of texts with what was judged: new screens of one to five rows."""
        campaign = judged(tmp_path, "first", "second", "third", side=side)
        same = [place for place in range(120) if place % 5 < place // 5 % 5]
        load_rows(campaign, system("late", n=24, same=same), tmp_path, system="late")

        assign_parts(campaign, experts=["ada"], design="single", seed=1, again=80)

        found = shapes(campaign)
        assert sorted(found["main"]) == [(1,) * n for n in range(1, 6)]
        assert found["repeat"].total() > 15
        assert set(found["repeat"]) == set(found["main"])
        new, again = (sum(sum(shape) * n for shape, n in one.items()) / one.total() for one in found.values())
        assert again == pytest.approx(new, abs=1)
        answer_everything(campaign, "1")
        assert verify(campaign) == []

    def test_several_late_systems_stand_side_by_side_in_repeats_too(self, tmp_path: Path, side: bool) -> None:
        campaign = judged(tmp_path, "first", "second", "third", side=side)
        for name in ("late", "later"):
            load_rows(campaign, system(name, n=24, same=range(0, 120, 2)), tmp_path, system=name)

        assign_parts(campaign, experts=["ada"], design="single", seed=1, again=20)

        found = shapes(campaign)
        assert set(found["repeat"]) <= set(found["main"])
        assert all(shape[0] == (2 if side else 1) for shape in found["repeat"])

    def test_the_rows_are_drawn_by_the_seed(self, tmp_path: Path, side: bool) -> None:
        campaign = judged(tmp_path, "first", "second", side=side)
        load_rows(campaign, system("late", n=24, same=range(0, 120, 3)), tmp_path, system="late")
        round_ = main_round(campaign)

        one, same, other = (plan_later(round_, again=100, seed=seed) for seed in (3, 3, 4))

        rows = [
            {screen.key: screen.assignments for screen, _at in plan.shares[0].among.repeats}
            for plan in (one, same, other)
        ]
        assert rows[0] == rows[1] != rows[2]
        assert one.hash == same.hash != other.hash
        assert one.n_items_again == sum(map(len, rows[0].values()))
        assign_parts(campaign, experts=["ada"], design="single", seed=3, again=100)
        (draw,) = later_draws(campaign)
        assert draw.assignments.count() == one.n_items_again
        originals = {item for pks in rows[0].values() for item in items_of(pks)}
        assert set(draw.assignments.values_list("item", flat=True)) == originals


def items_of(rows: Sequence[int]) -> list[int]:
    return list(Assignment.objects.filter(pk__in=rows).values_list("item", flat=True))


def test_a_repeat_stands_in_the_part_of_its_unit(tmp_path: Path) -> None:
    campaign = judged(tmp_path, "first", parts=4)
    load_rows(campaign, system("late", n=24), tmp_path, system="late")

    assign_parts(campaign, experts=["ada"], design="single", seed=1, again=50)

    part_of = dict(main_round(campaign).assignments.values_list("unit", "part"))
    (draw,) = later_draws(campaign)
    again = set(draw.assignments.values_list("unit", "part"))
    assert len({part for _unit, part in again}) > 1
    assert {(unit, part_of[unit]) for unit, _part in again} == again


class TestHiding:
    """While a later batch is judged, nothing that can be looked up tells what is new in it from what comes again."""

    def test_all_that_was_judged_before_of_its_units_is_out_of_sight(self, tmp_path: Path) -> None:
        campaign = judged(tmp_path, "first")
        others = [place for place in range(120) if place >= 50]
        load_rows(campaign, system("late", n=24, same=others), tmp_path, system="late")
        assign_parts(campaign, experts=["ada"], design="single", seed=1, again=20)
        ada = User.objects.get(username="ada")
        rows = Assignment.objects.filter(expert=ada)
        before = list(rows.filter(answered_at__isnull=False))
        coming = set(rows.filter(answered_at=None).values_list("unit", flat=True))
        assert len(coming) > len(set(rows.filter(answered_at=None, round__kind="main").values_list("unit")))

        def seen() -> set[int]:
            found = recent_screens(campaign, expert_id=ada.pk, count=200)
            by_address = {
                row.unit_id
                for row in before
                if screen_at(campaign, expert_id=ada.pk, position=row.position) is not None
            }
            listed = {row.unit_id for screen in found for row in rows_on(screen, ada) if row in before}
            assert listed == by_address
            return listed

        everything = {row.unit_id for row in before}
        assert seen() == everything - coming
        batch = next_screens(campaign, expert_id=ada.pk, count=200)
        for screen in batch:
            found = find_screens(campaign, expert_id=ada.pk, text=screen["compound"]).screens
            assert screen["compound"] not in {one["compound"] for one in found}
        answer_open(campaign)
        assert seen() == everything - coming
        looked_back = recent_screens(campaign, expert_id=ada.pk, count=200)
        assert len(looked_back) == len(everything - coming) + len(batch)  # what is new can be looked at
        HandIn.objects.create(part=campaign.rounds.get(kind="main").parts.get(), expert=ada)
        assert seen() == everything

    def test_without_repeats_nothing_is_hidden(self, tmp_path: Path) -> None:
        campaign = judged(tmp_path, "first", n=6)
        load_rows(campaign, system("late", n=6), tmp_path, system="late")
        assign_parts(campaign, experts=["ada"], design="single", seed=1, again=0)
        ada = User.objects.get(username="ada")
        assert len(recent_screens(campaign, expert_id=ada.pk, count=200)) == 6


class TestShare:
    def test_what_could_not_be_drawn_is_said(self, tmp_path: Path) -> None:
        """Of the three screens of each unit one may come again."""
        campaign = judged(tmp_path, "first", "second", "third", n=10)
        load_rows(campaign, system("late", n=10), tmp_path, system="late")

        shown = run_json("assign_parts", campaign.slug, "--experts", "ada", "--again", "50", "--preview")
        said = run("assign_parts", campaign.slug, "--experts", "ada", "--again", "50", "--preview").out

        assert (shown["later"]["n_asked"], shown["later"]["n_again"]) == (15, 10)
        assert "unmarked: 10 screens of 30 with 50 items; asked for: 50 % (" in said
        assert "These are fewer than the 15 screens of the share: a unit comes again once only" in said
        said = run("assign_parts", campaign.slug, "--experts", "ada", "--again", "10", "--preview").out
        assert "These are fewer" not in said
