"""Effective scores: what counts of an expert's answers to one item once some of them judged it again."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Expert = TypeVar("Expert", bound=Hashable)
Vote = TypeVar("Vote")


@dataclass(frozen=True)
class Effective(Generic[Expert, Vote]):
    """Of one item: each expert's effective score, and who gave one in the last round that judged it again.

    `waiting`: not all of its experts have; until they have, the item gets no label and counts in no figure after
    resolution.
    """

    scores: Mapping[Expert, Vote]
    again: Mapping[Expert, Vote]
    waiting: bool

    @property
    def counted(self) -> Mapping[Expert, Vote]:
        """What a label rule may count: all scores, or, while the item waits, those of its last round alone."""
        return self.again if self.waiting else self.scores


def effective(
    independent: Mapping[Expert, Vote], again: Sequence[Mapping[Expert, Vote]]
) -> Effective[Expert, Vote]:
    """`independent`: who judged the item on their own, and how. `again`: the answers of later rounds of resolution and
    re-judgement, round by round, the earliest first.

    The effective score of an expert is their last answer of such a round, else the independent one. Who did not judge
    the item on their own adds no score. The item waits where in the last of these rounds in which somebody answered,
    somebody else has not: one score given after a discussion, or under new guidelines, is not weighed against one
    given before.

    >>> effective({"A1": "1", "A2": "0"}, [{"A1": "0", "A2": "0"}]).counted
    {'A1': '0', 'A2': '0'}
    >>> effective({"A1": "1", "A2": "0"}, [{"A1": "0"}]).waiting
    True
    """
    scores = dict(independent)
    last: dict[Expert, Vote] = {}
    for answers in again:
        given = {expert: vote for expert, vote in answers.items() if expert in independent}
        if given:
            last = {expert: given[expert] for expert in independent if expert in given}
            scores |= last
    return Effective(scores, last, waiting=bool(last) and last.keys() != scores.keys())
