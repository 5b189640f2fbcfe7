"""Tables of the what-if: what becomes of the labels, and how figures built on them move."""

from collections.abc import Mapping, Sequence

from scoring.reports.table import Document, Table, coefficient, interval, percent, why

NAMES = {"auc": "AUC", "f1": "F1", "precision": "precision", "recall": "recall"}
RATES = {"instance": "instance", "aggregate": "aggregate", "all_contexts_wrong": "all contexts wrong"}
BOTH = ("before", "95 % interval", "after", "95 % interval", "difference")
CHANGES = ("kept", "flipped", "gained", "lost", "without")


def what_if(document: Document) -> list[Table]:
    """The counts, the table from state to state, experts, figures, and the model where one was asked for."""
    return [
        _changes(document),
        _states(document),
        _experts(document),
        *_figures(document),
        *_model(document),
    ]


def _name_of(to: Document) -> str:
    """The other side: a rule, or a model."""
    return f"the model {to['model']['model']}" if to["model"] else f"the rule {to['rule']}/{to['version']}"


def _changes(document: Document) -> Table:
    labels, between = document["labels"], document["between"]
    now = f"{labels['rule']}/{labels['version']} ({labels['source']}, version {labels['label_version']})"
    rows = [[name, str(document[name])] for name in CHANGES]
    rows.append(["same label, % of those with a label both ways", percent(between["percent"])])
    rows.append(["Cohen's kappa of the two", coefficient(between["kappa"])])
    told = f"items: {document['n_items']}; decided by an arbiter, the same both ways: {document['arbiter']}"
    return Table(
        f"Labels: {now} against {_name_of(document['to'])}",
        ["", "items"],
        rows,
        list(dict.fromkeys(why([between]) + why([between], "kappa_reason"))),
        [told, *document["warnings"]],
    )


def _states(document: Document) -> Table:
    found = {(one["from"], one["to"]): one["n"] for one in document["table"]}
    before, after = (sorted({cell[side] for cell in found}, key=_labels_first) for side in (0, 1))
    rows = [[one, *(str(found.get((one, other), 0)) for other in after)] for one in before]
    return Table("From (row) to (column)", ["", *after], rows)


def _labels_first(state: str) -> tuple[bool, str]:
    return state not in ("0", "1"), state


def _experts(document: Document) -> Table:
    rows = [
        [row["expert"], str(row["before"]["n"]), str(row["after"]["n"]), *_both(row, "percent")]
        for row in document["experts"]
    ]
    columns = ["expert", "labelled before", "labelled after", *BOTH]
    notes = why(row[side] for row in document["experts"] for side in ("before", "after"))
    return Table("Answers equal to the label, %", columns, rows, notes)


def _both(moved: Document, name: str, bounds: str = "ci95") -> list[str]:
    """A figure before and after, with its intervals, and the difference."""
    cells = [
        cell
        for side in ("before", "after")
        for cell in (percent(moved[side][name]), interval(moved[side].get(bounds), percent))
    ]
    return [*cells, difference(moved["difference"])]


def difference(value: float | None) -> str:
    """Points with their sign, a dash where there are none."""
    return "–" if value is None else f"{value:+.2f}"


def _figures(document: Document) -> list[Table]:
    if "rates" in document:
        return [_rates(document["rates"])]
    share = document["plausible"]
    plausible = Table(
        "Plausible triples, %",
        ["", "labelled before", "labelled after", *BOTH],
        [["all", str(share["before"]["n"]), str(share["after"]["n"]), *_both(share, "percent")]],
        why([share["before"], share["after"]]),
    )
    human = {"human": document["human"]}
    sent = {_named(run, "system", "run", "split"): run for run in document["submissions"]}
    return [plausible, _measures(human | sent, document["human"]["note"])]


def _named(run: Document, *parts: str) -> str:
    return " / ".join(run[part] for part in parts if run[part])


def _rates(runs: Sequence[Document]) -> Table:
    rows = [
        [_named(run, "system", "run"), title, *_both(run[name], "percent")]
        for run in runs
        for name, title in RATES.items()
    ]
    notes = why(run[name][side] for run in runs for name in RATES for side in ("before", "after"))
    return Table("Error rates, %", ["system", "rate", *BOTH], rows, notes)


def _measures(runs: Mapping[str, Document], note: str) -> Table:
    rows = [
        [name, title, *_both({**run, "difference": run["difference"][key]}, key, f"{key}_ci95")]
        for name, run in runs.items()
        for key, title in NAMES.items()
    ]
    notes = why(run[side] for run in runs.values() for side in ("before", "after"))
    told = [f"{name}: {run['warning']}" for name, run in runs.items() if "warning" in run]
    title = "AUC and F1 of the plausible class, all triples"
    return Table(title, ["", "figure", *BOTH], rows, notes, [note, *told])


def _model(document: Document) -> list[Table]:
    """What the model takes each expert for."""
    model = document["to"]["model"]
    if model is None:
        return []
    categories = model["categories"]
    rows = [
        [name, str(one["n"]), coefficient(one["value"]), *_diagonal(one["confusion"], len(categories))]
        for name, one in model["experts"].items()
    ]
    columns = ["expert", "answers", "competence", *(f"{name} where true" for name in categories)]
    notes = why(model["experts"].values())
    return [
        Table(f"Experts under {model['model']}", columns, rows, notes, [*_fit(model), model["signature"]])
    ]


def _diagonal(confusion: Sequence[Sequence[float] | None] | None, n: int) -> list[str]:
    rows = confusion or [None] * n
    return [coefficient(None if row is None else row[place]) for place, row in enumerate(rows)]


def _fit(model: Document) -> list[str]:
    if model["iterations"] is None:
        return []
    settled = "settled" if model["converged"] else "not settled"
    prior = ", ".join(
        f"{name}: {share:.4f}" for name, share in zip(model["categories"], model["prior"], strict=True)
    )
    return [
        f"{settled} after {model['iterations']} steps, log-likelihood {model['log_likelihood']:.2f}; "
        f"shares of the labels: {prior}"
    ]
