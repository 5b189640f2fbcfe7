"""A lexicon: the forms a compound's atoms may take in Chinese, by which the automatic check looks for them."""

from annotation.formats.errors import FormatError
from annotation.protocol.sentences import say

LIMIT = 200_000  # bytes: every judging page that highlights forms carries them

# The released lexicon gives modifiers by number.
_MODIFIERS = {"mod0": "he liked", "mod1": "at the store", "mod2": "on the floor"}


def read_forms(content: bytes) -> dict[str, list[str]]:
    """The forms of each atom, which is in lower case: a line for each, the atom, a tab, its forms apart by "/".

    "/" alone requires no form; lines of one atom are joined; blanks inside a form do not count. Raises
    FormatError with the line where one has no tab or no form.

    >>> read_forms("the\\t/\\ndog\\t狗/犬\\nmod0\\t他 喜欢 的\\n".encode())
    {'the': [], 'dog': ['狗', '犬'], 'he liked': ['他喜欢的']}
    """
    if len(content) > LIMIT:
        raise FormatError(say("A lexicon has at most {limit} bytes; this file is longer.", limit=LIMIT))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise FormatError(say("The lexicon is not UTF-8 text. Save it as UTF-8."), line=number) from error
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            atom, forms = _entry(line, number)
            found[atom] = list(dict.fromkeys([*found.get(atom, []), *forms]))
    if not any(found.values()):
        raise FormatError(say("The lexicon holds no form of any atom."))
    return found


def _entry(line: str, number: int) -> tuple[str, list[str]]:
    cells = [cell.strip() for cell in line.strip("\r\n").split("\t")]
    forms = ["".join(form.split()) for form in cells[-1].split("/")]
    if len(cells) != 2 or not all(cells) or "\0" in line or (not any(forms) and cells[1] != "/"):
        raise FormatError(
            say(
                'Each line needs an atom, one tab and its forms apart by "/" (or "/" alone where none is required).'
            ),
            line=number,
        )
    atom = cells[0].casefold()
    return _MODIFIERS.get(atom, atom), [form for form in forms if form]
