"""Tables of reports that rest on an automatic judge: the compound check, the error rate from a sample."""

from scoring.reports.table import Document, Table, interval, percent, why

RATES = ("instance", "aggregate")


def compound_check(document: Document) -> list[Table]:
    """How well the check finds what the experts found, and its own rates."""
    row = [
        document["system"] or "–",
        str(document["n"]),
        percent(document["error_precision"]),
        interval(document["error_precision_ci95"], percent),
        percent(document["error_recall"]),
        interval(document["error_recall_ci95"], percent),
        percent(document["instance"]["percent"]),
        interval(document["instance"]["ci95"], percent),
        percent(document["aggregate"]["percent"]),
        interval(document["aggregate"]["ci95"], percent),
    ]
    figures = ("error precision", "error recall", "instance %", "aggregate %")
    columns = ["system", "n", *(title for figure in figures for title in (figure, "95 % interval"))]
    reasons = [
        document[f"{name}_reason"] for name in ("error_precision", "error_recall") if document[name] is None
    ]
    notes = [*reasons, *why(document[name] for name in RATES)]
    remarks = [f"judge: {document['judge']}"]
    check = Table("Automatic compound check (diagnostic)", columns, [row], notes, remarks)
    return [check, _cells(document["cells"])]


def _cells(cells: Document) -> Table:
    rows = [
        [f"judge: {word}", *(str(cells[f"human_{human}_auto_{auto}"]) for human in ("ok", "bad"))]
        for word, auto in (("correct", "ok"), ("wrong", "bad"))
    ]
    return Table("Judge and experts", ["verdict", "experts: correct", "experts: wrong"], rows)


def estimate(document: Document) -> list[Table]:
    """The judge's rates set right by the compounds that experts judged."""
    columns = (
        "rate", "compounds", "judged in full", "judge %", "correction", "estimate %", "95 % interval",
        "sample alone %", "gain",
    )  # fmt: skip
    rows = [_estimate_row(rate, document[rate]) for rate in RATES]
    notes = why(document[rate] for rate in RATES)
    remarks = [f"judge: {document['judge']}", *_sample(document)]
    return [Table("Difference estimate of the error rates", columns, rows, notes, remarks)]


def _sample(document: Document) -> list[str]:
    """What the judged compounds are a sample of, and what is to be known of it."""
    sample = document["sample"]
    if sample is None:
        return ["sample: every compound with an expert's answer"]
    drawn = f"sample: {sample['n']} of {sample['of']} units, drawn by the design with seed {sample['seed']}"
    return [drawn, *document["warnings"]]


def _estimate_row(rate: str, found: Document) -> list[str]:
    return [
        rate,
        str(found["population"]),
        str(found["sample"]),
        percent(found["automatic_percent"]),
        percent(found["correction"]),
        percent(found["percent"]),
        interval(found["ci95"], percent),
        percent(found["sample_only_percent"]),
        percent(found["gain"]),
    ]
