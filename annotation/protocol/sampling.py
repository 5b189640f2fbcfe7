"""Samples in strata: so many units of each relation, pattern, or expert and part, drawn by a seed.

Chance comes from SHA-256 of the seed and the keys, not from a generator: the same seed draws the same units on every
platform and every Python version.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.protocol.chance import chance
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say


@dataclass(frozen=True)
class Stratum:
    """One stratum: how many units there were to draw from, and how many were drawn."""

    name: str
    available: int
    drawn: int

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "available": self.available, "drawn": self.drawn}


@dataclass(frozen=True)
class StratifiedSample:
    """The keys drawn, in the order they were given in, and every stratum by name."""

    keys: tuple[str, ...]
    strata: tuple[Stratum, ...]

    @property
    def available(self) -> int:
        return sum(stratum.available for stratum in self.strata)


def stratified_sample(
    keys: Sequence[str], strata: Sequence[str], n: int, *, minimum: int = 0, seed: int
) -> StratifiedSample:
    """`n` of the keys, of each stratum as many as `allocation` says, in a stratum each set as likely as any other.

    Arguments: one key and the name of its stratum for each unit, row by row; `n` and `minimum` as in `allocation`.
    A ProtocolError says what would work where `n` cannot be had or a key stands twice.

    >>> drawn = stratified_sample(["a", "b", "c", "d"], ["xWant", "xWant", "xWant", "oWant"], 2, minimum=1, seed=1)
    >>> drawn.keys
    ('c', 'd')
    >>> [(stratum.name, stratum.available, stratum.drawn) for stratum in drawn.strata]
    [('oWant', 1, 1), ('xWant', 3, 1)]
    """
    rows = list(zip(keys, strata, strict=True))
    _check_keys(keys)
    sizes = Counter(strata)
    drawn = allocation(sizes, n, minimum=minimum)
    left = dict(drawn)
    chosen = set()
    for key, stratum in sorted(rows, key=lambda row: chance("stratified", seed, row[0])):
        if left[stratum]:
            left[stratum] -= 1
            chosen.add(key)
    return StratifiedSample(
        keys=tuple(key for key in keys if key in chosen),
        strata=tuple(Stratum(name, sizes[name], drawn[name]) for name in sorted(sizes)),
    )


def allocation(sizes: Mapping[str, int], n: int, *, minimum: int = 0) -> dict[str, int]:
    """How many of `n` come from each stratum: `n` in all, exactly.

    Every stratum gets `minimum`, or all it holds where that is fewer. Who would get more by their size get their share
    of what is left, rounded by the largest remainder (Hamilton's method: whole shares first, then one each by the size
    of the fraction cut off; of equals the larger stratum, then the first by name).

    Source of the method: Cochran, Sampling Techniques (1977), 5.5 (proportional allocation).

    >>> allocation({"xWant": 70, "xNeed": 25, "oReact": 5}, 10)
    {'xWant': 7, 'xNeed': 3, 'oReact': 0}
    >>> allocation({"xWant": 70, "xNeed": 25, "oReact": 5}, 10, minimum=1)
    {'xWant': 7, 'xNeed': 2, 'oReact': 1}
    """
    total = sum(sizes.values())
    if minimum < 0:
        raise ProtocolError(say("A stratum cannot give fewer than none: ask for a minimum of 0 or more."))
    if not total:
        raise ProtocolError(say("There is nothing to draw from."))
    floors = {name: min(minimum, size) for name, size in sizes.items()}
    least = max(1, sum(floors.values()))
    if not least <= n <= total:
        raise ProtocolError(_cannot(n, least=least, total=total, n_strata=len(sizes), minimum=minimum))
    # Who is owed less than the minimum gets it, which leaves less for the others: so until nobody falls below.
    shared = dict(sizes)
    while True:
        rest, of = n - sum(floors[name] for name in sizes if name not in shared), sum(shared.values())
        below = [name for name, size in shared.items() if rest * size < floors[name] * of]
        if not below:
            break
        for name in below:
            del shared[name]
    found = {name: rest * shared[name] // of if name in shared else floors[name] for name in sizes}
    order = sorted(shared, key=lambda name: (-(rest * shared[name] % of), -shared[name], name))
    for name in order[: n - sum(found.values())]:
        found[name] += 1
    return found


def _cannot(n: int, *, least: int, total: int, n_strata: int, minimum: int) -> str:
    if n > total:
        return say("A sample of {n} cannot be drawn from {of} units: ask for {least} to {of}.",
                   n=n, of=total, least=least)  # fmt: skip
    if n < 1:
        return say("A sample holds 1 unit or more; {n} were asked for.", n=n)
    return say(
        "A sample of {n} is too small for {minimum} of each of the {n_strata} strata: ask for {least} to {of}.",
        n=n,
        minimum=minimum,
        n_strata=n_strata,
        least=least,
        of=total,
    )


def _check_keys(keys: Sequence[str]) -> None:
    twice = next((key for key, times in Counter(keys).items() if times > 1), None)
    if twice is not None:
        raise ProtocolError(say("The unit “{key}” is listed twice; a unit is drawn once.", key=twice))
