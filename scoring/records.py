"""From a report's document to plain rows for programs: one header, full precision, null where undefined.

Tables for people stand in `reports`; here nothing is rounded and no cell holds two values.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scoring.reports.error_rates import NOT_GIVEN, tables_of

Document = Mapping[str, Any]
Record = dict[str, Any]


def records(kind: str, document: Document) -> list[Record]:
    """The report's figures, one row each; every row has the same columns."""
    rows = list(_ROWS.get(kind, _of_rows)(document))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]


def _flat(found: Document) -> Record:
    """What is plain of it, and intervals as two columns each."""
    flat: Record = {}
    for name, value in found.items():
        if name.endswith("ci95"):
            flat |= _bounds(name, value)
        elif _is_plain(value):
            flat[name] = value
    return flat


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _bounds(name: str, bounds: list[float] | None) -> Record:
    low, high = bounds or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _error_rates(document: Document) -> Iterator[Record]:
    tables = {"": {"": document}, **tables_of(document)}
    for by, groups in tables.items():
        for group, rates in groups.items():
            for rate in ("instance", "aggregate", "all_contexts_wrong"):
                found = rates[rate]
                yield {
                    "by": by or "all",
                    "group": group or (NOT_GIVEN if by else "all"),
                    "rate": rate,
                    "n": found["n"],
                    "errors": found["errors"],
                    "percent": found["percent"],
                    **_bounds("ci95", found["ci95"]),
                    "ci95_method": found.get("ci95_method"),
                    "undecided": found.get("undecided"),
                    **_bounds("bounds", found.get("bounds")),
                    "undecided_instances": rates["undecided_instances"],
                    "cannot_judge": rates["cannot_judge"],
                    **({"carried": rates["carried"]} if "carried" in rates else {}),
                    "reason": found.get("reason"),
                }
    corrected = document["noise_corrected"] or {"by_model": {}}
    for model, found in corrected["by_model"].items():
        for rate in ("instance", "aggregate"):
            yield {
                "by": "all",
                "group": "all",
                "rate": f"{rate}, noise-corrected ({model})",
                "n": corrected["compounds"],
                "percent": found[rate]["percent"],
                **_bounds("ci95", found[rate]["ci95"]),
                "reason": found.get("reason"),
            }


def _comparison(document: Document) -> Iterator[Record]:
    for found in document["systems"]:
        plain = {name: value for name, value in found.items() if _is_plain(value)}
        of_runs = {name: found[name] for name in ("values", "labelled", "undecided") if name in found}
        joined = {name: " ".join(str(value) for value in values) for name, values in of_runs.items()}
        yield {"table": "system", **plain, **joined}
    for made in (document["texts"] or {}).values() if "reason" not in (document["texts"] or {}) else ():
        for system in made["systems"]:
            yield {
                "table": "system",
                "name": system["name"],
                "measure": made["metric"],
                "n": made["n"],
                "mean": system["score"],
                **_bounds("ci95", system["ci95"]),
            }
        yield from _differences(made["differences"])
    yield from _differences(document["differences"])
    yield from _differences((document["pair"] or {"differences": ()})["differences"], table="pair")
    for name, one in _shifts(document["judging"]["shift"]):
        yield {
            "table": "shift",
            "name": name,
            "n": one["n"],
            "difference": one["difference"],
            **_bounds("ci95", one["ci95"]),
        }
    for name, one in _carried(document["judging"].get("carry_over")):
        yield {
            "table": "carry-over",
            "name": name,
            "n": one["differs"]["n"],
            "mean": one["differs"]["percent"],
            "difference": one["excess"],
            **_bounds("ci95", one["ci95"]),
        }
    for row in document["heat_map"]["rows"]:
        for system, share in zip(document["heat_map"]["systems"], row["percent"], strict=True):
            yield {"table": "compound", "name": system, "compound": row["compound"], "mean": share}
    parted = document["differing"] or {"instances": ()}
    for one in parted["instances"]:
        yield {"table": "instance", "a": parted["a"], "b": parted["b"], **one}


def _shifts(shift: Document | None) -> Iterator[tuple[str, Document]]:
    """All experts together, and each."""
    if shift:
        yield "all", shift["pooled"]
        yield from shift["by_person"].items()


def _carried(found: Document | None) -> Iterator[tuple[str, Document]]:
    """All experts together, and each."""
    if found:
        yield "all", found["pooled"]
        yield from found["by_person"].items()


def _differences(
    found: Sequence[Document], *, table: str = "difference", group: str | None = None
) -> Iterator[Record]:
    of_group = {} if group is None else {"group": group}
    for one in found:
        plain = {name: value for name, value in one.items() if _is_plain(value)}
        yield {"table": table, **of_group, **plain, **_bounds("ci95", one["ci95"])}


def _predictions(document: Document) -> Iterator[Record]:
    for group in document["groups"]:
        for found in group["systems"]:
            plain = {name: value for name, value in found.items() if _is_plain(value)}
            values = " ".join(str(value) for value in found["values"])
            yield {"table": "system", "group": group["group"], **plain, "values": values}
        yield from _differences(group["differences"], group=group["group"])
    for group in (document["pair"] or {"groups": ()})["groups"]:
        yield from _differences(group["differences"], table="pair", group=group["group"])
    parted = document["differing"] or {"triples": ()}
    for one in parted["triples"]:
        yield {"table": "triple", "a": parted["a"], "b": parted["b"], **one}


