"""Progress, pay statements and the hours file, as managers see them."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Assignment, Round
from tests.factories import (
    Cast,
    answer,
    make_annotation,
    make_assignment,
    make_cast,
    make_part,
    make_triple,
)
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/progress/"


@pytest.fixture
def cast() -> Cast:
    """Ada judged one triple on each of three days; one is left, and Lin has done nothing."""
    cast = make_cast()
    part = make_part(cast.campaign.rounds.get())
    for position in range(1, 5):
        item = make_triple(cast.campaign, position)
        row = make_assignment(item, cast.ada, part=part)
        make_assignment(item, cast.lin, slot=2, part=part)
        if position < 4:
            make_annotation(row, at=timezone.now() - timedelta(days=position), seconds=60.0)
    return cast


def test_it_shows_pace_finish_and_hours_without_names(cast: Cast) -> None:
    page = text_of(client_of(cast.mei).get(PAGE))

    assert "A1 3 / 4" in page
    assert "median of 3 days" in page
    assert "There are fewer than 3 days of work to go by." in page
    assert "3 min" in page
    assert "ada" not in page


def test_a_line_leads_to_its_part_or_to_its_round(cast: Cast) -> None:
    round_ = Round.objects.create(
        campaign=cast.campaign, kind="dry_run", number=1, k=2, guideline=cast.campaign.guidelines.get()
    )
    item = make_triple(cast.campaign, 90)
    make_assignment(item, cast.ada, round=round_, part=make_part(round_, index=10_000))
    client = client_of(cast.mei)

    links = re.findall(
        r'<a href="(/campaigns/main/(?:parts|rounds/dry-run)/[^"]+)"', body_of(client.get(PAGE))
    )

    assert set(links) == {"/campaigns/main/parts/1/", "/campaigns/main/rounds/dry-run/1/"}


def test_who_worked_in_rounds_that_are_closed_has_not_been_given_nothing(cast: Cast) -> None:
    """Lin checked a sample and is done; nothing of the main round is theirs."""
    round_ = Round.objects.create(
        campaign=cast.campaign, kind="spot_check", number=1, k=1, guideline=cast.campaign.guidelines.get()
    )
    mine = make_assignment(
        make_triple(cast.campaign, 91), cast.lin, round=round_, part=make_part(round_, index=10_001)
    )
    answer(mine)
    Assignment.objects.filter(expert=cast.lin).exclude(round=round_).update(withdrawn_at=timezone.now())
    client = client_of(cast.mei)

    before = text_of(client.get("/campaigns/main/"))
    Round.objects.filter(pk=round_.pk).update(state="closed", closed_at=timezone.now())
    board, after = text_of(client.get(PAGE)), text_of(client.get("/campaigns/main/"))

    assert "A2 (not signed in yet) – Spot check 1 1/1" in before
    assert "A2 (not signed in yet) – Spot check 1 1/1" in after
    assert "A2 in closed rounds: 1 – nothing open" in board


def test_a_pay_statement_says_the_rule(cast: Cast) -> None:
    place = cast.campaign.memberships.get(user=cast.ada).pk
    page = text_of(client_of(cast.mei).get(f"{PAGE}hours/{place}/"))

    assert "Hours of A1" in page
    assert "at most 2 minutes each" in page
    assert client_of(cast.mei).get(f"{PAGE}hours/999999/").status_code == 404


@pytest.mark.parametrize("protocol", ["triple", "compound"])
def test_experts_and_managers_read_one_rule(protocol: str, db: None) -> None:
    cast = make_cast(protocol=protocol, k=1)
    place = cast.campaign.memberships.get(user=cast.ada).pk

    own, paid = (
        re.search(r"</h2>\s*<ul>(.*?)</ul>", body_of(page), re.DOTALL)
        for page in (
            client_of(cast.ada).get("/campaigns/main/hours/"),
            client_of(cast.mei).get(f"{PAGE}hours/{place}/"),
        )
    )

    assert own
    assert paid
    assert own.group(1) == paid.group(1)


def test_the_hours_file_has_a_line_a_day(cast: Cast) -> None:
    sent = b"".join(client_of(cast.mei).get(f"{PAGE}hours.csv")).decode("utf-8-sig")

    lines = sent.strip().splitlines()
    assert lines[0].startswith("expert,day,screens,")
    assert len(lines) == 4
    assert all(line.startswith("A1,") for line in lines[1:])


def test_what_was_judged_in_a_closed_round_is_closed_though_nobody_handed_it_in(cast: Cast) -> None:
    client = client_of(cast.mei)
    assert "A2 0 / 4 not begun" in text_of(client.get(PAGE))

    cast.campaign.rounds.update(state=Round.State.CLOSED)

    page = text_of(client.get(PAGE))
    assert "A1 3 / 4 ✓ closed" in page
    assert "not begun" not in page
