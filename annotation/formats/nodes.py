"""The nodes of a training set: the heads and tails of its triples, from either kind of file."""

from collections.abc import Iterator

from annotation.formats.cells import fold_header, is_blank
from annotation.formats.columns import match_columns, needed_texts, records
from annotation.formats.decoding import detect_encoding, text_lines
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.kinds import NoText, refuse_by_name
from annotation.formats.rows import Table
from annotation.formats.tables import read_table
from annotation.formats.workbook import is_workbook
from annotation.protocol.sentences import say

NODE_COLUMNS = ("head", "tail")
_TRIPLE_HEADERS = ({"head", "tail"}, {"head", "relation"}, {"relation", "tail"})


def read_nodes(data: bytes, *, name: str) -> frozenset[str]:
    """The distinct nodes of a file, as they stand: of a table with the columns head and tail every head and tail,
    of any other text every line that is not blank.

    Raises FormatError where there is no node, or where a triple lacks its head or tail, with its line.

    >>> sorted(read_nodes(b"PersonX eat\\nPersonX rest\\n", name="nodes.txt"))
    ['PersonX eat', 'PersonX rest']
    >>> sorted(read_nodes(b"head,relation,tail\\nPersonX eat,xWant,rest\\n", name="train.csv"))
    ['PersonX eat', 'rest']
    """
    try:
        found = frozenset(_of_triples(read_table(data, name=name)) if _is_table(data) else _of_lines(data))
    except NoText as error:
        raise FormatError(
            say(
                "The file seems to be {kind}. Send a text file with a node on each line, or triples as CSV, TSV, JSONL "
                "or XLSX.",
                kind=error.kind,
            )
        ) from None
    refuse_by_name(name)
    if not found:
        raise FormatError(say("The file holds no node: write one a line, or triples with head and tail."))
    return found


def _is_table(data: bytes) -> bool:
    """A workbook, JSON objects, or a first line that names the columns of triples."""
    if is_workbook(data) or not data:
        return True
    first = next((line for line in text_lines(data, detect_encoding(data)) if not is_blank(line)), "")
    if first.lstrip().startswith("{") and not first.lstrip().startswith("{\\"):  # which begins no JSON
        return True
    names = {fold_header(cell.strip().strip('"')) for cell in first.replace("\t", ",").split(",")}
    return any(header <= names for header in _TRIPLE_HEADERS)


def _of_lines(data: bytes) -> Iterator[str]:
    return (line for line in text_lines(data, detect_encoding(data)) if not is_blank(line))


def _of_triples(table: Table) -> Iterator[str]:
    matched = match_columns(table.header, known=NODE_COLUMNS, needed=NODE_COLUMNS)
    for record in records(table, matched):
        problems: list[RowIssue] = list(record.problems)
        texts = None if problems else needed_texts(record, NODE_COLUMNS, problems)
        if texts is None:
            first = problems[0]
            raise FormatError(first.message, line=first.line, column=first.column)
        yield from texts
