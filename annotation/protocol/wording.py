"""A campaign's own relations, answers, reasons and class groups, in place of the protocol's.

What a score is and how scores become a label stays the protocol's; this is only how it is put to people, and which
relations and classes there are. It is plain data that comes from a JSON file:

    {"relations": [{"code": "xWant",
                    "connector": {"en": "afterwards, PersonX wants", "zh": "…"},
                    "definition": {"en": "…", "zh": "…"},
                    "head_kind": {…}, "tail_kind": {…}, "tail_time": {…},
                    "confused_with": [{"relations": ["xIntent"], "why": {…}}],
                    "examples": [{"head": "…", "tail": "…", "answer": "often", "why": {…}}]}],
     "answers": {"often": {"en": "…", "zh": "…"}},
     "details": {"never": {…}},
     "reasons": [{"code": "missing", "words": {…}}],
     "class_groups": {"test_set": "ID"}}

Relations, answers, details and class groups are a triple campaign's, reasons a compound campaign's, answers both's.
What a file leaves out is the protocol's own; relations, reasons and class groups replace the protocol's as a whole.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any

from annotation.protocol.base import get_protocol
from annotation.protocol.compound import COMPOUND, WRONG_REASONS
from annotation.protocol.definition import Answer, Choice, Protocol, Words, fold_label
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import Sentence, say
from annotation.protocol.text import fold_key
from annotation.protocol.triple import (
    CLASS_GROUPS,
    GENERAL_RELATIONS,
    NO_WORDS,
    RELATIONS,
    TRIPLE,
    ZERO_DETAILS,
    Confusion,
    Example,
    Relation,
    connector,
)

MAX_RELATIONS = 100
MAX_REASONS = 6  # each has a key of its own at the seat
MAX_EXAMPLES = 20
MAX_CLASSES = 50
CODE_LENGTH = 40  # what a relation or a class may be called, in an item's column
TEXT_LENGTH = 2000

_NUMBER = re.compile(r"[0-9.]+")
_REASON = re.compile(r"[a-z][a-z0-9_]{0,29}")
_OF_PROTOCOL = {
    TRIPLE.name: ("relations", "answers", "details", "class_groups"),
    COMPOUND.name: ("answers", "reasons"),
}
_OF_RELATION = {
    "code", "connector", "definition", "head_kind", "tail_kind", "tail_time", "confused_with", "examples",
}  # fmt: skip

Document = Mapping[str, Any]


class WordingError(ProtocolError):
    """Everything that is wrong with a file of wording; each sentence names the place in it."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(problems[0])
        self.problems = tuple(problems)


