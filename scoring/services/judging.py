"""Under what circumstances the systems that are compared were judged: by whom, under which guidelines, how shown, when.

A difference between two systems is one of their translations only as far as these were judged alike. So it is counted
on how many contexts they were not; and where two systems were judged in different batches (see `judged_later`), the
shift stands beside it that the experts show on what they judged in both.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from django.db.models import F
from numpy.typing import NDArray

from annotation.models import JUDGED_UNDER, Annotation, Campaign, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import Sentence, listed, say
from annotation.services.exports import names_of
from annotation.services.later_batches import batch_number, given_out_at, judged_later, later_draws
from scoring.services.carried import carried_error
from scoring.services.doubles import repeats_of
from scoring.stats.shift import UNDECIDED, JudgedTwice, ShiftReport, shift_report

Document = dict[str, Any]
ItemOf = Mapping[int, int]  # of a run: the item of each context, 0 for none

CHUNK = 5000
EXPERTS, GUIDELINES, DISPLAYS, BATCHES = (
    "other_experts",
    "other_guidelines",
    "other_displays",
    "other_batches",
)
NO_REPEATS = say(
    "Nothing of the earlier batch was judged again beside the later one, so whether the experts judge as they did is "
    "not known."
)


@dataclass
class Circumstances:
    """Of each item, under what it was judged in the main round: equal numbers are equal circumstances."""

    of_item: dict[str, dict[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, campaign: Campaign) -> "Circumstances":
        """Two queries, three where items came late."""
        rows = (
            Annotation.objects.filter(
                assignment__round__campaign=campaign,
                assignment__round__kind=Round.Kind.MAIN,
                assignment__withdrawn_at__isnull=True,
                assignment__item__retired_at__isnull=True,
                revision=F("assignment__revision"),
            )
            .annotate(version=JUDGED_UNDER)
            .order_by()
            .values_list("assignment__item", "assignment__expert", "version", "conditions__display")
        )
        experts: dict[int, set[Hashable]] = {}
        versions: dict[int, set[Hashable]] = {}
        displays: dict[int, set[Hashable]] = {}
        for item, expert, version, display in rows.iterator(CHUNK):
            experts.setdefault(item, set()).add(expert)
            versions.setdefault(item, set()).add(version)
            displays.setdefault(item, set()).add(display)
        later = judged_later(campaign)
        return cls(
            {
                EXPERTS: _numbered(experts),
                GUIDELINES: _numbered(versions),
                DISPLAYS: _numbered(displays),
                BATCHES: {item: later.get(item, 0) for item in experts},
            }
        )


def _numbered(found: Mapping[int, set[Hashable]]) -> dict[int, int]:
    numbers: dict[frozenset[Hashable], int] = {}
    return {item: numbers.setdefault(frozenset(values), len(numbers)) for item, values in found.items()}


@dataclass(frozen=True, kw_only=True)
class Unlike:
    """Two systems and on how many of the contexts that both have judged they were judged otherwise, by circumstance."""

    a: str
    b: str
    contexts: int
    n: Mapping[str, int]
    batches: frozenset[int] = frozenset()  # the later ones, where the two were judged in different ones

    @property
    def sentences(self) -> list[Sentence]:
        values = {"of": f"{self.contexts:,}", "a": self.a or "–", "b": self.b or "–"}
        return [_told(name, n=f"{n:,}", **values) for name, n in self.n.items() if n]

    def as_json(self) -> Document:
        """`{a, b, contexts, other_experts, other_guidelines, other_displays, other_batches}`."""
        return {"a": self.a, "b": self.b, "contexts": self.contexts, **self.n}


def _told(name: str, **values: str) -> Sentence:
    if name == EXPERTS:
        return say(
            "In {n} of {of} contexts the translations of {a} and {b} were judged by different experts.",
            **values,
        )
    if name == GUIDELINES:
        return say(
            "In {n} of {of} contexts the translations of {a} and {b} were judged under different versions of the "
            "guidelines.",
            **values,
        )
    if name == DISPLAYS:
        return say(
            "In {n} of {of} contexts the translations of {a} and {b} were judged in different display modes.",
            **values,
        )
    return say(
        "In {n} of {of} contexts the translations of {a} and {b} were judged in different batches, one later than the "
        "other.",
        **values,
    )


def unlike(found: Circumstances, systems: Mapping[str, Sequence[ItemOf]]) -> list[Unlike]:
    """Every pair of systems (by name the contexts of their runs) that was not judged alike throughout.

    All runs of a system together have the circumstances that any of them has.
    """
    contexts = {context: place for place, context in enumerate(_contexts(systems))}
    under: dict[str, dict[str, NDArray[np.int64]]] = {}
    batches = {name: _sets(contexts, runs, found.of_item[BATCHES]) for name, runs in systems.items()}
    for name, of_item in found.of_item.items():
        numbers: dict[frozenset[int], int] = {}
        under[name] = {
            system: np.array(
                [
                    numbers.setdefault(one, len(numbers)) if one else -1
                    for one in _sets(contexts, runs, of_item)
                ],
                dtype=np.int64,
            )
            for system, runs in systems.items()
        }
    pairs = []
    for a, b in combinations(systems, 2):
        both = (under[EXPERTS][a] >= 0) & (under[EXPERTS][b] >= 0)
        n = {
            name: int(np.count_nonzero(both & (columns[a] != columns[b]))) for name, columns in under.items()
        }
        apart = np.flatnonzero(both & (under[BATCHES][a] != under[BATCHES][b]))
        later = {batch for place in apart for one in (a, b) for batch in batches[one][place] if batch}
        if any(n.values()):
            pairs.append(Unlike(a=a, b=b, contexts=int(both.sum()), n=n, batches=frozenset(later)))
    return pairs


def _contexts(systems: Mapping[str, Sequence[ItemOf]]) -> list[int]:
    return sorted({context for runs in systems.values() for run in runs for context in run})


def _sets(
    contexts: Mapping[int, int], runs: Sequence[ItemOf], of_item: Mapping[int, int]
) -> list[frozenset[int]]:
    """For each context the circumstances of its items; empty where none is judged."""
    found: list[set[int]] = [set() for _context in contexts]
    for run in runs:
        for context, item in run.items():
            if item in of_item:
                found[contexts[context]].add(of_item[item])
    return [frozenset(one) for one in found]


def judging(
    campaign: Campaign, pairs: Sequence[Unlike], *, carried: Collection[int], seed: int, resamples: int
) -> Document:
    """Pairs not judged alike, in words as well; the shift where any were judged in different batches; and where labels
    are carried over, with which error.
    """
    apart = any(one.n[BATCHES] for one in pairs)
    batches = {batch for one in pairs for batch in one.batches}
    shift = batches_shift(campaign, seed=seed, resamples=resamples, batches=batches) if apart else None
    return {
        "pairs": [one.as_json() for one in pairs],
        "warnings": [sentence for one in pairs for sentence in one.sentences],
        "shift": shift and shift.as_json(),
        **(_unknown(campaign, pairs) if shift else {}),
        **({"shift_reason": NO_REPEATS} if apart and shift is None else {}),
        **(
            {"carry_over": carried_error(campaign, carried=carried, seed=seed, resamples=resamples)}
            if carried
            else {}
        ),
    }


def _unknown(campaign: Campaign, pairs: Sequence[Unlike]) -> Document:
    """Of which pairs the shift is not that of their batches; nothing where it is that of all. Two queries."""
    given = given_out_at(campaign)
    answered = later_draws(campaign).filter(
        assignments__answered_at__isnull=False, assignments__withdrawn_at__isnull=True
    )
    known = {batch_number(at, given) for at in answered.values_list("created_at", flat=True).distinct()}
    lacking = [
        say("{a} and {b}", a=one.a or "–", b=one.b or "–")
        for one in pairs
        if one.batches and not one.batches & known
    ]
    if not lacking:
        return {}
    return {
        "shift_reason": say(
            "Nothing was judged again beside the later batch of these pairs, so the shift is not theirs: {pairs}.",
            pairs=listed(lacking),
        )
    }


def batches_shift(
    campaign: Campaign, *, seed: int, resamples: int, batches: Collection[int] | None = None
) -> ShiftReport | None:
    """How differently the experts judge in later batches what they had judged before; None where nothing came again.

    `batches` takes what came again beside these alone. A fixed number of queries. People stand under their pseudonyms.
    """
    given = given_out_at(campaign)
    draws = {
        number
        for number, at in later_draws(campaign).values_list("number", "created_at")
        if batches is None or batch_number(at, given) in batches
    }
    names = names_of(campaign, real=False).by_user
    twice = repeats_of(campaign, names, draws=draws) if draws else None
    if twice is None:
        return None
    labels = get_protocol(campaign.protocol).labels
    verdict = np.array(
        [*(int(label) for label in labels), UNDECIDED], dtype=np.int8
    )  # the last is that of -1
    return shift_report(
        JudgedTwice(
            before=verdict[twice.first],
            later=verdict[twice.again],
            person=twice.person,
            unit=twice.item if twice.cluster is None else twice.cluster,
        ),
        seed=seed,
        resamples=resamples,
    )
