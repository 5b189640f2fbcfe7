"""Moving open units from one expert to others: for who leaves, who is slow, who comes later.

Nothing that was answered moves, no unit is torn, nobody gets a unit that they were ever given before, and the units
keep their k different experts. Work is spread evenly over those who take it, and among equals to whom it brings the
pairs of experts closest to each other in shared items: agreement wants every pair about equally often.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.protocol.chance import fingerprint
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_name

Pair = tuple[str, str]


@dataclass(frozen=True)
class OpenUnit:
    """A unit that one expert has not begun. `others` judge it too; `barred` were given it once, these included."""

    key: str
    n_items: int
    others: tuple[str, ...]
    barred: frozenset[str]


@dataclass(frozen=True)
class Move:
    """A unit and who takes it."""

    key: str
    to: str


@dataclass(frozen=True)
class Moves:
    """What would move. `stuck` are units that none of those named may take; `loads` are items of each expert named, the
    leaving one's too, and `pairs` items shared by two people, both as they will stand. `repeats` are the giver's units
    that were to come a second time: nobody else can judge them again, so they are withdrawn.

    `hash` is the SHA-256 of the canonical JSON of who gives, who takes, every move, and the repeats if there are any.
    """

    giver: str
    takers: tuple[str, ...]
    moves: tuple[Move, ...]
    stuck: tuple[str, ...]
    loads: Mapping[str, int]
    pairs: Mapping[Pair, int]
    hash: str
    repeats: int = 0

    def as_json(self) -> dict[str, object]:
        """What is shown before anything is stored, and kept with the round afterwards."""
        return {
            "from": self.giver,
            "to": {taker: sum(move.to == taker for move in self.moves) for taker in self.takers},
            "units": len(self.moves),
            "stuck": len(self.stuck),
            "repeats_withdrawn": self.repeats,
            "loads": dict(self.loads),
            "pairs": [{"a": a, "b": b, "n_items": n} for (a, b), n in sorted(self.pairs.items())],
            "hash": self.hash,
        }


def plan_moves(
    units: Sequence[OpenUnit],
    *,
    giver: str,
    takers: Sequence[str],
    loads: Mapping[str, int],
    pairs: Mapping[Pair, int],
    n: int | None = None,
    repeats: int = 0,
) -> Moves:
    """Who takes which of `giver`'s open units.

    Args:
        units: in the order in which they come up for `giver`; with `n`, the last `n` move, which are the furthest
            from being judged.
        takers: whom to give them to, in an order that decides between equals.
        loads: items that each expert has, answered and open, by name; who is missing has none.
        pairs: items that two people share, by their names in alphabetical order.
        repeats: units that `giver` still had to judge again, and that end with the leaving. Where units are stuck,
            nobody leaves.

    Raises:
        ProtocolError: nobody is named as taker though there are units, somebody twice, or the giver; `n` is out of
            range.

    >>> unit = lambda key, *others: OpenUnit(key, 1, others, frozenset(others))
    >>> found = plan_moves([unit("t1", "bo"), unit("t2", "chen")], giver="ada", takers=["bo", "chen"],
    ...                    loads={"ada": 2, "bo": 1, "chen": 1}, pairs={("ada", "bo"): 1, ("ada", "chen"): 1})
    >>> [(move.key, move.to) for move in found.moves]
    [('t1', 'chen'), ('t2', 'bo')]
    >>> found.loads["ada"], found.pairs
    (0, {('bo', 'chen'): 2})
    """
    _check_takers(giver, takers, needed=bool(units))
    if n is not None and not 1 <= n <= len(units):
        raise ProtocolError(
            say("{n} units cannot be moved: {of} are open. Ask for 1 to {of}.", n=n, of=len(units))
        )
    chosen = units if n is None else units[len(units) - n :]
    load, shared = Counter(loads), Counter(pairs)
    moves: list[Move] = []
    stuck: list[str] = []
    # Units that few may take come first, or the others would use up whom they need.
    for unit in sorted(chosen, key=lambda one: sum(taker not in one.barred for taker in takers)):
        free = [taker for taker in takers if taker not in unit.barred]
        if not free:
            stuck.append(unit.key)
            continue
        taker = _least_burdened(free, unit, load, shared)
        moves.append(Move(unit.key, taker))
        _count_over(unit, giver, taker, load, shared)
    if stuck:
        repeats = 0
    place = {unit.key: number for number, unit in enumerate(units)}
    moves.sort(key=lambda move: place[move.key])
    return Moves(
        giver=giver,
        takers=tuple(takers),
        moves=tuple(moves),
        stuck=tuple(sorted(stuck, key=place.__getitem__)),
        loads={name: load[name] for name in (giver, *takers)},
        pairs={pair: items for pair, items in sorted(shared.items()) if items},
        hash=_hash(giver, takers, moves, repeats),
        repeats=repeats,
    )


def _check_takers(giver: str, takers: Sequence[str], *, needed: bool) -> None:
    if needed and not takers:
        raise ProtocolError(say("Name at least one expert who takes the units."))
    folded = [fold_name(name) for name in takers]
    if len(set(folded)) != len(folded):
        raise ProtocolError(say("An expert is named twice; name each one once."))
    if fold_name(giver) in folded:
        raise ProtocolError(say("Whose units move cannot take them; name other experts."))


def _least_burdened(
    free: Sequence[str], unit: OpenUnit, load: Mapping[str, int], shared: Mapping[Pair, int]
) -> str:
    """Who has the fewest items, and of these who shares the fewest with the unit's other experts."""
    return min(free, key=lambda one: (load[one], sum(shared[_pair(one, other)] for other in unit.others)))


def _count_over(unit: OpenUnit, giver: str, taker: str, load: Counter[str], shared: Counter[Pair]) -> None:
    """Count a unit's items for who takes it, no longer for who gave it."""
    load[giver] -= unit.n_items
    load[taker] += unit.n_items
    for other in unit.others:
        shared[_pair(giver, other)] -= unit.n_items
        shared[_pair(taker, other)] += unit.n_items


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


def _hash(giver: str, takers: Sequence[str], moves: Sequence[Move], repeats: int) -> str:
    identity = {"from": giver, "takers": list(takers), "moves": [[move.key, move.to] for move in moves]}
    return fingerprint(identity | ({"repeats": repeats} if repeats else {}))
