"""Repeats that were drawn here count like those that were imported, and in no agreement between experts."""

import pytest

from annotation.models import Annotation, Campaign
from annotation.services.screens import screen_at
from scoring.services.doubles import repeats_of
from scoring.services.measure import report as measure
from scoring.services.options import Options
from tests.annotation.services.test_repeats import (
    answer,
    campaign,
    drawn,
    expert,
    judge,
    near,
    text,
)

__all__ = ["campaign", "near"]  # fixtures

pytestmark = pytest.mark.django_db


def judged_again(campaign: Campaign, label: str) -> set[str]:
    """Ada judges everything that is left, the repeats with this label."""
    again = drawn(campaign, percent=50)
    for _number in range(20 + len(again)):
        (screen,) = judge(campaign, "ada", 1)
        if text(screen) in again:
            found = screen_at(campaign, expert_id=expert("ada").pk, position=screen["position"])
            assert found
            answer(campaign, "ada", found, label=label)
    return again


def test_drawn_repeats_are_compared_with_their_originals(campaign: Campaign) -> None:
    again = judged_again(campaign, "0")

    found = repeats_of(campaign, {expert(name).pk: name for name in ("ada", "lin")})

    assert found
    assert len(found.item) == len(again) == 10
    assert set(found.person) == {"ada"}
    assert list(found.first) == [2] * 10
    assert list(found.again) == [0] * 10


def test_the_original_counts_as_it_stood_when_the_repeat_was_judged(campaign: Campaign) -> None:
    """Ada sees both afterwards, and makes the first like the second."""
    judged_again(campaign, "0")
    campaign.rounds.filter(kind="repeat").update(state="closed")  # until then the originals are out of sight
    for row in expert("ada").assignments.filter(round__kind="main"):
        found = screen_at(campaign, expert_id=expert("ada").pk, position=row.position)
        assert found
        answer(campaign, "ada", found, label="0")

    repeats = repeats_of(campaign, {expert("ada").pk: "ada", expert("lin").pk: "lin"})

    assert repeats
    assert list(repeats.first) == [2] * 10
    assert Annotation.objects.filter(revision=2, assignment__round__kind="main").count() == 40


def test_agreement_between_experts_does_not_know_them(campaign: Campaign) -> None:
    judge(campaign, "lin", 40)
    judged_again(campaign, "0")

    document = measure(campaign, "agreement", Options())

    assert document["n_items"] == 40
    assert document["coefficients"]["raw"]["value"] == 1.0
    assert document["self_consistency"]["overall"]["n_items"] == 10
