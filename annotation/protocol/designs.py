"""Designs: for each part its experts. What they ask of K, of the number of experts and of parts stands with each."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say

Slots = list[tuple[int, ...]]  # for each part its experts by index, slot 1 first


def _cyclic(n_experts: int, k: int, parts: int | None) -> Slots:
    if not 1 <= k <= n_experts:
        raise ProtocolError(
            say(
                "A cyclic design gives each item to K different experts, and K = {k} does not fit the "
                "{n_experts} named: name at least {least}.",
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


def _pairs_of_experts(n_experts: int, k: int, parts: int | None) -> Slots:
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


def _single(n_experts: int, k: int, parts: int | None) -> Slots:
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


DESIGNS: Mapping[str, Callable[[int, int, int | None], Slots]] = MappingProxyType(
    {"cyclic": _cyclic, "pairs": _pairs_of_experts, "single": _single}
)
QUOTAS = "quotas"  # planned unit by unit: see `by_quotas`
DESIGN_NAMES = (*DESIGNS, QUOTAS)


def by_quotas(quotas: Sequence[int], k: int, n_units: int) -> Slots:
    """For each unit its `k` experts, so that everybody judges their share and every pair meets about equally often.

    Args:
        quotas: of each expert, as a weight: 2, 1, 1 gives the first half of all judgements.
        k: experts for each unit, all different.
        n_units: how many units there are.

    Shares are rounded to whole units by the largest remainder. A ProtocolError where a quota is not above 0, fewer
    than `k` experts are named, or somebody's share is more than all units.

    >>> by_quotas([2, 1, 1], 2, 4)
    [(0, 1), (0, 2), (0, 1), (0, 2)]
    >>> Counter(expert for unit in by_quotas([3, 2, 2, 1], 2, 40) for expert in unit)
    Counter({0: 30, 1: 20, 2: 20, 3: 10})
    """
    left = _whole_shares(quotas, k, n_units)
    met: Counter[tuple[int, int]] = Counter()
    slots: Slots = []
    for _unit in range(n_units):
        chosen: list[int] = []
        # Whose share is largest is never put off: so every share can still be filled by the units that are left.
        while len(chosen) < k:
            free = [expert for expert in range(len(quotas)) if expert not in chosen]
            chosen.append(
                min(free, key=lambda one: (-left[one], sum(met[_pair(one, other)] for other in chosen), one))
            )
        for expert in chosen:
            left[expert] -= 1
        met.update(_pair(a, b) for a, b in combinations(chosen, 2))
        slots.append(tuple(chosen))
    return slots


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _whole_shares(quotas: Sequence[int], k: int, n_units: int) -> list[int]:
    if len(quotas) < k:
        raise ProtocolError(say("Each item is judged by {k} different experts: name at least so many.", k=k))
    if any(quota < 1 for quota in quotas):
        raise ProtocolError(say("Every expert needs a share above 0; leave out who is to judge nothing."))
    total = sum(quotas)
    exact = [n_units * k * quota / total for quota in quotas]
    shares = [int(share) for share in exact]
    by_remainder = sorted(range(len(quotas)), key=lambda one: (shares[one] - exact[one], one))
    for expert in by_remainder[: n_units * k - sum(shares)]:
        shares[expert] += 1
    if max(shares) > n_units:
        raise ProtocolError(
            say(
                "With K = {k} nobody can judge more than one in {k} of all judgements; the largest of these shares is "
                "{percent} %.",
                k=k,
                percent=round(100 * max(quotas) / total),
            )
        )
    return shares


def check_design(design: str) -> None:
    if design not in DESIGN_NAMES:
        raise ProtocolError(
            say(
                "There is no design “{design}”; the designs are {designs}.",
                design=design,
                designs=", ".join(DESIGN_NAMES),
            )
        )
