"""Label rules: what the experts' answers to one item amount to. Named, versioned, and replayable.

A rule that was ever used is never changed; a better one gets the next version, so that labels stored under
(rule, version) can be computed again from their votes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

from annotation.protocol.definition import Protocol, Words
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say

# Why an item has no label, for people.
REASONS: Mapping[str, Words] = MappingProxyType(
    {
        "incomplete": Words("answers are missing", "作答还不齐"),
        "cannot_judge": Words("an expert could not judge it", "有专家表示无法判断"),
        "tie": Words("the answers are split", "意见不一致"),
    }
)

Votes = Sequence[str | None]


@dataclass(frozen=True)
class Outcome:
    """The label of one item, or None with the reason (a key of `REASONS`); and the rule that said so."""

    label: str | None
    reason: str | None
    rule: str
    version: str


@dataclass(frozen=True)
class LabelRule:
    """A rule of one version, called `title` by people and told in `words`.

    `only_k` is the number of experts per item it is defined for, None for any.
    `decide` takes K votes and gives a label and no reason, or no label and the reason.
    """

    name: str
    version: str
    title: Words
    words: Words
    only_k: int | None
    decide: Callable[[Votes], tuple[str | None, str | None]]


def _majority(votes: Votes) -> tuple[str | None, str | None]:
    ones, zeros = _count(votes)
    if 2 * ones > len(votes):
        return "1", None
    if 2 * zeros > len(votes):
        return "0", None
    return None, "cannot_judge" if None in votes else "tie"


def _unanimous(votes: Votes) -> tuple[str | None, str | None]:
    ones, zeros = _count(votes)
    if ones and zeros:  # whatever the others had answered
        return None, "tie"
    if None in votes:
        return None, "cannot_judge"
    return "1" if ones else "0", None


def _ckbp2(votes: Votes) -> tuple[str | None, str | None]:
    if None in votes:
        return None, "cannot_judge"
    return "1" if "1" in votes and "0" not in votes else "0", None


def _count(votes: Votes) -> tuple[int, int]:
    """Votes for 1, and votes for less. A triple that holds only sometimes is not plausible by itself."""
    ones = sum(vote == "1" for vote in votes)
    return ones, sum(vote is not None for vote in votes) - ones


# In the order they were made: of two with one name the later is the current one.
RULES: tuple[LabelRule, ...] = (
    LabelRule(
        name="majority",
        version="1",
        title=Words("Majority of the experts", "多数专家的意见"),
        words=Words("more than half of the experts", "超过半数的专家的意见"),
        only_k=None,
        decide=_majority,
    ),
    LabelRule(
        name="unanimous",
        version="1",
        title=Words("All experts alike", "全体专家一致"),
        words=Words("all experts alike", "全体专家意见一致"),
        only_k=None,
        decide=_unanimous,
    ),
    LabelRule(
        name="ckbp2",
        version="1",
        title=Words("CKBP v2", "CKBP v2 规则"),
        words=Words(
            "plausible if one expert says always/often and the other at least sometimes",
            "一位专家认为总是／经常成立，另一位认为至少有时成立，即为合理",
        ),
        only_k=2,
        decide=_ckbp2,
    ),
)


RULE_NAMES = tuple(dict.fromkeys(rule.name for rule in RULES))


def _arbiter(votes: Votes) -> tuple[str | None, str | None]:
    label = votes[-1] if votes else None
    if label not in ("1", "0"):
        raise ProtocolError(say("An arbiter decides a label, 1 or 0, and no score."))
    return label, None


# Not among the rules a campaign is labelled by: it stands for a single item, in place of that rule. Its votes are
# the experts' effective scores, as they are, and after them the label that was decided.
ARBITER = LabelRule(
    name="arbiter",
    version="1",
    title=Words("Arbiter", "裁定人"),
    words=Words("decided by an arbiter", "由裁定人决定"),
    only_k=None,
    decide=_arbiter,
)


def _carried(votes: Votes) -> tuple[str | None, str | None]:
    if len(votes) == 3 and votes[0]:
        _source, label, reason = votes
        if (label in ("1", "0") and reason is None) or (label is None and reason in REASONS):
            return label, reason
    raise ProtocolError(
        say("A label that is carried over names its source, and that one's label or why it has none.")
    )


# For an item that nobody judges, because another translation of its sentence renders the compound alike
# (`protocol.carry_over`). In place of votes stand the source (the number of its row), its label and the reason why it
# has none; the outcome is the source's.
CARRIED = LabelRule(
    name="carried",
    version="1",
    title=Words("Carried over", "沿用的判断"),
    words=Words("carried over from an alike translation", "沿用了短语译法相同的另一译文的判断"),
    only_k=None,
    decide=_carried,
)
_BESIDE = (ARBITER, CARRIED)  # whatever the number of experts, and of those who have answered


def get_rule(name: str, version: str | None = None) -> LabelRule:
    """The rule of that name and version (default: the current one); a ProtocolError if there is none.

    >>> get_rule("majority").version
    '1'
    """
    for rule in reversed((*RULES, *_BESIDE)):
        if rule.name == name and version in (None, rule.version):
            return rule
    known = ", ".join(f"{rule.name} (version {rule.version})" for rule in RULES)
    wanted = f"“{name}”" if version is None else f"“{name}” version {version}"
    raise ProtocolError(
        say("There is no label rule {wanted}; the rules are {known}.", wanted=wanted, known=known)
    )


def final_label(rule: str, votes: Votes, *, k: int, version: str | None = None) -> Outcome:
    """The label of one item by a rule.

    `votes` are the effective scores (label codes) of those who have answered, in slot order; None stands for
    "cannot judge". `k` is the number of experts the item was given to. Fewer votes than `k`: no label, reason
    `incomplete`, even where the rest could change nothing. All `k` answered and no label: `cannot_judge`
    where an answer in place of a cannot-judge could have given one, else `tie`.

    - `majority`: 1 or 0, whichever more than half of *k* experts say (so K = 1: the verdict). On triples a
      score of 0.5 counts with the 0, as it does for human performance.
    - `unanimous`: the same, but all of them.
    - `ckbp2` (K = 2): 1 iff one score is 1 and the other at least 0.5; the order of the two does not matter,
      and {1, 0} is implausible by the rule. Source: CKBP v2 (Fang et al. 2023).
    - `arbiter`: the last vote, which is the label that an arbiter decided, whatever stands before it and however
      many have answered.
    - `carried`: the outcome of the source, which the votes name.

    Raises ProtocolError for an unknown rule or version, a vote that is no label code, more votes than `k`, or
    a `k` the rule is not defined for.

    >>> final_label("ckbp2", ["0.5", "1"], k=2).label, final_label("ckbp2", ["1", "0"], k=2).label
    ('1', '0')
    >>> final_label("majority", ["1", None, "1"], k=3).label
    '1'
    >>> final_label("majority", ["1", "0"], k=2)
    Outcome(label=None, reason='tie', rule='majority', version='1')
    """
    chosen = get_rule(rule, version)
    _check_k(chosen, k)
    if chosen in _BESIDE:
        label, reason = chosen.decide(votes)
        return Outcome(label=label, reason=reason, rule=chosen.name, version=chosen.version)
    if len(votes) > k:
        raise ProtocolError(
            say("There are {n} answers to an item that {k} experts were to judge.", n=len(votes), k=k)
        )
    for vote in votes:
        if vote not in (None, "1", "0.5", "0"):
            raise ProtocolError(
                say("“{vote}” is not a label a rule can count; labels are 1, 0.5 and 0.", vote=vote)
            )
    label, reason = chosen.decide(votes) if len(votes) == k else (None, "incomplete")
    return Outcome(label=label, reason=reason, rule=chosen.name, version=chosen.version)


def default_rule(protocol: Protocol, k: int) -> str:
    """The label rule a campaign uses if none is named; a ProtocolError where one must be.

    >>> from annotation.protocol.base import get_protocol
    >>> default_rule(get_protocol("triple"), 2), default_rule(get_protocol("compound"), 3)
    ('ckbp2', 'majority')
    """
    rule = protocol.default_rules.get(k) or protocol.default_rules.get(None)
    if rule is None:
        names = [rule.name for rule in fitting_rules(protocol, k)]
        allowed = reduce(lambda one, other: say("{one} or {other}", one=one, other=other), names)
        raise ProtocolError(
            say(
                "A campaign of this kind with K = {k} has no label rule by default; name one: {allowed}.",
                k=k,
                allowed=allowed,
            )
        )
    return rule


def fitting_rules(protocol: Protocol, k: int) -> list[LabelRule]:
    """The rules that can label items of this protocol judged by `k` experts.

    >>> from annotation.protocol.base import get_protocol
    >>> [rule.name for rule in fitting_rules(get_protocol("triple"), 3)]
    ['majority', 'unanimous']
    """
    return [rule for rule in map(get_rule, protocol.label_rules) if rule.only_k in (None, k)]


def check_rule(rule: str, protocol: Protocol, k: int) -> LabelRule:
    """The rule of that name, if it can label items of this protocol judged by `k` experts; else a ProtocolError.

    >>> from annotation.protocol.base import get_protocol
    >>> check_rule("unanimous", get_protocol("compound"), 2).name
    'unanimous'
    """
    if rule not in protocol.label_rules:
        allowed = ", ".join(protocol.label_rules)
        raise ProtocolError(
            say(
                "“{rule}” is not a label rule of {protocol}; those are {allowed}.",
                rule=rule,
                protocol=protocol.title.en.lower(),
                allowed=allowed,
            )
        )
    chosen = get_rule(rule)
    _check_k(chosen, k)
    return chosen


def _check_k(rule: LabelRule, k: int) -> None:
    if k < 1:
        raise ProtocolError(say("An item needs at least one expert; K = {k} was asked for.", k=k))
    if rule.only_k not in (None, k):
        raise ProtocolError(
            say(
                "The label rule {name} takes exactly {only_k} scores per item, and here K = {k}; name "
                "another rule, such as majority.",
                name=rule.name,
                only_k=rule.only_k,
                k=k,
            )
        )
