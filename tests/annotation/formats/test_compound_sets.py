import json
from typing import Any

import pytest

from annotation.formats.compound_sets import read_inventory_file, read_paired, read_sentences, read_set
from annotation.formats.errors import FormatError
from annotation.protocol.compound_set import SetRow

INVENTORY = {
    "name": "one",
    "source_language": "en",
    "target_language": "zh",
    "contexts": 3,
    "kinds": {"N": ["dog"]},
    "patterns": {"NP": ["N"]},
}


def test_it_reads_a_table_in_any_of_the_usual_encodings() -> None:
    text = "Source,COMPOUND,more\nI saw the dog .,the dog,x\n\nthe cat ran .,the cat,y\n"
    expected = [SetRow(2, "the dog", "I saw the dog ."), SetRow(4, "the cat", "the cat ran .")]
    assert read_set(text.encode("utf-8-sig"), name="set.csv") == expected
    assert read_set(text.encode("utf-16"), name="set.csv") == expected


def test_it_names_the_line_of_a_row_that_lacks_something() -> None:
    with pytest.raises(FormatError) as error:
        read_set(b"compound,source\nthe dog,I saw the dog .\n,it ran .\n", name="set.csv")
    assert (error.value.line, error.value.column) == (3, "compound")


def test_two_texts_must_belong_together() -> None:
    with pytest.raises(FormatError, match="The sources have 2 lines and the compounds 1"):
        read_paired(b"one\ntwo\n", b"one\n")
    with pytest.raises(FormatError) as error:
        read_paired(b"one\n\n", b"one\ntwo\n")
    assert error.value.line == 2


def test_a_text_without_sentences_is_refused() -> None:
    assert list(read_sentences(b"\xef\xbb\xbfone\r\n\r\ntwo\r\n")) == ["one", "two"]
    with pytest.raises(FormatError, match="holds no sentence"):
        list(read_sentences(b" \n\n"))


def test_it_reads_an_inventory() -> None:
    found = read_inventory_file(json.dumps(INVENTORY).encode())
    assert (found.name, found.contexts, found.word_spaces) == ("one", 3, True)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b'{"name": "one",\n"kinds": }', 2, "This is not JSON"),
        (b'{"name": "one", "name": "two"}', None, "names the member “name” twice"),
        (b"[]", None, "not a JSON object"),
        (json.dumps(INVENTORY | {"contexts": 2.5}).encode(), None, "contexts"),
        (json.dumps(INVENTORY | {"kinds": {"N": [None]}}).encode(), None, "N"),
        (json.dumps(INVENTORY | {"name": "\ud800"}).encode(), None, "half of a surrogate pair"),
    ],
)
def test_an_inventory_that_cannot_be_read_says_why(content: bytes, line: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message) as error:
        read_inventory_file(content)
    assert error.value.line == line
