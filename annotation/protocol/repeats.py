"""Hidden repeats: which judged units an expert is given again, and where among the units still to come.

A unit that comes again soon is remembered, and one that can be told from new ones is judged with care it would not get
otherwise. So a repeat comes a fair distance after its original, in a later sitting, and never among the screens that
the expert's page may hold already. Chance comes from SHA-256 of the seed and the unit's key.

How the two judgements of one person are compared: `scoring.stats.consistency`.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.protocol.chance import chance
from annotation.protocol.sampling import stratified_sample

DISTANCE = 200  # units between a judgement and its repeat, at least
AHEAD = 100  # screens that a page may hold before they are judged: nothing is put among them


@dataclass(frozen=True)
class Original:
    """A unit that an expert has judged: `since` is how many they judged after it."""

    key: str
    group: str  # its relation or type: repeats are drawn from all of them
    since: int


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
    able = [one for one in originals if _first_place(one, places, distance, ahead) < len(places)]
    wanted = min(n, len(able))
    if wanted < 1:
        return ()
    drawn = set(
        stratified_sample([one.key for one in able], [one.group for one in able], wanted, seed=seed).keys
    )
    found = []
    for one in able:
        if one.key in drawn:
            first = _first_place(one, places, distance, ahead)
            drawn_at = int.from_bytes(chance("repeat", seed, one.key), "big")
            found.append((places[first + drawn_at % (len(places) - first)], drawn_at, one.key))
    return tuple(Repeat(key, before) for before, _drawn_at, key in sorted(found))


def wanted_of(answered: int, *, percent: float) -> int:
    """How many repeats a share of the judged units comes to: rounded half up, and one at least.

    >>> [wanted_of(answered, percent=5) for answered in (0, 5, 50, 70)]
    [0, 1, 3, 4]
    """
    return max(1, int(answered * percent / 100 + 0.5)) if answered else 0


def _first_place(one: Original, places: Sequence[int], distance: int, ahead: int) -> int:
    return bisect_left(places, max(ahead, distance - one.since))
