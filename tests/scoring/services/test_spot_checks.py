"""Spot checks: who may check, what is drawn, what counts as an error, and what becomes of it."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Assignment, AuditEntry, Campaign, Design, HandIn, Membership, Round
from annotation.protocol.errors import ProtocolError
from annotation.services import spot_checks
from annotation.services.campaigns import main_round
from annotation.services.errors import NotYours, Refused
from annotation.services.people import add_member, remove_member
from annotation.services.screens import next_screens
from annotation.services.spot_checks import (
    LOOKED,
    Decision,
    Error,
    likely_to_judge,
    open_spot_check,
    parts_to_check,
    plan_spot_check,
    units_to_check,
)
from annotation.services.verify import verify
from scoring.records import as_csv
from scoring.reports import as_latex, as_markdown
from scoring.services.spot_checks import acceptance, finish, report_of
from tests.annotation.services.test_repeats import answer, expert, made
from tests.factories import make_user
from tests.material import answer_everything

pytestmark = pytest.mark.django_db


def ready(folder: Path, n: int = 30, *, protocol: str = "triple") -> Campaign:
    """All judged and handed in, everything “1”; Chen is an expert who was given nothing."""
    campaign = made(folder, n, protocol=protocol)
    add_member(campaign, make_user("mei"), Membership.Role.MANAGER)
    add_member(campaign, make_user("chen"), Membership.Role.EXPERT)
    finish_main(campaign)
    return campaign


def finish_main(campaign: Campaign) -> None:
    answer_everything(campaign)
    rows = (
        main_round(campaign).assignments.order_by("part", "expert").values_list("part", "expert").distinct()
    )
    HandIn.objects.bulk_create(HandIn(part_id=part, expert_id=who) for part, who in rows)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return ready(tmp_path)


def member(campaign: Campaign, name: str) -> int:
    return campaign.memberships.get(user__username=name).pk


def wish(campaign: Campaign, **more: Any) -> dict[str, Any]:
    parts = [part.index for part in parts_to_check(campaign)]
    return {"checker": member(campaign, "chen"), "parts": parts, "n": 10, "seed": 5, **more}


def opened(campaign: Campaign, **more: Any) -> Round:
    return open_spot_check(campaign, **wish(campaign, **more), by=expert("mei"))


def check(campaign: Campaign, *, wrong: int = 0, label: str = "0", rest: str = "1") -> None:
    """Chen judges all they have; the first so many differ."""
    for number in range(len(next_screens(campaign, expert_id=expert("chen").pk, count=200))):
        (screen,) = next_screens(campaign, expert_id=expert("chen").pk)
        answer(campaign, "chen", screen, label=label if number < wrong else rest)


class TestPlanning:
    def test_it_draws_from_every_part_and_stores_nothing(self, campaign: Campaign) -> None:
        plan = plan_spot_check(campaign, **wish(campaign))

        assert [(one.part, one.experts, one.size, len(one.units)) for one in plan.strata] == [
            (0, ("A1", "A2"), 15, 5),
            (1, ("A1", "A2"), 15, 5),
        ]
        assert len(plan.items) == plan.n_units == 10
        assert not campaign.rounds.filter(kind=Round.Kind.SPOT_CHECK).exists()
        assert plan.hash == plan_spot_check(campaign, **wish(campaign)).hash
        assert plan.hash != plan_spot_check(campaign, **wish(campaign, seed=6)).hash

    def test_compounds_are_drawn_as_wholes(self, tmp_path: Path) -> None:
        campaign = ready(tmp_path, 12, protocol="compound")

        plan = plan_spot_check(campaign, **wish(campaign, n=4))

        assert (plan.n_units, len(plan.items)) == (4, 8)
        assert [one.experts for one in plan.strata] == [("A1",), ("A2",)]

    def test_four_numbers_give_n_and_c_for_a_part_of_this_size(self) -> None:
        found = acceptance(acceptable=5, rejectable=15, alpha=0.05, beta=0.1, lot=100)

        assert (found["n"], found["c"], found["lot"]) == (46, 4, 100)
        with pytest.raises(ProtocolError):
            acceptance(acceptable=15, rejectable=5, alpha=0.05, beta=0.1, lot=100)

    def test_a_part_is_ready_once_all_have_handed_it_in_or_its_batch_is_closed(
        self, campaign: Campaign
    ) -> None:
        HandIn.objects.filter(part__index=1, expert=expert("lin")).delete()
        waiting = [part.index for part in parts_to_check(campaign)]
        Design.objects.update(closed_at=timezone.now())

        assert waiting == [0]
        assert [part.index for part in parts_to_check(campaign)] == [0, 1]

    def test_an_open_answer_keeps_its_part_out(self, campaign: Campaign) -> None:
        Design.objects.update(closed_at=timezone.now())
        row = main_round(campaign).assignments.filter(part__index=0)[0]
        Assignment.objects.filter(pk=row.pk).update(revision=0, answered_at=None, label="")

        with pytest.raises(Refused, match="Part 1 is not in for good"):
            plan_spot_check(campaign, **wish(campaign, parts=[0, 1]))

    @pytest.mark.parametrize("n", [0, 1, 31])
    def test_it_refuses_a_sample_that_cannot_be_had(self, campaign: Campaign, n: int) -> None:
        with pytest.raises(ProtocolError, match="sample"):
            plan_spot_check(campaign, **wish(campaign, n=n))

    def test_it_takes_the_same_queries_however_much_there_is(self, tmp_path: Path) -> None:
        counts = []
        for n in (12, 40):
            campaign = ready_again(tmp_path, n)
            wanted = wish(campaign, n=4)
            with CaptureQueriesContext(connection) as queries:
                plan_spot_check(campaign, **wanted)
            counts.append(len(queries))

        assert counts[0] == counts[1] <= 10

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(n=st.integers(2, 30), seed=st.integers(0, 10_000))
    def test_strata_are_sampled_by_their_size(self, campaign: Campaign, n: int, seed: int) -> None:
        plan = plan_spot_check(campaign, **wish(campaign, n=n, seed=seed))

        assert plan.n_units == n
        assert all(abs(len(one.units) - n / 2) <= 1 for one in plan.strata)
        known = {unit.key for unit in units_to_check(campaign, parts_to_check(campaign))}
        assert {key for one in plan.strata for key in one.units} <= known


def ready_again(folder: Path, n: int) -> Campaign:
    Campaign.objects.filter(slug="main").update(slug=f"old-{n}")
    found = made(folder, n)
    if not found.memberships.filter(user__username="chen").exists():
        chen = Membership.objects.filter(user__username="chen").first()
        add_member(found, chen.user if chen else make_user("chen"), Membership.Role.EXPERT)
    finish_main(found)
    return found


class TestTheChecker:
    def test_nobody_checks_what_they_were_given(self, campaign: Campaign) -> None:
        with pytest.raises(Refused, match="A1 was given 10 of these 10 units before"):
            opened(campaign, checker=member(campaign, "ada"))

        assert not campaign.rounds.filter(kind=Round.Kind.SPOT_CHECK).exists()

    def test_not_even_what_was_taken_from_them_again(self, campaign: Campaign) -> None:
        row = main_round(campaign).assignments.first()
        assert row
        plan = plan_spot_check(campaign, **wish(campaign))
        row = main_round(campaign).assignments.filter(item=plan.items[0])[0]
        row.pk, row.expert, row.slot, row.withdrawn_at = None, expert("chen"), 9, timezone.now()
        row.revision, row.answered_at, row.label = 0, None, ""
        row.save()

        with pytest.raises(Refused, match="A3 was given 1 of these 10 units"):
            opened(campaign)

    @pytest.mark.parametrize("action", LOOKED)
    def test_nobody_checks_who_has_looked(self, campaign: Campaign, action: str) -> None:
        AuditEntry.objects.create(campaign=campaign, actor=expert("chen"), action=action, detail={})

        with pytest.raises(Refused, match="A3 has looked at names or figures"):
            opened(campaign)

    @pytest.mark.parametrize("role", [Membership.Role.VIEWER, Membership.Role.MANAGER])
    def test_not_who_managed_or_viewed_the_campaign_before(
        self, campaign: Campaign, role: Membership.Role
    ) -> None:
        otto = make_user("otto")
        remove_member(add_member(campaign, otto, role), expert("mei"))
        add_member(campaign, otto, Membership.Role.EXPERT)

        with pytest.raises(Refused, match="A4 was a manager or viewer of this campaign before"):
            opened(campaign, checker=member(campaign, "otto"))

    def test_nobody_but_an_expert_checks(self, campaign: Campaign) -> None:
        with pytest.raises(NotYours):
            opened(campaign, checker=member(campaign, "mei"))

    def test_a_closed_account_does_not_check(self, campaign: Campaign) -> None:
        chen = expert("chen")
        chen.is_active = False
        chen.save()

        with pytest.raises(Refused, match="closed"):
            opened(campaign)

    def test_that_the_checker_had_seen_nothing_is_written_down(self, campaign: Campaign) -> None:
        opened(campaign)

        entry = AuditEntry.objects.get(action="checker found not to have seen the sample")

        assert entry.detail == {
            "round": "spot_check", "number": 1, "checker": "A3", "units": 10, "given_before": 0, "looked": 0,
        }  # fmt: skip

    def test_the_checker_judges_at_the_ordinary_seat(self, campaign: Campaign) -> None:
        round_ = opened(campaign)

        screens = next_screens(campaign, expert_id=expert("chen").pk, count=50)

        assert len(screens) == 10
        assert {row["answer"] for screen in screens for row in screen["rows"]} == {None}
        assert (round_.k, round_.settings["checker"]) == (1, "A3")
        assert verify(campaign) == []

    def test_a_plan_that_is_out_of_date_is_not_stored(self, campaign: Campaign) -> None:
        shown = plan_spot_check(campaign, **wish(campaign)).hash
        main_round(campaign).assignments.filter(unit__position=1).update(withdrawn_at=timezone.now())

        with pytest.raises(Refused, match="changed since this plan was shown"):
            opened(campaign, confirmed_hash=shown)

    def test_of_two_who_open_one_at_once_the_second_is_refused(self, campaign: Campaign) -> None:
        shown = plan_spot_check(campaign, **wish(campaign)).hash
        opened(campaign, confirmed_hash=shown)

        with pytest.raises(Refused):
            opened(campaign, confirmed_hash=shown)

        assert campaign.rounds.filter(kind=Round.Kind.SPOT_CHECK).count() == 1

    def test_a_crash_leaves_nothing(self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_args: object, **_more: object) -> None:
            raise RuntimeError("power cut")

        monkeypatch.setattr(spot_checks, "audit", fail)
        with pytest.raises(RuntimeError):
            opened(campaign)

        assert not campaign.rounds.filter(kind=Round.Kind.SPOT_CHECK).exists()


class TestTheReport:
    def test_it_counts_errors_by_expert_and_part(self, campaign: Campaign) -> None:
        round_ = opened(campaign)
        check(campaign, wrong=2)

        report = report_of(round_)

        assert (report["size"], report["checked"], report["errors"]) == (30, 10, 2)
        assert report["percent"] == pytest.approx(20)
        low, high = report["ci95"]
        assert 0 < low < 20 < high < 100
        assert sum(one["errors"] for one in report["strata"]) == 2
        assert [(one["expert"], one["errors"]) for one in report["experts"]] == [("A1", 2), ("A2", 2)]
        assert [[part["part"] for part in one["parts"]] for one in report["experts"]] == [[0, 1], [0, 1]]
        assert len(report["errors_found"]) == 4
        assert {(row["label"], row["checked"]) for row in report["errors_found"]} == {("1", "0")}

    def test_half_a_point_is_no_contrast(self, campaign: Campaign) -> None:
        round_ = opened(campaign)
        check(campaign, wrong=10, label="0.5")

        assert report_of(round_)["errors"] == 0

    def test_it_may_ask_for_another_label_instead(self, campaign: Campaign) -> None:
        """One and a half are plausible, one and nothing are not."""
        round_ = opened(campaign, error=Error.LABEL)
        check(campaign, wrong=3, label="0", rest="0.5")

        report = report_of(round_)

        assert report["errors"] == 3
        assert report["error"] == "label"

    def test_what_cannot_be_judged_tells_nothing(self, campaign: Campaign) -> None:
        round_ = opened(campaign)
        check(campaign, wrong=1)
        last = round_.assignments.order_by("position").last()
        assert last
        Assignment.objects.filter(pk=last.pk).update(label="", cannot_judge="source_broken")

        report = report_of(round_)

        assert (report["checked"], report["errors"], report["not_comparable"]) == (9, 1, 2)

    def test_one_wrong_context_makes_a_compound_an_error(self, tmp_path: Path) -> None:
        campaign = ready(tmp_path, 12, protocol="compound")
        round_ = opened(campaign, n=6)
        check(campaign)
        one = round_.assignments.order_by("position")[0]
        Assignment.objects.filter(pk=one.pk).update(label="0")

        report = report_of(round_)

        assert (report["size"], report["checked"], report["errors"]) == (12, 6, 1)
        assert len(report["errors_found"]) == 1

    def test_everything_checked_is_known(self, campaign: Campaign) -> None:
        round_ = opened(campaign, n=30)
        check(campaign, wrong=3)

        report = report_of(round_)

        assert report["percent"] == pytest.approx(10)
        assert report["ci95"] == pytest.approx([10, 10])

    def test_it_is_a_table_in_every_format(self, campaign: Campaign) -> None:
        round_ = opened(campaign)
        check(campaign, wrong=2)
        report = report_of(round_)

        assert "| all | 30 | 10 | 2 | 20.00 |" in as_markdown("spot-check", report)
        assert "A1, part 2" in as_latex("spot-check", report)
        assert len(as_csv("spot-check", report).splitlines()) == 1 + 1 + 2 + 2 * 3

    def test_it_takes_a_fixed_number_of_queries(self, campaign: Campaign) -> None:
        round_ = opened(campaign, n=30)
        check(campaign)

        with CaptureQueriesContext(connection) as queries:
            report_of(round_)

        assert len(queries) <= 5


class TestTheDecision:
    def test_accepted_it_keeps_what_was_found(self, campaign: Campaign) -> None:
        round_ = opened(campaign)
        check(campaign, wrong=1)
        before = report_of(round_)

        done = finish(round_, Decision.ACCEPT, reason="Few and small.", by=expert("mei"))
        Assignment.objects.filter(round=main_round(campaign)).update(label="0")

        assert done.state == Round.State.CLOSED
        assert report_of(Round.objects.get(pk=done.pk)) == before
        assert HandIn.objects.count() == 4

    def test_rework_gives_a_part_back_and_corrects_nothing(self, campaign: Campaign) -> None:
        round_ = opened(campaign)
        check(campaign, wrong=5)
        labels = list(main_round(campaign).assignments.order_by("pk").values_list("label", "revision"))

        finish(round_, Decision.REWORK, reason="Too many.", rework=[("A1", 1)], by=expert("mei"))

        assert not HandIn.objects.filter(part__index=1, expert=expert("ada")).exists()
        assert HandIn.objects.count() == 3
        assert (
            list(main_round(campaign).assignments.order_by("pk").values_list("label", "revision")) == labels
        )
        assert AuditEntry.objects.filter(action="part given back").count() == 1

    def test_no_answer_is_in_the_record_of_what_managers_did(self, campaign: Campaign) -> None:
        round_ = opened(campaign)
        check(campaign, wrong=5)
        finish(round_, Decision.ACCEPT, reason="Fine.", by=expert("mei"))

        entry = AuditEntry.objects.get(action="round closed")

        assert entry.detail == {
            "round": "spot_check", "number": 1, "decision": "accept", "reason": "Fine.", "rework": [],
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("decision", "more", "said"),
        [
            (Decision.ACCEPT, {"reason": " "}, "Give the reason"),
            (Decision.ACCEPT, {"reason": "x" * 501}, "Give the reason"),
            (Decision.ACCEPT, {"rework": [("A1", 0)]}, "Say which parts"),
            (Decision.REWORK, {}, "Say which parts"),
            (Decision.REWORK, {"rework": [("A1", 7)]}, "nothing to give back"),
            (Decision.REWORK, {"rework": [("A1", 0), ("A9", 0)]}, "no such expert"),
        ],
    )
    def test_it_refuses_what_makes_no_sense_and_changes_nothing(
        self, campaign: Campaign, decision: Decision, more: dict[str, Any], said: str
    ) -> None:
        round_ = opened(campaign)
        check(campaign)

        with pytest.raises(Refused, match=said):
            finish(round_, decision, **{"reason": "Why not.", **more}, by=expert("mei"))

        assert Round.objects.get(pk=round_.pk).state == Round.State.OPEN
        assert HandIn.objects.count() == 4

    def test_nothing_is_decided_before_all_is_checked(self, campaign: Campaign) -> None:
        round_ = opened(campaign)

        with pytest.raises(Refused, match="not finished"):
            finish(round_, Decision.ACCEPT, reason="In a hurry.", by=expert("mei"))
        stopped = finish(round_, Decision.STOPPED, reason="Chen is ill.", by=expert("mei"))

        assert (stopped.outcome or {})["report"] is None
        assert next_screens(campaign, expert_id=expert("chen").pk) == []

    def test_it_is_decided_once(self, campaign: Campaign) -> None:
        round_ = opened(campaign)
        check(campaign)
        finish(round_, Decision.ACCEPT, reason="Fine.", by=expert("mei"))

        with pytest.raises(Refused, match="decided already"):
            finish(round_, Decision.REWORK, reason="No.", rework=[("A1", 0)], by=expert("mei"))


class TestWhoIsOfferedAsChosen:
    """Where independent work is given out, a checker is not ticked beforehand."""

    def names(self, campaign: Campaign) -> list[str]:
        members = list(campaign.memberships.filter(role=Membership.Role.EXPERT).order_by("pk"))
        return [one.pseudonym for one in likely_to_judge(campaign, members)]

    def test_who_judged_before_is_and_who_was_given_nothing_is_not(self, campaign: Campaign) -> None:
        assert self.names(campaign) == ["A1", "A2"]

    def test_a_checker_is_not_whatever_else_they_were_given(self, campaign: Campaign) -> None:
        opened(campaign)
        assert self.names(campaign) == ["A1", "A2"]

    def test_everybody_is_where_nobody_was_given_anything(self, campaign: Campaign) -> None:
        campaign.rounds.get(kind=Round.Kind.MAIN).assignments.all().delete()
        assert self.names(campaign) == ["A1", "A2", "A3"]
