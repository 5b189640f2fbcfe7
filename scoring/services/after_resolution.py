"""Agreement after a resolution: a description of what was settled, no measure of how far experts agree on their own.

The effective score of an expert on an item is their answer in a round of resolution or re-judgement where they gave
one, the last of several, else the independent one. Where only some of an item's experts have judged again, the item
waits and counts in no figure here. Who did not judge the item on their own adds no score.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.models import Assignment, Campaign, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import say
from scoring.stats.agreement import agreement
from scoring.stats.agreement_table import MISSING, Ratings
from scoring.stats.groups import Mask

AGAIN = (Round.Kind.RESOLUTION, Round.Kind.REJUDGEMENT)
KEPT = ("n_items", "n_judgements", "distribution", "coefficients", "contrast_share", "signature")
CHUNK = 5000


def after_resolution(campaign: Campaign, independent: Ratings, names: Mapping[int, str]) -> dict[str, Any]:
    """`{judged_again, changed, waiting, n_items, distribution, coefficients, …}`: figures without intervals.

    `independent` are the answers of the main round, items by their position, people by `names`. One query. Without an
    answer in such a round, `{value: null, reason}`.
    """
    again = _again(campaign, independent, names)
    if not again:
        return {"value": None, "reason": say("there was no resolution")}
    effective, answered = independent.table.copy(), np.zeros(independent.table.shape, dtype=np.bool_)
    for place, label in again.items():
        effective[place], answered[place] = label, True
    left = (_judged(independent) & ~answered).any(axis=1)
    waiting = np.logical_and(answered.any(axis=1), left)
    settled = replace(independent, table=effective).subset(~waiting)
    found = agreement(settled, seed=0, intervals=False).as_json()
    return {
        "judged_again": int(answered.any(axis=1).sum()),
        "changed": int((effective != independent.table).sum()),
        "waiting": int(waiting.sum()),
        **{name: found[name] for name in KEPT},
    }


def _judged(independent: Ratings) -> Mask:
    """(items, people): who judged what on their own, "cannot judge" included."""
    judged: Mask = independent.table != MISSING
    if independent.slots is not None:
        for columns in independent.slots.T:
            rows = np.flatnonzero(columns != MISSING)
            judged[rows, columns[rows]] = True
    return judged


def _again(campaign: Campaign, independent: Ratings, names: Mapping[int, str]) -> dict[tuple[int, int], int]:
    """By the place in the table, the last answer of these rounds from who judged the item on their own."""
    answers = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind__in=AGAIN,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
        item__retired_at__isnull=True,
    ).order_by("round", "pk")
    number = {label: place for place, label in enumerate(get_protocol(campaign.protocol).labels)}
    column_of = {name: column for column, name in enumerate(independent.raters)}
    row_of: dict[int, int] = {}
    judged: NDArray[np.bool_] | None = None
    found: dict[tuple[int, int], int] = {}
    for position, expert, label in answers.values_list("item__position", "expert", "label").iterator(CHUNK):
        if judged is None:  # most campaigns have no such round
            judged = _judged(independent)
            row_of = {int(item): row for row, item in enumerate(np.asarray(independent.items).tolist())}
        row, column = row_of.get(position), column_of.get(names.get(expert, ""))
        if row is not None and column is not None and judged[row, column]:
            found[row, column] = number.get(label, MISSING)
    return found
