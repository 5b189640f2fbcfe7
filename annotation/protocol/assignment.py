"""Who judges what: designs of parts and experts, planned before anybody starts; and the order on each screen.

Chance comes from SHA-256 of the seed and the keys, not from a generator: the same seed gives the same plan on
every platform and every Python version, and a unit that is added later moves no other unit.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_name


@dataclass(frozen=True)
class PlanUnit:
    """What is never torn apart: a compound with all its items, or a triple."""

    key: str
    n_items: int


@dataclass(frozen=True)
class PlanPart:
    """A share of the units, in campaign order, and its experts in slot order (slot 1 first)."""

    index: int
    unit_keys: tuple[str, ...]
    n_items: int
    experts: tuple[str, ...]


@dataclass(frozen=True)
class PlanPair:
    """Two experts who judge the same parts, and how many items that makes."""

    a: str
    b: str
    n_items: int


@dataclass(frozen=True)
class Sample:
    """The units drawn at random, in campaign order, and how many there were to draw from."""

    unit_keys: tuple[str, ...]
    of: int

    def __contains__(self, key: str) -> bool:
        return key in self._drawn

    @cached_property
    def _drawn(self) -> frozenset[str]:
        return frozenset(self.unit_keys)


@dataclass(frozen=True)
class Plan:
    """A design worked out. `loads` are items per expert; `pairs` lists only experts who meet in a part. `sample` says
    that the units are what is still to be given out of a random sample.

    `hash` is the SHA-256 of the canonical JSON (sorted keys, no spaces, UTF-8) of design (name, parts, K),
    seed, unit keys in campaign order and experts as named: equal hashes are equal plans.
    """

    design: str
    seed: int
    k: int
    parts: tuple[PlanPart, ...]
    loads: Mapping[str, int]
    pairs: tuple[PlanPair, ...]
    hash: str
    sample: Sample | None = None

    def as_json(self) -> dict[str, object]:
        """What `assign_parts --json` prints."""
        return {
            "design": self.design,
            "seed": self.seed,
            "parts": [
                {
                    "index": part.index,
                    "n_units": len(part.unit_keys),
                    "n_items": part.n_items,
                    "experts": list(part.experts),
                }
                for part in self.parts
            ],
            "loads": dict(self.loads),
            "pairs": [{"a": pair.a, "b": pair.b, "n_items": pair.n_items} for pair in self.pairs],
            "hash": self.hash,
            **self.sample_json(),
        }

    def sample_json(self) -> dict[str, object]:
        """`{sample: {n, of, units}}` where there is one: it is kept with the design, for estimates."""
        if self.sample is None:
            return {}
        keys = list(self.sample.unit_keys)
        return {"sample": {"n": len(keys), "of": self.sample.of, "units": keys}}


def draw_sample(keys: Sequence[str], n: int, *, seed: int) -> Sample:
    """`n` of the units by the seed, each set of `n` as likely as any other; in the order given.

    A larger sample by the same seed holds the smaller one. A ProtocolError says what would work where `n` is below 1
    or above the number of units, or a key stands twice.

    >>> draw_sample(["u1", "u2", "u3", "u4"], 2, seed=1).unit_keys
    ('u2', 'u4')
    """
    if not 1 <= n <= len(keys):
        raise ProtocolError(
            say("A sample of {n} cannot be drawn from {of} units: ask for 1 to {of}.", n=n, of=len(keys))
        )
    _check_units([PlanUnit(key, 1) for key in keys])
    drawn = sorted(range(len(keys)), key=lambda i: _chance("sample", seed, keys[i]))[:n]
    return Sample(tuple(keys[i] for i in sorted(drawn)), len(keys))


def plan(
    design: str,
    *,
    experts: Sequence[str],
    units: Sequence[PlanUnit],
    k: int,
    seed: int,
    parts: int | None = None,
    sample: Sample | None = None,
) -> Plan:
    """Deal units into parts and give each part to `k` experts.

    - `cyclic` (CKBP v2): a multiple of the number E of experts as parts, E by default; part *p* is judged by
      experts *p*, *p* − 1, … *p* − K + 1 (mod E), in this order of slots. Neighbours in the circle meet,
      others may not: with four experts and K = 2, four of the six pairs.
    - `pairs`: one part for every pair of experts, K = 2; every pair meets equally often.
    - `single`: K = 1; part *p* is judged by expert *p* (mod E), with at least E parts, E by default.

    Parts differ by at most one unit (with fewer units than parts some are empty), and hold whole units. Which
    unit goes where depends on `seed` and the units' keys. With a `sample` only its units are dealt. A
    ProtocolError says what would work instead where the design is unknown, parts, `k` and experts do not fit
    together, a unit key stands twice, or one person is named twice, even in two spellings: names are compared
    NFKC and without case.

    >>> units = [PlanUnit(f"t{i}", 1) for i in range(10)]
    >>> worked_out = plan("cyclic", experts=["a", "b", "c", "d"], units=units, k=2, seed=1)
    >>> [(part.experts, part.n_items) for part in worked_out.parts]
    [(('a', 'd'), 3), (('b', 'a'), 3), (('c', 'b'), 2), (('d', 'c'), 2)]
    >>> [(pair.a, pair.b, pair.n_items) for pair in worked_out.pairs]
    [('a', 'b', 3), ('a', 'd', 3), ('b', 'c', 2), ('c', 'd', 2)]
    """
    _check_design(design)
    _check_experts(experts)
    _check_units(units)
    slots = _DESIGNS[design](len(experts), k, parts)
    if sample is not None:
        units = [unit for unit in units if unit.key in sample]
    planned = _parts(_dealt(units, len(slots), seed), slots, experts)
    return Plan(
        design=design,
        seed=seed,
        k=k,
        parts=planned,
        loads=_loads(planned, experts),
        pairs=_pairs(planned, experts),
        hash=_hash(design, experts=experts, units=units, k=k, seed=seed, n_parts=len(slots)),
        sample=sample,
    )


def unit_order(keys: Sequence[str], *, seed: int, expert: str, round_number: int = 1) -> list[int]:
    """The order in which one expert meets units: indices into `keys`, first screen first.

    It depends on nothing but its arguments, differs between experts and between rounds, and two keys keep
    their order whatever other keys there are.

    >>> unit_order(["u1", "u2", "u3", "u4"], seed=1, expert="lin")
    [3, 0, 1, 2]
    """
    return sorted(range(len(keys)), key=lambda i: _chance("unit", seed, round_number, expert, keys[i]))


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
            runs.append((_chance("run", seed, expert, group, number), members[start:end]))
    return [index for _chance_of_run, members in sorted(runs) for index in members]


def context_order(n: int, *, seed: int, expert: str, unit_key: str, round_number: int = 1) -> list[int]:
    """The order in which one expert sees the `n` contexts of one unit: indices of contexts, top row first.

    >>> context_order(5, seed=1, expert="lin", unit_key="u1")
    [2, 3, 1, 4, 0]
    """
    return sorted(range(n), key=lambda i: _chance("context", seed, round_number, expert, unit_key, i))


_Slots = list[tuple[int, ...]]  # for each part its experts by index, slot 1 first


def _cyclic(n_experts: int, k: int, parts: int | None) -> _Slots:
    if not 1 <= k <= n_experts:
        raise ProtocolError(
            say(
                "A cyclic design gives each item to K different experts, and K = {k} does not fit the "
                "{n_experts} named: name at least {least}, or set K between 1 and {n_experts}.",
                k=k,
                n_experts=n_experts,
                least=max(k, 1),
            )
        )
    n_parts = n_experts if parts is None else parts
    if n_parts < 1 or n_parts % n_experts:
        below = n_parts // n_experts * n_experts
        possible = (
            say("{below} or {above}", below=below, above=below + n_experts) if below > 0 else str(n_experts)
        )
        raise ProtocolError(
            say(
                "A cyclic design needs a multiple of its number of experts as parts, and {n_parts} is "
                "no multiple of {n_experts}: ask for {possible} parts.",
                n_parts=n_parts,
                n_experts=n_experts,
                possible=possible,
            )
        )
    return [tuple((p - slot) % n_experts for slot in range(k)) for p in range(n_parts)]


def _pairs_of_experts(n_experts: int, k: int, parts: int | None) -> _Slots:
    if k != 2:
        raise ProtocolError(
            say(
                "The design pairs gives each item to two experts, and here K = {k}: use the design cyclic.",
                k=k,
            )
        )
    if n_experts < 2:
        raise ProtocolError(say("The design pairs needs at least two experts; name another one."))
    pairs = list(combinations(range(n_experts), 2))
    if parts not in (None, len(pairs)):
        raise ProtocolError(
            say(
                "The design pairs has one part per pair of experts: {n_pairs} parts for {n_experts} "
                "experts, not {parts}. Leave the number of parts out.",
                n_pairs=len(pairs),
                n_experts=n_experts,
                parts=parts,
            )
        )
    # Turned round where the distance is even, so that nobody always stands in the first slot.
    return [(a, b) if (b - a) % 2 else (b, a) for a, b in pairs]


def _single(n_experts: int, k: int, parts: int | None) -> _Slots:
    if k != 1:
        raise ProtocolError(
            say(
                "The design single gives each item to one expert, and here K = {k}: use cyclic or pairs.", k=k
            )
        )
    n_parts = n_experts if parts is None else parts
    if n_parts < n_experts:
        raise ProtocolError(
            say(
                "{n_parts} parts leave some of the {n_experts} experts without work: ask for "
                "{n_experts} parts or more, or name fewer experts.",
                n_parts=n_parts,
                n_experts=n_experts,
            )
        )
    return [(p % n_experts,) for p in range(n_parts)]


_DESIGNS: Mapping[str, Callable[[int, int, int | None], _Slots]] = MappingProxyType(
    {"cyclic": _cyclic, "pairs": _pairs_of_experts, "single": _single}
)
DESIGN_NAMES = tuple(_DESIGNS)


def _check_design(design: str) -> None:
    if design not in _DESIGNS:
        raise ProtocolError(
            say(
                "There is no design “{design}”; the designs are {designs}.",
                design=design,
                designs=", ".join(DESIGN_NAMES),
            )
        )


def _check_experts(experts: Sequence[str]) -> None:
    if not experts:
        raise ProtocolError(say("Name at least one expert."))
    seen: dict[str, str] = {}
    for name in experts:
        folded = fold_name(name)
        if not folded:
            raise ProtocolError(
                say("The name of one expert is empty; name each of them, with commas between.")
            )
        if folded in seen:
            raise ProtocolError(_same_person(seen[folded], name))
        seen[folded] = name


def _same_person(first: str, second: str) -> str:
    if first == second:
        return say(
            "The expert “{first}” is named twice; an item needs different people: name each one once.",
            first=first,
        )
    return say(
        "“{first}” and “{second}” are one person, as names are compared without regard to case and "
        "width; an item needs different people: name each one once.",
        first=first,
        second=second,
    )


def _check_units(units: Sequence[PlanUnit]) -> None:
    seen: set[str] = set()
    for unit in units:
        if unit.key in seen:
            raise ProtocolError(
                say("The unit “{key}” is listed twice; a unit goes into one part only.", key=unit.key)
            )
        seen.add(unit.key)


def _dealt(units: Sequence[PlanUnit], n_parts: int, seed: int) -> list[list[PlanUnit]]:
    """The units shuffled and cut into parts, the first ones larger by one; each part in campaign order."""
    shuffled = sorted(range(len(units)), key=lambda i: _chance("part", seed, units[i].key))
    size, larger = divmod(len(units), n_parts)
    shares: list[list[PlanUnit]] = []
    at = 0
    for index in range(n_parts):
        end = at + size + (index < larger)
        shares.append([units[i] for i in sorted(shuffled[at:end])])
        at = end
    return shares


def _parts(
    shares: Sequence[Sequence[PlanUnit]], slots: _Slots, experts: Sequence[str]
) -> tuple[PlanPart, ...]:
    """Each share of the units with its experts."""
    return tuple(
        PlanPart(
            index=index,
            unit_keys=tuple(unit.key for unit in share),
            n_items=sum(unit.n_items for unit in share),
            experts=tuple(experts[i] for i in people),
        )
        for index, (share, people) in enumerate(zip(shares, slots, strict=True))
    )


def _loads(parts: Sequence[PlanPart], experts: Sequence[str]) -> Mapping[str, int]:
    loads = {expert: sum(part.n_items for part in parts if expert in part.experts) for expert in experts}
    return MappingProxyType(loads)


def _pairs(parts: Sequence[PlanPart], experts: Sequence[str]) -> tuple[PlanPair, ...]:
    shared: dict[tuple[str, str], int] = {}
    for part in parts:
        for pair in combinations(sorted(part.experts, key=experts.index), 2):
            shared[pair] = shared.get(pair, 0) + part.n_items
    in_order = sorted(shared, key=lambda pair: (experts.index(pair[0]), experts.index(pair[1])))
    return tuple(PlanPair(a=a, b=b, n_items=shared[a, b]) for a, b in in_order)


def _hash(
    design: str, *, experts: Sequence[str], units: Sequence[PlanUnit], k: int, seed: int, n_parts: int
) -> str:
    """What tells a plan from others: everything that it was made of."""
    identity = {
        "design": {"name": design, "parts": n_parts, "k": k},
        "seed": seed,
        "units": [unit.key for unit in units],
        "experts": list(experts),
    }
    return hashlib.sha256(_canonical(identity)).hexdigest()


def _chance(*of: str | int) -> bytes:
    return hashlib.sha256(_canonical(of)).digest()


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