@dataclass(frozen=True, kw_only=True)
class Wording:
    """How a campaign puts its questions. `answers` holds only what is worded otherwise than in the protocol."""

    protocol: str
    relations: Mapping[str, Relation]
    answers: Mapping[str, Words]
    details: tuple[Choice, ...]
    reasons: tuple[Choice, ...]
    class_groups: Mapping[str, tuple[str, ...]]

    @property
    def described(self) -> tuple[Relation, ...]:
        """The relations there is something to read about."""
        return tuple(relation for relation in self.relations.values() if relation.definition != NO_WORDS)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that stand in a group, in the order of the groups."""
        return tuple(chain.from_iterable(self.class_groups.values()))

    def answer_words(self, answer: Answer) -> Words:
        """One answer of the scale as this campaign calls it."""
        return self.answers.get(answer.key, answer.words)

    @cached_property
    def own_spellings(self) -> Mapping[str, str]:
        """The label code by each spelling, folded, that only this campaign has: its words for answers and details.

        A number is never one: files and programs mean scores by them.
        """
        protocol = get_protocol(self.protocol)
        usual = {detail.code: detail.words for detail in default_wording(self.protocol).details}
        own = [
            (self.answers[answer.key], answer.score)
            for answer in protocol.scale
            if answer.key in self.answers
        ]
        own += [
            (detail.words, protocol.labels[0])
            for detail in self.details
            if detail.words != usual.get(detail.code)
        ]
        found: dict[str, str] = {}
        for words, score in own:
            for word in (fold_label(words.en), fold_label(words.zh)):
                if not _NUMBER.fullmatch(word):
                    found.setdefault(word, score)
        return MappingProxyType(found)

    def parse_label(self, text: str, *, in_file: bool = False) -> str:
        """The label code that a file, a form or a program means by `text`: one of this campaign's own words, in either
        language, or whatever the protocol accepts.

        >>> own = read_wording("compound", {"answers": {"wrong": {"en": "off", "zh": "不对"}}})
        >>> own.parse_label(" OFF "), own.parse_label("不对"), own.parse_label("incorrect"), own.parse_label("1")
        ('0', '0', '0', '1')
        """
        protocol = get_protocol(self.protocol)
        if not self.own_spellings:
            return protocol.parse_label(text, in_file=in_file)
        folded = fold_label(text)
        if folded in self.own_spellings:
            return self.own_spellings[folded]
        try:
            return protocol.parse_label(text, in_file=in_file)
        except ProtocolError as error:
            raise ProtocolError(
                say("{what} This campaign also writes: {own}.", what=error.message, own=self._own_listed())
            ) from None

    def _own_listed(self) -> str:
        usual = default_wording(self.protocol)
        details = [detail.words for detail in self.details if detail not in usual.details]
        return ", ".join(f"{words.en} ({words.zh})" for words in (*self.answers.values(), *details))

    def relation(self, name: str) -> Relation:
        """The relation of that name; one that is none (any more) joins head and tail by its own name."""
        return self.relations.get(name) or Relation(name=name, connector=Words(name, name))

    def as_json(self) -> dict[str, Any]:
        """All of it as a file holds it, the protocol's own texts too; `read_wording` reads it back."""
        scale = {answer.key: _said(self.answer_words(answer)) for answer in get_protocol(self.protocol).scale}
        found: dict[str, Any] = {
            "relations": [_relation_json(relation) for relation in self.relations.values()],
            "answers": scale,
            "details": {detail.code: _said(detail.words) for detail in self.details},
            "reasons": [{"code": reason.code, "words": _said(reason.words)} for reason in self.reasons],
            "class_groups": {name: group for group, members in self.class_groups.items() for name in members},
        }
        return {name: found[name] for name in _OF_PROTOCOL[self.protocol]}


def default_wording(protocol: str) -> Wording:
    """The protocol's own.

    >>> default_wording("triple").relation("xWant").connector.en
    'afterwards, PersonX wants'
    >>> [reason.code for reason in default_wording("compound").reasons][:2]
    ['missing', 'mistranslated']
    """
    triples = get_protocol(protocol) is TRIPLE
    general = {name: Relation(name=name, connector=connector(name)) for name in GENERAL_RELATIONS}
    return Wording(
        protocol=protocol,
        relations=MappingProxyType({**RELATIONS, **general} if triples else {}),
        answers=MappingProxyType({}),
        details=ZERO_DETAILS if triples else (),
        reasons=() if triples else WRONG_REASONS,
        class_groups=CLASS_GROUPS if triples else MappingProxyType({}),
    )


def read_wording(protocol: str, document: object) -> Wording:
    """The wording that a JSON document describes; WordingError says what is wrong and where.

    >>> own = {"relations": [{"code": "causes", "connector": {"en": "so", "zh": "所以"}}]}
    >>> list(read_wording("triple", own).relations)
    ['causes']
    >>> read_wording("triple", {"answers": {"often": {"en": "usually"}}})
    Traceback (most recent call last):
    annotation.protocol.wording.WordingError: answers.often.zh: this text is missing.
    """
    reader = _Reader(protocol)
    wording = reader.wording(document)
    if reader.problems:
        raise WordingError(reader.problems)
    return wording


def unclear_answers(wording: Wording) -> list[str]:
    """Own words for an answer or a detail that mean another answer already, here or in the protocol: read from a file,
    nobody could tell which was meant. One sentence each.

    >>> unclear_answers(read_wording("triple", {"answers": {"often": {"en": "Sometimes", "zh": "通常"}}}))
    ['answers.often.en: “Sometimes” stands for another answer already.']
    """
    protocol = get_protocol(wording.protocol)
    usual = default_wording(wording.protocol)
    own = [
        (f"answers.{answer.key}", wording.answers[answer.key], answer.score)
        for answer in protocol.scale
        if answer.key in wording.answers
    ]
    own += [
        (f"details.{detail.code}", detail.words, protocol.labels[0])
        for detail in wording.details
        if detail not in usual.details
    ]
    told: list[str] = []
    meant: dict[str, str] = {}
    for place, words, score in own:
        for language, word in (("en", words.en), ("zh", words.zh)):
            others = {meant.setdefault(fold_label(word), score), _meant_by(protocol, word)} - {None, score}
            if others:
                told.append(
                    say(
                        "{place}.{language}: “{word}” stands for another answer already.",
                        place=place,
                        language=language,
                        word=_short(word),
                    )
                )
    return told


