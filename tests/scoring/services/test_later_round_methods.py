"""The methods paragraph names every round in which somebody answered beside the main one."""

from pathlib import Path

import pytest

from annotation.models import Campaign, Round, User
from annotation.services.people import add_member
from annotation.services.rounds import Share, close_round, open_round
from annotation.services.spot_checks import Decision
from scoring.services.later_round_methods import later_round_sentences
from scoring.services.spot_checks import acceptance, finish, report_of
from tests.annotation.services.test_repeats import expert
from tests.factories import answer, make_user
from tests.material import triple_campaign
from tests.scoring.services.test_spot_checks import check, member, opened, ready

pytestmark = pytest.mark.django_db


def test_it_tells_of_what_was_judged_again_checked_and_repeated(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 4, experts=["ada", "bo"])
    people = list(User.objects.order_by("username"))
    items = [item.pk for item in campaign.items.order_by("position")]
    opened = {
        kind: open_round(
            campaign, kind, shares=[Share(items=items[:2], experts=experts)], settings={}, by=None
        )
        for kind, experts in (
            (Round.Kind.RESOLUTION, people),
            (Round.Kind.SPOT_CHECK, people[:1]),
            (Round.Kind.REPEAT, people[:1]),
            (Round.Kind.REJUDGEMENT, people),
        )
    }
    assert later_round_sentences(campaign) == []  # nobody has answered
    for round_ in opened.values():
        for row in round_.assignments.all():
            answer(row)
    close_round(opened[Round.Kind.SPOT_CHECK], outcome={"decision": "accept"}, by=None)
    assert [str(sentence) for sentence in later_round_sentences(campaign)] == [
        "After discussion, in resolution 1, the same experts judged 2 items again: 4 answers.",
        "In spot check 1, somebody who had seen no answer to them judged 2 items: accepted.",
        "To measure how far experts agree with themselves, 2 items came to the same expert again without their being "
        "told so: 2 answers; labels and agreement between experts count none of these.",
        "After a change of the guidelines, in re-judgement 1, the same experts judged 2 items again: 4 answers.",
    ]


def told(campaign: Campaign) -> list[str]:
    return [str(sentence) for sentence in later_round_sentences(campaign)]


def test_a_decided_check_stands_with_its_figures_and_its_plan(tmp_path: Path) -> None:
    campaign = ready(tmp_path, 60)
    rule = acceptance(acceptable=5, rejectable=40, alpha=0.05, beta=0.1, lot=60)
    round_ = opened(campaign, n=rule["n"], rule=rule)
    check(campaign, wrong=2)
    (before,) = told(campaign)
    assert before.endswith("items: not decided yet.")
    found = report_of(round_)
    finish(round_, Decision.ACCEPT, reason="Few.", by=expert("mei"))

    judged, figures = told(campaign)

    low, high = found["ci95"]
    assert judged == (
        f"In spot check 1, somebody who had seen no answer to them judged {rule['n']} items: accepted."
    )
    assert figures == (
        f"Of {rule['n']} triples that could be compared, drawn at random from 60, 2 held an error (a judgement a "
        "whole point apart from the checker's, or the opposite verdict): an estimated error rate of "
        f"{found['percent']:.2f} % [{low:.2f}, {high:.2f}] (95 % interval, exact for parts of finite size); the plan, "
        "for an acceptable rate of 5 % against a rejectable one of 40 % with the risks 0.05 and 0.1, accepted at most "
        f"{rule['c']}."
    )


def test_a_check_by_hand_names_no_plan_and_a_stopped_one_no_figure(tmp_path: Path) -> None:
    campaign = ready(tmp_path, 12, protocol="compound")
    first = opened(campaign, n=4)
    check(campaign)
    finish(first, Decision.ACCEPT, reason="None.", by=expert("mei"))
    add_member(campaign, make_user("dora"), "expert")
    second = opened(campaign, n=4, seed=9, checker=member(campaign, "dora"))
    (screen, *_rest) = [*campaign.rounds.get(kind=Round.Kind.SPOT_CHECK, number=2).assignments.all()]
    answer(screen)
    finish(second, Decision.STOPPED, reason="Chen is ill.", by=expert("mei"))

    _judged, figures, stopped = told(campaign)

    assert figures.startswith(
        "Of 4 compounds that could be compared, drawn at random from 12, 0 held an error ("
    )
    assert figures.endswith(
        "; how many to check was chosen by hand, and no plan said how many errors to accept."
    )
    assert stopped.endswith("judged 1 item: stopped.")
