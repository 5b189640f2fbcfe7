"""Nodes of a training set: a node a line, or the heads and tails of triples."""

import json

import pytest

from annotation.formats.errors import FormatError
from annotation.formats.nodes import read_nodes
from annotation.formats.writers import write_table

TRIPLES = 'head,relation,tail\nPersonX eat,xWant,rest\n"eat, drink",xWant,rest\n'
FOUND = {"PersonX eat", "rest", "eat, drink"}


def test_a_text_holds_a_node_a_line() -> None:
    data = "PersonX eat, then rest\r\n\r\n  \r\nrest\r\nrest\r\n打 球".encode()
    assert read_nodes(data, name="nodes.csv") == {"PersonX eat, then rest", "rest", "打 球"}


@pytest.mark.parametrize("name", ["train.csv", "train.txt", "nodes"])
def test_triples_give_their_heads_and_tails(name: str) -> None:
    assert read_nodes(TRIPLES.encode(), name=name) == FOUND


def test_triples_may_come_in_any_format_of_a_table() -> None:
    assert read_nodes(b"Tail\tHead\tlabel\nrest\tPersonX eat\t1\n", name="train.tsv") == {
        "PersonX eat",
        "rest",
    }
    row = json.dumps({"head": "PersonX eat", "tail": "rest"}).encode()
    assert read_nodes(row, name="train.jsonl") == {"PersonX eat", "rest"}
    book = b"".join(write_table("xlsx", ("head", "tail"), [["PersonX eat", "rest"]], numeric={}))
    assert read_nodes(book, name="train.xlsx") == {"PersonX eat", "rest"}


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        (b"", None, "The file is empty."),
        (b"\n \n", None, "The file holds no node"),
        (b"head,relation,tail\neat,xWant,\n", 2, "The cell is empty"),
        (b"head,relation\neat,xWant\n", None, "lacks the column tail"),
        (b"\xff\xfe\xfa", 1, "UTF-16"),
    ],
)
def test_a_file_without_nodes_says_what_it_lacks(data: bytes, line: int | None, said: str) -> None:
    with pytest.raises(FormatError, match=said) as found:
        read_nodes(data, name="train.csv")
    assert found.value.line == line
