"""The table of a plan: what a goal takes, and what it rests on: given, measured, assumed, derived or fixed."""

from scoring.reports.table import Document, Table, why

SPOT_CHECK = (
    "acceptable", "rejectable", "alpha", "beta", "lot", "n", "c", "risk_good", "risk_bad", "hours",
)  # fmt: skip
COLUMNS = ["", "value"]


def plan(document: Document) -> list[Table]:
    """One table, whatever the goal."""
    if document["goal"] == "spot-check":
        rows = [[name, _shown(document[name])] for name in SPOT_CHECK]
        return [
            Table("Spot check: check n, accept with at most c errors", COLUMNS, rows, _without_pace(document))
        ]
    rows = [[name, _shown(document[name])] for name in ("units", "judgements", "hours")]
    rows += [
        [f"{document['sources'][name]}: {name}", _shown(value)] for name, value in document["assumed"].items()
    ]
    return [
        Table(
            f"{document['goal']} ({document['unit']})",
            COLUMNS,
            rows,
            why([document]) or _without_pace(document),
        )
    ]


def _without_pace(document: Document) -> list[str]:
    return ["no pace is known yet, so there are no hours"] if document["hours"] is None else []


def _shown(value: float | str | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
