"""Tables of triples: their composition, scores against their labels, words that give a label away."""

from collections.abc import Sequence

from scoring.reports.table import Document, Table, coefficient, interval, percent, why
from scoring.stats.node_classes import DERIVED


def statistics(document: Document) -> list[Table]:
    """Table 1: how many triples of each kind, and how many of them are plausible."""
    composed = _composition("Composition", document["rows"])
    return [composed, *(_derived(document["derived"]) if "derived" in document else ())]


def _composition(title: str, rows: Sequence[Document]) -> Table:
    shown = [
        [
            f"{row['by']}: {row['value']}" if row["by"] != "all" else "all",
            str(row["n"]),
            str(row["plausible"]),
            percent(row["percent"]),
            interval(row["ci95"], percent),
            "" if row["unseen_percent"] is None else percent(row["unseen_percent"]),
        ]
        for row in rows
    ]
    columns = ["group", "triples", "plausible", "% plausible", "95 % interval", "% unseen"]
    return Table(title, columns, shown, why(rows))


def _derived(derived: Document) -> list[Table]:
    """The same by the classes that a list of nodes gives, and how these and the stored classes cross."""
    found = {(one["stored"], one["derived"]): one for one in derived["crossings"]}
    occurring = {one["derived"] for one in derived["crossings"]}
    classes = [name for name in DERIVED if name in occurring]
    rows = [
        [
            stored or "none",
            *(str(found[stored, name]["n"]) if (stored, name) in found else "0" for name in classes),
        ]
        for stored in dict.fromkeys(one["stored"] for one in derived["crossings"])
    ]
    told = (
        f"triples stored as ID or OOD: {derived['compared']}; derived under another class: {derived['other_class']}; "
        f"of these in the other domain: {derived['other_group']}"
    )
    return [
        _composition("Composition by classes derived from nodes", derived["rows"]),
        Table("Stored class by derived class", ["stored", *classes], rows, (), [told, derived["signature"]]),
    ]


MEASURES = {"auc": "AUC", "f1": "F1", "precision": "precision", "recall": "recall"}


def classification(document: Document) -> list[Table]:
    """How well scores predict the labels, a system's or an expert's, by group and relation.

    Of what a reader may not see there is no column.
    """
    rows = document["rows"]
    measures = [name for name in MEASURES if all(name in row for row in rows)]
    with_intervals = any(f"{name}_ci95" in row for row in rows for name in measures)
    shown = [
        [
            row["group"],
            str(row["n"]),
            *(cell for name in measures for cell in _figure(row, name, with_intervals)),
        ]
        for row in rows
    ]
    heads = (head for name in measures for head in (MEASURES[name], "95 % interval")[: 1 + with_intervals])
    notes = [f"{row['group']}: {row['reason']}" for row in rows if row.get("reason")]
    table = Table(_title(document), ["group", "n", *heads], shown, notes, _about(document))
    return [table, *_over_runs(document)]


def _title(document: Document) -> str:
    name = " / ".join(part for part in (document["system"], document["run"]) if part)
    return f"AUC and F1 of the plausible class: {name}, {document['split']}"


def _figure(row: Document, name: str, with_intervals: bool) -> list[str]:
    return [percent(row[name]), *([interval(row.get(f"{name}_ci95"), percent)] if with_intervals else ())]


def _about(document: Document) -> list[str]:
    """At which threshold the calls were made, what is not shown, and the means over relations."""
    told = [f"threshold: {document['threshold']:g}{' (tuned on dev)' if document.get('tuned') else ''}"]
    if document.get("withheld"):
        told.append(f"not shown, one class being too small: {', '.join(document['withheld'])}")
    for name, found in document.get("mean_over_relations", {}).items():
        if found["value"] is not None:
            bounds = interval(found.get("ci95"), percent)
            told.append(
                f"{MEASURES[name]}, mean over relations: {percent(found['value'])}, 95 % interval {bounds} "
                f"({found['groups']})"
            )
    return told


def _over_runs(document: Document) -> list[Table]:
    """The runs of a system together, where there are several."""
    runs = document.get("runs")
    if not runs or runs["n"] < 2:
        return []
    measures = [name for name in MEASURES if all(name in row for row in runs["rows"])]
    with_intervals = any("ci95" in row[name] for row in runs["rows"] for name in measures)
    rows = [
        [row["group"], *(cell for name in measures for cell in _spread(row[name], with_intervals))]
        for row in runs["rows"]
    ]
    heads = (
        head for name in measures for head in (MEASURES[name], "sd", "95 % interval")[: 2 + with_intervals]
    )
    title = f"{document['system']}, {document['split']}: means over {runs['n']} runs"
    return [Table(title, ["group", *heads], rows)]


def _spread(found: Document, with_intervals: bool) -> list[str]:
    bounds = [interval(found.get("ci95"), percent)] if with_intervals else []
    return [percent(found["mean"]), percent(found["sd"]), *bounds]


def artifacts(document: Document) -> list[Table]:
    """The words beyond chance."""
    rows = [
        [word["word"], str(word["n"]), percent(word["percent"]), coefficient(word["z"]), word["label"]]
        for word in document["words"]
    ]
    return [Table("Words that go with a label", ["word", "n", "% plausible", "z", "label"], rows)]
