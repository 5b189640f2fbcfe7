"""Hidden repeats: which judged units an expert is given again, and where among the units still to come.

A unit that comes again soon is remembered, and one that can be told from new ones is judged with care it would not get
otherwise. So a repeat comes a fair distance after its original, in a later sitting, and never among the screens that
the expert's page may hold already. Chance comes from SHA-256 of the seed and the unit's key.

How the two judgements of one person are compared: `scoring.stats.consistency`.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from annotation.protocol.chance import chance
from annotation.protocol.sampling import stratified_sample

DISTANCE = 200  # units between a judgement and its repeat, at least
AHEAD = 100  # screens that a page may hold before they are judged: nothing is put among them


@dataclass(frozen=True)
class Original:
    """A unit that an expert has judged: `since` is how many they judged after it. `places` are those that it may have
    where these are not all.
    """

    key: str
    group: str  # its relation or type: repeats are drawn from all of them
    since: int
    places: Sequence[int] | None = None


@dataclass(frozen=True)
class Repeat:
    """An original that comes again, in front of the open screen of this index."""

    key: str
    before: int


def place_repeats(
    originals: Sequence[Original],
    places: Sequence[int],
    *,
    n: int,
    seed: int,
    distance: int = DISTANCE,
    ahead: int = AHEAD,
) -> tuple[Repeat, ...]:
    """Up to `n` of the originals, drawn in proportion to their groups, each at a place drawn from all it may have.

    Args:
        originals: what may be repeated, each key once.
        places: indices of open screens in front of which a repeat may stand, ascending; 0 is the next screen.
        n: how many are wanted. There are fewer where only fewer can come late enough.

    Returns:
        In the order in which they come up.

    >>> place_repeats([Original("u1", "xWant", 150), Original("u2", "xWant", 3)], range(120), n=2, seed=1)
    (Repeat(key='u1', before=119),)
    """
    able = [one for one in originals if _places(one, places, distance, ahead)]
    wanted = min(n, len(able))
    if wanted < 1:
        return ()
    drawn = set(
        stratified_sample([one.key for one in able], [one.group for one in able], wanted, seed=seed).keys
    )
    found = []
    for one in able:
        if one.key in drawn:
            free = _places(one, places, distance, ahead)
            drawn_at = int.from_bytes(chance("repeat", seed, one.key), "big")
            found.append((free[drawn_at % len(free)], drawn_at, one.key))
    return tuple(Repeat(key, before) for before, _drawn_at, key in sorted(found))


def wanted_of(answered: int, *, percent: float) -> int:
    """How many repeats a share of the judged units comes to: rounded half up, and one at least.

    >>> [wanted_of(answered, percent=5) for answered in (0, 5, 50, 70)]
    [0, 1, 3, 4]
    """
    return max(1, int(answered * percent / 100 + 0.5)) if answered else 0


def _places(one: Original, places: Sequence[int], distance: int, ahead: int) -> Sequence[int]:
    able = places if one.places is None else one.places
    return able[bisect_left(able, max(ahead, distance - one.since)) :]


def rows_to_repeat(
    contexts: Sequence[Hashable], shape: Sequence[int], *, seed: int, key: str
) -> tuple[int, ...]:
    """Which rows of a judged screen come again among new screens that hold fewer: otherwise their number would tell.

    Args:
        contexts: the context of each row.
        shape: how many rows each context of a new screen has.

    Returns:
        Indices of rows, ascending: of as many contexts as `shape` has, and as many of each, all drawn by the seed.
        Fewer where the screen holds no more.

    >>> rows_to_repeat(["c1", "c1", "c2", "c3", "c3", "c3"], [1, 2], seed=1, key="u1")
    (2, 3, 5)
    """
    rows: dict[Hashable, list[int]] = defaultdict(list)
    for row, context in enumerate(contexts):
        rows[context].append(row)
    free = sorted(rows.values(), key=lambda one: chance("context again", seed, key, one[0]))
    drawn: list[int] = []
    for n in sorted(shape, reverse=True):
        if not free:
            break
        one = next((found for found in free if len(found) >= n), None) or max(free, key=len)
        free.remove(one)
        drawn += sorted(one, key=lambda row: chance("row again", seed, key, row))[:n]
    return tuple(sorted(drawn))
