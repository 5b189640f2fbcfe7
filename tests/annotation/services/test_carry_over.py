"""Verdicts that are carried over: what is not judged has the label that judging would have given."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    CarryOver,
    FinalLabel,
    Gold,
    Item,
    Job,
    User,
)
from annotation.services.batches import close_batch
from annotation.services.campaigns import main_round
from annotation.services.carried import carried_items, standing
from annotation.services.carry_over import CarryWish, end_carry_over
from annotation.services.errors import Refused
from annotation.services.exports import names_of, table
from annotation.services.fix_text import fix_text
from annotation.services.import_compare import text_digest
from annotation.services.items import Wanted, item_page, restore, withdraw
from annotation.services.labels import StaleWatch, finalize, passed_over, stale_labels, stale_of
from annotation.services.late_items import late_items
from annotation.services.later import plan_later
from annotation.services.overview import overview
from annotation.services.parts import assign_parts, confirmation, plan_carrying, plan_parts, unassigned_units
from annotation.services.precedents import settled
from annotation.services.screens import next_screens, recent_screens, screen_at
from annotation.services.verify import verify
from tests.carrying import CONTEXTS, N, give_out, lexicon_at, rows, says, truth, two_systems, wish
from tests.factories import answer, make_side_by_side, make_user, seat_number
from tests.material import (
    answer_everything,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
    save,
    sheet,
    triple_campaign,
)

pytestmark = pytest.mark.django_db

ABLE = N * CONTEXTS - sum(1 for place in range(1, N * CONTEXTS + 1) if place % 5 == 0 and place % 7)
ALL = 2 * N * CONTEXTS


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Two systems given out at once, a tenth of what could be carried over judged anyway; judged and finalised."""
    made = two_systems(tmp_path)
    give_out(made, carry_over=wish())
    answer_everything(made, says)
    finalize(made)
    return made


def label_of(item: Item) -> FinalLabel:
    return FinalLabel.objects.get(item=item)


def a_carried(label: str = "1") -> CarryOver:
    """The first verdict that stands carried and says this."""
    return (
        standing()
        .filter(item__final_label__label=label)
        .select_related("item", "source")
        .earliest("item__position")
    )


