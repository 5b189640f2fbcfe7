"""Which tables a document has, by its kind."""

from collections.abc import Callable, Mapping

from scoring.reports.agreement import agreement
from scoring.reports.checks import compound_check, estimate
from scoring.reports.downstream import accuracies, downstream
from scoring.reports.error_rates import error_rates
from scoring.reports.gold import gold
from scoring.reports.plan import plan
from scoring.reports.predictions import predictions
from scoring.reports.spot_check import spot_check
from scoring.reports.systems import bleu, comparison, leaderboard, translations
from scoring.reports.table import Document, Table
from scoring.reports.triples import artifacts, classification, statistics
from scoring.reports.what_if import what_if

TABLES: Mapping[str, Callable[[Document], list[Table]]] = {
    "error-rates": error_rates,
    "agreement": agreement,
    "statistics": statistics,
    "human": classification,
    "score": classification,
    "score-translations": translations,
    "artifacts": artifacts,
    "bleu": bleu,
    "comparison": lambda found: predictions(found) if "groups" in found else comparison(found),
    "compound-check": compound_check,
    "estimate": estimate,
    "plan": plan,
    "spot-check": spot_check,
    "gold": gold,
    "leaderboard": leaderboard,
    "what-if": what_if,
    "downstream": downstream,
    "downstream-accuracies": accuracies,
}


def tables(kind: str, document: Document) -> list[Table]:
    """The tables of a report."""
    return TABLES[kind](document)
