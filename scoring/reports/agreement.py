"""Tables of the experts' agreement."""

from collections.abc import Mapping

from scoring.reports.table import Document, Table, coefficient, interval, p_shown, warnings, why

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
OF_PAIRS = ("raw", "cohen", "cohen_linear", "cohen_quadratic")
OF_GROUPS = ("raw", "contrast", "alpha_nominal", "alpha_ordinal", "gwet_ac1")
OF_ONE_PERSON = ("raw", "cohen")
TWO_NEEDED = "Agreement needs two people who judged the same items; so far one person or nobody has judged."


def agreement(document: Document) -> list[Table]:
    """Overall, by pair, by label and by group; with fewer than two people the labels only."""
    if len(document["raters"]) < 2:
        reason = f"{TWO_NEEDED} ({document['coefficients']['raw']['reason']})"
        return [Table("Agreement", [], [], [reason]), _labels(document)]
    return [
        _overall(document),
        _pairs(document),
        _means(document),
        _labels(document),
        _specific(document),
        *(_by(name, groups) for name, groups in document["by"].items()),
        *_after_resolution(document),
        *_self_consistency(document),
    ]


def _after_resolution(document: Document) -> list[Table]:
    after = document.get("after_resolution", {})
    if "coefficients" not in after:
        return []
    note = (
        f"Items judged again: {after['judged_again']}; answers changed: {after['changed']}; items that wait for an "
        f"expert and are left out: {after['waiting']}. Descriptive, so without intervals."
    )
    rows = [
        [COEFFICIENTS[name], coefficient(found["value"]), str(found["n"]), found["reason"] or ""]
        for name, found in after["coefficients"].items()
    ]
    columns = ("coefficient", "value", "n", "why undefined")
    return [Table("After resolution", columns, rows, remarks=[note])]


def _overall(document: Document) -> Table:
    rows = [
        [
            COEFFICIENTS[name],
            coefficient(found["value"]),
            interval(found["ci95"], coefficient),
            str(found["n"]),
            found["reason"] or "",
        ]
        for name, found in document["coefficients"].items()
    ]
    remarks = []
    if document.get("exposed"):
        remarks = [
            f"Left out, since they were talked about in a dry run before: {document['exposed']} items."
        ]
    remarks += document.get("warnings", [])
    columns = ("coefficient", "value", "95 % interval", "n", "why undefined")
    return Table("Agreement", columns, rows, remarks=remarks)


def _pairs(document: Document) -> Table:
    rows = [
        [f"{pair['a']} – {pair['b']}", str(pair["n"])]
        + [coefficient(pair["coefficients"][name]["value"]) for name in OF_PAIRS]
        for pair in document["pairs"]
    ]
    figures = (pair["coefficients"][name] for pair in document["pairs"] for name in OF_PAIRS)
    columns = ["pair", "n", *(COEFFICIENTS[name] for name in OF_PAIRS)]
    return Table("Pairs of experts", columns, rows, why(figures))


def _means(document: Document) -> Table:
    means = document["mean_over_pairs"]
    rows = [
        [COEFFICIENTS[name], coefficient(mean["value"]), f"{mean['n_pairs']} of {mean['of_pairs']}"]
        for name, mean in means.items()
    ]
    columns = ["coefficient", "value", "pairs"]
    return Table("Plain means over pairs of experts", columns, rows, why(means.values()))


def _labels(document: Document) -> Table:
    rows = [[label, str(count)] for label, count in document["distribution"].items()]
    return Table("How often each label was given", ["label", "judgements"], rows)


def _specific(document: Document) -> Table:
    found = document["specific_agreement"]
    rows = [
        [label, coefficient(one["value"]), interval(one["ci95"], coefficient), str(one["n"])]
        for label, one in found.items()
    ]
    columns = ["label", "agreement", "95 % interval", "n"]
    return Table("Specific agreement on each label", columns, rows, why(found.values()))


def _by(name: str, groups: Mapping[str, Document]) -> Table:
    rows = [
        [_group(name, value), str(found["n_items"])]
        + [coefficient(found["coefficients"][one]["value"]) for one in OF_GROUPS]
        for value, found in groups.items()
    ]
    figures = [found["coefficients"][one] for found in groups.values() for one in OF_GROUPS]
    columns = [name, "items", *(COEFFICIENTS[one] for one in OF_GROUPS)]
    return Table(f"Agreement by {name}", columns, rows, [*why(figures), *warnings(figures)])


def _group(name: str, value: str) -> str:
    """People count parts from 1, documents from 0."""
    return str(int(value) + 1) if name == "part" and value.isdecimal() else value


def _self_consistency(document: Document) -> list[Table]:
    if "self_consistency" not in document:
        return []
    found = document["self_consistency"]
    people = {"all": found["overall"], **found["by_person"]}
    moves = {"all": found["shift"], **found["shift_by_person"]}
    rows = [
        [
            name,
            str(moves[name]["n"]),
            *(coefficient(one["coefficients"][figure]["value"]) for figure in OF_ONE_PERSON),
            str(moves[name]["up"]),
            str(moves[name]["down"]),
            p_shown(moves[name]["p"]),
        ]
        for name, one in people.items()
    ]
    names = [COEFFICIENTS[figure] for figure in OF_ONE_PERSON]
    columns = ["expert", "judged twice", *names, "up", "down", "p (sign test)"]
    figures = (one["coefficients"][figure] for one in people.values() for figure in OF_ONE_PERSON)
    return [Table("Self-consistency", columns, rows, why(figures))]
