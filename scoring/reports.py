"""From a report's document to tables for people: Markdown, LaTeX (booktabs).

Rounding happens here and nowhere else. A value that is undefined shows why, in a note under the table.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """One table as text; the first column names the row, the others hold figures.

    `notes` say why there is a dash in place of a figure, or, without columns, why there is no table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def percent(value: float | None) -> str:
    """A percentage with two decimals, a dash where there is none."""
    return "–" if value is None else f"{value:.2f}"


def coefficient(value: float | None) -> str:
    """A coefficient with four decimals and its sign; never rounded to a bare zero."""
    if value is None:
        return "–"
    text = f"{value:.4f}"
    return f"{value:.2e}" if float(text) == 0 and value != 0 else text


def interval(bounds: Sequence[float] | None, shown: Callable[[float | None], str]) -> str:
    """An interval, or a dash."""
    return "–" if bounds is None else f"{shown(bounds[0])} – {shown(bounds[1])}"


def tables(kind: str, document: Document) -> list[Table]:
    """The tables of a report."""
    return _TABLES[kind](document)


def _why(figures: Iterable[Document]) -> list[str]:
    """The reasons of the figures that are undefined, each once."""
    return list(dict.fromkeys(figure["reason"] for figure in figures if figure.get("reason")))


def _error_rates(document: Document) -> list[Table]:
    columns = (
        "group", "instances", "wrong", "instance %", "instance 95 % interval", "compounds", "with an error",
        "aggregate %", "aggregate 95 % interval", "undecided", "all contexts wrong %",
    )  # fmt: skip

    def table(title: str, rows: Mapping[str, Document]) -> Table:
        figures = (rates[name] for rates in rows.values() for name in _RATES)
        return Table(
            title, columns, [_rates_row(value, rates) for value, rates in rows.items()], _why(figures)
        )

    by = [table(name.replace("_", " "), rows) for name, rows in document["by"].items() if rows]
    histogram = document["wrong_contexts_histogram"]
    counts = Table(
        "Wrong contexts per compound",
        ["wrong contexts", "compounds"],
        [[str(wrong), str(count)] for wrong, count in enumerate(histogram)],
    )
    return [table("Error rates", {"all": document}), *by, counts]


_RATES = ("instance", "aggregate", "all_contexts_wrong")


def _rates_row(name: str, rates: Document) -> list[str]:
    instance, aggregate = rates["instance"], rates["aggregate"]
    return [
        name,
        str(instance["n"]),
        str(instance["errors"]),
        percent(instance["percent"]),
        interval(instance["ci95"], percent),
        str(aggregate["n"]),
        str(aggregate["errors"]),
        percent(aggregate["percent"]),
        interval(aggregate["ci95"], percent),
        str(aggregate["undecided"]),
        percent(rates["all_contexts_wrong"]["percent"]),
    ]


COEFFICIENTS = {
    "raw": "Raw agreement",
    "contrast": "Contrast coefficient (CKBP)",
    "cohen": "Cohen's κ",
    "cohen_linear": "Cohen's κ, linear weights",
    "cohen_quadratic": "Cohen's κ, quadratic weights",
    "fleiss": "Fleiss' κ",
    "alpha_nominal": "Krippendorff's α, nominal",
    "alpha_ordinal": "Krippendorff's α, ordinal",
    "alpha_interval": "Krippendorff's α, interval",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
}


TWO_NEEDED = "Agreement needs two people who judged the same items; so far one person or nobody has judged."


def _agreement(document: Document) -> list[Table]:
    columns = ("coefficient", "value", "95 % interval", "n", "why undefined")
    overall = [
        [
            COEFFICIENTS[name],
            coefficient(found["value"]),
            interval(found["ci95"], coefficient),
            str(found["n"]),
            found["reason"] or "",
        ]
        for name, found in document["coefficients"].items()
    ]
    kappas = ("raw", "cohen", "cohen_linear", "cohen_quadratic")
    pairs = [
        [f"{pair['a']} – {pair['b']}", str(pair["n"])]
        + [coefficient(pair["coefficients"][name]["value"]) for name in kappas]
        for pair in document["pairs"]
    ]
    means = [
        [COEFFICIENTS[name], coefficient(mean["value"]), f"{mean['n_pairs']} of {mean['of_pairs']}"]
        for name, mean in document["mean_over_pairs"].items()
    ]
    labels = [[label, str(count)] for label, count in document["distribution"].items()]
    given = Table("How often each label was given", ["label", "judgements"], labels)
    if len(document["raters"]) < 2:
        return [
            Table("Agreement", [], [], [f"{TWO_NEEDED} ({document['coefficients']['raw']['reason']})"]),
            given,
        ]
    of_pairs = (pair["coefficients"][name] for pair in document["pairs"] for name in kappas)
    return [
        Table("Agreement", columns, overall),
        Table(
            "Pairs of experts", ["pair", "n", *(COEFFICIENTS[name] for name in kappas)], pairs, _why(of_pairs)
        ),
        Table(
            "Means over pairs",
            ["coefficient", "value", "pairs"],
            means,
            _why(document["mean_over_pairs"].values()),
        ),
        given,
        *(_agreement_by(name, groups) for name, groups in document["by"].items()),
    ]


