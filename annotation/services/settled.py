"""What was settled: all of it for managers; against an expert, a list to learn from, once the resolution is over.

That one opens when a resolution is closed and closes while another, or a re-judgement, is open: until then nobody
judging again sees what came of it.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import QuerySet

from annotation.models import Arbitration, Assignment, Campaign, Item, Round, Thread, User
from annotation.protocol.base import get_protocol
from annotation.protocol.definition import Protocol
from annotation.protocol.labels import final_label
from annotation.services.counts import counts
from annotation.services.effective import AGAIN, ItemAnswers, item_answers
from annotation.services.frozen import frozen_answers
from annotation.services.labels import rule_for

TOP = "1"


@dataclass(frozen=True, kw_only=True)
class Settled:
    """An item that was settled otherwise than this expert had judged it on their own.

    `own` and `score` are answers as pages show them; `score` is what its experts came to agree on, None where they did
    not and the label (of the rule, or by an arbiter) has the last word.
    """

    item: Item
    own: Mapping[str, str]
    score: Mapping[str, str] | None
    label: str
    by_arbiter: bool
    decision: str
    reason: str
    thread: int | None


def is_open(campaign: Campaign) -> bool:
    """Whether experts may see what was settled. One query."""
    return is_open_by(counts(**rounds_again(campaign)))


def rounds_again(campaign: Campaign) -> dict[str, QuerySet[Round]]:
    """The rounds that decide whether they may: to be counted."""
    again = Round.objects.filter(campaign=campaign, kind__in=AGAIN)
    return {
        "resolved": again.filter(kind=Round.Kind.RESOLUTION, state=Round.State.CLOSED),
        "judged_again": again.filter(state=Round.State.OPEN),
    }


def is_open_by(found: Mapping[str, int]) -> bool:
    """Whether they may, by how many of these there are."""
    return found["resolved"] > 0 and not found["judged_again"]


class Among(NamedTuple):
    """What was settled among the items that an expert had judged on their own."""

    n: int
    against: list[Settled]  # otherwise than they had judged it


def settled_among(campaign: Campaign, user: User) -> Among:
    """In the order of their discussions. Seven queries, none of them where nothing may be shown yet."""
    if not is_open(campaign):
        return Among(0, [])
    own = dict(
        frozen_answers()
        .filter(round__campaign=campaign, round__kind=Round.Kind.MAIN, expert=user)
        .exclude(label="")
        .values_list("item", "label")
    )
    decisions = {
        decision.item_id: decision
        for decision in Arbitration.objects.filter(item__in=own, taken_back_at__isnull=True)
    }
    again = set(
        Assignment.objects.filter(
            round__campaign=campaign, round__kind__in=AGAIN, withdrawn_at__isnull=True, item__in=own
        ).values_list("item", flat=True)
    )
    outcomes = _outcomes(campaign, again | decisions.keys(), decisions)
    against = {
        item: (score, label)
        for item, (score, label) in outcomes.items()
        if (score != own[item] if score else label != _binary(own[item]))
    }
    threads = {thread.item_id: thread for thread in Thread.objects.filter(item__in=against)}
    items = Item.objects.active().filter(pk__in=against).select_related("unit", "context")
    lines = [
        _line(campaign, item, own[item.pk], against[item.pk], decisions.get(item.pk), threads.get(item.pk))
        for item in items
    ]
    lines.sort(key=lambda line: (line.thread is None, line.thread or 0, line.item.key))
    return Among(len(outcomes), lines)


@dataclass(frozen=True, kw_only=True)
class SettledItem:
    """An item that was settled, for managers: its label, whether an arbiter decided it, and what was said of it; with
    the answer its experts came to agree on, if they did.
    """

    item: Item
    score: Mapping[str, str] | None
    label: str
    by_arbiter: bool
    reason: str
    decision: str
    thread: int | None


def settled_items(campaign: Campaign) -> list[SettledItem]:
    """What an arbiter decided and what has a label since its experts judged it again, in the order of import, without
    what is being judged again now. Six queries.
    """
    decisions = {
        decision.item_id: decision
        for decision in Arbitration.objects.filter(item__campaign=campaign, taken_back_at__isnull=True)
    }
    given_again = Assignment.objects.filter(
        round__campaign=campaign, round__kind__in=AGAIN, withdrawn_at__isnull=True
    )
    states = set(given_again.values_list("item", "round__state"))
    at_work = {item for item, state in states if state == Round.State.OPEN}
    again = {item for item, _state in states} - at_work
    outcomes = _outcomes(campaign, again | decisions.keys(), decisions)
    items = Item.objects.active().filter(pk__in=outcomes).select_related("unit", "context", "thread")
    protocol = get_protocol(campaign.protocol)
    return [
        SettledItem(
            item=item,
            score=_shown(protocol, score) if (score := outcomes[item.pk][0]) else None,
            label=outcomes[item.pk][1],
            by_arbiter=item.pk in decisions,
            reason=decisions[item.pk].reason if item.pk in decisions else "",
            decision=thread.decision if (thread := _thread(item)) and thread.resolved_at else "",
            thread=thread.pk if thread else None,
        )
        for item in items.order_by("position")
    ]


def _thread(item: Item) -> Thread | None:
    return getattr(item, "thread", None)


def _outcomes(
    campaign: Campaign,
    settled: AbstractSet[int],
    decisions: Mapping[int, Arbitration],
) -> dict[int, tuple[str, str]]:
    """By item that is settled: the score its experts agree on, if they do, and its label."""
    rule, k = rule_for(campaign), campaign.annotators_per_item
    found: dict[int, tuple[str, str]] = {}
    for answers in item_answers(campaign):
        decision = decisions.get(answers.item)
        if answers.item not in settled:
            continue
        if decision is not None:
            found[answers.item] = "", decision.label
        elif not answers.effective.waiting:
            label = final_label(rule, tuple(answers.effective.scores.values()), k=k).label
            if label is not None:
                found[answers.item] = _common(answers), label
    return found


def _common(answers: ItemAnswers) -> str:
    scores = set(answers.effective.scores.values())
    return next(iter(scores)) or "" if len(scores) == 1 else ""


def _binary(score: str) -> str:
    return "1" if score == TOP else "0"


def _line(
    campaign: Campaign,
    item: Item,
    own: str,
    outcome: tuple[str, str],
    decision: Arbitration | None,
    thread: Thread | None,
) -> Settled:
    protocol = get_protocol(campaign.protocol)
    score, label = outcome
    resolved = thread is not None and thread.resolved_at is not None
    return Settled(
        item=item,
        own=_shown(protocol, own),
        score=_shown(protocol, score) if score else None,
        label=label,
        by_arbiter=decision is not None,
        decision=thread.decision if thread is not None and resolved else "",
        reason=decision.reason if decision else "",
        thread=thread.pk if thread else None,
    )


def _shown(protocol: Protocol, score: str) -> Mapping[str, str]:
    return {"label": protocol.answer(score).key, "detail": ""}
