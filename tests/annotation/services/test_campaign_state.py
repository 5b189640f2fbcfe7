"""Closing a campaign, archiving it, undoing both: which rounds it touches, and who is told why."""

import pytest

from annotation.models import AuditEntry, Round
from annotation.services.campaign_state import (
    archive_campaign,
    close_campaign,
    closing_reason,
    reopen_campaign,
    unarchive_campaign,
)
from annotation.services.errors import Refused
from annotation.services.parts import assign_parts
from annotation.services.rounds import Share, open_round, reopen_round
from annotation.services.screens import next_screens
from tests.factories import Cast, make_assignment, make_cast, make_part, make_triple

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def states(cast: Cast) -> dict[str, str]:
    return dict(cast.campaign.rounds.values_list("kind", "state"))


def test_closing_ends_open_rounds_and_opening_again_opens_just_these(cast: Cast) -> None:
    guideline = cast.campaign.guidelines.get()
    earlier = Round.objects.create(
        campaign=cast.campaign, kind=Round.Kind.DRY_RUN, k=2, guideline=guideline, state=Round.State.CLOSED
    )
    part = make_part(cast.campaign.rounds.get(kind="main"))
    make_assignment(make_triple(cast.campaign, 1), cast.ada, part=part)

    close_campaign(cast.campaign, reason="The money is spent.", by=cast.mei)

    assert states(cast) == {"main": "closed", "dry_run": "closed"}
    assert next_screens(cast.campaign, expert_id=cast.ada.pk) == []
    assert closing_reason(cast.campaign) == "The money is spent."

    reopen_campaign(cast.campaign, by=cast.mei)

    assert states(cast) == {"main": "open", "dry_run": "closed"}
    assert len(next_screens(cast.campaign, expert_id=cast.ada.pk)) == 1
    assert closing_reason(cast.campaign) == ""
    earlier.refresh_from_db()
    assert earlier.closed_at is None


def test_a_closed_campaign_gives_out_no_work(cast: Cast) -> None:
    item = make_triple(cast.campaign, 1)
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)

    with pytest.raises(Refused, match="closed"):
        assign_parts(cast.campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    with pytest.raises(Refused, match="closed"):
        open_round(
            cast.campaign,
            Round.Kind.DRY_RUN,
            shares=[Share(items=[item.pk], experts=[cast.ada, cast.lin])],
            settings={"seed": 1},
            by=cast.mei,
        )
    with pytest.raises(Refused, match="closed"):
        reopen_round(cast.campaign.rounds.get(), by=cast.mei)


def test_only_a_closed_campaign_is_archived_and_an_archived_one_is_not_opened(cast: Cast) -> None:
    with pytest.raises(Refused, match="Close the campaign first"):
        archive_campaign(cast.campaign, by=cast.mei)
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)
    archive_campaign(cast.campaign, by=cast.mei)
    with pytest.raises(Refused, match="archive"):
        reopen_campaign(cast.campaign, by=cast.mei)
    unarchive_campaign(cast.campaign, by=cast.mei)
    reopen_campaign(cast.campaign, by=cast.mei)

    assert cast.campaign.archived_at is None
    assert cast.campaign.closed_at is None
    actions = (
        AuditEntry.objects.filter(campaign=cast.campaign).order_by("pk").values_list("action", flat=True)
    )
    assert list(actions) == [
        "campaign closed",
        "campaign archived",
        "campaign taken out of the archive",
        "campaign opened again",
    ]


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
def test_it_asks_for_a_reason(cast: Cast, reason: str) -> None:
    with pytest.raises(Refused, match="why the campaign is closed"):
        close_campaign(cast.campaign, reason=reason, by=cast.mei)

    assert states(cast) == {"main": "open"}


def test_said_twice_it_is_done_once(cast: Cast) -> None:
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)
    before = cast.campaign.closed_at
    close_campaign(cast.campaign, reason="Done again.", by=cast.mei)

    assert cast.campaign.closed_at == before
    assert AuditEntry.objects.filter(action="campaign closed").count() == 1
    assert closing_reason(cast.campaign) == "Done."


def test_nothing_is_closed_where_writing_it_down_fails(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("no audit")

    monkeypatch.setattr("annotation.services.campaign_state.audit", broken)
    with pytest.raises(RuntimeError):
        close_campaign(cast.campaign, reason="Done.", by=cast.mei)

    cast.campaign.refresh_from_db()
    assert cast.campaign.closed_at is None
    assert states(cast) == {"main": "open"}
