"""Splits: which units of a benchmark are for tuning (dev) and which for measuring (test), in parts of 1 to 4.

Units are dealt cell by cell (class, relation and label of a triple; type and pattern of a compound), so that both
sides are made alike. What a cell names first is kept most strictly: every class (type) has its fifth in dev, however
small its cells are. Chance comes from SHA-256 of the seed and the keys, as in the designs: the same split on every
machine.

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

    `cell` is what both sides are to hold alike, what matters most first; units of one `group` (identical triples,
    triples of one head) go to the same side where the rule keeps groups together.
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

    - `default`: a fifth of all units goes to dev, exactly (to the nearest whole number), spread by `quotas` over
      the classes and then over the cells; units of one group stay together. With groups that are large or spread
      over many cells the nearest number that can be reached from below is taken, and `wanted` says what was aimed
      at.
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


def quotas(sizes: Mapping[Cell, int], *, seed: int) -> dict[Cell, int]:
    """How many units of each cell make a fifth of all.

    Classes (what cells name first) come first: whole fifths, then one more each by the largest remainder. Within a
    class its cells get whole fifths, and the units that are left go one by one to the cells where they bring the
    other strata (each further name over all classes) and the cell itself nearest to a fifth. So every class and
    every cell is less than one unit away from its fifth. Ties are drawn by the seed, never by name.

    >>> quotas({("a",): 7, ("b",): 2, ("c",): 1}, seed=1)
    {('a',): 1, ('b',): 1, ('c',): 0}
    >>> small = {("x", "Causes"): 4, ("x", "xWant"): 4, ("y", "Causes"): 1, ("y", "xWant"): 1}
    >>> quotas(small, seed=1)
    {('x', 'Causes'): 1, ('x', 'xWant'): 1, ('y', 'Causes'): 0, ('y', 'xWant'): 0}
    """
    of_class: Counter[str] = Counter()
    for cell, size in sizes.items():
        of_class[_class(cell)] += size
    left = _largest_remainders(of_class, seed)
    found = {cell: size // ONE_IN for cell, size in sizes.items()}
    short: Counter[tuple[int, str]] = (
        Counter()
    )  # by how many fifths of a unit each stratum is below its fifth
    for cell, size in sizes.items():
        left[_class(cell)] -= found[cell]
        for stratum in _strata(cell):
            short[stratum] += size % ONE_IN
    open_cells = {cell for cell, size in sizes.items() if size % ONE_IN}
    while wanting := [cell for cell in open_cells if left[_class(cell)]]:
        best = max(
            wanting,
            key=lambda cell: (
                sum(short[stratum] for stratum in _strata(cell)) + sizes[cell] % ONE_IN,
                sizes[cell] % ONE_IN,
                _chance(seed, "\x1f".join(cell)),
            ),
        )
        found[best] += 1
        left[_class(best)] -= 1
        open_cells.remove(best)
        for stratum in _strata(best):
            short[stratum] -= ONE_IN
    return found


def _largest_remainders(sizes: Mapping[str, int], seed: int) -> dict[str, int]:
    total = (2 * sum(sizes.values()) + ONE_IN) // (2 * ONE_IN)
    found = {name: size // ONE_IN for name, size in sizes.items()}
    order = sorted(sizes, key=lambda name: (-(sizes[name] % ONE_IN), _chance(seed, name)))
    for name in order[: total - sum(found.values())]:
        found[name] += 1
    return found


def _class(cell: Cell) -> str:
    return cell[0]


def _strata(cell: Cell) -> list[tuple[int, str]]:
    """What a cell names besides its class, each by its place: a relation, a label."""
    return list(enumerate(cell))[1:]


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
    """Dev as it fills up: how many units each cell and each class still wants."""

    wants: dict[Cell, int]
    of_class: Counter[str]
    room: int
    chosen: list[SplitUnit] = field(default_factory=list)

    def strain(self, members: Sequence[SplitUnit]) -> int:
        """By how much the squared distance from the quotas changes if these go to dev; below 0 it shrinks."""
        counts = Counter(unit.cell for unit in members)
        return sum(count * (count - 2 * self.wants[cell]) for cell, count in counts.items())

    def too_many(self, members: Sequence[SplitUnit]) -> int:
        """How many units more than their classes want these are."""
        counts = Counter(_class(unit.cell) for unit in members)
        return sum(max(0, count - max(0, self.of_class[name])) for name, count in counts.items())

    def take(self, members: Sequence[SplitUnit]) -> None:
        self.chosen.extend(members)
        self.room -= len(members)
        for unit in members:
            self.wants[unit.cell] -= 1
            self.of_class[_class(unit.cell)] -= 1


def _largest_remainder(units: Sequence[SplitUnit], seed: int) -> tuple[frozenset[str], int]:
    """Groups in an order of chance: first all that bring dev nearer to its quotas, then what fills the room left,
    with as few units beyond a class's quota and then as little strain as can be.
    """
    wants = quotas(Counter(unit.cell for unit in units), seed=seed)
    wanted = sum(wants.values())
    of_class: Counter[str] = Counter()
    for cell, n in wants.items():
        of_class[_class(cell)] += n
    groups: dict[str, list[SplitUnit]] = defaultdict(list)
    for unit in units:
        groups[unit.group].append(unit)
    waiting = [groups[group] for group in sorted(groups, key=lambda group: _chance(seed, group))]
    dealing = _Dealing(wants, of_class, wanted)
    left = []
    for members in waiting:
        fits = len(members) <= dealing.room and not dealing.too_many(members)
        if fits and dealing.strain(members) < 0:
            dealing.take(members)
        else:
            left.append(members)
    while fitting := [members for members in left if len(members) <= dealing.room]:
        best = min(fitting, key=lambda members: (dealing.too_many(members), dealing.strain(members)))
        dealing.take(best)
        left = [members for members in fitting if members is not best]
    return frozenset(unit.key for unit in dealing.chosen), wanted


RULES: Mapping[str, Callable[[Sequence[SplitUnit], int], tuple[frozenset[str], int]]] = {
    "default": _largest_remainder,
    "ckbp-released": _released,
}


def _chance(seed: int, key: str) -> bytes:
    return hashlib.sha256(f"split\x1f{seed}\x1f{key}".encode()).digest()
