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

    `notes` say why there is a dash in place of a figure, or, without columns, why there is no table; `remarks` what
    else belongs to the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()


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
    return [table("Error rates", {"all": document}), _without_noise(document), *by, counts]


NOISE_TITLE = "Corrected for the experts' noise"


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
    notes = [
        f"judged twice: {corrected['doubles']}, differing: {corrected['differing']} ({corrected['source']})"
    ]
    return Table(NOISE_TITLE, columns, rows, [*_why(corrected["by_model"].values())], notes)


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
            "Plain means over pairs of experts",
            ["coefficient", "value", "pairs"],
            means,
            _why(document["mean_over_pairs"].values()),
        ),
        given,
        _specific(document),
        *(_agreement_by(name, groups) for name, groups in document["by"].items()),
        *_self_consistency(document),
    ]


def _specific(document: Document) -> Table:
    found = document["specific_agreement"]
    rows = [
        [label, coefficient(one["value"]), interval(one["ci95"], coefficient), str(one["n"])]
        for label, one in found.items()
    ]
    columns = ["label", "agreement", "95 % interval", "n"]
    return Table("Specific agreement on each label", columns, rows, _why(found.values()))


def _self_consistency(document: Document) -> list[Table]:
    if "self_consistency" not in document:
        return []
    found = document["self_consistency"]
    people = {"all": found["overall"], **found["by_person"]}
    moves = {"all": found["shift"], **found["shift_by_person"]}
    shown = ("raw", "cohen")
    rows = [
        [
            name,
            str(moves[name]["n"]),
            *(coefficient(one["coefficients"][figure]["value"]) for figure in shown),
            str(moves[name]["up"]),
            str(moves[name]["down"]),
            p_shown(moves[name]["p"]),
        ]
        for name, one in people.items()
    ]
    columns = [
        "expert",
        "judged twice",
        *(COEFFICIENTS[figure] for figure in shown),
        "up",
        "down",
        "p (sign test)",
    ]
    figures = (one["coefficients"][figure] for one in people.values() for figure in shown)
    return [Table("Self-consistency", columns, rows, _why(figures))]


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
    chrf = document["chrf"]
    row = [
        document["system"] or "–",
        str(document["n"]),
        str(document["left_out"]),
        percent(document["score"]),
        percent(chrf["score"]),
    ]
    columns = ["system", "n", "left out", "BLEU", "chrF"]
    return [Table("Character BLEU", columns, [row], _why([document]), [f"chrF: {chrf['signature']}"])]


def p_shown(value: float | None) -> str:
    """A p-value with four decimals; one that would be 0.0000 as < 0.0001, a dash where there is none."""
    if value is None:
        return "–"
    return "< 0.0001" if value < 0.00005 else f"{value:.4f}"


def _comparison(document: Document) -> list[Table]:
    systems = [
        [
            found["name"],
            found["measure"],
            str(found["n"]),
            *(percent(found[name]) for name in ("mean", "sd", "low", "high")),
        ]
        for found in document["systems"]
    ]
    columns = ["system", "error rate", "runs", "mean %", "sd", "lowest", "highest"]
    reasons = list(
        dict.fromkeys(found["sd_reason"] for found in document["systems"] if found.get("sd_reason"))
    )
    spreads = Table("Systems", columns, systems, [*_why(document["systems"]), *reasons])
    if "one_system" in document:
        return [spreads, Table("Differences", [], [], [document["one_system"]]), *_pair(document)]
    return [spreads, _differences(document["differences"], document["note"]), *_pair(document)]


