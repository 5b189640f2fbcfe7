"""Whole columns of numbers out of the database: for statistics over a million rows, where a Python object for each
value would cost more than the statistics.
"""

from typing import Any

import numpy as np
from django.db.models import Aggregate, QuerySet, TextField
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

# Keys that lie this close together are looked up in a table of their own (128 MiB) instead of being searched for.
_CLOSE = 2**24


def columns(rows: QuerySet[Any, Any], *names: str) -> list[Numbers]:
    """Fields or annotations of all rows, whole numbers and none of them null: an array each, the rows in no order.

    The database lists each column as one value, all of them in one query and in the same order.
    """
    found = rows.order_by().aggregate(**{f"all_{name}": _Listed(name) for name in names})
    arrays = [_numbers(found[f"all_{name}"]) for name in names]
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(f"One of the columns {', '.join(names)} holds nothing in some row.")
    return arrays


class _Listed(Aggregate):
    """All values one after the other: on PostgreSQL eight bytes each, on SQLite as text."""

    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "STRING_AGG(INT8SEND((%(expressions)s)::bigint), ''::bytea)"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="GROUP_CONCAT(%(expressions)s, ' ')", **context)


def _numbers(listed: str | memoryview | None) -> Numbers:
    if not listed:
        return np.empty(0, dtype=np.int64)
    if isinstance(listed, str):
        return np.fromstring(listed, dtype=np.int64, sep=" ")
    return np.frombuffer(listed, dtype=">i8").astype(np.int64)


def looked_up(numbers: Numbers, known: Numbers, values: Numbers, *, unknown: int = -1) -> Numbers:
    """The value of each number that is among the known ones, each of which stands there once."""
    if not len(known):
        return np.full(len(numbers), unknown)
    lowest, n = int(known.min()), int(known.max() - known.min()) + 1
    if n > _CLOSE:
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known, numbers, sorter=order), len(known) - 1)]
        return np.where(known[place] == numbers, values[place], unknown)
    table = np.full(n + 1, unknown)
    table[known - lowest] = values
    place = numbers - lowest
    beyond = (place < 0) | (place >= n)
    if beyond.any():
        place[beyond] = n
    return table[place]
