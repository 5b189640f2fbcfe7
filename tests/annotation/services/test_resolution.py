"""Resolution, re-judgement and arbitration: what is judged again, by whom, and what becomes of the labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from annotation.models import (
    Annotation,
    Arbitration,
    Assignment,
    Campaign,
    Design,
    FinalLabel,
    Item,
    Round,
    Thread,
    User,
)
from annotation.services import arbitration
from annotation.services import rounds as round_service
from annotation.services.again_rounds import close_again, reopen_again
from annotation.services.arbitration import arbitrate, take_back
from annotation.services.batches import close_batch
from annotation.services.campaign_state import close_campaign
from annotation.services.discussion import as_lines, open_thread, thread_lines
from annotation.services.errors import NotYours, Refused
from annotation.services.frozen import standings
from annotation.services.guidelines import guideline_state
from annotation.services.items import withdraw
from annotation.services.labels import effective_votes, finalize, passed_over, stale_labels
from annotation.services.parts import assign_parts
from annotation.services.rejudgement import (
    open_rejudgement,
    plan_rejudgement,
    told_apart,
    touching_versions,
)
from annotation.services.resolution import contrasts, open_resolution, plan_resolution
from annotation.services.screens import progress
from annotation.services.settled import is_open, settled_among
from annotation.services.verify import verify
from tests.factories import Cast, make_cast, make_judged, make_user, save_label, signed_in
from tests.material import answer_everything, load_rows, new_campaign, triples
from tests.pages import text_of

pytestmark = pytest.mark.django_db

SIX = (("1", "1"), ("1", "0"), ("0.5", "0"), ("0", "1"), ("", "0"), ("0", "0"))


@pytest.fixture
def cast() -> Cast:
    """Six triples in a closed batch; the second and the fourth contrast."""
    made = make_cast()
    design = make_judged(made, *SIX)
    close_batch(made.campaign, design.pk, by=made.mei)
    return made


def positions(items: Sequence[int]) -> list[int]:
    return list(Item.objects.filter(pk__in=items).order_by("position").values_list("position", flat=True))


def item_at(cast: Cast, position: int) -> int:
    return Item.objects.get(campaign=cast.campaign, position=position).pk


def states_of_discussions(cast: Cast, viewer: User) -> dict[str, list[int]]:
    """By list, the positions of the items whose discussions stand in it."""
    member = cast.campaign.memberships.get(user=viewer)
    return {
        show: sorted(line.item.position for line in as_lines(list(thread_lines(member, show=show))))
        for show in ("open", "resolved", "unread")
    }


def test_a_discussion_ends_with_what_was_judged_again_and_with_the_campaign(cast: Cast) -> None:
    """Settled or still split: the round that it was for is over. What nobody judged again is talked of on."""
    round_ = open_resolution(cast.campaign, by=cast.mei)
    open_thread(cast.campaign, item_at(cast, 1), by=cast.mei)
    for viewer in (cast.mei, cast.ada):
        assert states_of_discussions(cast, viewer)["open"] == [1, 2, 4]
    again(round_, 2, 1, "0")
    again(round_, 2, 2, "0")
    again(round_, 4, 1, "0")  # of its two experts one
    assert states_of_discussions(cast, cast.ada)["open"] == [1, 2, 4]

    close_again(cast.campaign, Round.Kind.RESOLUTION, 1, reason="Lin is ill.", by=cast.mei)

    for viewer in (cast.mei, cast.ada):
        assert states_of_discussions(cast, viewer)["open"] == [1, 4]
        assert states_of_discussions(cast, viewer)["resolved"] == [2]
    assert states_of_discussions(cast, cast.ada)["unread"] == [
        1,
        4,
    ]  # what is over, and was never opened, is no news
    items = Item.objects.filter(position__in=(1, 2, 4))
    told = {items.get(pk=pk).position: one for pk, one in standings(cast.campaign, list(items)).items()}
    assert {position: one.ended for position, one in told.items()} == {1: False, 2: True, 4: False}
    page = text_of(signed_in(cast.mei).get("/campaigns/main/discussion/?show=all"))
    assert (page.count("being discussed"), page.count("ended, judged again")) == (2, 1)
    listed = text_of(signed_in(cast.mei).get("/campaigns/main/items/?first=1&last=4"))
    assert (listed.count("being discussed"), listed.count("discussion ended")) == (2, 1)
    second = text_of(
        signed_in(cast.ada).get(f"/campaigns/main/discussion/{Thread.objects.get(item__position=2).pk}/")
    )
    assert "nobody waits for more here" in second

    close_campaign(cast.campaign, reason="Done.", by=cast.mei)

    for viewer in (cast.mei, cast.ada):
        assert states_of_discussions(cast, viewer) == {"open": [], "resolved": [1, 2, 4], "unread": []}
        for address in ("discussion/?show=all", *(["items/"] if viewer == cast.mei else [])):
            shown = text_of(signed_in(viewer).get(f"/campaigns/main/{address}"))
            assert "being discussed" not in shown
            assert "unread" not in shown.replace("still open 0 unread 0 resolved", "")


def test_what_is_still_split_after_it_was_judged_again_is_not_being_discussed(cast: Cast) -> None:
    round_ = open_resolution(cast.campaign, by=cast.mei)
    for position, first, second in ((2, "1", "0"), (4, "0", "0")):
        again(round_, position, 1, first)
        again(round_, position, 2, second)
    close_again(cast.campaign, Round.Kind.RESOLUTION, 1, by=cast.mei)

    page = text_of(signed_in(cast.mei).get("/campaigns/main/rounds/resolution/"))

    assert "judged again, and still split" in page
    assert "being discussed" not in page


def again(round_: Round, position: int, slot: int, label: str) -> Assignment:
    return save_label(
        round_.assignments.get(item__position=position, slot=slot), label, note="second thought"
    )


def label_at(cast: Cast, position: int) -> tuple[str, str, str, list[Any]]:
    found = FinalLabel.objects.get(item__position=position, item__campaign=cast.campaign)
    return found.label, found.reason, found.rule, found.inputs


# What is judged again


def test_it_takes_exactly_the_contrasts_of_closed_batches(cast: Cast) -> None:
    make_judged(cast, ("1", "0"))  # a batch that is open

    assert positions(contrasts(cast.campaign).items) == [2, 4]
    assert plan_resolution(cast.campaign).loads == {"A1": 2, "A2": 2}


def test_everybody_gets_one_part_of_a_small_resolution(tmp_path: Path) -> None:
    """Four experts in four pairs: the contrasts of each pair stand in one part, each in the slots it had."""
    campaign = new_campaign()
    load_rows(campaign, triples(16), tmp_path)
    assign_parts(campaign, experts=["ada", "bo", "chen", "dan"], design="cyclic", seed=1)
    answer_everything(campaign, lambda row: "1" if row.slot == 1 else "0")
    for design in Design.objects.filter(round__campaign=campaign):
        close_batch(campaign, design.pk, by=None)

    planned = plan_resolution(campaign)
    round_ = open_resolution(campaign, by=None)

    assert len(planned.shares) == 4
    assert round_.parts.count() == 1
    places = Assignment.objects.filter(withdrawn_at__isnull=True).values_list("item", "slot", "expert")
    assert set(places.filter(round=round_)) == set(places.filter(round__kind="main"))
    for member in campaign.memberships.all():
        parts = progress(campaign, expert_id=member.user_id)["parts"]
        assert [part["total"] for part in parts if part["name"].startswith("Resolution")] == [8]
        positions_given = list(
            round_.assignments.filter(expert=member.user).values_list("position", flat=True)
        )
        assert len(set(positions_given)) == 8
    assert verify(campaign) == []


def test_a_large_resolution_keeps_a_part_for_each_pair(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(round_service, "PART_SIZE", 9)
    campaign = new_campaign()
    load_rows(campaign, triples(16), tmp_path)
    assign_parts(campaign, experts=["ada", "bo", "chen", "dan"], design="cyclic", seed=1)
    answer_everything(campaign, lambda row: "1" if row.slot == 1 else "0")
    for design in Design.objects.filter(round__campaign=campaign):
        close_batch(campaign, design.pk, by=None)

    round_ = open_resolution(campaign, by=None)

    assert [part.part_units.count() for part in round_.parts.all()] == [8, 8]
    assert verify(campaign) == []


def test_it_takes_ties_on_compounds() -> None:
    cast = make_cast(protocol="compound")
    design = make_judged(cast, ("1", "1"), ("1", "0"), ("0", "0"), ("", "0"))
    close_batch(cast.campaign, design.pk, by=cast.mei)

    assert positions(contrasts(cast.campaign).items) == [2]


def test_it_asks_the_same_experts_in_the_same_slots_and_opens_the_items_to_discussion(cast: Cast) -> None:
    round_ = open_resolution(cast.campaign, by=cast.mei, confirmed=plan_resolution(cast.campaign).hash)

    given = round_.assignments.order_by("item__position", "slot")
    assert list(given.values_list("item__position", "slot", "expert__username")) == [
        (2, 1, "ada"), (2, 2, "lin"), (4, 1, "ada"), (4, 2, "lin"),
    ]  # fmt: skip
    assert set(Thread.objects.values_list("item__position", flat=True)) == {2, 4}
    assert verify(cast.campaign) == []
    assert plan_resolution(cast.campaign).left_out == {"at_work": [2, 4]}


def test_it_stores_nothing_where_the_plan_has_changed(cast: Cast) -> None:
    shown = plan_resolution(cast.campaign).hash
    arbitrate(cast.campaign, item_at(cast, 2), label="1", reason="Plain.", by=cast.mei)

    with pytest.raises(Refused, match="changed since this was shown"):
        open_resolution(cast.campaign, by=cast.mei, confirmed=shown)

    assert not cast.campaign.rounds.filter(kind="resolution").exists()
    assert set(Thread.objects.values_list("item__position", flat=True)) == {2}


def test_of_two_managers_at_once_one_opens_it(cast: Cast) -> None:
    shown = plan_resolution(cast.campaign).hash
    open_resolution(cast.campaign, by=cast.mei, confirmed=shown)

    with pytest.raises(Refused):
        open_resolution(cast.campaign, by=cast.mei, confirmed=shown)

    assert cast.campaign.rounds.filter(kind="resolution").count() == 1
    assert Assignment.objects.filter(round__kind="resolution").count() == 4


def test_there_is_none_where_nothing_contrasts() -> None:
    cast = make_cast()
    close_batch(cast.campaign, make_judged(cast, ("1", "1")).pk, by=cast.mei)

    with pytest.raises(Refused, match="nothing to judge"):
        open_resolution(cast.campaign, by=cast.mei)
    assert not Thread.objects.exists()


def test_it_leaves_to_an_arbiter_what_an_expert_who_left_has_judged(cast: Cast) -> None:
    cast.lin.is_active = False
    cast.lin.save()

    planned = plan_resolution(cast.campaign)

    assert (planned.n_items, planned.left_out) == (0, {"inactive": [2, 4]})


def test_it_waits_for_a_check_by_somebody_who_must_not_have_seen_the_answers(cast: Cast) -> None:
    round_ = cast.campaign.rounds.create(kind="spot_check", k=1, guideline=cast.campaign.guidelines.get())
    first = Assignment.objects.filter(item__position=2)[0]
    Assignment.objects.create(
        round=round_, unit=first.unit, item=first.item, expert=make_user("eve"), slot=1, position=1, queue=1
    )

    found = contrasts(cast.campaign)

    assert (positions(found.items), positions(found.blocked)) == ([4], [2])
    with pytest.raises(Refused, match="still to judge"):
        open_thread(cast.campaign, first.item_id, by=cast.mei)


def test_four_experts_in_a_real_design(tmp_path: Path) -> None:
    campaign = new_campaign("triple", k=2)
    load_rows(campaign, triples(24), tmp_path)
    assign_parts(campaign, experts=["ada", "bo", "cy", "di"], design="cyclic", seed=1)
    answer_everything(campaign, lambda row: "0" if row.slot == 1 and row.item.position % 3 == 0 else "1")
    close_batch(campaign, campaign.rounds.get().designs.get().pk, by=None)

    round_ = open_resolution(campaign, by=None)

    def slots(kind: str) -> set[tuple[int, int, int]]:
        rows = Assignment.objects.filter(round__kind=kind, item__position__in=range(3, 25, 3))
        return set(rows.values_list("item__position", "slot", "expert"))

    assert slots("resolution") == slots("main")
    assert round_.assignments.count() == 16
    assert verify(campaign) == []


# Labels


def test_labels_follow_effective_scores_and_wait_for_both(cast: Cast) -> None:
    finalize(cast.campaign)
    assert label_at(cast, 2) == ("0", "", "ckbp2", ["1", "0"])
    round_ = open_resolution(cast.campaign, by=cast.mei)
    assert stale_labels(cast.campaign) == 0

    again(round_, 2, 2, "0.5")
    assert stale_labels(cast.campaign) == 1
    finalize(cast.campaign)
    assert label_at(cast, 2) == ("", "incomplete", "ckbp2", ["0.5"])
    assert verify(cast.campaign) == []

    again(round_, 2, 1, "1")
    assert stale_labels(cast.campaign) == 1
    finalize(cast.campaign)
    assert label_at(cast, 2) == ("1", "", "ckbp2", ["1", "0.5"])
    assert label_at(cast, 4) == ("0", "", "ckbp2", ["0", "1"])
    assert stale_labels(cast.campaign) == 0
    assert verify(cast.campaign) == []


def test_a_contrast_that_remains_is_implausible_and_can_be_taken_up_again(cast: Cast) -> None:
    round_ = open_resolution(cast.campaign, by=cast.mei)
    for slot, label in ((1, "1"), (2, "0")):
        again(round_, 2, slot, label)
    close_again(cast.campaign, "resolution", 1, reason="no time for the rest", by=cast.mei)
    finalize(cast.campaign)

    found = contrasts(cast.campaign)

    assert label_at(cast, 2) == ("0", "", "ckbp2", ["1", "0"])
    assert (positions(found.items), positions(found.before)) == ([2, 4], [2])


def test_it_is_closed_with_what_is_missing_named(cast: Cast) -> None:
    round_ = open_resolution(cast.campaign, by=cast.mei)
    again(round_, 2, 1, "1")

    with pytest.raises(Refused, match="A1 1, A2 2"):
        close_again(cast.campaign, "resolution", 1, by=cast.mei)
    closed = close_again(cast.campaign, "resolution", 1, reason="A2 is ill", by=cast.mei)

    assert closed.outcome == {"missing": {"A1": 1, "A2": 2}, "reason": "A2 is ill"}
    assert positions(contrasts(cast.campaign).waiting) == [2]
    reopen_again(cast.campaign, "resolution", 1, by=cast.mei)
    assert cast.campaign.rounds.get(kind="resolution").state == Round.State.OPEN
    for kind in ("main", "dry_run"):
        with pytest.raises(NotYours):
            close_again(cast.campaign, kind, 1, by=cast.mei)


# Arbitration


def test_an_arbiter_decides_a_label_and_the_votes_stay(cast: Cast) -> None:
    finalize(cast.campaign)

    arbitrate(cast.campaign, item_at(cast, 2), label="1", reason="A marathon tires.", by=cast.mei)

    assert stale_labels(cast.campaign) == 1
    finalize(cast.campaign)
    assert label_at(cast, 2) == ("1", "", "arbiter", ["1", "0", "1"])
    assert FinalLabel.objects.get(item__position=2).rule_version == "1"
    assert stale_labels(cast.campaign) == 0
    assert verify(cast.campaign) == []
    assert positions(contrasts(cast.campaign).items) == [4]
    votes = next(votes for votes in effective_votes(cast.campaign) if votes.item == item_at(cast, 2))
    assert (votes.votes, votes.decision) == (("1", "0"), "1")

    take_back(cast.campaign, item_at(cast, 2), by=cast.mei)
    assert stale_labels(cast.campaign) == 1
    assert verify(cast.campaign) == []  # stale is no violation
    finalize(cast.campaign)
    assert label_at(cast, 2) == ("0", "", "ckbp2", ["1", "0"])
    arbitrate(cast.campaign, item_at(cast, 2), label="0", reason="After all not.", by=cast.mei)
    finalize(cast.campaign)
    assert label_at(cast, 2) == ("0", "", "arbiter", ["1", "0", "0"])


def test_an_arbiter_decides_what_a_batch_was_closed_without() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", None))
    with pytest.raises(Refused, match="Nothing is decided on this item yet"):
        arbitrate(cast.campaign, item_at(cast, 1), label="1", reason="Plain.", by=cast.mei)
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="A2 has left")

    arbitrate(cast.campaign, item_at(cast, 1), label="1", reason="Plain.", by=cast.mei)
    finalize(cast.campaign)

    assert label_at(cast, 1) == ("1", "", "arbiter", ["1", "1"])
    assert verify(cast.campaign) == []
    assert not Thread.objects.exists()  # somebody has not judged it


def test_verify_finds_a_decision_that_was_tampered_with(cast: Cast) -> None:
    arbitrate(cast.campaign, item_at(cast, 2), label="1", reason="Plain.", by=cast.mei)
    finalize(cast.campaign)
    FinalLabel.objects.filter(item__position=2).update(label="0")

    assert [violation.rule for violation in verify(cast.campaign)] == ["final labels follow their rule"]


def test_one_decision_is_in_force_at_a_time(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    item = item_at(cast, 2)
    arbitrate(cast.campaign, item, label="1", reason="Plain.", by=cast.mei)

    with pytest.raises(Refused, match="take it back"):
        arbitrate(cast.campaign, item, label="0", reason="No.", by=cast.mei)
    monkeypatch.setattr(arbitration, "in_force", lambda _item: None)  # the other one was a moment faster
    with pytest.raises(Refused, match="Somebody else decided"):
        arbitrate(cast.campaign, item, label="0", reason="No.", by=cast.mei)
    assert Arbitration.objects.get().label == "1"


@pytest.mark.parametrize("label", ["0.5", "", "x"])
def test_a_decision_is_a_label(cast: Cast, label: str) -> None:
    with pytest.raises(Refused, match="Choose the label"):
        arbitrate(cast.campaign, item_at(cast, 2), label=label, reason="Plain.", by=cast.mei)


def test_a_decision_on_an_item_without_a_label_is_seen_as_missing(cast: Cast) -> None:
    finalize(cast.campaign)
    FinalLabel.objects.filter(item__position=2).delete()

    assert passed_over(cast.campaign) == 1


# Re-judgement


def new_version(cast: Cast, **touches: Any) -> None:
    cast.campaign.guidelines.create(version=2, text_en="Judge anew.", text_zh="请重新判断。", touches=touches)


def test_a_change_of_the_guidelines_is_judged_again_where_it_touches(cast: Cast) -> None:
    Item.objects.filter(position__in=(1, 3)).update(relation="xReact")
    make_judged(cast, ("1", "0"))
    new_version(cast, relations=["xReact"], items=[6, 7])

    versions = [cast.campaign.guidelines.get(version=2)]
    touched = told_apart(cast.campaign, versions)
    assert (positions(touched.items), positions(touched.not_closed)) == ([1, 3, 6], [7])
    round_ = open_rejudgement(
        cast.campaign,
        2,
        by=cast.mei,
        confirmed=plan_rejudgement(cast.campaign, versions).hash,
    )

    assert round_.guideline.version == 2
    assert round_.settings["touched_by"] == 2
    assert sorted(set(round_.assignments.values_list("item__position", flat=True))) == [1, 3, 6]
    assert not Thread.objects.exists()
    for slot in (1, 2):
        for position in (1, 3, 6):
            again(round_, position, slot, "1")
    close_again(cast.campaign, "rejudgement", 1, by=cast.mei)
    finalize(cast.campaign)
    assert label_at(cast, 6) == ("1", "", "ckbp2", ["1", "1"])
    touched = told_apart(cast.campaign, versions)
    assert (positions(touched.items), positions(touched.up_to_date)) == ([], [1, 3, 6])
    with pytest.raises(Refused, match="nothing to judge"):
        open_rejudgement(cast.campaign, 2, by=cast.mei)


def test_what_was_judged_under_the_change_in_an_open_batch_does_not_wait_to_be_frozen(cast: Cast) -> None:
    make_judged(cast, ("1", "0"), ("1", "1"))
    new_version(cast, items=[1, 6, 7, 8])
    (version,) = cast.campaign.guidelines.filter(version=2)
    Annotation.objects.filter(assignment__item__position=7).update(guideline=version)

    touched = told_apart(cast.campaign, [version])

    assert (positions(touched.items), positions(touched.up_to_date), positions(touched.not_closed)) == (
        [1, 6],
        [7],
        [8],
    )


def waiting(cast: Cast) -> int:
    """What the campaign's page says is to be judged again; what a round opened now would hold is the same."""
    shown = guideline_state(cast.campaign).rejudge
    assert shown == plan_rejudgement(cast.campaign, touching_versions(cast.campaign)).n_items
    return shown


