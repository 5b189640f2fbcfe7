"""One way to compare keys and names that people type: look-alikes are equal, what is stored stays as given."""

import unicodedata

# Characters that take no room on screen: two keys that differ only in these look the same to everybody.
ZERO_WIDTH = frozenset(
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
)


def fold_key(text: str) -> str:
    """A key as it is compared: NFKC, zero-width characters removed, trimmed.

    >>> fold_key("cafe\u0301-1\u200b ") == fold_key("caf\u00e9-1")
    True
    """
    if text.isascii():  # most keys; nothing to normalise
        return text.strip()
    visible = "".join(character for character in text if character not in ZERO_WIDTH)
    return unicodedata.normalize("NFKC", visible).strip()


def fold_name(text: str) -> str:
    """A person's name as it is compared: as a key, and without regard to case.

    >>> fold_name("ＭＥＩ") == fold_name("Mei")
    True
    """
    return unicodedata.normalize("NFKC", fold_key(text).casefold())


def hidden_character(name: str) -> str | None:
    """The first character of a name that cannot be seen, and would make two of what looks like one name.

    >>> hidden_character("git\u200b"), hidden_character("git 2")
    ('\u200b', None)
    """
    return next((character for character in name if not character.isprintable()), None)
