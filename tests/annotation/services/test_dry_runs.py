"""Dry runs: planned, opened once, blind, taken back or closed; and the main round waits for their decision."""

import threading
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from annotation.models import Assignment, AuditEntry, Campaign, Gold, Item, Membership, Round, Surplus, User
from annotation.protocol.errors import ProtocolError
from annotation.services.dry_runs import (
    Bound,
    Decision,
    Gate,
    Source,
    close_dry_run,
    decide,
    decision_of,
    last_dry_run,
    open_dry_run,
    override,
    plan_dry_run,
    reopen_dry_run,
    take_back,
)
from annotation.services.errors import KeptAside, Refused
from annotation.services.exports import names_of, table, take
from annotation.services.items import restore, withdraw
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts, plan_parts
from annotation.services.peeks import open_answers
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    save,
    sheet,
    triple_campaign,
    triples,
)

pytestmark = pytest.mark.django_db

THREE = ["ada", "bo", "chen"]
FIGURES = {"value": 0.7, "ci95": [0.5, 0.9], "n": 12, "reason": None, "signature": "agreement"}


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Forty triples of ten relations."""
    return triple_campaign(tmp_path, 40)


def opened(campaign: Campaign, n: int | None = 12, **more: Any) -> Round:
    return open_dry_run(campaign, experts=THREE, n=n, by=None, **more)


def positions(round_: Round) -> list[int]:
    found = round_.assignments.order_by("item__position").values_list("item__position", flat=True)
    return list(dict.fromkeys(found))


def judged(round_: Round) -> None:
    """Everybody answers all that they were given in this round."""
    for row in round_.assignments.filter(withdrawn_at__isnull=True):
        save(sheet([row]), row.expert_id)


def closed(round_: Round, figures: dict[str, Any] | None = None) -> Round:
    """Judged by all, closed, and decided."""
    judged(round_)
    return decide(close_dry_run(round_, by=None), figures or FIGURES, by=None)


# Planning


def test_a_plan_tells_who_judges_what_and_stores_nothing(campaign: Campaign) -> None:
    planned = plan_dry_run(campaign, experts=THREE, n=12)
    assert (planned.n_units, len(planned.items), planned.experts) == (12, 12, tuple(THREE))
    assert [(one.available, one.drawn >= 1) for one in planned.sample.strata] == [(4, True)] * 10
    assert not Round.objects.filter(kind=Round.Kind.DRY_RUN).exists()
    assert not User.objects.exists()
    assert planned.hash != plan_dry_run(campaign, experts=THREE, n=12, seed=1).hash
    assert planned.hash == plan_dry_run(campaign, experts=THREE, n=12).hash


def test_by_default_it_takes_what_is_usual_or_all_there_is(campaign: Campaign, tmp_path: Path) -> None:
    assert plan_dry_run(campaign, experts=THREE).n_units == 40
    large = triple_campaign(tmp_path, 90, slug="large")
    assert plan_dry_run(large, experts=THREE).n_units == 60
    words = new_campaign("compound", slug="words")
    load_rows(words, compounds(30), tmp_path)
    planned = plan_dry_run(words, experts=THREE)
    assert (planned.n_units, len(planned.items)) == (24, 120)  # whole compounds
    assert [one.name for one in planned.sample.strata] == ["NP"]


def test_compounds_are_drawn_over_all_patterns(tmp_path: Path) -> None:
    words = new_campaign("compound", slug="words")
    patterns = [f"{kind}:{rest}" for kind in ("NP", "VP", "PP") for rest in PATTERNS]
    rows = [
        {**row, "type": pattern[:2], "pattern": pattern, "item_id": f"{row['item_id']}-{at}",
         "compound": f"{row['compound']} {at}", "source": f"{row['source']} {at}"}
        for at, pattern in enumerate(patterns)
        for row in compounds(4)
    ]  # fmt: skip
    load_rows(words, rows, tmp_path)
    planned = plan_dry_run(words, experts=THREE)
    assert {one.name: (one.drawn, one.available) for one in planned.sample.strata} == dict.fromkeys(
        patterns, (2, 4)
    )


PATTERNS = ("DET+N", "DET+ADJ+N", "DET+N+MOD", "DET+ADJ+N+MOD")


@pytest.mark.parametrize(
    ("experts", "asked", "said"),
    [
        (["ada"], {}, "name at least two experts"),
        (["ada", "ADA"], {}, "are one person"),
        (THREE, {"n": 41}, "cannot be drawn from 40 units: ask for 10 to 40"),
        (THREE, {"n": 9}, "ask for 10 to 40"),
        (THREE, {"seed": -1}, "A seed is a whole number"),
        (THREE, {"gate": Gate(coefficient="raw", threshold=1.5)}, "between −1 and 1"),
    ],
)
def test_it_refuses_with_what_would_work(
    campaign: Campaign, experts: list[str], asked: dict[str, Any], said: str
) -> None:
    with pytest.raises((Refused, ProtocolError)) as refused:
        plan_dry_run(campaign, experts=experts, **asked)
    assert said in str(getattr(refused.value, "message", ""))


def test_it_draws_fresh_units_only(campaign: Campaign) -> None:
    first = closed(opened(campaign, 12))
    second = closed(opened(campaign, 12))
    assert (first.number, second.number) == (1, 2)
    assert set(positions(first)).isdisjoint(positions(second))
    exposed = closed(opened(campaign, 10, source=Source.EXPOSED))
    assert not set(positions(exposed)) & {*positions(first), *positions(second)}
    with pytest.raises(ProtocolError, match="from 6 units"):
        opened(campaign, 7)


def test_what_the_main_round_gave_and_gold_items_are_not_drawn(campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, sample=20)
    given = set(Assignment.objects.values_list("item", flat=True))
    gold = Item.objects.exclude(pk__in=given).first()
    assert gold is not None
    Gold.objects.create(item=gold, label="1")
    planned = plan_dry_run(campaign, experts=THREE, n=19)
    assert set(planned.items) == set(
        Item.objects.exclude(pk__in={*given, gold.pk}).values_list("pk", flat=True)
    )


# Opening


def test_everybody_judges_the_same_units_and_they_are_set_aside(campaign: Campaign) -> None:
    round_ = opened(
        campaign, gate=Gate(coefficient="alpha_ordinal", threshold=0.6), due_on=date(2026, 12, 14)
    )
    assert (round_.k, round_.due_on) == (3, date(2026, 12, 14))
    assert round_.settings["gate"] == {"coefficient": "alpha_ordinal", "threshold": 0.6, "bound": "value"}
    rows = round_.assignments.values_list("item", "slot", "expert__username")
    assert Counter((slot, name) for _item, slot, name in rows) == {
        (1, "ada"): 12,
        (2, "bo"): 12,
        (3, "chen"): 12,
    }
    items = Item.objects.filter(assignments__round=round_).distinct()
    assert set(items.values_list("retired_why", "exposed_at")) == {("set_aside", None)}
    assert Item.objects.active().count() == 28
    assert campaign.memberships.filter(role=Membership.Role.EXPERT).count() == 3
    assert verify(campaign) == []


def test_or_they_stay_and_are_marked_exposed(campaign: Campaign) -> None:
    round_ = opened(campaign, source=Source.EXPOSED)
    items = Item.objects.filter(assignments__round=round_).distinct()
    assert items.count() == items.filter(retired_at=None, exposed_at__isnull=False).count() == 12
    assert Item.objects.active().count() == 40
    closed(round_)
    assign_parts(campaign, experts=THREE, design="cyclic", seed=1)
    main = Assignment.objects.filter(round__kind=Round.Kind.MAIN)
    assert main.values("item").distinct().count() == 40
    assert verify(campaign) == []


def test_an_expert_is_shown_what_was_set_aside_and_their_answers_are_kept(campaign: Campaign) -> None:
    round_ = opened(campaign)
    ada = User.objects.get(username="ada")
    shown = next_screens(campaign, expert_id=ada.pk, count=50)
    assert len(shown) == 12
    answer_everything(campaign)
    assert next_screens(campaign, expert_id=ada.pk) == []
    rows = list(take(table(campaign, "annotations", names=names_of(campaign, real=False))).rows)
    assert Counter((row["round"], row["annotator"]) for row in rows) == {
        ("dry_run", "A1"): 12, ("dry_run", "A2"): 12, ("dry_run", "A3"): 12,
    }  # fmt: skip
    assert take(table(campaign, "items", names=names_of(campaign, real=False))).total == 28
    assert verify(campaign) == []
    assert round_.number == 1


def test_open_answers_of_a_dry_run_count_what_was_set_aside(campaign: Campaign) -> None:
    opened(campaign)
    assert open_answers(campaign, Round.Kind.DRY_RUN) == 0  # there is nothing to see yet
    row = Assignment.objects.order_by("pk")[0]
    save(sheet([row]), row.expert_id)
    assert open_answers(campaign, Round.Kind.DRY_RUN) == 35
    assert open_answers(campaign) == 0


def test_verify_finds_a_place_that_is_missing(campaign: Campaign) -> None:
    row = opened(campaign).assignments.filter(slot=2).first()
    assert row is not None
    row.delete()
    found = verify(campaign)
    assert [one.rule for one in found] == ["exactly k experts per item"]
    assert f"position {row.item.position} has 2 experts in the dry_run round, not 3" in found[0].where


def test_a_plan_that_is_no_longer_the_one_shown_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    shown = plan_dry_run(campaign, experts=THREE, n=12)
    load_rows(campaign, triples(45), tmp_path)
    with pytest.raises(Refused, match="changed since this plan was shown"):
        opened(campaign, 12, confirmed_hash=shown.hash)
    assert not Round.objects.filter(kind=Round.Kind.DRY_RUN).exists()
    assert not User.objects.exists()


def test_only_one_is_open_at_a_time(campaign: Campaign) -> None:
    opened(campaign)
    with pytest.raises(Refused, match="Dry run 1 is still open; close it before you open another"):
        opened(campaign)
    assert Round.objects.filter(kind=Round.Kind.DRY_RUN).count() == 1


def test_what_fails_half_way_leaves_nothing(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: Any, **_more: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("annotation.services.dry_runs._items_of", broken)
    with pytest.raises(RuntimeError):
        opened(campaign)
    assert not Round.objects.filter(kind=Round.Kind.DRY_RUN).exists()
    assert not User.objects.exists()
    assert Item.objects.active().count() == 40


@pytest.mark.django_db(transaction=True)
def test_two_managers_at_once_open_one(campaign: Campaign) -> None:
    start = threading.Barrier(2)
    said: list[str] = []

    def one() -> None:
        try:
            start.wait(10)
            said.append(f"dry run {opened(campaign).number}")
        except Refused as refusal:
            said.append(refusal.message)
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(said) == ["Dry run 1 is still open; close it before you open another.", "dry run 1"]
    assert Assignment.objects.count() == 36


# Taking back


def test_it_is_taken_back_while_nobody_has_answered(campaign: Campaign) -> None:
    before = list(Item.objects.active().order_by("pk").values_list("pk", flat=True))
    round_ = take_back(opened(campaign), by=None)
    assert decision_of(round_) == Decision.TAKEN_BACK
    assert list(Item.objects.active().order_by("pk").values_list("pk", flat=True)) == before
    assert next_screens(campaign, expert_id=User.objects.get(username="ada").pk) == []
    assert verify(campaign) == []
    assert take_back(round_, by=None).outcome == round_.outcome  # repeated
    assert AuditEntry.objects.filter(action="round closed").count() == 1
    assign_parts(campaign, experts=THREE, design="cyclic", seed=1)  # nothing holds the main round up
    assert last_dry_run(campaign) is None


def test_its_units_may_be_drawn_again_and_stay_out_of_the_run_taken_back(campaign: Campaign) -> None:
    first = opened(campaign, source=Source.EXPOSED)
    took = positions(first)
    take_back(first, by=None)
    assert not Item.objects.filter(exposed_at__isnull=False).exists()
    second = opened(campaign)
    assert (second.number, positions(second)) == (2, took)
    take_back(second, by=None)
    item = Item.objects.get(position=took[0])
    withdraw(campaign, item.pk, reason="broken", by=make_user("mei"))
    restore(campaign, item.pk, by=User.objects.get(username="mei"))
    assert not Assignment.objects.filter(item=item, withdrawn_at__isnull=True).exists()
    assert verify(campaign) == []


def test_it_is_not_taken_back_once_somebody_has_answered(campaign: Campaign) -> None:
    round_ = opened(campaign)
    row = round_.assignments.order_by("pk")[0]
    save(sheet([row]), row.expert_id)
    with pytest.raises(Refused, match="Somebody has answered in this dry run"):
        take_back(round_, by=None)
    round_.refresh_from_db()
    assert round_.state == Round.State.OPEN
    assert Item.objects.active().count() == 28


def test_an_answer_that_comes_after_is_kept_aside(campaign: Campaign) -> None:
    round_ = opened(campaign)
    row = round_.assignments.order_by("pk")[0]
    take_back(round_, by=None)
    with pytest.raises(KeptAside):
        save(sheet([row]), row.expert_id)
    assert Surplus.objects.get().assignment == row


def test_what_is_set_aside_is_neither_withdrawn_nor_restored_by_itself(campaign: Campaign) -> None:
    mei = make_user("mei")
    item = opened(campaign).assignments.order_by("pk")[0].item
    with pytest.raises(Refused, match="set aside for a dry run, so no figure counts it"):
        withdraw(campaign, item.pk, reason="broken", by=mei)
    with pytest.raises(Refused, match="comes back when the dry run is taken back"):
        restore(campaign, item.pk, by=mei)
    assert Item.objects.get(pk=item.pk).retired_why == Item.Retired.SET_ASIDE


# Files that come later


def test_the_same_file_again_adds_nothing_and_its_judgements_skip_what_is_set_aside(
    campaign: Campaign, tmp_path: Path
) -> None:
    round_ = opened(campaign)
    report = load_rows(campaign, triples(40), tmp_path)
    assert (report.added, report.unchanged) == (0, 40)
    closed(round_)
    rows = [{"label": "1", "annotator": name} for _i in range(40) for name in ("x",)]
    found = judge_rows(campaign, rows, by_position=True)
    assert found.errors == []
    assert len(found.warnings) >= 12
    main = Assignment.objects.filter(round__kind=Round.Kind.MAIN)
    assert main.count() == 28


def test_a_corrected_text_is_set_aside_as_well(campaign: Campaign, tmp_path: Path) -> None:
    item = opened(campaign).assignments.order_by("pk")[0].item
    rows = triples(40)
    rows[item.position - 1]["tail"] = "PersonX burns it"
    load_rows(campaign, rows, tmp_path, on_conflict="replace")
    new = Item.objects.get(position=item.position, tail="PersonX burns it")
    assert new.retired_why == Item.Retired.SET_ASIDE
    assert new.assignments.filter(round__kind=Round.Kind.DRY_RUN, withdrawn_at__isnull=True).count() == 3
    assert verify(campaign) == []


# Closing and deciding


def test_it_closes_once_all_answers_are_in(campaign: Campaign) -> None:
    round_ = opened(campaign)
    with pytest.raises(Refused, match="Nobody has answered in this dry run yet"):
        close_dry_run(round_, by=None)
    answer_everything(campaign)
    round_ = close_dry_run(round_, by=None)
    assert (round_.state, round_.outcome) == (Round.State.CLOSED, {"missing": {}})
    again = close_dry_run(round_, by=None)
    assert again.closed_at == round_.closed_at
    assert AuditEntry.objects.filter(action="round closed").count() == 1


def test_it_may_close_with_an_expert_missing_whose_pseudonym_is_kept(campaign: Campaign) -> None:
    round_ = opened(campaign)
    for row in round_.assignments.exclude(expert__username="bo"):
        save(sheet([row]), row.expert_id)
    with pytest.raises(Refused, match=r"12 answers are still missing \(A2\)"):
        close_dry_run(round_, by=None)
    round_ = close_dry_run(round_, without_missing=True, by=None)
    assert round_.outcome == {"missing": {"A2": 12}}
    assert verify(campaign) == []


@pytest.mark.parametrize(
    ("gate", "figures", "decision"),
    [
        (None, FIGURES, Decision.NO_GATE),
        (Gate(coefficient="raw", threshold=0.7), FIGURES, Decision.PASSED),
        (Gate(coefficient="raw", threshold=0.71), FIGURES, Decision.NOT_PASSED),
        (Gate(coefficient="raw", threshold=0.6, bound=Bound.LOWER), FIGURES, Decision.NOT_PASSED),
        (Gate(coefficient="raw", threshold=0.5, bound=Bound.LOWER), FIGURES, Decision.PASSED),
        (Gate(coefficient="raw", threshold=-1), {**FIGURES, "value": None}, Decision.NOT_PASSED),
        (
            Gate(coefficient="raw", threshold=-1, bound=Bound.LOWER),
            {**FIGURES, "ci95": None},
            Decision.NOT_PASSED,
        ),
    ],
)
def test_the_gate_compares_what_was_fixed_beforehand(
    campaign: Campaign, gate: Gate | None, figures: dict[str, Any], decision: Decision
) -> None:
    round_ = closed(opened(campaign, gate=gate), figures)
    assert decision_of(round_) == decision
    assert round_.outcome is not None
    assert round_.outcome["signature"] == "agreement"
    later = decide(round_, {**FIGURES, "value": 1.0, "ci95": [1.0, 1.0]}, by=None)
    assert later.outcome == round_.outcome  # decided once


def test_an_open_one_is_not_decided(campaign: Campaign) -> None:
    with pytest.raises(Refused, match="close it first"):
        decide(opened(campaign), FIGURES, by=None)


def test_a_gate_that_was_not_passed_is_overridden_with_a_reason(campaign: Campaign) -> None:
    mei = make_user("mei")
    round_ = closed(opened(campaign, gate=Gate(coefficient="raw", threshold=0.9)))
    with pytest.raises(Refused, match="Say in 1 to 1000 characters"):
        override(round_, reason="  ", by=mei)
    round_ = override(round_, reason=" The two outliers left. ", by=mei)
    assert round_.outcome is not None
    assert (decision_of(round_), round_.outcome["reason_to_go_on"], round_.outcome["value"]) == (
        Decision.OVERRIDDEN, "The two outliers left.", 0.7,
    )  # fmt: skip
    assert override(round_, reason="Another", by=mei).outcome == round_.outcome
    assert AuditEntry.objects.filter(action="dry run gate overridden").count() == 1


def test_a_gate_that_was_passed_needs_no_reason(campaign: Campaign) -> None:
    with pytest.raises(Refused, match="not passed"):
        override(closed(opened(campaign)), reason="Why not", by=make_user("mei"))


def test_it_is_opened_again_for_who_comes_late(campaign: Campaign) -> None:
    round_ = closed(opened(campaign))
    round_ = reopen_dry_run(round_, by=None)
    assert (str(round_.state), round_.outcome) == (Round.State.OPEN, None)
    assert reopen_dry_run(round_, by=None).state == Round.State.OPEN
    round_ = decide(close_dry_run(round_, by=None), FIGURES, by=None)
    second = closed(opened(campaign))
    with pytest.raises(Refused, match="Only the last dry run"):
        reopen_dry_run(round_, by=None)
    assign_parts(campaign, experts=THREE, design="cyclic", seed=1)
    with pytest.raises(Refused, match="The main round has begun"):
        reopen_dry_run(second, by=None)


# The main round waits


def test_parts_are_given_out_once_the_last_dry_run_is_decided(campaign: Campaign) -> None:
    def give_out() -> None:
        assign_parts(campaign, experts=THREE, design="cyclic", seed=1)

    first = opened(campaign, gate=Gate(coefficient="raw", threshold=0.9))
    with pytest.raises(Refused, match="Dry run 1 is open: parts of the main round"):
        give_out()
    answer_everything(campaign)
    first = close_dry_run(first, by=None)
    with pytest.raises(Refused, match="agreement of dry run 1 was not computed yet"):
        give_out()
    decide(first, FIGURES, by=None)
    with pytest.raises(Refused, match="Dry run 1 did not pass its gate"):
        give_out()
    second = opened(campaign, 10)
    with pytest.raises(Refused, match="Dry run 2 is open"):
        give_out()
    closed(second)
    assert plan_parts(campaign, experts=THREE, design="cyclic", seed=1).parts[0].n_items == 6
    give_out()
    assert Assignment.objects.filter(round__kind=Round.Kind.MAIN).count() == 36
    assert verify(campaign) == []


def test_final_labels_leave_out_what_was_set_aside(campaign: Campaign) -> None:
    closed(opened(campaign))
    assign_parts(campaign, experts=THREE, design="cyclic", seed=1)
    judged(campaign.rounds.get(kind=Round.Kind.MAIN))
    finalize(campaign)
    labelled = set(Item.objects.filter(final_label__isnull=False).values_list("pk", flat=True))
    assert labelled == set(Item.objects.active().values_list("pk", flat=True))
    assert len(labelled) == 28


@pytest.mark.django_db(transaction=True)
def test_an_answer_at_the_moment_of_taking_back_is_counted_or_kept_aside(campaign: Campaign) -> None:
    round_ = opened(campaign)
    row = round_.assignments.order_by("pk")[0]
    start = threading.Barrier(2)
    said: list[str] = []

    def at_once(act: Callable[[], object]) -> None:
        try:
            start.wait(10)
            act()
        except Refused as refusal:  # KeptAside is one
            said.append(type(refusal).__name__)
        finally:
            connection.close()

    acts: list[Callable[[], object]] = [
        lambda: take_back(round_, by=None),
        lambda: save(sheet([row]), row.expert_id),
    ]
    threads = [threading.Thread(target=at_once, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    row.refresh_from_db()
    round_.refresh_from_db()
    if row.revision:  # the answer came first
        assert (said, str(round_.state), Surplus.objects.count()) == (["Refused"], Round.State.OPEN, 0)
    else:
        assert (said, decision_of(round_), Surplus.objects.count()) == (["KeptAside"], Decision.TAKEN_BACK, 1)
    assert verify(campaign) == []
