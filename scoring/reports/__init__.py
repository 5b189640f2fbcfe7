"""From a report's document to tables for people: Markdown, LaTeX (booktabs).

Rounding happens here and nowhere else. A value that is undefined shows why, in a note under the table.
"""

from scoring.reports.kinds import tables
from scoring.reports.table import (
    Table,
    coefficient,
    interval,
    over_runs,
    p_shown,
    percent,
    reasons,
    warnings,
    why,
)
from scoring.reports.writers import as_latex, as_markdown

__all__ = [
    "Table",
    "as_latex",
    "as_markdown",
    "coefficient",
    "interval",
    "over_runs",
    "p_shown",
    "percent",
    "reasons",
    "tables",
    "warnings",
    "why",
]
