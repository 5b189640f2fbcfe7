"""Sentences for people that can be said again in another language.

The rules and the readers of files know no language but English, and nothing of Django. So a sentence of theirs
remembers what it was made of; who shows it translates the template and puts the values in.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

Gettext = Callable[[str], str]
Ngettext = Callable[[str, str, int], str]


class Sentence(str):
    """English text made of a template with named places, and of the values in them.

    `plural` is the template for another number than one, "" where the number does not matter; then `values` hold
    the number as `n`.
    """

    template: str
    plural: str
    values: Mapping[str, Any]

    def translated(self, gettext: Gettext, ngettext: Ngettext) -> str:
        """The same sentence by the catalogue behind these two functions, values that are sentences too."""
        template = (
            ngettext(self.template, self.plural, self.values["n"]) if self.plural else gettext(self.template)
        )
        return template.format(
            **{
                name: value.translated(gettext, ngettext) if isinstance(value, Sentence) else value
                for name, value in self.values.items()
            }
        )

    def as_data(self) -> dict[str, Any]:
        """What can be kept as JSON until somebody reads it."""
        values = {
            name: value.as_data() if isinstance(value, Sentence) else value
            for name, value in self.values.items()
        }
        return {"template": self.template, "plural": self.plural, "values": values}


def say(template: str, /, **values: object) -> Sentence:
    """A sentence; `template` is written out, so that the catalogue of messages finds it.

    >>> say("Line {line} is empty.", line=3)
    'Line 3 is empty.'
    >>> say("Line {line} is empty.", line=3).translated(lambda text: "第 {line} 行是空的。", lambda *forms: "")
    '第 3 行是空的。'
    """
    return _sentence(template, "", values)


def say_count(one: str, many: str, /, *, n: int, **values: object) -> Sentence:
    """A sentence about `n` things.

    >>> say_count("{n} row was skipped.", "{n} rows were skipped.", n=1)
    '1 row was skipped.'
    """
    return _sentence(one, many, {"n": n, **values})


def listed(parts: Sequence[str]) -> Sentence:
    """Several as one, by the punctuation of the language.

    >>> listed(["a", "b", "c"])
    'a; b; c'
    """
    first, *others = parts
    alone = first if isinstance(first, Sentence) else _sentence("{alone}", "", {"alone": first})
    return reduce(lambda before, after: say("{before}; {after}", before=before, after=after), others, alone)


def from_data(data: Mapping[str, Any]) -> Sentence:
    """The sentence that `as_data` made this of.

    >>> from_data(say("Line {line} is empty.", line=3).as_data())
    'Line 3 is empty.'
    """
    values = {
        name: from_data(value) if isinstance(value, Mapping) else value
        for name, value in data["values"].items()
    }
    return _sentence(data["template"], data["plural"], values)


def _sentence(template: str, plural: str, values: Mapping[str, Any]) -> Sentence:
    values = {name: value if isinstance(value, str | int) else str(value) for name, value in values.items()}
    english = plural if plural and values["n"] != 1 else template
    made = Sentence(english.format(**values))
    made.template, made.plural, made.values = template, plural, values
    return made
