"""Splits: which units of a benchmark are for tuning (dev) and which for measuring (test), in parts of 1 to 4.

Units are dealt cell by cell (class, relation and label of a triple; the pattern of a compound), so that both
sides are made alike. Chance comes from SHA-256 of the seed and the keys, as in the designs: the same split on
every machine.

Source: Fang et al. 2023 (CKBP v2), "dev : test = 1 : 4 preserving label, relation and class"; the largest
remainder is Hamilton's method of apportionment.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say

DEV, TEST = "dev", "test"
ONE_IN = 5  # dev is a fifth

Cell = tuple[str, ...]


@dataclass(frozen=True)
class SplitUnit:
    """What is put on one side as a whole: a triple, or a compound.

    `cell` is what both sides are to hold alike; units of one `group` (identical triples, triples of one head)
    go to the same side where the rule keeps groups together.
    """

    key: str
    cell: Cell
    group: str


@dataclass(frozen=True)
class Split:
    """Each unit's side by its key, in the order given, and how the rule came to it.

    `wanted` is how many units the rule would have in dev; where groups are large, dev may hold fewer.
    """

    rule: str
    seed: int
    sides: Mapping[str, str]
    wanted: int

    @property
    def n_dev(self) -> int:
        return sum(side == DEV for side in self.sides.values())

    def as_json(self) -> dict[str, object]:
        """`{rule, seed, dev, test, wanted}`: sizes in units."""
        n_dev = self.n_dev
        return {
            "rule": self.rule,
            "seed": self.seed,
            "dev": n_dev,
            "test": len(self.sides) - n_dev,
            "wanted": self.wanted,
        }


@dataclass(frozen=True)
class Leakage:
    """What of test is known from dev: triples that stand on both sides, and test units whose head is in dev."""

    triples_on_both_sides: int
    test_triples_in_dev: int
    test_units: int
    test_units_with_head_in_dev: int

    def as_json(self) -> dict[str, int]:
        return {
            "triples_on_both_sides": self.triples_on_both_sides,
            "test_triples_in_dev": self.test_triples_in_dev,
            "test_units": self.test_units,
            "test_units_with_head_in_dev": self.test_units_with_head_in_dev,
        }


def split(units: Sequence[SplitUnit], *, rule: str = "default", seed: int) -> Split:
    """Deal units to dev and test.

    - `default`: a fifth of all units goes to dev, exactly (to the nearest whole number), spread over the cells
      by the largest remainder; units of one group stay together. With groups that are large or spread over many
      cells the nearest number that can be reached from below is taken, and `wanted` says what was aimed at.
    - `ckbp-released`: floor(20 %) of every cell goes to dev, groups or not, as in the released CKBP v2. On small
      sets it starves dev: a cell of four gives none.

    Raises ProtocolError for another rule, no units, or a key that stands twice.

    >>> units = [SplitUnit(f"t{i}", ("xWant", "1"), f"t{i}") for i in range(7)]
    >>> dealt = split(units, seed=1)
    >>> [key for key, side in dealt.sides.items() if side == "dev"], dealt.wanted
    (['t2'], 1)
    >>> split(units[:4], rule="ckbp-released", seed=1).n_dev
    0
    """
    if rule not in RULES:
        raise ProtocolError(
            say(
                "There is no rule “{rule}” for splits; the rules are {known}.",
                rule=rule,
                known=", ".join(RULES),
            )
        )
    if not units:
        raise ProtocolError(say("There is nothing to split."))
    repeated = [key for key, count in Counter(unit.key for unit in units).items() if count > 1]
    if repeated:
        raise ProtocolError(say("The unit “{key}” stands twice.", key=repeated[0]))
    in_dev, wanted = RULES[rule](units, seed)
    sides = {unit.key: DEV if unit.key in in_dev else TEST for unit in units}
    return Split(rule=rule, seed=seed, sides=sides, wanted=wanted)


def quotas(sizes: Mapping[Cell, int]) -> dict[Cell, int]:
    """How many units of each cell make a fifth of all: whole fifths first, the rest by largest remainder.

    Equal remainders go to the larger cell, then by the cell's name.

    >>> quotas({("a",): 7, ("b",): 2, ("c",): 1})
    {('a',): 2, ('b',): 0, ('c',): 0}
    """
    total = (2 * sum(sizes.values()) + ONE_IN) // (2 * ONE_IN)
    found = {cell: size // ONE_IN for cell, size in sizes.items()}
    order = sorted(sizes, key=lambda cell: (-(sizes[cell] % ONE_IN), -sizes[cell], cell))
    for cell in order[: total - sum(found.values())]:
        found[cell] += 1
    return found


def leakage(
    triples: Sequence[tuple[str, str, str]], sides: Sequence[str], *, dev: str = DEV, test: str = TEST
) -> Leakage:
    """What test shares with dev; it reports and refuses nothing.

    Arguments: (head, relation, tail) and the side of each triple, row by row. Texts are compared as they stand.

    >>> rows = [("it rains", "Causes", "mud"), ("it rains", "Causes", "mud"), ("it rains", "xWant", "tea")]
    >>> leakage(rows, ["dev", "test", "test"]).as_json()
    {'triples_on_both_sides': 1, 'test_triples_in_dev': 1, 'test_units': 2, 'test_units_with_head_in_dev': 2}
    """
    rows = list(zip(triples, sides, strict=True))
    known = {triple for triple, side in rows if side == dev}
    heads = {head for head, _relation, _tail in known}
    tested = [triple for triple, side in rows if side == test]
    shared = [triple for triple in tested if triple in known]
    return Leakage(
        triples_on_both_sides=len(set(shared)),
        test_triples_in_dev=len(shared),
        test_units=len(tested),
        test_units_with_head_in_dev=sum(head in heads for head, _relation, _tail in tested),
    )


def _released(units: Sequence[SplitUnit], seed: int) -> tuple[frozenset[str], int]:
    cells: dict[Cell, list[SplitUnit]] = defaultdict(list)
    for unit in units:
        cells[unit.cell].append(unit)
    chosen = frozenset(
        unit.key
        for members in cells.values()
        for unit in sorted(members, key=lambda unit: _chance(seed, unit.key))[: len(members) // ONE_IN]
    )
    return chosen, len(chosen)


@dataclass
class _Dealing:
    """Dev as it fills up: how many units each cell still wants."""

    wants: dict[Cell, int]
    room: int
    chosen: list[SplitUnit] = field(default_factory=list)

    def strain(self, members: Sequence[SplitUnit]) -> int:
        """By how much the squared distance from the quotas changes if these go to dev; below 0 it shrinks."""
        counts = Counter(unit.cell for unit in members)
        return sum(count * (count - 2 * self.wants[cell]) for cell, count in counts.items())

    def take(self, members: Sequence[SplitUnit]) -> None:
        self.chosen.extend(members)
        self.room -= len(members)
        for unit in members:
            self.wants[unit.cell] -= 1


def _largest_remainder(units: Sequence[SplitUnit], seed: int) -> tuple[frozenset[str], int]:
    """Groups in an order of chance: first all that bring dev nearer to its quotas, then what fills the room left
    with the least strain.
    """
    wants = quotas(Counter(unit.cell for unit in units))
    wanted = sum(wants.values())
    groups: dict[str, list[SplitUnit]] = defaultdict(list)
    for unit in units:
        groups[unit.group].append(unit)
    waiting = [groups[group] for group in sorted(groups, key=lambda group: _chance(seed, group))]
    dealing = _Dealing(wants, wanted)
    left = []
    for members in waiting:
        if len(members) <= dealing.room and dealing.strain(members) < 0:
            dealing.take(members)
        else:
            left.append(members)
    while fitting := [members for members in left if len(members) <= dealing.room]:
        best = min(fitting, key=dealing.strain)
        dealing.take(best)
        left = [members for members in fitting if members is not best]
    return frozenset(unit.key for unit in dealing.chosen), wanted


RULES: Mapping[str, Callable[[Sequence[SplitUnit], int], tuple[frozenset[str], int]]] = {
    "default": _largest_remainder,
    "ckbp-released": _released,
}


def _chance(seed: int, key: str) -> bytes:
    return hashlib.sha256(f"split\x1f{seed}\x1f{key}".encode()).digest()
