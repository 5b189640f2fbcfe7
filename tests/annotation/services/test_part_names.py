"""What parts are called, round by round, and that hidden repeats go by the part they are mixed into."""

import pytest

from annotation.models import Round
from annotation.services.part_names import part_name
from annotation.services.rounds import FIRST_INDEX, Share, close_round, open_round
from annotation.services.screens import next_screens, progress
from tests.factories import make_assignment, make_campaign, make_part, make_triple, make_user

pytestmark = pytest.mark.django_db


def test_a_part_of_the_main_round_goes_by_its_number() -> None:
    assert part_name(Round.Kind.MAIN, 1, 0) == "Part 1"


def test_other_rounds_go_by_their_own_and_are_counted_where_there_are_several() -> None:
    assert part_name(Round.Kind.DRY_RUN, 2, FIRST_INDEX) == "Dry run 2"
    assert part_name(Round.Kind.RESOLUTION, 1, FIRST_INDEX + 4, place=2, of=3) == "Resolution 1, part 2"


def test_a_repeat_goes_by_the_part_it_is_mixed_into() -> None:
    assert part_name(Round.Kind.REPEAT, 2, 3) == "Part 4"


def test_an_expert_meets_a_round_under_its_name_and_no_more_once_it_is_closed() -> None:
    campaign = make_campaign()
    ada, bo = make_user("ada"), make_user("bo")
    items = [make_triple(campaign, position).pk for position in (1, 2, 3)]
    main = make_triple(campaign, 4)
    make_assignment(main, ada, part=make_part(campaign.rounds.get(), index=0))
    round_ = open_round(
        campaign, Round.Kind.DRY_RUN, shares=[Share(items=items, experts=[ada, bo])], settings={}, by=None
    )
    names = {part["name"]: part["total"] for part in progress(campaign, expert_id=ada.pk)["parts"]}
    assert names == {"Part 1": 1, "Dry run 1": 3}
    assert len(next_screens(campaign, expert_id=bo.pk, count=9)) == 3
    close_round(round_, outcome={"why": "all are in"}, by=None)
    assert [part["name"] for part in progress(campaign, expert_id=ada.pk)["parts"]] == ["Part 1"]
    assert next_screens(campaign, expert_id=ada.pk, count=9)[0]["rows"][0]["head"] == main.head


def test_once_nothing_is_open_an_expert_can_look_at_all_that_was_theirs() -> None:
    campaign = make_campaign()
    ada, bo = make_user("ada"), make_user("bo")
    items = [make_triple(campaign, position).pk for position in (1, 2, 3)]
    main = campaign.rounds.get()
    make_assignment(make_triple(campaign, 4), ada, part=make_part(main, index=0))
    round_ = open_round(
        campaign, Round.Kind.DRY_RUN, shares=[Share(items=items, experts=[ada, bo])], settings={}, by=None
    )
    for one in (round_, main):
        close_round(one, outcome={}, by=None)

    standing = progress(campaign, expert_id=ada.pk)

    assert {part["name"]: (part["total"], part["closed"]) for part in standing["parts"]} == {
        "Part 1": (1, True),
        "Dry run 1": (3, True),
    }
    assert standing["total"] == 4
    assert next_screens(campaign, expert_id=ada.pk, count=9) == []
