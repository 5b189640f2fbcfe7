"""A table as text, and how its figures are rounded."""

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


def p_shown(value: float | None) -> str:
    """A p-value with four decimals; one that would be 0.0000 as < 0.0001, a dash where there is none."""
    if value is None:
        return "–"
    return "< 0.0001" if value < 0.00005 else f"{value:.4f}"


def interval(bounds: Sequence[float] | None, shown: Callable[[float | None], str]) -> str:
    """An interval, or a dash."""
    return "–" if bounds is None else f"{shown(bounds[0])} – {shown(bounds[1])}"


def spread(found: Document | None) -> str:
    """A mean over runs with its standard deviation, where there are several runs; a dash for what was not scored."""
    if found is None:
        return "–"
    return percent(found["mean"]) + ("" if found["sd"] is None else f" ± {percent(found['sd'])}")


def over_runs(counts: Sequence[int] | None) -> str:
    """How many there are in each run: one number where it is the same in all."""
    if not counts:
        return "–"
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} – {high:,}"


DIFFERENCE = ("a", "b", "n", "a %", "b %", "difference", "95 % interval", "p", "p (Holm)")


def difference_cells(one: Document) -> list[str]:
    """A paired difference of two systems under the columns `DIFFERENCE`."""
    return [
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


def why(figures: Iterable[Document], name: str = "reason") -> list[str]:
    """The reasons of the figures that are undefined, each once."""
    return list(dict.fromkeys(figure[name] for figure in figures if figure.get(name)))


def warnings(figures: Iterable[Document]) -> list[str]:
    """What is to be kept in mind about figures, each once."""
    return why(figures, "warning")


def reasons(figures: Sequence[Document]) -> list[str]:
    """Why values, intervals and p-values are not there, each reason once."""
    names = ("reason", "ci95_reason", "p_reason")
    return list(dict.fromkeys(reason for name in names for reason in why(figures, name)))
