"""The items behind a number of a report, by the report's kind.

They are chosen by the functions that counted them, so that list and number are equal. Each kind costs a fixed number of
queries, and no long list of items travels to the database.
"""

from collections.abc import Callable, Mapping

from annotation.models import Campaign
from scoring.services.behind.agreement import behind_agreement
from scoring.services.behind.compounds import behind_bleu, behind_rates
from scoring.services.behind.labels import behind_what_if
from scoring.services.behind.number import Behind, Number
from scoring.services.behind.triples import behind_artifacts, behind_human, behind_statistics
from scoring.services.options import Options

__all__ = ["BEHIND", "Behind", "Number", "items_behind"]

BEHIND: Mapping[str, Callable[[Campaign, Options, Number], Behind]] = {
    "error-rates": behind_rates,
    "bleu": behind_bleu,
    "agreement": behind_agreement,
    "statistics": behind_statistics,
    "human": behind_human,
    "artifacts": behind_artifacts,
    "what-if": behind_what_if,
}


def items_behind(campaign: Campaign, kind: str, options: Options, number: Number) -> Behind:
    """The items that this number counts; Refused, with what there is, where there is no such number."""
    return BEHIND[kind](campaign, options, number)
