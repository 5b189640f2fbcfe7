"""The worked examples in the docstrings of the error rates, scores and tables run as they stand."""

import doctest
from types import ModuleType

import pytest

from scoring.stats import (
    agreement_groups,
    artifacts,
    bleu,
    breakdowns,
    classification,
    composition,
    compound_check,
    consistency,
    curves,
    difference_estimate,
    error_rates,
    groups,
    noise,
    paired_predictions,
    paired_texts,
    planning,
    proportions,
    significance,
    spot_checks,
    systems,
)

MODULES = [
    agreement_groups,
    artifacts,
    bleu,
    breakdowns,
    classification,
    composition,
    compound_check,
    consistency,
    curves,
    difference_estimate,
    error_rates,
    groups,
    noise,
    paired_predictions,
    paired_texts,
    planning,
    proportions,
    significance,
    spot_checks,
    systems,
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def test_it_gives_what_its_docstrings_show(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