def _meant_by(protocol: Protocol, word: str) -> str | None:
    try:
        return protocol.parse_label(word)
    except ProtocolError:
        return None


def own_part(wording: Wording) -> dict[str, Any]:
    """What of it differs from the protocol's own, to be stored; nothing where all is the same.

    >>> own_part(default_wording("triple"))
    {}
    """
    default = default_wording(wording.protocol).as_json()
    found = {name: value for name, value in wording.as_json().items() if value != default[name]}
    for name in ("answers", "details"):
        if name in found:
            changed = {key: text for key, text in found[name].items() if text != default[name][key]}
            found[name] = changed
    return found


@dataclass(frozen=True)
class Change:
    """One place that differs between two wordings; None where it is not there."""

    place: str
    before: str | None
    after: str | None


def changes(before: Wording, after: Wording) -> list[Change]:
    """What differs, place by place, in the order of the file.

    >>> new = read_wording("triple", {"answers": {"often": {"en": "usually", "zh": "通常"}}})
    >>> [(change.place, change.after) for change in changes(default_wording("triple"), new)]
    [('answers.often.en', 'usually'), ('answers.often.zh', '通常')]
    """
    old, new = dict(_places(before.as_json())), dict(_places(after.as_json()))
    return [
        Change(place, old.get(place), new.get(place))
        for place in dict.fromkeys((*old, *new))
        if old.get(place) != new.get(place)
    ]


def changed_relations(before: Wording, after: Wording) -> list[str]:
    """The relations of the new wording that are new or say something else than before."""
    return [name for name, relation in after.relations.items() if relation != before.relations.get(name)]


def _places(value: object, place: str = "") -> list[tuple[str, str]]:
    """Every text of a document by its place; what has a code goes by it, so that an insertion moves nothing."""
    if isinstance(value, Mapping):
        parts = [(str(name), part) for name, part in value.items() if (place == "" or name != "code")]
    elif isinstance(value, list):
        parts = [
            (str(part["code"]) if isinstance(part, Mapping) and "code" in part else str(number), part)
            for number, part in enumerate(value, start=1)
        ]
    else:
        return [(place, str(value))]
    return [found for name, part in parts for found in _places(part, f"{place}.{name}" if place else name)]


def _said(words: Words) -> dict[str, str]:
    return {"en": words.en, "zh": words.zh}


def _relation_json(relation: Relation) -> dict[str, Any]:
    texts = {
        name: _said(words)
        for name in ("definition", "head_kind", "tail_kind", "tail_time")
        if (words := getattr(relation, name)) != NO_WORDS
    }
    found: dict[str, Any] = {"code": relation.name, "connector": _said(relation.connector), **texts}
    if relation.confused_with:
        found["confused_with"] = [
            {"relations": list(confusion.relations), "why": _said(confusion.why)}
            for confusion in relation.confused_with
        ]
    if relation.examples:
        found["examples"] = [
            {
                "head": example.head,
                "tail": example.tail,
                "answer": TRIPLE.answer(example.score).key,
                "why": _said(example.why),
            }
            for example in relation.examples
        ]
    return found


