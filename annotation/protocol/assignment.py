"""Who judges what: parts and experts by a design, planned before anybody starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

from annotation.protocol.chance import chance, fingerprint
from annotation.protocol.designs import DESIGNS, QUOTAS, by_quotas, check_design
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import Sentence, say, say_count
from annotation.protocol.text import fold_name

MAX_PARTS = 1_000  # that are asked for; each is a page of its own


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
    overlap: int | None = None  # so many units have one expert more than K

    @property
    def filled(self) -> tuple[PlanPart, ...]:
        """The parts that hold units: with fewer units than parts, some stay empty and are given to nobody."""
        return tuple(part for part in self.parts if part.unit_keys)

    @property
    def stays_empty(self) -> Sentence | None:
        """That parts hold nothing, where others hold units."""
        n_empty = len(self.parts) - len(self.filled)
        if not n_empty or not self.filled:
            return None
        return say_count(
            "{n} of the {parts} parts stays empty and is given to nobody, since there are fewer units than parts: ask "
            "for fewer parts.",
            "{n} of the {parts} parts stay empty and are given to nobody, since there are fewer units than parts: ask "
            "for fewer parts.",
            n=n_empty,
            parts=len(self.parts),
        )

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
            **({} if self.overlap is None else {"overlap": self.overlap}),
            **self.sample_json(),
        }

    def sample_json(self) -> dict[str, object]:
        """`{sample: {n, of, units}}` where there is one: it is kept with the design, for estimates."""
        if self.sample is None:
            return {}
        keys = list(self.sample.unit_keys)
        return {"sample": {"n": len(keys), "of": self.sample.of, "units": keys}}


_Dealt = tuple[tuple[int, ...], list[PlanUnit]]  # experts by index, slot 1 first, and their units


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
    drawn = sorted(range(len(keys)), key=lambda i: chance("sample", seed, keys[i]))[:n]
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
    quotas: Sequence[int] | None = None,
    overlap: int | None = None,
) -> Plan:
    """Deal units into parts and give each part to `k` experts.

    - `cyclic` (CKBP v2): a multiple of the number E of experts as parts, E by default; part *p* is judged by
      experts *p*, *p* − 1, … *p* − K + 1 (mod E), in this order of slots. Neighbours in the circle meet,
      others may not: with four experts and K = 2, four of the six pairs.
    - `pairs`: one part for every pair of experts, K = 2; every pair meets equally often.
    - `single`: K = 1; part *p* is judged by expert *p* (mod E), with at least E parts, E by default. With an
      `overlap` so many units, drawn by the seed, get a second expert: they make parts of their own, cyclic with two
      experts, and tell how far experts agree. The first expert's verdict stays the one that counts.
    - `quotas`: any K; everybody judges their share of `quotas`, weights in the order of experts. Units of the same
      experts make a part.

    But for quotas, parts differ by at most one unit (with fewer units than parts some are empty). Units are never
    torn. Which goes where depends on `seed` and the units' keys. With a `sample` only its units are dealt. A
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
    check_design(design)
    if parts is not None and parts > MAX_PARTS:
        raise ProtocolError(
            say(
                "{parts} parts are too many; ask for at most {most}.",
                parts=f"{parts:,}",
                most=f"{MAX_PARTS:,}",
            )
        )
    _check_experts(experts)
    _check_units(units)
    if sample is not None:
        units = [unit for unit in units if unit.key in sample]
    if design == QUOTAS:
        dealt = _dealt_by_quotas(units, experts=experts, quotas=quotas, k=k, parts=parts, seed=seed)
    else:
        _refuse_quotas(design, quotas)
        dealt = _dealt_with_overlap(
            units, design, n_experts=len(experts), k=k, parts=parts, overlap=overlap, seed=seed
        )
    planned = _parts(dealt, experts)
    return Plan(
        design=design,
        seed=seed,
        k=k,
        parts=planned,
        loads=_loads(planned, experts),
        pairs=_pairs(planned, experts),
        hash=_hash(
            design,
            experts=experts,
            units=units,
            k=k,
            seed=seed,
            n_parts=len(dealt),
            more={"quotas": quotas and list(quotas), "overlap": overlap},
        ),
        sample=sample,
        overlap=overlap,
    )


