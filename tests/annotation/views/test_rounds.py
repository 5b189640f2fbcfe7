"""All rounds on one page: how far each is, by when it is due, and a reminder to send."""

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Campaign, HandIn, Job, Round, User
from annotation.services.dry_runs import Gate, close_dry_run, decide, open_dry_run, override
from annotation.services.labels import finalize
from annotation.services.overview import overview
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from annotation.services.round_progress import round_lines
from annotation.services.rounds import Share, close_round, open_round
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from tests.factories import make_guideline, make_user
from tests.material import load_rows, new_campaign, save, sheet, triples
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

ROUNDS = "/campaigns/main/rounds/"
HOME = "/campaigns/main/"
FIGURES = {"value": 0.5, "ci95": None, "n": 12, "reason": None, "signature": "s"}


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    made = new_campaign()
    for name, role in (("mei", "manager"), ("ada", "expert"), ("lin", "expert"), ("vera", "viewer")):
        add_member(made, make_user(name, password="seven green rivers"), role)
    load_rows(made, triples(40), tmp_path)
    return made


@pytest.fixture
def mei(campaign: Campaign) -> Client:
    return client_of(User.objects.get(username="mei"))


def opened(campaign: Campaign, gate: Gate | None = None) -> Round:
    return open_dry_run(campaign, experts=["ada", "lin"], n=12, gate=gate, by=None)


def judged(round_: Round, *, only: str = "") -> None:
    for row in round_.assignments.select_related("expert"):
        if only in ("", row.expert.username):
            save(sheet([row]), row.expert_id)


def test_overview_and_progress_tell_alike_what_is_handed_in(mei: Client, campaign: Campaign) -> None:
    judged(opened(campaign), only="ada")
    assert "Dry run 1 12/12 fully judged" in text_of(mei.get(HOME))
    assert "12 / 12 › fully judged" in text_of(mei.get(f"{HOME}progress/"))
    assert "Dry run 1 0/12 0" in text_of(mei.get(HOME))

    part = campaign.rounds.get(kind=Round.Kind.DRY_RUN).parts.get()
    HandIn.objects.create(part=part, expert=User.objects.get(username="ada"))
    assert "Dry run 1 ✓ handed in" in text_of(mei.get(HOME))
    assert "12 / 12 ✓ handed in" in text_of(mei.get(f"{HOME}progress/"))


def test_it_lists_every_round_with_its_experts(mei: Client, campaign: Campaign) -> None:
    assert "Main round · not begun 0 / 0 none" in text_of(mei.get(ROUNDS))
    judged(opened(campaign), only="ada")
    page = text_of(mei.get(ROUNDS))
    assert "Dry run 1 › open 12 / 24 A1 12/12 fully judged A2 0/12" in page
    assert "Open a dry run" in page
    vera = client_of(User.objects.get(username="vera"))
    seen = vera.get(ROUNDS)
    assert "Dry run 1 › open 12 / 24" in text_of(seen)
    assert "Open a dry run" not in text_of(seen)
    assert "/due/" not in body_of(seen)


def test_a_due_date_is_stored_written_down_and_taken_away(mei: Client, campaign: Campaign) -> None:
    opened(campaign)
    mei.post(f"{ROUNDS}dry_run/1/due/", {"due_on": "2026-12-14"})
    mei.post(f"{ROUNDS}dry_run/1/due/", {"due_on": "2026-12-14"})  # again
    round_ = Round.objects.get(kind=Round.Kind.DRY_RUN)
    assert str(round_.due_on) == "2026-12-14"
    mei.post(f"{ROUNDS}dry_run/1/due/", {"due_on": ""})
    changes = AuditEntry.objects.filter(action="round due date set").order_by("pk")
    assert [(one.detail["before"], one.detail["after"]) for one in changes] == [
        (None, "2026-12-14"), ("2026-12-14", None),
    ]  # fmt: skip
    refused = mei.post(f"{ROUNDS}dry_run/1/due/", {"due_on": "soon"})
    assert (refused.status_code, "This is no day" in text_of(refused)) == (409, True)
    assert mei.post(f"{ROUNDS}dry_run/9/due/", {"due_on": ""}).status_code == 404
    assert mei.post(f"{ROUNDS}party/1/due/", {"due_on": ""}).status_code == 404


