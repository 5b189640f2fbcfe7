"""The worked examples in the docstrings of the rules are run as they stand."""

import doctest
from types import ModuleType

import pytest

from annotation.protocol import (
    assignment,
    base,
    compound,
    definition,
    display,
    diversity,
    evaluation_set,
    labels,
    location,
    slips,
    splits,
    text,
    triple,
)

MODULES = [
    assignment,
    base,
    compound,
    definition,
    display,
    diversity,
    evaluation_set,
    labels,
    location,
    slips,
    splits,
    text,
    triple,
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def test_it_gives_what_its_docstrings_show(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
