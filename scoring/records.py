"""From a report's document to plain rows for programs: one header, full precision, null where undefined.

Tables for people stand in `reports`; here nothing is rounded and no cell holds two values.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
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
        case "bleu" | "compound-check":
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


def _agreement(document: Document) -> Iterator[Record]:
    yield from _coefficients("all", "all", document)
    for pair in document["pairs"]:
        yield from _coefficients("pair", "all", pair, a=pair["a"], b=pair["b"])
    for by, groups in document["by"].items():
        for group, report in groups.items():
            yield from _coefficients(by, group, report)


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
