"""Evidence about how experts worked: closed while they judge, opened by a recorded look, never an expert's."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Annotation, AuditEntry
from scoring.services.evidence import evidence_report
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_compound,
    make_part,
    make_triple,
    make_variants,
)
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/reports/evidence/"


def judged(cast: Cast, n: int) -> None:
    """Both judge n triples; Lin says the contrary of every fourth one."""
    part = cast.campaign.rounds.get().parts.first() or make_part(cast.campaign.rounds.get())
    first = cast.campaign.items.count() + 1
    for position in range(first, first + n):
        item = make_triple(cast.campaign, position)
        for slot, expert in enumerate((cast.ada, cast.lin), start=1):
            label = "0" if expert == cast.lin and position % 4 == 0 else "1"
            make_annotation(
                make_assignment(item, expert, slot=slot, part=part),
                label,
                at=timezone.now() + timedelta(seconds=position),
                seconds=5.0,
                active_seconds=4.0,
                session_position=position,
            )


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    judged(cast, 40)
    return cast


def test_it_counts_what_was_planted(cast: Cast) -> None:
    ada, lin = evidence_report(cast.campaign)["experts"]

    assert (ada["expert"], lin["expert"]) == ("A1", "A2")
    assert (ada["most_given"]["label"], ada["most_given"]["percent"]) == ("1", 100.0)
    assert (lin["most_given"]["n"], lin["most_given"]["percent"]) == (40, 75.0)
    assert ada["seconds"] == {"n": 40, "median": 4.0, "quartiles": [4.0, 4.0]}
    assert ada["by_position"][0]["errors"] == lin["by_position"][0]["errors"] == 10
    assert ada["drift"]["difference"] == 0.0
    assert ada["all_first"] is None  # a screen of a triple holds one answer


def test_it_is_closed_while_anybody_judges_and_a_look_is_recorded(cast: Cast) -> None:
    make_assignment(make_triple(cast.campaign, 90), cast.ada)
    client = client_of(cast.mei)

    closed = text_of(client.get(PAGE))
    assert "Median" not in closed
    assert "75" not in closed
    assert not AuditEntry.objects.exists()
    opened = text_of(client.post(PAGE))

    assert "This look is recorded." in opened
    assert "75.00" in opened
    assert AuditEntry.objects.get(action="interim figures").detail["kind"] == "evidence"


def test_once_all_is_judged_it_is_open_and_writes_nothing(cast: Cast) -> None:
    client = client_of(cast.mei)

    page = text_of(client.get(PAGE))

    assert "How experts worked" in page
    assert "always or often" in page.casefold() or "always/often" in page.casefold()
    assert "ada" not in page
    assert not AuditEntry.objects.exists()


def test_it_costs_the_same_for_any_number(cast: Cast) -> None:
    costs = set()
    for _again in range(2):
        with CaptureQueriesContext(connection) as queries:
            evidence_report(cast.campaign)
        costs.add(len(queries))
        judged(cast, 3)

    assert costs == {2}


def test_experts_and_viewers_get_nothing_of_it(cast: Cast) -> None:
    for user in (cast.ada, cast.vera, cast.otto):
        assert client_of(user).get(PAGE).status_code == 404
        assert client_of(user).post(PAGE).status_code == 404


def test_answers_of_files_have_no_time_and_no_drift(cast: Cast) -> None:
    Annotation.objects.update(
        source=Annotation.Source.IMPORT, seconds=None, active_seconds=None, session_position=None
    )
    (ada, _lin) = evidence_report(cast.campaign)["experts"]

    assert ada["seconds"]["reason"] == "No active time was measured."
    assert ada["drift"]["thirds"] == []
    assert all(row["percent"] is None for row in ada["by_position"])
    assert ada["most_given"]["n"] == 40


def test_notes_stand_only_where_they_explain_something(cast: Cast) -> None:
    client = client_of(cast.mei)
    timed = text_of(client.get(PAGE))
    assert ("rest correct" in timed, "quartiles." in timed, "without JavaScript" in timed) == (
        False,
        True,
        False,
    )

    Annotation.objects.update(active_seconds=None)
    untimed = text_of(client.get(PAGE))
    assert ("quartiles." in untimed, "without JavaScript" in untimed) == (False, True)
    assert "No active time was measured." in untimed
    assert "It is not what hours count" in untimed


def test_of_a_compound_screens_are_looked_at_whole() -> None:
    cast = make_cast(protocol="compound")
    part = make_part(cast.campaign.rounds.get())
    for position in (1, 2):
        for item in make_compound(cast.campaign, position):
            row = make_assignment(item, cast.ada, part=part)
            wrong = position == 2 and item.context is not None and item.context.number == 3
            make_annotation(row, "0" if wrong else "1", seconds=9.0, active_seconds=8.0)
    (ada,) = evidence_report(cast.campaign)["experts"]

    assert (ada["all_first"]["n"], ada["all_first"]["errors"]) == (2, 1)
    assert (ada["seconds"]["n"], ada["all_first_seconds"]["n"]) == (10, 5)
    assert "correct" in text_of(client_of(cast.mei).get(PAGE))


def test_a_compound_that_came_on_two_screens_counts_as_two() -> None:
    cast = make_cast(protocol="compound")
    part = make_part(cast.campaign.rounds.get())
    for item in make_compound(cast.campaign, 1):
        for screen, one in enumerate((item, *make_variants(item, 1)), start=1):
            make_annotation(
                make_assignment(one, cast.ada, part=part, position=screen, queue=screen),
                "0" if screen == 2 and item.context is not None and item.context.number == 3 else "1",
            )
    (ada,) = evidence_report(cast.campaign)["experts"]

    assert (ada["all_first"]["n"], ada["all_first"]["errors"]) == (2, 1)


def compounds(cast: Cast, *rests: int | None) -> None:
    """Ada judges a compound for each: how many of its five rows “rest correct” answered, None where nobody wrote it."""
    part = make_part(cast.campaign.rounds.get())
    for position, rest in enumerate(rests, start=1):
        sheet = uuid4()
        for item in make_compound(cast.campaign, position):
            make_annotation(
                make_assignment(item, cast.ada, part=part),
                "1",
                client_key=sheet,
                active_seconds=float(10 * position),
                conditions={} if rest is None else {"rest": rest},
            )


def test_it_tells_how_often_the_key_for_the_rest_answered_and_how_fast() -> None:
    cast = make_cast(protocol="compound", k=1)
    compounds(cast, 5, 0, 4, 0, None)

    (ada,) = evidence_report(cast.campaign)["experts"]
    page = text_of(client_of(cast.mei).get(PAGE))

    assert (ada["rest"]["errors"], ada["rest"]["n"], ada["rest"]["percent"]) == (2, 4, 50.0)
    assert (ada["rest"]["not_recorded"], ada["rest_seconds"]["n"], ada["rest_seconds"]["median"]) == (
        1,
        2,
        20.0,
    )
    assert ada["all_first"]["n"] == 5
    assert "Screens answered with “rest correct” (key a) 50.00 % of 4" in page
    assert "not recorded for 1 more screen" in page
    assert "Whether “rest correct” gave an answer is recorded" in page


def test_of_answers_from_before_it_says_that_it_was_not_recorded() -> None:
    cast = make_cast(protocol="compound", k=1)
    compounds(cast, None, None)

    page = text_of(client_of(cast.mei).get(PAGE))

    assert "(key a) It was not recorded for these answers." in page
    assert "Active time on those" not in page
