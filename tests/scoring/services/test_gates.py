"""The gate of a dry run: its figures are those of the report, nothing is told before it closes, items are ranked."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, AuditEntry, Campaign, Round, User
from annotation.services.dry_runs import (
    Bound,
    Decision,
    Gate,
    Source,
    decision_of,
    open_dry_run,
    override,
    take_back,
)
from annotation.services.errors import Refused
from annotation.services.parts import assign_parts
from scoring.services import gates
from scoring.services.doubles import doubles_of
from scoring.services.gates import close_and_decide, decide_now, gate, ranking
from scoring.services.gather import choose_run
from scoring.services.measure import report
from scoring.services.options import Options
from tests.factories import make_user
from tests.material import (
    compounds,
    load_rows,
    new_campaign,
    run,
    run_json,
    save,
    sheet,
    triple_campaign,
)

pytestmark = pytest.mark.django_db

THREE = ["ada", "bo", "chen"]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return triple_campaign(tmp_path, 40)


def opened(campaign: Campaign, n: int = 12, **more: Any) -> Round:
    return open_dry_run(campaign, experts=THREE, n=n, by=None, **more)


def places(round_: Round) -> list[int]:
    found = round_.assignments.order_by("item__position").values_list("item__position", flat=True)
    return list(dict.fromkeys(found))


def judged(
    round_: Round, labels: Mapping[int, tuple[str, ...]] | None = None, *, leave_out: str = ""
) -> None:
    """Everybody says 1, but where `labels` gives the answers of the three by the item's place in the round."""
    place = {position: at for at, position in enumerate(places(round_))}
    rows = round_.assignments.select_related("item", "expert").filter(withdrawn_at__isnull=True)
    for row in rows:
        if row.expert.username == leave_out:
            continue
        said = (labels or {}).get(place[row.item.position], ("1",) * 3)[row.slot - 1]
        save(sheet([row], said), row.expert_id)


SOME = {
    0: ("1", "0", "1"),
    1: ("1", "0.5", "1"),
    2: ("0", "0.5", "1"),
    3: ("0", "0", "0"),
    4: ("0.5", "0.5", "0.5"),
}


def test_the_figures_are_those_of_the_report(campaign: Campaign) -> None:
    round_ = opened(campaign, gate=gate("alpha_ordinal", 0.9))
    judged(round_, SOME)
    round_ = close_and_decide(round_, by=None)
    found = report(campaign, "agreement", Options(round=Round.Kind.DRY_RUN))
    assert round_.outcome is not None
    expected = found["coefficients"]["alpha_ordinal"]
    assert {name: round_.outcome[name] for name in ("value", "ci95", "n")} == {
        name: expected[name] for name in ("value", "ci95", "n")
    }
    assert round_.outcome["signature"] == found["signature"]
    assert (found["n_items"], found["number"], found["exposed"]) == (12, 1, 0)
    assert expected["value"] < 0.9
    assert decision_of(round_) == Decision.NOT_PASSED


def test_a_gate_on_the_lower_end_is_stricter(campaign: Campaign) -> None:
    round_ = opened(campaign, gate=gate("raw", 0.7, "lower"))
    judged(round_, SOME)
    round_ = close_and_decide(round_, by=None)
    assert round_.outcome is not None
    low, _high = round_.outcome["ci95"]
    assert low < 0.7 < round_.outcome["value"]
    assert decision_of(round_) == Decision.NOT_PASSED


def test_an_undefined_agreement_does_not_pass_and_says_why(campaign: Campaign) -> None:
    round_ = opened(campaign, gate=gate("alpha_nominal", 0.1))
    judged(round_)  # one category only
    round_ = close_and_decide(round_, by=None)
    assert round_.outcome is not None
    assert round_.outcome["value"] is None
    assert "only one category" in round_.outcome["reason"]
    assert decision_of(round_) == Decision.NOT_PASSED


def test_with_an_expert_missing_the_others_count(campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_, SOME, leave_out="chen")
    with pytest.raises(Refused, match=r"12 answers are still missing \(A3\)"):
        close_and_decide(round_, by=None)
    round_ = close_and_decide(round_, without_missing=True, by=None)
    assert round_.outcome is not None
    assert (round_.outcome["missing"], round_.outcome["n"]) == ({"A3": 12}, 12)
    assert decision_of(round_) == Decision.NO_GATE


