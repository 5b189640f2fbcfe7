"""The methods paragraph names every round in which somebody answered beside the main one."""

from pathlib import Path

import pytest

from annotation.models import Round, User
from annotation.services.rounds import Share, close_round, open_round
from scoring.services.later_round_methods import later_round_sentences
from tests.factories import answer
from tests.material import triple_campaign

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