@dataclass
class _Reader:
    """Reads a document to its end, so that all that is wrong can be said at once."""

    protocol: str
    problems: list[Sentence] = field(default_factory=list)

    def wording(self, document: object) -> Wording:
        default = default_wording(self.protocol)
        given = self._object(document, "", known=set(_OF_PROTOCOL[self.protocol]))
        relations = self._relations(given["relations"]) if "relations" in given else default.relations
        return Wording(
            protocol=self.protocol,
            relations=MappingProxyType(dict(relations)),
            answers=self._answers(given.get("answers", {})),
            details=self._details(given.get("details", {}), default.details),
            reasons=self._reasons(given["reasons"]) if "reasons" in given else default.reasons,
            class_groups=(
                self._groups(given["class_groups"]) if "class_groups" in given else default.class_groups
            ),
        )

    def _relations(self, given: object) -> dict[str, Relation]:
        rows = self._list(given, "relations", least=1, most=MAX_RELATIONS)
        names = {
            str(row["code"]) for row in rows if isinstance(row, Mapping) and isinstance(row.get("code"), str)
        }
        found: dict[str, Relation] = {}
        folded: dict[str, str] = {}
        for number, row in enumerate(rows, start=1):
            place = f"relations[{number}]"
            relation = self._relation(row, place, names)
            key = fold_key(relation.name).casefold()
            if key and key in folded:
                self._wrong(
                    f"{place}.code",
                    say("“{code}” cannot be told from “{other}”.", code=relation.name, other=folded[key]),
                )
            folded[key] = relation.name
            found[relation.name] = relation
        return found

    def _relation(self, given: object, place: str, names: set[str]) -> Relation:
        row = self._object(given, place, known=_OF_RELATION, needed=("code", "connector"))
        name = self._code(row["code"], f"{place}.code") if "code" in row else ""
        texts = {
            part: self._words(row[part], f"{place}.{part}")
            for part in ("connector", "definition", "head_kind", "tail_kind", "tail_time")
            if part in row
        }
        return Relation(
            name=name,
            connector=texts.pop("connector", NO_WORDS),
            family=RELATIONS[name].family if name in RELATIONS else "",
            published_phrase=RELATIONS[name].published_phrase if name in RELATIONS else "",
            confused_with=tuple(
                self._confusion(part, f"{place}.confused_with[{number}]", names - {name})
                for number, part in enumerate(
                    self._list(row.get("confused_with", []), f"{place}.confused_with", most=MAX_EXAMPLES), 1
                )
            ),
            examples=tuple(
                self._example(part, f"{place}.examples[{number}]")
                for number, part in enumerate(
                    self._list(row.get("examples", []), f"{place}.examples", most=MAX_EXAMPLES), 1
                )
            ),
            **texts,
        )

    def _confusion(self, given: object, place: str, others: set[str]) -> Confusion:
        row = self._object(given, place, known={"relations", "why"}, needed=("relations", "why"))
        named = self._list(row.get("relations", []), f"{place}.relations", least=1, most=MAX_RELATIONS)
        for number, name in enumerate(named, start=1):
            if not isinstance(name, str) or name not in others:
                self._wrong(
                    f"{place}.relations[{number}]",
                    say("“{name}” is no other relation of this file.", name=_short(name)),
                )
        return Confusion(relations=tuple(str(name) for name in named), why=self._words_of(row, "why", place))

    def _example(self, given: object, place: str) -> Example:
        needed = ("head", "tail", "answer", "why")
        row = self._object(given, place, known=set(needed), needed=needed)
        keys = {answer.key: answer.score for answer in TRIPLE.scale}
        key = row.get("answer")
        if "answer" in row and key not in keys:
            self._wrong(
                f"{place}.answer",
                say("“{name}” is no answer; they are {known}.", name=_short(key), known=", ".join(keys)),
            )
        return Example(
            head=self._text(row["head"], f"{place}.head") if "head" in row else "",
            tail=self._text(row["tail"], f"{place}.tail") if "tail" in row else "",
            score=keys.get(str(key), "0"),
            why=self._words_of(row, "why", place),
        )

    def _answers(self, given: object) -> Mapping[str, Words]:
        scale = {answer.key: answer.words for answer in get_protocol(self.protocol).scale}
        row = self._object(given, "answers", known=set(scale))
        words = {key: self._words(row[key], f"answers.{key}") for key in scale if key in row}
        return MappingProxyType({key: text for key, text in words.items() if text != scale[key]})

    def _details(self, given: object, default: tuple[Choice, ...]) -> tuple[Choice, ...]:
        row = self._object(given, "details", known={detail.code for detail in default})
        return tuple(
            Choice(detail.code, self._words(row[detail.code], f"details.{detail.code}"))
            if detail.code in row
            else detail
            for detail in default
        )

    def _reasons(self, given: object) -> tuple[Choice, ...]:
        found: dict[str, Choice] = {}
        for number, part in enumerate(self._list(given, "reasons", least=1, most=MAX_REASONS), start=1):
            place = f"reasons[{number}]"
            row = self._object(part, place, known={"code", "words"}, needed=("code", "words"))
            code = str(row.get("code", ""))
            if "code" in row and not _REASON.fullmatch(code):
                self._wrong(
                    f"{place}.code",
                    say("write a code of small letters, digits and underscores, at most 30."),
                )
            if code in found:
                self._wrong(f"{place}.code", say("“{code}” stands twice.", code=code))
            found[code] = Choice(code, self._words_of(row, "words", place))
        return tuple(found.values())

    def _groups(self, given: object) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {group: [] for group in CLASS_GROUPS}
        row = self._object(given, "class_groups")
        if len(row) > MAX_CLASSES:
            self._wrong(
                "class_groups",
                say("there are {n}; at most {limit} are taken.", n=len(row), limit=MAX_CLASSES),
            )
        for name, group in row.items():
            self._code(name, f"class_groups.{_short(name)}")
            if group not in found:
                self._wrong(
                    f"class_groups.{_short(name)}",
                    say(
                        "“{name}” is no group; they are {known}.", name=_short(group), known=", ".join(found)
                    ),
                )
            else:
                found[str(group)].append(name)
        return MappingProxyType({group: tuple(names) for group, names in found.items()})

    # The shapes

    def _object(
        self,
        given: object,
        place: str,
        *,
        known: set[str] | None = None,
        needed: Sequence[str] = (),
    ) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            self._wrong(place, say("an object with names in it belongs here."))
            return {}
        for name in given:
            if known is not None and name not in known:
                there = ", ".join(sorted(known))
                self._wrong(
                    f"{place}.{_short(name)}" if place else _short(name),
                    say("there is no such part; the parts are {known}.", known=there),
                )
        for name in needed:
            if name not in given:
                self._wrong(f"{place}.{name}", say("this part is missing."))
        return dict(given)

    def _list(self, given: object, place: str, *, least: int = 0, most: int) -> list[Any]:
        if not isinstance(given, list):
            self._wrong(place, say("a list belongs here."))
            return []
        if not least <= len(given) <= most:
            self._wrong(
                place,
                say("there are {n}; {least} to {most} belong here.", n=len(given), least=least, most=most),
            )
        return given[:most]

    def _words_of(self, row: Document, name: str, place: str) -> Words:
        """A part that was looked for already: where it is missing, that was said."""
        return self._words(row[name], f"{place}.{name}") if name in row else NO_WORDS

    def _words(self, given: object, place: str) -> Words:
        row = self._object(given, place, known={"en", "zh"})
        for language in ("en", "zh"):
            if language not in row and isinstance(given, Mapping):
                self._wrong(f"{place}.{language}", say("this text is missing."))
        return Words(
            *(
                self._text(row[language], f"{place}.{language}") if language in row else ""
                for language in ("en", "zh")
            )
        )

    def _text(self, given: object, place: str) -> str:
        if not isinstance(given, str):
            self._wrong(place, say("a text belongs here."))
            return ""
        if not given.strip():
            self._wrong(place, say("this text is empty."))
        if len(given) > TEXT_LENGTH or "\0" in given:
            self._wrong(
                place, say("a text has at most {limit} characters, none of them U+0000.", limit=TEXT_LENGTH)
            )
        return given

    def _code(self, given: object, place: str) -> str:
        if (
            not isinstance(given, str)
            or not 1 <= len(given) <= CODE_LENGTH
            or given != fold_key(given)
            or not given.isprintable()
        ):
            self._wrong(
                place,
                say(
                    "a name of 1 to {limit} plain characters belongs here, without blanks around it.",
                    limit=CODE_LENGTH,
                ),
            )
            return ""
        return given

    def _wrong(self, place: str, what: Sentence) -> None:
        if place:
            self.problems.append(say("{place}: {what}", place=place, what=what))
        else:
            self.problems.append(what)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= CODE_LENGTH else text[:CODE_LENGTH] + "…"
