"""The triple protocol: plausibility on a 3-point scale, two experts per item; and the relations of a triple.

Sources: Fang et al., "Benchmarking Commonsense Knowledge Base Population with an Effective Evaluation Dataset"
(EMNLP 2021) for CKBP v1; Fang et al., "CKBP v2: Better Annotation and Reasoning for Commonsense Knowledge Base
Population" (2023) for the scale, the two experts and the label rule. `relations.json` is worded anew.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from annotation.protocol.definition import Answer, Choice, Column, Protocol, Words, accepted_spellings
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say

# Published names, matched exactly: "xwant" is another word than "xWant".
RELATION_NAMES = (
    *("xWant", "oWant", "xEffect", "oEffect", "xReact", "oReact", "xAttr", "xIntent", "xNeed"),
    *("Causes", "xReason", "isBefore", "isAfter", "HinderedBy", "HasSubEvent"),
)
# CKBP v1 also has these three; v2 leaves them out.
GENERAL_RELATIONS = ("general Effect", "general Want", "general React")

# What the tables call ID, OOD and Adv, as classes of the items.
CLASS_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"ID": ("test_set",), "OOD": ("cs_head", "all_head"), "Adv": ("adv",)}
)

TRIPLE = Protocol(
    name="triple",
    title=Words("triples", "三元组"),
    unit=Words("triple", "三元组"),
    scale=(
        Answer(
            key="rarely",
            score="0",
            words=Words("rarely/never/ambiguous/invalid", "很少／从不成立，或含义不明、不成立"),
            accepted=accepted_spellings(
                *("Rarely/Never/Ambiguous/Invalid", "rarely", "never", "ambiguous", "invalid"),
                *("很少／从不成立，或含义不明、不成立", "很少／从不成立", "很少成立", "从不成立"),
                *("很少", "从不", "含义不明", "不成立", "不成立（不合语法、关系不符）"),
            ),
        ),
        Answer(
            key="sometimes",
            score="0.5",
            words=Words("sometimes", "有时成立"),
            accepted=accepted_spellings("sometimes", "有时", "有时成立"),
        ),
        Answer(
            key="often",
            score="1",
            words=Words("always/often", "总是／经常成立"),
            accepted=accepted_spellings(
                *("Always/Often", "always", "often"),
                *("总是／经常成立", "总是／经常", "总是", "总是成立", "经常", "经常成立"),
            ),
        ),
    ),
    default_k=2,
    contexts_per_unit=None,
    id_column="triple_id",
    columns=(
        Column("triple_id"),
        Column("head", needed=True, may_be_empty=False),
        Column("relation", needed=True, may_be_empty=False),
        Column("tail", needed=True, may_be_empty=False),
        Column("class"),
        Column("split"),
        Column("label"),
    ),
    # An ambiguous or invalid triple is scored 0 by the protocol, so a problem is reported beside a score.
    cannot_judge=Words("report a problem", "报告问题"),
    cannot_judge_causes=(
        Choice("text_broken", Words("text broken", "文本有误")),
        Choice("guidelines_silent", Words("guidelines silent", "标注规范没有说明")),
        Choice("other", Words("other", "其他原因")),
    ),
    score_beside_cause=True,
    label_rules=("ckbp2", "majority", "unanimous"),
    default_rules=MappingProxyType({2: "ckbp2"}),
    examples=(
        say("{one} or {other}", one="1", other="always, often, 总是, 经常"),
        say("{one} or {other}", one="0.5", other="sometimes, 有时"),
        say(
            "{one} or {other}",
            one="0",
            other="rarely, never, ambiguous, invalid, 很少, 从不, 含义不明, 不成立",
        ),
    ),
)

NO_WORDS = Words("", "")

# Which kind of 0 was meant, where a campaign asks for it; all four score 0.
ZERO_DETAILS = (
    Choice("rarely", Words("rarely", "很少")),
    Choice("never", Words("never", "从不")),
    Choice("ambiguous", Words("ambiguous", "含义不明")),
    Choice("invalid", Words("invalid", "不成立（不合语法、关系不符）")),
)


@dataclass(frozen=True)
class Confusion:
    """Relations easily taken for this one, and what tells them apart."""

    relations: tuple[str, ...]
    why: Words


@dataclass(frozen=True)
class Example:
    """A triple of this relation, its score and why. Head and tail stay English, as items do."""

    head: str
    tail: str
    score: str
    why: Words


@dataclass(frozen=True)
class Relation:
    """One relation: what joins head and tail on the page, what it means, examples.

    The fifteen have all of it, and three examples (1, 0.5, 0); of a campaign's own relations, and of the three that
    only CKBP v1 has, texts may be missing, which are empty in both languages then.
    """

    name: str
    connector: Words
    family: str = ""
    published_phrase: str = ""
    definition: Words = NO_WORDS
    head_kind: Words = NO_WORDS
    tail_kind: Words = NO_WORDS
    tail_time: Words = NO_WORDS
    confused_with: tuple[Confusion, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def unlike(self) -> tuple[str, ...]:
        """The relations that this one is easily taken for."""
        return tuple(name for confusion in self.confused_with for name in confusion.relations)


def _check_complete(relation: Relation) -> None:
    texts = [relation.connector, relation.definition]
    texts += [relation.head_kind, relation.tail_kind, relation.tail_time]
    texts += [confusion.why for confusion in relation.confused_with]
    texts += [example.why for example in relation.examples]
    if not all(words.en.strip() and words.zh.strip() for words in texts):
        raise ProtocolError(f"The relation {relation.name} lacks a text in English or in Chinese.")
    if [example.score for example in relation.examples] != ["1", "0.5", "0"]:
        raise ProtocolError(f"The relation {relation.name} needs one example each for 1, 0.5 and 0.")
    if not set(RELATION_NAMES).difference([relation.name]).issuperset(relation.unlike):
        raise ProtocolError(f"The relation {relation.name} is compared with one that does not exist.")


def load_relations(path: Path) -> Mapping[str, Relation]:
    """The relations of a file such as `relations.json`, by name: the published fifteen in their order.

    A ProtocolError says which relation is missing, unknown or out of order, or lacks a text or an example.

    >>> relations = load_relations(Path(__file__).with_name("relations.json"))
    >>> len(relations), relations["xWant"].connector.zh
    (15, '之后，PersonX 想要')
    """
    relations = [_relation(row) for row in json.loads(path.read_text(encoding="utf-8"))["relations"]]
    if tuple(relation.name for relation in relations) != RELATION_NAMES:
        names = ", ".join(RELATION_NAMES)
        raise ProtocolError(f"{path.name} must hold the relations {names}, in this order.")
    for relation in relations:
        _check_complete(relation)
    return MappingProxyType({relation.name: relation for relation in relations})


def _relation(row: dict[str, Any]) -> Relation:
    return Relation(
        name=row["name"],
        family=row["family"],
        published_phrase=row["published_phrase"],
        connector=Words(**row["connector"]),
        definition=Words(**row["definition"]),
        head_kind=Words(**row["head_kind"]),
        tail_kind=Words(**row["tail_kind"]),
        tail_time=Words(**row["tail_time"]),
        confused_with=tuple(
            Confusion(relations=tuple(entry["relations"]), why=Words(**entry["why"]))
            for entry in row["confused_with"]
        ),
        examples=tuple(
            Example(head=entry["head"], tail=entry["tail"], score=entry["score"], why=Words(**entry["why"]))
            for entry in row["examples"]
        ),
    )


RELATIONS = load_relations(Path(__file__).with_name("relations.json"))

_GENERAL_CONNECTORS = {
    "general Effect": Words("as a result", "结果"),
    "general Want": Words("afterwards, somebody wants", "之后，有人想要"),
    "general React": Words("afterwards, somebody feels", "之后，有人感到"),
}


def connector(relation: str) -> Words:
    """The line between head and tail for any of the eighteen relations; another name is a ProtocolError.

    >>> connector("Causes").en, connector("general Want").en
    ('this causes', 'afterwards, somebody wants')
    """
    if relation in RELATIONS:
        return RELATIONS[relation].connector
    if relation in _GENERAL_CONNECTORS:
        return _GENERAL_CONNECTORS[relation]
    known = ", ".join(RELATION_NAMES + GENERAL_RELATIONS)
    raise ProtocolError(
        say(
            "“{relation}” is not a relation; the relations, matched exactly, are {known}.",
            relation=relation,
            known=known,
        )
    )


def class_group(item_class: str) -> str | None:
    """The group (ID, OOD, Adv) a class of items belongs to; None for a class that no table groups.

    >>> class_group("cs_head"), class_group("mine")
    ('OOD', None)
    """
    return next((group for group, classes in CLASS_GROUPS.items() if item_class in classes), None)
