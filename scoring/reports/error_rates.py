"""Tables of a system's error rates."""

from collections.abc import Mapping, Sequence

from scoring.reports.table import Document, Table, interval, percent, why

OF_CONTEXTS = (
    "group", "instances", "wrong", "instance %", "95 % interval", "undecided", "cannot judge",
)  # fmt: skip
OF_COMPOUNDS = (
    "group", "compounds", "with an error", "aggregate %", "95 % interval", "undecided", "once decided",
    "all contexts wrong", "all contexts wrong %", "95 % interval",
)  # fmt: skip
RATES = ("instance", "aggregate", "all_contexts_wrong")
# What may differ between the contexts of one compound.
CONDITIONS = ("context_length", "reference_seen", "session_position")
NOT_GIVEN = "not given"  # the row of what has no value
NOISE_TITLE = "Corrected for the experts' noise"


def error_rates(document: Document) -> list[Table]:
    """The rates of all compounds and without the experts' noise, then by each facet, then the histogram."""
    by = (
        _rates(name.replace("_", " "), rows, _how_counted(document, name, rows))
        for name, rows in tables_of(document).items()
        if rows
    )
    overall = _rates("Error rates", {"all": document})
    return [
        *overall,
        _without_noise(document),
        *(table for both in by for table in both),
        _histogram(document),
    ]


def tables_of(document: Document) -> dict[str, dict[str, Document]]:
    """The tables by facet and condition, as people and plain files get them: each with a last row under "" for what
    has no value, so that it adds up. In the document that row stands apart (`without`).
    """
    without = document.get("without", {})
    return {
        name: rows | ({"": without[name]} if name in without else {}) for name, rows in document["by"].items()
    }


def _how_counted(document: Document, name: str, rows: Mapping[str, Document]) -> list[str]:
    """Which compounds the rows of a condition count, where its contexts may fall into several."""
    if name not in CONDITIONS:
        return []
    n, among = sum(map(_compounds, rows.values())), _compounds(document)
    return [
        "A compound is counted in a row only where all its contexts fall into that row; "
        f"so are {n:,} of {among:,} compounds with five contexts."
    ]


def _compounds(rates: Document) -> int:
    """The compounds with five contexts, decided or not."""
    found: int = rates["aggregate"]["n"] + rates["aggregate"]["undecided"]
    return found


def _rates(title: str, rows: Mapping[str, Document], of_compounds: Sequence[str] = ()) -> list[Table]:
    """Contexts and compounds apart: one table of both is wider than a page."""
    contexts = [_of_contexts(name, rates) for name, rates in rows.items()]
    compounds = [_of_compounds(name, rates) for name, rates in rows.items()]
    unknown = why(rates["instance"] for rates in rows.values())
    undecided = why(rates[name] for rates in rows.values() for name in RATES[1:])
    carried = ("carried over",) if any("carried" in rates for rates in rows.values()) else ()
    return [
        Table(f"{title}, by context", (*OF_CONTEXTS, *carried), contexts, unknown),
        Table(f"{title}, by compound", OF_COMPOUNDS, compounds, undecided, of_compounds),
    ]


def _of_contexts(name: str, rates: Document) -> list[str]:
    instance = rates["instance"]
    return [
        name or NOT_GIVEN,
        str(instance["n"]),
        str(instance["errors"]),
        percent(instance["percent"]),
        interval(instance["ci95"], percent),
        str(rates["undecided_instances"]),
        str(rates["cannot_judge"]),
        *([str(rates["carried"])] if "carried" in rates else ()),
    ]


def _of_compounds(name: str, rates: Document) -> list[str]:
    aggregate, all_wrong = rates["aggregate"], rates["all_contexts_wrong"]
    return [
        name or NOT_GIVEN,
        str(aggregate["n"]),
        str(aggregate["errors"]),
        percent(aggregate["percent"]),
        interval(aggregate["ci95"], percent),
        str(aggregate["undecided"]),
        interval(aggregate["bounds"], percent),
        str(all_wrong["errors"]),
        percent(all_wrong["percent"]),
        interval(all_wrong["ci95"], percent),
    ]


def _without_noise(document: Document) -> Table:
    corrected = document["noise_corrected"]
    if corrected is None:
        return Table(NOISE_TITLE, [], [], [document["noise_corrected_reason"]])
    columns = (
        "noise taken as", "aggregate %", "aggregate 95 % interval", "instance %", "instance 95 % interval",
        "false alarms %", "misses %",
    )  # fmt: skip
    rows = [
        [
            model,
            percent(found["aggregate"]["percent"]),
            interval(found["aggregate"]["ci95"], percent),
            percent(found["instance"]["percent"]),
            interval(found["instance"]["ci95"], percent),
            percent(found["false_alarm_percent"]),
            percent(found["miss_percent"]),
        ]
        for model, found in corrected["by_model"].items()
    ]
    remarks = [
        f"judged twice: {corrected['doubles']}, differing: {corrected['differing']} ({corrected['source']})"
    ]
    return Table(NOISE_TITLE, columns, rows, why(corrected["by_model"].values()), remarks)


def _histogram(document: Document) -> Table:
    counts = enumerate(document["wrong_contexts_histogram"])
    return Table(
        "Wrong contexts per compound",
        ["wrong contexts", "compounds"],
        [[str(wrong), str(count)] for wrong, count in counts],
    )
