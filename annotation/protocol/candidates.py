"""Choosing among candidates that a model scored: the adversarial half of an evaluation set, or triples to train on.

Those count that a model scores high enough, that stand neither in the sample nor in training data, and that are diverse
enough; from what is left chance draws. To choose unlabelled triples to train on, the same is asked with a score above
0.8 and picking by new words up to a size.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from annotation.protocol.chance import chance
from annotation.protocol.diversity import (
    SOFT_LIMIT,
    Diversity,
    Progress,
    diversity,
    most_novel,
    newest_words,
    percent,
    self_bleu,
    silent,
    softly_unique,
)
from annotation.protocol.errors import ProtocolError
from annotation.protocol.evaluation_set import PoolTriple
from annotation.protocol.sentences import listed, say, say_count
from annotation.protocol.triple import GENERAL_RELATIONS

ADVERSARIAL_CLASS = "adv"
THRESHOLD = 0.9
FilterKind = Literal["self-bleu", "soft-uniqueness", "g-daug", "none"]
FILTERS: tuple[FilterKind, ...] = ("self-bleu", "soft-uniqueness", "g-daug", "none")
KEEPING = frozenset({"self-bleu", "g-daug"})  # the filters that `keep` says something to
LIMITED = frozenset({"soft-uniqueness"})  # those that `below` does


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A way to leave out what repeats the rest.

    `keep` is how many stay by self-bleu (the most novel) and by g-daug (those with the most new words); None is for
    self-bleu the larger of half of them and the number drawn, for g-daug the number drawn. `below` is the limit of
    soft uniqueness.
    """

    kind: FilterKind = "self-bleu"
    keep: int | None = None
    below: float = SOFT_LIMIT


@dataclass(frozen=True, kw_only=True)
class CandidateWish:
    """How many candidates, from which score on (or `above` it), by which filter."""

    n: int
    threshold: float = THRESHOLD
    above: bool = False
    filter: Filter = Filter()
    leave_out: tuple[str, ...] = GENERAL_RELATIONS

    def passes(self, score: float) -> bool:
        return score > self.threshold if self.above else score >= self.threshold


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """What was chosen, in the order of the file, and what became of every other row.

    `dropped` counts rows by the first reason in `DROPPED` that holds for them. `before` is how diverse the triples are
    that came to the filter, `after` those that passed it, `by_chance` as many of the first drawn by the seed: the fair
    thing to compare `after` with, since both figures fall with the number of texts. `novelty` is the self-BLEU among
    all that came to the filter, by identity. `scores` are those of all that came to the filter.
    """

    triples: tuple[PoolTriple, ...]
    rows: int
    dropped: Mapping[str, int]
    before: Diversity
    after: Diversity
    by_chance: Diversity
    novelty: Mapping[str, float]
    scores: tuple[float, ...]


# In the order in which they are decided: a row that may not be chosen is no repeat of one that may.
DROPPED = {
    "left_out": say("of a relation that is left out"),
    "score": say("score too low"),
    "in_set": say("in the sample already"),
    "in_training": say("in the training data"),
    "repeat": say("the same triple again"),
    "filter": say("removed by the diversity filter"),
    "not_drawn": say("not drawn"),
}


