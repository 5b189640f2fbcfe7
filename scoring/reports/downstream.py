"""Tables of downstream benchmarks, in the layout in which papers print them: a model a row, a figure a column.

Figures of generations are times 100, as accuracies are percent.
"""

from collections.abc import Iterable, Sequence

from scoring.reports.table import Document, Table, difference_cells, interval, percent, reasons, spread, why

TITLES = {
    "bleu1": "BLEU-1",
    "bleu2": "BLEU-2",
    "bleu3": "BLEU-3",
    "bleu4": "BLEU-4",
    "meteor": "METEOR",
    "rouge_l": "ROUGE-L",
    "cider": "CIDEr",
    "accuracy": "Accuracy",
    "mean": "Avg.",
}
OVER_RUNS = "means over runs ± standard deviation"
COMPARED = (
    "measure",
    "a",
    "b",
    "questions",
    "a value",
    "b value",
    "difference",
    "95 % interval",
    "p",
    "p (Holm)",
)
GROUPS = {"generation": "By relation", "choice": "By skill"}
NO_GROUP = "not given"


def downstream(document: Document) -> list[Table]:
    """A benchmark's board, the intervals, the figures by relation or skill, the differences of models."""
    measures = document["measures"]
    columns = ["model", *(TITLES[name] for name in measures)]
    systems = document["systems"]
    rows = [[_name(one), *(spread(one["figures"][name]) for name in measures)] for one in systems]
    figures = [one["figures"][name] for one in systems for name in measures]
    several = [OVER_RUNS] if any(figure["n"] > 1 for figure in figures) else []
    remarks = [f"{document['n']} questions", *several, *document["warnings"]]
    return [
        Table(document["benchmark"], columns, rows, why(figures), remarks),
        _intervals(columns, [(_name(one), [one["figures"][name] for name in measures]) for one in systems]),
        *_by_group(document, columns),
        *_differences(document),
    ]


def accuracies(document: Document) -> list[Table]:
    """Every model on every benchmark of choices, with the mean; then intervals, and differences of the means."""
    names = [one["name"] for one in document["benchmarks"]]
    columns = ["model", *names, TITLES["mean"]]
    lines = [
        (_name(one), [*(one["benchmarks"][name] for name in names), one["mean"]])
        for one in document["systems"]
    ]
    rows = [[name, *(spread(figure) for figure in figures)] for name, figures in lines]
    known = [figure for _name, figures in lines for figure in figures if figure is not None]
    several = [OVER_RUNS] if any(figure["n"] > 1 for figure in known) else []
    sizes = ", ".join(f"{one['name']} {one['n']}" for one in document["benchmarks"])
    return [
        Table("Accuracy", columns, rows, why(known), [f"questions: {sizes}", *several]),
        _intervals(columns, lines),
        *_differences(document),
    ]


def _name(system: Document) -> str:
    return f"{system['system']} (human)" if system["human"] else str(system["system"])


def _intervals(columns: Sequence[str], lines: Iterable[tuple[str, Sequence[Document | None]]]) -> Table:
    rows, known = [], []
    for name, figures in lines:
        rows.append(
            [name, *(interval(None if figure is None else figure["ci95"], percent) for figure in figures)]
        )
        known += [figure for figure in figures if figure is not None]
    return Table("95 % intervals over questions", columns, rows, why(known, "ci95_reason"))


def _by_group(document: Document, columns: Sequence[str]) -> list[Table]:
    if not document["groups"]:
        return []
    rows = [
        [
            group["group"] or NO_GROUP,
            str(group["n"]),
            _name(one),
            *(spread(one["figures"][name]) for name in document["measures"]),
        ]
        for group in document["groups"]
        for one in group["systems"]
    ]
    return [Table(GROUPS[document["kind"]], ["group", "questions", *columns], rows)]


def _differences(document: Document) -> list[Table]:
    found = document["differences"]
    if not found:
        return []
    rows = [[TITLES[one["measure"]], *difference_cells(one)] for one in found]
    remarks = [document["note"], "p (Holm) over the pairs of each measure"]
    return [Table("Differences (a minus b)", COMPARED, rows, reasons(found), remarks)]
