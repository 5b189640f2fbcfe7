"""The worked examples in the docstrings of the statistics run as they stand."""

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

from scoring import stats

# Parts of `agreement`, which has the examples.
WITHOUT = {"agreement_figures", "agreement_report", "agreement_views"}
MODULES = sorted({module.name for module in iter_modules(stats.__path__)} - WITHOUT)


@pytest.mark.parametrize("name", MODULES)
def test_it_gives_what_its_docstrings_show(name: str) -> None:
    result = doctest.testmod(import_module(f"scoring.stats.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