def _dealt_with_overlap(
    units: Sequence[PlanUnit],
    design: str,
    *,
    n_experts: int,
    k: int,
    parts: int | None,
    overlap: int | None,
    seed: int,
) -> list[_Dealt]:
    slots = DESIGNS[design](n_experts, k, parts)
    if overlap is None:
        return list(zip(slots, _dealt(units, len(slots), seed), strict=True))
    if design != "single":
        raise ProtocolError(
            say("An overlap is for the design single; with K = {k} every item has several experts.", k=k)
        )
    if not 1 <= overlap <= len(units):
        raise ProtocolError(
            say("{n} units cannot overlap: there are {of}. Ask for 1 to {of}.", n=overlap, of=len(units))
        )
    twice = DESIGNS["cyclic"](n_experts, 2, None)
    drawn = {unit.key for unit in sorted(units, key=lambda unit: chance("overlap", seed, unit.key))[:overlap]}
    once = [unit for unit in units if unit.key not in drawn]
    both = [unit for unit in units if unit.key in drawn]
    return [
        *zip(slots, _dealt(once, len(slots), seed), strict=True),
        *zip(twice, _dealt(both, len(twice), seed), strict=True),
    ]


def _dealt_by_quotas(
    units: Sequence[PlanUnit],
    *,
    experts: Sequence[str],
    quotas: Sequence[int] | None,
    k: int,
    parts: int | None,
    seed: int,
) -> list[_Dealt]:
    if quotas is None or len(quotas) != len(experts):
        raise ProtocolError(
            say(
                "The design quotas needs a share for each of the {n} experts, in their order.", n=len(experts)
            )
        )
    if parts is not None:
        raise ProtocolError(say("Parts follow from the shares here; leave their number out."))
    slots = by_quotas(quotas, k, len(units))
    shuffled = sorted(range(len(units)), key=lambda i: chance("part", seed, units[i].key))
    shares: dict[tuple[int, ...], list[int]] = {}
    for people, index in zip(slots, shuffled, strict=True):
        shares.setdefault(people, []).append(index)
    return [(people, [units[i] for i in sorted(share)]) for people, share in sorted(shares.items())]


def _refuse_quotas(design: str, quotas: Sequence[int] | None) -> None:
    if quotas is not None:
        raise ProtocolError(
            say("The design {design} gives everybody the same share; use the design quotas.", design=design)
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
    shuffled = sorted(range(len(units)), key=lambda i: chance("part", seed, units[i].key))
    size, larger = divmod(len(units), n_parts)
    shares: list[list[PlanUnit]] = []
    at = 0
    for index in range(n_parts):
        end = at + size + (index < larger)
        shares.append([units[i] for i in sorted(shuffled[at:end])])
        at = end
    return shares


def _parts(dealt: Sequence[_Dealt], experts: Sequence[str]) -> tuple[PlanPart, ...]:
    """Each share of the units with its experts."""
    return tuple(
        PlanPart(
            index=index,
            unit_keys=tuple(unit.key for unit in share),
            n_items=sum(unit.n_items for unit in share),
            experts=tuple(experts[i] for i in people),
        )
        for index, (people, share) in enumerate(dealt)
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
    design: str,
    *,
    experts: Sequence[str],
    units: Sequence[PlanUnit],
    k: int,
    seed: int,
    n_parts: int,
    more: Mapping[str, object],
) -> str:
    """What tells a plan from others: everything that it was made of."""
    given = {name: value for name, value in more.items() if value is not None}
    return fingerprint(
        {
            "design": {"name": design, "parts": n_parts, "k": k, **given},
            "seed": seed,
            "units": [unit.key for unit in units],
            "experts": list(experts),
        }
    )
