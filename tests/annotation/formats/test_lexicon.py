"""The forms of a compound's atoms, as files give them."""

import pytest

from annotation.formats.errors import FormatError
from annotation.formats.lexicon import read_forms
from tests.shared import shared


def test_it_joins_the_lines_of_an_atom_and_takes_blanks_out_of_forms() -> None:
    content = "\ufeffDog\t狗 / 犬/狗\r\n\r\nlike\t喜 欢/\ndog\t小狗\nmod1\t店里\nthe\t/".encode()
    assert read_forms(content) == {
        "dog": ["狗", "犬", "小狗"],
        "like": ["喜欢"],
        "at the store": ["店里"],
        "the": [],
    }


@pytest.mark.parametrize("line", ["dog", "dog\t", "\t狗", "dog\t//", "dog\t狗\t犬", "dog\t狗\0"])
def test_it_names_the_line_that_is_none(line: str) -> None:
    with pytest.raises(FormatError, match="line 2: Each line needs an atom, one tab"):
        read_forms(f"cat\t猫\n{line}\n".encode())


def test_it_says_where_it_is_not_utf_8() -> None:
    with pytest.raises(FormatError, match="line 2: The lexicon is not UTF-8"):
        read_forms(b"the\t/\n\xff\t/\n")


def test_it_reads_the_released_lexicon() -> None:
    forms = read_forms(shared("data/cognition/lexicon").read_bytes())
    assert forms["dog"] == ["狗", "犬"]
    assert {"he liked", "at the store", "on the floor"} <= set(forms)
    assert not any(atom.startswith("mod") for atom in forms)
