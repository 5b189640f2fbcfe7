"""Agreement after a resolution: a description of what was settled, no measure of how far experts agree on their own.

Effective scores are those of `annotation.protocol.effective`, which labels count too: an item that only some of its
experts have judged again waits and counts in no figure here, and who did not judge it on their own adds no score.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.models import Campaign
from annotation.protocol.base import get_protocol
from annotation.protocol.effective import effective
from annotation.protocol.sentences import say
from annotation.services.effective import AgainAnswers, again_answers
from scoring.services.first_answers import first_answers
from scoring.stats.agreement import agreement
from scoring.stats.agreement_table import MISSING, Ratings
from scoring.stats.groups import Mask

KEPT = ("n_items", "n_judgements", "distribution", "coefficients", "contrast_share", "signature")


def after_resolution(campaign: Campaign, independent: Ratings, names: Mapping[int, str]) -> dict[str, Any]:
    """`{judged_again, changed, waiting, n_items, distribution, coefficients, …}`: figures without intervals.

    `independent` are the answers of the main round, items by their position, people by `names`. Two queries. Without an
    answer in such a round, and with none that was changed because a spot check sent it back, `{value: null, reason}`.
    """
    table = independent.table.copy()
    again = np.zeros(len(table), dtype=np.bool_)
    waiting = again.copy()
    answers = again_answers(campaign)
    row_of = {int(item): row for row, item in enumerate(np.asarray(independent.items).tolist())}
    reworked = _rework(campaign, independent, names, table, row_of)
    # Most campaigns have no such round.
    judged = _judged(replace(independent, table=table)) if answers else None
    for answer in answers.values():
        row = row_of.get(answer.position)
        if row is None or judged is None:
            continue
        own = {int(column): int(table[row, column]) for column in np.flatnonzero(judged[row])}
        found = effective(own, _rounds(campaign, answer, independent, names))
        again[row], waiting[row] = bool(found.again), found.waiting
        for column, label in found.scores.items():
            table[row, column] = label
    if not again.any() and not reworked:
        return {"value": None, "reason": say("there was no resolution")}
    settled = replace(independent, table=table).subset(~waiting)
    figures = agreement(settled, seed=0, intervals=False).as_json()
    return {
        "judged_again": int(again.sum()),
        "reworked": reworked,
        "changed": int((table != independent.table).sum()),
        "waiting": int(waiting.sum()),
        **{name: figures[name] for name in KEPT},
    }


def _rework(
    campaign: Campaign,
    independent: Ratings,
    names: Mapping[int, str],
    table: NDArray[Any],
    row_of: Mapping[int, int],
) -> int:
    """Writes into the table what answers became once a spot check had sent them back; how many came out otherwise."""
    number = {label: place for place, label in enumerate(get_protocol(campaign.protocol).labels)}
    column_of = {name: column for column, name in enumerate(independent.raters)}
    changed = 0
    for (_item, expert), first in first_answers(campaign).items():
        row, column = row_of.get(first.position), column_of.get(names.get(expert, ""))
        if row is not None and column is not None and first.label != first.now:
            table[row, column] = number.get(first.now, MISSING)
            changed += 1
    return changed


def _rounds(
    campaign: Campaign, answer: AgainAnswers, independent: Ratings, names: Mapping[int, str]
) -> list[dict[int, int]]:
    """The later answers to an item as numbers, by column of the table."""
    number = {label: place for place, label in enumerate(get_protocol(campaign.protocol).labels)}
    column_of = {name: column for column, name in enumerate(independent.raters)}
    return [
        {
            column_of[names[expert]]: MISSING if label is None else number[label]
            for expert, label in given.items()
            if names.get(expert) in column_of
        }
        for given in answer.rounds
    ]


def _judged(independent: Ratings) -> Mask:
    """(items, people): who judged what on their own, "cannot judge" included."""
    judged: Mask = independent.table != MISSING
    if independent.slots is not None:
        for columns in independent.slots.T:
            rows = np.flatnonzero(columns != MISSING)
            judged[rows, columns[rows]] = True
    return judged
