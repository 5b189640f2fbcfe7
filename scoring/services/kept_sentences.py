"""Sentences in documents that are kept: said again in the language of whoever reads them, months later.

JSON keeps of a sentence its English only; what it was made of stands beside the document until it is read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.protocol.sentences import Sentence, from_data

Document = dict[str, Any]

SAID = "said"


def with_sentences(document: Document) -> Document:
    """The document to be kept. A sentence without values needs nothing: the catalogue knows it as it stands."""
    said = {str(sentence): sentence.as_data() for sentence in _sentences(document) if sentence.values}
    return {**document, SAID: said} if said else document


def _sentences(value: Any) -> Iterator[Sentence]:
    if isinstance(value, Sentence):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _sentences(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _sentences(one)


def as_measured(kept: Mapping[str, Any]) -> Document:
    """The document as it was before it was kept: equal in every value, its sentences ready to be said again."""
    said = {text: from_data(data) for text, data in kept.get(SAID, {}).items()}
    return {name: _said_again(value, said) for name, value in kept.items() if name != SAID}


def _said_again(value: Any, said: Mapping[str, Sentence]) -> Any:
    if isinstance(value, str):
        return said.get(value, value)
    if isinstance(value, Mapping):
        return {name: _said_again(one, said) for name, one in value.items()}
    if isinstance(value, list):
        return [_said_again(one, said) for one in value]
    return value
