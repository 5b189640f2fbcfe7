"""What changed between two texts: every word of both stands in it, and nothing but."""

from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.difference import ADDED, CHANGED, GAP, REMOVED, SAME, difference


def texts(before: str, after: str, *kinds: str) -> list[str]:
    """The changed lines with only the pieces of these kinds."""
    return [
        "".join(piece.text for piece in line.pieces if piece.kind in kinds)
        for line in difference(before, after)
        if line.kind not in (GAP, SAME)
    ]


def test_it_marks_chinese_character_by_character() -> None:
    (line,) = difference("尾事件随之发生。", "尾事件总是发生。")

    assert [(piece.kind, piece.text) for piece in line.pieces] == [
        (SAME, "尾事件"),
        (REMOVED, "随之"),
        (ADDED, "总是"),
        (SAME, "发生。"),
    ]


def test_it_shows_a_line_around_what_changed_and_leaves_out_the_rest() -> None:
    before = "\n".join("abcdefg")
    kinds = [(line.kind, line.text) for line in difference(before, before.replace("d\n", ""))]

    assert kinds == [(GAP, ""), (SAME, "c"), (REMOVED, "d"), (SAME, "e"), (GAP, "")]


def test_it_shows_lines_with_nothing_in_common_as_gone_and_come() -> None:
    assert [line.kind for line in difference("one two three", "vier fünf sechs")] == [REMOVED, ADDED]


def test_it_takes_a_very_long_line_as_a_whole() -> None:
    assert [line.kind for line in difference("a b " * 2000, "a b " * 2000 + "c")] == [REMOVED, ADDED]


LINES = st.lists(st.text(alphabet="ab 事件.", max_size=8), max_size=6).map("\n".join)


@given(before=LINES, after=LINES)
def test_the_pieces_make_both_texts_again(before: str, after: str) -> None:
    """Of the lines that are shown; with none left out, that is all of both."""
    found = difference(before, after)
    assert (found == ()) == (before.splitlines() == after.splitlines())
    old = ["".join(p.text for p in line.pieces if p.kind != ADDED) for line in found if line.kind != ADDED]
    new = [
        "".join(p.text for p in line.pieces if p.kind != REMOVED) for line in found if line.kind != REMOVED
    ]
    shown = [line for line in found if line.kind != GAP]
    if found and len(shown) == len(found):
        assert old == before.splitlines()
        assert new == after.splitlines()
    for line in found:
        assert (line.kind == CHANGED) == (
            len({piece.kind for piece in line.pieces} - {SAME}) > 0 and line.kind not in (ADDED, REMOVED)
        )