def _differences(found: Sequence[Document], note: str, title: str = "Differences (a minus b)") -> Table:
    columns = ["measure", "a", "b", "n", "a %", "b %", "difference", "95 % interval", "p", "p (Holm)"]
    rows = [
        [
            one["measure"],
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
        for one in found
    ]
    return Table(title, columns, rows, _why(found), [note] if note else [])


def _pair(document: Document) -> list[Table]:
    """What was found for two runs: texts where asked for, and on how many instances they part."""
    found: list[Table] = []
    texts = document["texts"]
    if texts and "reason" in texts:
        found.append(Table("BLEU and chrF", [], [], [texts["reason"]]))
    elif texts:
        rows = [
            [
                made["metric"],
                system["name"],
                str(made["n"]),
                percent(system["score"]),
                interval(system["ci95"], percent),
            ]
            for made in texts.values()
            for system in made["systems"]
        ]
        signatures = [made["signature"] for made in texts.values()]
        found.append(
            Table("BLEU and chrF", ["metric", "system", "n", "score", "95 % interval"], rows, (), signatures)
        )
        found.append(
            _differences(
                [one for made in texts.values() for one in made["differences"]],
                "",
                "Differences in BLEU and chrF",
            )
        )
    if document["differing"]:
        parted = document["differing"]
        names = (parted["a"], parted["b"])
        counts = [[name, str(sum(one["wrong"] == name for one in parted["instances"]))] for name in names]
        found.append(Table("Instances on which two runs differ", ["wrong here only", "instances"], counts))
    return found


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


def _leaderboard(document: Document) -> list[Table]:
    systems = document["systems"]
    figures = systems[0]["figures"] if systems else {}
    columns = [f"{group} {_METRICS[name]}" for group, measures in figures.items() for name in measures]
    rows = [
        [
            one["system"],
            str(len(one["runs"])),
            *(_spread(found) for measures in one["figures"].values() for found in measures.values()),
        ]
        for one in systems
    ]
    note = "means over runs ± standard deviation"
    return [Table(f"Leaderboard, {document['split']} ({note})", ["system", "runs", *columns], rows)]


_METRICS = {"auc": "AUC", "f1": "F1", "bleu": "BLEU", "chrf": "chrF"}


def _spread(found: Document) -> str:
    return percent(found["mean"]) + ("" if found["sd"] is None else f" ± {percent(found['sd'])}")


def _estimate(document: Document) -> list[Table]:
    columns = (
        "rate", "compounds", "judged in full", "judge %", "correction", "estimate %", "95 % interval",
        "sample alone %", "gain",
    )  # fmt: skip
    rows = [
        [
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
        for rate, found in ((rate, document[rate]) for rate in ("instance", "aggregate"))
    ]
    notes = _why(document[rate] for rate in ("instance", "aggregate"))
    return [
        Table("Difference estimate of the error rates", columns, rows, notes, [f"judge: {document['judge']}"])
    ]


def _plan(document: Document) -> list[Table]:
    """What a goal takes, and what it was assumed to rest on."""
    if document["goal"] == "spot-check":
        names = (
            "acceptable",
            "rejectable",
            "alpha",
            "beta",
            "lot",
            "n",
            "c",
            "risk_good",
            "risk_bad",
            "hours",
        )
        rows = [[name, _plain(document[name])] for name in names]
        return [Table("Spot check: check n, accept with at most c errors", ["", "value"], rows)]
    rows = [[name, _plain(document[name])] for name in ("units", "judgements", "hours")]
    rows += [[f"assumed: {name}", _plain(value)] for name, value in document["assumed"].items()]
    return [Table(f"{document['goal']} ({document['unit']})", ["", "value"], rows, _why([document]))]


def _plain(value: float | str | None) -> str:
    return (
        "–"
        if value is None
        else value
        if isinstance(value, str)
        else f"{value:.4g}"
        if isinstance(value, float)
        else str(value)
    )


_TABLES: Mapping[str, Callable[[Document], list[Table]]] = {
    "error-rates": _error_rates,
    "agreement": _agreement,
    "statistics": _statistics,
    "human": _classification,
    "score": _classification,
    "artifacts": _artifacts,
    "bleu": _bleu,
    "comparison": _comparison,
    "compound-check": _compound_check,
    "estimate": _estimate,
    "plan": _plan,
    "leaderboard": _leaderboard,
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
    return "\n\n".join(
        [f"**{table.title}**", "\n".join(lines), *(f"–: {note}" for note in table.notes), *table.remarks]
    )


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "κ": r"$\kappa$", "α": r"$\alpha$",
    "±": r"$\pm$",
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
            *(rf"\par\footnotesize {_latex(remark)}" for remark in table.remarks),
            r"\end{table}",
        ]
    )


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
