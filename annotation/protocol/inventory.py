"""What compounds are put together from, as data: kinds of atoms, patterns, and the two languages.

The inventory of the published test set is `atoms.json` beside this file; another test set, or another pair of
languages, is another file of the same members:

    name, source_language, target_language
    word_spaces   whether the source language parts words by spaces (Chinese does not)
    contexts      in how many sentences a compound stands
    kinds         {"DET": ["the", "every"], "N": ["dog", …], …}: the atoms of each kind; an atom may be several words
    patterns      {"NP": ["DET+N", "DET+ADJ+N"], …}: of each type the kinds in their order
    openers       {"NP": ["a", "an"]}: words that tell a type by standing first, no more (may be left out)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key

_TEXTS = ("name", "source_language", "target_language")
_MEMBERS = frozenset({*_TEXTS, "word_spaces", "contexts", "kinds", "patterns", "openers"})


@dataclass(frozen=True)
class AtomInventory:
    """The closed classes a compound is put together from, and how. Atoms are folded: NFKC, without case.

    `patterns` gives the kinds of each type's patterns in order; of patterns that both fit, the first counts.
    """

    kinds: Mapping[str, frozenset[str]]
    patterns: Mapping[str, tuple[tuple[str, ...], ...]]
    openers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    name: str = ""
    source_language: str = "en"
    target_language: str = "zh"
    word_spaces: bool = True
    contexts: int = 5

    @cached_property
    def longest(self) -> int:
        """Pieces of the longest atom: no stretch of a compound longer than this needs to be looked up."""
        return max((len(self.pieces(atom)) for atoms in self.kinds.values() for atom in atoms), default=0)

    @cached_property
    def beginnings(self) -> Mapping[str, tuple[str, ...]]:
        """The kinds with which all patterns of a type begin: what begins so is of that type, whatever follows."""
        return {
            type_: tuple(
                kinds[0]
                for kinds in takewhile(lambda kinds: len(set(kinds)) == 1, zip(*patterns, strict=False))
            )
            for type_, patterns in self.patterns.items()
        }

    def pieces(self, text: str) -> Sequence[str]:
        """What atoms are matched piece by piece: words, or characters where no spaces part words."""
        return text.split() if self.word_spaces else "".join(text.split())

    def joined(self, pieces: Sequence[str]) -> str:
        return (" " if self.word_spaces else "").join(pieces)


def read_inventory(data: Any) -> AtomInventory:
    """The inventory that a JSON document describes. A ProtocolError names the member that is not as it should be.

    >>> small = read_inventory({"name": "two words", "source_language": "en", "target_language": "zh",
    ...     "kinds": {"DET": ["The"], "N": ["dog"]}, "patterns": {"NP": ["DET+N"]}})
    >>> small.kinds["DET"], small.patterns["NP"], small.contexts
    (frozenset({'the'}), (('DET', 'N'),), 5)
    """
    if not isinstance(data, Mapping):
        raise ProtocolError(say("The inventory is not a JSON object."))
    unknown = sorted(set(data) - _MEMBERS)
    if unknown:
        raise ProtocolError(
            say(
                "The inventory has the member “{name}”, which means nothing here. It may have: {known}.",
                name=unknown[0],
                known=", ".join(sorted(_MEMBERS)),
            )
        )
    for name in _TEXTS:
        if not isinstance(data.get(name), str) or not data[name].strip():
            raise ProtocolError(say("The inventory lacks “{name}”, a text.", name=name))
    word_spaces = _word_spaces(data)
    joint = " " if word_spaces else ""
    kinds = {kind: _atoms(kind, atoms, joint) for kind, atoms in _object(data, "kinds").items()}
    patterns = {
        type_: tuple(_pattern(type_, pattern, kinds) for pattern in _listed(patterns, f"patterns.{type_}"))
        for type_, patterns in _object(data, "patterns").items()
    }
    openers = _object(data, "openers") if "openers" in data else {}
    for type_ in openers:
        if type_ not in patterns:
            raise ProtocolError(say("“openers” names the type {type}, which has no patterns.", type=type_))
    return AtomInventory(
        kinds=kinds,
        patterns=patterns,
        openers={type_: _atoms(f"openers.{type_}", words, joint) for type_, words in openers.items()},
        name=data["name"].strip(),
        source_language=data["source_language"].strip(),
        target_language=data["target_language"].strip(),
        word_spaces=word_spaces,
        contexts=_contexts(data),
    )


def _object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    if not isinstance(found, Mapping) or not found:
        raise ProtocolError(say("The inventory lacks “{name}”, an object of lists.", name=name))
    return found


def _listed(found: Any, name: str) -> list[str]:
    if not isinstance(found, list) or not found or not all(isinstance(text, str) for text in found):
        raise ProtocolError(say("“{name}” is not a list of texts.", name=name))
    return found


def _atoms(kind: str, found: Any, joint: str) -> frozenset[str]:
    folded = [joint.join(fold_key(atom).casefold().split()) for atom in _listed(found, kind)]
    if not all(folded):
        raise ProtocolError(say("“{name}” holds an empty atom.", name=kind))
    return frozenset(folded)


def _pattern(type_: str, pattern: str, kinds: Mapping[str, Any]) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in pattern.split("+"))
    for part in parts:
        if part not in kinds:
            raise ProtocolError(
                say(
                    "The pattern “{pattern}” of {type} names “{kind}”, of which “kinds” lists no atoms.",
                    pattern=pattern,
                    type=type_,
                    kind=part,
                )
            )
    return parts


def _word_spaces(data: Mapping[str, Any]) -> bool:
    found = data.get("word_spaces", True)
    if not isinstance(found, bool):
        raise ProtocolError(say("“word_spaces” is true or false."))
    return found


def _contexts(data: Mapping[str, Any]) -> int:
    found = data.get("contexts", 5)
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise ProtocolError(say("“contexts” is a whole number, 1 or more."))
    return int(found)