class TestGivingOut:
    def test_it_is_off_by_default(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        give_out(made)

        assert not CarryOver.objects.exists()
        assert Assignment.objects.count() == ALL

    def test_what_renders_the_compound_alike_gets_no_experts(self, campaign: Campaign) -> None:
        checked = round(ABLE * 0.1)
        assert Counter(CarryOver.objects.values_list("checked", flat=True)) == {
            False: ABLE - checked,
            True: checked,
        }
        assert Assignment.objects.count() == ALL - (ABLE - checked)
        assert not Assignment.objects.filter(item__in=carried_items()).exists()
        assert verify(campaign) == []
        for row in CarryOver.objects.select_related("item", "source"):
            assert row.item.context_id == row.source.context_id
            assert row.stretch in row.item.translation
            assert row.stretch in row.source.translation
        entry = AuditEntry.objects.get(action="verdicts carried over")
        assert (entry.detail["items"], entry.detail["judged_anyway"]) == (ABLE - checked, checked)

    def test_exactly_k_judge_what_is_judged(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path, k=2)
        give_out(made, carry_over=wish(20))

        judged = Counter(Assignment.objects.values_list("item", flat=True))
        assert set(judged.values()) == {2}
        assert len(judged) + standing().count() == ALL
        assert verify(made) == []
        seen = overview(made)
        assert (seen.not_exactly_k, seen.items.unassigned) == (0, 0)

    def test_a_later_system_takes_the_verdicts_on_the_one_before(self, tmp_path: Path) -> None:
        made = new_campaign("compound", k=2)
        load_rows(made, rows(rest="挥手。", wrong=7), tmp_path, system="base")
        give_out(made)
        answer_everything(made, says)
        load_rows(made, rows(rest="招了招手！", wrong=7, otherwise=5), tmp_path, system="later")
        before = set(Assignment.objects.values_list("pk", flat=True))

        give_out(made, carry_over=wish())

        checked = round(ABLE * 0.1)
        new = Assignment.objects.exclude(pk__in=before).exclude(round__kind="repeat")
        assert new.count() == 2 * (N * CONTEXTS - (ABLE - checked))
        assert not late_items(main_round(made)).exists()
        answer_everything(made, says)
        finalize(made)
        assert verify(made) == []
        assert {label.label == truth(label.item) for label in FinalLabel.objects.select_related("item")} == {
            True
        }

    def test_what_lacks_judges_beside_judgements_from_elsewhere_takes_them_too(self, tmp_path: Path) -> None:
        made = new_campaign("compound", k=1)
        load_rows(made, rows(rest="挥手。", wrong=7), tmp_path, system="base")
        judged = [
            {"item_id": item.key, "annotator": "lin", "label": truth(item)} for item in made.items.all()
        ]
        judge_rows(made, judged)
        load_rows(made, rows(rest="招了招手！", wrong=7, otherwise=5), tmp_path, system="later")

        give_out(made, carry_over=wish())

        assert standing().count() == ABLE - round(ABLE * 0.1)
        assert verify(made) == []
        give_out(made)  # nothing is left
        assert Assignment.objects.count() == ALL - standing().count()

    def test_of_a_sample_only_its_units_are_looked_at(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)

        give_out(made, carry_over=wish(), sample=4)

        units = set(CarryOver.objects.values_list("item__unit", flat=True))
        assert 0 < len(units) <= 4
        assert units <= set(Assignment.objects.values_list("unit", flat=True))
        give_out(made, carry_over=wish())
        assert not unassigned_units(main_round(made))
        assert verify(made) == []

    def test_the_plan_is_what_is_stored(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        planned = plan_carrying(made, wish(25), seed=3)

        give_out(made, carry_over=wish(25))

        stored = set(CarryOver.objects.values_list("item", "source", "stretch", "checked", "rule"))
        assert stored == {
            (pair.item, pair.source, pair.stretch, pair.checked, planned.rule) for pair in planned.pairs
        }
        assert len(planned.checked) == round(ABLE * 0.25)
        assert (planned.looked_at, planned.found, planned.saved) == (ALL, ALL, len(planned.carried))

    def test_what_changed_since_the_plan_was_shown_is_not_stored(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        asked: dict[str, Any] = {"experts": ["ada"], "design": "single", "seed": 3}
        carry = plan_carrying(made, wish(), seed=3)
        seen = confirmation(
            plan_parts(made, **asked, carry=carry), plan_later(main_round(made), seed=3, carry=carry), carry
        )

        for other in (wish(20), CarryWish(forms={**wish().forms, "dog": ["犬"]}), None):
            with pytest.raises(Refused, match="changed since this plan was shown"):
                assign_parts(made, **asked, carry_over=other, confirmed_hash=seen)
        assert not Assignment.objects.exists()
        assign_parts(made, **asked, carry_over=wish(), confirmed_hash=seen)
        assert CarryOver.objects.count() == ABLE

    def test_an_item_whose_label_is_known_is_judged(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        able = [pair.item for pair in plan_carrying(made, wish(), seed=3).pairs]
        Gold.objects.create(item_id=able[0], label="1")

        assert able[0] not in {pair.item for pair in plan_carrying(made, wish(), seed=3).pairs}

    @pytest.mark.parametrize("percent", [0, -1, 101, float("nan")])
    def test_something_is_judged_anyway(self, tmp_path: Path, percent: float) -> None:
        with pytest.raises(Refused, match="judged anyway"):
            plan_carrying(two_systems(tmp_path), wish(percent), seed=3)

    def test_triples_have_no_such_thing(self, tmp_path: Path) -> None:
        with pytest.raises(Refused, match="Only verdicts on compounds"):
            plan_carrying(triple_campaign(tmp_path, 3), wish(), seed=3)

    def test_planning_costs_as_many_queries_however_much_there_is(self, tmp_path: Path) -> None:
        small = new_campaign("compound", slug="small", k=1)
        for rest, name in (("挥手。", "base"), ("招手！", "later")):
            load_rows(small, rows(rest=rest)[:10], tmp_path, system=name)
        costs = []
        for made in (small, two_systems(tmp_path)):
            with CaptureQueriesContext(connection) as queries:
                plan_carrying(made, wish(), seed=3)
            costs.append(len(queries))
        assert costs[0] == costs[1] <= 6


class TestLabels:
    def test_they_are_those_that_judging_would_have_given(self, campaign: Campaign, tmp_path: Path) -> None:
        beside = two_systems(tmp_path, slug="beside")
        give_out(beside)
        answer_everything(beside, says)
        finalize(beside)

        def labels(made: Campaign) -> dict[tuple[str, str], str]:
            found = FinalLabel.objects.filter(item__campaign=made)
            return {
                (key, text): label
                for key, text, label in found.values_list("item__context__key", "item__translation", "label")
            }

        assert labels(campaign) == labels(beside)
        assert Counter(labels(campaign).values())["0"] == 16
        assert (
            FinalLabel.objects.filter(item__campaign=campaign, rule="carried").count() == standing().count()
        )

    def test_a_carried_label_names_its_source_and_what_that_one_is(self, campaign: Campaign) -> None:
        for label in ("1", "0"):
            row = a_carried(label)
            found = label_of(row.item)
            assert (found.rule, found.rule_version, found.label, found.reason) == ("carried", "1", label, "")
            assert found.inputs == [str(row.source_id), label, None]

    @pytest.mark.parametrize("cause", ["", "other"])
    def test_without_a_label_of_the_source_there_is_none(self, tmp_path: Path, cause: str) -> None:
        made = two_systems(tmp_path)
        give_out(made, carry_over=wish())
        if cause:
            answer_everything(made, "", cause=cause)
        finalize(made)

        found = FinalLabel.objects.filter(rule="carried")
        assert found.count() == standing().count()
        assert set(found.values_list("label", "reason")) == {("", "cannot_judge" if cause else "incomplete")}
        assert verify(made) == []
        assert stale_labels(made) == 0
        (line,) = overview(made).labels.reasons
        assert line[1:] == (made.items.count(), standing().count())

    def test_it_may_run_twice(self, campaign: Campaign) -> None:
        version = campaign.label_version
        assert finalize(campaign).changed == 0
        campaign.refresh_from_db()
        assert campaign.label_version == version

    def test_they_go_stale_with_their_source(self, campaign: Campaign) -> None:
        row = a_carried()
        assert stale_labels(campaign) == 0
        (source,) = Assignment.objects.filter(item=row.source, round__kind="main")
        watch = StaleWatch()
        watch.look()

        answer_again(source, "0")

        takers = standing().filter(source=row.source).values_list("item", flat=True)
        assert set(stale_of(campaign).values_list("item", flat=True)) == {row.source_id, *takers}
        (line,) = item_page(campaign, Wanted(first=row.item.position, last=row.item.position)).lines
        assert (line.stale, line.carried_from) == (True, row.source.position)
        watch.look()
        assert Job.objects.filter(kind="finalize").count() == 1
        assert verify(campaign) == []
        finalize(campaign)
        assert stale_labels(campaign) == 0
        assert label_of(row.item).label == "0"
        assert verify(campaign) == []

    def test_they_wait_while_their_source_waits(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path, k=2)
        give_out(made, carry_over=wish())
        finalize(made)
        row = standing().select_related("item", "source").earliest("pk")
        answer_again(Assignment.objects.filter(item=row.source).earliest("slot"), "1")

        # That there is no label stays true of both.
        assert stale_labels(made) == 0

    def test_what_was_labelled_before_it_was_carried_is_stale(self, tmp_path: Path) -> None:
        made = new_campaign("compound", k=1)
        load_rows(made, rows(rest="挥手。"), tmp_path, system="base")
        give_out(made)
        answer_everything(made, says)
        load_rows(made, rows(rest="招手！"), tmp_path, system="later")
        finalize(made)
        give_out(made, carry_over=wish())

        assert set(stale_of(made).values_list("item", flat=True)) == set(carried_items())
        labels = overview(made).labels
        assert labels.to_carry == labels.stale == standing().count()
        assert (labels.older, labels.outdated) == (0, 0)
        finalize(made)
        assert stale_labels(made) == 0

    def test_what_is_carried_since_the_last_run_was_passed_over(self, tmp_path: Path) -> None:
        made = new_campaign("compound", k=1)
        load_rows(made, rows(rest="挥手。"), tmp_path, system="base")
        give_out(made)
        answer_everything(made, says)
        finalize(made)
        assert passed_over(made) == 0
        load_rows(made, rows(rest="招手！"), tmp_path, system="later")
        give_out(made, carry_over=wish())

        assert passed_over(made) == standing().count() > 0
        finalize(made)
        assert passed_over(made) == 0

    def test_exports_say_so_and_list_only_what_was_judged(self, campaign: Campaign) -> None:
        names = names_of(campaign, real=False)
        found = [row["rule"] for row in table(campaign, "labels", names=names).rows()]
        assert Counter(found) == {"majority": ALL - standing().count(), "carried": standing().count()}
        judged = [row["position"] for row in table(campaign, "annotations", names=names).rows()]
        assert len(judged) == len(set(judged)) == ALL - standing().count()

    def test_no_precedent_names_what_nobody_judged(self, campaign: Campaign) -> None:
        for design in main_round(campaign).designs.all():
            close_batch(campaign, design.pk, by=None)
        found = set(settled(Item.objects.filter(campaign=campaign)).values_list("pk", flat=True))
        assert found == set(campaign.items.values_list("pk", flat=True)) - set(carried_items())


def answer_again(row: Assignment, label: str) -> None:
    save(sheet([row], label), row.expert_id)


class TestWhatEndsIt:
    def test_a_manager_ends_it_and_these_items_are_given_out(self, campaign: Campaign) -> None:
        carried = set(carried_items())

        assert end_carry_over(campaign, by=None) == len(carried)

        assert set(late_items(main_round(campaign)).values_list("pk", flat=True)) == carried
        assert CarryOver.objects.filter(checked=False).count() == 0
        assert CarryOver.objects.filter(checked=True).count() == round(ABLE * 0.1)
        assert AuditEntry.objects.get(action="carry-over ended").detail == {"items": len(carried)}
        assert set(stale_of(campaign).values_list("item", flat=True)) == carried
        assert {one.rule for one in verify(campaign)} == {"exactly k experts per item"}
        finalize(campaign)
        assert FinalLabel.objects.filter(rule="carried").count() == 0
        give_out(campaign)
        answer_everything(campaign, says)
        finalize(campaign)
        assert verify(campaign) == []
        assert end_carry_over(campaign, by=None) == 0
        assert AuditEntry.objects.filter(action="carry-over ended").count() == 1

    def test_not_in_a_closed_campaign(self, campaign: Campaign) -> None:
        Campaign.objects.filter(pk=campaign.pk).update(closed_at=timezone.now())
        with pytest.raises(Refused):
            end_carry_over(campaign, by=None)
        assert standing().exists()

    def test_a_source_that_is_withdrawn_gives_no_verdict(self, campaign: Campaign) -> None:
        mei, row = make_user("mei"), a_carried()

        withdraw(campaign, row.source_id, reason="broken", by=mei)

        assert list(late_items(main_round(campaign))) == [row.item]
        assert list(stale_of(campaign).values_list("item", flat=True)) == [row.item_id]
        finalize(campaign)
        assert (label_of(row.item).rule, label_of(row.item).reason) == ("majority", "incomplete")
        restore(campaign, row.source_id, by=mei)
        finalize(campaign)
        assert label_of(row.item).rule == "carried"
        assert verify(campaign) == []

    def test_what_was_given_out_meanwhile_is_judged_for_good(self, campaign: Campaign) -> None:
        mei, row = make_user("mei"), a_carried()
        withdraw(campaign, row.source_id, reason="broken", by=mei)
        give_out(campaign)
        restore(campaign, row.source_id, by=mei)

        assert not standing().filter(item=row.item).exists()
        answer_everything_open(campaign)
        finalize(campaign)
        assert label_of(row.item).rule == "majority"
        assert verify(campaign) == []

    def test_a_corrected_source_gives_no_verdict(self, campaign: Campaign) -> None:
        mei, row = make_user("mei"), a_carried()

        fix_text(campaign, row.source_id, texts={"translation": "又是别的。"}, by=mei)

        assert list(late_items(main_round(campaign))) == [row.item]
        give_out(campaign, carry_over=wish())
        answer_everything_open(campaign)
        finalize(campaign)
        assert verify(campaign) == []

    def test_a_label_that_is_carried_from_another_by_now_is_stale(self, tmp_path: Path) -> None:
        made, mei = new_campaign("compound", k=1), make_user("mei")
        for name, rest in (("one", "挥手。"), ("two", "招手！"), ("three", "招了招手！")):
            load_rows(made, rows(rest=rest), tmp_path, system=name)
        give_out(made, carry_over=wish(50))
        answer_everything(made, says)
        finalize(made)
        able = standing().filter(source__carried_to__checked=True, item__final_label__label="1")
        source = dict(able.values_list("item", "source"))

        for pk in set(source.values()):
            withdraw(made, pk, reason="broken", by=mei)
        give_out(made, carry_over=wish(50))

        again = dict(standing().filter(item__in=source).values_list("item", "source"))
        assert again
        assert all(again[item] != source[item] for item in again)
        assert set(again) <= set(stale_of(made).values_list("item", flat=True))
        assert verify(made) == []
        answer_everything_open(made)
        finalize(made)
        for item, pk in again.items():
            assert FinalLabel.objects.get(item=item).inputs == [str(pk), "1", None]
        assert stale_labels(made) == 0

    def test_judgements_from_elsewhere_come_before_what_is_carried(self, campaign: Campaign) -> None:
        row = a_carried()
        judge_rows(
            campaign,
            [{"item_id": row.item.key, "system": "later", "annotator": "lin", "label": "0"}],
        )

        finalize(campaign)

        assert (label_of(row.item).rule, label_of(row.item).label) == ("majority", "0")
        assert verify(campaign) == []


def answer_everything_open(campaign: Campaign) -> None:
    for row in Assignment.objects.filter(
        round__campaign=campaign, answered_at__isnull=True, withdrawn_at__isnull=True
    ).select_related("item"):
        answer_again(row, truth(row.item))


def another_label(_campaign: Campaign) -> None:
    FinalLabel.objects.filter(item=a_carried().item).update(label="0")


def another_source_named(_campaign: Campaign) -> None:
    found = label_of(a_carried().item)
    FinalLabel.objects.filter(pk=found.pk).update(inputs=["999999", *found.inputs[1:]])


def label_and_inputs_alike_but_not_the_source(_campaign: Campaign) -> None:
    found = label_of(a_carried().item)
    FinalLabel.objects.filter(pk=found.pk).update(label="0", inputs=[found.inputs[0], "0", None])


def another_sentence(_campaign: Campaign) -> None:
    row = a_carried()
    other = Item.objects.exclude(context=row.item.context).filter(
        final_label__label="1", carry_over__isnull=True
    )
    CarryOver.objects.filter(pk=row.pk).update(source=other.earliest("position"))


def another_rendering(_campaign: Campaign) -> None:
    row = a_carried()
    text = "别的译法。"
    Item.objects.filter(pk=row.item_id).update(translation=text, digest=text_digest(text))


def a_chain(_campaign: Campaign) -> None:
    one, other = list(standing().filter(item__final_label__label="1").order_by("item__position")[:2])
    CarryOver.objects.filter(pk=one.pk).update(source=other.item)


def a_source_that_nobody_has(_campaign: Campaign) -> None:
    Assignment.objects.filter(item=a_carried().source).delete()


PLANTS: list[tuple[Callable[[Campaign], None], str | None, str]] = [
    (another_label, "final labels follow their rule", "does not follow from its answers"),
    (another_source_named, "carried labels are those of their sources", "not that of its source"),
    (label_and_inputs_alike_but_not_the_source, None, ""),
    (another_sentence, "verdicts are carried over from alike translations", "another sentence"),
    (
        another_rendering,
        "verdicts are carried over from alike translations",
        "renders the compound otherwise",
    ),
    (a_chain, "verdicts are carried over from what is judged", "carried over itself"),
    (a_source_that_nobody_has, "verdicts are carried over from what is judged", "nobody was given"),
]


@pytest.mark.parametrize(("plant", "rule", "said"), PLANTS)
def test_verify_finds_a_planted_fault(
    campaign: Campaign, plant: Callable[[Campaign], None], rule: str | None, said: str
) -> None:
    assert verify(campaign) == []
    row = a_carried()

    plant(campaign)

    found = verify(campaign)
    if rule is None:  # another label than the source's is one that waits for a new run of the rule
        assert list(stale_of(campaign).values_list("item", flat=True)) == [row.item_id]
        return
    assert any(one.rule == rule and said in one.where for one in found), found
    assert any(f"position {row.item.position} " in one.where for one in found)


class TestExpertsSeeNothing:
    def test_what_is_judged_anyway_looks_like_anything_else(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        give_out(made, carry_over=wish(50))
        ada = User.objects.get(username="ada")
        checked = set(CarryOver.objects.filter(checked=True).values_list("item", flat=True))

        screens = next_screens(made, expert_id=ada.pk, count=200)

        rows_seen = [row for screen in screens for row in screen["rows"]]
        assert {frozenset(row) for row in rows_seen} == {frozenset(rows_seen[0])}
        assert {frozenset(screen) for screen in screens} == {frozenset(screens[0])}
        given = Assignment.objects.filter(expert=ada)
        fields = given.filter(item__in=checked).values_list(
            "round", "part__design", "slot", "revision", "answered_at"
        )
        assert set(fields) == set(
            given.exclude(item__in=checked).values_list(
                "round", "part__design", "slot", "revision", "answered_at"
            )
        )
        assert checked

    def test_screens_are_those_of_a_campaign_that_never_held_the_others(self, tmp_path: Path) -> None:
        """Nothing an expert gets differs from what they would get if what is carried had never been imported."""
        made = two_systems(tmp_path)
        give_out(made, carry_over=wish())
        kept = Item.objects.filter(campaign=made).exclude(pk__in=carried_items())
        texts = set(kept.values_list("context__key", "translation"))
        beside = new_campaign("compound", slug="beside", k=1)
        for rest, name, more in (("挥手。", "base", {}), ("招了招手！", "later", {"otherwise": 5})):
            outputs = [
                row
                for row in rows(rest=rest, wrong=7, **more)
                if (row["item_id"], row["translation"]) in texts
            ]
            load_rows(beside, outputs, tmp_path, system=name)
        give_out(beside)

        ada = User.objects.get(username="ada")
        one, other = (next_screens(campaign, expert_id=ada.pk, count=200) for campaign in (made, beside))
        assert [shape(screen) for screen in one] == [shape(screen) for screen in other]


def shape(screen: dict[str, Any]) -> Any:
    """What a screen shows, without numbers of rows."""
    texts = [
        sorted((name, str(value)) for name, value in row.items() if name != "assignment")
        for row in screen["rows"]
    ]
    return {"rows": texts, "compound": screen.get("compound"), "keys": sorted(screen)}


class TestLookingBack:
    """Who judges a check judges its source, and sees the first of the two no more until the second is judged."""

    def test_the_first_of_the_two_is_out_of_sight_until_the_other_is_judged(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        give_out(made, carry_over=wish(20))
        ada = User.objects.get(username="ada")
        mine = Assignment.objects.filter(expert=ada)
        place = dict(mine.values_list("item", "position"))
        everything = set(place.values())
        middle = sorted(everything)[len(everything) // 2]
        done = {position for position in everything if position < middle}
        apart = [
            {place[item], place[source]}
            for item, source in CarryOver.objects.filter(checked=True).values_list("item", "source")
            if place[item] != place[source]
        ]
        hidden = {position for pair in apart if len(pair & done) == 1 for position in pair & done}
        assert 0 < len(hidden) < len(done)
        for position in everything:
            assert screen_at(made, expert_id=ada.pk, position=position) is not None

        for row in mine.filter(position__lt=middle).select_related("item"):
            answer(row, says(row))

        rows_on = Counter(mine.values_list("position", flat=True))
        seen = recent_screens(made, expert_id=ada.pk, count=200)
        assert {screen["position"] for screen in seen} == done - hidden
        for screen in seen:
            assert len(screen["rows"]) == rows_on[screen["position"]]
        for position in everything:
            found = screen_at(made, expert_id=ada.pk, position=position)
            assert (found is None) == (position in hidden)
        answer_everything(made, says)
        assert len(recent_screens(made, expert_id=ada.pk, count=200)) == len(everything)

    def test_side_by_side_nothing_is_cut_out_of_a_screen(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        make_side_by_side(made)
        give_out(made, carry_over=wish(20))
        ada = User.objects.get(username="ada")
        checks = CarryOver.objects.filter(checked=True)
        first = Assignment.objects.filter(expert=ada, item__in=checks.values("source")).select_related(
            "item"
        )[0]
        answer(first, says(first))

        seen = screen_at(made, expert_id=ada.pk, position=first.position)

        assert seen is not None
        on_it = Assignment.objects.filter(expert=ada, position=first.position)
        assert {row["assignment"] for row in seen["rows"]} == {seat_number(row) for row in on_it}

    def test_a_check_that_another_expert_judges_hides_nothing(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        give_out(made, carry_over=wish(20))
        ada, bo = User.objects.get(username="ada"), make_user("bo")
        checks = CarryOver.objects.filter(checked=True).values("item")
        Assignment.objects.filter(item__in=checks).update(expert=bo)
        for row in Assignment.objects.filter(expert=ada).select_related("item"):
            answer(row, says(row))
        positions = set(Assignment.objects.filter(expert=ada).values_list("position", flat=True))

        seen = recent_screens(made, expert_id=ada.pk, count=200)

        assert {screen["position"] for screen in seen} == positions


class TestCommand:
    def test_it_previews_and_stores_the_same(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        asked = (
            "assign_parts",
            made.slug,
            "--experts",
            "ada",
            "--seed",
            "3",
            "--carry-over",
            lexicon_at(tmp_path),
        )

        shown = run_json(*asked, "--preview")
        assert not CarryOver.objects.exists()
        done = run_json(*asked)

        assert shown["carry_over"] == done["carry_over"]
        assert done["carry_over"]["carried"] == standing().count() == ABLE - round(ABLE * 0.1)
        assert done["carry_over"]["checked"] == round(ABLE * 0.1)
        assert done["parts"][0]["n_items"] == Assignment.objects.count()
        assert "carry_over" not in run_json("assign_parts", made.slug, "--experts", "ada", "--preview")

    def test_it_says_what_it_saves(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)

        ran = run(
            "assign_parts", made.slug, "--experts", "ada", "--carry-over", lexicon_at(tmp_path), "--carry-share", "50",
            "--preview",
        )  # fmt: skip

        n = ABLE - int(ABLE / 2 + 0.5)
        assert f"Carried over: {n} items from {n} others: saves {n} judgements, " in ran.out
        assert "10.0 seconds a judgement (assumed: too few were timed here)" in ran.out
        assert "(50 %)" in ran.out
        assert "carry-over|ver:1|lexicon:" in ran.out

    @pytest.mark.parametrize(
        ("more", "code", "said"),
        [
            (["--carry-over", "nowhere.txt"], 1, "“nowhere.txt” cannot be opened"),
            (["--carry-share", "10"], 2, "name a lexicon with --carry-over"),
        ],
    )
    def test_what_it_cannot_use_it_says(self, tmp_path: Path, more: list[str], code: int, said: str) -> None:
        made = two_systems(tmp_path)
        ran = run("assign_parts", made.slug, "--experts", "ada", *more)
        assert (ran.code, said in ran.err) == (code, True), ran.err
        assert not Assignment.objects.exists()

    def test_a_bad_lexicon_and_a_bad_share_name_their_place(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        bad = tmp_path / "bad.txt"
        bad.write_text("dog 狗\n", encoding="utf-8")
        ran = run("assign_parts", made.slug, "--experts", "ada", "--carry-over", bad)
        assert (ran.code, "one tab" in ran.err) == (1, True)
        ran = run(
            "assign_parts",
            made.slug,
            "--experts",
            "ada",
            "--carry-over",
            lexicon_at(tmp_path),
            "--carry-share",
            "0",
        )
        assert (ran.code, "See --carry-share." in ran.err) == (1, True)
        assert not Assignment.objects.exists()


def test_the_database_refuses_an_item_that_takes_its_own_verdict(campaign: Campaign) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        CarryOver.objects.filter(pk=a_carried().pk).update(source=F("item"))
