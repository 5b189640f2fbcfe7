"""Which number of a report is meant, and what stands behind it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import numpy as np
from django.db.models import Q

from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.stats.groups import Mask

Unit = Literal["contexts", "compounds", "triples", "items", "answers", "translations"]
Said = Callable[[int], Sequence[tuple[str, str]]]
SHOWN = 80  # characters of what somebody typed


@dataclass(frozen=True, kw_only=True)
class Number:
    """One number as an address names it: what it counts, the row it stands in, a pair of people.

    What is empty does not narrow anything down.
    """

    of: str
    by: str = ""
    value: str = ""
    a: str = ""
    b: str = ""


def _nothing(_place: int) -> Sequence[tuple[str, str]]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Behind:
    """`items` in the order of import, by primary key or position; the number itself, and its unit.

    Several answers to one item, or a context without an output, make the number another than that of the items.
    `said` gives for a place in `items` who answered what, without a name where it is a verdict. `imported`: these
    verdicts came with the items and are nobody's final labels. `between`: the labels, and what they are compared with,
    as the document of the what-if names them.
    """

    items: Sequence[int]
    n: int
    unit: Unit
    key: Literal["pk", "position"] = "pk"
    said: Said = field(default=_nothing)
    imported: bool = False
    between: Mapping[str, Any] | None = None

    def chosen(self, start: int, end: int) -> Q:
        """The items from one place to another."""
        return Q(**{f"{self.key}__in": list(self.items[start:end])})


def no_such_number(name: str, there: Iterable[str]) -> NoReturn:
    """Raise Refused: the report counts nothing of that name."""
    raise Refused(
        say("There is no number “{name}” here; there are {there}.", name=name[:SHOWN], there=", ".join(there))
    )


def no_such_table(name: str, there: Iterable[str]) -> NoReturn:
    """Raise Refused: the report has no table of that name."""
    raise Refused(
        say("There is no table “{name}” here; there are {there}.", name=name[:SHOWN], there=", ".join(there))
    )


def nobody_called(name: str, there: Iterable[str]) -> NoReturn:
    """Raise Refused: nobody of that name judged."""
    raise Refused(
        say(
            "Nobody called “{name}” judged here; there are {there}.",
            name=name[:SHOWN],
            there=", ".join(there),
        )
    )


def no_such_row(number: Number) -> NoReturn:
    """Raise Refused: the table has no row of that name."""
    raise Refused(
        say(
            "There is no row “{value}” in the table “{by}”.",
            value=number.value[:SHOWN],
            by=number.by[:SHOWN],
        )
    )


def rows_holding(number: Number, held: Sequence[Collection[str]]) -> Mask:
    """The rows that hold the value asked for; Refused where none does."""
    rows = np.array([number.value in values for values in held], dtype=np.bool_)
    if not rows.any():
        no_such_row(number)
    return rows
