"""The tables of a spot check: the rate of errors in all, by part, and by expert and part."""

from collections.abc import Sequence

from scoring.reports.table import Document, Table, interval, percent, reasons

COLUMNS = ["", "units", "checked", "errors", "error %", "95 % interval"]


def spot_check(document: Document) -> list[Table]:
    """One table for units, one for the experts' own judgements of them."""
    overall = _row("all", document)
    strata = [
        _row(f"part {one['part'] + 1} ({', '.join(one['experts'])})", one) for one in document["strata"]
    ]
    experts = []
    for one in document["experts"]:
        experts.append(_row(one["expert"], one))
        experts += [_row(f"{one['expert']}, part {part['part'] + 1}", part) for part in one["parts"]]
    of_experts = [figure for one in document["experts"] for figure in (one, *one["parts"])]
    rule = document["rule"]
    remarks = [
        f"error: {document['error']}; checked {rule['n']} at random"
        + ("" if rule["c"] is None else f", accept with at most {rule['c']} errors"),
        f"judgements beside a “cannot judge”: {document['not_comparable']}",
    ]
    return [
        Table(
            "Spot check: units with an error",
            COLUMNS,
            [overall, *strata],
            reasons([document, *document["strata"]]),
            remarks,
        ),
        Table("Spot check: by expert and part", COLUMNS, experts, reasons(of_experts)),
    ]


def _row(name: str, found: Document) -> Sequence[str]:
    counts = [str(found[key]) for key in ("size", "checked", "errors")]
    return [name, *counts, percent(found["percent"]), interval(found["ci95"], percent)]