def _statistics(document: Document) -> Iterator[Record]:
    yield from map(_flat, document["rows"])
    if "derived" in document:
        for row in document["derived"]["rows"]:
            yield {**_flat(row), "by": f"derived {row['by']}"}
        for one in document["derived"]["crossings"]:
            yield {
                "by": "stored by derived class",
                "value": f"{one['stored'] or 'none'} → {one['derived']}",
                "n": one["n"],
                "plausible": one["plausible"],
            }


def _agreement(document: Document) -> Iterator[Record]:
    yield from _coefficients("all", "all", document)
    for pair in document["pairs"]:
        yield from _coefficients("pair", "all", pair, a=pair["a"], b=pair["b"])
    for by, groups in document["by"].items():
        for group, report in groups.items():
            yield from _coefficients(by, group, report)
    yield from _coefficients("all", "mean over pairs", {"coefficients": document["mean_over_pairs"]})
    for label, found in document["specific_agreement"].items():
        yield from _coefficients("label", label, {"coefficients": {"specific": found}})
    if "coefficients" in document.get("after_resolution", {}):
        yield from _coefficients("after resolution", "all", document["after_resolution"])
    if "self_consistency" in document:
        again = document["self_consistency"]
        yield from _coefficients("self-consistency", "all", again["overall"])
        for name, report in again["by_person"].items():
            yield from _coefficients("self-consistency", name, report)


def _coefficients(
    by: str, group: str, report: Document, *, a: str | None = None, b: str | None = None
) -> Iterator[Record]:
    for name, found in report["coefficients"].items():
        yield {
            "by": by,
            "group": group,
            "a": a,
            "b": b,
            "coefficient": name,
            "value": found["value"],
            **_bounds("ci95", found["ci95"]),
            "ci95_method": found.get("ci95_method"),
            "n": found["n"],
            "reason": found["reason"],
        }


def _of_rows(document: Document) -> Iterator[Record]:
    return map(_flat, document["rows"])


def _artifacts(document: Document) -> Iterator[Record]:
    return map(dict, document["words"])


def _compared(document: Document) -> Iterator[Record]:
    return _predictions(document) if "groups" in document else _comparison(document)


def _bleu(document: Document) -> Iterator[Record]:
    chrf = {f"chrf_{name}": document["chrf"].get(name) for name in ("score", "ci95", "signature")}
    named = " / ".join(file["name"] for file in document.get("files", ()))
    yield _flat({**document, **({"files": named} if named else {}), **chrf})


def _estimate(document: Document) -> Iterator[Record]:
    for rate in ("instance", "aggregate"):
        yield {"rate": rate, "judge": document["judge"], **_flat(document[rate])}


def _score(document: Document) -> Iterator[Record]:
    told = {name: document[name] for name in ("system", "run", "split", "threshold")}
    return (told | _flat(row) for row in document["rows"])


def _score_of_translations(document: Document) -> Iterator[Record]:
    told = {name: document[name] for name in ("system", "run")}
    return (told | {"metric": name} | _flat(document[name]) for name in ("bleu", "chrf"))


def _precision_recall(document: Document) -> Iterator[Record]:
    return ({"run": document["title"], **point} for point in document["points"])


def _reliability(document: Document) -> Iterator[Record]:
    return ({"run": document["title"], **_flat(one)} for one in document["bins"])


def _plan(document: Document) -> Iterator[Record]:
    assumed = {f"assumed_{name}": value for name, value in document.get("assumed", {}).items()}
    sources = {f"source_{name}": value for name, value in document.get("sources", {}).items()}
    yield _flat({**document, **assumed, **sources})


def _spot_check(document: Document) -> Iterator[Record]:
    """The whole, each stratum, each expert, and each expert's parts."""
    yield {"expert": None, "experts": None, "part": None, **_counted(document)}
    for one in document["strata"]:
        yield {"experts": "+".join(one["experts"]), "part": one["part"], **_counted(one)}
    for one in document["experts"]:
        yield {"expert": one["expert"], **_counted(one)}
        for part in one["parts"]:
            yield {"expert": one["expert"], "part": part["part"], **_counted(part)}


def _gold(document: Document) -> Iterator[Record]:
    return (_flat(one) for one in document["experts"])


def _counted(found: Document) -> Record:
    names = ("size", "checked", "errors", "percent", "ci95", "ci95_method", "reason")
    return _flat({name: found.get(name) for name in names})


def _methods(document: Document) -> Iterator[Record]:
    for language, sentences in document["sentences"].items():
        for number, sentence in enumerate(sentences, start=1):
            yield {"language": language, "number": number, "sentence": sentence}


