"""The table of gold items: each expert's share of known labels."""

from scoring.reports.table import Document, Table, interval, percent, reasons

COLUMNS = ["expert", "judged", "right", "right %", "95 % interval", "a whole point off", "cannot judge"]


def gold(document: Document) -> list[Table]:
    """One row an expert."""
    rows = [
        [
            one["expert"],
            str(one["n"]),
            str(one["right"]),
            percent(one["percent"]),
            interval(one["ci95"], percent),
            str(one["contrasts"]),
            str(one["cannot_judge"]),
        ]
        for one in document["experts"]
    ]
    remarks = [f"gold items: {document['n_gold']}"]
    return [
        Table(
            "Gold items: answers that are the known label",
            COLUMNS,
            rows,
            reasons(document["experts"]),
            remarks,
        )
    ]