def test_what_failed_between_closing_and_deciding_is_made_up_for(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    round_ = opened(campaign)
    judged(round_, SOME)
    with monkeypatch.context() as patched:
        patched.setattr(gates, "_figures", lambda _round: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            close_and_decide(round_, by=None)
    round_.refresh_from_db()
    assert (round_.state, decision_of(round_)) == (Round.State.CLOSED, None)
    with pytest.raises(Refused, match="was not computed yet"):
        assign_parts(campaign, experts=THREE, design="cyclic", seed=1)
    decided = decide_now(round_, by=None)
    assert decision_of(decided) == Decision.NO_GATE
    assert decide_now(decided, by=None).outcome == decided.outcome
    assert close_and_decide(decided, by=None).outcome == decided.outcome


@pytest.mark.django_db(transaction=True)
def test_two_managers_who_close_at_once_get_one_decision(campaign: Campaign) -> None:
    round_ = opened(campaign, gate=gate("raw", 0.9))
    judged(round_, SOME)
    start = threading.Barrier(2)
    outcomes: list[object] = []

    def close() -> None:
        try:
            start.wait(10)
            outcomes.append(close_and_decide(round_, by=None).outcome)
        finally:
            connection.close()

    threads = [threading.Thread(target=close) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(outcomes) == 2
    assert outcomes[0] == outcomes[1]
    actions = AuditEntry.objects.filter(action__in=["round closed", "dry run decided"])
    assert sorted(actions.values_list("action", flat=True)) == ["dry run decided", "round closed"]


def test_nothing_is_told_while_it_is_open(campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_, SOME, leave_out="chen")
    with pytest.raises(Refused, match="shown once the dry run is closed"):
        ranking(round_)
    with pytest.raises(Refused, match="close it first"):
        decide_now(round_, by=None)


def test_items_are_ranked_by_how_far_the_experts_differ(campaign: Campaign) -> None:
    round_ = opened(campaign)
    judged(round_, SOME)
    place = places(round_)
    close_and_decide(round_, by=None)
    with CaptureQueriesContext(connection) as few:
        found = ranking(Round.objects.select_related("campaign").get(pk=round_.pk))
    assert len(few) <= 4
    assert [line.item.position for line in found.items] == [place[0], place[2], place[1]]
    assert [line.disagreement for line in found.items] == pytest.approx([2 / 3, 0.5, 1 / 6])
    assert found.people == ("A1", "A2", "A3")
    assert [(one.pseudonym, one.label) for one in found.items[0].answers] == [
        ("A1", "1"), ("A2", "0"), ("A3", "1"),
    ]  # fmt: skip
    assert (found.alike, found.left_out) == (9, 0)


def test_a_gate_must_be_one_there_is() -> None:
    with pytest.raises(Refused, match="There is no gate on “cohen”; choose one of raw, fleiss"):
        gate("cohen", 0.5)
    with pytest.raises(Refused, match="say value or lower"):
        gate("raw", 0.5, "upper")
    assert gate("raw", 0.5, "lower") == Gate(coefficient="raw", threshold=0.5, bound=Bound.LOWER)


# Reports


def test_the_report_is_of_the_last_dry_run_unless_one_is_named(campaign: Campaign) -> None:
    first, labels = opened(campaign), {0: ("1", "0", "1")}
    judged(first, labels)
    close_and_decide(first, by=None)
    second = opened(campaign, 10)
    judged(second)
    close_and_decide(second, by=None)
    last = run_json("report", campaign.slug, "--kind", "agreement", "--round", "dry_run")
    assert (last["number"], last["n_items"], last["coefficients"]["raw"]["value"]) == (2, 10, 1)
    named = run_json("report", campaign.slug, "--kind", "agreement", "--round", "dry_run", "--number", 1)
    assert (named["number"], named["n_items"]) == (1, 12)
    assert named["coefficients"]["raw"]["value"] < 1
    ran = run("report", campaign.slug, "--kind", "agreement", "--round", "dry_run", "--number", 3)
    assert (ran.code, "no round 3 of this kind" in ran.err) == (1, True)


def test_exposed_items_count_in_no_agreement_of_the_main_round(campaign: Campaign) -> None:
    round_ = opened(campaign, source=Source.EXPOSED)
    judged(round_, SOME)
    close_and_decide(round_, by=None)
    assert report(campaign, "agreement", Options(round=Round.Kind.DRY_RUN))["n_items"] == 12
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    exposed = set(places(round_))
    for row in Assignment.objects.filter(round__kind=Round.Kind.MAIN).select_related("item"):
        differs = row.item.position in exposed and row.slot == 2
        save(sheet([row], "0" if differs else "1"), row.expert_id)
    found = report(campaign, "agreement", Options())
    assert (found["n_items"], found["exposed"]) == (28, 12)
    assert found["coefficients"]["raw"]["value"] == 1  # all that differs was exposed
    printed = run("report", campaign.slug, "--kind", "agreement").out
    assert "Left out, since they were talked about in a dry run before: 12 items." in printed


def test_exposed_items_say_nothing_of_the_experts_noise(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(6), tmp_path, system="base")
    round_ = open_dry_run(campaign, experts=["ada", "bo"], n=2, source=Source.EXPOSED, by=None)
    for rows in screens(round_):
        save(sheet(rows, "1"), rows[0].expert_id)
    close_and_decide(round_, by=None)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    for rows in screens(campaign.rounds.get(kind=Round.Kind.MAIN)):
        save(sheet(rows, "1"), rows[0].expert_id)
    found = doubles_of(choose_run(campaign))
    assert found is not None
    assert len(found[0].unit) == 4 * 5 * 2


def screens(round_: Round) -> list[list[Assignment]]:
    found: dict[tuple[int, int], list[Assignment]] = {}
    for row in round_.assignments.order_by("expert", "position", "row"):
        found.setdefault((row.expert_id, row.position), []).append(row)
    return list(found.values())


def test_the_methods_paragraph_tells_of_every_dry_run(campaign: Campaign) -> None:
    first = opened(campaign, gate=gate("raw", 0.95, "lower"))
    judged(first, SOME, leave_out="chen")
    override(
        close_and_decide(first, without_missing=True, by=None), reason="One is ill.", by=make_user("mei")
    )
    take_back(opened(campaign, 10), by=None)
    judged(opened(campaign, 10, source=Source.EXPOSED))
    said = report(campaign, "methods", Options())["text"]["en"]
    assert (
        "In dry run 1, 3 experts judged the same 12 units (set aside): raw agreement 0.75 ["
        in said.replace("0.7500", "0.75")
    )
    assert (
        "The gate, for raw agreement a lower end of the interval of 0.95 or more, was not passed, gone on with a "
        "reason. It was closed with answers of experts missing: 1."
    ) in said
    assert "dry run 2" not in said  # taken back
    assert "dry run 3" not in said  # open


# The command


def test_the_command_shows_a_plan_and_opens_it(campaign: Campaign) -> None:
    asked = ("dry_run", campaign.slug, "--experts", "ada,bo", "--n", 12, "--gate", "raw", "--threshold", 0.7)
    shown = run_json(*asked, "--preview")
    assert not Round.objects.filter(kind=Round.Kind.DRY_RUN).exists()
    assert (shown["n_units"], shown["n_items"], shown["source"]) == (12, 12, "set_aside")
    assert shown["gate"] == {"coefficient": "raw", "threshold": 0.7, "bound": "value"}
    made = run_json(*asked)
    assert {name: made[name] for name in shown} == shown
    assert made["number"] == 1
    assert [one["expert"] for one in made["invitations"]] == ["ada", "bo"]
    again = run(*asked)
    assert (again.code, "Dry run 1 is still open" in again.err) == (1, True)


def test_the_command_says_how_it_is_called(campaign: Campaign) -> None:
    both = run("dry_run", campaign.slug, "--experts", "ada,bo", "--gate", "raw")
    assert (both.code, "A gate needs both" in both.err) == (2, True)
    either = run("dry_run", campaign.slug, "--experts", "ada,bo", "--exposed", "--set-aside")
    assert (either.code, "either set aside or exposed" in either.err) == (2, True)
    told = run("dry_run", campaign.slug, "--experts", "ada,bo", "--exposed", "--preview").out
    assert "They stay in the campaign, and out of agreement." in told
    assert "40 units, 40 items, seed 7, judged by ada, bo" in told
    assert not User.objects.exists()


def test_who_has_a_password_gets_no_link(campaign: Campaign) -> None:
    make_user("ada", password="seven green rivers")
    made = run_json("dry_run", campaign.slug, "--experts", "ada,bo", "--n", 10)
    assert [one["expert"] for one in made["invitations"]] == ["bo"]
