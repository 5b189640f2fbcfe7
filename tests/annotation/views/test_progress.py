"""Progress, pay statements and the hours file, as managers see them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.factories import Cast, make_annotation, make_assignment, make_cast, make_part, make_triple
from tests.pages import client_of, text_of

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
    assert "unknown: There are fewer than 3 days of work to go by." in page
    assert "3 min" in page
    assert "ada" not in page


def test_a_pay_statement_says_the_rule(cast: Cast) -> None:
    place = cast.campaign.memberships.get(user=cast.ada).pk
    page = text_of(client_of(cast.mei).get(f"{PAGE}hours/{place}/"))

    assert "Hours of A1" in page
    assert "at most 2 minutes each" in page
    assert client_of(cast.mei).get(f"{PAGE}hours/999999/").status_code == 404


def test_the_hours_file_has_a_line_a_day(cast: Cast) -> None:
    sent = b"".join(client_of(cast.mei).get(f"{PAGE}hours.csv")).decode("utf-8-sig")

    lines = sent.strip().splitlines()
    assert lines[0].startswith("expert,day,screens,")
    assert len(lines) == 4
    assert all(line.startswith("A1,") for line in lines[1:])
