"""A campaign's own relations and wording, from a file and back; what is wrong is named by its place."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.definition import Words
from annotation.protocol.errors import ProtocolError
from annotation.protocol.triple import CLASS_GROUPS, GENERAL_RELATIONS, RELATION_NAMES, TRIPLE
from annotation.protocol.wording import (
    WordingError,
    changed_relations,
    changes,
    default_wording,
    own_part,
    read_wording,
)

WORDS = {"en": "so", "zh": "所以"}
OWN = {
    "relations": [
        {
            "code": "leadsTo",
            "connector": {"en": "this leads to", "zh": "这会导致"},
            "definition": {"en": "The tail follows.", "zh": "尾事件随之发生。"},
            "confused_with": [{"relations": ["blocks"], "why": {"en": "the reverse", "zh": "相反"}}],
            "examples": [{"head": "it rain", "tail": "street be wet", "answer": "often", "why": WORDS}],
        },
        {"code": "blocks", "connector": {"en": "this prevents", "zh": "这会阻止"}},
    ],
    "answers": {"sometimes": {"en": "now and then", "zh": "时有"}},
    "details": {"never": {"en": "not ever", "zh": "绝不"}},
    "class_groups": {"seen": "ID", "unseen": "OOD"},
}


@pytest.mark.parametrize("protocol", ["triple", "compound"])
def test_it_reads_back_what_it_writes_and_stores_nothing_of_the_protocols_own(protocol: str) -> None:
    default = default_wording(protocol)

    read = read_wording(protocol, json.loads(json.dumps(default.as_json())))

    assert read == default
    assert own_part(read) == {}
    assert read_wording(protocol, {}) == default


def test_it_has_the_protocols_eighteen_relations_and_groups() -> None:
    default = default_wording("triple")

    assert tuple(default.relations) == RELATION_NAMES + GENERAL_RELATIONS
    assert [relation.name for relation in default.described] == list(RELATION_NAMES)
    assert default.class_groups == CLASS_GROUPS
    assert default.relation("xWant").unlike == ("xIntent", "xEffect")


def test_it_replaces_relations_and_groups_and_changes_single_answers() -> None:
    wording = read_wording("triple", OWN)

    assert list(wording.relations) == ["leadsTo", "blocks"]
    assert [relation.name for relation in wording.described] == ["leadsTo"]
    assert wording.relation("leadsTo").examples[0].score == "1"
    assert wording.answer_words(TRIPLE.answer("0.5")) == Words("now and then", "时有")
    assert wording.answer_words(TRIPLE.answer("1")).en == "always/often"
    assert [detail.words.en for detail in wording.details] == ["rarely", "not ever", "ambiguous", "invalid"]
    assert wording.class_groups == {"ID": ("seen",), "OOD": ("unseen",), "Adv": ()}
    assert wording.classes == ("seen", "unseen")
    assert read_wording("triple", own_part(wording)) == wording
    assert own_part(wording)["details"] == OWN["details"]


def test_it_joins_a_relation_that_is_gone_by_its_name() -> None:
    assert read_wording("triple", OWN).relation("xWant").connector == Words("xWant", "xWant")


def with_change(path: list[Any], value: Any) -> dict[str, Any]:
    document: Any = copy.deepcopy(OWN)
    at = document
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return dict(document)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (["relations"], [], "relations: there are 0; 1 to 100 belong here."),
        (["relations"], {}, "relations: a list belongs here."),
        (["relations", 0], "x", "relations[1]: an object with names in it belongs here."),
        (["relations", 0, "code"], None, "relations[1].code: this part is missing."),
        (["relations", 1, "code"], "LEADSTO", "relations[2].code: “LEADSTO” cannot be told from “leadsTo”."),
        (["relations", 0, "code"], "a" * 41, "relations[1].code: a name of 1 to 40 plain characters"),
        (["relations", 0, "connector"], None, "relations[1].connector: this part is missing."),
        (["relations", 0, "connector"], {"en": "x"}, "relations[1].connector.zh: this text is missing."),
        (["relations", 0, "definition", "zh"], " ", "relations[1].definition.zh: this text is empty."),
        (["relations", 0, "definition", "zh"], 7, "relations[1].definition.zh: a text belongs here."),
        (["relations", 0, "meaning"], WORDS, "relations[1].meaning: there is no such part"),
        (
            ["relations", 0, "confused_with", 0, "relations"],
            ["leadsTo"],
            "relations[1].confused_with[1].relations[1]: “leadsTo” is no other relation of this file.",
        ),
        (["relations", 0, "examples", 0, "answer"], "1", "relations[1].examples[1].answer: “1” is no answer"),
        (
            ["relations", 0, "examples", 0, "head"],
            None,
            "relations[1].examples[1].head: this part is missing.",
        ),
        (["answers", "maybe"], WORDS, "answers.maybe: there is no such part"),
        (["details", "never"], "no", "details.never: an object with names in it belongs here."),
        (["class_groups", "seen"], "in", "class_groups.seen: “in” is no group; they are ID, OOD, Adv."),
        (["reasons"], [], "reasons: there is no such part"),
    ],
)
def test_it_names_the_place_of_what_is_wrong(path: list[Any], value: Any, complaint: str) -> None:
    with pytest.raises(WordingError) as refused:
        read_wording("triple", with_change(path, value))

    assert any(problem.startswith(complaint) for problem in refused.value.problems), refused.value.problems


def test_it_says_all_that_is_wrong_at_once() -> None:
    broken = with_change(["relations", 0, "connector", "zh"], "")
    broken["answers"] = {"sometimes": {"en": "x"}}

    with pytest.raises(WordingError) as refused:
        read_wording("triple", broken)

    assert refused.value.problems == (
        "relations[1].connector.zh: this text is empty.",
        "answers.sometimes.zh: this text is missing.",
    )


def test_it_takes_at_most_six_reasons_each_under_its_own_code() -> None:
    reasons = [{"code": f"r{number}", "words": WORDS} for number in range(7)]

    for wrong, complaint in (
        (reasons, "there are 7; 1 to 6"),
        ([{"code": "no way", "words": WORDS}], "small letters"),
        (reasons[:1] * 2, "“r0” stands twice"),
    ):
        with pytest.raises(WordingError, match=complaint):
            read_wording("compound", {"reasons": wrong})
    assert [reason.code for reason in read_wording("compound", {"reasons": reasons[:2]}).reasons] == [
        "r0",
        "r1",
    ]


def test_it_tells_what_differs_by_place() -> None:
    before = read_wording("triple", OWN)
    after = read_wording("triple", with_change(["relations", 0, "definition", "en"], "It comes next."))

    (change,) = changes(before, after)

    assert (change.place, change.before) == ("relations.leadsTo.definition.en", "The tail follows.")
    assert change.after == "It comes next."
    assert changed_relations(before, after) == ["leadsTo"]
    assert changes(after, after) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["relations", "code", "connector", "en", "zh", "answers", "often", "reasons", "examples"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(document=JSON, protocol=st.sampled_from(["triple", "compound"]))
def test_whatever_it_is_given_it_reads_or_refuses(document: Any, protocol: str) -> None:
    try:
        wording = read_wording(protocol, document)
    except ProtocolError:
        return
    assert read_wording(protocol, wording.as_json()) == wording
    assert read_wording(protocol, own_part(wording)) == wording