def test_a_round_in_which_all_is_judged_says_so_and_asks_for_no_day(mei: Client, campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    main = campaign.rounds.get(kind=Round.Kind.MAIN)
    judged(main, only="ada")
    page = mei.get(ROUNDS)
    assert "Main round › open 40 / 80" in text_of(page)
    assert "/main/0/due/" in body_of(page).replace(f"/main/{main.number}/", "/main/0/")
    judged(main)
    page = mei.get(ROUNDS)
    assert "Main round ✓ all judged 80 / 80" in text_of(page)
    assert "/due/" not in body_of(page)
    main.designs.update(closed_at=timezone.now())
    assert "Main round ✓ batches closed 80 / 80" in text_of(mei.get(ROUNDS))


def test_who_is_late_gets_a_reminder_in_both_languages_without_a_name(
    mei: Client, campaign: Campaign
) -> None:
    round_ = opened(campaign)
    judged(round_, only="ada")
    Round.objects.filter(pk=round_.pk).update(due_on="2020-01-31")
    page = mei.get(ROUNDS)
    assert "late" in text_of(page)
    message = body_of(page).partition("<textarea")[2].partition("</textarea>")[0]
    assert "12 of 12 judgements are still missing; due on 2020-01-31" in message
    assert "标注项目“main”" in message
    assert message.count("/campaigns/main/work/") == 2
    assert not re.search(r"\blin\b", message)
    assert body_of(page).count("<textarea") == 1  # Ada is done


def test_the_page_costs_the_same_however_many_rounds_and_items(mei: Client, campaign: Campaign) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert mei.get(ROUNDS).status_code == 200
        return len(seen)

    first = opened(campaign)
    few = queries()
    judged(first)
    decide(close_dry_run(first, by=None), FIGURES, by=None)
    second = opened(campaign)
    judged(second)
    decide(close_dry_run(second, by=None), FIGURES, by=None)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    assert queries() == few <= 9


def test_a_closed_round_says_under_which_guidelines_it_was_judged(mei: Client, campaign: Campaign) -> None:
    """Whatever holds since; an open one says what holds."""
    round_ = opened(campaign)
    judged(round_, only="ada")
    make_guideline(campaign)
    found = {line.round.kind: line.versions for line in round_lines(campaign, versions=True)}
    assert found["dry_run"] == (2,)
    User.objects.get(username="lin").memberships.update(joined_at=timezone.now())
    judged(round_, only="lin")
    decide(close_dry_run(round_, by=None), FIGURES, by=None)
    make_guideline(campaign)
    found = {line.round.kind: line.versions for line in round_lines(campaign, versions=True)}
    assert found["dry_run"] == (1, 2)
    assert "24 / 24 A1 12/12 fully judged A2 12/12 fully judged 1, 2" in text_of(mei.get(ROUNDS))


# The campaign's page walks through the process


def steps(response: object) -> str:
    page = body_of(response)  # type: ignore[arg-type]
    return page.partition('<ol class="steps"')[2].partition("</ol>")[0]


def next_line(client: Client) -> str:
    return text_of(client.get(HOME)).partition(" Next ")[2][:130]


def test_the_campaigns_page_follows_a_dry_run_to_the_main_round(mei: Client, campaign: Campaign) -> None:
    assert next_line(mei).startswith("Give 40 items to experts")
    round_ = opened(campaign, Gate(coefficient="raw", threshold=0.9))
    judged(round_, only="ada")
    assert next_line(mei).startswith("Dry run 1: 12 of 24 judgements are there. Waiting for A2.")
    assert "12 set aside for dry runs" in text_of(mei.get(HOME))
    judged_by_lin = round_.assignments.filter(expert__username="lin")
    for row in judged_by_lin:
        save(sheet([row]), row.expert_id)
    assert next_line(mei).startswith("Dry run 1: everything is judged. Look at it and close it.")
    round_ = close_dry_run(round_, by=None)
    assert next_line(mei).startswith("Dry run 1 is closed: compute its agreement.")
    decide(round_, FIGURES, by=None)
    assert next_line(mei).startswith("Dry run 1 did not pass its gate: talk about its items")
    second = opened(campaign)
    judged(second)
    decide(close_dry_run(second, by=None), FIGURES, by=None)
    assert next_line(mei).startswith("Give 16 items to experts")
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    main = campaign.rounds.get(kind=Round.Kind.MAIN)
    Round.objects.filter(pk=main.pk).update(due_on="2030-12-14")
    shown = steps(mei.get(HOME))
    assert '<li class="done">Dry run 2' in shown
    assert '(day 1, due <span class="keep">2030-12-14</span>)' in shown
    assert shown.index("Main round") < shown.index("Spot check") < shown.index("Resolution")
    assert next_line(mei).startswith("The experts judge: 0 of 32 judgements are there. Waiting for A1, A2.")


def test_a_dry_run_gone_on_from_with_a_reason_is_not_ticked(mei: Client, campaign: Campaign) -> None:
    round_ = opened(campaign, Gate(coefficient="raw", threshold=0.9))
    judged(round_)
    decided = decide(close_dry_run(round_, by=None), FIGURES, by=None)
    override(decided, reason="Two outliers.", by=User.objects.get(username="mei"))
    shown = steps(mei.get(HOME))
    assert "(not passed, gone on with a reason)" in text_of(mei.get(HOME))
    assert '<li class="done">Dry run' not in shown


def test_what_only_managers_can_do_next_is_no_order_to_viewers(mei: Client, campaign: Campaign) -> None:
    vera = client_of(User.objects.get(username="vera"))
    assert " Next for the managers Give 40 items to experts" in text_of(vera.get(HOME))
    round_ = opened(campaign)
    assert next_line(vera).startswith("Dry run 1: 0 of 24 judgements are there.")
    judged(round_)
    close_dry_run(round_, by=None)
    assert " Next for the managers Dry run 1 is closed" in text_of(vera.get(HOME))
    assert next_line(mei).startswith("Dry run 1 is closed")


def test_items_set_aside_for_a_dry_run_are_neither_struck_through_nor_counted(
    mei: Client, campaign: Campaign
) -> None:
    opened(campaign)
    page = mei.get(f"{HOME}items/")
    assert text_of(page).count("– – set aside for a dry run") == 12
    assert 'class="withdrawn"' not in body_of(page)


def test_viewers_find_a_part_under_the_tab_of_the_rounds(mei: Client, campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    tab = r'<a href="[^"]*/{}/" aria-current="page"'
    vera = client_of(User.objects.get(username="vera"))
    assert re.search(tab.format("rounds"), body_of(vera.get(f"{HOME}parts/0/")))
    assert re.search(tab.format("assign"), body_of(mei.get(f"{HOME}parts/0/")))


def test_without_a_dry_run_the_step_is_left_out_once_the_main_round_is_on(
    mei: Client, campaign: Campaign
) -> None:
    assert "Dry run" not in steps(mei.get(HOME))
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    assert "Dry run" not in steps(mei.get(HOME))


def test_other_open_rounds_say_whom_they_wait_for(mei: Client, campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    items = list(campaign.items.values_list("pk", flat=True)[:3])
    checker = make_user("chen", password="seven green rivers")
    add_member(campaign, checker, "expert")
    open_round(
        campaign, Round.Kind.SPOT_CHECK, shares=[Share(items=items, experts=[checker])], settings={}, by=None
    )
    page = text_of(mei.get(HOME))
    assert "Spot check 1: 0 of 3 judgements are there. Waiting for A3." in page

    rows = Assignment.objects.filter(round__kind=Round.Kind.SPOT_CHECK)
    rows.update(revision=1, label="1", answered_at=timezone.now())
    page = text_of(mei.get(HOME))
    assert "Spot check 1: everything is judged. Look at what was found, and decide." in page


def test_an_expert_without_a_password_is_to_be_invited(mei: Client, campaign: Campaign) -> None:
    open_dry_run(campaign, experts=["ada", "bo"], n=12, by=None)
    assert "Invite A3: there is work waiting, and no password was set yet." in text_of(mei.get(HOME))


def test_days_are_counted_from_the_first_work(campaign: Campaign) -> None:
    (main,) = round_lines(campaign)
    assert (main.day, main.waiting, main.late) == (None, [], False)
    opened(campaign)
    (_main, dry) = round_lines(campaign)
    assert (dry.day, [share.member.pseudonym for share in dry.waiting]) == (1, ["A1", "A2"])


def test_a_dry_run_that_is_handed_in_asks_for_no_labels(campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_, only="ada")
    ada = client_of(User.objects.get(username="ada"))
    index = round_.parts.get().index
    ada.post(f"/campaigns/main/parts/{index}/hand-in/")
    assert HandIn.objects.filter(part__round=round_).count() == 1
    assert not Job.objects.exists()


class TestSteps:
    """What a step says is what the database holds, whatever the others say."""

    def states(self, campaign: Campaign) -> dict[str, str]:
        return {step.name: step.state for step in overview(campaign).steps}

    def to_the_labels(self, campaign: Campaign) -> None:
        assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
        judged(campaign.rounds.get(kind=Round.Kind.MAIN))
        for part in campaign.rounds.get(kind=Round.Kind.MAIN).parts.all():
            HandIn.objects.bulk_create(
                HandIn(part=part, expert=User.objects.get(username=name)) for name in ("ada", "lin")
            )
        finalize(campaign)

    def test_a_release_is_done_once_there_is_one(self, mei: Client, campaign: Campaign) -> None:
        self.to_the_labels(campaign)
        assert self.states(campaign)["release"] == "now"
        freeze(campaign, "v1", wish=SplitWish(), by=None)
        assert self.states(campaign) == {
            "items": "done", "dry_run": "none", "main": "done", "spot_check": "none", "resolution": "none",
            "labels": "done", "release": "done",
        }  # fmt: skip
        shown = steps(mei.get(HOME))
        assert '<li class="done">Release' in shown
        assert "aria-current" not in shown
        assert next_line(mei).startswith("The final labels are there.")

    def test_a_release_stays_one_when_work_begins_again(
        self, mei: Client, campaign: Campaign, tmp_path: Path
    ) -> None:
        self.to_the_labels(campaign)
        freeze(campaign, "v1", wish=SplitWish(), by=None)
        load_rows(campaign, triples(44), tmp_path)
        assert self.states(campaign) == {
            "items": "done", "dry_run": "none", "main": "now", "spot_check": "later", "resolution": "later",
            "labels": "later", "release": "done",
        }  # fmt: skip

    def test_a_spot_check_beside_the_main_round_is_under_way_and_then_done(
        self, mei: Client, campaign: Campaign
    ) -> None:
        assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
        checker = make_user("chen", password="seven green rivers")
        add_member(campaign, checker, "expert")
        share = Share(items=list(campaign.items.values_list("pk", flat=True)[:2]), experts=[checker])
        round_ = open_round(campaign, Round.Kind.SPOT_CHECK, shares=[share], settings={}, by=None)
        assert (self.states(campaign)["main"], self.states(campaign)["spot_check"]) == ("now", "open")
        assert "Spot check (under way)" in text_of(mei.get(HOME)).replace("  ", " ")
        close_round(round_, outcome={"decision": "accept"}, by=None)
        assert self.states(campaign)["spot_check"] == "done"

    def test_a_resolution_is_not_done_while_items_contrast_that_nothing_has_settled(
        self, campaign: Campaign
    ) -> None:
        def resolution(contrasts: int) -> str:
            found = overview(campaign).steps_with(contrasts=contrasts)
            return next(step.state for step in found if step.name == "resolution")

        self.to_the_labels(campaign)
        assert (resolution(0), resolution(5)) == ("none", "unsettled")
        share = Share(items=[campaign.items.earliest("pk").pk], experts=[User.objects.get(username="ada")])
        close_round(
            open_round(campaign, Round.Kind.RESOLUTION, shares=[share], settings={}, by=None),
            outcome={},
            by=None,
        )
        assert (resolution(0), resolution(5)) == ("done", "unsettled")

    def test_labels_are_not_done_while_answers_are_to_come(self, campaign: Campaign) -> None:
        assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
        finalize(campaign)  # all of them incomplete
        assert self.states(campaign)["labels"] == "later"
