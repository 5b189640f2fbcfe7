"""Tables of systems that sent in predictions about the same triples."""

from collections.abc import Sequence

from scoring.reports.systems import METRICS
from scoring.reports.table import Document, Table, interval, p_shown, percent, reasons, why

SHOWN = ("auc", "f1")
COLUMNS = ("group", "a", "b", "n", "a %", "b %", "difference", "95 % interval", "p", "p (Holm)")


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
        rows.append([name, str(len(of_system[0]["values"])), *(_spread(one) for one in of_system)])
    columns = [f"{group['group']} {METRICS[measure]}" for group in groups for measure in SHOWN]
    where = " / ".join(name for name in (document["release"], document["split"]) if name)
    remarks = [
        "means over runs ± standard deviation; n: "
        + ", ".join(f"{group['group']} {group['n']}" for group in groups),
        "thresholds: " + ", ".join(_threshold(one) for one in document["submissions"]),
    ]
    return Table(f"Systems on {where}", ["system", "runs", *columns], rows, why(found), remarks)


def _spread(found: Document) -> str:
    return percent(found["mean"]) + ("" if found["sd"] is None else f" ± {percent(found['sd'])}")


def _threshold(submission: Document) -> str:
    return f"{submission['title']} {submission['threshold']:g}" + (" (dev)" if submission["tuned"] else "")


def _differences(groups: Sequence[Document], measure: str, note: str) -> Table:
    found = [
        (group["group"], one) for group in groups for one in group["differences"] if one["measure"] == measure
    ]
    rows = [_row(group, one) for group, one in found]
    title = f"Differences in {METRICS[measure]} (a minus b)"
    return Table(title, COLUMNS, rows, reasons([one for _, one in found]), [note])


def _row(group: str, one: Document) -> list[str]:
    return [
        group,
        one["a"],
        one["b"],
        str(one["n"]),
        percent(one["value_a"]),
        percent(one["value_b"]),
        percent(one["difference"]),
        interval(one["ci95"], percent),
        p_shown(one["p"]),
        p_shown(one["p_holm"]),
    ]


def _pair(document: Document) -> list[Table]:
    """The differences of two runs, and on how many triples their calls differ."""
    pair = document["pair"]
    if not pair:
        return []
    title = f"{pair['a']} against {pair['b']}"
    if "reason" in pair:
        return [Table(title, [], [], [pair["reason"]])]
    found = [(group["group"], one) for group in pair["groups"] for one in group["differences"]]
    rows = [[METRICS[one["measure"]], *_row(group, one)] for group, one in found]
    remarks = ["p (Holm) over all rows of this table"]
    parted = document["differing"]
    wrong = [
        [name, str(sum(one["wrong"] == name for one in parted["triples"]))]
        for name in (parted["a"], parted["b"])
    ]
    return [
        Table(title, ("measure", *COLUMNS), rows, reasons([one for _, one in found]), remarks),
        Table("Triples that the two call differently", ["wrong here only", "triples"], wrong),
    ]
