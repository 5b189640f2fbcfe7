"""Slips in texts: found where they are, and nowhere else."""

import csv

import pytest

from annotation.protocol.slips import SLIPS, slips
from tests.shared import shared


@pytest.mark.parametrize(
    "text",
    ["personx sings", "Person X sings", "person x sings", "to thank personX", "PERSONX", "person-y's dog",
     "with person_z", "peoplex sing", "People X", "Personx's dog"],
)  # fmt: skip
def test_a_placeholder_in_another_spelling_is_found(text: str) -> None:
    assert slips(text, "to sing") == ("placeholder",)
    assert slips("to sing", text) == ("placeholder",)


@pytest.mark.parametrize(
    "text",
    ["PersonX sings", "PersonX's dog", "PersonY, PersonZ and PeopleX", "a person", "person xylophone",
     "people yell", "the person's x-ray", "salesperson x-rays", "PersonXs"],
)  # fmt: skip
def test_what_is_written_as_it_should_be_is_not(text: str) -> None:
    assert slips(text, "to sing") == ()


def test_an_apostrophe_that_a_spreadsheet_took_is_found() -> None:
    assert slips("s invite", "to go") == slips("to go", " re late") == ("apostrophe",)
    assert slips("'s invite", "sing") == slips("so it goes", "seven") == ()


def test_head_and_tail_are_the_same_whatever_cannot_be_seen() -> None:
    assert slips("to go", " to\u200b go") == ("head_is_tail",)
    assert slips("To go", "to go") == ()


def test_every_name_has_words() -> None:
    assert set(SLIPS) == {*slips("s personx", "s personx")}


def test_the_released_set_has_thirteen_heads_that_are_tails_and_one_lost_apostrophe() -> None:
    with shared("data/ckbp/ckbp2.0.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [slips(row["head"], row["tail"]) for row in rows]
    assert sum("head_is_tail" in one for one in found) == 13
    eaten = [row["head"] for row, one in zip(rows, found, strict=True) if "apostrophe" in one]
    assert eaten == ["s invite"]
