"""Tables of systems: one's translations against the references, several side by side."""

from collections.abc import Iterable, Sequence

from scoring.reports.table import (
    DIFFERENCE,
    Document,
    Table,
    difference_cells,
    interval,
    over_runs,
    percent,
    reasons,
    spread,
    warnings,
    why,
)

METRICS = {
    "auc": "AUC",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "bleu": "BLEU",
    "chrf": "chrF",
}
TEXTS_TITLE = "BLEU and chrF"


def bleu(document: Document) -> list[Table]:
    """One system's character BLEU, and chrF beside it."""
    chrf = document["chrf"]
    files = " / ".join(file["name"] for file in document.get("files", ()))
    row = [
        document["system"] or files or "–",
        str(document["n"]),
        str(document["left_out"]),
        percent(document["score"]),
        interval(document["ci95"], percent),
        percent(chrf["score"]),
        interval(chrf["ci95"], percent),
    ]
    columns = ["system", "n", "left out", "BLEU", "95 % interval", "chrF", "95 % interval"]
    notes = list(dict.fromkeys([*why([document]), *why([document, chrf], "ci95_reason")]))
    remarks = [*document["warnings"], f"chrF: {chrf['signature']}"]
    return [Table("Character BLEU", columns, [row], notes, remarks)]


def translations(document: Document) -> list[Table]:
    """A submission's BLEU and chrF."""
    name = " / ".join(part for part in (document["system"], document["run"]) if part)
    scored = {"bleu": document["bleu"], "chrf": document["chrf"]}
    with_intervals = any("ci95" in found for found in scored.values())
    rows = [
        [
            METRICS[metric],
            str(found["n"]),
            str(found["left_out"]),
            percent(found["score"]),
            *([interval(found.get("ci95"), percent)] if with_intervals else ()),
        ]
        for metric, found in scored.items()
    ]
    columns = ["metric", "n", "left out", "score", "95 % interval"][: 4 + with_intervals]
    signatures = [f"{METRICS[metric]}: {found['signature']}" for metric, found in scored.items()]
    return [Table(f"{TEXTS_TITLE}: {name}", columns, rows, why(scored.values()), signatures)]


def comparison(document: Document) -> list[Table]:
    """Every system over its runs, their differences, and what was found for two runs."""
    if "one_system" in document:
        differences = Table("Differences", [], [], [document["one_system"]])
    else:
        differences = _differences(document["differences"], f"{document['note']} {OVER_PAIRS}")
    return [
        _spreads(document),
        differences,
        *_judging(document),
        *carried_over(document["judging"].get("carry_over")),
        *_pair(document),
        *_texts(document),
        *_parted(document),
    ]


def _judging(document: Document) -> list[Table]:
    """Under what circumstances the systems were judged where these differ, and the shift between batches."""
    found = document["judging"]
    if not found["warnings"]:
        return []
    if not found["shift"]:
        notes = [found["shift_reason"]] if "shift_reason" in found else []
        return [Table("Not judged alike", [], [], notes, [*found["warnings"]])]
    shift = found["shift"]
    rows = [
        [
            name,
            str(one["n"]),
            str(one["wrong_before"]),
            str(one["wrong_later"]),
            percent(one["difference"]),
            interval(one["ci95"], percent),
        ]
        for name, one in (("all", shift["pooled"]), *shift["by_person"].items())
    ]
    columns = [
        "expert",
        "judged twice",
        "wrong before",
        "wrong later",
        "shift (later minus before)",
        "95 % interval",
    ]
    unknown = [found["shift_reason"]] if "shift_reason" in found else []
    remarks = [*found["warnings"], *unknown, shift["signature"]]
    return [Table("Shift between batches", columns, rows, why(shift["by_person"].values()), remarks)]


def carried_over(found: Document | None) -> list[Table]:
    """How often a verdict that is carried over would have been another; nothing where none is."""
    if not found:
        return []
    rows = [
        [
            name,
            str(one["differs"]["n"]),
            str(one["differs"]["errors"]),
            percent(one["differs"]["percent"]),
            interval(one["differs"]["ci95"], percent),
            str(one["repeats"]["n"]),
            percent(one["repeats"]["percent"]),
            percent(one["excess"]),
            interval(one["ci95"], percent),
            percent(one["shift"]["difference"]),
        ]
        for name, one in (("all", found["pooled"]), *found["by_person"].items())
    ]
    columns = [
        "expert", "judged anyway", "otherwise", "otherwise %", "95 % interval", "repeats", "otherwise on repeats %",
        "excess", "95 % interval", "rate of wrong, own minus carried",
    ]  # fmt: skip
    remarks = [
        f"labels carried over: {found['labels']}, from {found['sources']} translations",
        *(
            [f"left out, source on the same screen: {found['on_one_screen']}"]
            if "on_one_screen" in found
            else []
        ),
        *found["rules"],
        found["signature"],
    ]
    notes = [*why(found["by_person"].values()), *why([found["pooled"]])]
    return [Table("Verdicts carried over", columns, rows, list(dict.fromkeys(notes)), remarks)]