def _agreement_by(name: str, groups: Mapping[str, Document]) -> Table:
    shown = ("raw", "contrast", "alpha_nominal", "alpha_ordinal", "gwet_ac1")
    rows = [
        [_group(name, value), str(found["n_items"])]
        + [coefficient(found["coefficients"][one]["value"]) for one in shown]
        for value, found in groups.items()
    ]
    figures = (found["coefficients"][one] for found in groups.values() for one in shown)
    columns = [name, "items", *(COEFFICIENTS[one] for one in shown)]
    return Table(f"Agreement by {name}", columns, rows, _why(figures))


def _group(name: str, value: str) -> str:
    """People count parts from 1, documents from 0."""
    return str(int(value) + 1) if name == "part" and value.isdecimal() else value


def _statistics(document: Document) -> list[Table]:
    rows = [
        [
            f"{row['by']}: {row['value']}" if row["by"] != "all" else "all",
            str(row["n"]),
            str(row["plausible"]),
            percent(row["percent"]),
            "" if row["unseen_percent"] is None else percent(row["unseen_percent"]),
        ]
        for row in document["rows"]
    ]
    columns = ["group", "triples", "plausible", "% plausible", "% unseen"]
    return [Table("Composition", columns, rows, _why(document["rows"]))]


def _classification(document: Document) -> list[Table]:
    rows = [
        [row["group"], str(row["n"]), percent(row["auc"]), percent(row["f1"]), row["reason"] or ""]
        for row in document["rows"]
    ]
    return [Table("AUC and F1 of the plausible class", ["group", "n", "AUC", "F1", "why undefined"], rows)]


def _artifacts(document: Document) -> list[Table]:
    rows = [
        [word["word"], str(word["n"]), percent(word["percent"]), coefficient(word["z"]), word["label"]]
        for word in document["words"]
    ]
    return [Table("Words that go with a label", ["word", "n", "% plausible", "z", "label"], rows)]


def _bleu(document: Document) -> list[Table]:
    row = [
        document["system"] or "–",
        str(document["n"]),
        str(document["left_out"]),
        percent(document["score"]),
    ]
    return [Table("Character BLEU", ["system", "n", "left out", "BLEU"], [row], _why([document]))]


def _compound_check(document: Document) -> list[Table]:
    row = [
        document["system"] or "–",
        str(document["n"]),
        percent(document["error_precision"]),
        percent(document["error_recall"]),
        percent(document["instance"]["percent"]),
        percent(document["aggregate"]["percent"]),
    ]
    columns = ["system", "n", "error precision", "error recall", "instance %", "aggregate %"]
    reasons = [
        document[f"{name}_reason"] for name in ("error_precision", "error_recall") if document[name] is None
    ]
    notes = [*reasons, *_why(document[name] for name in _RATES[:2])]
    return [Table("Automatic compound check (diagnostic)", columns, [row], notes)]


_TABLES: Mapping[str, Callable[[Document], list[Table]]] = {
    "error-rates": _error_rates,
    "agreement": _agreement,
    "statistics": _statistics,
    "human": _classification,
    "score": _classification,
    "artifacts": _artifacts,
    "bleu": _bleu,
    "compound-check": _compound_check,
}


def as_markdown(kind: str, document: Document) -> str:
    """The tables in Markdown, the signature below."""
    blocks = [_markdown_table(table) for table in tables(kind, document)]
    return "\n\n".join([*blocks, f"Signature: `{document['signature']}`"]) + "\n"


def _markdown_table(table: Table) -> str:
    if not table.columns:
        return "\n\n".join([f"**{table.title}**", *table.notes])
    lines = [
        _markdown_row(table.columns),
        "|" + "|".join([" --- ", *(" ---: " for _ in table.columns[1:])]) + "|",
    ]
    lines += [_markdown_row(row) for row in table.rows]
    return "\n\n".join([f"**{table.title}**", "\n".join(lines), *(f"–: {note}" for note in table.notes)])


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "κ": r"$\kappa$", "α": r"$\alpha$",
}  # fmt: skip


def as_latex(kind: str, document: Document) -> str:
    """The tables for booktabs, the signature as a comment."""
    blocks = [_latex_table(table) for table in tables(kind, document)]
    return "\n\n".join([f"% {document['signature']}", *blocks]) + "\n"


def _latex_table(table: Table) -> str:
    if not table.columns:
        return "\n".join(f"% {table.title}: {note}" for note in table.notes)
    body = [" & ".join(_latex(cell) for cell in row) + r" \\" for row in table.rows]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(table.title)}}}",
            r"\begin{tabular}{l" + "r" * (len(table.columns) - 1) + "}",
            r"\toprule",
            " & ".join(_latex(name) for name in table.columns) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize --: {_latex(note)}" for note in table.notes),
            r"\end{table}",
        ]
    )


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
