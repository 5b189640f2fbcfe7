"""Records that name people: what managers did, and plans of who judges what.

Only under certain keys is a word the name of a person; elsewhere the same word may mean anything.
"""

from collections.abc import Callable, Mapping
from typing import Any

NAMING = frozenset({"person", "experts", "loads", "pairs", "annotators"})


def with_names(value: Any, called: Callable[[str], str], *, naming: bool = False) -> Any:
    """The same record in which every name of a person is put through `called`.

    >>> with_names({"person": "ada", "file": "ada"}, str.upper)
    {'person': 'ADA', 'file': 'ada'}
    """
    if isinstance(value, Mapping):
        return {
            called(key) if naming and key not in _FIELDS else key: with_names(
                one, called, naming=naming or key in NAMING
            )
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [with_names(one, called, naming=naming) for one in value]
    return called(value) if naming and isinstance(value, str) else value


_FIELDS = frozenset({"a", "b", "n_items"})  # of a pair
