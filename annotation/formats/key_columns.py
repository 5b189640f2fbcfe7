"""Which item a row is about, in files about items that are there: its id, or the texts that name it."""

from collections.abc import Mapping

from annotation.formats.cells import whole_number
from annotation.formats.columns import MatchedColumns, Record, needed_text
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.keys import ItemKey, compound_key, id_key, triple_key
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key

ITEM_IDS = ("item_id", "triple_id")  # a file has one of them, or none
# The texts that name an item where there is no id, and that can be checked where there is one.
KEY_TEXTS = {"compound": ("compound", "context_no"), "triple": ("head", "relation", "tail")}


def check_key_columns(matched: MatchedColumns, texts: tuple[str, ...], *, by_position: bool) -> None:
    """Raise FormatError where nothing, or more than one thing, says which item a row belongs to.

    `texts` are the columns that name an item where the file has no id.
    """
    if all(name in matched for name in ITEM_IDS):
        raise FormatError(
            say("The file has both item_id and triple_id; keep the one that the items were imported with.")
        )
    has_id = id_column(matched) is not None
    if not (by_position or has_id or all(name in matched for name in texts)):
        raise FormatError(
            say(
                "Nothing says which item a row belongs to: there is neither item_id or triple_id nor {texts}. A file "
                "whose rows stand in the order of the items must be read by position.",
                texts=", ".join(texts),
            )
        )


def id_column(matched: MatchedColumns) -> str | None:
    """The file's column of ids."""
    return next((name for name in ITEM_IDS if name in matched), None)


def key_of_id(record: Record, column: str, problems: list[RowIssue]) -> ItemKey | None:
    """The key in the column of ids; adds a problem where the cell is empty."""
    text = needed_text(record, column, problems)
    return None if text is None else id_key(text)


def key_of_texts(texts: tuple[str, ...], context_no: int | None, *, occurrence: int = 1) -> ItemKey:
    """The key of the item that has these texts: a compound, or head, relation and tail."""
    if len(texts) == 1:
        return compound_key(texts[0], context_no, occurrence=occurrence)
    head, relation, tail = texts
    return triple_key(head, relation, tail, occurrence=occurrence)


def key_texts(record: Record, protocol: str) -> dict[str, str]:
    """The cells that name the item, as given, as far as the row has them."""
    return {name: record.cells[name] for name in KEY_TEXTS[protocol] if name in record.cells}


def text_that_differs(given: Mapping[str, str], texts: Mapping[str, str]) -> str | None:
    """The first of the columns that name an item whose cell is not the item's; context numbers go by their value.

    >>> text_that_differs({"compound": "a dog ", "context_no": "2.0"}, {"compound": "a dog", "context_no": "3"})
    'context_no'
    """
    return next((name for name, text in given.items() if not _same(name, text, texts[name])), None)


def _same(name: str, given: str, text: str) -> bool:
    number = whole_number(given) if name == "context_no" else None
    return fold_key(given) == fold_key(text) if number is None else str(number) == text