OVER_ROWS = "p after Holm is held over all rows of this table."
OVER_PAIRS = "p after Holm is held over the pairs of systems, figure by figure."


def _spreads(document: Document) -> Table:
    systems = document["systems"]
    rows = [
        [
            found["name"],
            found["measure"],
            str(found["n"]),
            over_runs(found.get("labelled")),
            over_runs(found.get("undecided")),
            *(percent(found[name]) for name in ("mean", "sd", "low", "high")),
        ]
        for found in systems
    ]
    columns = ["system", "error rate", "runs", "labelled", "undecided", "mean %", "sd", "lowest", "highest"]
    return Table("Systems", columns, rows, list(dict.fromkeys([*why(systems), *why(systems, "sd_reason")])))


def _differences(found: Sequence[Document], note: str, title: str = "Differences (a minus b)") -> Table:
    rows = [[one["measure"], *difference_cells(one)] for one in found]
    remarks = [*warnings(found), *([note] if note else [])]
    return Table(title, ["measure", *DIFFERENCE], rows, reasons(found), remarks)


def _pair(document: Document) -> list[Table]:
    """The differences of two runs."""
    pair = document["pair"]
    if not pair:
        return []
    title = f"{pair['a']} against {pair['b']}"
    if "reason" in pair:
        return [Table(title, [], [], [pair["reason"]])]
    return [_differences(pair["differences"], pair.get("holm", OVER_ROWS), title)]


def _texts(document: Document) -> list[Table]:
    """BLEU and chrF of two runs, where they were asked for."""
    texts = document["texts"]
    if not texts:
        return []
    if "reason" in texts:
        return [Table(TEXTS_TITLE, [], [], [texts["reason"]])]
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
    differences = [one for made in texts.values() for one in made["differences"]]
    return [
        Table(TEXTS_TITLE, ["metric", "system", "n", "score", "95 % interval"], rows, (), signatures),
        _differences(differences, "", f"Differences in {TEXTS_TITLE}"),
    ]


def _parted(document: Document) -> list[Table]:
    """On how many instances two runs differ, and which of them is wrong there."""
    parted = document["differing"]
    if not parted:
        return []
    rows = [
        [name, str(sum(one["wrong"] == name for one in parted["instances"]))]
        for name in (parted["a"], parted["b"])
    ]
    return [Table("Instances on which two runs differ", ["wrong here only", "instances"], rows)]


def leaderboard(document: Document) -> list[Table]:
    """Every system's figures by group, as means over its runs."""
    systems = document["systems"]
    figures = systems[0]["figures"] if systems else {}
    columns = [f"{group} {METRICS[name]}" for group, measures in figures.items() for name in measures]
    rows = [
        [
            one["system"],
            str(len(one["runs"])),
            *(spread(found) for measures in one["figures"].values() for found in measures.values()),
        ]
        for one in systems
    ]
    if "human" in document:
        measures = [
            found for group in figures for found in _of_human(document["human"], group, figures[group])
        ]
        rows.append(["human", f"{document['human']['slots']} slots", *measures])
    note = "means over runs ± standard deviation"
    board = Table(f"Leaderboard, {document['split']} ({note})", ["system", "runs", *columns], rows)
    return [board, *_intervals(systems, columns)]


def _of_human(human: Document, group: str, names: Iterable[str]) -> list[str]:
    return [percent(human["figures"][group][name]["mean"]) for name in names]


def _intervals(systems: Sequence[Document], columns: Sequence[str]) -> list[Table]:
    """The intervals of the means, where the reader may see them."""
    found = [
        [one for measures in system["figures"].values() for one in measures.values()] for system in systems
    ]
    if not any("ci95" in one for figures in found for one in figures):
        return []
    rows = [
        [system["system"], *(interval(one["ci95"], percent) for one in figures)]
        for system, figures in zip(systems, found, strict=True)
    ]
    return [Table("95 % intervals of these means, over items", ["system", *columns], rows)]
