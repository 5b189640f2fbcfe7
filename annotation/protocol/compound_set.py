"""Whether a set of compounds in contexts tests what a compositional test set is to test.

A test set in the manner of CoGnition (Li et al., ACL 2021, section 3) puts compounds that were never seen in training,
made of atoms that were, into contexts that were. So a compound that is translated wrongly was wrong because it is new
and not because a word or the rest of its sentence is. `check_compound_set` finds what contradicts that, rule by rule:

    pattern            the compound has none of the inventory's patterns
    contexts           it stands in another number of contexts than the inventory says
    context_repeated   two of its contexts are the same sentence
    source             it does not stand in its source
    seen               it stands in the training text
    atom               one of its atoms does not stand in the training text
    context            its sentence is not known: without the compound, no training sentence or context of the pool has
                       the same words before and after

The last three need a training text (or, for the last, a pool); without one they are not looked at, and said to be so.

Cost: one pass over the training text, in which every sentence is walked once down a tree of all compounds and atoms
and once down a tree of all beginnings of contexts; nothing grows with compounds × sentences.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.compound import ATOMS, Analysis, analyse
from annotation.protocol.inventory import AtomInventory
from annotation.protocol.location import locate
from annotation.protocol.sentences import Sentence, say, say_count
from annotation.protocol.text import ZERO_WIDTH, fold_key

SLOT = "___"  # in a context of the pool: where the compound goes
EXAMPLES = 3  # lines of the training text that are named
EVERY = 10_000  # sentences between two reports of progress

RULES = ("pattern", "contexts", "context_repeated", "source", "seen", "atom", "context")

_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetRow:
    """One compound in one context. `line` is where it stands in its file."""

    line: int
    compound: str
    source: str


@dataclass(frozen=True, slots=True)
class Violation:
    """What contradicts a rule, and where: a line of the set (the compound's first where all of it is meant)."""

    rule: str
    line: int
    compound: str
    message: Sentence


@dataclass(frozen=True)
class CompoundSet:
    """What the check came to. `patterns` counts compounds by pattern, "" those of none; `sentences` are those of the
    training text and `pool` the contexts given beside it, None where none were given.
    """

    compounds: int
    contexts: int
    patterns: dict[str, int]
    sentences: int | None
    pool: int | None
    violations: tuple[Violation, ...]
    not_checked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.violations


def check_compound_set(
    rows: Sequence[SetRow],
    *,
    inventory: AtomInventory = ATOMS,
    training: Iterable[str] | None = None,
    pool: Iterable[str] | None = None,
    progress: Callable[[int], None] = lambda sentences: None,
) -> CompoundSet:
    """Everything in `rows` that contradicts the rules above, in the order of the rows.

    `training` are sentences of the source language. `pool` are contexts, one a text: with `___` where the compound
    goes, or whole sentences, which are known contexts as those of the training text are. `progress` is told how many
    training sentences have been read.

    >>> found = check_compound_set(
    ...     [SetRow(2, "the red dog", "yesterday the red dog slept ."), SetRow(3, "the red dog", "I saw it .")],
    ...     training=["yesterday the farmer slept .", "a dog", "it was red", "the end"])
    >>> [(violation.rule, violation.line) for violation in found.violations]
    [('contexts', 2), ('source', 3)]
    >>> found.patterns
    {'NP:DET+ADJ+N': 1}
    """
    units: dict[str, list[SetRow]] = defaultdict(list)
    for row in rows:
        units[_folded(row.compound, inventory)].append(row)
    analyses = {key: analyse(of_unit[0].compound, inventory) for key, of_unit in units.items()}
    known = _Known(inventory, units, analyses)
    known.read_pool(pool)
    known.read_training(training, progress)
    not_checked = (
        *(("seen", "atom") if training is None else ()),
        *(("context",) if training is None and pool is None else ()),
    )
    found = [
        *_of_units(units, analyses, inventory),
        *(
            violation
            for row in rows
            for violation in _of_row(row, known, checked="context" not in not_checked)
        ),
        *(known.unseen_atoms() if training is not None else ()),
        *known.seen_compounds(),
    ]
    order = {rule: place for place, rule in enumerate(RULES)}
    return CompoundSet(
        compounds=len(units),
        contexts=len(rows),
        patterns=dict(sorted(Counter(analysis.pattern or "" for analysis in analyses.values()).items())),
        sentences=None if training is None else known.sentences,
        pool=None if pool is None else known.pooled,
        violations=tuple(sorted(found, key=lambda violation: (violation.line, order[violation.rule]))),
        not_checked=not_checked,
    )


def _of_units(
    units: dict[str, list[SetRow]], analyses: dict[str, Analysis], inventory: AtomInventory
) -> Iterator[Violation]:
    for key, rows in units.items():
        first = rows[0]
        if not analyses[key].recognised:
            yield Violation(
                "pattern", first.line, first.compound,
                say("“{compound}” has none of the patterns, or an atom that is not listed.", compound=first.compound),
            )  # fmt: skip
        if len(rows) != inventory.contexts:
            message = say_count(
                "“{compound}” stands in {n} context instead of {wanted}.",
                "“{compound}” stands in {n} contexts instead of {wanted}.",
                n=len(rows), compound=first.compound, wanted=inventory.contexts,
            )  # fmt: skip
            yield Violation("contexts", first.line, first.compound, message)
        lines: dict[str, int] = {}
        for row in rows:
            line = lines.setdefault(_folded(row.source, inventory), row.line)
            if line != row.line:
                yield Violation(
                    "context_repeated", row.line, row.compound,
                    say("The context of “{compound}” stands on line {line} already.", compound=row.compound, line=line),
                )  # fmt: skip


def _of_row(row: SetRow, known: "_Known", *, checked: bool) -> Iterator[Violation]:
    frame = known.frames.get(row.line)
    if frame is None:
        yield Violation(
            "source", row.line, row.compound,
            say("“{compound}” does not stand in its source.", compound=row.compound),
        )  # fmt: skip
    elif checked and frame not in known.known_frames:
        before, after = (known.inventory.joined(words) for words in frame)
        yield Violation(
            "context", row.line, row.compound,
            say(
                "The context “{context}” is not known: no training sentence and no context of the pool has these words "
                "around another phrase.",
                context=f"{before} {SLOT} {after}".strip(),
            ),
        )  # fmt: skip


@dataclass
class _Tree:
    """Sequences of words by their beginnings. `ends` are what the sequences that end here were put in for."""

    branches: dict[str, "_Tree"] = field(default_factory=dict)
    ends: list[Any] = field(default_factory=list)

    def add(self, words: Iterable[str], value: Any) -> None:
        tree = self
        for word in words:
            tree = tree.branches.setdefault(word, _Tree())
        tree.ends.append(value)

    def along(self, words: Sequence[str], start: int) -> Iterator[tuple[int, list[Any]]]:
        """The sequences that stand in `words` from `start` on: where each ends, and what it was put in for."""
        tree = self
        for place in range(start, len(words)):
            found = tree.branches.get(words[place])
            if found is None:
                return
            tree = found
            if tree.ends:
                yield place + 1, tree.ends


class _Known:
    """What training text and pool know of the set: its compounds, its atoms, its contexts."""

    def __init__(
        self, inventory: AtomInventory, units: dict[str, list[SetRow]], analyses: dict[str, Analysis]
    ) -> None:
        self.inventory = inventory
        self.units = units
        self.sentences = self.pooled = 0
        self.seen: dict[str, list[int]] = defaultdict(list)  # compound → its training lines
        self.frames = {
            row.line: frame
            for rows in units.values()
            for row in rows
            if (frame := self._frame(row)) is not None
        }
        self.known_frames: set[tuple[_Words, _Words]] = set()
        self.atoms = self._atoms(
            analyses
        )  # atoms that no sentence has held yet → the first row that needs them
        self._phrases = _Tree()
        for key, rows in units.items():
            self._phrases.add(_words(rows[0].compound, inventory), ("compound", key))
        for atom in self.atoms:
            self._phrases.add(_words(atom, inventory), ("atom", atom))
        self._before = _Tree()
        self._after: dict[_Words, set[_Words]] = defaultdict(set)
        for before, after in set(self.frames.values()):
            if before not in self._after:
                self._before.add(before, before)
            self._after[before].add(after)
        self._lengths = {before: {len(after) for after in found} for before, found in self._after.items()}

    def _frame(self, row: SetRow) -> tuple[_Words, _Words] | None:
        """The words around the compound; None where it does not stand in its source."""
        place = _place(row.compound, row.source, self.inventory)
        if place is None:
            return None
        return (
            tuple(_words(row.source[: place[0]], self.inventory)),
            tuple(_words(row.source[place[1] :], self.inventory)),
        )

    def _atoms(self, analyses: dict[str, Analysis]) -> dict[str, SetRow]:
        needed: dict[str, SetRow] = {}
        for key, analysis in analyses.items():
            for atom in analysis.atoms:
                needed.setdefault(_folded(atom.text, self.inventory), self.units[key][0])
        return needed

    def read_pool(self, pool: Iterable[str] | None) -> None:
        for context in pool or ():
            self.pooled += 1
            before, slot, after = context.partition(SLOT)
            words = _words(before, self.inventory)
            if slot:
                self.known_frames.add((tuple(words), tuple(_words(after, self.inventory))))
            else:
                self._read_frames(words)

    def read_training(self, training: Iterable[str] | None, progress: Callable[[int], None]) -> None:
        for sentence in training or ():
            self.sentences += 1
            words = _words(sentence, self.inventory)
            for start in range(len(words)):
                for _end, ends in self._phrases.along(words, start):
                    self._met(ends, sentence)
            self._read_frames(words)
            if self.sentences % EVERY == 0:
                progress(self.sentences)

    def _met(self, ends: list[tuple[str, str]], sentence: str) -> None:
        for kind, key in ends:
            if kind == "atom":
                self.atoms.pop(key, None)
                continue
            lines = self.seen[key]
            if (not lines or lines[-1] != self.sentences) and _place(
                self.units[key][0].compound, sentence, self.inventory
            ):
                lines.append(self.sentences)

    def _read_frames(self, words: Sequence[str]) -> None:
        """Every known context that these words are, with one word or more in the compound's place."""
        for end, ends in [(0, self._before.ends), *self._before.along(words, 0)]:
            for before in ends:
                after = self._after[before]
                self.known_frames.update(
                    (before, rest)
                    for length in self._lengths[before]
                    if end + length < len(words) and (rest := tuple(words[len(words) - length :])) in after
                )

    def seen_compounds(self) -> Iterator[Violation]:
        for key, lines in self.seen.items():
            if lines:
                first = self.units[key][0]
                yield Violation("seen", first.line, first.compound, _stands_on(first.compound, lines))

    def unseen_atoms(self) -> Iterator[Violation]:
        for atom, row in self.atoms.items():
            yield Violation(
                "atom", row.line, row.compound,
                say("The atom “{atom}” does not stand in the training text.", atom=atom),
            )  # fmt: skip


def _stands_on(compound: str, lines: Sequence[int]) -> Sentence:
    if len(lines) == 1:
        return say(
            "“{compound}” stands in the training text, on line {line}.", compound=compound, line=lines[0]
        )
    return say(
        "“{compound}” stands in the training text, on {n} lines: {lines}.",
        compound=compound,
        n=len(lines),
        lines=", ".join(map(str, lines[:EXAMPLES])) + (" …" if len(lines) > EXAMPLES else ""),
    )


_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "“": '"', "”": '"'})
_JOINT = re.compile(r"(?<=\S)@@\s+")
_NOT = re.compile(r"(?<=\w)n't\b")
_PIECE = re.compile(r"\w+|[^\w\s]")
_CHARACTER = re.compile(r"\S")


def _words(text: str, inventory: AtomInventory) -> list[str]:
    """Words and marks as they are compared: folded, whatever a tokeniser parted. Characters, where no spaces part
    words.
    """
    if not text.isascii():
        visible = "".join(character for character in text if character not in ZERO_WIDTH)
        text = unicodedata.normalize("NFKC", visible).translate(_QUOTES)
    if "@@" in text:
        text = _JOINT.sub("", text)
    text = text.casefold()
    if not inventory.word_spaces:
        return _CHARACTER.findall(text)
    return _PIECE.findall(_NOT.sub(" n't", text) if "n't" in text else text)


def _folded(text: str, inventory: AtomInventory) -> str:
    return inventory.joined(inventory.pieces(fold_key(text).casefold()))


def _place(compound: str, source: str, inventory: AtomInventory) -> tuple[int, int] | None:
    """The code points of the compound in a source."""
    if inventory.word_spaces:
        return locate(compound, source)
    between = r"\s*".join(map(re.escape, _words(compound, inventory)))
    found = re.search(between, source.casefold()) if between else None
    return found.span() if found else None