def test_what_is_counted_is_what_a_round_would_hold(cast: Cast) -> None:
    new_version(cast, items=[1, 2])
    cast.campaign.guidelines.create(version=3, text_en="Newer.", text_zh="更新。", touches={"items": [2, 3]})
    Round.objects.filter(kind=Round.Kind.MAIN).update(guideline=cast.campaign.guidelines.get(version=2))
    # Of item 1 both answers are given under version 2, of item 2 one: only version 3 or the other answer asks again.
    for position, slots in ((1, (1, 2)), (2, (1,))):
        for slot in slots:
            row = Assignment.objects.get(round__kind="main", item__position=position, slot=slot)
            save_label(row, "1")
    assert waiting(cast) == 2  # items 2 and 3

    round_ = open_rejudgement(cast.campaign, by=cast.mei)
    assert round_.settings["touched_by"] == [2, 3]
    assert round_.assignments.values("item").distinct().count() == 2
    assert waiting(cast) == 0  # while it is being judged again

    close_again(cast.campaign, "rejudgement", 1, reason="nobody came", by=cast.mei)
    assert waiting(cast) == 2  # given out once, and not judged

    User.objects.filter(pk=cast.lin.pk).update(is_active=False)
    assert waiting(cast) == 0  # nobody could be asked for both answers