def _what_if(document: Document) -> Iterator[Record]:
    for name in ("kept", "flipped", "gained", "lost", "without"):
        yield {"table": "labels", "name": name, "n": document[name]}
    between = document["between"]
    for figure in ("percent", "kappa"):
        yield {"table": "between", "figure": figure, "n": between["n"], "after": between[figure]}
    for one in document["table"]:
        yield {"table": "states", "name": f"{one['from']} → {one['to']}", "n": one["n"]}
    for row in document["experts"]:
        yield {"table": "expert", "name": row["expert"], **_moved(row, "percent", "ci95")}
    yield from _moved_rates(document) if "rates" in document else _moved_scores(document)
    for name, one in (document["to"]["model"] or {"experts": {}})["experts"].items():
        told = {"n": one["n"], "after": one["value"], "reason": one.get("reason")}
        yield {"table": "competence", "name": name, **told}


def _moved_rates(document: Document) -> Iterator[Record]:
    for run in document["rates"]:
        for rate in ("instance", "aggregate", "all_contexts_wrong"):
            named = {"table": "rates", "name": run["system"], "run": run["run"], "figure": rate}
            yield {**named, **_moved(run[rate], "percent", "ci95")}


def _moved_scores(document: Document) -> Iterator[Record]:
    yield {"table": "plausible", "name": "all", **_moved(document["plausible"], "percent", "ci95")}
    human = {"system": "human", "run": None, "split": "all", **document["human"]}
    for run in (human, *document["submissions"]):
        for figure, difference in run["difference"].items():
            named = {"name": run["system"], "run": run["run"], "split": run["split"], "figure": figure}
            moved = _moved({**run, "difference": difference}, figure, f"{figure}_ci95")
            yield {"table": "scores", **named, **moved}


def _moved(moved: Document, figure: str, bounds: str) -> Record:
    """A figure before and after, their intervals and the difference."""
    before, after = moved["before"], moved["after"]
    return {
        "n": after["n"],
        "n_before": before["n"],
        "before": before[figure],
        **_bounds("before_ci95", before.get(bounds)),
        "after": after[figure],
        **_bounds("after_ci95", after.get(bounds)),
        "difference": moved["difference"],
        "reason": before.get("reason") or after.get("reason"),
    }


def _compound_check(document: Document) -> Iterator[Record]:
    yield _flat({**document, **document["cells"]})


_OF_A_DIFFERENCE = (
    "measure", "a", "b", "unit", "n", "value_a", "value_b", "difference", "ci95", "ci95_method", "p", "p_holm",
    "reason", "ci95_reason", "p_reason",
)  # fmt: skip


def _downstream(document: Document) -> Iterator[Record]:
    """Every system's figures over all questions, then by group, then the differences.

    The order of columns is written out: a kept document has lost that of its members.
    """
    whole: list[tuple[str, int, Document]] = [("all", document["n"], one) for one in document["systems"]]
    whole += [(group["group"], group["n"], one) for group in document["groups"] for one in group["systems"]]
    for group, n, one in whole:
        for measure in document["measures"]:
            named = {"table": "system", "group": group, "questions": n}
            yield {**named, **_of_system(one), "measure": measure, **_figure(one["figures"][measure])}
    yield from _compared_systems(document, group="all")


def _downstream_accuracies(document: Document) -> Iterator[Record]:
    """Every system's accuracy on each benchmark and the mean over them, then the differences of these means."""
    names = [one["name"] for one in document["benchmarks"]]
    for one in document["systems"]:
        for name, found in [*((name, one["benchmarks"][name]) for name in names), ("mean", one["mean"])]:
            if found is not None:
                yield {"table": "system", "benchmark": name, **_of_system(one), **_figure(found)}
    yield from _compared_systems(document, benchmark="mean")


def _of_system(found: Document) -> Record:
    return {"system": found["system"], "human": int(found["human"])}


def _figure(found: Document) -> Record:
    bounds = _bounds("ci95", found["ci95"])
    return {
        "mean": found["mean"],
        "sd": found["sd"],
        "runs": found["n"],
        **bounds,
        "reason": found.get("reason"),
    }


def _compared_systems(document: Document, **named: str) -> Iterator[Record]:
    for one in document["differences"]:
        yield {"table": "difference", **named, **_flat({name: one.get(name) for name in _OF_A_DIFFERENCE})}


_ROWS: Mapping[str, Callable[[Document], Iterator[Record]]] = {
    "error-rates": _error_rates,
    "agreement": _agreement,
    "artifacts": _artifacts,
    "comparison": _compared,
    "bleu": _bleu,
    "estimate": _estimate,
    "score": _score,
    "score-translations": _score_of_translations,
    "precision-recall": _precision_recall,
    "reliability": _reliability,
    "statistics": _statistics,
    "plan": _plan,
    "spot-check": _spot_check,
    "gold": _gold,
    "methods": _methods,
    "compound-check": _compound_check,
    "what-if": _what_if,
    "downstream": _downstream,
    "downstream-accuracies": _downstream_accuracies,
}


def as_csv(kind: str, document: Document) -> str:
    """The rows under one header; an undefined figure is an empty cell."""
    rows = records(kind, document)
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def as_jsonl(kind: str, document: Document) -> str:
    """A row as one object."""
    return "".join(
        json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in records(kind, document)
    )
