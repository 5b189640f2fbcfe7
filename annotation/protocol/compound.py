"""The compound protocol: five contexts on one screen, one verdict each; and how a compound is built.

Source: Li, Yin, Chen, Zhang, "On Compositional Generalization of Neural Machine Translation" (ACL 2021).
Its test set, CoGnition, combines `[V | P] + DET + [ADJ] + N + [MOD]` into 12 patterns of 2 to 5 atoms.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from annotation.protocol.definition import Answer, Choice, Column, Protocol, Words, accepted_spellings
from annotation.protocol.inventory import AtomInventory, read_inventory
from annotation.protocol.location import locate
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key

__all__ = ["ATOMS", "COMPOUND", "WRONG_REASONS", "Analysis", "Atom", "AtomInventory", "analyse", "locate"]

COMPOUND = Protocol(
    name="compound",
    title=Words("compounds", "组合短语"),
    unit=Words("compound", "组合短语"),
    scale=(
        Answer(
            key="wrong",
            score="0",
            words=Words("wrong", "错误"),
            accepted=accepted_spellings("incorrect", "wrong", "错误", "false"),
        ),
        Answer(
            key="correct",
            score="1",
            words=Words("correct", "正确"),
            accepted=accepted_spellings("correct", "正确", "true"),
        ),
    ),
    default_k=1,
    contexts_per_unit=5,
    id_column="item_id",
    columns=(
        Column("item_id"),
        Column("compound", needed=True, may_be_empty=False),
        Column("type"),
        Column("pattern"),
        Column("context_no"),
        Column("source", needed=True, may_be_empty=False),
        Column("translation", needed=True),  # a system's empty output is judged like any other
        Column("reference"),
        Column("system"),
        Column("run"),
        Column("source_differs"),  # yes: the source that was judged is not the line the reference translates
    ),
    cannot_judge=Words("cannot judge", "无法判断"),
    cannot_judge_causes=(
        Choice("source_broken", Words("source broken", "原文有误")),
        Choice("compound_not_in_source", Words("compound not in source", "原文中没有该组合短语")),
        Choice("translation_unreadable", Words("translation missing or unreadable", "译文缺失或无法辨读")),
        Choice("guidelines_silent", Words("guidelines silent", "标注规范没有说明")),
        Choice("other", Words("other", "其他原因")),
    ),
    score_beside_cause=False,
    label_rules=("majority", "unanimous"),
    default_rules=MappingProxyType({None: "majority"}),
    examples=(
        say("{one} or {other}", one="1", other="0"),
        say("{one} or {other} (or {third})", one="correct", other="incorrect", third="wrong"),
        say("{one} or {other}", one="true", other="false"),
        say("{one} or {other}", one="正确", other="错误"),
    ),
)

# Why a translation of the compound is wrong; several may hold at once.
WRONG_REASONS = (
    Choice("missing", Words("missing", "漏译")),
    Choice("mistranslated", Words("mistranslated", "误译")),
    Choice("modifier", Words("modifier attached wrongly", "修饰关系错")),
    Choice("added", Words("added meaning", "多译")),
    Choice("untranslated", Words("untranslated", "未译")),
    Choice("not_fluent", Words("not fluent", "不通顺")),
)


ATOMS = read_inventory(json.loads(Path(__file__).with_name("atoms.json").read_text(encoding="utf-8")))

_WORD = re.compile(r"\S+")
_CHARACTER = re.compile(r"\S[\u0300-\u036f]*")


@dataclass(frozen=True)
class Atom:
    """One atom: its kind (V, P, DET, ADJ, N, MOD), its text as given, its code points in the compound."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Analysis:
    """How a compound is built. Where it was not recognised, `pattern` is None and `atoms` is empty; `type` is
    then certain or None. `words` is always known.
    """

    type: str | None
    pattern: str | None
    atoms: tuple[Atom, ...]
    words: int

    @property
    def recognised(self) -> bool:
        return self.pattern is not None


@dataclass(frozen=True)
class _Word:
    folded: str
    start: int
    end: int


def analyse(compound: str, inventory: AtomInventory = ATOMS) -> Analysis:
    """Type, pattern, atoms and number of words of a compound.

    The whole compound is matched against the inventory's patterns, for the published test set
    `[V | P] + DET + [ADJ] + N + [MOD]`, whatever its case and spacing.
    An atom of several words is taken before a shorter one, and a modifier stands at the end, so that in
    "liked the dog he liked" the first "liked" is the verb. A compound with any word outside the inventory is
    *not* recognised: no pattern is guessed. Its type is still stated where its first words settle it: a
    determiner (or "a", "an") begins an NP, a known verb and a determiner a VP, a known preposition and a
    determiner a PP. `words` counts the stretches between white space that hold a letter or a digit.

    >>> analyse("liked the dog he liked").pattern
    'VP:V+DET+N+MOD'
    >>> [(atom.kind, atom.text) for atom in analyse("Another  lazy dog he liked").atoms]
    [('DET', 'Another'), ('ADJ', 'lazy'), ('N', 'dog'), ('MOD', 'he liked')]
    >>> analyse("the sleepy gardener")
    Analysis(type='NP', pattern=None, atoms=(), words=3)
    >>> analyse("painted the old fence").type is None
    True
    """
    pieces = (_WORD if inventory.word_spaces else _CHARACTER).finditer(compound)
    words = [_Word(fold_key(piece.group()).casefold(), piece.start(), piece.end()) for piece in pieces]
    count = sum(any(character.isalnum() for character in word.folded) for word in words)
    for type_, patterns in inventory.patterns.items():
        for kinds in patterns:
            for stretches in _readings(words, kinds, inventory):
                if sum(len(stretch) for _, stretch in stretches) == len(words):
                    atoms = tuple(_atom(compound, kind, stretch) for kind, stretch in stretches)
                    return Analysis(type_, f"{type_}:{'+'.join(kinds)}", atoms, count)
    return Analysis(_certain_type(words, inventory), None, (), count)


_Stretches = list[tuple[str, list[_Word]]]


def _readings(words: list[_Word], kinds: tuple[str, ...], inventory: AtomInventory) -> Iterator[_Stretches]:
    """Every way in which `words` begin with atoms of these kinds in turn, longer atoms first."""
    if not kinds:
        yield []
        return
    for length in range(min(inventory.longest, len(words)), 0, -1):
        if inventory.joined([word.folded for word in words[:length]]) in inventory.kinds[kinds[0]]:
            for rest in _readings(words[length:], kinds[1:], inventory):
                yield [(kinds[0], words[:length]), *rest]


def _certain_type(words: list[_Word], inventory: AtomInventory) -> str | None:
    """The type that the first words settle beyond doubt, else None ("painted the …" may be a verb or not)."""
    for type_, openers in inventory.openers.items():
        if words and words[0].folded in openers:
            return type_
    for type_, kinds in inventory.beginnings.items():
        if kinds and any(_readings(words, kinds, inventory)):
            return type_
    return None


def _atom(compound: str, kind: str, stretch: list[_Word]) -> Atom:
    start, end = stretch[0].start, stretch[-1].end
    return Atom(kind=kind, text=compound[start:end], start=start, end=end)
