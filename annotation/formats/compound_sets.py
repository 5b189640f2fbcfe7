"""A compositional test set and what it is checked against: compounds in contexts, an inventory, plain sentences."""

import json
from collections.abc import Iterator

from annotation.formats.cells import is_blank, whole_number
from annotation.formats.columns import match_columns, needed_texts, records
from annotation.formats.decoding import detect_encoding, text_lines
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.strict_json import HALF_A_CHARACTER, HALF_PAIR, JsonError, Number, SyntaxFault, parse
from annotation.formats.tables import read_table
from annotation.protocol.compound_set import SetRow
from annotation.protocol.errors import ProtocolError
from annotation.protocol.inventory import AtomInventory, read_inventory
from annotation.protocol.sentences import say

COLUMNS = ("compound", "source")


def read_set(data: bytes, *, name: str) -> list[SetRow]:
    """The rows of a table with the columns compound and source; other columns are no matter here.

    Raises FormatError with the line of the first row that lacks one of them, or where there is no row.

    >>> read_set(b"compound,source\\nthe dog,I saw the dog .\\n", name="set.csv")
    [SetRow(line=2, compound='the dog', source='I saw the dog .')]
    """
    table = read_table(data, name=name)
    rows = []
    for record in records(table, match_columns(table.header, known=COLUMNS, needed=COLUMNS)):
        problems: list[RowIssue] = list(record.problems)
        texts = None if problems else needed_texts(record, COLUMNS, problems)
        if texts is None:
            first = problems[0]
            raise FormatError(first.message, line=first.line, column=first.column)
        rows.append(SetRow(record.line, *texts))
    return rows


def read_paired(sources: bytes, compounds: bytes) -> list[SetRow]:
    """The rows of two text files in which line belongs to line, as the CoGnition files are.

    >>> read_paired(b"I saw the dog .\\n", b"the dog\\n")
    [SetRow(line=1, compound='the dog', source='I saw the dog .')]
    """
    texts, names = list(_lines(sources)), list(_lines(compounds))
    if len(texts) != len(names):
        raise FormatError(
            say(
                "The sources have {n_sources} lines and the compounds {n_compounds}. Line i must belong to line i.",
                n_sources=len(texts),
                n_compounds=len(names),
            )
        )
    for number, pair in enumerate(zip(texts, names, strict=True), start=1):
        if any(map(is_blank, pair)):
            raise FormatError(say("A source or a compound is empty on this line."), line=number)
    return [
        SetRow(number, name, text) for number, (text, name) in enumerate(zip(texts, names, strict=True), 1)
    ]


def read_sentences(data: bytes) -> Iterator[str]:
    """The lines of a text that are not blank. Raises FormatError where there is none, as the first is asked for."""
    found = False
    for line in _lines(data):
        if not is_blank(line):
            found = True
            yield line
    if not found:
        raise FormatError(say("The file holds no sentence: write one a line."))


def read_inventory_file(data: bytes) -> AtomInventory:
    """The inventory that a JSON file describes; a FormatError says which member is not as it should be."""
    text = "\n".join(_lines(data))
    try:
        document = parse(text)
        if HALF_A_CHARACTER.search(json.dumps(document, ensure_ascii=False)):
            raise FormatError(HALF_PAIR)
        if isinstance(document, dict) and isinstance(document.get("contexts"), Number):
            document["contexts"] = whole_number(document["contexts"]) or 0
        return read_inventory(document)
    except SyntaxFault as error:
        line = text.count("\n", 0, error.at or 0) + 1
        raise FormatError(say("This is not JSON: {reason}.", reason=error.message), line=line) from None
    except (JsonError, ProtocolError) as error:
        raise FormatError(error.message) from None


def _lines(data: bytes) -> Iterator[str]:
    return text_lines(data, detect_encoding(data))
