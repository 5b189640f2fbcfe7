"""Sentences of documents that are kept can be said in another language when somebody reads them."""

import json
from typing import Any

from annotation.protocol.sentences import Sentence, say
from scoring.services.kept_sentences import SAID, as_measured, with_sentences

DOCUMENT: dict[str, Any] = {
    "n": 4,
    "rows": [
        {"auc": None, "reason": say("{first}; {second}", first=say("all {n} are alike", n=4), second="no")},
        {"auc": 50.0, "reason": None},
    ],
    "warnings": [say("no triples"), "plain"],
}


def shouted(text: str) -> str:
    return text.upper().replace("{FIRST}", "{first}").replace("{SECOND}", "{second}").replace("{N}", "{n}")


def test_a_document_comes_back_as_it_was_measured() -> None:
    kept = json.loads(json.dumps(with_sentences(DOCUMENT)))

    found = as_measured(kept)

    assert found == DOCUMENT
    reason = found["rows"][0]["reason"]
    assert isinstance(reason, Sentence)
    assert reason.translated(shouted, lambda one, many, n: one) == "ALL 4 ARE ALIKE; no"
    assert {name for name in kept if name not in DOCUMENT} == {SAID}


def test_a_document_without_sentences_is_kept_as_it_is() -> None:
    plain = {"rows": [], "warnings": ["plain", say("no triples")]}
    assert with_sentences(plain) is plain
    assert as_measured(plain) == plain
