"""What a protocol consists of, as plain data: scale, columns, causes, label rules; and how a label is read.

The two protocols themselves stand in `compound` and `triple`; `base` finds them by name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from annotation.protocol.text import ZERO_WIDTH

# Full-width forms only: full NFKC would also take "¹" or "①" for a 1, which nobody means as a label.
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_NUMBER = re.compile(r"[0-9](?:\.[0-9]*)?|\.[0-9]+")


@dataclass(frozen=True)
class Words:
    """One text for people in the two languages of every page: English and Simplified Chinese."""

    en: str
    zh: str


@dataclass(frozen=True)
class Choice:
    """One option people pick from: its stable code and its words."""

    code: str
    words: Words


@dataclass(frozen=True)
class Answer:
    """One value of a scale: a stable id, the label code it scores, its words, and how files may spell it.

    `accepted` holds spellings as `fold_label` leaves them; numbers equal to `score` are accepted as well.
    """

    key: str
    score: str
    words: Words
    accepted: frozenset[str]


@dataclass(frozen=True)
class Column:
    """A canonical column of an item file: whether it must be there, and whether its cells may be empty."""

    name: str
    needed: bool = False
    may_be_empty: bool = True


@dataclass(frozen=True)
class Protocol:
    """The rules under which items of one kind are judged. Data only: nothing here depends on a campaign.

    `scale` runs from the lowest answer to the highest; every ordinal statistic takes its order from there,
    never from sorting words. `contexts_per_unit` is None where a unit is a single item. `default_rules` maps
    a number of experts per item to the label rule of that number, with None for every number not named; no
    entry at all means that a rule must be named.
    """

    name: str
    title: Words
    unit: Words
    scale: tuple[Answer, ...]
    default_k: int
    contexts_per_unit: int | None
    id_column: str
    columns: tuple[Column, ...]
    cannot_judge: Words
    cannot_judge_causes: tuple[Choice, ...]
    score_beside_cause: bool
    label_rules: tuple[str, ...]
    default_rules: Mapping[int | None, str]
    examples: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The label codes in scale order, lowest first."""
        return tuple(answer.score for answer in self.scale)

    @property
    def scale_values(self) -> tuple[float, ...]:
        """The label codes as numbers, in scale order, lowest first."""
        return tuple(float(answer.score) for answer in self.scale)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def needed_columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.needed)

    def answer(self, score: str) -> Answer:
        """The answer that scores this label code; a code that is not of the scale is a ProtocolError."""
        for answer in self.scale:
            if answer.score == score:
                return answer
        known = ", ".join(self.labels)
        raise ProtocolError(
            say(
                "“{score}” is not a label of the {name} scale, which has {known}.",
                score=score,
                name=self.name,
                known=known,
            )
        )

    def parse_label(self, text: str, *, in_file: bool = False) -> str:
        """The label code that a file, a form or a program means by `text`.

        Case, outer space, zero-width characters and full-width forms do not matter; numbers are compared
        exactly, so 0.49999 is not 0.5. Anything else is a ProtocolError that lists what is accepted: to who
        judges in words only, for experts never see scores; to who brings a file (`in_file`) as scores too.

        >>> from annotation.protocol.compound import COMPOUND
        >>> from annotation.protocol.triple import TRIPLE
        >>> COMPOUND.parse_label("１"), COMPOUND.parse_label("Incorrect"), COMPOUND.parse_label("正确")
        ('1', '0', '1')
        >>> TRIPLE.parse_label(".50"), TRIPLE.parse_label("Always/Often"), TRIPLE.parse_label("从不")
        ('0.5', '1', '0')
        """
        folded = fold_label(text)
        number = Decimal(folded) if _NUMBER.fullmatch(folded) else None
        for answer in self.scale:
            if folded in answer.accepted or (number is not None and number == Decimal(answer.score)):
                return answer.score
        accepted = reduce(_and_more, self.examples if in_file else self._in_words())
        if not folded:
            raise ProtocolError(say("The label is empty; write one of: {accepted}.", accepted=accepted))
        raise ProtocolError(
            say(
                "“{text}” is not an answer of this scale; write one of: {accepted}.",
                text=_shortened(text),
                accepted=accepted,
            )
        )

    def _in_words(self) -> Sequence[str]:
        """The answers as pages name them, the highest first, in both languages: either is accepted."""
        return [f"{answer.words.en} ({answer.words.zh})" for answer in reversed(self.scale)]


def _and_more(listed: str, one: str) -> str:
    return say("{listed}, {one}", listed=listed, one=one)


def fold_label(text: str) -> str:
    """A label as it is compared: case, full-width forms, zero-width characters and outer space do not count.

    Space around a slash goes too, so that "Always / Often" is "Always/Often".

    >>> fold_label(" Ａlways ／ OFTEN ")
    'always/often'
    """
    visible = "".join(character for character in text if character not in ZERO_WIDTH)
    return re.sub(r"\s*/\s*", "/", " ".join(visible.translate(_HALF_WIDTH).casefold().split()))


def accepted_spellings(*spellings: str) -> frozenset[str]:
    """The folded forms of spellings written as people write them."""
    return frozenset(fold_label(spelling) for spelling in spellings)


def _shortened(text: str) -> str:
    """A wrong cell may hold a whole sentence; its beginning is enough to find it."""
    return text if len(text) <= 60 else text[:60] + "…"
