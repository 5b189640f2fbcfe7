"""An automatic judge's verdicts from a file: a 1 or a 0 for each instance of one run."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from annotation.formats.errors import FormatError
from annotation.formats.judgements import read_judgements
from annotation.formats.keys import compound_key
from annotation.formats.tables import read_table
from annotation.models import Campaign, Context
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_key
from scoring.services.gather import SystemRun
from scoring.stats.error_rates import UNDECIDED

PREDICTION = "prediction"  # the column of programs' answers, where a file has no label


def verdicts_of(
    chosen: SystemRun, contexts: Sequence[int], data: bytes, *, name: str, column: str | None = None
) -> NDArray[np.int8]:
    """(contexts,) 1 correct, 0 wrong, -1 where the file has no row. Rows of other systems or runs are passed over.

    Raises FormatError where a row cannot be read, names an unknown context, or one twice.
    """
    table = read_table(data, name=name)
    headers = {header.strip().casefold() for header in table.header}
    if column is None and "label" not in headers and PREDICTION in headers:
        column = PREDICTION
    file = read_judgements(table, protocol=Campaign.Protocol.COMPOUND, annotator="judge", column=column)
    if file.errors:
        first = file.errors[0]
        raise FormatError(first.message, line=first.line, column=first.column)
    places = {context: place for place, context in enumerate(contexts)}
    by_key = _by_key(chosen.system.campaign, places)
    verdicts = np.full(len(contexts), UNDECIDED, dtype=np.int8)
    for row in file.rows:
        if (row.system or chosen.system.name, row.run or chosen.run) != (chosen.system.name, chosen.run):
            continue
        place = by_key.get(row.key.folded) if row.key else None
        if place is None:
            raise FormatError(say("There is no such item in this run."), line=row.line)
        if verdicts[place] != UNDECIDED:
            raise FormatError(say("This item was judged on an earlier line already."), line=row.line)
        if not row.label:
            raise FormatError(say("A judge says 1 or 0 of every item."), line=row.line)
        verdicts[place] = int(row.label)
    return verdicts


def _by_key(campaign: Campaign, places: dict[int, int]) -> dict[str, int]:
    """Contexts by their id, by the name an export gives them, and by compound and number; the id goes first."""
    rows = Context.objects.filter(unit__campaign=campaign, batch__published_at__isnull=False).values_list(
        "pk", "given_key", "key_folded", "key", "unit__compound", "number"
    )
    found: dict[str, int] = {}
    ids: dict[str, int] = {}
    for pk, given, folded, key, compound, number in rows:
        if pk in places:
            found.setdefault(compound_key(compound, number, occurrence=1).folded, places[pk])
            ids[folded if given else fold_key(key)] = places[pk]
    return found | ids


def fingerprint(data: bytes) -> str:
    """The file in a signature."""
    return hashlib.sha256(data).hexdigest()[:12]
