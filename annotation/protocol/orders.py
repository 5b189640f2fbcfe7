"""The order in which an expert meets units and contexts: drawn from the seed, different for everybody."""

from collections.abc import Sequence

from annotation.protocol.chance import chance


def unit_order(keys: Sequence[str], *, seed: int, expert: str, round_number: int = 1) -> list[int]:
    """The order in which one expert meets units: indices into `keys`, first screen first.

    It depends on nothing but its arguments, differs between experts and between rounds, and two keys keep
    their order whatever other keys there are.

    >>> unit_order(["u1", "u2", "u3", "u4"], seed=1, expert="lin")
    [3, 0, 1, 2]
    """
    return sorted(range(len(keys)), key=lambda i: chance("unit", seed, round_number, expert, keys[i]))


def run_order(
    groups: Sequence[str], order: Sequence[int], *, length: int, seed: int, expert: str
) -> list[int]:
    """The same units in runs of one group: `order` is any order of them, `groups` the group of each unit.

    A group of *n* units is cut into runs of `length` or a little more or less, all within one unit of each
    other; the runs come in an order of chance of the expert's own, the units of a run as `order` has them.
    Judging about twenty triples of one relation in a row saves turning from one question to another.

    >>> run_order(["xWant", "oWant", "xWant", "oWant"], [3, 2, 1, 0], length=2, seed=1, expert="lin")
    [3, 1, 2, 0]
    """
    by_group: dict[str, list[int]] = {}
    for index in order:
        by_group.setdefault(groups[index], []).append(index)
    runs: list[tuple[bytes, list[int]]] = []
    for group, members in by_group.items():
        n_runs = max(1, round(len(members) / length))
        for number in range(n_runs):
            start, end = number * len(members) // n_runs, (number + 1) * len(members) // n_runs
            runs.append((chance("run", seed, expert, group, number), members[start:end]))
    return [index for _of_run, members in sorted(runs) for index in members]


def context_order(n: int, *, seed: int, expert: str, unit_key: str, round_number: int = 1) -> list[int]:
    """The order in which one expert sees the `n` contexts of one unit: indices of contexts, top row first.

    >>> context_order(5, seed=1, expert="lin", unit_key="u1")
    [2, 3, 1, 4, 0]
    """
    return sorted(range(n), key=lambda i: chance("context", seed, round_number, expert, unit_key, i))
