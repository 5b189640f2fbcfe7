"""Translations beside references without items: a table, or two texts line by line."""

import pytest

from annotation.formats.errors import FormatError
from annotation.formats.text_pairs import read_aligned, read_text_pairs

NAMES = ("test.hyp", "test.ref")


def test_a_table_needs_both_columns_and_no_others() -> None:
    pairs = read_text_pairs("id,Reference,translation\n1,狗笑了。,\n2,猫。,猫\n".encode(), name="t.csv")
    assert (pairs.translations, pairs.references) == (["", "猫"], ["狗笑了。", "猫。"])
    assert pairs.names == ["line 2", "line 3"]
    assert pairs.warnings == ("1 row has no translation and counts as an empty one: line 2.",)
    with pytest.raises(FormatError, match="lacks the column reference"):
        read_text_pairs("translation\n狗\n".encode(), name="t.csv")


def test_the_translations_may_stand_under_another_name() -> None:
    table = "output\treference\n狗\t狗。\n".encode()
    assert read_text_pairs(table, name="t.tsv", column="output").translations == ["狗"]


def test_two_texts_belong_together_line_by_line() -> None:
    pairs = read_aligned(b"a b\n\nc", b"ab\ncd\ne\n", names=NAMES)
    assert (pairs.translations, pairs.references) == (["a b", "", "c"], ["ab", "cd", "e"])
    with pytest.raises(FormatError, match=r"test\.hyp has 1 lines and test.ref has 2"):
        read_aligned(b"a\n", b"a\nb\n", names=NAMES)
    with pytest.raises(FormatError, match=r"test\.ref: the file is empty"):
        read_aligned(b"a\n", b"", names=NAMES)


def test_an_empty_reference_is_an_error_that_names_its_lines() -> None:
    with pytest.raises(FormatError, match="The reference is empty") as found:
        read_text_pairs(b"translation,reference\na,b\nc,\n", name="t.csv")
    assert (found.value.line, found.value.column) == (3, "reference")
    with pytest.raises(FormatError, match="2 pairs have an empty reference, lines 1, 3"):
        read_aligned(b"a\nb\nc\n", b"\nb\n \n", names=NAMES)
    with pytest.raises(FormatError, match=r"25 pairs .* 19, 20 … \(\+5\)"):
        read_aligned(b"a\n" * 25, b"\n" * 25, names=NAMES)


def test_a_row_that_cannot_be_read_is_named() -> None:
    with pytest.raises(FormatError, match="The row has 3 cells where the header has 2") as found:
        read_text_pairs(b"translation,reference\na,b,c\n", name="t.csv")
    assert found.value.line == 2
