"""Texts as people read them."""

import csv
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.compound import locate
from annotation.protocol.display import HIDDEN, ROLES, chips, joined_translation, marked_source
from annotation.protocol.errors import ProtocolError
from annotation.protocol.text import ZERO_WIDTH
from tests.shared import shared


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("狗 把 他 自己 的 车 给 了 他 。", "狗把他自己的车给了他。"),
        ("狗把 他 。", "狗把他。"),
        ("泰勒 taylor 笑 了", "泰勒taylor笑了"),
        ("他 叫 big bad wolf 。", "他叫big bad wolf。"),
        ("big  bad", "big  bad"),
        ("他 有 20 美元", "他有20美元"),
        ("喜@@ 欢 的 te@@ ddy", "喜欢的teddy"),
        ("喜@@", "喜"),
        ("a@@b c@d", "a@@b c@d"),
        ("他 说 “ 你好 ” 。", "他说“你好”。"),
        ("他 说 ， 好 ！", "他说，好！"),
        ("he said “ ok ” .", "he said “ ok ” ."),
        ("他\u00a0好\u3000。", "他好。"),
        ("第 一 行\n第 二 行", "第一行\n第二行"),
        ("𠮷 𪛖", "𠮷𪛖"),
        ("", ""),
        (" ", " "),
        ("<unk> 的 狗", "<unk>的狗"),
    ],
)
def test_it_takes_out_only_what_segmentation_put_in(stored: str, shown: str) -> None:
    assert joined_translation(stored) == shown


def test_it_shows_a_million_blanks_without_delay() -> None:
    assert joined_translation("a" + " " * 1_000_000 + "b").startswith("a ")


@given(st.text("a b@狗。，\u3000\n1“"))
@settings(deadline=None)
def test_it_loses_nothing_but_blanks_and_joints(text: str) -> None:
    shown = joined_translation(text)
    kept = [character for character in text if character not in " \u3000@"]
    assert [character for character in shown if character not in " \u3000@"] == kept


@given(st.text("ab .\n1"))
@settings(deadline=None)
def test_it_leaves_text_without_chinese_as_it_is(text: str) -> None:
    assert joined_translation(text) == text


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("PersonX finish a marathon", ["PersonX"]),
        ("PersonX rest PersonX leg", ["PersonX", "PersonX"]),
        ("PersonY thank PersonX 's friend PersonZ", ["PersonY", "PersonX", "PersonZ"]),
        ("PersonX's dog", ["PersonX"]),
        ("PeopleX,PeopleY", ["PeopleX", "PeopleY"]),
        ("因为PersonX想要", ["PersonX"]),
        ("PersonXs MyPersonX PersonX2 personx Person X PersonA", []),
        ("42", []),
        ("", []),
    ],
)
def test_it_marks_the_people_of_a_triple(text: str, roles: list[str]) -> None:
    segments = chips(text)
    assert [segment.role for segment in segments if segment.role] == roles
    assert "".join(segment.text for segment in segments) == text


@given(st.lists(st.sampled_from([*ROLES, " ", "'s", "x", "_", "想", "<b>", "\u0301"])).map("".join))
@settings(deadline=None)
def test_it_keeps_the_text_of_a_triple_exactly(text: str) -> None:
    segments = chips(text)
    assert "".join(segment.text for segment in segments) == text
    assert all(segment.text for segment in segments)
    assert all(segment.role in (None, segment.text) for segment in segments)


def test_it_keeps_numbers_as_they_are_written() -> None:
    with shared("cases/c23_numeric_only_tails.csv").open(encoding="utf-8", newline="") as file:
        tails = [row["tail"] for row in csv.DictReader(file)]
    assert ["".join(segment.text for segment in chips(tail)) for tail in tails] == ["42", "0", "3.10", "1e3"]


def test_it_cuts_a_source_at_its_compound() -> None:
    source = "We met the  Clerk, tired ."
    marked = marked_source(source, locate("the clerk , tired", source))
    assert (marked.before, marked.compound, marked.after) == ("We met ", "the  Clerk, tired", " .")


def test_it_shows_a_source_whole_where_the_compound_was_not_found() -> None:
    marked = marked_source("the gardener waved", None)
    assert (marked.before, marked.compound, marked.after) == ("the gardener waved", "", "")


@pytest.mark.parametrize("span", [(0, 99), (-1, 2), (5, 3)])
def test_it_refuses_a_place_outside_the_source(span: tuple[int, int]) -> None:
    with pytest.raises(ProtocolError, match="locate it again"):
        marked_source("the dog", span)


# What cannot be seen


def test_whatever_takes_no_room_or_passes_for_another_blank_can_be_shown() -> None:
    hidden = {code for first, last in HIDDEN for code in range(first, last + 1)}
    # Format characters that do have a shape: signs over numbers, and of Egyptian writing.
    drawn = {
        0x06DD,
        0x070F,
        0x0890,
        0x0891,
        0x08E2,
        0x110BD,
        0x110CD,
        *range(0x0600, 0x0606),
        *range(0x13430, 0x13440),
    }
    unseen = {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zs", "Zl", "Zp")
    }
    assert unseen - drawn - {ord(" "), ord("\n")} <= hidden
    assert {ord(character) for character in ZERO_WIDTH} <= hidden
    fillers = "\u115f\u1160\u3164\uffa0\u034f\u180b\ufe0e\ufe0f\u2800\U000e0001\U000e007f\U000e0100"
    assert {ord(character) for character in fillers} <= hidden


def test_nothing_that_can_be_seen_is_boxed() -> None:
    seen = {unicodedata.category(chr(code)) for first, last in HIDDEN for code in range(first, last + 1)}
    assert seen <= {"Cc", "Cf", "Cn", "Mn", "Lo", "So", "Zs", "Zl", "Zp"}
    assert [(first, last) for first, last in HIDDEN if first > last] == []
    assert list(HIDDEN) == sorted(HIDDEN)
