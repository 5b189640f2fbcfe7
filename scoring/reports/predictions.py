"""Tables of systems that sent in predictions about the same triples."""

from collections.abc import Sequence

from scoring.reports.systems import METRICS
from scoring.reports.table import (
    DIFFERENCE,
    Document,
    Table,
    difference_cells,
    reasons,
    spread,
    why,
)

SHOWN = ("auc", "f1")


def predictions(document: Document) -> list[Table]:
    """Every system over its runs, the differences in AUC and in F1, and those of two runs."""
    groups = document["groups"]
    if "one_system" in document:
        differences = [Table("Differences", [], [], [document["one_system"]])]
    else:
        differences = [_differences(groups, measure, document["note"]) for measure in SHOWN]
    return [_systems(document), *differences, *_pair(document)]


def _systems(document: Document) -> Table:
    groups = document["groups"]
    found = [
        {**one, "group": group["group"]}
        for group in groups
        for one in group["systems"]
        if one["measure"] in SHOWN
    ]
    rows = []
    for name in dict.fromkeys(one["name"] for one in found):
        of_system = [one for one in found if one["name"] == name]
        rows.append([name, str(len(of_system[0]["values"])), *(spread(one) for one in of_system)])
    columns = [f"{group['group']} {METRICS[measure]}" for group in groups for measure in SHOWN]
    where = " / ".join(name for name in (document["release"], document["split"]) if name)
    remarks = [
        "means over runs ± standard deviation; n: "
        + ", ".join(f"{group['group']} {group['n']}" for group in groups),
        "thresholds: " + ", ".join(_threshold(one) for one in document["submissions"]),
    ]
    return Table(f"Systems on {where}", ["system", "runs", *columns], rows, why(found), remarks)


def _threshold(submission: Document) -> str:
    return f"{submission['title']} {submission['threshold']:g}" + (" (dev)" if submission["tuned"] else "")


def _differences(groups: Sequence[Document], measure: str, note: str) -> Table:
    found = [
        (group["group"], one) for group in groups for one in group["differences"] if one["measure"] == measure
    ]
    rows = [[group, *difference_cells(one)] for group, one in found]
    title = f"Differences in {METRICS[measure]} (a minus b)"
    return Table(title, ["group", *DIFFERENCE], rows, reasons([one for _, one in found]), [note])


def _pair(document: Document) -> list[Table]:
    """The differences of two runs, and on how many triples their calls differ."""
    pair = document["pair"]
    if not pair:
        return []
    title = f"{pair['a']} against {pair['b']}"
    if "reason" in pair:
        return [Table(title, [], [], [pair["reason"]])]
    found = [(group["group"], one) for group in pair["groups"] for one in group["differences"]]
    rows = [[METRICS[one["measure"]], group, *difference_cells(one)] for group, one in found]
    remarks = ["p (Holm) over all rows of this table"]
    parted = document["differing"]
    wrong = [
        [name, str(sum(one["wrong"] == name for one in parted["triples"]))]
        for name in (parted["a"], parted["b"])
    ]
    return [
        Table(title, ["measure", "group", *DIFFERENCE], rows, reasons([one for _, one in found]), remarks),
        Table("Triples that the two call differently", ["wrong here only", "triples"], wrong),
    ]