def choose_candidates(
    candidates: Sequence[PoolTriple],
    wish: CandidateWish,
    *,
    in_set: Collection[str] = (),
    training: Collection[str] = (),
    seed: int,
    progress: Progress = silent,
) -> Candidates:
    """`n` of the candidates; `in_set` and `training` are identities of triples that may not be among them.

    Of a triple that stands there twice the row with the highest score counts. A ProtocolError says how many are left
    where that is too few. `progress` is told how much of a hundred is done.
    """
    dropped: Counter[str] = Counter()
    best: dict[str, PoolTriple] = {}
    for one in candidates:
        why = _why_not(one, wish, in_set, training)
        if why:
            dropped[why] += 1
            continue
        other = best.get(one.identity)
        dropped["repeat"] += other is not None
        if other is None or (one.score or 0.0) > (other.score or 0.0):
            best[one.identity] = one
    passed = sorted(best.values(), key=lambda one: one.line)
    _check_enough(len(passed), wish, dropped)
    keys, said = [one.identity for one in passed], [one.said for one in passed]
    novelty = self_bleu(said, progress=percent(progress, 0, 50))
    kept = _kept(passed, novelty, wish, seed=seed, progress=percent(progress, 50, 60))
    if len(kept) < wish.n:
        raise ProtocolError(
            say(
                "{n} candidates were asked for; {left} of {of} pass the filter. Ask for fewer, or let more pass.",
                n=wish.n,
                left=len(kept),
                of=len(passed),
            )
        )
    by_chance = sorted(range(len(passed)), key=lambda at: chance("as-many", seed, keys[at]))[: len(kept)]
    drawn = set(sorted(kept, key=lambda at: chance("candidates", seed, keys[at]))[: wish.n])
    dropped["filter"], dropped["not_drawn"] = len(passed) - len(kept), len(kept) - len(drawn)
    return Candidates(
        triples=tuple(passed[at] for at in sorted(drawn)),
        rows=len(candidates),
        dropped={why: dropped[why] for why in DROPPED},
        before=diversity(said, scores=novelty),
        after=diversity([said[at] for at in kept], progress=percent(progress, 60, 80)),
        by_chance=diversity([said[at] for at in by_chance], progress=percent(progress, 80, 100)),
        novelty=dict(zip(keys, novelty, strict=True)),
        scores=tuple(one.score or 0.0 for one in passed),
    )


def _why_not(one: PoolTriple, wish: CandidateWish, in_set: Collection[str], training: Collection[str]) -> str:
    if one.relation in wish.leave_out:
        return "left_out"
    if one.score is None or not wish.passes(one.score):
        return "score"
    if one.identity in in_set:
        return "in_set"
    return "in_training" if one.identity in training else ""


def _check_enough(n_passed: int, wish: CandidateWish, dropped: Mapping[str, int]) -> None:
    if wish.n < 1:
        raise ProtocolError(say("At least 1 candidate is chosen; {n} were asked for.", n=wish.n))
    if n_passed < wish.n:
        reasons = [
            say("{what}: {n}", what=words, n=dropped[why])
            for why, words in DROPPED.items()
            if dropped.get(why)
        ]
        if not reasons:
            raise ProtocolError(
                say_count(
                    "{asked} candidates were asked for; {n} is left, the only row of the file.",
                    "{asked} candidates were asked for; {n} are left, all rows of the file.",
                    n=n_passed,
                    asked=wish.n,
                )
            )
        raise ProtocolError(
            say_count(
                "{asked} candidates were asked for; {n} is left. Rows that do not count – {reasons}.",
                "{asked} candidates were asked for; {n} are left. Rows that do not count – {reasons}.",
                n=n_passed,
                asked=wish.n,
                reasons=listed(reasons),
            )
        )


def _kept(
    passed: Sequence[PoolTriple],
    novelty: Sequence[float],
    wish: CandidateWish,
    *,
    seed: int,
    progress: Progress,
) -> list[int]:
    """The places of those that pass the filter."""
    keys, by = [one.identity for one in passed], wish.filter
    if by.keep is not None and not wish.n <= by.keep <= len(passed):
        raise ProtocolError(
            say(
                "The filter can keep {n} to {of} candidates; {keep} were asked for.",
                n=wish.n,
                of=len(passed),
                keep=by.keep,
            )
        )
    if by.kind == "self-bleu":
        keep = max(wish.n, len(passed) // 2) if by.keep is None else by.keep
        return most_novel(keys, novelty, keep, seed=seed)
    if by.kind == "soft-uniqueness":
        said = [one.said for one in passed]
        return softly_unique(keys, said, seed=seed, below=by.below, progress=progress)
    if by.kind == "g-daug":
        words, labels = [one.all_words for one in passed], [one.label or "" for one in passed]
        return newest_words(keys, words, by.keep or wish.n, labels=labels, seed=seed, progress=progress)
    return list(range(len(passed)))
