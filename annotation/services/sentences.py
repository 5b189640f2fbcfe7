"""Sentences of the rules and of file readers, said in the language of who reads them."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, ngettext

from annotation.protocol.sentences import Sentence, from_data


def translated(message: str) -> str:
    """The message in the language that is active; what is no `Sentence` was said in it already."""
    return message.translated(gettext, ngettext) if isinstance(message, Sentence) else message


def with_sentence(issue: Mapping[str, Any]) -> dict[str, Any]:
    """A finding as it is kept until somebody reads it: what its message was made of stands beside it."""
    message = issue.get("message")
    return {**issue, "said": message.as_data()} if isinstance(message, Sentence) else dict(issue)


def message_of(kept: Mapping[str, Any]) -> str:
    """The message of a finding that was kept, in the language that is active."""
    return translated(from_data(kept["said"])) if kept.get("said") else str(kept.get("message", ""))
