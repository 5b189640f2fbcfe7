"""A lexicon: the forms a compound's atoms may take in Chinese, by which the automatic check looks for them."""

from dataclasses import dataclass

from annotation.formats.errors import FormatError
from annotation.formats.kinds import NoText, certain_kind_of
from annotation.protocol.sentences import say

LIMIT = 200_000  # bytes: every judging page that highlights forms carries them

# The released lexicon gives modifiers by number.
_MODIFIERS = {"mod0": "he liked", "mod1": "at the store", "mod2": "on the floor"}


@dataclass(frozen=True)
class Entry:
    """A line: the atom in lower case and its forms as written, some perhaps empty; none where "/" stands alone."""

    line: int
    atom: str
    forms: tuple[str, ...]


def read_entries(content: bytes) -> list[Entry]:
    """The lines of a lexicon: the atom, a tab, its forms apart by "/"; "/" alone requires no form.

    UTF-8, with or without a mark. Raises FormatError with the line where one has no tab or no form.

    >>> read_entries("the\\t/\\nmod0\\t他 喜欢/爱\\n".encode())
    [Entry(line=1, atom='the', forms=()), Entry(line=2, atom='he liked', forms=('他 喜欢', '爱'))]
    """
    kind = certain_kind_of(content)
    if kind is not None:
        raise NoText(kind)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise FormatError(say("The lexicon is not UTF-8 text. Save it as UTF-8."), line=number) from error
    return [_entry(line, number) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def _entry(line: str, number: int) -> Entry:
    cells = [cell.strip() for cell in line.strip("\r\n").split("\t")]
    forms = tuple(cells[-1].split("/"))
    alone = cells[-1] == "/"
    if (
        len(cells) != 2
        or not all(cells)
        or "\0" in line
        or not (alone or any(form.strip() for form in forms))
    ):
        raise FormatError(
            say(
                'Each line needs an atom, one tab and its forms apart by "/" (or "/" alone where none is required).'
            ),
            line=number,
        )
    atom = cells[0].casefold()
    return Entry(number, _MODIFIERS.get(atom, atom), () if alone else forms)


def read_forms(content: bytes) -> dict[str, list[str]]:
    """The forms of each atom, to be looked for in a text without blanks; lines of one atom are joined.

    Raises FormatError as `read_entries` does, and for a lexicon that is too long or holds no form at all.

    >>> read_forms("the\\t/\\ndog\\t狗/犬\\nmod0\\t他 喜欢 的\\n".encode())
    {'the': [], 'dog': ['狗', '犬'], 'he liked': ['他喜欢的']}
    """
    if len(content) > LIMIT:
        raise FormatError(say("A lexicon has at most {limit} bytes; this file is longer.", limit=LIMIT))
    found: dict[str, list[str]] = {}
    for entry in read_entries(content):
        joined = ("".join(form.split()) for form in entry.forms)
        found[entry.atom] = list(dict.fromkeys([*found.get(entry.atom, []), *filter(None, joined)]))
    if not any(found.values()):
        raise FormatError(say("The lexicon holds no form of any atom."))
    return found
