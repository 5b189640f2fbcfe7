"""From a report's document to plain rows for programs: one header, full precision, null where undefined.

Tables for people stand in `reports`; here nothing is rounded and no cell holds two values.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]
Record = dict[str, Any]


def records(kind: str, document: Document) -> list[Record]:
    """The report's figures, one row each; every row has the same columns."""
    match kind:
        case "error-rates":
            rows = list(_error_rates(document))
        case "agreement":
            rows = list(_agreement(document))
        case "artifacts":
            rows = [dict(word) for word in document["words"]]
        case "comparison":
            rows = list(_comparison(document))
        case "bleu":
            chrf = {f"chrf_{name}": document["chrf"][name] for name in ("score", "signature")}
            rows = [{name: value for name, value in {**document, **chrf}.items() if _is_plain(value)}]
        case "estimate":
            rows = [
                {
                    "rate": rate,
                    "judge": document["judge"],
                    **{name: value for name, value in document[rate].items() if _is_plain(value)},
                    **_bounds("ci95", document[rate]["ci95"]),
                }
                for rate in ("instance", "aggregate")
            ]
        case "plan":
            assumed = {f"assumed_{name}": value for name, value in document.get("assumed", {}).items()}
            rows = [{name: value for name, value in {**document, **assumed}.items() if _is_plain(value)}]
        case "compound-check":
            rows = [{name: value for name, value in document.items() if _is_plain(value)}]
        case _:
            rows = [
                {name: value for name, value in row.items() if _is_plain(value)} for row in document["rows"]
            ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _bounds(name: str, bounds: list[float] | None) -> Record:
    low, high = bounds or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _error_rates(document: Document) -> Iterator[Record]:
    tables = {"": {"": document}, **document["by"]}
    for by, groups in tables.items():
        for group, rates in groups.items():
            for rate in ("instance", "aggregate", "all_contexts_wrong"):
                found = rates[rate]
                yield {
                    "by": by or "all",
                    "group": group or "all",
                    "rate": rate,
                    "n": found["n"],
                    "errors": found["errors"],
                    "percent": found["percent"],
                    **_bounds("ci95", found["ci95"]),
                    "ci95_method": found.get("ci95_method"),
                    "undecided": found.get("undecided"),
                    **_bounds("bounds", found.get("bounds")),
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
        yield {"table": "system", **plain, "values": " ".join(str(value) for value in found["values"])}
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
    for row in document["heat_map"]["rows"]:
        for system, share in zip(document["heat_map"]["systems"], row["percent"], strict=True):
            yield {"table": "compound", "name": system, "compound": row["compound"], "mean": share}
    parted = document["differing"] or {"instances": ()}
    for one in parted["instances"]:
        yield {"table": "instance", "a": parted["a"], "b": parted["b"], **one}


def _differences(found: Sequence[Document]) -> Iterator[Record]:
    for one in found:
        plain = {name: value for name, value in one.items() if _is_plain(value)}
        yield {"table": "difference", **plain, **_bounds("ci95", one["ci95"])}


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
