"""Behind the numbers of the what-if: items by what becomes of their labels."""

import numpy as np

from annotation.models import Campaign
from scoring.services.behind.number import Behind, Number, no_such_number, no_such_row
from scoring.services.options import Options
from scoring.services.what_if import compared, other_side
from scoring.stats.label_changes import CHANGES

CELL = "cell"  # of the table: from the state `a` to the state `b`


def behind_what_if(campaign: Campaign, options: Options, number: Number) -> Behind:
    """The items that are kept, flip, gain or lose their label; or those of one cell of the table.

    Of each is said its state before and after: a label, or the reason why it has none.
    """
    if number.of not in (*CHANGES, CELL):
        no_such_number(number.of, (*CHANGES, CELL))
    found = compared(campaign, options)
    if number.of == CELL:
        wanted = (number.a, number.b)
        if wanted not in found.changes.cells:
            no_such_row(Number(of=CELL, by=CELL, value=" → ".join(wanted)))
        rows = [place for place in range(len(found.items)) if found.states(place) == wanted]
    else:
        rows = np.flatnonzero(found.changes.change == number.of).tolist()

    def said(place: int) -> list[tuple[str, str]]:
        return [("", state) for state in found.states(rows[place])]

    return Behind(
        items=[found.items[row] for row in rows],
        n=len(rows),
        unit="items",
        said=said,
        between={"labels": found.before.labels.as_json(), "to": other_side(found)},
    )
