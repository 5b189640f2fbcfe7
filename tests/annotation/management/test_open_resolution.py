"""`open_resolution`: the same as on the page, from the command line."""

import pytest

from annotation.services.batches import close_batch
from tests.factories import make_cast, make_judged
from tests.material import run, run_json

pytestmark = pytest.mark.django_db


def test_it_shows_what_it_would_open_and_opens_it() -> None:
    cast = make_cast()
    close_batch(cast.campaign, make_judged(cast, ("1", "0"), ("1", "1"), ("0", "1")).pk, by=cast.mei)

    shown = run_json("open_resolution", "main", "--preview")
    assert (shown["positions"], shown["loads"], shown["round"]) == ([1, 3], {"A1": 2, "A2": 2}, None)
    assert not cast.campaign.rounds.filter(kind="resolution").exists()
    opened = run_json("open_resolution", "main")
    assert (opened["round"], opened["hash"]) == (1, shown["hash"])
    assert cast.campaign.rounds.get(kind="resolution").assignments.count() == 4


def test_it_says_that_there_is_nothing_to_resolve() -> None:
    make_cast()

    ran = run("open_resolution", "main")

    assert ran.code == 1
    assert "nothing to judge" in ran.err


def test_it_says_that_open_batches_do_not_count() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", "0"), ("1", "1"))

    ran = run("open_resolution", "main")
    assert ran.code == 1
    assert "Batches that are not closed do not count here: 1." in ran.err
    assert (
        "Batches that are not closed do not count here: 1." in run("open_resolution", "main", "--preview").out
    )

    close_batch(cast.campaign, design.pk, by=cast.mei)
    assert "not closed" not in run("open_resolution", "main", "--preview").out
