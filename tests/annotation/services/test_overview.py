"""The overview counts what people did in all rounds, and tells labels that are older than their answers."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Assignment, Round
from annotation.services.items import Wanted, item_page
from annotation.services.labels import finalize
from annotation.services.overview import ExpertLine, overview
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_judged,
    make_part,
    make_repeat,
    make_triple,
    save_label,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def of_ada(cast: Cast) -> ExpertLine:
    return next(line for line in overview(cast.campaign).experts if line.member.user == cast.ada)


def test_marks_reports_and_the_last_answer_are_those_of_all_rounds(cast: Cast) -> None:
    guideline = cast.campaign.guidelines.get()
    dry = Round.objects.create(campaign=cast.campaign, kind="dry_run", number=1, k=2, guideline=guideline)
    row = make_assignment(
        make_triple(cast.campaign, 1), cast.ada, round=dry, part=make_part(dry, index=10_000)
    )
    at = timezone.now() - timedelta(days=3)
    make_annotation(row, at=at, unsure=True, problem="text_broken")
    main = make_assignment(
        make_triple(cast.campaign, 2), cast.ada, part=make_part(cast.campaign.rounds.get(kind="main"))
    )

    before = of_ada(cast)
    later = at + timedelta(days=1)
    make_annotation(main, at=later, unsure=True)
    make_annotation(make_repeat(main, position=90), at=later + timedelta(days=1), unsure=True)
    after = of_ada(cast)

    assert (before.unsure, before.problems, before.last_at) == (1, 1, at)
    assert (before.answered, before.given) == (0, 1)
    assert (after.unsure, after.problems, after.last_at) == (3, 1, later + timedelta(days=1))
    assert (after.answered, after.given) == (1, 1)


def test_a_reason_that_holds_no_more_is_not_told_beside_what_is_stale(cast: Cast) -> None:
    make_judged(cast, ("1", "1"), ("1", None), ("1", None), (None, None))
    finalize(cast.campaign)
    second, third = Assignment.objects.filter(expert=cast.lin, answered_at=None).order_by("item__position")[
        :2
    ]

    before = overview(cast.campaign).labels
    save_label(second, "1")
    after = overview(cast.campaign)
    save_label(Assignment.objects.get(item__position=4, expert=cast.ada), "1")
    half = overview(cast.campaign).labels

    assert (before.without, before.stale, before.outdated) == ({"incomplete": 3}, 0, 0)
    assert (after.labels.without, after.labels.stale, after.labels.outdated) == ({"incomplete": 2}, 1, 1)
    assert after.uncomputed == 0
    for state, n in (("incomplete", 2), ("stale", 1)):  # the numbers lead to these lists
        assert len(item_page(cast.campaign, Wanted(state=state)).lines) == n
    # One of its two experts has answered since, and there is no label yet: that is no older than it was.
    assert (half.without, half.stale) == ({"incomplete": 2}, 1)
    assert third.answered_at is None
