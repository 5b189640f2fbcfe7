"""One cell that names every system of an item, as a release writes it: “a/seed1; b”.

A slash stands before the run, a semicolon with a blank between two systems. Within a name `/`, `;` and `%` stand as
`%2F`, `%3B` and `%25`; nothing else does, so that an older cell reads as it did, unless a name in it holds one of these
three.
"""

import re
from collections.abc import Iterable, Iterator

_WRITTEN = {"%": "%25", "/": "%2F", ";": "%3B"}
_READ = {written: mark for mark, written in _WRITTEN.items()}
_MARKS = re.compile("[%/;]")
_ESCAPES = re.compile("%(?:25|2F|3B)")


def systems_cell(systems: Iterable[tuple[str, str]]) -> str:
    """The cell of systems with their runs, in one order whatever a database makes of names.

    >>> systems_cell([("facebook/nllb-200", ""), ("a; b", "seed 1")])
    'a%3B b/seed 1; facebook%2Fnllb-200'
    """
    names = [f"{_escaped(system)}/{_escaped(run)}" if run else _escaped(system) for system, run in systems]
    return "; ".join(sorted(names))


def systems_in(cell: str) -> Iterator[tuple[str, str]]:
    """System and run of each; "" where it has no name.

    >>> list(systems_in("a%3B b/seed 1; facebook%2Fnllb-200; base; 100%"))
    [('a; b', 'seed 1'), ('facebook/nllb-200', ''), ('base', ''), ('100%', '')]
    """
    for named in cell.split("; "):
        system, _slash, run = named.partition("/")
        yield _plain(system), _plain(run)


def _escaped(name: str) -> str:
    return _MARKS.sub(lambda found: _WRITTEN[found[0]], name)


def _plain(name: str) -> str:
    return _ESCAPES.sub(lambda found: _READ[found[0]], name)
