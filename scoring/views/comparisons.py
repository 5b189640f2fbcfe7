"""The comparison of submitted predictions as the page shows it: a row for each system, a row for each difference."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.stats.paired_predictions import MEASURES, OF_PAIRS

Document = Mapping[str, Any]

MORE = tuple(measure for measure in MEASURES if measure not in OF_PAIRS)


def predictions_side_by_side(document: Document) -> dict[str, Any]:
    """Systems and differences by measure: AUC and F1 first, then what stands below them."""
    return {
        "measures": OF_PAIRS,
        "more": MORE,
        "tables": [_table(document, OF_PAIRS), _table(document, MORE)],
        "pair": _rows(document["pair"]["groups"]) if document["pair"] else [],
    }


def _table(document: Document, measures: Sequence[str]) -> dict[str, Any]:
    groups = document["groups"]
    by_system: dict[str, list[Document]] = {}
    for group in groups:
        for found in group["systems"]:
            if found["measure"] in measures:
                by_system.setdefault(found["name"], []).append({"group": group["group"], **found})
    return {
        "measures": measures,
        "systems": by_system,
        "differences": {measure: _rows(groups, measure) for measure in measures},
    }


def _rows(groups: Sequence[Document], measure: str | None = None) -> list[Document]:
    """The differences of all groups, of one measure or of every one, each with the name of its group."""
    return [
        {"group": group["group"], **one}
        for group in groups
        for one in group["differences"]
        if measure in (None, one["measure"])
    ]