def test_there_is_no_re_judgement_for_a_version_that_is_not_there(cast: Cast) -> None:
    with pytest.raises(NotYours):
        open_rejudgement(cast.campaign, 9, by=cast.mei)


# What was settled


def test_an_expert_sees_what_was_settled_against_them_once_it_is_over(cast: Cast) -> None:
    round_ = open_resolution(cast.campaign, by=cast.mei)
    for slot in (1, 2):
        again(round_, 2, slot, "0")
    for slot, label in ((1, "0"), (2, "1")):
        again(round_, 4, slot, label)
    assert not is_open(cast.campaign)
    assert settled_among(cast.campaign, cast.ada).against == []

    close_again(cast.campaign, "resolution", 1, by=cast.mei)

    (ada,) = settled_among(cast.campaign, cast.ada).against
    assert (ada.item.position, ada.own["label"], ada.score and ada.score["label"]) == (2, "often", "rarely")
    (lin,) = settled_among(cast.campaign, cast.lin).against  # {0, 1} stays, and is implausible by the rule
    assert (lin.item.position, lin.own["label"], lin.score, lin.label) == (4, "often", None, "0")
    open_again = cast.campaign.rounds.create(
        kind="rejudgement", k=2, guideline=cast.campaign.guidelines.get()
    )
    assert settled_among(cast.campaign, cast.ada).against == []
    open_again.delete()
    arbitrate(cast.campaign, item_at(cast, 4), label="1", reason="Surely.", by=cast.mei)
    assert [line.item.position for line in settled_among(cast.campaign, cast.lin).against] == []
    assert {line.item.position for line in settled_among(cast.campaign, cast.ada).against} == {2, 4}


