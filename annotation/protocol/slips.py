"""Slips in the texts of a triple that nobody meant: a placeholder misspelt, an apostrophe lost in a spreadsheet.

They are reported, never mended: who builds a set decides.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from annotation.protocol.sentences import Sentence, say
from annotation.protocol.text import fold_key

# PersonX as files misspell it: another case, a blank, a dash or a line between the word and its letter.
_PLACEHOLDER = re.compile(r"(?<!\w)(person|people)[ \t_\-\u00a0\u3000]?([xyz])(?![a-zA-Z0-9])", re.IGNORECASE)
# "'s invite" and "'re late" after a spreadsheet took the apostrophe for a mark of text.
_EATEN = re.compile(r"(?:s|re|ll|ve) ")

SLIPS: Mapping[str, Sentence] = MappingProxyType(
    {
        "head_is_tail": say("Head and tail are the same."),
        "placeholder": say("A placeholder is not written as PersonX, PersonY, PersonZ or PeopleX."),
        "apostrophe": say(
            "A text begins with “s ”, “re ”, “ll ” or “ve ”, as where a spreadsheet took away the apostrophe."
        ),
    }
)


def slips(head: str, tail: str) -> tuple[str, ...]:
    """The names in `SLIPS` of what seems wrong.

    >>> slips("s invite", "personx says yes"), slips("'s invite", "PersonX's friend says yes")
    (('placeholder', 'apostrophe'), ())
    >>> slips("person x sings", "person x sings ")
    ('head_is_tail', 'placeholder')
    """
    texts = (head, tail)
    found = {
        "head_is_tail": fold_key(head) == fold_key(tail),
        "placeholder": any(_misspelt(text) for text in texts),
        "apostrophe": any(_EATEN.match(text.lstrip()) for text in texts),
    }
    return tuple(name for name in SLIPS if found[name])


def _misspelt(text: str) -> bool:
    return any(
        found[0] != f"{found[1].capitalize()}{found[2].upper()}" for found in _PLACEHOLDER.finditer(text)
    )
