"""The relations of a triple, their wording, and the classes of the items."""

import csv
import json
from pathlib import Path

import pytest

from annotation.protocol import triple
from annotation.protocol.errors import ProtocolError
from annotation.protocol.triple import (
    CLASS_GROUPS,
    GENERAL_RELATIONS,
    RELATION_NAMES,
    RELATIONS,
    TRIPLE,
    ZERO_DETAILS,
    class_group,
    connector,
    load_relations,
)
from tests.shared import shared

FILE = Path(triple.__file__).with_name("relations.json")


def test_it_holds_the_fifteen_relations_with_all_their_texts() -> None:
    assert tuple(RELATIONS) == RELATION_NAMES
    assert len(set(RELATION_NAMES)) == 15
    for relation in RELATIONS.values():
        assert [example.score for example in relation.examples] == ["1", "0.5", "0"]
        assert relation.confused_with
        assert {example.head for example in relation.examples} == {relation.examples[0].head}


def test_it_says_everything_in_chinese_too() -> None:
    for relation in RELATIONS.values():
        texts = [relation.connector, relation.definition, relation.head_kind, relation.tail_kind]
        texts += [
            relation.tail_time,
            *(c.why for c in relation.confused_with),
            *(e.why for e in relation.examples),
        ]
        assert all(any("\u4e00" <= character <= "\u9fff" for character in words.zh) for words in texts)
        assert all(words.en.isascii() for words in texts)


def test_it_keeps_the_english_wording_it_was_given() -> None:
    given = json.loads(shared("relations.json").read_text(encoding="utf-8"))["relations"]
    for row in given:
        relation = RELATIONS[row["name"]]
        assert (relation.definition.en, relation.connector.en) == (row["definition"], row["connector"]["en"])
        assert relation.connector.zh == row["connector"]["zh"]
        assert [e.tail for e in relation.examples] == [e["tail"] for e in row["examples"].values()]
        confusions = [f"{' / '.join(c.relations)} ({c.why.en})" for c in relation.confused_with]
        assert confusions == row["easily_confused_with"]


def test_it_covers_the_relations_and_classes_of_the_released_data() -> None:
    with shared("data/ckbp/ckbp2.0.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["relation"] for row in rows} == set(RELATION_NAMES)
    groups = [class_group(row["class"]) for row in rows]
    # reference/expected.json, Table 1
    assert {g: groups.count(g) for g in CLASS_GROUPS} == {"ID": 845, "OOD": 1653, "Adv": 2508}


def test_it_joins_head_and_tail_for_all_eighteen_relations() -> None:
    assert all(connector(name).en and connector(name).zh for name in RELATION_NAMES + GENERAL_RELATIONS)


@pytest.mark.parametrize("name", ["xwant", "xWish", "general effect", "xWant ", ""])
def test_it_matches_relations_exactly(name: str) -> None:
    with pytest.raises(ProtocolError, match="general React"):
        connector(name)


def test_it_scores_every_detail_of_the_third_answer_zero() -> None:
    assert [detail.code for detail in ZERO_DETAILS] == ["rarely", "never", "ambiguous", "invalid"]
    for detail in ZERO_DETAILS:
        assert TRIPLE.parse_label(detail.words.en) == TRIPLE.parse_label(detail.words.zh) == "0"


def changed_file(tmp_path: Path, **changes: object) -> Path:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    content["relations"][0].update(changes)
    path = tmp_path / "relations.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "xWish"}, "must hold the relations xWant, oWant"),
        ({"definition": {"en": "a wish", "zh": " "}}, "xWant lacks a text"),
        ({"examples": []}, "one example each"),
        ({"confused_with": [{"relations": ["xWish"], "why": {"en": "a", "zh": "愿"}}]}, "does not exist"),
        ({"confused_with": [{"relations": ["xWant"], "why": {"en": "a", "zh": "愿"}}]}, "does not exist"),
    ],
)
def test_it_refuses_a_relations_file_with_a_gap(
    tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        load_relations(changed_file(tmp_path, **changes))