# Any history


class TestAnyHistory(TestCase):
    @given(
        data=st.lists(
            st.tuples(
                st.sampled_from(["1", "0.5", "0", ""]),
                st.sampled_from(["1", "0.5", "0", ""]),
                st.lists(
                    st.tuples(
                        st.sampled_from(["1", "0.5", "0", "", None]),
                        st.sampled_from(["1", "0.5", "0", "", None]),
                    ),
                    max_size=2,
                ),
            ),
            min_size=1,
            max_size=3,
        )
    )
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    def test_labels_are_those_of_the_last_answers(self, data: list[Any]) -> None:
        """What is stored is what a plain walk through the histories gives, and nothing is stale after it."""
        cast = make_cast()
        make_judged(cast, *[(first, second) for first, second, _rounds in data])
        campaign = Campaign.objects.get(pk=cast.campaign.pk)
        for number in range(2):
            round_ = campaign.rounds.create(
                kind="resolution", number=number + 1, k=2, guideline=campaign.guidelines.get()
            )
            for position, (_first, _second, rounds) in enumerate(data, start=1):
                for slot, label in enumerate(
                    rounds[number] if number < len(rounds) else (None, None), start=1
                ):
                    main = Assignment.objects.get(round__kind="main", item__position=position, slot=slot)
                    if label is not None:
                        row = Assignment.objects.create(
                            round=round_, unit=main.unit, item=main.item, expert=main.expert, slot=slot,
                            position=100 * (number + 1) + position, queue=position,
                        )  # fmt: skip
                        save_label(row, label)

        finalize(campaign)

        for position, (first, second, rounds) in enumerate(data, start=1):
            begun = [answers for answers in rounds if answers != (None, None)]
            last = [first, second]
            for answers in begun:
                last = [new if new is not None else old for old, new in zip(last, answers, strict=True)]
            waits = bool(begun) and None in begun[-1]
            found = FinalLabel.objects.get(item__position=position)
            if waits:
                expected = ("", "incomplete")
            elif "" in last:
                expected = ("", "cannot_judge")
            else:
                expected = ("1" if "1" in last and "0" not in last else "0", "")
            assert (found.label, found.reason) == expected
        assert stale_labels(campaign) == 0
        broken = {violation.rule for violation in verify(campaign)}
        assert "final labels follow their rule" not in broken


def test_a_decision_is_taken_back_on_a_withdrawn_item_too(cast: Cast) -> None:
    item = item_at(cast, 2)
    arbitrate(cast.campaign, item, label="1", reason="so", by=cast.mei)
    withdraw(cast.campaign, item, reason="hm", by=cast.mei)
    client = signed_in(cast.mei)
    page = f"/campaigns/main/items/{item}/decide/"
    assert "Take the decision back" in client.get(page).content.decode()
    shown = client.post(f"/campaigns/main/items/{item}/decide/take-back/", follow=True)
    assert "the item stays withdrawn" in text_of(shown)
    assert arbitration.in_force(item) is None
    assert client.get(page).status_code == 404
    with pytest.raises(NotYours):
        arbitrate(cast.campaign, item, label="1", reason="so", by=cast.mei)
