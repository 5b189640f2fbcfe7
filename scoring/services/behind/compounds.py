"""Behind the numbers of reports on compounds: contexts, compounds, translations."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from annotation.models import Campaign
from scoring.services.behind.number import (
    Behind,
    Number,
    no_such_number,
    no_such_table,
    rows_holding,
)
from scoring.services.checked import CheckedRun
from scoring.services.conditions import Conditions, conditions_of
from scoring.services.gather import choose_run, instances_of, labels_of, translations_of
from scoring.services.options import Options
from scoring.stats.counted import NUMBERS, counted
from scoring.stats.error_rates import CORRECT, UNDECIDED, WRONG, Instances
from scoring.stats.groups import Mask

OF_TEXTS = ("n", "left-out")
# Experts' verdict and the check's: the cells of the document.
CELLS = {
    "human_ok_auto_ok": (CORRECT, CORRECT),
    "human_bad_auto_ok": (WRONG, CORRECT),
    "human_ok_auto_bad": (CORRECT, WRONG),
    "human_bad_auto_bad": (WRONG, WRONG),
}
CONDITIONS = {"atom": "atoms"} | {
    one.name: one.name for one in fields(Conditions) if one.name != "atoms"
}  # tables by their names in the document


def behind_rates(campaign: Campaign, options: Options, number: Number) -> Behind:
    """Contexts, or all contexts of compounds; one without an output has no item."""
    if number.of not in NUMBERS:
        no_such_number(number.of, NUMBERS)
    labels = labels_of(campaign, options.labels)
    instances, items = instances_of(choose_run(campaign, options.system, options.run), labels)
    found = counted(instances, number.of, under=_under(campaign, instances, items, number))
    rows = [row for row in np.flatnonzero(found.rows).tolist() if items[row]]
    verdicts = instances.verdict[rows].tolist()

    def said(place: int) -> list[tuple[str, str]]:
        return [] if verdicts[place] == UNDECIDED else [("", str(verdicts[place]))]

    return Behind(
        items=[items[row] for row in rows],
        n=found.n,
        unit="compounds" if found.compounds else "contexts",
        said=said,
    )


def _under(campaign: Campaign, instances: Instances, items: Sequence[int], number: Number) -> Mask | None:
    if not number.by:
        return None
    if number.by in instances.facets:
        return _with_value(number, instances.facets[number.by])
    if number.by not in CONDITIONS:
        no_such_table(number.by, [*instances.facets, *CONDITIONS])
    held = getattr(conditions_of(campaign, instances, items), CONDITIONS[number.by])
    return rows_holding(number, held) if number.by == "atom" else _with_value(number, held)


def _with_value(number: Number, values: NDArray[np.object_]) -> Mask:
    """The rows of that value; of none at all where it is empty, which the table's last row counts."""
    return rows_holding(number, [("" if value is None else str(value),) for value in values.tolist()])


def behind_bleu(campaign: Campaign, options: Options, number: Number) -> Behind:
    """Translations that are compared with their references, or left out."""
    if number.of not in OF_TEXTS:
        no_such_number(number.of, OF_TEXTS)
    texts = translations_of(choose_run(campaign, options.system, options.run))
    compared = [
        kept and bool(reference) for kept, reference in zip(texts.keep, texts.references, strict=True)
    ]
    found = [item for item, kept in zip(texts.items, compared, strict=True) if kept == (number.of == "n")]
    return Behind(items=found, n=len(found), unit="translations")


def behind_cells(run: CheckedRun) -> dict[str, Behind]:
    """Contexts by the experts' verdict and the check's."""
    cells = {}
    for name, (human, auto) in CELLS.items():
        rows = (run.there.instances.verdict == human) & (run.result.verdict == auto)
        found = [item for item, wanted in zip(run.items, rows.tolist(), strict=True) if wanted]
        cells[name] = Behind(items=found, n=len(found), unit="contexts")
    return cells
